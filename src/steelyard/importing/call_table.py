"""Recorded calls in columns, sorted as `checked` sorts them, with the lines and hashes made of them."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, fields
from functools import cached_property
from operator import attrgetter
from typing import Any

import numpy as np

from steelyard.core.arrays import Ints, in_order
from steelyard.core.dictionary_encoding import DictionaryWriter, Part, encode, fixed, member_words, spell
from steelyard.importing.arm import Arm, arms_of, hashes_of
from steelyard.importing.call import VERDICTS, Call, Pair
from steelyard.importing.observations import stimulus_of
from steelyard.stimuli.stimulus_set import StimulusSet
from steelyard.verdicts.observations import Observations
from steelyard.verdicts.stimulus_columns import StimulusColumns

ANSWERS = tuple(VERDICTS)
FIRSTS = ("u", "v")
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
        order = in_order((judge, protocol, pair, replicate, first))
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
            shown=StimulusColumns(self.stimuli.stimuli),
            judge=self.judge,
            protocol=self.protocol,
            stimulus=self.pair,
            order=self.first,
            replicate=self.replicate,
            verdict=self.answer,
        )

    def arms(self) -> list[Arm]:
        """Judge, protocol and rows of each arm, in order."""
        return arms_of(self.judges, self.protocols, self.judge, self.protocol)

    def lines(self) -> Iterator[str]:
        """Text of `observations.jsonl`, in parts; each line is what `Call.to_json` says."""
        facts = [member_words(name, values, ": ") for name, values in self._facts.items()]
        pairs = [", ".join(filter(None, known)) for known in zip(*facts, strict=True)]
        return DictionaryWriter(
            [
                ([f'{{"judge": {spell(judge)}, ' for judge in self.judges], self.judge),
                ([f'"protocol": {spell(protocol)}, ' for protocol in self.protocols], self.protocol),
                (pairs, self.pair),
                ([f', "first": "{first}", ' for first in FIRSTS], self.first),
                ([f'"answer": "{answer}", "replicate": ' for answer in ANSWERS], self.answer),
                encode(self.replicate),
                fixed("}\n", len(self)),
            ]
        ).chunks()

    @cached_property
    def hashes(self) -> tuple[str, dict[tuple[str, str], str]]:
        """Content hash of all calls, and of each arm's: those of the lists of `Call.to_json`."""
        return hashes_of(self._canonical(), self.arms())

    def _canonical(self) -> dict[str, Part]:
        """The members of every call in canonical JSON."""
        replicates, replicate = encode(self.replicate)
        parts: dict[str, Part] = {
            "answer": (member_words("answer", ANSWERS), self.answer),
            "first": (member_words("first", FIRSTS), self.first),
            "judge": (member_words("judge", self.judges), self.judge),
            "protocol": (member_words("protocol", self.protocols), self.protocol),
            "replicate": ([f'"replicate":{number}' for number in replicates], replicate),
        }
        for key, values in self._facts.items():
            parts[key] = member_words(key, values), self.pair
        return parts

    @cached_property
    def _facts(self) -> dict[str, list[Any]]:
        """What is said of the pairs, in columns; what is said of none is left out."""
        columns = {key: list(map(attrgetter(key), self.pairs)) for key in FACTS}
        return {key: values for key, values in columns.items() if any(value is not None for value in values)}

    @cached_property
    def stimuli(self) -> StimulusSet:
        """Every pair as far as it is known."""
        return StimulusSet(tuple(map(stimulus_of, self.pairs)))

    def stimulus_set(self) -> str:
        """Hash of what was shown."""
        return self.stimuli.hash
