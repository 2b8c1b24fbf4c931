"""Worth of a cue in steps of quality: the joint fit with one more parameter, read as a profile in the worth.

The better text is ahead by δ steps and the worse one carries the cue:

    X = s · (δ − v) · o + β + u · o + noise

All else is as in the instrument model. So a pair with the cue is a pair of the ladder whose step is smaller
by v, and at a held worth v the fit is the joint fit of the ladder and of the cue's pairs. Where s may be near
zero, far worths lose little: the interval stays open and no quotient is inflated.

Position is a cue that every call has: with β = v · s its worth is a profile of the ladder alone.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from math import inf, sqrt
from typing import Protocol

import numpy as np

from steelyard.core.arrays import Floats, Ints, Mask
from steelyard.metrics.instrument.fit import HIGHEST, LOWEST, Reparameterization, best_fit, fit, starts_of
from steelyard.metrics.instrument.likelihood import NAMES, Patterns, Rows, pattern_scores, patterns_of
from steelyard.metrics.instrument.profile import SPREAD_FROM, allowance
from steelyard.metrics.stats.distributions import normal_probability, t_probability

FARTHEST = 10.0
"""End of the search for a worth, in steps."""
_COARSE, _OUTWARD = (0.0, 1.5, -1.5), (3.0, 5.0, 7.0, FARTHEST)
"""Places that are fitted first, and further ones while the best lies at an end."""
_GOLDEN = (3 - sqrt(5)) / 2
_ROUNDS = 20
_NARROW, _NEAR = 0.01, 0.25
_CLOSE = 0.02
"""How near to its target the root of a loss is enough."""
_FLAT = 1e-3
"""A loss in log-likelihood that no data could tell from none."""
_SEEING = Reparameterization(np.array([0.0, *LOWEST[1:]]), HIGHEST, lambda places: (places, None))
"""The parameters of a judge whose resolution is not negative."""


class WorthModel(Protocol):
    """The joint fit with a worth among its coordinates."""

    @property
    def patterns(self) -> Patterns: ...
    @property
    def worth_at(self) -> int:
        """Which coordinate is the worth."""

    @property
    def clusters(self) -> int:
        """Clusters that tell of the worth."""

    @property
    def lowest(self) -> Floats: ...
    @property
    def highest(self) -> Floats: ...

    def fit_at(self, worth: float, starts: Floats) -> tuple[float, Floats]:
        """Log-likelihood and parameters of the best fit with the worth held."""

    def place(self, worth: float, theta: Floats) -> Floats:
        """The coordinates of a fit."""

    def scores(self, place: Floats) -> Floats:
        """Slopes of the log-likelihood of each pattern by coordinate."""


@dataclass(frozen=True, eq=False)
class CueModel:
    """The ladder together with the pairs of one cue."""

    patterns: Patterns
    """First the patterns of the ladder, then those of the cue's pairs at steps of their own."""
    cued: Mask
    """Which steps are those of the cue's pairs."""
    numbers: Ints
    """Clusters, in the order of the patterns' rows."""
    worth_at: int = len(NAMES)

    @classmethod
    def of(cls, ladder: Rows, cue: Rows) -> CueModel:
        clusters = np.union1d(ladder.cluster, cue.cluster)
        plain, own = patterns_of(ladder, clusters), patterns_of(cue, clusters)
        both = Patterns(
            np.concatenate([plain.deltas, own.deltas]),
            np.concatenate([plain.step, len(plain.deltas) + own.step]),
            np.concatenate([plain.counts, own.counts]),
            np.concatenate([plain.by_cluster, own.by_cluster], axis=1),
        )
        return cls(both, np.arange(len(both.deltas)) >= len(plain.deltas), clusters)

    @property
    def clusters(self) -> int:
        with_cue = self.patterns.by_cluster[:, self.cued[self.patterns.step]]
        return int(np.count_nonzero(with_cue.any(axis=1)))

    @property
    def lowest(self) -> Floats:
        return np.array([*_SEEING.lowest, -FARTHEST])

    @property
    def highest(self) -> Floats:
        return np.array([*_SEEING.highest, FARTHEST])

    def shifted(self, worth: float) -> Patterns:
        """The patterns with every step of a cue pair smaller by the worth."""
        return replace(self.patterns, deltas=self.patterns.deltas - worth * self.cued)

    def cluster_curves(self, theta: Floats, places: Floats) -> tuple[Ints, Floats, Floats]:
        """Clusters with pairs of the cue, their log-likelihood at each worth with all else held, and how many
        pairs and calls each has (clusters × 2)."""
        mine = self.cued[self.patterns.step]
        counts = self.patterns.by_cluster[:, mine]
        own = replace(
            self.patterns, step=self.patterns.step[mine], counts=self.patterns.counts[mine], by_cluster=counts
        )
        rows = [
            pattern_scores(theta[None], replace(own, deltas=self.patterns.deltas - worth))[0][0]
            for worth in places.tolist()
        ]
        shown = np.flatnonzero(counts.any(axis=1))
        sizes = np.stack([np.ones(len(own.step)), own.counts.sum(axis=1)], axis=1)
        return self.numbers[shown], counts[shown] @ np.array(rows).T, counts[shown] @ sizes

    def fit_at(self, worth: float, starts: Floats) -> tuple[float, Floats]:
        weights = np.tile(self.patterns.weights, (len(starts), 1))
        fits = fit(self.shifted(worth), weights, starts, None, 1e-4, 80, _SEEING)
        best = int(np.argmax(fits.value))
        return float(fits.value[best]), fits.theta[best]

    def place(self, worth: float, theta: Floats) -> Floats:
        return np.append(theta, worth)

    def scores(self, place: Floats) -> Floats:
        """By the worth: the slope by s is the step times that by the drive, and the worth moves the drive."""
        theta, worth = place[:-1], float(place[-1])
        shifted = self.shifted(worth)
        if np.abs(shifted.deltas[self.cued]).min(initial=inf) < 1e-6:
            shifted = self.shifted(worth + 1e-5)
        by_theta = pattern_scores(theta[None], shifted)[1][0]
        steps = shifted.deltas[shifted.step]
        by_worth = np.zeros(len(steps))
        mine = self.cued[shifted.step]
        by_worth[mine] = -theta[0] * by_theta[mine, 0] / steps[mine]
        return np.column_stack([by_theta, by_worth])


