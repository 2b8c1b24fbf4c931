"""`results.csv`, item by item: one row per judge and presentation, in columns that are coded once."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property, partial
from operator import attrgetter

import numpy as np

from steelyard.core.arrays import DictionaryWriter, Ints, Part, compact, distinct, fixed, numbered, widen
from steelyard.core.text import escape_formula
from steelyard.stimuli.original import ROTATION
from steelyard.stimuli.stimulus import Stimulus, reference_label
from steelyard.tasks.task import MOST_RESPONSES
from steelyard.trials.trial import ORDERS
from steelyard.verdicts.call_answers import NEITHER, CallAnswers, answer_word, reason_of
from steelyard.verdicts.majority_vote import of_judges, plurality
from steelyard.verdicts.observations import Observations

Value = str | int | float | bool | None
"""What a cell holds; None where there is nothing to say."""

JURY = 3
"""Judges under test from which on a run has a jury."""


@dataclass(frozen=True, eq=False)
class ResultColumn:
    """Distinct values, and which of them each row has."""

    values: Sequence[Value]
    codes: Ints


@dataclass(frozen=True, eq=False)
class Results:
    """Every call that has an observation, in the order of the observations, those of baselines last."""

    observations: Observations
    baselines: Collection[str] = ()
    composed: Collection[str] = ()
    """Judges whose verdicts are made of those of others, and who have no vote in a jury."""
    kept: Mapping[str, Mapping[str, str]] = field(default_factory=dict)
    """Columns of the data that stand beside, by item."""

    def __post_init__(self) -> None:
        seen = self.observations
        beside = np.array([name in self.baselines for name in seen.judges], dtype=np.bool_)
        if beside.any():
            last = np.argsort(beside[seen.judge], kind="stable")
            object.__setattr__(self, "observations", seen.take(last))

    def __len__(self) -> int:
        return len(self.observations)

    @cached_property
    def columns(self) -> dict[str, ResultColumn]:
        seen, answers = self.observations, self._answers
        repeats, replicate = numbered(seen.replicate)
        right = compact(answers.has_reference.astype(np.int64) + answers.right)
        return {
            "judge": ResultColumn(seen.judges, seen.judge),
            "baseline": ResultColumn([name in self.baselines for name in seen.judges], seen.judge),
            **{name: self._stimulus_column(value) for name, value in _OF_STIMULUS.items()},
            "protocol": ResultColumn(seen.protocols, seen.protocol),
            "order": self._order(),
            "replicate": ResultColumn(repeats.tolist(), replicate),
            "verdict": ResultColumn([answer_word(verdict) for verdict in seen.verdicts], seen.verdict),
            "reason": ResultColumn([reason_of(verdict) for verdict in seen.verdicts], seen.verdict),
            "winner": self._winner(),
            "right": ResultColumn((None, False, True), right),  # none without a verdict or a reference
            "jury": self._jury(),
            **self._confidence(),
            **self._data_columns(),
        }

    def _confidence(self) -> dict[str, ResultColumn]:
        """How sure the judge was, as it said it; no column where none was ever asked."""
        given, codes = self.observations.confidences, self.observations.confidence
        if given in ((None,), ()):
            return {}
        values = [None if each is None else each.value for each in given]
        kinds = [None if each is None else each.kind for each in given]
        return {"confidence": ResultColumn(values, codes), "confidence_kind": ResultColumn(kinds, codes)}

    def _data_columns(self) -> dict[str, ResultColumn]:
        """`data.NAME` for each column of the data; of several rubrics the id ends the item's name."""
        items, names = self.kept, dict.fromkeys(name for values in self.kept.values() for name in values)

        def value(name: str, stimulus: Stimulus) -> Value:
            item = str(stimulus.lineage.parent)
            return items.get(item, items.get(item.rpartition("/")[0], {})).get(name)

        return {f"data.{name}": self._stimulus_column(partial(value, name)) for name in names}

    def csv(self) -> Iterator[str]:
        yield ",".join(self.columns) + "\n"
        yield from self._lines(lambda name, value: _cell(value, joined=name == "id"), ("", ",", "\n"))

    def jsonl(self) -> Iterator[str]:
        encode = json.JSONEncoder().encode
        yield from self._lines(lambda name, value: f"{encode(name)}: {encode(value)}", ("{", ", ", "}\n"))

    def _lines(self, spell: Callable[[str, Value], str], signs: tuple[str, str, str]) -> Iterator[str]:
        """One line for each row; the signs stand before its values, between and after them."""
        begin, between, end = signs
        parts: list[Part] = [fixed(begin, len(self))]
        for place, (name, column) in enumerate(self.columns.items(), start=1):
            after = between if place < len(self.columns) else end
            known = {value: f"{spell(name, value)}{after}" for value in set(column.values)}
            parts.append((list(map(known.__getitem__, column.values)), column.codes))
        return DictionaryWriter(parts).chunks()

    def _stimulus_column(self, value: Callable[[Stimulus], Value]) -> ResultColumn:
        seen = self.observations
        return ResultColumn(list(map(value, seen.shown.stimuli)), seen.stimulus)

    def _order(self) -> ResultColumn:
        """Which content stood first; nothing for a single text."""
        seen = self.observations
        order = np.where(seen.shown.paired[seen.stimulus], seen.order, len(ORDERS))
        return ResultColumn((*ORDERS, None), compact(order))

    @cached_property
    def _answers(self) -> CallAnswers:
        return CallAnswers.of(self.observations)

    def _winner(self) -> ResultColumn:
        """The content of a pair that won; of several responses its number in the data; else nothing."""
        seen, answer = self.observations, self._answers.answer
        won = seen.shown.paired[seen.stimulus] & (answer > NEITHER)
        codes = np.where(won, answer, NEITHER).astype(np.int64)
        rotated = (seen.shown.kind == ROTATION)[seen.stimulus] & ~np.isnan(answer)
        if not rotated.any():
            return ResultColumn((None, "u", "v"), compact(codes))
        row = seen.stimulus[rotated]
        turn, responses = seen.shown.strength[row], seen.shown.ends[row, 1]
        codes[rotated] = 3 + (answer[rotated] - 1 + turn) % responses
        return ResultColumn((None, "u", "v", *map(str, range(1, MOST_RESPONSES + 1))), compact(codes))

    def _jury(self) -> ResultColumn:
        """The vote of all judges under test on the same presentation; nothing where one was not asked."""
        seen = self.observations
        apart = {*self.baselines, *self.composed}
        under_test = [seen.judges[n] for n in distinct(seen.judge) if seen.judges[n] not in apart]
        nothing = np.broadcast_to(np.int64(0), len(self))
        voted = of_judges(seen, under_test, plurality, "jury") if len(under_test) >= JURY else seen[:0]
        if not len(voted):
            return ResultColumn((None,), nothing)
        repeats = int(seen.replicate.max()) + 1
        mine, theirs = (_presentations(rows, repeats) for rows in (seen, voted))
        order = np.argsort(theirs)
        place = order[np.minimum(np.searchsorted(theirs[order], mine), len(order) - 1)]
        codes = np.where(theirs[place] == mine, voted.verdict[place] + 1, nothing)
        return ResultColumn((None, *map(answer_word, voted.verdicts)), codes)


