"""Student's law: a beta law of a ratio of squares."""

from __future__ import annotations

from functools import lru_cache
from math import inf, sqrt

from steelyard.metrics.stats.beta_law import beta_place, beta_sides


def t_probability(value: float, degrees: float) -> float:
    """The share of Student's law below a value."""
    square = value * value
    if square == inf:
        return float(value > 0)
    tail = beta_sides(degrees / 2, 0.5, degrees / (degrees + square), square / (degrees + square))[0] / 2
    return tail if value < 0 else 1 - tail


@lru_cache(maxsize=4096)
def t_quantile(probability: float, degrees: float) -> float:
    """The quantile of Student's t."""
    if probability > 0.5:
        return -t_quantile(1 - probability, degrees)
    inner, outer = beta_place(degrees / 2, 0.5, 2 * probability, 1 - 2 * probability)
    return -sqrt(degrees * (outer / inner)) if inner > 0 else -inf
