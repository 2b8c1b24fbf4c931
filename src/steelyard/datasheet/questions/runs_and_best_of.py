"""Judges of agents' runs, and of the best of several responses."""

from __future__ import annotations

from collections.abc import Iterator

from steelyard.datasheet.clause import Clause, ClauseFigure, Phrase, figure, join, say, times
from steelyard.datasheet.estimate_index import JudgeEstimates
from steelyard.datasheet.examples.selection import WRONG
from steelyard.datasheet.questions.causes import Advice, Cause
from steelyard.datasheet.questions.more_data import more_calls
from steelyard.datasheet.questions.question import (
    UNDEFINED,
    Answer,
    Counts,
    ExampleFilter,
    Fault,
    NotMeasured,
    Question,
    Severity,
    Test,
    by_status,
    limit_of,
    unmeasured,
    worst,
)
from steelyard.datasheet.words.glossary import metric_named, probe_label
from steelyard.datasheet.words.numbers import defined
from steelyard.metrics.estimate import Estimate
from steelyard.metrics.findings import FLAGGED, INCONCLUSIVE, MARGIN
from steelyard.metrics.run.agent_runs import ERROR_RATE, FALSE_ALARMS, MISSED_FAILURES, PROBE, THIRDS
from steelyard.metrics.scores.best_of import ROTATION_CONSISTENCY, ROTATION_VOTE_ACCURACY, SLOT_PREFERENCE
from steelyard.stimuli.original import BEST_OF_PROBE, ORIGINAL
from steelyard.stimuli.original import ROTATION as ROTATED

MOST_EDITS = 3


def runs(figures: JudgeEstimates, protocol: str) -> Answer | NotMeasured | None:
    """Whether it fails runs that should fail and passes those that should pass; nothing without runs."""
    missed, alarms = (
        figures.of_probe(PROBE, metric.id, protocol=protocol) for metric in (MISSED_FAILURES, FALSE_ALARMS)
    )
    known = [rate for rate in (missed, alarms) if defined(rate)]
    if not known:
        return unmeasured(missed)
    known.sort(key=lambda rate: rate.status != FLAGGED)
    (lead, measured), *others = map(_rate, known)
    more = [*(say("{}{}", *each) for each in others), *_edits(figures), *_places(figures)]
    clause = Clause(lead, measured, join("", (say("; {}", part) for part in more)))
    return Answer(worst(rate.status for rate in known), clause, tuple(map(Test.of, known)))


def _rate(rate: Estimate) -> tuple[Phrase, Phrase]:
    does, should = ("passes", "fail") if rate.metric == MISSED_FAILURES.id else ("fails", "pass")
    limit = f", limit {limit_of(metric_named(rate.metric)):g}{more_calls(rate)}"
    lead = say(f"{does} {{}} on runs that should {should}", times(rate, "call"))
    return lead, say(f", {{}}{limit}", figure(rate))


def _edits(figures: JudgeEstimates) -> Iterator[Phrase]:
    """Edits after which most calls pass a run that should fail."""
    by_edit = [
        estimate
        for estimate in figures.every.of(figures.judge, MISSED_FAILURES.id)
        if estimate.group.get("edit", ORIGINAL) != ORIGINAL and defined(estimate) and estimate.numerator
    ]
    most = sorted(by_edit, key=lambda e: (-(e.value or 0.0), str(e.group["edit"])))[:MOST_EDITS]
    if most:
        named = (f"{probe_label(str(e.group['edit']))} ({e.numerator} of {e.denominator})" for e in most)
        yield say(f"most often passed after: {', '.join(named)}")


def _places(figures: JudgeEstimates) -> Iterator[Phrase]:
    """Missed failures by where the run was edited, where they are known of more than one place."""
    places = ((n, figures.of_probe(PROBE, MISSED_FAILURES.id, protocol="base", place=n)) for n in THIRDS)
    told = [f"{name} {e.numerator} of {e.denominator}" for name, e in places if defined(e)]
    if len(told) > 1:
        yield say(f"passed by place of the edit: {', '.join(told)}")


def rotation(figures: JudgeEstimates, protocol: str) -> Answer | NotMeasured | None:
    """Does the choice among several responses follow the response, or its slot?"""
    slot, stays, vote = (
        figures.of_probe(BEST_OF_PROBE, metric.id, protocol=protocol)
        for metric in (SLOT_PREFERENCE, ROTATION_CONSISTENCY, ROTATION_VOTE_ACCURACY)
    )
    if not defined(slot):
        return unmeasured(slot)
    verb = "favours" if (slot.value or 0.0) > 0 else "avoids"
    opening = by_status(
        slot,
        f"{verb} slot {slot.details.get('answer')}",
        "favours no slot beyond the margin",
        "too few data to say whether it favours a slot",
        f"slot {slot.details.get('answer')} lies farthest from even",
    )
    more: Phrase = ()
    if defined(stays):
        more += say("; names the same response in every rotation for {}, {}", *_items(stays))
    if defined(vote):
        more += say("; the vote of the rotations is right for {}, {}", *_items(vote))
    clause = Clause(
        say(opening),
        say(f": {{}} from an even share, margin {MARGIN:g}", figure(slot)),
        more + say(more_calls(slot)),
        about_judge=slot.status not in (INCONCLUSIVE, None),
    )
    return Answer(slot.status or UNDEFINED, clause, (Test.of(slot),) if slot.status else ())


def _items(share: Estimate) -> tuple[Phrase, ClauseFigure]:
    repeated = " and repeats" if share.denominator != share.n_units else ""
    return say(f"{{}}{repeated}", times(share, "item")), figure(share)


RUNS = Question(
    "Runs",
    "right on runs of agents",
    runs,
    Counts.FAULT,
    (MISSED_FAILURES.id, FALSE_ALARMS.id, ERROR_RATE.id),
    (Fault(Cause.RUNS, Severity.IMPRECISE, Advice.NAME_EVIDENCE, (Cause.ACCURACY,)),),
    ExampleFilter(WRONG, lambda shown: shown.run),
)
ROTATION = Question(
    "Rotation",
    SLOT_PREFERENCE.short,
    rotation,
    Counts.FAULT,
    (SLOT_PREFERENCE.id, ROTATION_CONSISTENCY.id),
    (Fault(Cause.ROTATION, Severity.BIASED, Advice.ROTATE, (Cause.ACCURACY,)),),
    ExampleFilter(WRONG, lambda shown: shown.kind == ROTATED),
    probes=(BEST_OF_PROBE,),
)