def _presentations(seen: Observations, repeats: int) -> Ints:
    """What was shown and how, as a number: judges of one presentation share it."""
    arm = (widen(seen.stimulus) * len(seen.protocols) + seen.protocol) * len(ORDERS) + seen.order
    return np.asarray(arm * repeats + seen.replicate, dtype=np.int64)


_OF_STIMULUS: dict[str, Callable[[Stimulus], Value]] = {
    "id": attrgetter("id"),
    "item": attrgetter("lineage.parent"),
    "task": attrgetter("cluster"),
    **{name: attrgetter(name) for name in ("stratum", "probe", "kind")},
    "label": lambda stimulus: reference_label(stimulus.expectation),
}
"""Columns that say what was shown; `id` is that of `stimuli.jsonl`."""


_QUOTED = re.compile(r'[",\r\n]')


def _cell(value: Value, *, joined: bool = False) -> str:
    """A cell of a table that spreadsheets open; other files may be `joined` by it."""
    if value is None or value == "":
        return ""
    if isinstance(value, bool):
        return "true" if value else "false"
    text = str(value)
    if not text.isascii():
        text = text.encode("utf-8", "backslashreplace").decode()
    text = escape_formula(text, joined=joined)
    return '"' + text.replace('"', '""') + '"' if _QUOTED.search(text) else text
