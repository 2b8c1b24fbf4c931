"""Profile-likelihood limits: how far each parameter can go before the best fit loses 1.92 in log-likelihood.

An end that is never reached inside the search box is open. So is one that is reached only because the box
stops another parameter which would still gain: a wider box would move it, so the data have not set it.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from steelyard.metrics.intervals import normal_quantile
from steelyard.metrics.pair_fit import HIGHEST, LOWEST, Fits, fit
from steelyard.metrics.pair_likelihood import NAMES, Patterns
from steelyard.metrics.pairs import Floats

NEAR = 0.1
"""Root of twice a loss that no data could tell from none."""
NATURAL = np.array([False, False, True, True, True])
"""Parameters whose lower end, zero, is a value and no end of the search."""
_UNBOUNDED = 3
"""The first so many parameters have no end but that of the search."""
_ROUNDS = 16
_CLOSE = 2e-3
_PRESSING = 1e-3


@dataclass(frozen=True)
class Reach:
    """The limits of one parameter."""

    low: float | None
    """Lower limit; None where it is open."""
    high: float | None
    """Upper limit; None where it is open."""
    falls: bool
    """The likelihood has no peak downwards: it does not fall towards the lower end."""
    grows: bool
    """The likelihood has no peak upwards."""
    at_zero: bool
    """The lower limit is the natural zero, which the data do not exclude."""

    @property
    def idle(self) -> bool:
        """The data set no limit on either side."""
        return self.high is None and (self.low is None or self.at_zero)


def reaches(patterns: Patterns, best: Fits, level: float = 0.95) -> list[Reach]:
    """The limits of every parameter around the best fit."""
    wide = normal_quantile((1 + level) / 2)
    which = np.repeat(np.arange(len(NAMES)), 4)
    up = np.tile([False, True, False, True], len(NAMES))
    target = np.tile([wide, wide, NEAR, NEAR], len(NAMES))
    ends, opened = _search(patterns, best, which, up, target)
    return [
        _reach(name, ends[4 * name : 4 * name + 4], opened[4 * name : 4 * name + 4])
        for name in range(len(NAMES))
    ]


def _reach(name: int, ends: Floats, opened: NDArray[np.bool_]) -> Reach:
    at_zero = bool(NATURAL[name] and opened[0])
    low = 0.0 if at_zero else None if opened[0] else float(ends[0])
    falls = bool(opened[2] and not NATURAL[name])
    return Reach(low, None if opened[1] else float(ends[1]), falls, bool(opened[3]), at_zero)


def _search(
    patterns: Patterns, best: Fits, which: NDArray[np.intp], up: NDArray[np.bool_], target: Floats
) -> tuple[Floats, NDArray[np.bool_]]:
    """Where each profile loses its target, and whether that place is open."""
    size = len(which)
    inner, outer = best.theta[0, which], np.where(up, HIGHEST[which], LOWEST[which])
    inside, loss_in, loss_out = np.tile(best.theta, (size, 1)), np.zeros(size), np.full(size, np.inf)
    place, opened, running = outer.copy(), np.zeros(size, dtype=bool), np.arange(size)
    for turn in range(_ROUNDS):
        fits = _held_at(patterns, inside[running], which[running], place[running])
        loss = np.sqrt(2 * np.maximum(best.value[0] - fits.value, 0.0))
        beyond = loss >= target[running]
        out, within = running[beyond], running[~beyond]
        outer[out], loss_out[out] = place[out], loss[beyond]
        inner[within], loss_in[within], inside[within] = place[within], loss[~beyond], fits.theta[~beyond]
        opened[running] = _pressed(fits, which[running])
        done = np.abs(loss - target[running]) < _CLOSE
        if turn == 0:
            opened[within] = True
            done |= ~beyond
        running = running[~done]
        if not len(running):
            break
        place[running] = _between(inner, outer, loss_in, loss_out, target, halve=turn % 3 == 0)[running]
    return place, opened


def _held_at(patterns: Patterns, starts: Floats, which: NDArray[np.intp], place: Floats) -> Fits:
    """The best fits with one parameter of each held."""
    rows = np.arange(len(which))
    held = np.zeros(starts.shape, dtype=bool)
    held[rows, which] = True
    moved = starts.copy()
    moved[rows, which] = place
    return fit(patterns, np.tile(patterns.weights, (len(which), 1)), moved, held, 1e-5, 80)


def _between(
    inner: Floats, outer: Floats, loss_in: Floats, loss_out: Floats, target: Floats, *, halve: bool
) -> Floats:
    """The next place to try: the loss grows almost as a straight line, but not always."""
    span = np.maximum(loss_out - loss_in, 1e-12)
    share = np.full(len(inner), 0.5) if halve else np.clip((target - loss_in) / span, 0.02, 0.98)
    return np.asarray(inner + share * (outer - inner))


def _pressed(fits: Fits, which: NDArray[np.intp]) -> NDArray[np.bool_]:
    """Whether another parameter pushes against the end of the search."""
    theta, slope = fits.theta[:, :_UNBOUNDED], fits.slope[:, :_UNBOUNDED]
    low, high = LOWEST[:_UNBOUNDED], HIGHEST[:_UNBOUNDED]
    natural = NATURAL[:_UNBOUNDED]
    pushes = ((theta >= high) & (slope > _PRESSING)) | ((theta <= low) & (slope < -_PRESSING) & ~natural)
    pushes &= np.arange(_UNBOUNDED) != which[:, None]
    return np.asarray(pushes.any(axis=1))
