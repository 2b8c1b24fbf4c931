"""How many calls it takes to tell a share from a limit.

Wilson's interval at quantile z excludes a limit L exactly when

    n · (p − L)² > z² · L(1 − L)

with p the observed share and n the number of independent trials, so the trials that decide need no search.
Calls are trials times the design effect. All answers suppose that the share stays what it is. The true share
is not the share that will be seen: to decide in four runs of five, a plan has to do with a share that falls
short of the true one by .84 standard errors.
"""

from __future__ import annotations

from collections.abc import Callable
from math import ceil, isfinite, sqrt

from steelyard.metrics.stats.normal_law import normal_quantile

ALPHA = 0.05
"""Rate of false alarms that every word of a datasheet is held to."""
POWER = 0.80
"""Chance of deciding that every plan is made for."""
LARGEST = 10**9
"""Numbers beyond this one are no plan."""
_ROUNDING = 1e-9
"""Relative slack, so that a quotient meant to be whole is not pushed to the next number."""


def calls_to_decide(
    value: float,
    n_calls: int,
    design_effect: float | None,
    limit: float,
    *,
    side: str = "max",
    confidence: float = 0.95,
    power: float = 0.5,
) -> int | None:
    """Total calls at which the two-sided Wilson interval around the same value clears the limit.

    With `power` above one half: at which it does so in that share of runs, if the value is the true one.
    `side` is the allowed side: `max` is kept by an interval that ends at or below the limit. Never fewer
    than the calls already made; None where the value lies on the limit and no number of calls decides.
    A design effect below 1, or one that is not known, counts as 1.
    """
    if limit >= 1 if side == "max" else limit <= 0:
        return n_calls
    trials = trials_to_exclude(value, limit, normal_quantile((1 + confidence) / 2), power)
    if trials is None:
        return None
    return max(n_calls, _whole(trials * max(1.0, design_effect or 1.0)))


def trials_to_exclude(value: float, limit: float, quantile: float, power: float = 0.5) -> float | None:
    """Independent trials, perhaps fractional, at which the score interval of `value` reaches the limit.

    With `power` above one half the share is taken to fall short of its true value by as much as it does in
    all but that share of runs.
    """
    distance = value - limit
    if not distance:
        return None
    reach = quantile * sqrt(limit * (1 - limit)) + normal_quantile(power) * sqrt(
        max(0.0, value * (1 - value))
    )
    trials = reach * reach / (distance * distance)
    return trials if isfinite(trials) else None


def short_of(share: float, limit: float, size: float, quantile: float) -> float:
    """The share that chance shows in its stead, moved towards the limit by so many standard errors."""
    reach = quantile * sqrt(max(0.0, share * (1 - share)) / size)
    return min(limit, share + reach) if share < limit else max(limit, share - reach)


def first_number(enough: Callable[[int], bool], start: int = 1) -> int | None:
    """The first whole number from `start` on that is enough, where every larger one is too; None if far."""
    low, high = start - 1, start
    while not enough(high):
        low, high = high, 2 * high
        if high > LARGEST:
            return None
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (low, middle) if enough(middle) else (middle, high)
    return high


def _whole(calls: float) -> int:
    return max(1, ceil(calls * (1 - _ROUNDING)))
