"""Do texts made to earn an answer get it? Judges of agents' runs, and of the best of several responses."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

import numpy as np

from steelyard.core.text import pluralize
from steelyard.datasheet.clause import Clause, ClauseFigure, Phrase, figure, join, say, times
from steelyard.datasheet.estimate_index import JudgeEstimates
from steelyard.datasheet.example_selection import WRONG
from steelyard.datasheet.glossary import metric_named, probe_label
from steelyard.datasheet.numbers import abstentions, defined
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
    Test,
    by_status,
    limit_of,
    unmeasured,
    worst,
)
from steelyard.metrics.estimate import Estimate
from steelyard.metrics.findings import FLAGGED, INCONCLUSIVE, MARGIN
from steelyard.metrics.merit import LEVEL_AGREEMENT
from steelyard.metrics.proportions import ACCURACY
from steelyard.metrics.run.agent_runs import ERROR_RATE, FALSE_ALARMS, MISSED_FAILURES, PROBE, THIRDS
from steelyard.metrics.scores.best_of import ROTATION_CONSISTENCY, ROTATION_VOTE_ACCURACY, SLOT_PREFERENCE
from steelyard.metrics.scores.edited_texts import (
    EDITED_RUNS,
    LEAST_ACCEPTED,
    SUSPECT,
    accepted_texts,
    rests_on_author,
)
from steelyard.metrics.scores.shares import FOLLOWED
from steelyard.stimuli.agent_edits import BREAKING
from steelyard.stimuli.brief import LABEL_FLIP as FLIP
from steelyard.stimuli.brief import ORDINAL as LEVELS
from steelyard.stimuli.brief import RUN_LEVEL, RUN_PASS
from steelyard.stimuli.original import BEST_OF_PROBE, ORIGINAL
from steelyard.stimuli.original import ROTATION as ROTATED

HALF = 0.5
KINDS = {FLIP: FOLLOWED, LEVELS: LEVEL_AGREEMENT, **dict.fromkeys(EDITED_RUNS, FOLLOWED)}
KINDS[RUN_LEVEL] = LEVEL_AGREEMENT
"""Probes whose texts or runs are made to earn an answer, to the figure of each."""
MOST_NAMES = 5
"""Suspect texts that are named; the others are counted."""


def expected_answers(figures: JudgeEstimates, protocol: str) -> Answer | NotMeasured | None:
    """Whether texts that were written or changed to earn an answer get it; each kind is a test of its own."""
    kinds = _written_kinds(figures, protocol)
    known = [estimate for estimate in kinds if defined(estimate)]
    if not known:
        return unmeasured(*kinds)
    known.sort(key=lambda kind: kind.status != FLAGGED)
    first, *others = known
    more = [
        *(say("; {}", sum(_answers(each), ())) for each in others),
        *_missed_level(figures, protocol),
        *map(_doubts, known),
    ]
    clause = Clause(*_answers(first), join("", more))
    tests = tuple(Test.of(each, _row_name(each)) for each in known)
    return Answer(worst(each.status for each in known), clause, tests)


def _row_name(estimate: Estimate) -> str:
    """The name of a kind's row; that of its metric where no other kind has it."""
    return f"follows the edit: {probe_label(estimate.probe)}" if estimate.probe in EDITED_RUNS else ""


def _written_kinds(figures: JudgeEstimates, protocol: str = "base") -> tuple[Estimate | None, ...]:
    return tuple(figures.of_probe(probe, metric.id, protocol=protocol) for probe, metric in KINDS.items())


def misses_accepted_texts(figures: JudgeEstimates) -> bool:
    """True where a kind of texts that others than their author accepted gets the opposite answer.

    The whole interval lies below chance: half of the changed texts, no rank agreement with written levels.
    """
    return any(
        estimate.decides is not None
        and accepted_texts(estimate) >= LEAST_ACCEPTED
        and (estimate.decides.high or 0.0) < (HALF if estimate.metric == FOLLOWED.id else 0.0)
        for estimate in _written_kinds(figures)
        if defined(estimate)
    )


def _misses_runs_of_rule(figures: JudgeEstimates) -> bool:
    """True where it misses runs of the pack that a rule broke: what its rubric says of them is known."""
    missed = [each for each in _written_kinds(figures) if defined(each) and each.status == FLAGGED]
    return any(each.probe in BREAKING and not rests_on_author(each) for each in missed)


def _missed_level(figures: JudgeEstimates, protocol: str) -> Iterable[Phrase]:
    """The written level that gets another score most often, of all that get one."""
    rights = [
        each
        for probe in (LEVELS, RUN_LEVEL)
        for each in figures.known(ACCURACY.id, protocol, probe)
        if "target" in each.group
    ]
    worst_ = min(rights, key=lambda each: each.value or 0.0, default=None)
    if worst_ is not None and (worst_.value or 0.0) < 1:
        told = f"; level {worst_.group['target']} is missed most often: right in {{}}, {{}}"
        yield say(told, times(worst_, "call"), figure(worst_))


