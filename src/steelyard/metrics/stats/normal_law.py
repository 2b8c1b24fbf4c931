"""The normal law: shares below and above values, and the values below which shares lie."""

from __future__ import annotations

from math import erfc, inf, sqrt
from statistics import NormalDist

import numpy as np

from steelyard.core.arrays import Floats

_ROOT = sqrt(2)
_FEW = 150
"""Up to so many values one call of `erfc` each is quicker than a polynomial over all of them."""
_TURN = 3.75 * _ROOT
_TAIL = (
    -9.214130773449194e-10,
    8.807008614903322e-09,
    9.10578079489966e-09,
    -1.0733156202706008e-07,
    -2.4771678798764287e-08,
    8.484298083098381e-07,
    -4.904679221099478e-07,
    -5.7004380765424265e-06,
    1.1194461898821108e-05,
    2.5813466830341556e-05,
    -0.00014507803641671682,
    0.0001468604907274031,
    0.0008778132066971854,
    -0.004873290531660137,
    0.014181138659616477,
    -0.029346699204516307,
    0.046152160585246224,
    -0.05440196507646663,
    0.04113836924484046,
    0.0017927077428721155,
    -0.07012029929277062,
    0.6187563154189131,
)
"""Half of (1 + 2x)·exp(x²)·erfc(x) by powers of (x − 3.75)/(x + 3.75), from the highest down.

A Chebyshev series over all x ≥ 0, cut where its terms fall below 3e-15 (the form is that of Shepherd and
Laframboise, Mathematics of Computation 36, 1981).
"""


def normal_probability(value: float) -> float:
    """The share of a normal law below a value."""
    return erfc(-value / _ROOT) / 2


def normal_quantile(probability: float) -> float:
    """The normal quantile; infinite at 0 and 1."""
    if probability <= 0:
        return -inf
    if probability >= 1:
        return inf
    return NormalDist().inv_cdf(probability)


def normal_probabilities(values: Floats) -> Floats:
    """The share of a normal law below each value."""
    return normal_sides(values)[0] if values.size > _FEW else _above_each(-values)


def normal_sides(values: Floats) -> tuple[Floats, Floats]:
    """The shares of a normal law below and above each value, either as exact as the smaller."""
    tail = _tails(np.abs(values))
    rest = 1 - tail
    under = values < 0
    return np.where(under, tail, rest), np.where(under, rest, tail)


def normal_quantiles(probabilities: Floats) -> Floats:
    """The normal quantile of each probability, none of which is 0 or 1."""
    # Shares of counts repeat: each is looked for once.
    shares, place = np.unique(probabilities, return_inverse=True)
    quantiles = map(NormalDist().inv_cdf, shares.tolist())
    return np.fromiter(quantiles, np.float64, shares.size)[place].reshape(probabilities.shape)


def _tails(distances: Floats) -> Floats:
    """The share of a normal law above each of these values, none of which is negative."""
    if distances.size <= _FEW:
        return _above_each(distances)
    # Beyond 40 the share is no number any more, and the place of a limit would be undefined.
    near = np.minimum(distances, 40.0)
    place = (near - _TURN) / (near + _TURN)
    series = np.full(near.shape, _TAIL[0])
    for term in _TAIL[1:]:
        series *= place
        series += term
    return np.asarray(series * np.exp(near * near / -2) / (1 + _ROOT * near))


def _above_each(values: Floats) -> Floats:
    """The share of a normal law above each value, one by one."""
    twice = map(erfc, (values / _ROOT).ravel().tolist())
    return np.fromiter(twice, np.float64, values.size).reshape(values.shape) / 2
