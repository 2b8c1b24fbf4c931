"""Index of every call of a run in columns, the filter over it, and the calls behind a figure."""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, fields
from functools import cached_property, lru_cache

import numpy as np

from steelyard.core.arrays import Ints, Mask, numbered
from steelyard.core.content_hash import canonical_json, content_hash
from steelyard.datasheet.examples.selection import (
    FAILED,
    FLIP,
    POSITIONAL,
    UNREADABLE,
    WRONG,
    ExampleSelector,
)
from steelyard.datasheet.words.glossary import metric_named
from steelyard.metrics.basis import Items, labelled
from steelyard.metrics.estimate import Estimate
from steelyard.metrics.metric import Metric
from steelyard.metrics.pairs.columns import collect
from steelyard.metrics.scores.columns import collect_scores
from steelyard.run_folder.call_examples import RunCalls
from steelyard.stimuli.original import ORIGINAL
from steelyard.verdicts.call_answers import CallAnswers
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
            UNREADABLE: self.calls.ended(Unreadable),
            FAILED: self.calls.ended(Failed),
        }

    @property
    def _same_slot(self) -> Mask:
        """Calls of presentations whose two orders name different contents, and so the same slot."""
        answer, shown = self.answers.answer, self.presentation
        paired = self.calls.shown.paired[self.calls.stimulus]
        for_u, for_v = (np.bincount(shown, weights=paired & (answer == content)) for content in (1, 2))
        return np.asarray(((for_u == 1) & (for_v == 1))[shown])

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
            keep = keep & _rows_with_name(calls.judge, calls.judges, wanted.judge)
        if wanted.protocol:
            keep = keep & _rows_with_name(calls.protocol, calls.protocols, wanted.protocol)
        if wanted.probe and wanted.probe in self.probes:
            keep = keep & self.run_calls.of_probe(wanted.probe, calls)
        for column, value in ((shown.kind, wanted.kind), (shown.stratum, wanted.stratum)):
            if value:
                keep = keep & (column == value)[calls.stimulus]
        if wanted.delta:
            keep = keep & (shown.delta == _number(wanted.delta))[calls.stimulus]
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


def figure_name(estimate: Estimate) -> str:
    place = [estimate.judge, estimate.probe, estimate.metric, dict(estimate.group), estimate.unit]
    return content_hash(place)[7:19]


def calls_behind(estimate: Estimate, index: CallIndex) -> Mask:
    summed_up = str(estimate.group.get("of", estimate.metric))
    return _CallSelector(estimate, metric_named(summed_up), index).mask()


def counted_calls(estimate: Estimate, index: CallIndex, behind: Mask | None = None) -> Mask | None:
    """The calls behind a figure that its numerator counts: `68` of `68/100`; of a pair both calls.

    `behind` are the calls behind it, where somebody has them. None where the figure is no share of calls or
    pairs, or the events of its calls do not add up to it.
    """
    metric, calls = metric_named(estimate.metric), index.calls
    if estimate.numerator is None or estimate.judge not in calls.judges or not counts_calls(estimate):
        return None
    behind = calls_behind(estimate, index) if behind is None else behind
    if metric.behind in (UNREADABLE, FAILED):
        counted = behind & index.outcomes[metric.behind]
    else:
        counted = behind.copy()
        counted[behind] = _events(metric, calls.filter(calls=behind))
    if "slot" in estimate.group and not metric.labelled:
        counted &= index.of_slot(int(estimate.group["slot"]))
    per_unit = 2 if estimate.unit == "pair" else 1
    return counted if int(counted.sum()) == per_unit * estimate.numerator else None


def counts_calls(estimate: Estimate) -> bool:
    """Whether the numerator of a figure is a number of calls or pairs."""
    metric = metric_named(estimate.metric)
    lost = metric.behind in (UNREADABLE, FAILED)
    return estimate.numerator is not None and not metric.signed and (lost or metric.event is not None)


def _events(metric: Metric, calls: Observations) -> Mask:
    """Which of these calls of one judge show the event of a metric."""
    if not len(calls):
        return np.zeros(0, dtype=np.bool_)
    if not calls.shown.paired[calls.stimulus].all():
        order = np.lexsort((calls.replicate, calls.stimulus))
        shows: Mask = np.zeros(len(calls), dtype=np.bool_)
        shows[order] = metric.events(collect_scores(calls))
        return shows
    repeats = int(calls.replicate.max(initial=0)) + 1
    row = numbered(calls.stimulus * repeats + calls.replicate)[1]
    events = metric.events(collect(calls))
    return np.asarray(events[row] if events.ndim == 1 else events[row, calls.order])


