"""Does another protocol move the resolution? The ratio of both resolutions, as an equivalence claim.

Bias, threshold, surface and lapses are free under each protocol. Protocols are taken as independent given the
parameters; since they share their pairs this errs towards wide limits, which are wider still where clusters
move the ratio by more than independent pairs would. Beside them stands a sandwich of the logarithm, in which
a cluster moves both protocols together.
"""

from __future__ import annotations

from dataclasses import dataclass
from math import exp, log, nan, sqrt

import numpy as np

from steelyard.core.arrays import Floats
from steelyard.metrics.basis import Basis, fitted
from steelyard.metrics.estimate import Estimate, EstimateContext, Interval
from steelyard.metrics.findings import CLEAR, FLAGGED, INCONCLUSIVE, decided_by
from steelyard.metrics.instrument.model import InstrumentFit
from steelyard.metrics.instrument.profile import SPREAD_FROM, allowance, held_at, spread_of
from steelyard.metrics.metric import Metric
from steelyard.metrics.stats.distributions import (
    normal_probability,
    normal_quantile,
    t_probability,
    t_quantile,
)

RESOLUTION_RATIO = Metric(
    "resolution_ratio",
    "resolution ratio",
    "Resolution under another protocol divided by resolution under the base protocol.",
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
    for sign, fit in ((-1.0, base), (1.0, other)):
        if fit.spread is None:
            return RatioSpread(len(names), nan, 1.0)
        places = [names.index(name) for name in fit.clusters]
        effects[places] += sign * fit.spread.effects[:, 0] / fit.theta[0]
        independent += float(fit.spread.covariance[0, 0]) / fit.theta[0] ** 2
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
    wide, narrow = (
        ratio_limits(*curves, value, allowance(spread.clusters, spread.inflation, confidence))
        for confidence in (0.95, 0.90)
    )
    method = "profile" if spread.clusters < SPREAD_FROM else "profile_cluster"
    by_cluster = spread.limits(value)
    fits = (base.patterns, other.patterns)
    word = ratio_word(narrow, wide)
    decides = Interval(method, *narrow, 0.90) if word == CLEAR else Interval(method, *wide)
    estimate = context.estimate(
        RESOLUTION_RATIO,
        unit="pair",
        value=value,
        intervals=(
            Interval(method, *wide),
            Interval(method, *narrow, 0.90),
            *([by_cluster] if by_cluster else []),
        ),
        n_calls=int(sum(patterns.weights @ patterns.counts.sum(axis=1) for patterns in fits)),
        n_units=int(max(patterns.weights.sum() for patterns in fits)),
        n_clusters=spread.clusters,
        p=ratio_probability(*curves, spread),
        note="unchanged is claimed where the 90 % interval lies within 0.8 to 1.25",
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
