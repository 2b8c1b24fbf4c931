"""Which calls stand behind a reading: the outcome that it speaks of, among the stimuli that it rests on."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass

import numpy as np

from steelyard.arrays import Mask
from steelyard.datasheet.datasheet import Reading
from steelyard.datasheet.exhibits.cases import FLIP, POSITIONAL, WRONG, Case, Cases
from steelyard.datasheet.readings.readings import NATURAL
from steelyard.metrics.estimate import Estimate
from steelyard.metrics.findings import FLAGGED
from steelyard.metrics.scores.invariance import EXCESS_FLIP, INVARIANCE
from steelyard.stimuli.natural import NATURAL as NATURAL_KIND
from steelyard.verdicts.stimulus_columns import StimulusColumns

MOVED = (EXCESS_FLIP.id, INVARIANCE.id)
"""Metrics by which an edit is found to move verdicts."""


@dataclass(frozen=True)
class Behind:
    """What to look for behind a reading."""

    outcome: str
    """How the calls ended."""
    among: Callable[[StimulusColumns], Mask]
    """The stimuli that the reading rests on."""
    unlike: str | None = None
    """Cases of this outcome belong to another reading."""


BEHIND: dict[str, Behind] = {
    "Zero point": Behind(WRONG, lambda shown: shown.probe == "vacuum"),
    "Position": Behind(POSITIONAL, lambda shown: shown.delta == 0),
    "Noise": Behind(FLIP, lambda shown: shown.paired),
    "Surface": Behind(WRONG, lambda shown: shown.delta == 0, unlike=POSITIONAL),
    "Sensitivity": Behind(WRONG, lambda shown: shown.delta == 1),
    NATURAL: Behind(POSITIONAL, lambda shown: shown.kind == NATURAL_KIND),
    "Accuracy": Behind(WRONG, lambda shown: shown.original | (shown.kind == NATURAL_KIND)),
    "Leniency": Behind(WRONG, lambda shown: shown.original),
    "Robustness": Behind(FLIP, lambda shown: ~shown.original & ~shown.paired),
    "Repeatability": Behind(FLIP, lambda shown: shown.original),
}
"""By the title of the reading; the others rest on no calls of their own."""


def cases_behind(
    reading: Reading, cases: Cases, estimates: Iterable[Estimate], limit: int, seed: int
) -> list[Case]:
    """At most so many cases behind a reading, most telling first; none for one without calls of its own."""
    behind = BEHIND.get(reading.title)
    if behind is None:
        return []
    calls = cases.observations
    among = behind.among(calls.shown)
    if reading.title == "Robustness":
        moved = {e.probe for e in estimates if e.metric in MOVED and e.finding == FLAGGED}
        among = among & np.isin(calls.shown.probe, sorted(moved))
    base = np.array([name == "base" for name in calls.protocols], dtype=np.bool_)
    rows = among[calls.stimulus] & base[calls.protocol]
    return cases.choose(behind.outcome, limit, seed, rows, behind.unlike)
