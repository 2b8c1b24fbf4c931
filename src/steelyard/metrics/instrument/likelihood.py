"""Likelihood of the instrument model, for many parameter vectors at once, and the patterns it is fitted to.

X = resolution · quality difference · o + position bias + u · o + noise, o = +1 when the better text stands
first; u ~ N(0, surface sensitivity²) per pair, noise ~ N(0, 1). The answer is 1 above the tie threshold, 2
below its negative, else a tie; a lapse answers at random, per call. Given u the calls of a pair are
independent, so a pair enters by how often each order gave each answer; u is integrated out.

The more often a pair was asked, the better its u is known, and the narrower is what is integrated: between
nodes that lie too far apart it would fall through. Gauss–Hermite nodes draw together with the root of their
number alone. So where pairs have many calls, nodes stand at even distances, as many as calls and spread need;
a sum over even distances is as good as exact once they are below the width of a bell.
"""

from __future__ import annotations

from dataclasses import dataclass, fields
from functools import cache, cached_property, lru_cache, partial
from itertools import pairwise

import numpy as np

from steelyard.core.arrays import Floats, Ints, numbered
from steelyard.metrics.metric import FITTED, Metric
from steelyard.metrics.pairs.columns import Pairs, as_tie, on_ladder, readable
from steelyard.metrics.stats.distributions import normal_law

of_fit = partial(Metric, basis=FITTED)
RESOLUTION = of_fit(
    "resolution",
    meaning="Signal per quality step in units of the judge's noise, from the joint fit.",
    plain="signal per step",
)
POSITION_BIAS = of_fit(
    "position_bias",
    meaning="Constant push towards slot 1 in units of the judge's noise, from the joint fit.",
    plain="push to slot 1",
    signed=True,
)
TIE_THRESHOLD = of_fit(
    "tie_threshold",
    meaning="Signal needed before the judge names a winner, in units of its noise, from the joint fit.",
    plain="signal before it decides",
)
SURFACE_SENSITIVITY = of_fit(
    "surface_sensitivity",
    "surface sensitivity",
    "Spread of the push that a pair's wording gives, in units of the judge's noise, from the joint fit.",
    plain="push of a wording",
)
LAPSE_RATE = of_fit(
    "lapse_rate",
    meaning="Share of answers unrelated to the texts, from the joint fit.",
    plain="answers at random",
)

NAMES = (RESOLUTION, POSITION_BIAS, TIE_THRESHOLD, SURFACE_SENSITIVITY, LAPSE_RATE)
"""Parameters in the order of every parameter vector."""
FEW_CALLS = 8
"""Calls to a pair up to which `NODES` Gauss–Hermite nodes are enough."""
NODES = 31
_SIZES = np.array([45, 63, 89, 125, 177, 251, 355, 503, 709, 1003, 1419])
"""Numbers of even nodes, each two fifths above the one before."""
_REACH = 6.5
"""How many spreads to either side even nodes stand."""
_KNOWN = 0.45
"""What a call tells of its pair's effect, by the squared unit of the judge's noise."""
_PER_WIDTH = 13.5
"""Even nodes over the width of the narrowest bell."""


@dataclass(frozen=True, eq=False)
class SurfaceNodes:
    places: Floats
    """Surface effects, in units of their spread."""
    weights: Floats
    """The share of each; they sum to 1."""
    negligible: float
    """Logarithm, against the likeliest node, below which a node adds nothing to a sum."""


def node_counts(calls: float, spread: Floats) -> Ints:
    """How many nodes each of these spreads takes where no pair has more than so many calls."""
    if calls <= FEW_CALLS:
        return np.full(len(spread), NODES)
    wanted = _PER_WIDTH * np.sqrt(1 + _KNOWN * calls * spread**2)
    return np.asarray(_SIZES[np.minimum(np.searchsorted(_SIZES, wanted), len(_SIZES) - 1)])


