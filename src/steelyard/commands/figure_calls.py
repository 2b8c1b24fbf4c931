"""The calls behind a figure: those that it is made from, and those that its numerator counts."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from steelyard.commands.call_index import CallIndex
from steelyard.core.arrays import Mask, numbered, widen
from steelyard.core.content_hash import content_hash
from steelyard.datasheet.example_selection import CONTRADICTION, FAILED, UNREADABLE
from steelyard.datasheet.glossary import metric_named
from steelyard.metrics.estimate import Estimate
from steelyard.metrics.merit import COUNTED
from steelyard.metrics.metric import Items, Metric, labelled
from steelyard.metrics.pairs.columns import collect
from steelyard.metrics.scores.columns import collect_scores
from steelyard.stimuli.original import ORIGINAL, ROTATION
from steelyard.verdicts.observations import Observations


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
    if metric.behind in BY_OUTCOME:
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
    known = metric.behind in BY_OUTCOME or metric.event is not None
    return estimate.numerator is not None and not metric.signed and known


BY_OUTCOME = (CONTRADICTION, UNREADABLE, FAILED)
"""Outcomes of single calls that a metric counts without an event of its own."""


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
    row = numbered(widen(calls.stimulus) * repeats + calls.replicate)[1]
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
        if basis.shared:
            keep &= self._seen_under_both(keep)
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
            "target": shown.expected,
        }
        keep = np.ones(len(shown.stimuli), dtype=np.bool_)
        for name, column in columns.items():
            if name in group:
                keep &= column == group[name]
        return keep

    def _own(self) -> Mask:
        probe, items = self.estimate.probe, self.metric.basis.items
        if COUNTED in self.estimate.details:
            return np.isin(self.index.calls.shown.probe, self.estimate.details[COUNTED])
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

    def _seen_under_both(self, keep: Mask) -> Mask:
        calls = self.index.calls
        seen = [
            np.unique(calls.stimulus[keep & (calls.protocol == n)]) for n in np.unique(calls.protocol[keep])
        ]
        both = np.intersect1d(seen[0], seen[1]) if len(seen) == 2 else calls.stimulus
        return np.isin(calls.stimulus, both) if len(both) else keep

    def _better_in(self, slot: int) -> Mask:
        calls = self.index.calls
        better = calls.shown.better[calls.stimulus]
        place = np.where(calls.order == 1, 3 - better, better)
        several = calls.shown.kind == ROTATION
        of_several = (several & (calls.shown.expected == slot))[calls.stimulus]
        return np.asarray(((better > 0) & (place == slot)) | of_several)

    def _with_whole_groups(self, keep: Mask) -> Mask:
        """Only calls whose pair has all its orders among those that count, where the figure is of pairs."""
        if not self.metric.basis.whole:
            return keep
        shown = self.index.presentation
        both = np.bincount(shown, weights=keep) == 2
        return np.asarray(keep & both[shown])
