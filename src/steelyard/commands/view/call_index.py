"""Index of every call of a run in columns, and the filter over it, quick for a hundred thousand calls."""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, fields
from functools import cached_property, lru_cache

import numpy as np

from steelyard.core.arrays import Ints, Mask
from steelyard.core.content_hash import canonical_json
from steelyard.core.text import pluralize
from steelyard.datasheet.examples.selection import OUTCOMES, WRONG, ExampleSelector
from steelyard.run_folder.call_examples import RunCalls
from steelyard.verdicts.call_answers import CallAnswers
from steelyard.verdicts.observations import Observation, Observations


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
    """Quality step of a pair."""
    outcome: str = ""
    text: str = ""

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
        """`1,518 calls of judges, 1,518 of baselines`; without baselines the calls alone."""
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
        """Outcome to the calls that are cases of it: a flip is every call of the group that flipped."""
        masks = {outcome: np.zeros(len(self.calls), dtype=np.bool_) for outcome in OUTCOMES}
        for number in range(len(self.calls.judges)):
            mine = self.calls.judge == number
            cases = ExampleSelector(self.calls.filter(calls=mine))
            for outcome in OUTCOMES:
                masks[outcome][mine] = (cases.weight(outcome) > 0)[cases.groups.number]
        masks[WRONG] = self.answers.wrong
        return masks

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
        if wanted.judge:
            keep = keep & _named(calls.judge, calls.judges, wanted.judge)
        if wanted.protocol:
            keep = keep & _named(calls.protocol, calls.protocols, wanted.protocol)
        if wanted.probe and wanted.probe in self.probes:
            keep = keep & self.run_calls.of_probe(wanted.probe, calls)
        for column, value in ((shown.kind, wanted.kind), (shown.stratum, wanted.stratum)):
            if value:
                keep = keep & (column == value)[calls.stimulus]
        if wanted.delta:
            keep = keep & (shown.delta == _number(wanted.delta))[calls.stimulus]
        if wanted.text:
            keep = keep & self._containing(wanted.text, search_replies)
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

    def rows(self, keep: Mask, outcome: str = "") -> Ints:
        """Numbers of the calls that pass, those of baselines last; cases of an outcome where one is named."""
        chosen = keep & self.outcomes[outcome] if outcome in self.outcomes else keep
        return self.baselines_last(np.flatnonzero(chosen))

    def baselines_last(self, rows: Ints) -> Ints:
        return rows[np.argsort(self.by_baseline[rows], kind="stable")]

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

    def _containing(self, text: str, search_replies: Callable[[str], Ints]) -> Mask:
        needle = text.casefold()
        shown = np.array([needle in text for text in self._searched_texts], dtype=np.bool_)
        matches: Mask = np.zeros(len(self.calls), dtype=np.bool_)
        matches[:] = shown[self.calls.stimulus] if len(shown) else False
        matches[search_replies(text)] = True
        return matches


def _named(column: Ints, names: Sequence[str], name: str) -> Mask:
    return np.asarray(column == (list(names).index(name) if name in names else -1))


def _number(text: str) -> float:
    try:
        return float(text)
    except ValueError:
        return float("nan")