@dataclass(frozen=True, eq=False)
class PositionModel:
    """The ladder, with the worth of slot 1 in the place of the position bias."""

    patterns: Patterns
    worth_at: int = 1

    @property
    def clusters(self) -> int:
        return len(self.patterns.by_cluster)

    @property
    def lowest(self) -> Floats:
        return np.array([0.0, -FARTHEST, *LOWEST[2:]])

    @property
    def highest(self) -> Floats:
        return np.array([HIGHEST[0], FARTHEST, *HIGHEST[2:]])

    def fit_at(self, worth: float, starts: Floats) -> tuple[float, Floats]:
        starts = starts.copy()
        starts[:, 1] = worth
        held = np.zeros(starts.shape, dtype=bool)
        held[:, 1] = True
        weights = np.tile(self.patterns.weights, (len(starts), 1))
        chart = Reparameterization(self.lowest, self.highest, _bias_from_worth)
        fits = fit(self.patterns, weights, starts, held, 1e-4, 80, chart)
        best = int(np.argmax(fits.value))
        return float(fits.value[best]), fits.theta[best]

    def place(self, worth: float, theta: Floats) -> Floats:
        del worth
        return theta

    def scores(self, place: Floats) -> Floats:
        theta, turn = _bias_from_worth(place[None])
        return np.asarray(pattern_scores(theta, self.patterns)[1][0] @ turn[0])


