"""Figures that follow from the joint fit: the limit of detection, and whether a protocol moves resolution.

The limit is the quality step at which the judge names the better text in 95 % of calls. With d the drive that
the step gives, the share of calls that name the better text, both orders and all wordings together, is
(1 − λ)·½·[Φ((d + β − τ)/w) + Φ((d − β − τ)/w)] + λ/3 with w² = 1 + σ². The drive that brings it to 95 % is a
function of bias, threshold, surface and lapses alone, so that the limit can take the place of the resolution
as a coordinate, and its profile limits are those of any parameter.

The ratio of both resolutions is an equivalence claim. Bias, threshold, surface and lapses are free under each
protocol. Protocols are taken as independent given the parameters; since they share their pairs this errs
towards wide limits, which are wider still where clusters move the ratio by more than independent pairs would.
Beside them stands a sandwich of the logarithm, in which a cluster moves both protocols together.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from math import exp, inf, log, nan, sqrt

import numpy as np

from steelyard.core.arrays import Floats
from steelyard.metrics.estimate import Estimate, EstimateContext, Interval, Sample
from steelyard.metrics.findings import CLEAR, FLAGGED, INCONCLUSIVE, decided_by
from steelyard.metrics.instrument.fit import HIGHEST, LOWEST, Fits, Reparameterization, fit
from steelyard.metrics.instrument.likelihood import NAMES, density
from steelyard.metrics.instrument.model import InstrumentFit
from steelyard.metrics.instrument.profile import SPREAD_FROM, allowance, held_at, reaches, spread_of
from steelyard.metrics.metric import Basis, Metric, fitted
from steelyard.metrics.stats.distributions import (
    normal_law,
    normal_probability,
    normal_quantile,
    t_probability,
    t_quantile,
)

SEEN = 0.95
"""Share of calls that name the better text at the limit of detection."""
_MOST_LAPSES = 0.0745
"""Above .075 lapses alone keep the share below 95 %; short of it the drive stays finite."""
_SHORTEST, _LONGEST = 0.02, 50.0
"""Ends of the search, in quality steps."""
_STEPS, _CLOSE = 60, 1e-13


@dataclass(frozen=True)
class Detection:
    value: float
    """Infinite where no step is enough."""
    low: float | None
    high: float | None


def limit_of_detection(theta: Floats) -> float:
    """The smallest step at which 95 % of calls name the better text; infinite where there is none."""
    if theta[0] <= 0 or theta[4] >= _MOST_LAPSES:
        return inf
    return float(needed_drive(theta[None])[0] / theta[0])


def detection(model: InstrumentFit) -> Detection:
    start = model.best.theta.copy()
    start[:, 4] = np.minimum(start[:, 4], _MOST_LAPSES)
    start[:, 0] = np.log(needed_drive(start) / np.maximum(start[:, 0], 1e-3))
    near = fit(model.patterns, model.patterns.weights[None], start, chart=CHART)
    around = replace(near, value=np.maximum(model.best.value, near.value))
    value = limit_of_detection(model.theta)
    root = model.allowance(_limit_slopes(near.theta))
    low, high = None, None
    if around.value[0] - near.value[0] < root**2 / 2:
        reach = reaches(model.patterns, around, (0,), CHART, (root,))[0]
        low, high = (None if end is None else exp(end) for end in (reach.low, reach.high))
    if low is None or high is None:
        below, above = _excluded_steps(model, around, value, root**2 / 2)
        low, high = below if low is None else low, above if high is None else high
    return Detection(value, low, high)


def _limit_slopes(place: Floats) -> Floats:
    """Slopes of the limit's logarithm by each parameter, from those of the resolution at a held limit."""
    theta, turn = _parameters(place)
    slopes = turn[0, 0] / theta[0, 0]
    slopes[0] = -1 / theta[0, 0]
    return np.asarray(slopes)


def _excluded_steps(
    found: InstrumentFit, best: Fits, value: float, loss: float
) -> tuple[float | None, float | None]:
    """The measured steps nearest to the limit, below and above it, at which it can not lie.

    They hold where a profile has no end of its own: a judge that is right in every call from the first step
    on has a limit below that step, however steep its curve.
    """
    steps = found.patterns.deltas[found.patterns.deltas > 0]
    starts = np.tile(best.theta, (len(steps), 1))
    first, least = np.zeros(len(steps), dtype=np.intp), np.full(len(steps), best.value[0] - loss)
    fits = held_at(found.patterns, starts, first, np.log(steps), CHART, least)
    excluded = steps[best.value[0] - fits.value > loss]
    below, above = excluded[excluded < value], excluded[excluded > value]
    return float(below[-1]) if len(below) else None, float(above[0]) if len(above) else None


