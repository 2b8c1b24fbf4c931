"""How far two judges err on the same inputs."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import combinations
from math import sqrt

import numpy as np

from steelyard.core.arrays import Floats, Ints, numbered
from steelyard.metrics.estimate import Estimate, Interval
from steelyard.metrics.estimate_context import NO_VERDICTS, EstimateContext
from steelyard.metrics.metric import Metric
from steelyard.metrics.panel.ballots import Ballots
from steelyard.metrics.panel.over_judges import members
from steelyard.metrics.proportions import ONE_CLUSTER, join
from steelyard.metrics.stats.cluster_mean import around, left_out, left_out_error
from steelyard.metrics.stats.clusters import ratio
from steelyard.metrics.stats.distributions import t_quantile
from steelyard.metrics.stats.intervals import AGREEMENT, Span

ERROR_CORRELATION = Metric(
    "error_correlation",
    "error correlation",
    "Correlation of two judges' errors over inputs; at 1 they err as one, and a jury gains nothing.",
    plain="err together",
    signed=True,
)

NEVER_VARIES = "one of the two judges is always right or always wrong"
TOO_FEW = "a single cluster decides whether a judge errs at all, or they err as one: no interval"


def error_correlations(context: EstimateContext, votes: Ballots) -> Iterator[Estimate]:
    """Correlation of errors of every two judges."""
    wrong = np.where(np.isnan(votes.votes), np.nan, votes.votes != votes.labels[:, None])
    for first, second in combinations(range(len(votes.judges)), 2):
        here = context.for_subgroup(**members((votes.judges[first], votes.judges[second])))
        both = ~np.isnan(wrong[:, first]) & ~np.isnan(wrong[:, second])
        yield error_correlation(here, wrong[both][:, [first, second]], votes.cluster[both])


def error_correlation(context: EstimateContext, wrong: Floats, cluster: Ints) -> Estimate:
    """φ of two columns of errors; inputs without a verdict of both are left out."""
    units = numbered(cluster)[1]
    columns = np.column_stack([np.ones(len(wrong)), wrong, wrong.prod(-1)])
    table = np.zeros((int(units.max()) + 1 if len(units) else 0, columns.shape[1]))
    np.add.at(table, units, columns)
    value = float(_phi(table.sum(0)))
    if not np.isfinite(value):
        reason = NEVER_VARIES if len(wrong) else NO_VERDICTS
        return context.undefined(ERROR_CORRELATION, reason, "input")
    limits = _limits(table, value)
    return context.estimate(
        ERROR_CORRELATION,
        unit="input",
        value=value,
        intervals=(Interval("jackknife_cluster", *limits),) if limits else (),
        n_calls=2 * len(wrong),
        n_units=len(wrong),
        n_clusters=len(table),
        note=join([None if limits else TOO_FEW, ONE_CLUSTER if len(table) < 2 else None]),
    )


def _limits(table: Floats, value: float) -> Span | None:
    """Fisher's z with the error of left-out clusters, and never less than that of as many independent inputs.

    With few errors the clusters left out hardly differ, most of all where the two judges err apart.
    """
    without = left_out(table, _phi)
    if len(table) < 2 or not np.all(np.isfinite(without)) or abs(value) >= 1:
        return None
    inputs = float(table[:, 0].sum())
    independent = (1 - value**2) / sqrt(max(inputs - 3, 1.0))
    error = max(left_out_error(without), independent)
    return around(value, t_quantile(0.975, len(table) - 1) * error, AGREEMENT)


def _phi(sums: Floats) -> Floats:
    """(n·Σxy − Σx·Σy) / √(Σx(n − Σx)·Σy(n − Σy)): the correlation of two columns of 0 and 1."""
    n, x, y, both = (sums[..., column] for column in range(4))
    spread = x * (n - x) * y * (n - y)
    return ratio(n * both - x * y, np.sqrt(np.maximum(spread, 0.0)))
