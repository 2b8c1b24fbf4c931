"""Distributions: normal, beta, binomial and Student's t with their quantiles, and tails of the beta-binomial.

scipy has all of them at 119 MB, so they stand here. A share of the beta distribution is a continued fraction
times a front factor, both as exact in the tails as in the middle; a quantile is Newton's method on the
logarithms, where the share is nearly a straight line. The binomial distribution is a beta distribution in
other words, Student's t a beta distribution of a ratio of squares.
"""

from __future__ import annotations

from functools import lru_cache
from math import erfc, exp, expm1, inf, lgamma, log, log1p, nan, pi, sqrt
from statistics import NormalDist

import numpy as np

from steelyard.core.arrays import Floats, Ints

_ROOT, _ROOT_OF_CIRCLE = sqrt(2), sqrt(2 * pi)
_FEW = 150
"""Up to so many values one call of `erfc` each is quicker than a polynomial over all of them."""
_NEAR_AT_HAND = 8192
"""Values over which the terms of a polynomial are summed at a time: a processor keeps so many close by."""
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
    return erfc(-value / _ROOT) / 2


def normal_quantile(probability: float) -> float:
    """The normal quantile; infinite at 0 and 1."""
    if probability <= 0:
        return -inf
    if probability >= 1:
        return inf
    return NormalDist().inv_cdf(probability)


def normal_probabilities(values: Floats) -> Floats:
    return normal_law(values)[0] if values.size > _FEW else _above_each(-values)


def normal_law(values: Floats) -> tuple[Floats, Floats, Floats]:
    """The shares of a normal law below and above each value, either as exact as the smaller; its density."""
    distances = np.abs(values)
    bell = np.exp(distances * distances / -2)
    tail = _tails(distances, bell)
    rest = 1 - tail
    under = values < 0
    return np.where(under, tail, rest), np.where(under, rest, tail), bell / _ROOT_OF_CIRCLE


def normal_quantiles(probabilities: Floats) -> Floats:
    # Shares of counts repeat: each is looked for once.
    shares, place = np.unique(probabilities, return_inverse=True)
    quantiles = map(NormalDist().inv_cdf, shares.tolist())
    return np.fromiter(quantiles, np.float64, shares.size)[place].reshape(probabilities.shape)


def _tails(distances: Floats, bell: Floats) -> Floats:
    if distances.size <= _FEW:
        return _above_each(distances)
    tails = np.empty(distances.size)
    far, wide = distances.ravel(), bell.ravel()
    for start in range(0, len(tails), _NEAR_AT_HAND):
        part = slice(start, start + _NEAR_AT_HAND)
        # Beyond 40 the share is no number any more, and the place of a limit would be undefined.
        near = np.minimum(far[part], 40.0)
        place = (near - _TURN) / (near + _TURN)
        series = np.full(near.shape, _TAIL[0])
        for term in _TAIL[1:]:
            series *= place
            series += term
        np.divide(series * wide[part], 1 + _ROOT * near, out=tails[part])
    return tails.reshape(distances.shape)


def _above_each(values: Floats) -> Floats:
    twice = map(erfc, (values / _ROOT).ravel().tolist())
    return np.fromiter(twice, np.float64, values.size).reshape(values.shape) / 2


_EXACT = 1e-16
_TERMS = 200_000
"""Terms of the fraction that are tried; a law of a hundred million trials needs fewer."""
_STEPS = 200
_NEAR = 1e-8
"""Off by so little in the logarithm of a share, one more step of Newton's method reaches the last digits."""
_LEAST = -745.0
"""Logarithm of the smallest positive number."""
_STIRLING = (1 / 156, -691 / 360360, 1 / 1188, -1 / 1680, 1 / 1260, -1 / 360, 1 / 12)
_STIRLING_FROM = 10


def beta_quantile(a: float, b: float, probability: float) -> float:
    return beta_place(a, b, probability, 1 - probability)[0]


