"""Every question in reading order, the decisions on a judge, and the calls behind a fault."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from functools import partial

import numpy as np

from steelyard.datasheet.clause import Clause, figure, join, say
from steelyard.datasheet.estimate_index import EstimateIndex, JudgeEstimates
from steelyard.datasheet.example_selection import CallGroup, ExampleSelector
from steelyard.datasheet.glossary import WHOLES, metric_named, probe_title
from steelyard.datasheet.instrument_card import JudgeEntry
from steelyard.datasheet.questions.causes import Cause
from steelyard.datasheet.questions.cues import CUES, LENGTH
from steelyard.datasheet.questions.expected_answers import EXPECTED, ROTATION, RUNS
from steelyard.datasheet.questions.labels import ACCURACY, ERRORS, LENIENCY, SPREAD, STRATA
from steelyard.datasheet.questions.merit import CONFIDENCE, MERIT, SENSITIVITY, THRESHOLD
from steelyard.datasheet.questions.pairs import DARK_CURRENT, NATURAL_PAIRS, NOISE, POSITION, SURFACE
from steelyard.datasheet.questions.question import (
    UNDEFINED,
    Answer,
    Counts,
    Decision,
    Fault,
    Question,
    Test,
    worst,
)
from steelyard.datasheet.questions.robustness import REPEATABILITY, ROBUSTNESS, VOLATILITY
from steelyard.datasheet.questions.run import COST, CRITERION, FAILURES, INSTRUMENT, REASONS, RESOLUTION
from steelyard.metrics.estimate import Estimate
from steelyard.metrics.faults import Faults, FigureFault
from steelyard.metrics.findings import FLAGGED
from steelyard.metrics.instrument.crossing import TRADEOFF
from steelyard.probes.probe import EDITS, PROBES
from steelyard.probes.probe_metadata import section_of

QUESTIONS: tuple[Question, ...] = (
    *(MERIT, DARK_CURRENT, POSITION, NOISE, SURFACE, SENSITIVITY, THRESHOLD, CRITERION),
    *(INSTRUMENT, RESOLUTION, NATURAL_PAIRS, ROTATION, ACCURACY, EXPECTED, ERRORS, LENIENCY, SPREAD),
    *(CONFIDENCE, LENGTH, CUES, STRATA),
    *(RUNS, ROBUSTNESS, REPEATABILITY, VOLATILITY, REASONS, COST, FAILURES),
)
FAULTS: tuple[tuple[Question, Fault], ...] = tuple(
    sorted(
        ((question, fault) for question in QUESTIONS for fault in question.faults),
        key=lambda each: each[1].cause.rank,
    )
)
"""Every fault with its question, causes before what they bring."""


def decisions_of(
    judges: Sequence[JudgeEntry], estimates: Sequence[Estimate], faults: Faults | None = None
) -> Iterator[Decision]:
    """Every decision on every measured judge; baselines need none. What can not be decided is a fault."""
    guard = Faults() if faults is None else faults
    every = EstimateIndex(estimates)
    for judge in judges:
        if not judge.baseline:
            figures = JudgeEstimates(judge.name, every)
            for question in (*QUESTIONS, *_of_plugins(figures)):
                make, otherwise = partial(question.decisions, figures), partial(_undecidable, question)
                yield from guard.guarded(judge.name, f"reading {question.name}", make, otherwise)


def _undecidable(question: Question, fault: FigureFault) -> list[Decision]:
    return [Decision(fault.judge, question, UNDEFINED, Clause(say(fault.note), about_judge=False))]


def _of_plugins(figures: JudgeEstimates) -> Iterator[Question]:
    """The questions that plug-ins declare; one that declares none has a question of all its figures.

    Edits feed the question on edits.
    """
    probes = dict.fromkeys(estimate.probe for estimate in figures.every.of_judge(figures.judge))
    for probe in probes:
        if PROBES.added(probe):
            declared: tuple[Question, ...] = getattr(PROBES.factory(probe), "questions", ())
            if declared or section_of(probe) != EDITS:
                yield from declared or [_of_plugin(probe)]
        elif probe not in PROBES.names() and probe not in WHOLES:
            yield _of_plugin(probe)  # of a plug-in that is not installed here, whose faults are faults


def _of_plugin(probe: str) -> Question:
    def ask(figures: JudgeEstimates, protocol: str) -> Answer | None:
        del protocol
        mine = figures.every.of_judge(figures.judge)
        known = [e for e in mine if e.probe == probe and e.is_overall and e.status and e.value is not None]
        if not known:
            return None
        known.sort(key=lambda estimate: estimate.status != FLAGGED)
        told = [estimate for estimate in known if estimate.status == FLAGGED] or known
        tail = " is beyond its limit" if told[0].status == FLAGGED else ""
        said = join("; ", (say(f"{metric_named(e.metric).name} {{}}{tail}", figure(e)) for e in told))
        clause = Clause(said, about_judge=False)
        # Nobody here knows the limit of a metric that no installed package declares.
        tests = (Test.of(e) if metric_named(e.metric).meaning else Test.without_limit(e) for e in known)
        return Answer(worst(e.status for e in known), clause, tuple(tests))

    return Question(probe_title(probe), probe_title(probe).lower(), ask, Counts.FAULT, probes=(probe,))


def question_of(cause: Cause) -> Question:
    """The question whose answer shows a cause."""
    return next((question for question, fault in FAULTS if fault.cause is cause), MERIT)


def remedies_for(decision: Decision, cause: Cause | None = None) -> tuple[str, ...]:
    """The kinds of remedies for a cause, or for whatever was found."""
    own = (fault.remedies for fault in decision.question.faults if fault.cause is cause)
    return next(own, ()) or decision.question.remedies


def examples_behind(
    decision: Decision, cases: ExampleSelector, estimates: Iterable[Estimate], limit: int, seed: int
) -> list[CallGroup]:
    """At most so many cases behind a decision, most telling first; none for one without calls of its own."""
    behind = decision.question.examples
    if behind is None or decision.protocol != "base":
        return []
    calls = cases.observations
    among = behind.among(calls.shown)
    among = among & ((calls.shown.probe == TRADEOFF) == (decision.question is CUES))
    if behind.narrow is not None:
        among = among & behind.narrow(calls.shown, [e for e in estimates if e.status == FLAGGED])
    base = np.array([name == "base" for name in calls.protocols], dtype=np.bool_)
    rows = among[calls.stimulus] & base[calls.protocol]
    return cases.choose(behind.outcome, limit, seed, rows, behind.unlike)
