"""Intervals and exact tests of proportions: each function reads as its formula.

All score intervals share one form, `score`; Wilson, Goodman and the clustered Wilson differ only in
the sample size and the quantile they put in. No continuity correction; limits stay within [0, 1].

The tests are sign flips of a total, McNemar's and Barnard's. McNemar's test takes units as independent. Calls
on one cluster are not, so it stands for reference beside the sign-flip test over clusters.

Barnard's test is of two shares with one unknown rate of errors, and of a row of even chances. Fisher's test
deals out the errors that were seen, and throws away much of what few units tell. Here all tables count that
lie as far off as the one seen, and the p is the largest that any common rate gives.
"""

from __future__ import annotations

from collections.abc import Callable
from math import comb, gcd, inf, isinf, lgamma, log, sqrt
from statistics import NormalDist

import numpy as np

from steelyard.core.arrays import Floats, Ints
from steelyard.metrics.stats.distributions import beta_quantile, binomial_probability

ALPHA = 0.05
"""Rate of false alarms that every word of a datasheet is held to."""
Z = 1.959963984540054
"""Two-sided 95 % normal quantile."""

Span = tuple[float, float]
Ends = tuple[float, float]

SHARE: Ends = (0.0, 1.0)
AGREEMENT: Ends = (-1.0, 1.0)
DIFFERENCE: Ends = (-1.0, 1.0)
POSITIVE: Ends = (0.0, inf)
UNBOUNDED: Ends = (-inf, inf)


def clipped(limits: Span, ends: Ends) -> Span:
    return max(ends[0], limits[0]), min(ends[1], limits[1])


def score(share: float, size: float, quantile: float) -> Span:
    """The score interval of an observed share among `size` (possibly fractional) independent trials."""
    square = quantile * quantile
    centre = share + square / (2 * size)
    spread = quantile * sqrt(max(share * (1 - share) / size + square / (4 * size * size), 0.0))
    scale = 1 + square / size
    # At 0 and 1 the limit is the share itself; the formula only reaches it up to rounding.
    low = 0.0 if share <= 0 else max(0.0, (centre - spread) / scale)
    high = 1.0 if share >= 1 else min(1.0, (centre + spread) / scale)
    return low, high


FEW = 3
"""Events up to which the score interval begins too high."""
TRACE = 0.1
"""Part of an event, on a fractional size, whose exact limit is the end itself: tail^(1/.1) is below 1e-10."""


def score_of_few(share: float, size: float, quantile: float, tail: float = 0.05) -> Span:
    """The score interval, wider where few events or few misses were seen (Brown, Cai and DasGupta 2001).

    One event among rare ones puts the score limit above the truth too often: there the one-sided exact limit
    at `tail` holds.
    """
    low, high = score(share, size, quantile)
    events, misses = share * size, (1 - share) * size
    if 0 < events <= FEW:
        low = min(low, beta_quantile(events, misses + 1, tail)) if events > TRACE else 0.0
    if 0 < misses <= FEW:
        high = max(high, beta_quantile(events + 1, misses, 1 - tail)) if misses > TRACE else 1.0
    return low, high


def wilson(events: float, trials: float, quantile: float = Z) -> Span:
    return score(events / trials, trials, quantile)


def goodman(events: float, trials: float, cells: int, confidence: float = 0.95) -> Span:
    """Goodman's interval of one cell of a multinomial, simultaneous over all `cells`."""
    return score(events / trials, trials, NormalDist().inv_cdf(1 - (1 - confidence) / (2 * cells)))


def joint_reach(first: float, second: float, correlation: float = 0.0) -> float:
    """Variance recovery: how far a sum reaches when its parts reach so far."""
    if isinf(first) or isinf(second):
        return inf
    return sqrt(max(first * first + second * second + 2 * correlation * first * second, 0.0))


def difference(first: float, first_limits: Span, second: float, second_limits: Span) -> Span:
    """Span of `first − second` from the limits of each, clamped to [−1, 1]."""
    low = joint_reach(first - first_limits[0], second_limits[1] - second)
    high = joint_reach(first_limits[1] - first, second - second_limits[0])
    return clipped((first - second - low, first - second + high), DIFFERENCE)


def newcombe(first: tuple[float, float], second: tuple[float, float]) -> Span:
    """Newcombe's hybrid score interval of the difference of two proportions (events, trials)."""
    shares = first[0] / first[1], second[0] / second[1]
    return difference(shares[0], wilson(*first), shares[1], wilson(*second))


def clopper_pearson(events: float, trials: float, confidence: float = 0.95) -> Span:
    """The exact binomial interval; `trials` may be an effective, fractional number."""
    tail = (1 - confidence) / 2
    misses = trials - events
    low = 0.0 if events <= 0 else beta_quantile(events, misses + 1, tail)
    high = 1.0 if misses <= 0 else beta_quantile(events + 1, misses, 1 - tail)
    return low, high