def binomial_probability(most: int, trials: int, share: float) -> float:
    if most < 0:
        return 0.0
    return 1.0 if most >= trials else beta_sides(trials - most, most + 1, 1 - share, share)[0]


def beta_sides(a: float, b: float, x: float, y: float) -> tuple[float, float]:
    """The shares of a beta law below and above x, where y is 1 − x."""
    if x <= 0 or y <= 0:
        return (0.0, 1.0) if x <= 0 else (1.0, 0.0)
    if x * (a + b + 2) <= a + 1:
        below = exp(_log_front(a, b, x, y)) / _fraction(a, b, x, y)
        return below, 1 - below
    above = exp(_log_front(b, a, y, x)) / _fraction(b, a, y, x)
    return 1 - above, above


def _log_front(a: float, b: float, x: float, y: float) -> float:
    """The logarithm of x^a · y^b over the beta function, by Stirling's formula about the mean."""
    total = a + b
    apart = x * b - y * a

    def log_ratio(ratio: float, excess: float) -> float:
        # Near 1 the excess over 1 is known better than the ratio.
        return log1p(excess) if abs(excess) < 0.5 else log(ratio)

    power = a * log_ratio(x * total / a, apart / a) + b * log_ratio(y * total / b, -apart / b)
    rest = _stirling_rest(total) - _stirling_rest(a) - _stirling_rest(b)
    return power + rest + log(a / total * b / (2 * pi)) / 2


def _stirling_rest(size: float) -> float:
    """What Stirling's formula leaves of the logarithm of the gamma function."""
    if size < _STIRLING_FROM:
        return lgamma(size) - (size - 0.5) * log(size) + size - log(2 * pi) / 2
    square, rest = 1 / (size * size), 0.0
    for term in _STIRLING:
        rest = rest * square + term
    return rest / size


def _fraction(a: float, b: float, x: float, y: float) -> float:
    """The front factor over the share below x: the continued fraction of Didonato and Morris (1992).

    By Lentz's method; it settles soon for x up to about the mean.
    """
    if a < 1:
        return a / (1 + x * (a + b) / _fraction(a + 1, b, x, y))
    steady = a * y - b * x + 1
    value = a * steady / (a + 1)
    upper, lower = value, 0.0
    for step in range(1, _TERMS):
        odd = a + 2 * step - 1
        slant = step * (b - step) * x / odd
        numerator = (a + step - 1) * (a + b + step - 1) * x / odd * slant
        denominator = step + slant + (a + step) * (steady + step * (1 + y)) / (odd + 2)
        lower = 1 / (denominator + numerator * lower)
        upper = denominator + numerator / upper
        change = upper * lower
        value *= change
        if abs(change - 1) < _EXACT:
            return value
    raise ArithmeticError(f"the share of a beta law of {a} and {b} below {x} does not settle")


def beta_place(a: float, b: float, below: float, above: float) -> tuple[float, float]:
    """The value with these shares of a beta law below and above it, and 1 − the value."""
    if not 0 < below < 1:
        return (0.0, 1.0) if below <= 0 else (1.0, 0.0) if below >= 1 else (nan, nan)
    mean, rest = a / (a + b), b / (a + b)
    if below <= beta_sides(a, b, mean, rest)[0]:
        return _up_to_mean(a, b, below)
    far, near = _up_to_mean(b, a, above)
    return near, far


def _up_to_mean(a: float, b: float, share: float) -> tuple[float, float]:
    """The value with this share of a beta law below it, where it is at most the mean; and 1 − the value.

    Newton's method on the logarithms of share and value, within the places that were seen to be too low
    and too high.
    """
    low, high = -inf, -log1p(b / a)
    place = min(high, _start(a, b, share))
    for _ in range(_STEPS):
        if place < _LEAST:
            return 0.0, 1.0
        x, y = exp(place), -expm1(place)
        fraction = _fraction(a, b, x, y)
        off = _log_front(a, b, x, y) - log(fraction) - log(share)
        low, high = (low, place) if off > 0 else (place, high)
        following = place - off * y / fraction
        if abs(off) < _NEAR:
            return exp(following), -expm1(following)
        place = following if low < following < high else (low + high) / 2
    raise ArithmeticError(f"the quantile of a beta law of {a} and {b} at {share} does not settle")


