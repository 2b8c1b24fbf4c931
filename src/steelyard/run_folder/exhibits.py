"""The exhibits of a published datasheet: calls behind its flagged readings, and one reply for each loss."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from functools import partial

from steelyard.core.arrays import distinct
from steelyard.datasheet.datasheet import Datasheet
from steelyard.datasheet.examples.example import Example, truncate
from steelyard.datasheet.examples.selection import FAILED, UNREADABLE, ExampleSelector
from steelyard.datasheet.readings.exhibited import cases_behind
from steelyard.datasheet.words import titles
from steelyard.metrics.faults import Faults
from steelyard.metrics.findings import FLAGGED
from steelyard.run_folder.evidence import Evidence
from steelyard.verdicts.verdict import Failed, Unreadable

PER_READING = 3
"""Exhibits behind a flagged reading."""
MANY = 24
"""Flagged readings of a datasheet from which on each has one exhibit."""


def with_exhibits(datasheet: Datasheet, evidence: Evidence) -> Datasheet:
    """The datasheet with the calls behind it; what can not be shown is a fault, and the figures stand."""
    faults = Faults()
    exhibits: list[Example] = []
    for judge in datasheet.judges:
        if not judge.baseline:
            make = partial(_of_judge, datasheet, evidence, judge.name)
            exhibits += faults.guarded(judge.name, "exhibits", make, lambda _: [])
    return replace(datasheet, exhibits=tuple(exhibits), faults=(*datasheet.faults, *faults.found))


def _of_judge(datasheet: Datasheet, evidence: Evidence, judge: str) -> list[Example]:
    cases = ExampleSelector(evidence.observations.of_judge(judge))
    shown = (*_flagged(datasheet, evidence, judge, cases), *_lost(evidence, cases))
    return [truncate(exhibit) for exhibit in shown]


def _flagged(
    datasheet: Datasheet, evidence: Evidence, judge: str, cases: ExampleSelector
) -> Iterator[Example]:
    flagged = [reading for reading in datasheet.readings if reading.word == FLAGGED]
    limit = PER_READING if len(flagged) <= MANY else 1
    estimates = datasheet.look_up.of_judge(judge)
    for reading in flagged:
        if reading.judge == judge:
            for case in cases_behind(reading, cases, estimates, limit, evidence.seed):
                yield evidence.exhibit(case, reading.title)


def _lost(evidence: Evidence, cases: ExampleSelector) -> Iterator[Example]:
    """For each reason why a call has no verdict, one that ended so."""
    calls = cases.observations
    for outcome, kind in ((UNREADABLE, Unreadable), (FAILED, Failed)):
        for number in distinct(calls.verdict[calls.ended(kind)]).tolist():
            (case,) = cases.choose(outcome, 1, evidence.seed, calls.verdict == number)
            lost = [call for call in case.calls if call.verdict == calls.verdicts[number]]
            yield evidence.exhibit(replace(case, calls=tuple(lost[:1])), titles.FAILURES)
