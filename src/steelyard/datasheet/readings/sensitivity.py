"""Which differences of quality a judge sees, in sentences."""

from __future__ import annotations

from steelyard.datasheet.look_up import Figures
from steelyard.datasheet.readings.answer import Answer, limit_of, unanswered
from steelyard.datasheet.readings.more_data import more_calls
from steelyard.datasheet.words.numbers import figure, times
from steelyard.metrics.estimate import Estimate
from steelyard.metrics.pairs.sensitivity import MISS_BY_TIE, TARGET_SENSITIVITY
from steelyard.metrics.pairs.threshold import DELTA75


def sensitivity(figures: Figures) -> Answer | None:
    """How often it sees a difference of one step."""
    first = figures.find(TARGET_SENSITIVITY.id, protocol="base", delta=1)
    if first is None or first.value is None:
        return unanswered(first)
    ties = figures.find(MISS_BY_TIE.id, protocol="base", delta=1)
    missed = "" if ties is None or ties.value is None else f"; misses by {_missed_by(ties)} {figure(ties)}"
    floor = limit_of(TARGET_SENSITIVITY)
    return (
        first.finding or "undefined",
        f"sees a difference of one step in {times(first, 'call')}, {figure(first)}, "
        f"floor {floor:g}{missed}{more_calls(first)}",
    )


def _missed_by(ties: Estimate) -> str:
    """What the calls were that named neither text."""
    if not ties.abstained:
        return "tie"
    return "abstention" if ties.abstained == ties.numerator else "tie or abstention"


def threshold(figures: Figures) -> Answer | None:
    """From which difference on it is right in three calls of four."""
    threshold = figures.find(DELTA75.id, protocol="base")
    if threshold is None or threshold.value is None:
        return unanswered(threshold)
    words = {
        "right": "is right in three calls of four at no step that was measured; the threshold is",
        "left": "is right in three calls of four at the smallest step already; the threshold is",
    }
    phrase = words.get(threshold.censored or "", "is right in three calls of four from a difference of")
    return "measured", f"{phrase} {figure(threshold)} steps"