@cache
def surface_nodes(count: int) -> SurfaceNodes:
    """So many nodes: `NODES` are Gauss and Hermite's, all others even."""
    if count == NODES:
        points, weights = np.polynomial.hermite.hermgauss(NODES)
        return SurfaceNodes(np.sqrt(2) * points, weights / np.sqrt(np.pi), -150.0)
    places = np.linspace(-_REACH, _REACH, count)
    bell = np.exp(-(places**2) / 2)
    # The weights differ by exp(6.5² / 2), so that what is left out is below exp(-40) of the sum.
    return SurfaceNodes(places, bell / bell.sum(), -(_REACH**2) / 2 - 40)


@dataclass(frozen=True, eq=False)
class Rows:
    """What the model sees of each row: the better text's side first, at quality difference 0 content u."""

    delta: Floats
    pair: Ints
    """Pair number; rows of one pair share their surface effect."""
    cluster: Ints
    better_first: Ints
    """`PairAnswer` with the better text in slot 1, never an abstention."""
    better_second: Ints
    """`PairAnswer` with the better text in slot 2, never an abstention."""

    def __len__(self) -> int:
        return len(self.delta)

    def take(self, index: Ints) -> Rows:
        return Rows(*(getattr(self, column.name)[index] for column in fields(self)))

    def first(self, count: int) -> Rows:
        """The first so many rows of each pair."""
        order = np.argsort(self.pair, kind="stable")
        _, start, size = np.unique(self.pair[order], return_index=True, return_counts=True)
        turn = np.arange(len(order)) - np.repeat(start, size)
        return self.take(np.sort(order[turn < count]))


@dataclass(frozen=True, eq=False)
class Patterns:
    deltas: Floats
    step: Ints
    """Of each pattern: an index into `deltas`."""
    counts: Floats
    """Of each pattern: answers 1, 2, tie with the better text first, then with it second."""
    by_cluster: Floats
    """Pairs of each cluster (rows) with each pattern (columns)."""

    @property
    def weights(self) -> Floats:
        return np.asarray(self.by_cluster.sum(axis=0))

    @property
    def size(self) -> tuple[int, int]:
        """All calls and all pairs."""
        return int(self.weights @ self.counts.sum(axis=1)), int(self.weights.sum())

    @cached_property
    def calls(self) -> float:
        """Most calls to a pair."""
        return float(self.counts.sum(axis=1).max(initial=0.0))


def rows_of(pairs: Pairs) -> Rows:
    """Same-subset pairs and ladder pairs with at least one verdict; abstained is tie."""
    equal = pairs.where(~(pairs.delta > 0) & (pairs.kind == "same_subset"))
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


def collapse_identical(rows: Rows) -> tuple[Rows, bool]:
    """One row per pair where replicates never differ: a judge without noise, whose repeats add nothing."""
    _, first, pair = np.unique(rows.pair, return_index=True, return_inverse=True)
    same = (rows.better_first == rows.better_first[first][pair]) & (
        rows.better_second == rows.better_second[first][pair]
    )
    alike = len(first) < len(rows) and bool(same.all())
    return (rows.take(first), True) if alike else (rows, False)


def patterns_of(rows: Rows, clusters: Ints | None = None) -> Patterns:
    """The patterns of these rows, counted by their own clusters or by those given, which hold them."""
    _, first, pair = np.unique(rows.pair, return_index=True, return_inverse=True)
    answers = np.zeros((len(first), 7))
    answers[:, 0] = rows.delta[first]
    for start, codes in ((1, rows.better_first), (4, rows.better_second)):
        seen = readable(codes)
        np.add.at(answers, (pair[seen], start + codes[seen]), 1)
    kinds, kind = np.unique(answers, axis=0, return_inverse=True)
    clusters = numbered(rows.cluster[first])[0] if clusters is None else clusters
    cluster = np.searchsorted(clusters, rows.cluster[first])
    by_cluster = np.zeros((len(clusters), len(kinds)))
    np.add.at(by_cluster, (cluster, kind.reshape(-1)), 1)
    deltas, step = np.unique(kinds[:, 0], return_inverse=True)
    return Patterns(deltas, step, kinds[:, 1:], by_cluster)


