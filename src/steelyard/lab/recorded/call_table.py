"""Recorded calls in columns, sorted as `checked` sorts them, with the lines and hashes made of them."""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, fields
from functools import cached_property
from itertools import pairwise
from typing import Any

import numpy as np

from steelyard.arrays import Ints
from steelyard.coded_lines import CodedLines, Part, coded, fixed, spelled
from steelyard.identity import ListHash, canonical_json, content_hash
from steelyard.lab.recorded.call import VERDICTS, Call, Pair
from steelyard.lab.recorded.observations import stimulus_of
from steelyard.verdicts.observations import Observations
from steelyard.verdicts.stimulus_columns import StimulusColumns

ANSWERS = tuple(VERDICTS)
FIRSTS = ("u", "v")
_json = json.JSONEncoder().encode
MARK = "\ue000"
"""Begins every place of a text in which a value goes; no name of the format holds it."""

FACTS = tuple(f.name for f in fields(Pair))


@dataclass(frozen=True, eq=False)
class CallTable:
    """One row per call; no two rows are equal in all of judge, protocol, pair, replicate and first."""

    judges: tuple[str, ...]
    """Sorted names."""
    protocols: tuple[str, ...]
    """Sorted names."""
    pairs: tuple[Pair, ...]
    """Sorted by name."""
    judge: Ints
    protocol: Ints
    pair: Ints
    replicate: Ints
    first: Ints
    """Index into `FIRSTS`."""
    answer: Ints
    """Index into `ANSWERS`."""

    def __len__(self) -> int:
        return len(self.judge)

    @classmethod
    def of(cls, calls: Sequence[Call]) -> CallTable:
        """The table of checked calls."""
        judges, protocols = sorted({c.judge for c in calls}), sorted({c.protocol for c in calls})
        pairs = {call.pair.pair: call.pair for call in calls}
        names = sorted(pairs)
        numbers = [{name: n for n, name in enumerate(known)} for known in (judges, protocols, names)]
        return cls.ordered(
            tuple(judges),
            tuple(protocols),
            tuple(pairs[name] for name in names),
            np.array([numbers[0][call.judge] for call in calls], dtype=np.int64),
            np.array([numbers[1][call.protocol] for call in calls], dtype=np.int64),
            np.array([numbers[2][call.pair.pair] for call in calls], dtype=np.int64),
            np.array([call.replicate for call in calls], dtype=np.int64),
            np.array([FIRSTS.index(call.first) for call in calls], dtype=np.int64),
            np.array([ANSWERS.index(call.answer) for call in calls], dtype=np.int64),
        )

    @classmethod
    def ordered(
        cls, judges: tuple[str, ...], protocols: tuple[str, ...], pairs: tuple[Pair, ...], *columns: Ints
    ) -> CallTable:
        """Rows in the order of judge, protocol, pair, replicate, first; the names are sorted already."""
        judge, protocol, pair, replicate, first, _ = columns
        order = np.lexsort((first, replicate, pair, protocol, judge))
        return cls(judges, protocols, pairs, *(column[order] for column in columns))

    @property
    def repeated(self) -> bool:
        """True where a call stands there twice."""
        same = np.ones(max(len(self) - 1, 0), dtype=np.bool_)
        for column in (self.judge, self.protocol, self.pair, self.replicate, self.first):
            same &= column[1:] == column[:-1]
        return bool(same.any())

    def observations(self) -> Observations:
        """The calls as observations; texts, tokens and prompts are not known."""
        return Observations.recorded(
            judges=self.judges,
            protocols=self.protocols,
            verdicts=tuple(VERDICTS.values()),
            shown=StimulusColumns(tuple(map(stimulus_of, self.pairs))),
            judge=self.judge,
            protocol=self.protocol,
            stimulus=self.pair,
            order=self.first,
            replicate=self.replicate,
            verdict=self.answer,
        )

    def arms(self) -> Iterator[tuple[str, str, slice]]:
        """Judge, protocol and rows of each arm, in order."""
        codes = self.judge * len(self.protocols) + self.protocol
        starts = [0, *(np.flatnonzero(np.diff(codes)) + 1).tolist(), len(self)] if len(self) else []
        for start, end in pairwise(starts):
            yield self.judges[self.judge[start]], self.protocols[self.protocol[start]], slice(start, end)

    def lines(self) -> Iterator[str]:
        """Text of `observations.jsonl`, in parts; each line is what `Call.to_json` says."""
        facts = zip(*self._facts(": ").values(), strict=True)
        pairs = [", ".join(fact for fact in known if fact) for known in facts]
        return CodedLines(
            [
                ([f'{{"judge": {_json(judge)}, ' for judge in self.judges], self.judge),
                ([f'"protocol": {_json(protocol)}, ' for protocol in self.protocols], self.protocol),
                (pairs, self.pair),
                ([f', "first": "{first}", ' for first in FIRSTS], self.first),
                ([f'"answer": "{answer}", "replicate": ' for answer in ANSWERS], self.answer),
                spelled(self.replicate),
                fixed("}\n", len(self)),
            ]
        ).chunks()

    @cached_property
    def hashes(self) -> tuple[str, dict[tuple[str, str], str]]:
        """Content hash of all calls, and of each arm's: those of the lists of `Call.to_json`."""
        lines, whole, arms = CodedLines(self._canonical()), ListHash(), {}
        for judge, protocol, rows in self.arms():
            arm = ListHash()
            for text in lines.chunks(rows.start, rows.stop):
                arm.add(text[:-1])
                whole.add(text[:-1])
            arms[judge, protocol] = arm.digest()
        return whole.digest(), arms

    def _canonical(self) -> Iterator[Part]:
        """Every call in canonical JSON, and a comma: keys in their order, facts of the pair between them."""
        values: dict[str, Part] = {
            "answer": ([f'"{answer}"' for answer in ANSWERS], self.answer),
            "first": ([f'"{first}"' for first in FIRSTS], self.first),
            "judge": ([_json(judge) for judge in self.judges], self.judge),
            "protocol": ([_json(protocol) for protocol in self.protocols], self.protocol),
            "replicate": spelled(self.replicate),
        }
        facts = self._facts(":")
        yield fixed("{", len(self))
        for place, key in enumerate(sorted([*values, *facts])):
            comma = "," if place else ""
            if key in values:
                yield fixed(f'{comma}"{key}":', len(self))
                yield values[key]
            else:
                yield coded([fact and f"{comma}{fact}" for fact in facts[key]], self.pair)
        yield fixed("},", len(self))

    def _facts(self, colon: str) -> dict[str, list[str]]:
        """What is known of each pair, as a member of a JSON object, by key; empty where nothing is."""
        known: dict[str, list[str]] = {}
        for name in FACTS:
            values = [getattr(pair, name) for pair in self.pairs]
            # By their texts, since 0.0 and -0.0 are equal and spelled apart.
            each = {str(value): value for value in values if value is not None}
            told = {text: f'"{name}"{colon}{_json(value)}' for text, value in each.items()}
            known[name] = ["" if value is None else told[str(value)] for value in values]
        return known

    def stimulus_set(self) -> str:
        """The hash that `StimulusSet` would have; stimuli differ in few things but their names."""
        forms: dict[tuple[Any, ...], list[str]] = {}
        return content_hash([_stimulus_hash(pair, forms) for pair in self.pairs])


def _stimulus_hash(pair: Pair, forms: dict[tuple[Any, ...], list[str]]) -> str:
    names = {"pair": pair.pair, "task": pair.task, "stratum": pair.stratum}
    marks = {name: None if value is None else f"{MARK}{name}" for name, value in names.items()}
    rest = (pair.probe, pair.kind, pair.delta, pair.base_level, pair.better)
    form = (*rest, *(mark is None for mark in marks.values()))
    if form not in forms:
        marked = Pair(pair.probe, f"{MARK}pair", pair.kind, marks["task"], marks["stratum"], *rest[2:])
        forms[form] = re.split(
            rf'"{re.escape(json.dumps(MARK)[1:-1])}(\w+)"', canonical_json(stimulus_of(marked).content)
        )
    parts = forms[form]
    filled = [json.dumps(names[part]) if place % 2 else part for place, part in enumerate(parts)]
    return "sha256:" + hashlib.sha256("".join(filled).encode("ascii")).hexdigest()
