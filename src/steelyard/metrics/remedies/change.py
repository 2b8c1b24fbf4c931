"""What a remedy changes, call by call: the cured verdict beside each call that it was made of."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from steelyard.arrays import Floats, Ints, Mask
from steelyard.metrics.comparison.paired import Paired
from steelyard.metrics.estimate import Interval
from steelyard.metrics.remedies.figures import Calls, Figure
from steelyard.metrics.stats.cluster_mean import ClusterMean
from steelyard.metrics.stats.intervals import DIFFERENCE, UNBOUNDED
from steelyard.verdicts.combined import shared
from steelyard.verdicts.observations import Observations

NO_SHARED = "no call has a verdict with the remedy and without"
NO_SPREAD = "no spread between clusters: no interval"


@dataclass(frozen=True)
class Change:
    """The figure of the cured judge less that of the judge as measured, on the same calls."""

    uncured: float | None
    """Without the remedy."""
    cured: float | None
    """With it."""
    difference: float | None
    """With less without."""
    interval: Interval | None = None
    """Of the difference."""
    n_calls: int = 0
    """Calls that have a verdict both ways."""
    n_units: int = 0
    """Pairs or items behind them."""
    n_clusters: int = 0
    """Clusters behind them."""
    note: str | None = None
    """Why there is no difference, or no interval."""


def change(figure: Figure, before: Observations, after: Observations) -> Change:
    """The paired difference; `after` has a verdict for each call that went into it."""
    first, second = (figure.calls(figure.columns(seen)) for seen in shared(before, after))
    both = first.counts & second.counts
    if not both.any():
        return Change(None, None, None, note=NO_SHARED)
    values = first.value[both], second.value[both]
    interval = (_of_events if figure.share else _of_means)(first, both, *values)
    return Change(
        float(values[0].mean()),
        float(values[1].mean()),
        float(values[1].mean() - values[0].mean()),
        interval,
        int(both.sum()),
        len(np.unique(first.unit[both])),
        len(np.unique(first.cluster[both])),
        None if interval else NO_SPREAD,
    )


def _of_events(calls: Calls, both: Mask, before: Floats, after: Floats) -> Interval:
    """Tango's interval over clusters; over pairs or items where there is one cluster."""
    paired = Paired(
        before.astype(np.int64),
        after.astype(np.int64),
        _numbers(calls.cluster[both]),
        _numbers(calls.unit[both]),
    )
    return Interval("tango_cluster" if paired.n_clusters > 1 else "tango", *paired.limits())


def _of_means(calls: Calls, both: Mask, before: Floats, after: Floats) -> Interval | None:
    """Student's t over clusters; over pairs or items where there is one cluster."""
    cluster = calls.cluster[both]
    units = cluster if len(np.unique(cluster)) > 1 else calls.unit[both]
    ends = DIFFERENCE if max(np.abs(before).max(), np.abs(after).max()) <= 1 else UNBOUNDED
    limits = ClusterMean.of(_numbers(units), after - before).limits(0.975, ends)
    return Interval("t_cluster", *limits) if limits else None


def _numbers(units: Ints) -> Ints:
    return np.unique(units, return_inverse=True)[1].astype(np.int64)
