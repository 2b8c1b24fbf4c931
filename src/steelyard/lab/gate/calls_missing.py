"""How many further calls would decide a rule that a figure's interval reaches over."""

from __future__ import annotations

from math import ceil

from steelyard.lab.gate.policy import PolicyRule
from steelyard.metrics.estimate import Estimate
from steelyard.metrics.stats.normal_law import normal_quantile
from steelyard.metrics.stats.power import POWER, calls_to_decide

_IN_FOUR_OF_FIVE = 1 + normal_quantile(POWER) / normal_quantile(0.975)
"""How much nearer than its limit an interval has to be planned, for the value will fall short by chance."""


def calls_missing(rule: PolicyRule, estimate: Estimate) -> int | None:
    """Further calls that would decide the limit which the interval reaches over."""
    totals = [
        _total(estimate, limit, side)
        for limit, side in ((rule.high, "max"), (rule.low, "min"))
        if limit is not None and _reaches_over(estimate, limit)
    ]
    known = [total for total in totals if total is not None]
    return max(known) - estimate.n_calls if known and len(known) == len(totals) else None


def _reaches_over(estimate: Estimate, limit: float) -> bool:
    interval = estimate.interval
    low = None if interval is None else interval.low
    high = None if interval is None else interval.high
    return (low is None or low <= limit) and (high is None or limit <= high)


def _total(estimate: Estimate, limit: float, side: str) -> int | None:
    """Calls in all: by Wilson for a share, and no fewer than the present interval lets one expect."""
    value, interval = estimate.value, estimate.interval
    if value is None or interval is None or value == limit:
        return None
    end = interval.high if value < limit else interval.low
    by_width = None
    if end is not None:
        wider = _IN_FOUR_OF_FIVE if 0 < value < 1 or not estimate.denominator else 1.0
        by_width = ceil(estimate.n_calls * (wider * (end - value) / (limit - value)) ** 2)
    if not estimate.denominator or not estimate.n_calls or not 0 <= value <= 1:
        return by_width
    per_trial = estimate.n_calls / estimate.denominator
    trials = calls_to_decide(
        value, estimate.denominator, _design_effect(estimate), limit, side=side, power=POWER
    )
    if trials is None:
        return by_width
    return max(ceil(trials * per_trial), by_width or 0)


def _design_effect(estimate: Estimate) -> float | None:
    """Trials that count as one: in a single cluster, those of one pair or item."""
    if estimate.n_clusters > 1 or not estimate.n_units or not estimate.denominator:
        return estimate.design_effect
    return estimate.denominator / estimate.n_units
