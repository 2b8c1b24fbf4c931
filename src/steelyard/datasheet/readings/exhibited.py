"""Which calls stand behind a reading: the outcome that it speaks of, among the stimuli that it rests on."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass

import numpy as np

from steelyard.core.arrays import Mask
from steelyard.datasheet.examples.selection import FLIP, POSITIONAL, WRONG, CallGroup, ExampleSelector
from steelyard.datasheet.reading import Reading
from steelyard.datasheet.words import titles
from steelyard.metrics.estimate import Estimate
from steelyard.metrics.findings import FLAGGED
from steelyard.metrics.pairs.length import FILLER
from steelyard.metrics.run.strata import STRATUM_GAP
from steelyard.metrics.scores.invariance import EXCESS_FLIP, INVARIANCE
from steelyard.stimuli.natural import NATURAL
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
    """ExampleSelector of this outcome belong to another reading."""


def _natural(shown: StimulusColumns) -> Mask:
    return np.asarray(shown.kind == NATURAL)


BEHIND: dict[str, Behind] = {
    titles.MERIT: Behind(
        WRONG, lambda shown: (shown.delta > 0) | shown.original | shown.run | _natural(shown)
    ),
    titles.ZERO_POINT: Behind(WRONG, lambda shown: shown.probe == "vacuum"),
    titles.POSITION: Behind(POSITIONAL, lambda shown: shown.delta == 0),
    titles.NOISE: Behind(FLIP, lambda shown: shown.paired),
    titles.SURFACE: Behind(WRONG, lambda shown: shown.delta == 0, unlike=POSITIONAL),
    titles.SENSITIVITY: Behind(WRONG, lambda shown: shown.delta == 1),
    titles.NATURAL_PAIRS: Behind(POSITIONAL, _natural),
    titles.ACCURACY: Behind(WRONG, lambda shown: shown.original | _natural(shown)),
    titles.LENIENCY: Behind(WRONG, lambda shown: shown.original),
    titles.LENGTH: Behind(WRONG, lambda shown: (shown.kind == FILLER) | shown.original | _natural(shown)),
    titles.STRATA: Behind(WRONG, lambda shown: shown.original | _natural(shown)),
    titles.RUNS: Behind(WRONG, lambda shown: shown.run),
    titles.ROBUSTNESS: Behind(FLIP, lambda shown: ~shown.original & ~shown.paired),
    titles.REPEATABILITY: Behind(FLIP, lambda shown: shown.original),
}
"""By the title of the reading; the others rest on no calls of their own."""


def cases_behind(
    reading: Reading, cases: ExampleSelector, estimates: Iterable[Estimate], limit: int, seed: int
) -> list[CallGroup]:
    """At most so many cases behind a reading, most telling first; none for one without calls of its own."""
    behind = BEHIND.get(reading.title)
    if behind is None:
        return []
    calls = cases.observations
    among = behind.among(calls.shown)
    flagged = [estimate for estimate in estimates if estimate.finding == FLAGGED]
    if reading.title == titles.ROBUSTNESS:
        moved = {estimate.probe for estimate in flagged if estimate.metric in MOVED}
        among = among & np.isin(calls.shown.probe, sorted(moved))
    if reading.title == titles.STRATA:
        low = {str(estimate.group["stratum"]) for estimate in flagged if estimate.metric == STRATUM_GAP.id}
        among = among & np.isin(calls.shown.stratum, sorted(low))
    base = np.array([name == "base" for name in calls.protocols], dtype=np.bool_)
    rows = among[calls.stimulus] & base[calls.protocol]
    return cases.choose(behind.outcome, limit, seed, rows, behind.unlike)