def needed_drive(theta: Floats) -> Floats:
    """The drive at which 95 % of calls name the better text; the first parameter is not looked at."""
    wide = np.sqrt(1 + theta[:, 3] ** 2)
    tilt = theta[:, 1] / wide
    tilts, needed = np.stack([tilt, -tilt]), 2 * (SEEN - theta[:, 4] / 3) / (1 - theta[:, 4])
    low, high = -theta[:, 2] / wide, np.abs(tilt) + 6
    place = (low + high) / 2
    for _ in range(_STEPS):
        shares, _, slopes = normal_law(place + tilts)
        gap = needed - shares.sum(axis=0)
        low, high = np.where(gap > 0, place, low), np.where(gap > 0, high, place)
        # Newton's step, or half the way where it would leave what is known to hold the place.
        step = place + gap / np.maximum(slopes.sum(axis=0), 1e-300)
        last, place = place, np.where((step >= low) & (step <= high), step, (low + high) / 2)
        if (np.abs(place - last) < _CLOSE).all():
            break
    return np.asarray(theta[:, 2] + place * wide)


def _sides(theta: Floats, drive: Floats) -> tuple[Floats, Floats, Floats]:
    """Chance to name the better text where it stands first and where it stands second, without lapses."""
    wide = np.sqrt(1 + theta[..., 3] ** 2)
    margin = drive - theta[..., 2]
    sides = np.stack([margin + theta[..., 1], margin - theta[..., 1]]) / wide
    first, second = normal_law(sides)[0]
    return first, second, wide


def _parameters(places: Floats) -> tuple[Floats, Floats]:
    """Parameters where the first coordinate is the logarithm of the limit, and their slopes."""
    theta = places.copy()
    drive = needed_drive(places)
    theta[:, 0] = drive * np.exp(-places[:, 0])
    turn = np.tile(np.eye(len(NAMES)), (len(places), 1, 1))
    turn[:, 0, :] = _drive_slopes(theta, drive) * np.exp(-places[:, :1])
    turn[:, 0, 0] = -theta[:, 0]
    return theta, turn


def _drive_slopes(theta: Floats, drive: Floats) -> Floats:
    """Slopes of the needed drive by each parameter, from the equation that it solves."""
    first, second, wide = _sides(theta, drive)
    margin = drive - theta[:, 2]
    one, two = (margin + theta[:, 1]) / wide, (margin - theta[:, 1]) / wide
    above, below = density(one), density(two)
    scale = (1 - theta[:, 4]) / (2 * wide)
    by_drive = np.maximum(scale * (above + below), 1e-12)
    by_bias = scale * (above - below)
    by_surface = -scale * (one * above + two * below) * theta[:, 3] / wide
    by_lapse = 1 / 3 - (first + second) / 2
    parts = (np.zeros(len(theta)), by_bias, -by_drive, by_surface, by_lapse)
    return np.asarray(-np.stack(parts, axis=1) / by_drive[:, None])


CHART = Reparameterization(
    np.array([log(_SHORTEST), *LOWEST[1:]]),
    np.array([log(_LONGEST), *HIGHEST[1:4], _MOST_LAPSES]),
    _parameters,
)
"""Coordinates with the logarithm of the limit of detection in the place of the resolution."""


RESOLUTION_RATIO = Metric(
    "resolution_ratio",
    meaning="Resolution under another protocol divided by resolution under the base protocol.",
    plain="signal against base",
    basis=Basis(with_base=True, only=fitted),
)

SAME_WITHIN = (0.8, 1.25)
_POINTS, _FINE, _WIDTH = 25, 801, 4.5
"""Held fits per protocol, places between them, and how many standard errors they reach."""
_FARTHEST = 100.0


@dataclass(frozen=True, eq=False)
class ProfileCurve:
    place: Floats
    root: Floats
    """Signed root of the deviance at each: negative below the peak; almost a straight line."""

    def deviance(self, resolution: Floats) -> Floats:
        """Twice the loss in log-likelihood; beyond the ends the root goes on as a straight line."""
        inside = np.interp(resolution, self.place, self.root)
        ends = ((0, 1, resolution < self.place[0]), (-1, -2, resolution > self.place[-1]))
        for end, next_to, beyond in ends:
            rise = (self.root[next_to] - self.root[end]) / (self.place[next_to] - self.place[end])
            inside = np.where(beyond, self.root[end] + rise * (resolution - self.place[end]), inside)
        return np.asarray(inside**2)


def profile_curve(fit: InstrumentFit) -> ProfileCurve:
    reach, peak = fit.reach[0], float(fit.best.theta[0, 0])
    if reach.low is None or reach.high is None:
        raise ValueError("the resolution is only a bound")
    error = (reach.high - reach.low) / (2 * normal_quantile(0.975))
    place = peak + error * np.linspace(-_WIDTH, _WIDTH, _POINTS)
    starts = np.tile(fit.best.theta, (_POINTS, 1))
    fits = held_at(fit.patterns, starts, np.zeros(_POINTS, dtype=np.intp), place)
    loss = np.maximum(fit.best.value[0] - fits.value, 0.0)
    return ProfileCurve(place, np.sign(place - peak) * np.sqrt(2 * loss))


