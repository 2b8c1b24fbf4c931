"""Calls without a verdict: their rates, and what they could have changed in the worst and best case."""

from __future__ import annotations

from steelyard.metrics.common import FAILED_RATE, UNREADABLE_RATE
from steelyard.metrics.estimate import Estimate
from steelyard.metrics.estimate_context import NO_CALLS, EstimateContext
from steelyard.metrics.pairs.answer import Answer, shown
from steelyard.metrics.pairs.columns import Pairs
from steelyard.metrics.pairs.counting import count_answers, count_calls, tally
from steelyard.metrics.proportions import proportion

_ENDS = {UNREADABLE_RATE: Answer.UNREADABLE, FAILED_RATE: Answer.FAILED}


def missing_rates(context: EstimateContext, pairs: Pairs) -> list[Estimate]:
    """`unreadable_rate` and `failed_rate` among all calls that were made."""
    calls = count_calls(pairs, shown)
    return [
        proportion(
            context,
            metric,
            tally(pairs, count_answers(pairs, answer), calls, missing=False),
            reason=NO_CALLS,
        )
        for metric, answer in _ENDS.items()
    ]