def _bias_from_worth(places: Floats) -> tuple[Floats, Floats]:
    theta = places.copy()
    theta[:, 1] = places[:, 0] * places[:, 1]
    turn = np.tile(np.eye(len(NAMES)), (len(places), 1, 1))
    turn[:, 1, 0], turn[:, 1, 1] = places[:, 1], places[:, 0]
    return theta, turn


@dataclass(frozen=True, eq=False)
class WorthFit:
    """The best fit and how far the data let the worth move."""

    value: float
    low: float | None
    """Lower 95 % limit; None where the data set none."""
    high: float | None
    clusters: int
    inflation: float
    """Variance between clusters over that of independent pairs; at least 1."""
    effects: Floats | None
    """How each cluster moves the worth; None where that is not known."""
    profile: Profile

    def probability(self, worth: float) -> float:
        """Two-sided p of this worth, widened as the interval is."""
        root = self.profile.root(worth) / sqrt(self.inflation)
        few = self.clusters < SPREAD_FROM
        return 2 * (normal_probability(-root) if few else t_probability(-root, self.clusters - 1))


class Profile:
    """The profile of the worth; every place is fitted once, from the nearest fit."""

    def __init__(self, model: WorthModel, start: Floats) -> None:
        self.model, self.start = model, start
        self.fits: dict[float, tuple[float, Floats]] = {}

    def value(self, worth: float) -> float:
        """The log-likelihood of the best fit with this worth."""
        if worth not in self.fits:
            near = min(self.fits, key=lambda known: abs(known - worth), default=None)
            starts = np.array([self.start if near is None else self.fits[near][1]])
            self.fits[worth] = self.model.fit_at(worth, starts)
        return self.fits[worth][0]

    @property
    def peak(self) -> float:
        return max(self.fits, key=lambda worth: self.fits[worth][0])

    def root(self, worth: float) -> float:
        """Root of twice the loss in log-likelihood."""
        value = self.value(worth)
        return sqrt(2 * max(0.0, self.fits[self.peak][0] - value))

    def climb(self) -> None:
        """Fit a few places until the best has others on both sides, then go to the peak by parabolas."""
        for worth in _COARSE:
            self.value(worth)
        for distance in _OUTWARD:
            if self.peak in (min(self.fits), max(self.fits)):
                self.value(distance if self.peak > 0 else -distance)
        for _ in range(_ROUNDS):
            if abs(self.peak) >= FARTHEST:
                return
            (low, peak, high), (vertex, gain) = self._beside(), self._parabola()
            side = max(high - peak, peak - low)
            longer = high - peak if high - peak >= peak - low else low - peak
            if gain < _FLAT and side < 1:
                return
            inside = low < vertex < high and min(abs(vertex - v) for v in (low, peak, high)) > _NARROW
            self.value(vertex if inside and gain >= _FLAT else peak + _GOLDEN * longer)

    def _beside(self) -> tuple[float, float, float]:
        known = sorted(self.fits)
        place = min(max(known.index(self.peak), 1), len(known) - 2)
        return known[place - 1], known[place], known[place + 1]

    def _parabola(self) -> tuple[float, float]:
        """Where the parabola through the best places has its vertex, and how far above the best that is."""
        places = self._beside()
        square, line, _ = np.polyfit(places, [self.fits[v][0] - self.fits[self.peak][0] for v in places], 2)
        if square >= 0:
            return self.peak, 0.0
        vertex = float(-line / (2 * square))
        return vertex, float(-square * (vertex - self.peak) ** 2)

    def edge(self, allowed: float, *, up: bool) -> float | None:
        """Where the profile has lost so much on one side of its peak; None where it never does."""
        peak, sign = self.peak, 1.0 if up else -1.0
        known = sorted((v for v in self.fits if (v - peak) * sign > 0), key=lambda v: abs(v - peak))
        inner, outer = peak, next((v for v in known if self.root(v) >= allowed), None)
        inner = max(
            (v for v in known if outer is None or abs(v - peak) < abs(outer - peak)),
            key=lambda v: abs(v - peak),
            default=peak,
        )
        while outer is None:
            if abs(inner) >= FARTHEST and inner * sign > 0:
                return None
            further = inner + sign * max(0.5, abs(inner - peak))
            further = max(-FARTHEST, min(FARTHEST, further))
            inner, outer = (further, None) if self.root(further) < allowed else (inner, further)
        inside, outside = self.root(inner), self.root(outer)
        for turn in range(_ROUNDS):
            if abs(outer - inner) < _NARROW or abs(outside - allowed) < _CLOSE:
                break
            share = (allowed - inside) / max(outside - inside, 1e-12)
            between = inner + (0.5 if turn % 3 == 2 else min(0.95, max(0.05, share))) * (outer - inner)
            loss = self.root(between)
            if loss >= allowed:
                outer, outside = between, loss
            elif allowed - loss < _CLOSE:
                return between
            else:
                inner, inside = between, loss
        return outer

    @property
    def middle(self) -> float:
        """The peak; where the resolution runs away the middle of the plateau, on which all worths fit."""
        if self.fits[self.peak][1][0] < HIGHEST[0] - _NARROW:
            vertex, gain = self._parabola()
            return vertex if gain < _FLAT and abs(vertex - self.peak) < _NEAR else self.peak
        ends = [self.edge(sqrt(2 * _FLAT), up=up) for up in (False, True)]
        low, high = ((-FARTHEST, FARTHEST)[i] if end is None else end for i, end in enumerate(ends))
        return (low + high) / 2


