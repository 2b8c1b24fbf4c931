"""A confidence sequence for a mean of values in [0, 1]: valid at every look, so that looking may stop a run.

The evidence against a share p after n units with sum S is the beta-binomial mixture

    M(p) = B(a + S, b + n − S) / (B(a, b) · p^S · (1 − p)^(n − S)),   a = b = ½

For independent units with mean p it is a supermartingale that starts at 1, also where a unit is a mean of
calls and not 0 or 1, because q^x · (1 − q)^(1 − x) is convex in x. It therefore ever reaches 1/α with
probability α at most, and {p : M(p) < 1/α} covers the true share at all looks together.
"""

from __future__ import annotations

from math import inf, lgamma, log

from steelyard.metrics.stats.intervals import Span

PRIOR = 0.5

ALPHA = 0.05


def log_evidence(total: float, units: int, share: float) -> float:
    mixture = _log_beta(PRIOR + total, PRIOR + units - total) - _log_beta(PRIOR, PRIOR)
    return mixture - _times_log(total, share) - _times_log(units - total, 1 - share)


def refuted(total: float, units: int, share: float, alpha: float = ALPHA) -> bool:
    return log_evidence(total, units, share) >= -log(alpha)


def sequence_limits(total: float, units: int, alpha: float = ALPHA) -> Span:
    """The shares that are not refuted; everything where nothing was seen."""
    if not units:
        return 0.0, 1.0
    middle = total / units
    low = 0.0 if total <= 0 else _edge(total, units, 0.0, middle, alpha)
    high = 1.0 if total >= units else _edge(total, units, 1.0, middle, alpha)
    return low, high


def _edge(total: float, units: int, outside: float, inside: float, alpha: float) -> float:
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
