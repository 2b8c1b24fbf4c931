"""Index of every call of a run in columns, and the filter over it."""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, fields
from functools import cached_property, lru_cache

import numpy as np
from numpy.typing import NDArray

from steelyard.core.arrays import Ints, Mask
from steelyard.core.content_hash import canonical_json
from steelyard.core.text import pluralize
from steelyard.datasheet.example_selection import (
    CONTRADICTION,
    FAILED,
    FLIP,
    OUTCOMES,
    POSITIONAL,
    UNREADABLE,
    WRONG,
    ExampleSelector,
)
from steelyard.run_folder.call_examples import RunCalls
from steelyard.stimuli.stimulus import reference_label
from steelyard.verdicts.call_answers import NEITHER, CallAnswers, answer_word
from steelyard.verdicts.observations import Observation, Observations
from steelyard.verdicts.verdict import Failed, Unreadable

COUNTED = "counted"
"""In the place of an outcome: the calls that the numerator of a figure counts."""


@dataclass(frozen=True)
class CallFilter:
    """Conditions that a call must meet; an empty one lets everything pass."""

    figure: str = ""
    judge: str = ""
    probe: str = ""
    protocol: str = ""
    kind: str = ""
    stratum: str = ""
    delta: str = ""
    label: str = ""
    """The reference as files spell it: a score, `u` or `v`, `tie`."""
    answer: str = ""
    """A score, `tie`, `abstain`, `unreadable` or `failed`; of a pair the content that was named."""
    stimulus: str = ""
    differs: str = ""
    """`1:judge`: calls on which that judge of that run answers otherwise."""
    outcome: str = ""
    text: str = ""
    sort: str = ""
    """Column that the list is sorted by, `-` before it for the largest first."""

    @classmethod
    def of(cls, given: Mapping[str, str]) -> CallFilter:
        return cls(**{field.name: given.get(field.name, "")[:300] for field in fields(cls)})

    def parts(self) -> Iterator[tuple[str, str]]:
        for field in fields(self):
            if value := getattr(self, field.name):
                yield field.name, value


NO_ROWS: Ints = np.empty(0, dtype=np.int64)


def call_id(judge: str, protocol: str, stimulus: str, order: str, replicate: int) -> str:
    words = ",".join(_json_text(word) for word in (judge, protocol, stimulus, order))
    return hashlib.sha256(f"[{words},{replicate}]".encode()).hexdigest()[:16]


@lru_cache(maxsize=100_000)
def _json_text(word: str) -> str:
    """A name as JSON has it; names come again with every call."""
    return canonical_json(word)


@dataclass(frozen=True)
class CallCounts:
    judges: int
    baselines: int

    @property
    def total(self) -> int:
        return self.judges + self.baselines

    def __str__(self) -> str:
        if not self.baselines:
            return pluralize(self.judges, "call")
        if not self.judges:
            return f"{pluralize(self.baselines, 'call')} of baselines"
        return f"{pluralize(self.judges, 'call')} of judges, {self.baselines:,} of baselines"


