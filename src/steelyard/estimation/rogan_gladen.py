"""Labels from elsewhere: Rogan and Gladen's correction with the interval of Lang and Reiczigel (2014).

θ = (p + specificity − 1)/(sensitivity + specificity − 1). It is wide: with 60 labels about three times as
wide as the labels alone would be, had they been drawn from the items themselves.
"""

from __future__ import annotations

from math import sqrt

from steelyard.core.arrays import Floats, Ints
from steelyard.estimation.frame import CONFIDENCE, Figure, effective_size, two_sided_quantile
from steelyard.metrics.stats.intervals import newcombe

Counts = tuple[float, float]
"""Events and trials; fewer than were counted, where items of one task say much the same."""


def effective_counts(events: Floats, clusters: Ints) -> Counts:
    """Events and trials of independent items that would know the share as well as these."""
    size = effective_size(events, clusters)
    return float(events.mean()) * size, size


def separates(sensitivity: Counts, specificity: Counts) -> bool:
    """Whether the judge is shown to pass good answers more often than bad ones."""
    return newcombe(sensitivity, (specificity[1] - specificity[0], specificity[1]))[0] > 0


def rogan_gladen(
    passed: Counts, sensitivity: Counts, specificity: Counts, confidence: float = CONFIDENCE
) -> Figure:
    z = two_sided_quantile(confidence)
    p, q1, q0 = (events / trials for events, trials in (passed, sensitivity, specificity))
    value = (p + q0 - 1) / (q1 + q0 - 1)
    size = passed[1] + z * z
    p = (passed[0] + z * z / 2) / size
    m1, m0 = sensitivity[1] + 2, specificity[1] + 2
    q1, q0 = (sensitivity[0] + 1) / m1, (specificity[0] + 1) / m0
    v1, v0 = q1 * (1 - q1) / m1, q0 * (1 - q0) / m0
    centre = (p + q0 - 1) / (q1 + q0 - 1)
    shift = 2 * z * z * (centre * v1 - (1 - centre) * v0)
    error = sqrt(p * (1 - p) / size + centre**2 * v1 + (1 - centre) ** 2 * v0) / (q1 + q0 - 1)
    middle = centre + shift
    return Figure(value, middle - z * error, middle + z * error, error, "rogan_gladen")


def allocation(labels: int, p: float, q0: float, q1: float, pilot: int) -> tuple[int, int]:
    """Labels of people's fails and passes (m0, m1) with the narrowest interval, after Lee et al. (2025).

    `q0` and `q1` were seen on `pilot` labels of each kind, and are smoothed by one event on either side.
    """
    q0, q1 = ((q * pilot + 1) / (pilot + 2) for q in (q0, q1))
    m1 = round(labels / (1 + (1 / p - 1) * sqrt((1 - q0) / (1 - q1))))
    m1 = min(max(m1, pilot), labels - pilot)
    return labels - m1, m1
