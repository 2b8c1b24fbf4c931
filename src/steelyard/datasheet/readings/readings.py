"""The findings in sentences: what the tests behind a figure allow one to say, and no more."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from functools import partial

from steelyard.datasheet.judge_entry import JudgeEntry
from steelyard.datasheet.look_up import Figures, LookUp
from steelyard.datasheet.reading import Reading
from steelyard.datasheet.readings.accuracy import accuracy, leniency
from steelyard.datasheet.readings.answer import Answer
from steelyard.datasheet.readings.between_equals import noise, position, surface
from steelyard.datasheet.readings.criterion import criterion
from steelyard.datasheet.readings.instrument import instrument, resolution
from steelyard.datasheet.readings.length import length
from steelyard.datasheet.readings.merit import merit
from steelyard.datasheet.readings.natural import natural
from steelyard.datasheet.readings.reliability import repeatability, robustness
from steelyard.datasheet.readings.run import cost, failures, volatility
from steelyard.datasheet.readings.runs import runs
from steelyard.datasheet.readings.sensitivity import sensitivity, threshold
from steelyard.datasheet.readings.strata import strata
from steelyard.datasheet.readings.zero_point import zero_point
from steelyard.datasheet.words import titles
from steelyard.metrics.estimate import Estimate
from steelyard.metrics.faults import Fault, Faults
from steelyard.metrics.instrument.resolution_ratio import RESOLUTION_RATIO
from steelyard.metrics.metric import Metric
from steelyard.metrics.pairs.natural import ORDER_CONSISTENCY


def readings_of(
    judges: Sequence[JudgeEntry], estimates: Sequence[Estimate], faults: Faults | None = None
) -> Iterator[Reading]:
    """Every reading of every measured judge; baselines need none. What can not be read is a fault."""
    guard = Faults() if faults is None else faults
    every = LookUp(estimates)
    for judge in judges:
        if not judge.baseline:
            figures = Figures(judge.name, every)
            for title in QUESTIONS:
                make, otherwise = partial(_answers, figures, title), partial(_unread, title)
                yield from guard.guarded(judge.name, f"reading {title}", make, otherwise)


def _answers(figures: Figures, title: str) -> list[Reading]:
    """The answer to a question, and those of the same kind under other protocols."""
    answer = QUESTIONS[title](figures)
    base = [] if answer is None else [Reading(figures.judge, title, *answer)]
    return [*base, *_elsewhere(figures, title)]


def _elsewhere(figures: Figures, title: str) -> Iterator[Reading]:
    for elsewhere, metric, question in ELSEWHERE.get(title, ()):
        for protocol in figures.protocols(metric.id):
            answer = None if protocol == "base" else question(figures, protocol)
            if answer is not None:
                yield Reading(figures.judge, titles.under(elsewhere, protocol), *answer)


def _unread(title: str, fault: Fault) -> list[Reading]:
    return [Reading(fault.judge, title, "undefined", fault.note)]


QUESTIONS: dict[str, Callable[[Figures], Answer | None]] = {
    titles.MERIT: merit,
    titles.ZERO_POINT: zero_point,
    titles.POSITION: position,
    titles.NOISE: noise,
    titles.SURFACE: surface,
    titles.SENSITIVITY: sensitivity,
    titles.THRESHOLD: threshold,
    titles.CRITERION: criterion,
    titles.INSTRUMENT: instrument,
    titles.NATURAL_PAIRS: natural,
    titles.ACCURACY: accuracy,
    titles.LENIENCY: leniency,
    titles.LENGTH: length,
    titles.STRATA: strata,
    titles.RUNS: runs,
    titles.ROBUSTNESS: robustness,
    titles.REPEATABILITY: repeatability,
    titles.VOLATILITY: volatility,
    titles.COST: cost,
    titles.FAILURES: failures,
}
"""What a datasheet answers, in order."""

ELSEWHERE: dict[str, Sequence[tuple[str, Metric, Callable[[Figures, str], Answer | None]]]] = {
    titles.INSTRUMENT: [(titles.RESOLUTION, RESOLUTION_RATIO, resolution)],
    titles.NATURAL_PAIRS: [(titles.NATURAL_PAIRS, ORDER_CONSISTENCY, natural)],
}
"""After which question each protocol other than base is asked about: title, metric, answer."""