@dataclass(frozen=True, eq=False)
class CallIndex:
    run_calls: RunCalls

    @property
    def calls(self) -> Observations:
        """Every call, sorted by judge, protocol, stimulus, repeat and order."""
        return self.run_calls.observations

    @cached_property
    def ids(self) -> tuple[str, ...]:
        calls, orders, stimuli = self.calls, ("uv", "vu"), self.calls.shown.ids
        columns = (calls.judge, calls.protocol, calls.stimulus, calls.order, calls.replicate)
        return tuple(
            call_id(calls.judges[j], calls.protocols[p], stimuli[s], orders[o], r)
            for j, p, s, o, r in zip(*(column.tolist() for column in columns), strict=True)
        )

    @cached_property
    def row(self) -> dict[str, int]:
        return {name: number for number, name in enumerate(self.ids)}

    @cached_property
    def outcomes(self) -> dict[str, Mask]:
        """Outcome to the calls that ended so themselves, whatever became of others on the same stimulus.

        A flip is a call whose answer differs from another on the same question. Both calls of a pair in which
        the same slot won twice in one repeat are positional.
        """
        flips = np.zeros(len(self.calls), dtype=np.bool_)
        for number in range(len(self.calls.judges)):
            mine = self.calls.judge == number
            cases = ExampleSelector(self.calls.filter(calls=mine))
            flips[mine] = (cases.weight(FLIP) > 0)[cases.groups.number]
        return {
            WRONG: self.answers.wrong,
            FLIP: flips & ~np.isnan(self.answers.answer),
            POSITIONAL: self._same_slot,
            CONTRADICTION: self.calls.contradicted,
            UNREADABLE: self.calls.ended(Unreadable),
            FAILED: self.calls.ended(Failed),
        }

    @property
    def possible_outcomes(self) -> list[str]:
        """Without those that need pairs, or reasons that end with an answer, where there are none."""
        possible = {POSITIONAL: self.calls.shown.paired.any(), CONTRADICTION: self.calls.concluded.any()}
        return [outcome for outcome in OUTCOMES if possible.get(outcome, True)]

    @property
    def _same_slot(self) -> Mask:
        """Calls of presentations whose two orders name different contents, and so the same slot."""
        answer, shown = self.answers.answer, self.presentation
        paired = self.calls.shown.paired[self.calls.stimulus]
        for_u, for_v = (np.bincount(shown, weights=paired & (answer == content)) for content in (1, 2))
        return np.asarray(((for_u == 1) & (for_v == 1))[shown])

    @cached_property
    def places(self) -> list[tuple[str, str, int, int]]:
        """What each call asks, so that the same is found in another run: text, protocol, order, repeat."""
        calls = self.calls
        texts = [each.shown_hash if each.texts_known else each.id for each in calls.shown.stimuli]
        columns = (calls.stimulus, calls.protocol, calls.order, calls.replicate)
        return [
            (texts[s], calls.protocols[p], o, r)
            for s, p, o, r in zip(*(column.tolist() for column in columns), strict=True)
        ]

    @cached_property
    def presentation(self) -> Ints:
        """A number for what a call shows, whatever its order: the two orders of a pair have the same."""
        calls = self.calls
        columns = (calls.judge, calls.protocol, calls.stimulus, calls.replicate)
        number = np.zeros(len(calls), dtype=np.int64)
        for column in columns:
            number = number * (int(column.max(initial=0)) + 1) + column
        return np.unique(number, return_inverse=True)[1].reshape(-1)

    @cached_property
    def answers(self) -> CallAnswers:
        return CallAnswers.of(self.calls)

    @cached_property
    def answer_words(self) -> NDArray[np.str_]:
        """What each call answered, of pairs by content and not by slot."""
        calls, answer = self.calls, self.answers.answer
        words = np.array([answer_word(verdict) for verdict in calls.verdicts] or [""])[calls.verdict]
        named = calls.shown.paired[calls.stimulus] & (answer > NEITHER)
        return np.where(named, np.where(answer == 1, "u", "v"), words)

    @cached_property
    def _labels(self) -> list[str | None]:
        return [reference_label(each.expectation) for each in self.calls.shown.stimuli]

    @cached_property
    def probes(self) -> tuple[str, ...]:
        own = set(self.calls.shown.probe.tolist())
        return tuple(sorted(own | {name for name, places in self.run_calls.probes.items() if places}))

    @cached_property
    def strata(self) -> tuple[str, ...]:
        return tuple(sorted(set(self.calls.shown.stratum.tolist())))

    def mask(self, wanted: CallFilter, search_replies: Callable[[str], Ints] = lambda _: NO_ROWS) -> Mask:
        """The calls that pass all but the outcome; `search_replies` finds replies with a text."""
        calls, shown = self.calls, self.calls.shown
        keep: Mask = np.ones(len(calls), dtype=np.bool_)
        conditions: Sequence[tuple[str, Callable[[], Mask]]] = (
            (wanted.judge, lambda: _rows_with_name(calls.judge, calls.judges, wanted.judge)),
            (wanted.protocol, lambda: _rows_with_name(calls.protocol, calls.protocols, wanted.protocol)),
            (wanted.kind, lambda: (shown.kind == wanted.kind)[calls.stimulus]),
            (wanted.stratum, lambda: (shown.stratum == wanted.stratum)[calls.stimulus]),
            (wanted.label, lambda: np.array([each == wanted.label for each in self._labels])[calls.stimulus]),
            (wanted.answer, lambda: self.answer_words == wanted.answer),
            (wanted.stimulus, lambda: (shown.ids == wanted.stimulus)[calls.stimulus]),
            (wanted.delta, lambda: (shown.delta == _number(wanted.delta))[calls.stimulus]),
        )
        for value, condition in conditions:
            if value:
                keep = keep & condition()
        if wanted.probe and wanted.probe in self.probes:
            keep = keep & self.run_calls.of_probe(wanted.probe, calls)
        if wanted.text:
            needle = wanted.text.casefold()
            shown_match = np.array([needle in text for text in self._searched_texts], dtype=np.bool_)
            matches: Mask = np.zeros(len(calls), dtype=np.bool_)
            matches[:] = shown_match[calls.stimulus] if len(shown_match) else False
            matches[search_replies(wanted.text)] = True
            keep = keep & matches
        return keep

    @property
    def judges(self) -> tuple[str, ...]:
        return tuple(sorted(self.calls.judges, key=self.is_baseline))

    def is_baseline(self, name: str) -> bool:
        return name in self.run_calls.baselines

    @cached_property
    def by_baseline(self) -> Mask:
        places = np.array([self.is_baseline(name) for name in self.calls.judges], dtype=np.bool_)
        return places[self.calls.judge] if len(places) else np.zeros(len(self.calls), dtype=np.bool_)

    def counts(self, keep: Mask) -> dict[str, CallCounts]:
        return {outcome: self.count(mask & keep) for outcome, mask in self.outcomes.items()}

    def count(self, keep: Mask) -> CallCounts:
        baselines = int((keep & self.by_baseline).sum())
        return CallCounts(int(keep.sum()) - baselines, baselines)

    def rows(self, keep: Mask) -> Ints:
        """Numbers of the calls that pass, those of baselines last."""
        return self.baselines_last(np.flatnonzero(keep))

    def baselines_last(self, rows: Ints) -> Ints:
        return rows[np.argsort(self.by_baseline[rows], kind="stable")]

    def of_slot(self, slot: int) -> Mask:
        """Calls of presentations in which this slot was named and the other was not."""
        answer, order = self.answers.answer, self.calls.order
        named = np.where(order == 1, 3 - answer, answer)
        shown, won = self.presentation, answer > 0
        own, other = (np.bincount(shown, weights=won & (named == each)) for each in (slot, 3 - slot))
        return np.asarray(((own > 0) & (other == 0))[shown])

    def of_stimulus(self, name: str) -> Ints:
        place = np.flatnonzero(self.calls.shown.ids == name)
        return np.flatnonzero(np.isin(self.calls.stimulus, place))

    def observations_at(self, rows: Ints | Sequence[int]) -> list[Observation]:
        return list(self.calls.take(np.asarray(rows, dtype=np.int64)))

    def outcomes_of(self, row: int) -> list[str]:
        return [outcome for outcome, mask in self.outcomes.items() if mask[row]]

    @cached_property
    def _searched_texts(self) -> list[str]:
        return [
            "\n".join((each.id, *((each.request, *each.texts) if each.texts_known else ()))).casefold()
            for each in self.calls.shown.stimuli
        ]


