"""Likelihood of the instrument model, for many parameter vectors at once.

X = resolution · quality difference · o + position bias + u · o + noise, o = +1 when the better text stands
first; u ~ N(0, surface sensitivity²) per pair, noise ~ N(0, 1). The answer is 1 above the tie threshold, 2
below its negative, else a tie; a lapse answers at random, per call. Given u the calls of a pair are
independent, so a pair enters by how often each order gave each answer; u is integrated out.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache
from itertools import pairwise

import numpy as np

from steelyard.arrays import Floats, Ints, numbered
from steelyard.metrics.basis import FITTED
from steelyard.metrics.metric import Metric
from steelyard.metrics.pairs.answer import as_tie, readable
from steelyard.metrics.pairs.columns import Pairs
from steelyard.metrics.pairs.sensitivity import on_ladder
from steelyard.metrics.stats.normal_law import normal_sides

RESOLUTION = Metric(
    "resolution",
    "resolution",
    "Signal per quality step in units of the judge's noise, from the joint fit.",
    plain="signal per step",
    basis=FITTED,
)
POSITION_BIAS = Metric(
    "position_bias",
    "position bias",
    "Constant push towards slot 1 in units of the judge's noise, from the joint fit.",
    plain="push to slot 1",
    signed=True,
    basis=FITTED,
)
TIE_THRESHOLD = Metric(
    "tie_threshold",
    "tie threshold",
    "Signal needed before the judge names a winner, in units of its noise, from the joint fit.",
    plain="signal before it decides",
    basis=FITTED,
)
SURFACE_SENSITIVITY = Metric(
    "surface_sensitivity",
    "surface sensitivity",
    "Spread of the push that a pair's wording gives, in units of the judge's noise, from the joint fit.",
    plain="push of a wording",
    basis=FITTED,
)
LAPSE_RATE = Metric(
    "lapse_rate",
    "lapse rate",
    "Share of answers unrelated to the texts, from the joint fit.",
    plain="answers at random",
    basis=FITTED,
)

NODES = 31
"""Gauss–Hermite nodes; enough up to a surface sensitivity of 2.5."""
NAMES = (RESOLUTION, POSITION_BIAS, TIE_THRESHOLD, SURFACE_SENSITIVITY, LAPSE_RATE)
"""Parameters in the order of every parameter vector."""
SAME = "same_subset"
_TINY = 1e-12
"""Least rate that a logarithm is taken of; a fit keeps a lapse rate above it."""
_NO_SHARE = -150.0
"""Logarithm, against the likeliest node, below which a node adds nothing to a sum, whatever their weights."""


@dataclass(frozen=True, eq=False)
class Rows:
    """What the model sees of each row: the better text's side first, at quality difference 0 content u."""

    delta: Floats
    """Quality difference."""
    pair: Ints
    """Pair number; rows of one pair share their surface effect."""
    cluster: Ints
    """Cluster number."""
    better_first: Ints
    """`Answer` with the better text in slot 1, never an abstention."""
    better_second: Ints
    """`Answer` with the better text in slot 2, never an abstention."""

    def __len__(self) -> int:
        return len(self.delta)

    def take(self, index: Ints) -> Rows:
        """The rows of this index."""
        return Rows(
            self.delta[index],
            self.pair[index],
            self.cluster[index],
            self.better_first[index],
            self.better_second[index],
        )


@dataclass(frozen=True, eq=False)
class Patterns:
    """Distinct answers to a pair, sorted by quality difference."""

    deltas: Floats
    """The quality differences that occur."""
    step: Ints
    """Of each pattern: an index into `deltas`."""
    counts: Floats
    """Of each pattern: answers 1, 2, tie with the better text first, then with it second."""
    by_cluster: Floats
    """Pairs of each cluster (rows) with each pattern (columns)."""

    @property
    def weights(self) -> Floats:
        """Pairs with each pattern."""
        return np.asarray(self.by_cluster.sum(axis=0))


def rows_of(pairs: Pairs) -> Rows:
    """Same-subset pairs and ladder pairs with at least one verdict; abstained is tie."""
    equal = pairs.where(~(pairs.delta > 0) & (pairs.kind == SAME))
    climb = on_ladder(pairs)
    u, v = as_tie(climb.u_first), as_tie(climb.v_first)
    rows = Rows(
        delta=np.concatenate([np.zeros(len(equal)), climb.delta]),
        pair=np.concatenate([equal.pair, climb.pair]),
        cluster=np.concatenate([equal.cluster, climb.cluster]),
        better_first=np.concatenate([as_tie(equal.u_first), np.where(climb.better == 1, u, v)]),
        better_second=np.concatenate([as_tie(equal.v_first), np.where(climb.better == 1, v, u)]),
    )
    seen = readable(rows.better_first) | readable(rows.better_second)
    return rows.take(np.flatnonzero(seen))


def patterns_of(rows: Rows) -> Patterns:
    """Bring the rows of each pair together and count equal answers."""
    _, first, pair = np.unique(rows.pair, return_index=True, return_inverse=True)
    answers = np.zeros((len(first), 7))
    answers[:, 0] = rows.delta[first]
    for start, codes in ((1, rows.better_first), (4, rows.better_second)):
        seen = readable(codes)
        np.add.at(answers, (pair[seen], start + codes[seen]), 1)
    kinds, kind = np.unique(answers, axis=0, return_inverse=True)
    clusters, cluster = numbered(rows.cluster[first])
    by_cluster = np.zeros((len(clusters), len(kinds)))
    np.add.at(by_cluster, (cluster, kind.reshape(-1)), 1)
    deltas, step = np.unique(kinds[:, 0], return_inverse=True)
    return Patterns(deltas, step, kinds[:, 1:], by_cluster)


