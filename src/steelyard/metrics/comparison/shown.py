"""What one probe showed under one protocol: columns for events, and the calls that make each unit."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from math import isnan
from typing import NamedTuple

import numpy as np

from steelyard.core.arrays import Floats
from steelyard.metrics.amount import LEFT_OUT, Amount
from steelyard.metrics.comparison.question import Key, UnitEvent, loss_of
from steelyard.metrics.metric import Metric
from steelyard.metrics.pairs.columns import Pairs, collect
from steelyard.metrics.scores.columns import Scores, collect_scores
from steelyard.metrics.stats.intervals import Span
from steelyard.stimuli.stimulus import Stimulus
from steelyard.trials.trial import ORDERS
from steelyard.verdicts.observations import Observation

Identity = Callable[[Stimulus], str]
"""What makes two stimuli the same: the content hash, or the name where texts are not known."""


class Showed(NamedTuple):
    """What one unit showed of a metric, verdict or not."""

    value: float
    """Whether it shows the event, or what it adds; NaN where it adds nothing."""
    side: int = 0
    """The side of a balance that it stands on."""
    ends: Span = (0.0, 1.0)
    """Least and most that it could show."""


class Unit(NamedTuple):
    """Calls that show an event together, or do not."""

    place: tuple[int, int]
    """Row of the columns, and number of the unit within it."""
    key: Key
    """What pairs it with the unit of another judge."""
    stimulus: Stimulus
    """What was shown."""
    loss: str | None
    """Why it has no verdict; None where it has one."""
    reference: str | None
    """What it can be held against; None without a reference, or with the judge's own verdict for one."""

    def event(self, shown: Showed, *, labelled: bool) -> UnitEvent:
        """The unit's event, or why there is none; `labelled` says that it is held against the reference."""
        against = self.reference or "" if labelled else ""
        value, side, ends = shown
        loss = self.loss or ("abstained" if isnan(value) else None)
        return UnitEvent(
            None if loss else value, loss, self.stimulus.id, self.stimulus.cluster, against, side, ends
        )


@dataclass(frozen=True, eq=False)
class Shown:
    """The observations of a probe under a protocol; columns and units serve all its metrics."""

    probe: str
    """Name of the probe."""
    protocol: str
    """Name of the protocol."""
    columns: Pairs | Scores
    """What event functions read."""
    units: dict[str, list[Unit]]
    """Units by what a metric counts: `call`; `pair` where pairs were shown in both orders, `item`."""

    def events(self, metric: Metric) -> Iterator[tuple[Unit, Showed]]:
        """The units that the metric counts, and what each shows of it."""
        every = self.units.get(metric.unit, [])
        units = [unit for unit in every if unit.reference is not None] if metric.held else every
        amount = metric.amount
        if amount is not None and amount.of is not None:
            values = np.asarray(amount.of(self.columns, self._texts), dtype=np.float64)
            yield from self._amounts(amount, values.reshape(len(self.columns), -1), units)
            return
        mask = metric.events(self.columns).reshape(len(self.columns), -1)
        for unit in units:
            yield unit, Showed(bool(mask[unit.place]))

    def _amounts(
        self, amount: Amount, values: Floats, units: Sequence[Unit]
    ) -> Iterator[tuple[Unit, Showed]]:
        """What each unit adds; those that stand on no side of a balance are left out."""
        none = np.zeros(len(self.columns), dtype=np.int64)
        sides = none if amount.side is None else amount.side(self.columns, self._texts)
        low, high = amount.ends
        for unit in units:
            row = unit.place[0]
            if sides[row] != LEFT_OUT:
                span = _levels(self.columns, row) if amount.in_levels else 1.0
                yield unit, Showed(float(values[unit.place]), int(sides[row]), (low * span, high * span))

    @cached_property
    def _texts(self) -> list[tuple[str, ...]]:
        """The texts of each row."""
        texts: list[tuple[str, ...]] = [()] * len(self.columns)
        for unit in self.units["call"]:
            texts[unit.place[0]] = unit.stimulus.texts
        return texts


def shown_pairs(observations: Sequence[Observation], identity: Identity) -> Iterator[Shown]:
    """Pairs: each call a unit, and each pair whose orders were both asked."""
    for probe, protocol, mine in _parts(observations):
        pairs = collect(mine)
        calls = {(o.stimulus.id, o.replicate, o.order): o for o in mine}
        replicates = pairs.replicate.tolist()
        names = [(pairs.names[number], replicates[row]) for row, number in enumerate(pairs.pair.tolist())]
        units: dict[str, list[Unit]] = {"call": [], "pair": []}
        for row, name in enumerate(names):
            both = [calls.get((*name, order)) for order in ORDERS]
            asked = [call for call in both if call is not None]
            units["call"] += [
                _unit((row, order), [call], identity, call.order)
                for order, call in enumerate(both)
                if call is not None
            ]
            if len(asked) == len(both):
                units["pair"].append(_unit((row, 0), asked, identity, ""))
        yield Shown(probe, protocol, pairs, units)


def shown_scores(observations: Sequence[Observation], identity: Identity) -> Iterator[Shown]:
    """Single texts: each call is a unit."""
    for probe, protocol, mine in _parts(observations):
        scores = collect_scores(mine)
        calls = {(o.stimulus.id, o.replicate): o for o in mine}
        names = [scores.stimuli[number] for number in scores.stimulus]
        shown = [calls[name] for name in zip(names, scores.replicate.tolist(), strict=True)]
        units = [_unit((row, 0), [call], identity, call.order) for row, call in enumerate(shown)]
        yield Shown(probe, protocol, scores, {"call": units, "item": units})


def _levels(columns: Pairs | Scores, row: int) -> float:
    return float(columns.high[row] - columns.low[row]) if isinstance(columns, Scores) else 1.0


def _unit(place: tuple[int, int], calls: Sequence[Observation], identity: Identity, order: str) -> Unit:
    call, stimulus = calls[0], calls[0].stimulus
    known = stimulus.labelled and not call.own_label
    return Unit(
        place,
        (identity(stimulus), order, call.replicate),
        stimulus,
        loss_of(call.verdict for call in calls),
        repr(stimulus.expectation) if known else None,
    )


def _parts(observations: Iterable[Observation]) -> Iterator[tuple[str, str, list[Observation]]]:
    """The observations of each probe under each protocol."""
    parts: dict[tuple[str, str], list[Observation]] = {}
    for observation in observations:
        parts.setdefault((observation.stimulus.probe, observation.protocol), []).append(observation)
    return ((*names, mine) for names, mine in parts.items())
