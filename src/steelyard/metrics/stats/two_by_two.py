"""Limits of agreement with labels of two kinds: Youden's J, balanced accuracy, Cohen's κ.

A table is clusters × labels × scores. Its figures rest on three shares: right verdicts on either label, and
how common the second label is. Each share has limits of its own, Wilson's on the effective size with
Student's t, or exact ones on clusters where clusters do not differ. Variance recovery joins them: the shares
move together as they do over clusters, and the figure takes its least and its largest value on the ellipsoid
whose half-axes are the distances to the limits. Few clusters and a rare label leave the rarer share wide; a
standard error over clusters would not know.
"""

from __future__ import annotations

from functools import cache
from math import sqrt

import numpy as np

from steelyard.core.arrays import Floats
from steelyard.metrics.stats.cluster_mean import ClusterMean, Figure
from steelyard.metrics.stats.distributions import t_quantile
from steelyard.metrics.stats.intervals import AGREEMENT, Span, clipped, clopper_pearson, score
from steelyard.metrics.stats.sample_size import ALPHA
from steelyard.metrics.stats.significance import ENOUGH_CLUSTERS

_STEPS = 36
"""Directions to the half circle on which a figure is looked up."""
_WITHIN = 1e-9
"""How far from 0 and 1 the share of a label stays, where a figure would be undefined."""


def youden_limits(table: Floats, probability: float = 0.975) -> tuple[float, float, float] | None:
    """Sensitivity + specificity − 1 of a table (clusters, 2 labels, 2 scores), with two-sided limits.

    `probability` is that of each limit. A call may count half to either score, as an abstention does. None
    where a label has no verdict.
    """
    shares = _rates(table, probability)
    if shares is None:
        return None
    (first, first_limits), (second, second_limits) = shares
    value, together = first + second - 1, _correlation(table)
    low = value - _joint(first - first_limits[0], second - second_limits[0], together)
    high = value + _joint(first_limits[1] - first, second_limits[1] - second, together)
    return value, *clipped((low, high), AGREEMENT)


def table_limits(table: Floats, figure: Figure, probability: float = 0.975) -> Span | None:
    """Two-sided limits of a figure of such a table; None where a label has no verdict."""
    shares = _rates(table, probability)
    if shares is None:
        return None
    common = _share(table[:, 1].sum(axis=-1), table.sum(axis=(1, 2)), probability)
    middle = np.array([share for share, _ in (*shares, common)])
    ends = np.array([limits for _, limits in (*shares, common)])
    away = _directions() @ _root(_correlation(table)).T
    places = np.clip(
        middle + np.where(away < 0, away * (middle - ends[:, 0]), away * (ends[:, 1] - middle)), 0, 1
    )
    right_0, right_1, second = np.concatenate([middle[None], places]).T
    second = np.clip(second, _WITHIN, 1 - _WITHIN)
    cells = [(1 - second) * right_0, (1 - second) * (1 - right_0), second * (1 - right_1), second * right_1]
    values = figure(np.stack(cells, axis=-1).reshape(-1, 2, 2))
    values = values[np.isfinite(values)]
    return (float(values.min()), float(values.max())) if len(values) else None


def _rates(table: Floats, probability: float) -> list[tuple[float, Span]] | None:
    """Right verdicts on either label as shares with limits; None where a label has none."""
    trials = table.sum(axis=-1)
    if not len(table) or not trials.sum(axis=0).all():
        return None
    return [_share(table[:, label, label], trials[:, label], probability) for label in (0, 1)]


def _share(events: Floats, trials: Floats, probability: float) -> tuple[float, Span]:
    """A share of calls and its limits; exact ones on clusters where these do not differ."""
    shown = trials > 0
    mean = ClusterMean(events[shown], np.rint(trials[shown]).astype(np.int64))
    share, clusters = mean.mean, mean.units
    if mean.even:
        # At 0 and 1 there is one limit only, and the whole error is spent on it.
        tail = 1 - probability if 0 < share < 1 else max(1 - probability, ALPHA)
        return share, clopper_pearson(share * clusters, clusters, 1 - 2 * tail)
    size = mean.effective_size(share * (1 - share))
    return share, score(share, size, t_quantile(probability, clusters - 1))


def _correlation(table: Floats) -> float:
    """How right verdicts on the two labels move together over clusters; 0 where one of them does not move.

    Few clusters tell no correlation that could be relied on to narrow the limits.
    """
    right = np.diagonal(table, axis1=1, axis2=2)
    trials = table.sum(axis=-1)
    first, second = (right - trials * (right.sum(axis=0) / trials.sum(axis=0))).T
    spread = sqrt(float(first @ first) * float(second @ second))
    if spread < 1e-9:
        return 0.0
    together = min(1.0, max(-1.0, float(first @ second) / spread))
    return together if len(table) >= ENOUGH_CLUSTERS else max(0.0, together)


def _joint(first: float, second: float, together: float) -> float:
    """How far a sum reaches when its parts reach so far."""
    return sqrt(max(first * first + second * second + 2 * together * first * second, 0.0))


def _root(together: float) -> Floats:
    """Lower root of the correlation of the two rates and the share of a label, which moves by itself."""
    return np.array([[1.0, 0.0, 0.0], [together, sqrt(1 - together * together), 0.0], [0.0, 0.0, 1.0]])


@cache
def _directions() -> Floats:
    """Points all over the unit sphere, the circle of the two rates among them."""
    up = np.linspace(-np.pi / 2, np.pi / 2, _STEPS + 1)[:, None]
    round_ = np.arange(2 * _STEPS) * np.pi / _STEPS
    points = np.stack(
        np.broadcast_arrays(np.cos(up) * np.cos(round_), np.cos(up) * np.sin(round_), np.sin(up))
    )
    return np.asarray(points.reshape(3, -1).T)