def tango(gained: float, lost: float, size: float, quantile: float) -> Span:
    """Tango's score interval of the difference (gained − lost)/size of two paired shares.

    All differences that the score test does not reject; at 0 discordant units it is Wilson's interval of
    a share of 0, to both sides. Counts may be effective, fractional numbers.
    """

    def rejects(at: float) -> bool:
        distance = gained - lost - size * at
        return distance * distance > quantile * quantile * size * _tango_variance(gained, lost, size, at)

    middle = (gained - lost) / size
    return _edge(rejects, middle, -1.0), _edge(rejects, middle, 1.0)


def _tango_variance(gained: float, lost: float, size: float, at: float) -> float:
    """Variance per unit of a difference `at`, the share of losses fitted under it."""
    linear = -gained - lost + (2 * size - gained + lost) * at
    constant = -lost * at * (1 - at)
    losses = (sqrt(max(linear * linear - 8 * size * constant, 0.0)) - linear) / (4 * size)
    return max(2 * losses + at * (1 - at), 0.0)


def _edge(rejects: Callable[[float], bool], inside: float, outside: float) -> float:
    """Bisect between a value that the test accepts and the end of the range."""
    if not rejects(outside):
        return outside
    for _ in range(60):
        middle = (inside + outside) / 2
        inside, outside = (inside, middle) if rejects(middle) else (middle, outside)
    return (inside + outside) / 2


def fieller(
    over: float, under: float, covariance: tuple[float, float, float], quantile: float
) -> tuple[float | None, float | None]:
    """Limits of over / under by Fieller, where `under` can not be negative; None for an end that is open.

    A ratio v belongs to them where over − v · under may be zero. `covariance` is var(over), cov, var(under).
    Where `under` may be zero the interval has no end away from zero, and none at all where `over` may too.
    """
    square = quantile * quantile
    var_over, both, var_under = covariance
    first = under * under - square * var_under
    middle, last = over * under - square * both, over * over - square * var_over
    if first <= 0 and last <= 0:
        return None, None
    root = sqrt(max(0.0, middle * middle - first * last))
    if first > 0:
        return (middle - root) / first, (middle + root) / first
    if first == 0:
        end = last / (2 * middle) if middle else None
        return (end, None) if over > 0 else (None, end)
    return ((middle - root) / first, None) if over > 0 else (None, (middle + root) / first)


SEQUENCE_PRIOR = 0.5


def log_evidence(total: float, units: int, share: float) -> float:
    """The evidence against a share p after n units with sum S: the logarithm of the beta-binomial mixture

        M(p) = B(a + S, b + n − S) / (B(a, b) · p^S · (1 − p)^(n − S)),   a = b = ½

    For independent units with mean p it is a supermartingale that starts at 1, also where a unit is a mean of
    calls and not 0 or 1, because q^x · (1 − q)^(1 − x) is convex in x. It therefore ever reaches 1/α with
    probability α at most, and {p : M(p) < 1/α} covers the true share at all looks together.
    """
    mixture = _log_beta(SEQUENCE_PRIOR + total, SEQUENCE_PRIOR + units - total) - _log_beta(
        SEQUENCE_PRIOR, SEQUENCE_PRIOR
    )
    return mixture - _times_log(total, share) - _times_log(units - total, 1 - share)


def refuted(total: float, units: int, share: float, alpha: float = ALPHA) -> bool:
    return log_evidence(total, units, share) >= -log(alpha)


def sequence_limits(total: float, units: int, alpha: float = ALPHA) -> Span:
    """A confidence sequence for a mean of values in [0, 1]: valid at every look, so that one may stop a run.

    The shares that are not refuted; everything where nothing was seen.
    """
    if not units:
        return 0.0, 1.0
    middle = total / units
    low = 0.0 if total <= 0 else _sequence_edge(total, units, 0.0, middle, alpha)
    high = 1.0 if total >= units else _sequence_edge(total, units, 1.0, middle, alpha)
    return low, high


def _sequence_edge(total: float, units: int, outside: float, inside: float, alpha: float) -> float:
    """Bisect between a refuted share and one that is not; M falls towards S/n from both sides."""
    while True:
        between = (outside + inside) / 2
        if between in (outside, inside):
            return inside
        if refuted(total, units, between, alpha):
            outside = between
        else:
            inside = between


def _log_beta(a: float, b: float) -> float:
    return lgamma(a) + lgamma(b) - lgamma(a + b)


def _times_log(count: float, share: float) -> float:
    """count · log(share), with 0 · log(0) = 0."""
    if count <= 0:
        return 0.0
    return -inf if share <= 0 else count * log(share)


