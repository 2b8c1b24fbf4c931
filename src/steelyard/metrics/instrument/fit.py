"""Maximum likelihood of the instrument model, many fits side by side.

Each fit climbs by damped scoring steps (the information is the outer product of the pairs' scores) inside
a box; a step that does not gain is shortened. All fits of a call share one array, so that profiles and
refits cost little more than a single fit.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from steelyard.core.arrays import Floats, Ints, Mask
from steelyard.metrics.instrument.likelihood import (
    FEW_CALLS,
    NAMES,
    Patterns,
    Rows,
    pattern_scores,
    patterns_of,
)

SURFACE_BOUND = 2.5
"""Largest surface sensitivity that the integration nodes carry."""
LAPSE_BOUND = 0.5
"""Largest lapse rate; beyond it the other parameters have hardly any data."""
REACH = 10.0
"""End of the search for resolution, position bias and tie threshold; rates there are 0 or 1."""
LEAST_LAPSE = 1e-8
"""Zero, for a fit: without any lapse one answer can be impossible, and there no slope leads away from it."""
# The slope by surface sensitivity is zero at zero, so a fit could not leave it again.
LOWEST = np.array([-REACH, -REACH, 0.0, 0.01, LEAST_LAPSE])
HIGHEST = np.array([REACH, REACH, REACH, SURFACE_BOUND, LAPSE_BOUND])
STARTS = np.array(
    [
        [s, beta, tau, sigma, 0.02]
        for s, beta in ((0.5, 0.0), (2.0, 0.0), (-0.5, 0.0), (0.5, 1.5), (0.5, -1.5))
        for tau, sigma in ((0.3, 0.4), (1.5, 1.0))
    ]
)
_STEPS = 120
_GAIN = 1e-8
_MOST_GAIN = 2.0
"""What a step gains at most for each pair; where the likelihood bends down it is below 1."""
_AHEAD = 1.5
"""How many times what the last step gained, if damping did not shorten it, others may gain."""
_DAMPING, _LEAST_DAMPING, _MOST_DAMPING = 1e-2, 1e-8, 1e9
"""Damping is a share of each coordinate's own information; above the most, no step gains."""


@dataclass(frozen=True, eq=False)
class Reparameterization:
    lowest: Floats
    highest: Floats
    parameters: Callable[[Floats], tuple[Floats, Floats | None]]
    """Parameter vectors at these coordinates, and their slopes by coordinate (None: they are the same)."""

    def clip(self, places: Floats) -> Floats:
        return np.clip(places, self.lowest, self.highest)


PLAIN = Reparameterization(LOWEST, HIGHEST, lambda places: (places, None))


@dataclass(frozen=True, eq=False)
class Fits:
    theta: Floats
    value: Floats
    slope: Floats
    """Gradients at the end; not zero where the box holds a parameter."""
    information: Floats
    """Outer product of the pairs' scores at the end."""

    def take(self, index: Ints) -> Fits:
        return Fits(self.theta[index], self.value[index], self.slope[index], self.information[index])


def fit(
    patterns: Patterns,
    weights: Floats,
    starts: Floats,
    held: Mask | None = None,
    gain: float = _GAIN,
    steps: int = _STEPS,
    chart: Reparameterization = PLAIN,
    least: Floats | None = None,
    enough: float | Floats = np.inf,
) -> Fits:
    """Climb from each start; `weights` (fits × patterns) count pairs, `held` marks fixed coordinates.

    A fit that can not come to its `least` value in the steps that are left is of no use, and stops; so does
    one above the value that is `enough`.
    """
    fixed = np.zeros(starts.shape, dtype=bool) if held is None else held
    theta = np.where(fixed, starts, chart.clip(starts))
    value, slope, information = _state(theta, patterns, weights, chart)
    damping = np.full(len(theta), _DAMPING)
    goal = np.full(len(theta), -np.inf) if least is None else least
    most = _MOST_GAIN * weights.sum(axis=1)
    pace = most.copy()
    ceiling = np.broadcast_to(enough, len(theta))
    running = np.flatnonzero((value + steps * pace >= goal) & (value <= ceiling))
    for left in reversed(range(steps)):
        if not len(running):
            break
        at, climb, still = theta[running], slope[running], fixed[running]
        still = still | ((at <= chart.lowest) & (climb <= 0)) | ((at >= chart.highest) & (climb >= 0))
        step = scoring_step(climb, information[running], damping[running], still)
        trial = np.where(fixed[running], at, chart.clip(at + step))
        new_value, new_slope, new_information = _state(trial, patterns, weights[running], chart)
        gained = new_value - value[running]
        up = gained >= 0
        better = running[up]
        theta[better], value[better] = trial[up], new_value[up]
        slope[better], information[better] = new_slope[up], new_information[up]
        full = up & (damping[running] <= _DAMPING)
        pace[running[full]] = np.minimum(_AHEAD * gained[full], most[running[full]])
        damping[running] = np.maximum(damping[running] * np.where(up, 0.2, 8.0), _LEAST_DAMPING)
        done = (up & (gained < gain)) | (damping[running] > _MOST_DAMPING)
        done |= (value[running] + left * pace[running] < goal[running]) | (value[running] > ceiling[running])
        running = running[~done]
    return Fits(theta, value, slope, information)


def best_fit(patterns: Patterns, starts: Floats = STARTS) -> Fits:
    fits = fit(patterns, np.tile(patterns.weights, (len(starts), 1)), starts)
    # Starts that reach the same height differ in the last digits only; the first of them is taken.
    top = int(np.argmax(fits.value > fits.value.max() - 1e-6))
    return fits.take(np.array([top]))


def starts_of(rows: Rows, patterns: Patterns) -> Floats:
    """Where fits to these rows start: with many calls to a pair, at the peaks for the first few of them.

    No step gains more than one for each pair, so that with many calls the peak is hundreds of steps away.
    """
    if patterns.calls <= FEW_CALLS:
        return STARTS
    few = patterns_of(rows.first(FEW_CALLS // 2))
    peaks = fit(few, np.tile(few.weights, (len(STARTS), 1)), STARTS, gain=1e-3).theta
    return peaks[np.unique(peaks.round(2), axis=0, return_index=True)[1]]


def _state(
    places: Floats, patterns: Patterns, weights: Floats, chart: Reparameterization
) -> tuple[Floats, Floats, Floats]:
    alike = len(places) > 1 and bool((places == places[0]).all())  # as where refits start
    theta, turn = chart.parameters(places[:1] if alike else places)
    value, score = pattern_scores(theta, patterns)
    if turn is not None:
        score = score @ turn
    weighted = score * weights[..., None]
    return (
        np.asarray((value * weights).sum(axis=1)),
        np.asarray(weighted.sum(axis=1)),
        np.asarray(weighted.swapaxes(1, 2) @ score),
    )


def scoring_step(climb: Floats, information: Floats, damping: Floats, still: Mask) -> Floats:
    """The damped step; coordinates that are held, by the caller or by the box, do not move.

    Each coordinate is measured by the root of its own information, so that the matrix has ones on its
    diagonal before the damping is added to it: it is never singular, however far apart the slopes lie.
    """
    free = ~still
    scale = np.sqrt(np.einsum("rii->ri", information) + 1e-3)
    matrix = information / (scale[:, :, None] * scale[:, None, :]) * (free[:, :, None] & free[:, None, :])
    matrix = matrix + (damping[:, None] + still)[:, :, None] * np.eye(len(NAMES))
    return np.asarray(np.linalg.solve(matrix, np.where(free, climb / scale, 0.0)[..., None])[..., 0] / scale)
