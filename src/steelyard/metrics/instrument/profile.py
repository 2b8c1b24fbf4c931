"""Profile-likelihood limits of each parameter, and how clusters widen them.

An end that is never reached inside the search box is open. So is one that is reached only because the box
stops another parameter which would still gain: a wider box would move it, so the data have not set it.

The likelihood takes pairs as independent given the parameters. Where clusters differ (in position bias, say)
its limits are too narrow; where they do not, the spread between few clusters is itself badly known. So a
profile is read further out, never further in: it may lose what Student's t of the clusters allows, times the
variance between clusters over that of independent pairs where that is above one.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from math import sqrt

import numpy as np
from numpy.typing import NDArray

from steelyard.core.arrays import Floats, Mask
from steelyard.metrics.instrument.fit import (
    HIGHEST,
    LOWEST,
    PLAIN,
    Fits,
    Reparameterization,
    fit,
    scoring_step,
)
from steelyard.metrics.instrument.likelihood import NAMES, Patterns, pattern_scores
from steelyard.metrics.stats.distributions import normal_quantile, t_quantile

NEAR = 0.1
"""Root of twice a loss that no data could tell from none."""
NATURAL = np.array([False, False, True, True, True])
"""Parameters whose lower end, zero, is a value and no end of the search."""
_UNBOUNDED = 3
"""The first so many parameters have no end but that of the search."""
_ROUNDS = 16
_CLOSE = 2e-3
_PRESSING = 1e-3
_FEW_ROUNDS = 5
_ROOM = 0.9
"""Of the way to the end of the search that a first step goes at most."""
_ASTRAY = (0.5, 2.0)
"""Beyond these shares of the distance that the information at the peak foretells, a profile is searched."""
_LEAST_SHARE = 0.02
"""How much of the way to a place beyond the target is gone at least."""


@dataclass(frozen=True)
class ProfileLimits:
    low: float | None
    """Lower limit; None where it is open."""
    high: float | None
    falls: bool
    """The likelihood has no peak downwards: it does not fall towards the lower end."""
    grows: bool
    """The likelihood has no peak upwards."""
    at_zero: bool
    """The lower limit is the natural zero, which the data do not exclude."""
    independent: tuple[float | None, float | None] = (None, None)
    """The limits with pairs taken as independent: a loss of 1.92 in log-likelihood."""

    @property
    def idle(self) -> bool:
        return self.high is None and (self.low is None or self.at_zero)


def reaches(
    patterns: Patterns,
    best: Fits,
    which: Sequence[int] = range(len(NAMES)),
    chart: Reparameterization = PLAIN,
    allowed: Sequence[float] | None = None,
) -> list[ProfileLimits]:
    """The 95 % limits of these coordinates; `allowed` are roots of twice the loss at the limit of each."""
    wide = normal_quantile(0.975)
    roots = np.full(len(which), wide) if allowed is None else np.array(allowed)
    targets = np.stack([roots, np.full(len(which), NEAR), np.full(len(which), wide)], axis=1)
    held = np.repeat(np.array(which, dtype=np.intp), 2 * targets.shape[1])
    up = np.tile([False, True], targets.size)
    goals = np.repeat(targets.ravel(), 2)
    ends, opened, found = _newton(patterns, best, chart, held, up, goals)
    rest = np.flatnonzero(~found)
    if len(rest):
        ends[rest], opened[rest] = _search(patterns, best, chart, held[rest], up[rest], goals[rest])
    ends, opened = ends.reshape(len(which), -1), opened.reshape(len(which), -1)
    natural = [bool(NATURAL[name]) and chart is PLAIN for name in which]
    return [_open_limits(*parts) for parts in zip(natural, ends, opened, strict=True)]


def held_at(
    patterns: Patterns,
    starts: Floats,
    which: NDArray[np.intp],
    place: Floats,
    chart: Reparameterization = PLAIN,
    least: Floats | None = None,
) -> Fits:
    """The best fits with one coordinate of each held at its place; equal ones are made once.

    One that can not come to its `least` value stops where that is seen.
    """
    _, first, again = np.unique(
        np.column_stack([starts, which, place]), axis=0, return_index=True, return_inverse=True
    )
    rows, again = np.arange(len(first)), again.reshape(-1)
    goal = np.full(len(first), -np.inf if least is None else np.inf)
    if least is not None:
        np.minimum.at(goal, again, least)
    held = np.zeros((len(first), starts.shape[1]), dtype=bool)
    held[rows, which[first]] = True
    shifts = starts[first]
    shifts[rows, which[first]] = place[first]
    weights = np.tile(patterns.weights, (len(first), 1))
    return fit(patterns, weights, shifts, held, 1e-5, 80, chart, goal).take(again)


def _open_limits(natural: bool, ends: Floats, opened: Mask) -> ProfileLimits:
    """From three pairs of ends: at the limits, near the peak, and with pairs taken as independent."""

    def end(place: int) -> float | None:
        # Where an end is open, the natural zero is the limit, or there is none.
        return float(ends[place]) if not opened[place] else 0.0 if natural and place % 2 == 0 else None

    falls = bool(opened[2] and not natural)
    at_zero = bool(natural and opened[0])
    return ProfileLimits(end(0), end(1), falls, bool(opened[3]), at_zero, (end(4), end(5)))


def _newton(
    patterns: Patterns,
    best: Fits,
    chart: Reparameterization,
    which: NDArray[np.intp],
    up: Mask,
    target: Floats,
) -> tuple[Floats, Mask, Mask]:
    """Places as by `_search`, whether they are open, and whether they were found: by a few Newton steps.

    The information at the peak foretells where a profile loses its target and how the other coordinates go
    along. The slope of the root of a loss is the slope of the likelihood over the root.
    """
    rows, outward, peak = np.arange(len(which)), np.where(up, 1.0, -1.0), best.theta[0, which]
    own, at_end = best.information[0, which], (best.theta <= chart.lowest) | (best.theta >= chart.highest)
    still = at_end | (np.arange(len(NAMES)) == which[:, None])
    information = np.tile(best.information, (len(which), 1, 1))
    along = scoring_step(-own, information, np.full(len(which), 1e-6), still)
    along[rows, which] = 1.0
    room = np.where(up, chart.highest[which] - peak, peak - chart.lowest[which])
    reach = np.minimum(target / np.sqrt(np.maximum((own * along).sum(axis=1), 1e-6)), _ROOM * room)
    reach = outward * np.maximum(reach, 1e-12)
    near, place = np.tile(best.theta, (len(which), 1)), peak + reach
    opened, found = np.zeros(len(which), dtype=bool), np.zeros(len(which), dtype=bool)
    running = rows[~at_end[0, which]]
    for _ in range(_FEW_ROUNDS):
        inside = (place > chart.lowest[which]) & (place < chart.highest[which])
        share = (place - peak) / reach
        running = running[(inside & (share > _ASTRAY[0]) & (share < _ASTRAY[1]))[running]]
        if not len(running):
            break
        now, at = which[running], place[running]
        moved = (at - near[running, now])[:, None] * along[running]
        fits = held_at(patterns, near[running] + moved, now, at, chart)
        near[running] = fits.theta
        loss = np.sqrt(2 * np.maximum(best.value[0] - fits.value, 0.0))
        short = target[running] - loss
        slope = np.maximum(np.abs(fits.slope[np.arange(len(at)), now]), 1e-9)
        place[running] = at + outward[running] * short * loss / slope
        opened[running] = _is_pressed(fits, now, chart)
        done = np.abs(short) < _CLOSE
        found[running[done]] = True
        running = running[~done]
    return place, opened, found


def _search(
    patterns: Patterns,
    best: Fits,
    chart: Reparameterization,
    which: NDArray[np.intp],
    up: Mask,
    target: Floats,
) -> tuple[Floats, Mask]:
    """Where each profile loses its target, and whether that place is open; profiles go side by side.

    `which` is the coordinate that each profile holds, `up` its direction.
    """
    size = len(which)
    inner = best.theta[0, which]
    outer = np.where(up, chart.highest[which], chart.lowest[which])
    inside, loss_in, loss_out = np.tile(best.theta, (size, 1)), np.zeros(size), np.full(size, np.inf)
    place, opened, running = outer.copy(), np.zeros(size, dtype=bool), np.arange(size)
    # Beyond that loss the next place is the same whatever the loss.
    least = best.value[0] - (target / _LEAST_SHARE) ** 2 / 2
    for turn in range(_ROUNDS):
        now = inside[running], which[running], place[running]
        fits = held_at(patterns, *now, chart, least[running])
        loss = np.sqrt(2 * np.maximum(best.value[0] - fits.value, 0.0))
        beyond = loss >= target[running]
        out, within = running[beyond], running[~beyond]
        outer[out], loss_out[out] = place[out], loss[beyond]
        inner[within], loss_in[within], inside[within] = place[within], loss[~beyond], fits.theta[~beyond]
        opened[running] = _is_pressed(fits, which[running], chart)
        done = np.abs(loss - target[running]) < _CLOSE
        if turn == 0:
            opened[within] = True
            done |= ~beyond
        running = running[~done]
        if not len(running):
            break
        place[running] = _between(inner, outer, loss_in, loss_out, target, halve=turn % 3 == 0)[running]
    return place, opened


def _is_pressed(fits: Fits, which: NDArray[np.intp], chart: Reparameterization) -> Mask:
    """Whether another coordinate pushes against the end of the search."""
    theta, slope = fits.theta[:, :_UNBOUNDED], fits.slope[:, :_UNBOUNDED]
    low, high = chart.lowest[:_UNBOUNDED], chart.highest[:_UNBOUNDED]
    natural = NATURAL[:_UNBOUNDED]
    pushes = ((theta >= high) & (slope > _PRESSING)) | ((theta <= low) & (slope < -_PRESSING) & ~natural)
    pushes &= np.arange(_UNBOUNDED) != which[:, None]
    return np.asarray(pushes.any(axis=1))


def _between(
    inner: Floats, outer: Floats, loss_in: Floats, loss_out: Floats, target: Floats, *, halve: bool
) -> Floats:
    """The next place to try: the loss grows almost as a straight line, but not always."""
    span = np.maximum(loss_out - loss_in, 1e-12)
    straight = np.clip((target - loss_in) / span, _LEAST_SHARE, 1 - _LEAST_SHARE)
    return np.asarray(inner + (0.5 if halve else straight) * (outer - inner))


SPREAD_FROM = 6
"""Clusters from which the spread between them is worth an interval."""


@dataclass(frozen=True, eq=False)
class ClusterSpread:
    """What a fit knows of its clusters; a parameter that stands at an end of the search is NaN."""

    covariance: Floats
    """Of the parameters, pairs taken as independent: the inverse of the information."""
    effects: Floats
    """How each cluster (rows) moves each parameter: its score times the covariance."""

    def inflation(self, slopes: Floats) -> float:
        """Variance between clusters over that of independent pairs, for these slopes; at least 1."""
        slopes = np.where(np.isnan(np.diag(self.covariance)), 0.0, slopes)
        alone = float(slopes @ np.nan_to_num(self.covariance) @ slopes)
        between = float(spread_of(np.nan_to_num(self.effects) @ slopes[:, None])[0] ** 2)
        return max(1.0, between / alone) if alone > 0 else 1.0


def cluster_spread(patterns: Patterns, theta: Floats) -> ClusterSpread | None:
    clusters, size = len(patterns.by_cluster), len(NAMES)
    free = np.flatnonzero((theta > LOWEST + 1e-3) & (theta < HIGHEST - 1e-3))
    if clusters < SPREAD_FROM or not len(free):
        return None
    bread = _information(patterns, theta)[np.ix_(free, free)]
    if not np.isfinite(bread).all() or np.linalg.eigvalsh(bread)[0] <= 1e-6:
        return None
    scores = patterns.by_cluster @ pattern_scores(theta[None], patterns)[1][0][:, free]
    covariance: Floats = np.full((size, size), np.nan)
    covariance[np.ix_(free, free)] = np.linalg.inv(bread)
    effects: Floats = np.full((clusters, size), np.nan)
    effects[:, free] = scores @ covariance[np.ix_(free, free)]
    return ClusterSpread(covariance, effects)


def spread_of(effects: Floats) -> Floats:
    """Standard error of a sum of cluster effects (rows)."""
    clusters = len(effects)
    return np.asarray(np.sqrt((effects**2).sum(axis=0) * clusters / (clusters - 1)))


def allowance(clusters: int, inflation: float = 1.0, confidence: float = 0.95) -> float:
    """Root of twice the loss at a limit; with too few clusters pairs are taken as independent."""
    if clusters < SPREAD_FROM:
        return normal_quantile((1 + confidence) / 2)
    return t_quantile((1 + confidence) / 2, clusters - 1) * sqrt(inflation)


def _information(patterns: Patterns, theta: Floats) -> Floats:
    """Minus the second derivatives of the log-likelihood, by central differences of its gradient."""
    reach = 1e-5
    shifts = theta + reach * np.concatenate([np.eye(len(NAMES)), -np.eye(len(NAMES))])
    slopes = np.einsum("rkp,k->rp", pattern_scores(shifts, patterns)[1], patterns.weights)
    second = (slopes[: len(NAMES)] - slopes[len(NAMES) :]) / (2 * reach)
    return np.asarray(-(second + second.T) / 2)