_TINY = 1e-12
"""Least rate that a logarithm is taken of; a fit keeps a lapse rate above it."""

_BLOCK = 80_000
"""Vectors × patterns × nodes that are worked on at a time: a processor keeps so many close by."""


def answer_rates(theta: Floats, drive: Floats) -> Floats:
    """P(1), P(2), P(tie) on a new last axis; `theta` fits `drive` but for its own last axis."""
    lapse = theta[..., 4, None]
    centre = drive + theta[..., 1]
    rates, _ = _without_lapses(
        centre[..., None, :], np.broadcast_to(theta[..., 2], centre.shape)[..., None, :]
    )
    return np.asarray((1 - lapse) * rates.swapaxes(-1, -2) + lapse / 3)


def _without_lapses(centre: Floats, threshold: Floats) -> tuple[Floats, Floats]:
    """P(1), P(2), P(tie) of a judge that never lapses, and the density at either threshold.

    On the last axis but one, which has one place in `centre`.
    """
    rates = np.empty((*centre.shape[:-2], 3, centre.shape[-1]))
    chosen = rates[..., :2, :]
    np.subtract(centre, threshold, out=chosen[..., :1, :])
    np.subtract(-centre, threshold, out=chosen[..., 1:, :])
    chosen[...], above, bell = normal_law(chosen)
    # Far from the middle 1 − P(1) − P(2) would be rounding alone.
    above -= chosen[..., ::-1, :]
    rates[..., 2, :] = np.where(centre[..., 0, :] >= 0, above[..., 0, :], above[..., 1, :])
    return rates, bell