def profile_of_ratio(base: ProfileCurve, other: ProfileCurve, ratio: float) -> float:
    """Least deviance of both protocols together where their resolutions stand in this ratio."""
    span = base.place[-1] - base.place[0]
    middle = base.place[len(base.place) // 2]
    resolution = middle + span * np.linspace(-1, 1, _FINE)
    return float((base.deviance(resolution) + other.deviance(ratio * resolution)).min())


def ratio_limits(
    base: ProfileCurve, other: ProfileCurve, value: float, root: float
) -> tuple[float | None, float | None]:
    """Where the profile of the ratio loses half the square of the root; None where it never does."""

    def edge(outer: float) -> float | None:
        inner = value
        if profile_of_ratio(base, other, outer) <= root**2:
            return None
        for _ in range(40):
            middle = (inner + outer) / 2
            if profile_of_ratio(base, other, middle) > root**2:
                outer = middle
            else:
                inner = middle
        return inner

    return edge(-_FARTHEST), edge(_FARTHEST)


@dataclass(frozen=True)
class RatioSpread:
    clusters: int
    error: float
    """Standard error from the spread between clusters; NaN where there is none."""
    inflation: float
    """Its square over the variance of independent protocols, where that is above 1."""

    def limits(self, value: float) -> Interval | None:
        if self.clusters < SPREAD_FROM or not self.error > 0 or value <= 0:
            return None
        width = t_quantile(0.975, self.clusters - 1) * self.error
        return Interval("sandwich_cluster", exp(log(value) - width), exp(log(value) + width))


def ratio_spread(base: InstrumentFit, other: InstrumentFit) -> RatioSpread:
    """The spread of the logarithm between clusters, each of which moves both protocols together."""
    names = sorted({*base.clusters, *other.clusters})
    effects, independent = np.zeros(len(names)), 0.0
    for sign, one in ((-1.0, base), (1.0, other)):
        if one.spread is None:
            return RatioSpread(len(names), nan, 1.0)
        places = [names.index(name) for name in one.clusters]
        effects[places] += sign * one.spread.effects[:, 0] / one.theta[0]
        independent += float(one.spread.covariance[0, 0]) / one.theta[0] ** 2
    error = float(spread_of(effects[:, None])[0])
    inflation = max(1.0, error**2 / independent) if independent > 0 else 1.0
    return RatioSpread(len(names), error, inflation)


def ratio_probability(base: ProfileCurve, other: ProfileCurve, spread: RatioSpread) -> float:
    """Two-sided p of equal resolutions; at most .05 where the 95 % limits leave out 1."""
    root = sqrt(profile_of_ratio(base, other, 1.0) / spread.inflation)
    few = spread.clusters < SPREAD_FROM
    return 2 * (normal_probability(-root) if few else t_probability(-root, spread.clusters - 1))


def ratio_word(narrow: tuple[float | None, float | None], wide: tuple[float | None, float | None]) -> str:
    """Clear where the 90 % limits lie within the margin; flagged where the 95 % limits leave out 1."""
    least, most = SAME_WITHIN
    if narrow[0] is not None and narrow[1] is not None and least <= narrow[0] and narrow[1] <= most:
        return CLEAR
    outside = (wide[0] is not None and wide[0] > 1) or (wide[1] is not None and wide[1] < 1)
    return FLAGGED if outside else INCONCLUSIVE


def ratio_estimate(
    context: EstimateContext, base: InstrumentFit | None, other: InstrumentFit | None
) -> Estimate:
    reason = _why_undefined("base", base) or _why_undefined(context.protocol, other)
    if reason or base is None or other is None:
        return context.undefined(RESOLUTION_RATIO, reason or "", "pair")
    value = float(other.theta[0] / base.theta[0])
    curves, spread = (profile_curve(base), profile_curve(other)), ratio_spread(base, other)
    roots = (allowance(spread.clusters, spread.inflation, confidence) for confidence in (0.95, 0.90))
    wide, narrow = (ratio_limits(*curves, value, root) for root in roots)
    method = "profile" if spread.clusters < SPREAD_FROM else "profile_cluster"
    by_cluster = spread.limits(value)
    calls, pairs = zip(base.patterns.size, other.patterns.size, strict=True)
    word = ratio_word(narrow, wide)
    decides = Interval(method, *narrow, 0.90) if word == CLEAR else Interval(method, *wide)
    sample, p = Sample(sum(calls), max(pairs), spread.clusters), ratio_probability(*curves, spread)
    notes = ["unchanged is claimed where the 90 % interval lies within 0.8 to 1.25"]
    limits = [Interval(method, *wide), Interval(method, *narrow, 0.90), *([by_cluster] if by_cluster else [])]
    estimate = context.estimate(
        RESOLUTION_RATIO, sample, notes, unit="pair", value=value, intervals=tuple(limits), p=p
    )
    return decided_by(estimate, word, decides.span, decides.confidence)


def _why_undefined(protocol: str, fit: InstrumentFit | None) -> str | None:
    if fit is None:
        return f"too few pairs under the {protocol} protocol for the joint fit"
    if fit.refused:
        return f"the model does not fit the answers under the {protocol} protocol"
    reach = fit.reach[0]
    if reach.low is None or reach.high is None or reach.grows or reach.falls:
        return f"the resolution under the {protocol} protocol is only a bound"
    if protocol == "base" and reach.low <= 0:
        return "the resolution under the base protocol cannot be told from zero"
    return None
