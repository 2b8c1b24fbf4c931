"""How the facts of a verdict are spelled, for every report."""

from __future__ import annotations

from steelyard.datasheet.verdict import Fact


def brought(fact: Fact) -> str:
    """`; zero point and sensitivity are flagged with it`, or nothing."""
    if not fact.brings:
        return ""
    *others, last = (title.lower() for title in fact.brings)
    listed = f"{', '.join(others)} and {last} are" if others else f"{last} is"
    return f"; {listed} flagged with it"