def answer_rates(theta: Floats, drive: Floats) -> Floats:
    """P(1), P(2), P(tie) on a new last axis; `theta` fits `drive` but for its own last axis."""
    threshold, lapse = theta[..., 2], theta[..., 4]
    centre = drive + theta[..., 1]
    (first, second), (not_first, not_second) = normal_sides(np.stack([centre, -centre]) - threshold)
    # Far from the middle 1 − P(1) − P(2) would be rounding alone.
    tie = np.where(centre >= 0, not_first - second, not_second - first)
    rates = np.stack([first, second, tie], axis=-1)
    return np.asarray((1 - lapse[..., None]) * rates + lapse[..., None] / 3)


def pattern_scores(theta: Floats, patterns: Patterns) -> tuple[Floats, Floats]:
    """Log-likelihood (vectors × patterns) and its gradient (vectors × patterns × parameters)."""
    weights, rates, slopes = _at_nodes(theta, patterns.deltas)
    size, shape = len(theta), len(patterns.step)
    floor = np.maximum(rates, _TINY)
    log_rates, relative = np.log(floor), np.divide(slopes, floor[..., None], out=slopes)
    value, score = np.empty((size, shape)), np.empty((size, shape, len(NAMES)))
    bounds = np.searchsorted(patterns.step, np.arange(len(patterns.deltas) + 1))
    for step, (start, end) in enumerate(pairwise(bounds.tolist())):
        counts = patterns.counts[start:end]
        log_node = counts @ log_rates[:, step]
        top = log_node.max(axis=-1, keepdims=True)
        log_node -= top
        share = np.zeros_like(log_node)
        np.exp(log_node, out=share, where=log_node > _NO_SHARE)
        share *= weights
        total = share.sum(axis=-1, keepdims=True)
        value[:, start:end] = (np.log(total) + top)[..., 0]
        share /= total
        by_node = relative[:, step].transpose(0, 2, 1, 3).reshape(size, NODES, -1)
        by_answer = (share @ by_node).reshape(size, len(counts), 6, len(NAMES))
        score[:, start:end] = (counts[:, None] @ by_answer)[:, :, 0]
    return value, score


def cell_rates(theta: Floats, deltas: Floats) -> Floats:
    """Probability of each 3×3 cell (vectors × deltas × better first × better second)."""
    weights, rates, _ = _at_nodes(theta, deltas)
    return np.asarray(np.einsum("n,rdan,rdbn->rdab", weights, rates[:, :, :3], rates[:, :, 3:]))


def _at_nodes(theta: Floats, deltas: Floats) -> tuple[Floats, Floats, Floats]:
    """Node weights; rates (vectors × deltas × six answers × nodes); their slopes by parameter, last axis."""
    surface, weights = _nodes()
    wide = theta[:, None, None, :]
    push = wide[..., 0] * deltas[:, None] + wide[..., 3] * surface
    both = answer_rates(wide, np.stack([push, -push]))
    rates, slopes = np.empty((*push.shape, 6)), np.empty((*push.shape, 6, len(NAMES)))
    for rate, order, place in zip(both, (1.0, -1.0), (slice(0, 3), slice(3, 6)), strict=True):
        rates[..., place] = rate
        _fill_slopes(
            slopes[..., place, :], wide, order * push, rate, order * deltas[:, None], order * surface
        )
    return weights, rates.swapaxes(-1, -2), slopes.swapaxes(-2, -3)


@cache
def _nodes() -> tuple[Floats, Floats]:
    """Places and weights that integrate over a standard normal law."""
    points, weights = np.polynomial.hermite.hermgauss(NODES)
    return np.sqrt(2) * points, weights / np.sqrt(np.pi)


def _fill_slopes(
    slopes: Floats, theta: Floats, drive: Floats, rates: Floats, by_quality: Floats, by_surface: Floats
) -> None:
    """Put the derivative of each answer's rate into its place (… × answers × parameters)."""
    threshold, lapse = theta[..., 2], theta[..., 4]
    centre = drive + theta[..., 1]
    kept = 1 - lapse
    above, below = density(centre - threshold), density(centre + threshold)
    by_centre, by_threshold = slopes[..., 1], slopes[..., 2]
    by_centre[..., 0] = kept * above
    by_centre[..., 1] = -kept * below
    by_centre[..., 2] = kept * (below - above)
    by_threshold[..., 0] = -kept * above
    by_threshold[..., 1] = by_centre[..., 1]
    by_threshold[..., 2] = kept * (above + below)
    np.multiply(by_centre, by_quality[..., None], out=slopes[..., 0])
    np.multiply(by_centre, by_surface[..., None], out=slopes[..., 3])
    np.divide(1 / 3 - rates, np.maximum(kept, 1e-12)[..., None], out=slopes[..., 4])


def density(x: Floats) -> Floats:
    """The standard normal density."""
    return np.asarray(np.exp(-x * x / 2) / np.sqrt(2 * np.pi))
