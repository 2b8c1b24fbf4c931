"""What a remedy changes, call by call: the cured verdict beside each call that it was made of."""

from __future__ import annotations

from dataclasses import dataclass, replace
from math import isclose

import numpy as np

from steelyard.core.arrays import Ints, distinct, numbered
from steelyard.metrics.comparison.paired import Paired
from steelyard.metrics.estimate import Estimate, Interval
from steelyard.metrics.remedies.figures import Calls, Figure
from steelyard.metrics.stats.cluster_mean import ClusterMean
from steelyard.metrics.stats.clusters import Tally, wilson_cluster
from steelyard.metrics.stats.distributions import t_quantile
from steelyard.metrics.stats.intervals import Ends, clipped, score
from steelyard.verdicts.combined import shared
from steelyard.verdicts.observations import Observations

NO_SHARED = "no call has a verdict with the remedy and without"
NO_SPREAD = "no spread between clusters: limits from the largest share of other differences that fits"


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
    """Why there is no difference, or how its interval was made where clusters do not differ."""
    uncured_interval: Interval | None = None
    """Of the figure without the remedy, on these calls."""


def change(figure: Figure, before: Observations, after: Observations, measured: Estimate) -> Change:
    """The paired difference; `after` has a verdict for each call that went into it.

    `measured` is the figure of `before`, whose interval holds where the calls are the same.
    """
    shown = figure.columns(before)
    first, second = (figure.calls(figure.columns(seen)) for seen in shared(before, after))
    both = first.counts & second.counts
    if not both.any():
        return Change(None, None, None, note=NO_SHARED)
    asked = Calls(first.value[both], both[both], _numbers(first.cluster[both]), _numbers(first.unit[both]))
    changed = replace(asked, value=second.value[both] - asked.value)
    low, high = figure.ends(shown)
    interval = _of_events(asked, changed) if figure.share else _of_mean(changed, (low - high, high - low))
    return Change(
        float(asked.value.mean()),
        float(second.value[both].mean()),
        float(changed.value.mean()),
        interval,
        int(both.sum()),
        len(distinct(asked.unit)),
        len(distinct(asked.cluster)),
        NO_SPREAD if interval.method == "wilson_mean" else None,
        measured.interval
        if measured.value is not None and isclose(measured.value, asked.value.mean())
        else _of_share(asked)
        if figure.share
        else _of_mean(asked, (low, high)),
    )


def _of_events(asked: Calls, changed: Calls) -> Interval:
    """Tango's interval over clusters; over pairs or items where there is one cluster."""
    before = asked.value.astype(np.int64)
    paired = Paired(before, before + changed.value.astype(np.int64), asked.cluster, asked.unit)
    return Interval("tango_cluster" if paired.n_clusters > 1 else "tango", *paired.limits())


def _of_share(asked: Calls) -> Interval:
    """Wilson's interval of the share of events, as the datasheet has it."""
    events, trials = (np.bincount(asked.cluster, weights) for weights in (asked.value, None))
    tally = Tally(
        np.rint(events).astype(np.int64),
        trials.astype(np.int64),
        len(asked.value),
        len(distinct(asked.unit)),
    )
    return Interval("wilson_cluster" if tally.n_clusters > 1 else "wilson_units", *wilson_cluster(tally))


def _of_mean(calls: Calls, ends: Ends) -> Interval:
    """Student's t over clusters, or over pairs or items where there is one; where these do not differ, as far
    as the largest share of other values that fits can draw the mean."""
    several = len(distinct(calls.cluster)) > 1
    mean = ClusterMean.of(calls.cluster if several else calls.unit, calls.value)
    if limits := mean.limits(0.975, ends):
        return Interval("t_cluster", *limits)
    most = score(0.0, mean.assumed_size, t_quantile(0.975, max(1, mean.units - 1)))[1]
    drawn = mean.mean - most * (mean.mean - ends[0]), mean.mean + most * (ends[1] - mean.mean)
    return Interval("wilson_mean", *clipped(drawn, ends))


def _numbers(units: Ints) -> Ints:
    return numbered(units)[1]
