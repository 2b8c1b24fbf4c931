"""Maximum likelihood of the instrument model, many fits side by side.

Each fit climbs by damped scoring steps (the information is the outer product of the pairs' scores) inside
a box; a step that does not gain is shortened. All fits of a call share one array, so that profiles and
refits cost little more than a single fit.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from steelyard.metrics.pair_likelihood import NAMES, Patterns, pattern_scores
from steelyard.metrics.pairs import Floats

Mask = NDArray[np.bool_]

SURFACE_BOUND = 2.5
"""Largest surface sensitivity that the integration nodes carry."""
LAPSE_BOUND = 0.5
"""Largest lapse rate; beyond it the other parameters have hardly any data."""
REACH = 10.0
"""End of the search for resolution, position bias and tie threshold; rates there are 0 or 1."""
# The slope by surface sensitivity is zero at zero, so a fit could not leave it again.
LOWEST = np.array([-REACH, -REACH, 0.0, 0.01, 0.0])
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


@dataclass(frozen=True, eq=False)
class Fits:
    """One fit per row."""

    theta: Floats
    """Parameter vectors."""
    value: Floats
    """Log-likelihoods."""
    slope: Floats
    """Gradients at the end; not zero where the box holds a parameter."""


def fit(
    patterns: Patterns,
    weights: Floats,
    starts: Floats,
    held: Mask | None = None,
    gain: float = _GAIN,
    steps: int = _STEPS,
) -> Fits:
    """Climb from each start; `weights` (fits × patterns) count pairs, `held` marks fixed parameters."""
    theta = np.clip(starts, LOWEST, HIGHEST) if held is None else np.where(held, starts, _clip(starts))
    fixed = np.zeros(theta.shape, dtype=bool) if held is None else held
    value, slope, information = _state(theta, patterns, weights)
    damping = np.full(len(theta), 1e-2)
    running = np.arange(len(theta))
    for _ in range(steps):
        step = _step(theta, slope, information, damping, fixed, running)
        trial = np.where(fixed[running], theta[running], _clip(theta[running] + step))
        new_value, new_slope, new_information = _state(trial, patterns, weights[running])
        gained = new_value - value[running]
        up = gained >= 0
        better = running[up]
        theta[better], value[better] = trial[up], new_value[up]
        slope[better], information[better] = new_slope[up], new_information[up]
        damping[running] *= np.where(up, 0.2, 8.0)
        done = (up & (gained < gain)) | (damping[running] > 1e9)
        running = running[~done]
        if not len(running):
            break
    return Fits(theta, value, slope)


def best_fit(patterns: Patterns) -> Fits:
    """The highest of the fits from several starts, as a single row."""
    fits = fit(patterns, np.tile(patterns.weights, (len(STARTS), 1)), STARTS)
    # Starts that reach the same height differ in the last digits only; the first of them is taken.
    top = int(np.argmax(fits.value > fits.value.max() - 1e-6))
    return Fits(fits.theta[top : top + 1], fits.value[top : top + 1], fits.slope[top : top + 1])


def _clip(theta: Floats) -> Floats:
    return np.clip(theta, LOWEST, HIGHEST)


def _state(theta: Floats, patterns: Patterns, weights: Floats) -> tuple[Floats, Floats, Floats]:
    value, score = pattern_scores(theta, patterns)
    weighted = score * weights[..., None]
    return (
        np.asarray((value * weights).sum(axis=1)),
        np.asarray(weighted.sum(axis=1)),
        np.asarray(weighted.swapaxes(1, 2) @ score),
    )


def _step(
    theta: Floats, slope: Floats, information: Floats, damping: Floats, fixed: Mask, running: NDArray[np.intp]
) -> Floats:
    """The damped step of the running fits; parameters that the box holds do not move."""
    at, climb = theta[running], slope[running]
    stuck = fixed[running] | ((at <= LOWEST) & (climb <= 0)) | ((at >= HIGHEST) & (climb >= 0))
    free = ~stuck
    matrix = information[running] * (free[:, :, None] & free[:, None, :])
    diagonal = np.einsum("rii->ri", matrix)
    extra = damping[running][:, None] * (diagonal + 1e-3) + stuck + 1e-9
    matrix = matrix + extra[:, :, None] * np.eye(len(NAMES))
    return np.asarray(np.linalg.solve(matrix, np.where(free, climb, 0.0)[..., None])[..., 0])
