"""Two judges on the units that both answered: difference, limits, tests, worst case over lost verdicts."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import replace

import numpy as np

from steelyard.metrics.amount import Amount
from steelyard.metrics.comparison.comparison import Comparison
from steelyard.metrics.comparison.paired import Paired
from steelyard.metrics.comparison.question import UnitEvent
from steelyard.metrics.comparison.units import Units
from steelyard.metrics.estimate import Interval
from steelyard.metrics.multiplicity import Sums
from steelyard.metrics.stats.intervals import Span
from steelyard.metrics.stats.sample_size import ALPHA
from steelyard.metrics.stats.significance import CLUSTERS, mcnemar_exact, mcnemar_mid_p

THESE_CLUSTERS = "these clusters only"
NO_SHARED = "no unit has a verdict of both judges"
ONE_SIDE = "every reference is on one side: errors to the other can not be seen"


def compare_units(mine: Units, other: Units, head: Comparison, amount: Amount | None = None) -> Comparison:
    """The figure of two judges on the units that both answered; `head` says what it is about.

    `amount` says how units weigh where the figure is a mean and no share of events.
    """
    first, second = mine.events, other.events
    shown = mine.shared(other)
    answered = [key for key in shown if first[key].loss is None and second[key].loss is None]
    head = replace(
        head,
        n_shared=len(answered),
        n_pairs=len({first[key].pair for key in answered}),
        n_clusters=len({first[key].cluster for key in answered}),
        dropped_first=mine.dropped(other, shown),
        dropped_second=other.dropped(mine, shown),
    )
    if not answered:
        return replace(head, note=NO_SHARED)
    rows = [
        (first[key].happened or 0, second[key].happened or 0, first[key].cluster, first[key].pair)
        for key in answered
    ]
    paired = Paired.of(rows)
    if amount is not None:
        weight = amount.weigh(np.array([first[key].side for key in answered], dtype=np.int64))
        if np.isnan(weight).any():
            return replace(head, note=ONE_SIDE)
        reach = max(first[key].ends[1] - first[key].ends[0] for key in answered)
        paired = replace(paired, weight=weight, reach=reach)
    could = [
        (first[key], second[key]) for key in shown if "abstained" not in (first[key].loss, second[key].loss)
    ]
    measured = _measured(head, paired, _bounds(could))
    return replace(measured, sums=_sums(rows, paired.change.tolist(), measured.flipped or ""))


def _sums(rows: Sequence[tuple[float, float, str, str]], changes: Sequence[float], flipped: str) -> Sums:
    """The difference of each cluster, or of each pair where pairs are flipped; pairs sort first."""
    sums: dict[str, float] = {}
    for (_, _, cluster, pair), change in zip(rows, changes, strict=True):
        name = f"2 {cluster}" if flipped == CLUSTERS else f"1 {pair}"
        sums[name] = sums.get(name, 0) + change
    return sums


def _measured(head: Comparison, paired: Paired, bounds: Span) -> Comparison:
    p, flipped = paired.flip()
    several = paired.n_clusters > 1
    method = ("tango_cluster" if several else "tango") if paired.of_events else "t_cluster"
    return replace(
        head,
        first=paired.mean(paired.first),
        second=paired.mean(paired.second),
        difference=paired.difference,
        gained=paired.gained,
        lost=paired.lost,
        intervals=(
            Interval(method, *paired.limits(1 - ALPHA / 2)),
            Interval(method, *paired.limits(1 - ALPHA), confidence=0.90),
        ),
        bounds=bounds,
        p=p,
        flipped=flipped,
        mcnemar_exact=mcnemar_exact(paired.gained, paired.lost) if paired.of_events else None,
        mcnemar_mid_p=mcnemar_mid_p(paired.gained, paired.lost) if paired.of_events else None,
        detectable=paired.detectable,
        reach=paired.reach,
        note=None if flipped == CLUSTERS else THESE_CLUSTERS,
    )


def _bounds(shown: Iterable[tuple[UnitEvent, UnitEvent]]) -> Span:
    """The mean change if every missing verdict had gone one way, or the other."""
    lows, highs = [], []
    for first, second in shown:
        first_low, first_high = _reach(first)
        second_low, second_high = _reach(second)
        lows.append(second_low - first_high)
        highs.append(second_high - first_low)
    return sum(lows) / len(lows), sum(highs) / len(highs)


def _reach(event: UnitEvent) -> Span:
    return event.ends if event.happened is None else (event.happened, event.happened)
