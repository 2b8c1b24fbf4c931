"""Judges that count commas, digits or words of the request, and read nothing, are never called usable."""

from __future__ import annotations

import pytest

from calibration import words
from calibration.judges import CARE, COUNTERS, NO_FAULT, USELESS
from calibration.worlds import World
from steelyard.metrics.findings import CLEAR
from steelyard.metrics.merit import merit_estimates

FIRST_SEED = 2_000_000
"""None of those that `make calibrate` counts."""
ANSWERS = {name: judge.answers for name, judge in COUNTERS.items() if judge.class_ == USELESS}


@pytest.mark.parametrize("size", [0, 1], ids=["quick", "standard"])
def test_no_count_shows_merit_in_forty_runs(size: int) -> None:
    """Merit comes before every other question: who does not show it is neither usable nor without a fault."""
    assert len(ANSWERS) >= 15
    shown = []
    for seed in range(FIRST_SEED, FIRST_SEED + 40):
        world = World.of("counters", size, seed)
        for name, answers in ANSWERS.items():
            merit, *_ = merit_estimates(name, world.observe({name: answers}, seed), {}, seed)
            shown += [(name, seed)] if merit.status == CLEAR else []
    assert shown == []


@pytest.mark.parametrize("size", [0, 1], ids=["quick", "standard"])
def test_their_word_follows(size: int) -> None:
    with words.verdicts_only(remedies=False):
        sheet = words.sheet_of(World.of("counters", size, FIRST_SEED), ANSWERS, FIRST_SEED)
    assert [said.judge for said in sheet.verdicts if said.word in (CARE, NO_FAULT)] == []