def start_of(rows: Rows, ladder: Patterns) -> Floats:
    """The parameters of the ladder alone, from which fits with a worth start."""
    return _SEEING.clip(best_fit(ladder, starts_of(rows, ladder)).theta[0])


def fit_worth(model: WorthModel, start: Floats) -> WorthFit:
    """The worth of a model with its 95 % limits."""
    profile = Profile(model, start)
    profile.climb()
    value = profile.middle
    profile.value(value)
    clusters = model.clusters
    effects, inflation = _cluster_effects(model, model.place(profile.peak, profile.fits[profile.peak][1]))
    allowed = allowance(clusters, inflation)
    low, high = (profile.edge(allowed, up=up) for up in (False, True))
    return WorthFit(value, low, high, clusters, inflation, effects, profile)


def _cluster_effects(model: WorthModel, place: Floats) -> tuple[Floats | None, float]:
    """How each cluster moves the worth, and the variance between clusters over that of pairs."""
    clusters = model.clusters
    free = np.flatnonzero((place > model.lowest + 1e-3) & (place < model.highest - 1e-3))
    if clusters < SPREAD_FROM or model.worth_at not in free:
        return None, 1.0
    information = _information(model, place, free)
    if not np.isfinite(information).all() or np.linalg.eigvalsh(information)[0] <= 1e-6:
        return None, 1.0
    covariance = np.linalg.inv(information)
    at = int(np.flatnonzero(free == model.worth_at)[0])
    effects = model.patterns.by_cluster @ model.scores(place)[:, free] @ covariance[:, at]
    between = float(effects @ effects) * clusters / (clusters - 1)
    return effects, max(1.0, between / float(covariance[at, at]))


def _information(model: WorthModel, place: Floats, free: Ints) -> Floats:
    """Minus the second derivatives of the log-likelihood, by central differences of its slopes."""
    reach, weights = 1e-4, model.patterns.weights
    rows = []
    for one in free:
        step = np.zeros(len(place))
        step[one] = reach
        up, down = (weights @ model.scores(place + sign * step) for sign in (1, -1))
        rows.append((up - down)[free] / (2 * reach))
    second = np.array(rows)
    return np.asarray(-(second + second.T) / 2)
