"""Limits of a figure between two ends: tasks are left out one by one, Student's t is read on a logit scale.

Draws from few tasks vary too little, and a figure near an end is skewed: percentiles then miss the truth too
often. On the logit scale (Fisher's z where the ends are −1 and 1) the error is nearly even on both sides.
"""

from __future__ import annotations

from collections.abc import Callable
from math import exp, log, sqrt

import numpy as np

from steelyard.metrics.intervals import Limits, t_quantile
from steelyard.metrics.pairs import Floats

METHOD = "jackknife_cluster"
"""Name of the interval."""
_ROUNDING = 1e-9


def left_out_error(table: Floats, figure: Callable[[Floats], Floats]) -> float | None:
    """Standard error from leaving out each unit; None where one leaves the figure undefined."""
    units = len(table)
    if units < 2:
        return None
    values = figure(table.sum(0) - table)
    if not np.all(np.isfinite(values)):
        return None
    return sqrt((units - 1) / units * float(((values - values.mean()) ** 2).sum()))


def logit_limits(value: float, error: float | None, ends: Limits, units: int) -> Limits | None:
    """The 95 % limits with a degree of freedom per unit less one; None at an end or without an error."""
    low, high = ends
    if not error or error < _ROUNDING or min(value - low, high - value) < _ROUNDING:
        return None
    centre = log((value - low) / (high - value))
    slope = (high - low) / ((value - low) * (high - value))
    reach = t_quantile(0.975, units - 1) * error * slope
    return _back(centre - reach, ends), _back(centre + reach, ends)


def _back(logit: float, ends: Limits) -> float:
    low, high = ends
    return low + (high - low) / (1 + exp(min(700.0, -logit)))
