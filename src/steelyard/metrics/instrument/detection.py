"""Limit of detection: the quality step at which the judge names the better text in 95 % of calls.

With d the drive that the step gives, the share of calls that name the better text, both orders and all
wordings together, is (1 − λ)·½·[Φ((d + β − τ)/w) + Φ((d − β − τ)/w)] + λ/3 with w² = 1 + σ². The drive that
brings it to 95 % is a function of bias, threshold, surface and lapses alone, so that the limit can take the
place of the resolution as a coordinate, and its profile limits are those of any parameter.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from math import exp, inf, log

import numpy as np

from steelyard.core.arrays import Floats
from steelyard.metrics.instrument.fit import HIGHEST, LOWEST, Fits, Reparameterization, fit
from steelyard.metrics.instrument.likelihood import NAMES, density
from steelyard.metrics.instrument.model import InstrumentFit
from steelyard.metrics.instrument.profile import held_at, reaches
from steelyard.metrics.stats.distributions import normal_law

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