@dataclass(frozen=True, eq=False)
class _CallSelector:
    estimate: Estimate
    metric: Metric
    index: CallIndex

    def mask(self) -> Mask:
        basis, calls = self.metric.basis, self.index.calls
        keep = self._judges() & self._protocols() & self._stimuli()[calls.stimulus]
        keep &= basis.ended(calls)
        if self.metric.labelled:
            keep &= labelled(calls, self.estimate.group)
        if basis.only is not None:
            keep &= basis.only(calls, self.estimate.group)
        if "slot" in self.estimate.group and self.metric.labelled:
            keep &= self._better_in(int(self.estimate.group["slot"]))
        return self._with_whole_groups(keep)

    def _judges(self) -> Mask:
        """Judges that the figure is of: one, those that its condition names, or all that were measured."""
        name, group, calls = self.estimate.judge, self.estimate.group, self.index.calls
        named = [str(value) for key, value in group.items() if key.startswith("judge_") and "of" not in group]
        wanted = named or set(calls.judges) - set(self.index.run_calls.baselines)
        wanted = [name] if name in calls.judges else wanted
        return np.isin(calls.judge, [number for number, each in enumerate(calls.judges) if each in wanted])

    def _protocols(self) -> Mask:
        calls, name = self.index.calls, self.estimate.group.get("protocol")
        if name is None:
            return np.ones(len(calls), dtype=np.bool_)
        wanted = {name, "base"} if self.metric.basis.with_base else {name}
        return np.isin(calls.protocol, [n for n, each in enumerate(calls.protocols) if each in wanted])

    def _stimuli(self) -> Mask:
        shown, own, items = self.index.calls.shown, self._own(), self.metric.basis.items
        kind = str(self.estimate.group.get("kind", ""))
        if kind == ORIGINAL and not (own & shown.original).any():
            items = Items.UNCHANGED
        elif kind:
            of_kind = shown.kind == kind
            own = own & (of_kind if of_kind.any() else shown.probe == kind)
        own = own & self._in_condition()
        if items in (Items.OWN, Items.PROBES, Items.RUN):
            return own
        edited = own & ~shown.original
        unchanged = shown.original & np.isin(shown.item, shown.item[edited if edited.any() else own])
        return unchanged if items is Items.UNCHANGED else own | unchanged

    def _in_condition(self) -> Mask:
        shown, group = self.index.calls.shown, self.estimate.group
        columns = {
            "stratum": shown.stratum,
            "delta": shown.delta,
            "base_level": shown.base_level,
            "edit": shown.probe,
            "level": shown.strength,
        }
        keep = np.ones(len(shown.stimuli), dtype=np.bool_)
        for name, column in columns.items():
            if name in group:
                keep &= column == group[name]
        return keep

    def _own(self) -> Mask:
        probe, items = self.estimate.probe, self.metric.basis.items
        if probe in self.index.probes and items is not Items.RUN:
            return self._of([probe])
        planned = list(self.index.run_calls.probes)
        if planned and items is Items.PROBES:
            return self._of(planned)
        return np.ones(len(self.index.calls.shown.stimuli), dtype=np.bool_)

    def _of(self, probes: Sequence[str]) -> Mask:
        calls, run_calls = self.index.calls, self.index.run_calls
        seen = [calls.stimulus[run_calls.of_probe(probe, calls)] for probe in probes]
        return np.isin(np.arange(len(calls.shown.stimuli)), np.concatenate(seen))

    def _better_in(self, slot: int) -> Mask:
        calls = self.index.calls
        better = calls.shown.better[calls.stimulus]
        place = np.where(calls.order == 1, 3 - better, better)
        return np.asarray((better > 0) & (place == slot))

    def _with_whole_groups(self, keep: Mask) -> Mask:
        """Only calls whose pair has all its orders among those that count, where the figure is of pairs."""
        if not self.metric.basis.whole:
            return keep
        shown = self.index.presentation
        both = np.bincount(shown, weights=keep) == 2
        return np.asarray(keep & both[shown])
