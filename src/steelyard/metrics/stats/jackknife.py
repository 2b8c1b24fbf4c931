"""Span of a figure that is a function of sums over clusters, from leaving out each cluster in turn.

The values without one cluster give the standard error, Student's t the reach. Near an end of its range a
figure is skewed: there the reach is taken on a scale on which the end is infinitely far away, Fisher's z
between two ends, the logarithm above one. Percentiles of a bootstrap cover less: 4 clusters have 35 different
draws, and the spread of draws shrinks towards the end.
"""

from __future__ import annotations

from collections.abc import Callable
from math import atanh, exp, isfinite, sqrt, tanh

import numpy as np

from steelyard.core.arrays import Floats
from steelyard.metrics.stats.intervals import Ends, Span, clipped
from steelyard.metrics.stats.student_law import t_quantile

Figure = Callable[[Floats], Floats]
"""From sums of shape (…, columns…) to values of shape (…)."""
_ROUNDING = 1e-9


def jackknife(table: Floats, figure: Figure, ends: Ends, probability: float = 0.975) -> Span | None:
    """Two-sided limits at this one-sided probability; None where no cluster moves the figure."""
    value = float(figure(table.sum(axis=0)))
    without = left_out(table, figure)
    without = without[np.isfinite(without)]
    count = len(without)
    if count < 2 or not isfinite(value):
        return None
    error = left_out_error(without)
    if error <= _ROUNDING * max(abs(value), 1.0e-300):
        return None
    return around(value, t_quantile(probability, count - 1) * error, ends)


def left_out(table: Floats, figure: Figure) -> Floats:
    """The figure without each cluster in turn; NaN where that leaves it undefined."""
    return np.asarray(figure(table.sum(axis=0) - table), dtype=np.float64)


def left_out_error(without: Floats) -> float:
    """The standard error that these values give."""
    apart = without - without.mean()
    return sqrt((len(without) - 1) / len(without) * float(apart @ apart))


def around(value: float, reach: float, ends: Ends) -> Span:
    """Span this far from the value to first order, and never beyond an end."""
    low, high = ends
    if not low < value < high:
        return clipped((value - reach, value + reach), ends)
    if isfinite(low) and isfinite(high):
        middle, half = (low + high) / 2, (high - low) / 2
        place = (value - middle) / half
        step = reach / half / (1 - place * place)
        return middle + half * tanh(atanh(place) - step), middle + half * tanh(atanh(place) + step)
    if isfinite(low):
        share = reach / (value - low)
        return low + (value - low) * exp(-share), low + (value - low) * exp(min(share, 700.0))
    return value - reach, value + reach
