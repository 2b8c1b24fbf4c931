"""What a judge reports where there is nothing to judge, in a sentence."""

from __future__ import annotations

from collections.abc import Sequence

from steelyard.datasheet.look_up import Figures
from steelyard.datasheet.readings.answer import Answer, limit_of, unanswered
from steelyard.datasheet.readings.more_data import more_calls
from steelyard.datasheet.words.glossary import KINDS
from steelyard.datasheet.words.numbers import abstentions, figure, times
from steelyard.metrics.common import DARK_CURRENT
from steelyard.metrics.estimate import Estimate

SCORED_KINDS = ("off_topic", "dont_know", "master_key")
"""Responses without content that only judges of single texts are shown."""
VACUUM_KINDS = ("empty", "blank", "identical", *SCORED_KINDS)


def zero_point(figures: Figures) -> Answer | None:
    """How often it reports more than nothing, by kind of nothing."""
    pooled = figures.find(DARK_CURRENT.id, protocol="base")
    if pooled is None or pooled.value is None:
        return unanswered(pooled)
    kinds = [figures.find(DARK_CURRENT.id, protocol="base", kind=kind) for kind in VACUUM_KINDS]
    split = ", ".join(
        f"{KINDS[str(e.group['kind'])]} {e.numerator}/{e.denominator}"
        for e in kinds
        if e is not None and e.value is not None
    )
    sentence = (
        f"{_report_of_nothing(kinds)} in {times(pooled, 'call')}, {figure(pooled)} ({split}); "
        f"limit {limit_of(DARK_CURRENT):g}{abstentions(pooled)}{more_calls(pooled)}"
    )
    return pooled.finding or "undefined", sentence


def _report_of_nothing(kinds: Sequence[Estimate | None]) -> str:
    if any(e is not None and e.group["kind"] in SCORED_KINDS for e in kinds):
        return "gives a response without content more than the lowest score"
    return "reports a preference where there is none"
