"""Sample size and power: how many trials, units or items decide a question, and what so many can detect.

Names say what is counted: `…_total` counts from the first call on, `…_missing` what is still to be made
(`Estimate.calls_missing`). `metrics.findings.calls_total` applies these formulas to a share against a limit,
`units_to_decide` and `calls_to_decide` to a difference from none, `calls_by_interval` to any other figure.

Wilson's interval at quantile z excludes a limit L exactly when

    n · (p − L)² > z² · L(1 − L)

with p the observed share and n the number of independent trials, so the trials that decide need no search.
Calls are trials times the design effect. All answers suppose that the share stays what it is. The true share
is not the share that will be seen: to decide in four runs of five, a plan has to do with a share that falls
short of the true one by .84 standard errors.

A share p on n independent rows has Wilson's half-width

    z · √(p(1 − p)/n + z²/4n²) / (1 + z²/n).

Cohen's κ of balanced labels is (a − ½)/½ with a the agreement, so its half-width is twice that of a. Two
judges on the same rows that disagree on a share d of them differ detectably, in four studies of five, by
about (1.96 + .84) · √(d/n).

A judge that passes a share FPR of what should fail and fails FNR of what should pass shows a difference D
between the pass rates of two systems as (1 − FPR − FNR) · D. With n items of each system the smallest D that
is shown in four comparisons of five is therefore

    (1.96 + .84) · √(2 q(1 − q)/n) / (1 − FPR − FNR)

where q is the share that the judge passes. A judge of pairs that is right in a share a of the calls in which
it names a winner shows a lead L (wins less losses) as (2a − 1) · L.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from math import ceil, inf, isfinite, sqrt

from steelyard.metrics.stats.distributions import normal_quantile, t_quantile
from steelyard.metrics.stats.intervals import ALPHA, Span, joint_reach, score

POWER = 0.80
"""Chance of deciding that every plan is made for."""
POWER_REACH = 1 + normal_quantile(POWER) / normal_quantile(1 - ALPHA / 2)
"""What a 95 % interval with 80 % power takes, in reaches of such an interval."""
LARGEST = 10**9
"""Numbers beyond this one are no plan."""


def detectable_errors(degrees: float | None = None) -> float:
    """Standard errors between no effect and one that a two-sided 5 % test shows with 80 % power.

    The test rejects beyond the quantile at 1 − ALPHA/2; to land beyond it in four runs of five, the true
    effect must lie further by the quantile at POWER: 1.96 + .84 = 2.80 by the normal distribution, more by
    Student's t with so many degrees of freedom.
    """
    if degrees is None:
        return normal_quantile(1 - ALPHA / 2) + normal_quantile(POWER)
    return t_quantile(1 - ALPHA / 2, degrees) + t_quantile(POWER, degrees)


def trials_total(value: float, limit: float, quantile: float, power: float = 0.5) -> float | None:
    """Independent trials, perhaps fractional, at which the score interval of `value` reaches the limit.

    With `power` above one half the share is taken to fall short of its true value by as much as it does in
    all but that share of runs. None where the value lies on the limit: no number of trials decides.
    """
    distance = value - limit
    if not distance:
        return None
    reach = quantile * sqrt(limit * (1 - limit)) + normal_quantile(power) * sqrt(
        max(0.0, value * (1 - value))
    )
    trials = reach * reach / (distance * distance)
    return trials if isfinite(trials) else None


def unlucky_share(share: float, limit: float, size: float, quantile: float) -> float:
    """The share that chance may show in its stead, moved towards the limit by so many standard errors."""
    reach = quantile * sqrt(max(0.0, share * (1 - share)) / size)
    return min(limit, share + reach) if share < limit else max(limit, share - reach)


def smallest_sufficient(enough: Callable[[int], bool], start: int = 1) -> int | None:
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


def units_to_decide(
    planned: Callable[[int], Span], start: int, margin: float, enough: float = 0, *, below: bool = True
) -> int | None:
    """Units in all after which a difference is told from none, or is known to lie within the margin.

    `planned` are the limits that so many units would have. With fewer than `enough` units no test tells it
    from none; `below` is False where a difference below zero tells nothing.
    """

    def decided(units: int) -> bool:
        low, high = planned(units)
        within = -margin < low and high < margin
        return within or (units >= enough and (low > 0 or (below and high < 0)))

    return smallest_sufficient(decided, start)


def calls_to_decide(
    planned: Callable[[int], Span],
    units: int,
    calls: int,
    margin: float,
    enough: float = 0,
    *,
    below: bool = True,
) -> int | None:
    """The same in calls, of which so many units have so many."""
    count = units_to_decide(planned, max(2, units), margin, enough, below=below)
    return None if count is None else ceil(count / units * calls)


def calls_by_width(calls: int, reach: float, apart: float) -> int:
    """Calls in all after which an interval that reaches so far ends short of what lies so far apart.

    It narrows with the root of the calls.
    """
    return ceil(calls * max(1.0, (reach / apart) ** 2))


def calls_by_interval(
    calls: int, value: float, ends: tuple[float | None, float | None], limit: float = 0.0
) -> int | None:
    """Calls in all after which an interval like this leaves the limit out in four runs of five.

    None where the value lies on the limit, or where the interval is open towards it.
    """
    apart = value - limit
    end = ends[0] if apart > 0 else ends[1]
    if end is None or abs(apart) < 1e-3:
        return None
    return calls_by_width(calls, abs(value - end) * POWER_REACH, apart)


@dataclass(frozen=True)
class LabelPrecision:
    rows: int
    """Labelled rows, each standing for itself."""
    accuracy: float
    """Half-width of the 95 % interval of accuracy."""
    kappa: float
    """The same of Cohen's κ, of balanced labels."""
    error_rate: float
    """The same of a false positive rate, where half of the rows should fail."""
    between_judges: float
    """Smallest difference in accuracy of two judges on these rows that is shown in four studies of five."""


def label_precision(rows: int, accuracy: float, error_rate: float, disagreement: float) -> LabelPrecision:
    """What `rows` labelled rows tell, given what is expected of the judge."""
    return LabelPrecision(
        rows,
        half_width(accuracy, rows),
        2 * half_width(accuracy, rows),
        half_width(error_rate, rows // 2),
        min(1.0, detectable_errors() * sqrt(disagreement / rows)),
    )


def half_width(share: float, trials: int) -> float:
    if trials < 1:
        return 0.5
    low, high = score(share, trials, normal_quantile(1 - ALPHA / 2))
    return (high - low) / 2


def detectable_difference(items: int, kept: float, spread: float) -> float:
    """The least true difference that is shown in four comparisons of five.

    `kept` is the share of a difference that the judge leaves of it, `spread` the standard deviation of what
    it says of one item. Infinite where the judge leaves nothing.
    """
    return inf if kept <= 0 else detectable_errors() * spread / (sqrt(items) * kept)


def items_total(difference: float, kept: float, spread: float) -> int | None:
    """Items that show a true difference in four comparisons of five; None where none do."""
    if kept <= 0 or difference <= 0:
        return None
    return ceil((detectable_errors() * spread / (difference * kept)) ** 2)


def sum_limits(first: float, first_ends: Span, second: float, second_ends: Span) -> Span:
    """Span of a sum of two independent shares from the limits of each (Newcombe's square-and-add)."""
    together = first + second
    low = joint_reach(first - first_ends[0], second - second_ends[0])
    return together - low, together + joint_reach(first_ends[1] - first, second_ends[1] - second)
