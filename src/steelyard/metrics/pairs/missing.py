"""Calls without a verdict: their rates, and what they could have changed in the worst and best case."""

from __future__ import annotations

import numpy as np

from steelyard.metrics.common import FAILED_RATE, UNREADABLE_RATE
from steelyard.metrics.estimate import Estimate
from steelyard.metrics.heading import NO_CALLS, Heading
from steelyard.metrics.pairs.columns import FAILED, UNREADABLE, Pairs
from steelyard.metrics.pairs.counting import count_calls, shown, tally
from steelyard.metrics.proportion import proportion

_CODES = {UNREADABLE_RATE: UNREADABLE, FAILED_RATE: FAILED}


def missing_rates(heading: Heading, pairs: Pairs) -> list[Estimate]:
    """`unreadable_rate` and `failed_rate` among all calls that were made."""
    calls = count_calls(pairs, shown)
    return [
        proportion(
            heading,
            metric,
            tally(
                pairs,
                (pairs.u_first == code).astype(np.int64) + (pairs.v_first == code),
                calls,
                missing=False,
            ),
            reason=NO_CALLS,
        )
        for metric, code in _CODES.items()
    ]
