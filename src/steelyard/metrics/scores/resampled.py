"""A figure that is a function of sums over clusters, and its intervals: clusters left out, drawn again."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace

import numpy as np

from steelyard.core.arrays import Floats
from steelyard.core.rng import seed_for
from steelyard.metrics.estimate import Estimate, Interval
from steelyard.metrics.estimate_context import EstimateContext
from steelyard.metrics.findings import SURE, with_finding
from steelyard.metrics.metric import Metric
from steelyard.metrics.proportions import NO_SPREAD, ONE_CLUSTER, join, limit_note
from steelyard.metrics.scores.columns import Scores
from steelyard.metrics.stats.cluster_mean import Figure, jackknife
from steelyard.metrics.stats.clusters import REPLICATES, percentile_limits, resample
from steelyard.metrics.stats.intervals import UNBOUNDED, Ends, Span
from steelyard.metrics.stats.two_class import LimitTest, table_limits

_BLOCK = 4_000_000
_UNDEFINED_SHARE = 0.05
_ROUNDING = 1e-9
NO_WIDTH = "clusters drawn again all give this value: no interval"
EXACT = "no spread between clusters: exact limits on clusters"


@dataclass(frozen=True, eq=False)
class Sums:
    """Sums of each resampling unit, and what lies behind them."""

    table: Floats
    rows: Scores
    """The calls they were made from, lost ones included."""
    n_calls: int
    """Calls among them that count."""
    n_items: int


def resampled(
    context: EstimateContext,
    metric: Metric,
    sums: Sums,
    figure: Figure,
    *,
    reason: str,
    ends: Ends = UNBOUNDED,
    bounds: Span | None = None,
    chance: float | None = None,
    notes: tuple[str | None, ...] = (),
    alike: Callable[[], Interval | None] = lambda: None,
    by_rates: bool = False,
    left_out: int = 0,
) -> Estimate:
    """The estimate; `reason` says why it is undefined, `alike` serves where all draws are the same.

    `by_rates`: the sums are tables of two labels, whose rates make the limits. `left_out`: calls that
    abstained.
    """
    value = float(figure(sums.table.sum(0))) if len(sums.table) else float("nan")
    if not np.isfinite(value):
        return context.undefined(metric, reason, "call", sums.rows.lost())
    found, remark = intervals(sums.table, figure, context.bootstrap_seed(metric.id), ends, by_rates=by_rates)
    assumed = alike() if remark == NO_WIDTH else None
    clusters = sums.rows.n_clusters
    limit = metric.limit_in(context.group, context.probe)
    if limit and not found:
        # A limit is read from these, so they are shown.
        limits = LimitTest(sums.table, figure, ends, sums.n_calls, by_rates).limits(SURE)
        found, assumed, remark = (Interval("random_mixture", *limits),), None, NO_SPREAD
    estimate = context.estimate(
        metric,
        unit="call",
        value=value,
        intervals=(*found, assumed) if assumed else found,
        n_calls=sums.n_calls,
        n_units=sums.n_items,
        n_clusters=clusters,
        excluded=sums.rows.lost(),
        left_out=left_out,
        bounds=bounds,
        chance=chance,
        note=join(
            [
                *notes,
                NO_SPREAD if assumed else remark,
                ONE_CLUSTER if clusters < 2 else None,
                limit_note(limit) if limit else None,
            ]
        ),
    )
    # The losses alone do not tell how far they could move such a figure; see `with_label_word`.
    found_word = with_finding(replace(estimate, excluded={}, bounds=None), limit)
    return replace(estimate, status=found_word.status, calls_needed=found_word.calls_needed)


def intervals(
    table: Floats, figure: Figure, seed: int, ends: Ends, *, by_rates: bool = False
) -> tuple[tuple[Interval, ...], str | None]:
    """Clusters left out in turn or the rates of two labels, then clusters drawn again, and a remark."""
    drawn, remark = interval(table, figure, seed)
    limits = {"bootstrap_cluster": drawn}
    if by_rates:
        limits = {"mover_cluster": table_limits(table, figure), **limits}
        remark = EXACT if remark == NO_WIDTH else remark
    elif drawn:
        limits = {"jackknife_cluster": jackknife(table, figure, ends), **limits}
    return tuple(Interval(method, *found) for method, found in limits.items() if found), remark


def interval(table: Floats, figure: Figure, seed: int) -> tuple[Span | None, str | None]:
    """Percentile limits over units drawn again, and a remark where they need one."""
    if len(table) < 2:
        return None, None
    values = draws(table, figure, seed)
    limits = percentile_limits(values, len(table))
    if limits is None or limits[1] - limits[0] < _ROUNDING * max(map(abs, limits)):
        return None, NO_WIDTH
    lost = float(np.mean(~np.isfinite(values)))
    return limits, f"undefined in {lost:.0%} of the draws" if lost > _UNDEFINED_SHARE else None


def draws(table: Floats, figure: Figure, seed: int) -> Floats:
    """The figure of each bootstrap replicate, in blocks that bound the memory of wide tables."""
    flat = table.reshape(len(table), -1)
    block = max(1, min(REPLICATES, _BLOCK // flat.shape[1]))
    parts = []
    for start in range(0, REPLICATES, block):
        size = min(block, REPLICATES - start)
        sums = resample(flat, seed_for(seed, start), size)
        parts.append(figure(sums.reshape(size, *table.shape[1:])))
    return np.concatenate(parts)
