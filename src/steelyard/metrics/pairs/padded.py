"""Padded preference: does filler that adds nothing win?"""

from __future__ import annotations

import numpy as np

from steelyard.metrics.estimate import Estimate
from steelyard.metrics.heading import Heading
from steelyard.metrics.metric import Metric
from steelyard.metrics.pairs.columns import FIRST, SECOND, Pairs
from steelyard.metrics.pairs.counting import count_calls, decided, tally
from steelyard.metrics.proportion import proportion

PADDED_PREFERENCE = Metric(
    "padded_preference",
    "padded preference",
    "Decided calls that choose the text padded with filler; a judge blind to padding shows 0.50.",
)


def padded_preference(heading: Heading, pairs: Pairs) -> Estimate:
    """Decided calls that chose content v, the padded one; a judge blind to padding shows .5."""
    padded = (pairs.u_first == SECOND).astype(np.int64) + (pairs.v_first == FIRST)
    return proportion(
        heading,
        PADDED_PREFERENCE,
        tally(pairs, padded, count_calls(pairs, decided)),
        chance=0.5,
        reason="no call of this condition was decided",
        notes=["of decided calls"],
    )
