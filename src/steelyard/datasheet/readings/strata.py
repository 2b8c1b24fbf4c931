"""Where in the data a judge is worst, as far as the data can tell."""

from __future__ import annotations

from steelyard.datasheet.look_up import Figures
from steelyard.datasheet.readings.answer import Answer
from steelyard.datasheet.words.numbers import decimal, defined, figure, times
from steelyard.metrics.common import ACCURACY
from steelyard.metrics.findings import FLAGGED
from steelyard.metrics.run.strata import STRATUM_GAP


def strata(figures: Figures) -> Answer | None:
    """The stratum with the lowest accuracy, and whether it is lower than the rest; nothing without strata."""
    gaps = [
        gap for gap in figures.every.of(figures.judge, STRATUM_GAP.id) if gap.group.get("protocol") == "base"
    ]
    gap = next((gap for gap in gaps if defined(gap)), None)
    if gap is None:
        return None
    here = figures.of_probe(gap.probe, ACCURACY.id, **gap.group)
    if not defined(here):
        return None
    name = gap.group["stratum"]
    tested = (
        f"p = {gap.p_corrected:.2g}, corrected for choosing the lowest" if gap.p_corrected is not None else ""
    )
    word = gap.finding or "measured"
    sentence = (
        "is right less often in"
        if word == FLAGGED
        else "lowest measured, and not told apart from the others, in"
    )
    return word, (
        f"{sentence} {name}: {times(here, 'call')}, {figure(here)}, "
        f"{decimal(gap.value or 0.0, signed=True)} against the others; {gap.note}, {tested}"
    )
