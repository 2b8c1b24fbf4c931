"""The calls behind a figure: those that it was counted from, and no others."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from steelyard.commands.view.call_index import CallIndex
from steelyard.core.arrays import Mask
from steelyard.core.content_hash import content_hash
from steelyard.datasheet.words.glossary import metric_named
from steelyard.metrics.basis import Items, labelled
from steelyard.metrics.estimate import Estimate
from steelyard.metrics.metric import Metric
from steelyard.stimuli.original import ORIGINAL


def figure_name(estimate: Estimate) -> str:
    """A short name of a figure in addresses, the same whenever its datasheet is written anew."""
    place = [estimate.judge, estimate.probe, estimate.metric, dict(estimate.group), estimate.unit]
    return content_hash(place)[7:19]


def calls_behind(estimate: Estimate, index: CallIndex) -> Mask:
    summed_up = str(estimate.group.get("of", estimate.metric))
    return _CallSelector(estimate, metric_named(summed_up), index).mask()


def same_calls(figures: Mapping[str, Estimate], index: CallIndex) -> dict[str, tuple[str, ...]]:
    groups: dict[bytes, list[str]] = {}
    for name, estimate in figures.items():
        groups.setdefault(calls_behind(estimate, index).tobytes(), []).append(name)
    return {name: tuple(group) for group in groups.values() for name in group}


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
        return self._together(keep)

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
        }
        keep = np.ones(len(shown.stimuli), dtype=np.bool_)
        for name, column in columns.items():
            if name in group:
                keep &= column == group[name]
        return keep

    def _own(self) -> Mask:
        """Stimuli that the probe shows; all where the figure is of no single probe."""
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

    def _together(self, keep: Mask) -> Mask:
        """Only calls whose pair has all its orders among those that count, where the figure is of pairs."""
        if not self.metric.basis.whole:
            return keep
        shown = self.index.presentation
        both = np.bincount(shown, weights=keep) == 2
        return np.asarray(keep & both[shown])
