"""Every finding of a datasheet, in reading order, and the calls behind a flagged one."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import partial

import numpy as np

from steelyard.core.arrays import Mask
from steelyard.datasheet.conclusion import Finding
from steelyard.datasheet.estimate_index import EstimateIndex, JudgeEstimates
from steelyard.datasheet.examples.selection import FLIP, POSITIONAL, WRONG, CallGroup, ExampleSelector
from steelyard.datasheet.findings.answer import Answer
from steelyard.datasheet.findings.best_of import rotation
from steelyard.datasheet.findings.instrument import instrument, resolution
from steelyard.datasheet.findings.merit import FLIP as FLIPPED
from steelyard.datasheet.findings.merit import LEVELS, accuracy, expected_answers, leniency, merit
from steelyard.datasheet.findings.pairs import (
    criterion,
    natural,
    noise,
    position,
    sensitivity,
    surface,
    threshold,
    zero_point,
)
from steelyard.datasheet.findings.reliability import length, repeatability, robustness, strata
from steelyard.datasheet.findings.run import cost, failures, runs, volatility
from steelyard.datasheet.findings.worth import cues
from steelyard.datasheet.judge_entry import JudgeEntry
from steelyard.datasheet.words import titles
from steelyard.metrics.estimate import Estimate
from steelyard.metrics.faults import Fault, Faults
from steelyard.metrics.findings import FLAGGED
from steelyard.metrics.instrument.crossing import TRADEOFF
from steelyard.metrics.instrument.resolution_ratio import RESOLUTION_RATIO
from steelyard.metrics.instrument.worth_estimates import WORTH
from steelyard.metrics.metric import Metric
from steelyard.metrics.pairs.cue_shift import CUE_SHIFT
from steelyard.metrics.pairs.length import FILLER
from steelyard.metrics.pairs.natural import ORDER_CONSISTENCY
from steelyard.metrics.run.strata import STRATUM_GAP
from steelyard.metrics.scores.invariance import EXCESS_FLIP, INVARIANCE
from steelyard.stimuli.best_of import ROTATION as ROTATED
from steelyard.stimuli.natural import NATURAL
from steelyard.verdicts.stimulus_columns import StimulusColumns


def findings_of(
    judges: Sequence[JudgeEntry], estimates: Sequence[Estimate], faults: Faults | None = None
) -> Iterator[Finding]:
    """Every reading of every measured judge; baselines need none. What can not be read is a fault."""
    guard = Faults() if faults is None else faults
    every = EstimateIndex(estimates)
    for judge in judges:
        if not judge.baseline:
            figures = JudgeEstimates(judge.name, every)
            for title in QUESTIONS:
                make, otherwise = partial(_answers, figures, title), partial(_unread, title)
                yield from guard.guarded(judge.name, f"reading {title}", make, otherwise)


def _answers(figures: JudgeEstimates, title: str) -> list[Finding]:
    answer = QUESTIONS[title](figures)
    base = [] if answer is None else [Finding(figures.judge, title, *answer)]
    return [*base, *_other_protocols(figures, title)]


def _other_protocols(figures: JudgeEstimates, title: str) -> Iterator[Finding]:
    for elsewhere, metric, question in OTHER_PROTOCOLS.get(title, ()):
        for protocol in figures.protocols(metric.id):
            answer = None if protocol == "base" else question(figures, protocol)
            if answer is not None:
                yield Finding(figures.judge, titles.under(elsewhere, protocol), *answer)


def _unread(title: str, fault: Fault) -> list[Finding]:
    return [Finding(fault.judge, title, "undefined", fault.note)]


QUESTIONS: dict[str, Callable[[JudgeEstimates], Answer | None]] = {
    titles.MERIT: merit,
    titles.DARK_CURRENT: zero_point,
    titles.POSITION: position,
    titles.NOISE: noise,
    titles.SURFACE: surface,
    titles.SENSITIVITY: sensitivity,
    titles.THRESHOLD: threshold,
    titles.CRITERION: criterion,
    titles.INSTRUMENT: instrument,
    titles.NATURAL_PAIRS: natural,
    titles.ROTATION: rotation,
    titles.ACCURACY: accuracy,
    titles.EXPECTED: expected_answers,
    titles.LENIENCY: leniency,
    titles.LENGTH: length,
    titles.CUES: cues,
    titles.STRATA: strata,
    titles.RUNS: runs,
    titles.ROBUSTNESS: robustness,
    titles.REPEATABILITY: repeatability,
    titles.VOLATILITY: volatility,
    titles.COST: cost,
    titles.FAILURES: failures,
}

OTHER_PROTOCOLS: dict[str, Sequence[tuple[str, Metric, Callable[[JudgeEstimates, str], Answer | None]]]] = {
    titles.INSTRUMENT: [(titles.RESOLUTION, RESOLUTION_RATIO, resolution)],
    titles.NATURAL_PAIRS: [(titles.NATURAL_PAIRS, ORDER_CONSISTENCY, natural)],
}
"""After which question each protocol other than base is asked about: title, metric, answer."""


CUE_METRICS = (WORTH.id, CUE_SHIFT.id)
MOVED = (EXCESS_FLIP.id, INVARIANCE.id)
"""Metrics by which an edit is found to move verdicts."""


@dataclass(frozen=True)
class ExampleFilter:
    outcome: str
    among: Callable[[StimulusColumns], Mask]
    unlike: str | None = None
    """Examples of this outcome belong to another reading."""


def _natural(shown: StimulusColumns) -> Mask:
    return np.asarray(shown.kind == NATURAL)


def _rotated(shown: StimulusColumns) -> Mask:
    return np.asarray(shown.kind == ROTATED)


EXAMPLE_FILTERS: dict[str, ExampleFilter] = {
    titles.MERIT: ExampleFilter(
        WRONG,
        lambda shown: (shown.delta > 0) | shown.original | shown.run | _natural(shown) | _rotated(shown),
    ),
    titles.DARK_CURRENT: ExampleFilter(WRONG, lambda shown: shown.probe == "vacuum"),
    titles.POSITION: ExampleFilter(POSITIONAL, lambda shown: shown.delta == 0),
    titles.NOISE: ExampleFilter(FLIP, lambda shown: shown.paired),
    titles.SURFACE: ExampleFilter(WRONG, lambda shown: shown.delta == 0, unlike=POSITIONAL),
    titles.SENSITIVITY: ExampleFilter(WRONG, lambda shown: shown.delta == 1),
    titles.NATURAL_PAIRS: ExampleFilter(POSITIONAL, _natural),
    titles.ROTATION: ExampleFilter(WRONG, _rotated),
    titles.ACCURACY: ExampleFilter(WRONG, lambda shown: shown.original | _natural(shown) | _rotated(shown)),
    titles.EXPECTED: ExampleFilter(WRONG, lambda shown: np.isin(shown.probe, (FLIPPED, LEVELS))),
    titles.LENIENCY: ExampleFilter(WRONG, lambda shown: shown.original),
    titles.LENGTH: ExampleFilter(
        WRONG, lambda shown: (shown.kind == FILLER) | shown.original | _natural(shown)
    ),
    titles.CUES: ExampleFilter(
        WRONG, lambda shown: (shown.delta > 0) | ((shown.probe == TRADEOFF) & ~shown.paired)
    ),
    titles.STRATA: ExampleFilter(WRONG, lambda shown: shown.original | _natural(shown) | _rotated(shown)),
    titles.RUNS: ExampleFilter(WRONG, lambda shown: shown.run),
    titles.ROBUSTNESS: ExampleFilter(FLIP, lambda shown: ~shown.original & ~shown.paired),
    titles.REPEATABILITY: ExampleFilter(FLIP, lambda shown: shown.original),
}
"""By the title of the reading; the others rest on no calls of their own."""


def examples_behind(
    finding: Finding, cases: ExampleSelector, estimates: Iterable[Estimate], limit: int, seed: int
) -> list[CallGroup]:
    """At most so many cases behind a finding, most telling first; none for one without calls of its own."""
    behind = EXAMPLE_FILTERS.get(finding.title)
    if behind is None:
        return []
    calls = cases.observations
    among = behind.among(calls.shown)
    among = among & ((calls.shown.probe == TRADEOFF) == (finding.title == titles.CUES))
    flagged = [estimate for estimate in estimates if estimate.status == FLAGGED]
    if finding.title == titles.CUES:
        kinds = {str(estimate.group["cue"]) for estimate in flagged if estimate.metric in CUE_METRICS}
        among = among & np.isin(calls.shown.kind, sorted(kinds))
    if finding.title == titles.ROBUSTNESS:
        moved = {estimate.probe for estimate in flagged if estimate.metric in MOVED}
        among = among & np.isin(calls.shown.probe, sorted(moved))
    if finding.title == titles.STRATA:
        low = {str(estimate.group["stratum"]) for estimate in flagged if estimate.metric == STRATUM_GAP.id}
        among = among & np.isin(calls.shown.stratum, sorted(low))
    base = np.array([name == "base" for name in calls.protocols], dtype=np.bool_)
    rows = among[calls.stimulus] & base[calls.protocol]
    return cases.choose(behind.outcome, limit, seed, rows, behind.unlike)