def _rows_with_name(column: Ints, names: Sequence[str], name: str) -> Mask:
    return np.asarray(column == (list(names).index(name) if name in names else -1))


def _number(text: str) -> float:
    try:
        return float(text)
    except ValueError:
        return float("nan")


def differing_calls(index: CallIndex, judge: str, other: CallIndex, other_judge: str) -> Mask:
    """Calls of a judge, or of any where none is named, that another judge answers otherwise."""
    differ: Mask = np.zeros(len(index.calls), dtype=np.bool_)
    differ[[row for row, _ in differing_rows(index, judge, other, other_judge)]] = True
    return differ


def differing_rows(index: CallIndex, judge: str, other: CallIndex, other_judge: str) -> list[tuple[int, int]]:
    """Rows of both judges, perhaps of different runs, of each call that they answer differently.

    The same text in the same order and repeat is the same call; texts that nobody knows go by their names.
    """
    theirs = np.flatnonzero(other.mask(CallFilter(judge=other_judge))).tolist() if other_judge else []
    rows = {other.places[row]: row for row in theirs}
    mine = np.flatnonzero(index.mask(CallFilter(judge=judge))).tolist()
    both = [(row, rows[index.places[row]]) for row in mine if index.places[row] in rows]
    return [(row, found) for row, found in both if index.answer_words[row] != other.answer_words[found]]