def _doubts(estimate: Estimate) -> Phrase:
    """That nobody but their author accepted the texts, and which of them every judge of the run misses."""
    said: Phrase = ()
    if rests_on_author(estimate):
        accepted, texts = estimate.details["accepted"]
        said += say(f"; {_unaccepted(estimate.probe, accepted, texts)}")
    if suspect := estimate.details.get(SUSPECT, ()):
        named = ", ".join(suspect[:MOST_NAMES]) + (", …" if len(suspect) > MOST_NAMES else "")
        noun = "edited run" if estimate.probe in EDITED_RUNS else "text"
        said += say(f"; every judge of the run misses {pluralize(len(suspect), noun)}, suspect: {named}")
    return said


def _unaccepted(probe: str, accepted: int, texts: int) -> str:
    if probe in BREAKING:
        return "nobody has said that the rubric fails runs that are edited so"
    noun = "run" if probe in EDITED_RUNS else "text"
    return f"another than their author accepted {accepted} of {pluralize(texts, noun)}"


def _answers(estimate: Estimate) -> tuple[Phrase, Phrase]:
    return _follows(estimate) if estimate.metric == FOLLOWED.id else _ranks(estimate)


def kind_in_words(estimate: Estimate, *, of_agents: bool) -> Phrase:
    """One kind of texts or runs: how often it gets its answer, and what would decide where that is open."""
    lead, _ = _answers(estimate)
    ranks = estimate.metric == LEVEL_AGREEMENT.id
    subject = "" if ranks and estimate.status == INCONCLUSIVE else "it "
    calls = f" ({pluralize(estimate.n_calls, 'call')})" if ranks else ""
    return say("{}{}{}{}", subject, lead, calls, more_calls(estimate, of_agents=of_agents, brief=True))


def _rest(estimate: Estimate) -> str:
    return f"; floor {limit_of(metric_named(estimate.metric)):g}{more_calls(estimate)}"


def _follows(share: Estimate) -> tuple[Phrase, Phrase]:
    only = "only " if share.status == FLAGGED else ""
    what = "follows a changed label"
    if share.probe in EDITED_RUNS:
        does = "passes" if share.probe == RUN_PASS else "fails"
        what = f"{does} a run as its edit asks ({probe_label(share.probe)})"
    lead = say(f"{what} in {only}{{}}", times(share, "call"))
    return lead, say(", {}{}{}", figure(share), abstentions(share), _rest(share))


def _ranks(rank: Estimate) -> tuple[Phrase, Phrase]:
    how = by_status(rank, "does not rank", "ranks", "too few data to say whether it ranks")
    apart = f"; {pluralize(rank.left_out, 'call')} abstained, which that leaves out" if rank.left_out else ""
    made = "runs edited" if rank.probe == RUN_LEVEL else "texts written"
    lead = say(f"{how} {made} for each level by that level")
    return lead, say(": rank agreement {}{}{}", figure(rank), apart, _rest(rank))


EXPECTED = Question(
    "Expected answers",
    "gives the expected answer",
    expected_answers,
    Counts.FAULT,
    (FOLLOWED.id, LEVEL_AGREEMENT.id),
    (
        Fault(Cause.EXPECTED, Advice.NAME_EVIDENCE, (Cause.RUNS,), when=_misses_runs_of_rule),
        Fault(Cause.EXPECTED, Advice.READ_LABELS, (Cause.RUNS,)),
    ),
    ExampleFilter(WRONG, lambda shown: np.isin(shown.probe, tuple(KINDS))),
    probes=tuple(KINDS),
)


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
    known = (e for e in figures.known(MISSED_FAILURES.id) if e.group.get("edit", ORIGINAL) != ORIGINAL)
    passed = (estimate for estimate in known if estimate.numerator)
    most = sorted(passed, key=lambda e: (-(e.value or 0.0), str(e.group["edit"])))[:MOST_EDITS]
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
    (Fault(Cause.RUNS, Advice.NAME_EVIDENCE, (Cause.ACCURACY,)),),
    ExampleFilter(WRONG, lambda shown: shown.run),
)
ROTATION = Question(
    "Rotation",
    SLOT_PREFERENCE.short,
    rotation,
    Counts.FAULT,
    (SLOT_PREFERENCE.id, ROTATION_CONSISTENCY.id),
    (Fault(Cause.ROTATION, Advice.ROTATE, (Cause.ACCURACY,)),),
    ExampleFilter(WRONG, lambda shown: shown.kind == ROTATED),
    probes=(BEST_OF_PROBE,),
)