def pattern_scores(theta: Floats, patterns: Patterns) -> tuple[Floats, Floats]:
    """Log-likelihood (vectors × patterns) and its gradient (vectors × patterns × parameters)."""
    value = np.empty((len(theta), len(patterns.step)))
    score = np.empty((*value.shape, len(NAMES)))
    counts = node_counts(patterns.calls, theta[:, 3])
    for count in np.unique(counts).tolist():
        alike = np.flatnonzero(counts == count)
        block = max(1, _BLOCK // (count * max(1, len(patterns.step))))
        for start in range(0, len(alike), block):
            rows = alike[start : start + block]
            value[rows], score[rows] = _scores(theta[rows], patterns, surface_nodes(count))
    return value, score


_ORDER = np.array([1.0, 1.0, 1.0, -1.0, -1.0, -1.0])
"""Of each answer: whether the better text stood first."""
_PARTS = (slice(0, 6), slice(6, 12), slice(12, 14), slice(14, 20))
"""Rows of slopes: by the centre, by the centre times the node's place, of ties by threshold, by lapses."""
_ANSWERS = [*range(6), *range(6), 2, 5, *range(6)]
"""Whose slope each row is."""


def _scores(theta: Floats, patterns: Patterns, nodes: SurfaceNodes) -> tuple[Floats, Floats]:
    log_rates, slopes = _at_nodes(theta, patterns.deltas, nodes)
    size, shape, width = len(theta), len(patterns.step), len(nodes.places)
    bounds = np.searchsorted(patterns.step, np.arange(len(patterns.deltas) + 1)).tolist()
    log_node, by_answer = np.empty((size, shape, width)), np.empty((size, shape, len(_ANSWERS)))
    score = np.empty((size, shape, len(NAMES)))
    for step, (start, end) in enumerate(pairwise(bounds)):
        np.matmul(patterns.counts[start:end], log_rates[:, step], out=log_node[:, start:end])
    top = log_node.max(axis=-1, keepdims=True)
    log_node -= top
    some = slice(0, width)
    if width > NODES:
        # At most nodes no pair is likely to stand once pairs have many calls.
        used = np.flatnonzero(log_node.max(axis=(0, 1)) > nodes.negligible)
        some = slice(used[0], used[-1] + 1)
    share = np.exp(np.maximum(log_node[..., some], nodes.negligible))
    share *= nodes.weights[some]
    total = share.sum(axis=-1, keepdims=True)
    for step, (start, end) in enumerate(pairwise(bounds)):
        here = slopes[:, step, :, some].swapaxes(1, 2)
        np.matmul(share[:, start:end], here, out=by_answer[:, start:end])
    by_answer *= patterns.counts[:, _ANSWERS]
    by_answer /= total
    for (start, end), delta in zip(pairwise(bounds), patterns.deltas.tolist(), strict=True):
        np.matmul(by_answer[:, start:end], _parameter_slopes(delta), out=score[:, start:end])
    return (np.log(total) + top)[..., 0], score


@lru_cache(maxsize=64)
def _parameter_slopes(delta: float) -> Floats:
    """How the rows of slopes make up those by each parameter (rows × parameters)."""
    centre, surface, ties, lapse = _PARTS
    made = np.zeros((len(_ANSWERS), len(NAMES)))
    made[centre, 0], made[centre, 1] = delta * _ORDER, 1.0
    # A higher threshold takes from answer 1 what a lower centre takes, from answer 2 what a higher one does.
    made[centre, 2], made[ties, 2] = [-1.0, 1.0, 0.0, -1.0, 1.0, 0.0], 1.0
    made[surface, 3], made[lapse, 4] = _ORDER, 1.0
    return made


def cell_rates(theta: Floats, deltas: Floats) -> Floats:
    """Probability of each 3×3 cell (vectors × deltas × better first × better second)."""
    nodes = surface_nodes(NODES)
    rates, _, _ = _rates_at_nodes(theta, deltas, nodes)
    return np.asarray(np.einsum("n,rdan,rdbn->rdab", nodes.weights, rates[:, :, 0], rates[:, :, 1]))


def _rates_at_nodes(theta: Floats, deltas: Floats, nodes: SurfaceNodes) -> tuple[Floats, Floats, Floats]:
    """Rates (vectors × deltas × two orders × three answers × nodes); without lapses; and densities."""
    resolution, bias, threshold, spread, lapse = theta.T[..., None, None, None, None]
    push = resolution * deltas[:, None, None, None] + spread * nodes.places
    sides = np.concatenate([push, -push], axis=2)
    attentive, bell = _without_lapses(sides + bias, threshold)
    return (1 - lapse) * attentive + lapse / 3, attentive, bell


def _at_nodes(theta: Floats, deltas: Floats, nodes: SurfaceNodes) -> tuple[Floats, Floats]:
    """Logarithms of the rates (vectors × deltas × six answers × nodes), and their slopes, by row."""
    rates, attentive, bell = _rates_at_nodes(theta, deltas, nodes)
    size, width = rates.shape[:2], rates.shape[-1]
    slopes = np.empty((*size, len(_ANSWERS), width))
    centre, surface, ties, by_lapse = (slopes[:, :, part] for part in _PARTS)
    by_side, (above, below) = centre.reshape(*size, 2, 3, width), np.moveaxis(bell, 3, 0)
    by_side[:, :, :, 0] = above
    np.negative(below, out=by_side[:, :, :, 1])
    np.subtract(below, above, out=by_side[:, :, :, 2])
    np.add(above, below, out=ties)
    np.subtract(1 / 3, attentive.reshape(*size, 6, width), out=by_lapse)
    keeps = (1 - theta[:, 4])[:, None, None, None]
    floor = np.maximum(rates.reshape(by_lapse.shape), _TINY)
    log_rates, relative = np.log(floor), np.divide(1.0, floor, out=floor)
    centre *= keeps
    ties *= keeps
    np.multiply(centre, nodes.places, out=surface)
    for part, by in (
        (centre, relative),
        (surface, relative),
        (ties, relative[:, :, 2::3]),
        (by_lapse, relative),
    ):
        part *= by
    return log_rates, slopes


def density(x: Floats) -> Floats:
    return np.asarray(np.exp(-x * x / 2) / np.sqrt(2 * np.pi))