def _start(a: float, b: float, share: float) -> float:
    """A place near the logarithm of a quantile: by the normal law about the mean, else by the power of x."""
    if min(a, b) < 1:
        rest = lgamma(a) + lgamma(b) - lgamma(a + b)
        return (log(share) + log(a) + rest) / a
    quantile = -normal_quantile(share)
    bend = (quantile * quantile - 3) / 6
    one, other = 1 / (2 * a - 1), 1 / (2 * b - 1)
    mean = 2 / (one + other)
    tilt = quantile * sqrt(bend + mean) / mean - (other - one) * (bend + 5 / 6 - 2 / (3 * mean))
    return -log1p(b / a * exp(2 * tilt))


def t_probability(value: float, degrees: float) -> float:
    square = value * value
    if square == inf:
        return float(value > 0)
    tail = beta_sides(degrees / 2, 0.5, degrees / (degrees + square), square / (degrees + square))[0] / 2
    return tail if value < 0 else 1 - tail


@lru_cache(maxsize=4096)
def t_quantile(probability: float, degrees: float) -> float:
    if probability > 0.5:
        return -t_quantile(1 - probability, degrees)
    inner, outer = beta_place(degrees / 2, 0.5, 2 * probability, 1 - 2 * probability)
    return -sqrt(degrees * (outer / inner)) if inner > 0 else -inf


def cluster_quantile(probability: float, clusters: int) -> float:
    """Student's t with a degree of freedom per cluster less one; normal when there is one cluster."""
    return t_quantile(probability, clusters - 1) if clusters > 1 else normal_quantile(probability)


ALLOWED_CORRELATION = 0.3
"""Largest intra-cluster correlation for which the word `clear` keeps its error."""
_MOST_TRIALS = 1 << 16
"""Above so many trials the normal law stands in; its lower tail is the heavier one."""


def chance_of_so_few(events: float, trials: Ints, share: float, times: float = 1.0) -> float:
    """P(at most so many events) over clusters with these trials where the true share is `share`.

    Few events show little of how clusters differ: an estimate of the spread is then too small, and a limit
    that is computed from it too near. The spread is taken as given instead: rates of clusters follow a beta
    distribution around the share with an intra-cluster correlation of .3.

    `times` asks for that many times these clusters.
    """
    if not 0 < share < 1:
        return float(share <= 0)
    sizes, numbers = np.unique(trials, return_counts=True)
    clusters = np.maximum(1, np.rint(numbers * times)).astype(np.int64)
    total = int(sizes @ clusters)
    if total > _MOST_TRIALS:
        variance = share * (1 - share) * float((sizes * (1 + (sizes - 1) * ALLOWED_CORRELATION)) @ clusters)
        return normal_probability((events + 0.5 - total * share) / sqrt(variance))
    length = 1 << total.bit_length()
    transform = np.ones(length // 2 + 1, dtype=np.complex128)
    for size, count in zip(sizes, clusters, strict=True):
        transform *= np.fft.rfft(_beta_binomial(int(size), share), length) ** count
    sums = np.fft.irfft(transform, length)
    return float(sums[: int(np.ceil(events - 1e-9)) + 1].sum())


def _beta_binomial(size: int, share: float) -> Floats:
    """Chances of 0 … size events in a cluster."""
    scale = (1 - ALLOWED_CORRELATION) / ALLOWED_CORRELATION
    up, down = share * scale, (1 - share) * scale
    before, left = np.arange(size), np.arange(size, 0, -1)
    # Each chance by the one before it: no factorials, hence nothing that cancels.
    growth = np.log((before + up) / (before + 1)) + np.log(left / (left - 1 + down))
    height = np.concatenate([[0.0], np.cumsum(growth)])
    chances = np.exp(height - height.max())
    return np.asarray(chances / chances.sum())
