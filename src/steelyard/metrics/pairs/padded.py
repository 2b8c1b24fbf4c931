"""Padded preference: does filler that adds nothing win?"""

from __future__ import annotations

from steelyard.metrics.estimate import Estimate
from steelyard.metrics.heading import Heading
from steelyard.metrics.metric import Metric
from steelyard.metrics.pairs.answer import decided
from steelyard.metrics.pairs.columns import Pairs
from steelyard.metrics.pairs.counting import count_calls, count_wins, tally
from steelyard.metrics.proportions import proportion

PADDED_PREFERENCE = Metric(
    "padded_preference",
    "padded preference",
    "Decided calls that choose the text padded with filler; a judge blind to padding shows 0.50.",
)


def padded_preference(heading: Heading, pairs: Pairs) -> Estimate:
    """Decided calls that chose content v, the padded one; a judge blind to padding shows .5."""
    return proportion(
        heading,
        PADDED_PREFERENCE,
        tally(pairs, count_wins(pairs, "v"), count_calls(pairs, decided)),
        chance=0.5,
        reason="no call of this condition was decided",
        notes=["of decided calls"],
    )