ENOUGH_CLUSTERS = 6
"""Fewer cluster sums cannot reach p ≤ .05 by flipping signs."""
CLUSTERS, PAIRS = "clusters", "pairs"
_LARGE = 400_000_000
"""Additions above which the convolution is done by Fourier transform."""


def sign_flip(sums: Ints) -> float:
    """Exact two-sided p of the total under independent sign flips of the sums."""
    sizes = np.abs(sums[sums != 0])
    if not len(sizes):
        return 1.0
    unit = gcd(*(int(size) for size in np.unique(sizes)))
    sizes, observed = sizes // unit, abs(int(sums.sum())) // unit
    total = int(sizes.sum())
    # With every sign −, the total is −`total`; each + adds twice its size: index i is total 2·i − `total`.
    chances = _convolve(sizes, total) if len(sizes) * total <= _LARGE else _transform(sizes, total)
    upper = float(chances[(total + observed) // 2 :].sum())
    return min(1.0, 2 * upper) if observed else 1.0


def _convolve(sizes: Ints, total: int) -> Floats:
    chances = np.zeros(total + 1)
    chances[0], reached = 1.0, 0
    for size in np.sort(sizes):
        reached += int(size)
        shifted = chances[: reached - size + 1].copy()
        chances[: reached + 1] *= 0.5
        chances[size : reached + 1] += 0.5 * shifted
    return chances


def _transform(sizes: Ints, total: int) -> Floats:
    """The same convolution as a product of characteristic functions, for many or large sums."""
    values, counts = np.unique(sizes, return_counts=True)
    frequency = np.arange(total // 2 + 1) / (total + 1)
    product = np.ones(len(frequency))
    for value, count in zip(values, counts, strict=True):
        product *= np.cos(np.pi * value * frequency) ** count
    # Removing the common phase exp(−iπf·total) leaves a real product; it is put back before inverting.
    phase = np.exp(-1j * np.pi * frequency * total)
    return np.clip(np.fft.irfft(product * phase, n=total + 1), 0.0, 1.0)


def mcnemar_exact(gained: int, lost: int) -> float:
    """Two-sided binomial p of the discordant units; 1 where there are none."""
    return min(1.0, 2 * binomial_probability(min(gained, lost), gained + lost, 0.5))


def mcnemar_mid_p(gained: int, lost: int) -> float:
    """McNemar's exact p with half the weight on what was observed: less strict, still near its error."""
    least, count = min(gained, lost), gained + lost
    fewer, so_few = (binomial_probability(most, count, 0.5) for most in (least - 1, least))
    return min(1.0, so_few + fewer)


_RATES = np.linspace(0.0025, 0.9975, 400)
_ROUNDING = 1e-9


def barnard(ups: tuple[int, int], downs: tuple[int, int], evens: tuple[int, int]) -> float:
    """Two-sided p that errors lean to neither side.

    (events, units) of errors upward where 0 was wanted and of errors downward where 1 was; and of answers
    upward where neither was, which an unbiased judge gives every second time.
    """
    sizes = ups[1], downs[1], evens[1]
    distance = _distances(*sizes)
    far = distance >= distance[ups[0], downs[0], evens[0]] - _ROUNDING
    even = _binomial(evens[1], np.array([0.5]))[0]
    first, second = _binomial(ups[1], _RATES), _binomial(downs[1], _RATES)
    tail = np.einsum("ijk,k->ij", far.astype(np.float64), even)
    chances = np.einsum("ri,rj,ij->r", first, second, tail)
    return min(1.0, float(chances.max()))


def _distances(ups: int, downs: int, evens: int) -> Floats:
    """Squared standard errors from no lean, of every number of errors upward, downward and even answers.

    The error is that of a common rate, so that rare errors on one side count for as much as they show.
    """
    up, down, even = np.ogrid[: ups + 1, : downs + 1, : evens + 1]
    sided = ups + downs
    rate = (up + down) / max(1, sided)
    lean = (up / max(1, ups) - down / max(1, downs)) / 2 * sided + (even - evens / 2)
    both = 1 / max(1, ups) + 1 / max(1, downs)
    variance = rate * (1 - rate) * both * sided * sided / 4 + evens / 4
    return np.divide(lean * lean, variance, out=np.zeros(lean.shape), where=variance > 0)


def _binomial(size: int, rates: Floats) -> Floats:
    """Chance of each number of events (columns) at each rate (rows)."""
    events = np.arange(size + 1)
    ways = np.array([log(comb(size, event)) for event in range(size + 1)])
    return np.asarray(
        np.exp(ways + np.outer(np.log(rates), events) + np.outer(np.log1p(-rates), size - events))
    )
