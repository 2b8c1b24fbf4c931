"""The run as a whole: calls without an answer, cost, instructions, the instrument model, plug-ins."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from steelyard.core.text import pluralize
from steelyard.datasheet.clause import Clause, Phrase, figure, join, say, times, value
from steelyard.datasheet.estimate_index import JudgeEstimates
from steelyard.datasheet.example_selection import CONTRADICTION
from steelyard.datasheet.glossary import KINDS, metric_named, probe_label
from steelyard.datasheet.numbers import abstentions, decimal, defined, interval
from steelyard.datasheet.questions.causes import Advice, Cause
from steelyard.datasheet.questions.more_data import more_calls
from steelyard.datasheet.questions.pairs import off_zero
from steelyard.datasheet.questions.question import (
    MEASURED,
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
from steelyard.metrics.estimate import Estimate, Interval
from steelyard.metrics.findings import CLEAR, FLAGGED, INCONCLUSIVE, MARGIN
from steelyard.metrics.instrument.derived import RESOLUTION_RATIO, SAME_WITHIN
from steelyard.metrics.instrument.estimates import FIT_PROBABILITY, LIMIT_OF_DETECTION, TOO_LITTLE
from steelyard.metrics.instrument.likelihood import (
    LAPSE_RATE,
    POSITION_BIAS,
    SURFACE_SENSITIVITY,
    TIE_THRESHOLD,
)
from steelyard.metrics.instrument.likelihood import RESOLUTION as RESOLVES
from steelyard.metrics.pairs.signal_detection import CRITERION_SHIFT, SENSITIVITY_SHIFT
from steelyard.metrics.proportions import CONTRADICTION_RATE, FAILED_RATE, UNREADABLE_RATE
from steelyard.metrics.run.cost import COST_PER_CALL, COST_PER_POINT_MEAN, COST_PER_POINT_POOLED
from steelyard.metrics.run.losses import UNEVEN
from steelyard.stimuli.original import PERTURBED
from steelyard.trials.builtin_prompts import GRADED

PARAMETERS = {
    RESOLVES.id: "resolves {} of its own noise per quality step",
    POSITION_BIAS.id: "is pushed by {} towards slot 1",
    TIE_THRESHOLD.id: "calls a tie within {}",
    SURFACE_SENSITIVITY.id: "is swayed by wording with spread {}",
    LAPSE_RATE.id: "answers at random in a share of {}",
}
LOST = {UNREADABLE_RATE.id: "no readable reply in {}", FAILED_RATE.id: "no reply at all in {}"}
HALF = 0.5


def failures(figures: JudgeEstimates, protocol: str) -> Answer | NotMeasured | None:
    """Calls without a verdict; where there is none, however few were made, nothing is missing."""
    del protocol
    # Without a reply there is none to read.
    measured = LOST if lost_share(figures, FAILED_RATE.id) < 1 else (FAILED_RATE.id,)
    known = [rate for rate in map(figures.find, measured) if defined(rate)]
    if not known:
        return None
    lost = [rate for rate in known if rate.numerator]
    declines = abstentions(known[0])
    if not lost:
        said = f"each of {pluralize(known[0].n_calls, 'call')} ended in a verdict{declines}"
        tests = tuple(Test.without_limit(rate) for rate in known)
        return Answer(CLEAR, Clause(say(said), about_judge=False), tests)
    status = worst(rate.status or CLEAR for rate in known)
    needed = max(known, key=lambda rate: (rate.status == INCONCLUSIVE, rate.calls_needed or 0))
    uneven = " and ".join(rate.metric.removesuffix("_rate") for rate in known if rate.reading == UNEVEN)
    depends = f"; {uneven} calls depend on what is shown, so the rest may mislead" if uneven else ""
    # Where one rate is flagged already, more calls are no remedy for it.
    more = more_calls(needed) if status == INCONCLUSIVE else ""
    clause = Clause(
        join(", ", (say(LOST[rate.metric], times(rate, "call")) for rate in lost)),
        (),
        say(f"; such a call is never a score{declines}{depends}{more}"),
        about_judge=False,
    )
    return Answer(status, clause, tuple(_loss_row(rate) for rate in known if rate.status))


def _loss_row(rate: Estimate) -> Test:
    """The rate against its limit; where its spread alone is at fault, what loses most."""
    test = Test.of(rate)
    if rate.reading != UNEVEN or test.is_outside or "more" not in rate.details:
        return test
    more, low, high = rate.details["more"]
    shown = (Interval("newcombe", low, high),)
    most = replace(rate, value=more, numerator=None, denominator=None, intervals=shown)
    probe, *rest = rate.details["worst"]
    kinds = ", ".join(KINDS.get(part, part) for part in rest if part not in (probe, PERTURBED))
    where = f"{probe_label(probe)} ({kinds})" if kinds else probe_label(probe)
    name = f"{metric_named(rate.metric).short} in {where}, against the others"
    return Test(most, (-MARGIN, MARGIN), name, margin=True)


def lost_share(figures: JudgeEstimates, *metrics: str) -> float:
    """The share of calls that brought no reply, no readable one, or neither."""
    rates = (figures.find(metric) for metric in metrics or LOST)
    return sum(rate.value or 0.0 for rate in rates if rate is not None)


def mostly_failed(figures: JudgeEstimates) -> bool:
    """True where more than half of the calls brought no reply, for which nobody is blamed."""
    return lost_share(figures, FAILED_RATE.id) > HALF


def mostly_unreadable(figures: JudgeEstimates) -> bool:
    """True where more than half of the calls, with the whole interval, could not be read."""
    rate = figures.find(UNREADABLE_RATE.id)
    if rate is None or rate.status != FLAGGED or rate.interval is None:
        return False
    return (rate.interval.low or 0.0) > HALF


def _more_failed_than_unreadable(figures: JudgeEstimates) -> bool:
    return lost_share(figures, FAILED_RATE.id) > lost_share(figures, UNREADABLE_RATE.id)


def cost(figures: JudgeEstimates, protocol: str) -> Answer | NotMeasured | None:
    """Dollars per call and per point; nothing for a judge that costs nothing."""
    call = figures.of_probe("cost", COST_PER_CALL.id, protocol=protocol)
    if call is None or call.value == 0:
        return None
    if not defined(call):
        return unmeasured(call)
    mean = figures.of_probe("cost", COST_PER_POINT_MEAN.id, protocol=protocol)
    pooled = figures.of_probe("cost", COST_PER_POINT_POOLED.id, protocol=protocol)
    per_point: Phrase = ()
    if defined(mean):
        per_point = say(", {} per point of accuracy in the mean over probes", value(mean))
    elif defined(pooled):
        per_point = say(", {} for all probes per point of their mean accuracy", value(pooled))
    clause = Clause(say("{} per call", value(call)), (), per_point, about_judge=False)
    return Answer(MEASURED, clause, (Test.without_limit(call),))


def criterion(figures: JudgeEstimates, protocol: str) -> Answer | NotMeasured | None:
    """What other instructions change, from lenient to strict."""
    del protocol
    names = figures.protocols(CRITERION_SHIFT.id)
    arms = sorted(names, key=lambda arm: GRADED.index(arm) if arm in GRADED else len(GRADED))
    shifts = [(arm, figures.find(CRITERION_SHIFT.id, protocol=arm, delta=0)) for arm in arms]
    known = [(arm, shift) for arm, shift in shifts if defined(shift)]
    if not known:
        return unmeasured(*(shift for _, shift in shifts))
    told = join("; ", (_changes(figures, arm, shift) for arm, shift in known))
    clause = Clause(say("against the base instruction, {}", told), about_judge=False)
    tests = (Test.without_limit(e, f"{CRITERION_SHIFT.short}: {arm}") for arm, e in known)
    return Answer(MEASURED, clause, tuple(tests))


def _changes(figures: JudgeEstimates, arm: str, equal: Estimate) -> Phrase:
    one = figures.find(SENSITIVITY_SHIFT.id, protocol=arm, delta=1)
    price = say(", sensitivity at one step by {}", figure(one)) if defined(one) else ()
    return say(f"{arm} changes the tie rate between equals by {{}}{{}}", figure(equal), price)


def instrument(figures: JudgeEstimates, protocol: str) -> Answer | NotMeasured | None:
    fit = figures.find(FIT_PROBABILITY.id, protocol=protocol)
    rows = [(words, figures.find(metric, protocol=protocol)) for metric, words in PARAMETERS.items()]
    if fit is None or all(row is None for _, row in rows):
        return None
    if not defined(fit):
        if fit.reason != TOO_LITTLE.code:
            return unmeasured(fit)
        return Answer(INCONCLUSIVE, Clause(say(str(TOO_LITTLE)), about_judge=False))
    tested = say("p of the fit {}", value(fit))
    if fit.status == FLAGGED:
        opening = say("does not answer like such an instrument, so its parameters are not read")
        return Answer(FLAGGED, Clause(opening, say(": {}", tested)))
    detects = figures.find(LIMIT_OF_DETECTION.id, protocol=protocol)
    phrases = [say(words, figure(row)) for words, row in rows if defined(row)]
    if defined(detects):
        phrases.append(say("names the better text in 95 % of calls from {} steps", figure(detects)))
    return Answer(MEASURED, Clause(join("; ", [*phrases, tested])))


def resolution(figures: JudgeEstimates, protocol: str) -> Answer | NotMeasured | None:
    """Whether a protocol left the resolution alone: an equivalence claim, not the absence of a difference."""
    ratio = figures.find(RESOLUTION_RATIO.id, protocol=protocol)
    if not defined(ratio):
        return unmeasured(ratio)
    narrow = next(i for i in ratio.intervals if i.confidence == 0.90)
    least, most = SAME_WITHIN
    opening = by_status(
        ratio,
        f"the resolution {'rose' if (ratio.value or 0) > 1 else 'fell'} under {protocol}",
        f"{_criterion_moved(figures, protocol)}the resolution did not",
        f"too few data to say whether the resolution is the same under {protocol}",
        "resolutions compared",
    )
    compared = say(
        f": ratio to base {{}}, 90 % {interval(ratio, narrow)}, margin {least:g} to {most:g}", value(ratio)
    )
    clause = Clause(say(opening), compared, about_judge=False)
    return Answer(ratio.status or UNDEFINED, clause)


def _criterion_moved(figures: JudgeEstimates, protocol: str) -> str:
    shift = figures.find(CRITERION_SHIFT.id, protocol=protocol, delta=0)
    if not defined(shift) or not off_zero(shift):
        return "no move of the criterion is shown, and "
    return f"the criterion moved (tie rate {decimal(shift.value or 0.0, signed=True)} between equals), "


def reasons(figures: JudgeEstimates, protocol: str) -> Answer | NotMeasured | None:
    """Whether its reasons end with the answers it gives; a few that all do leave nothing open."""
    del protocol
    rate = figures.find(CONTRADICTION_RATE.id)
    if not defined(rate):
        return None
    limit = decimal(limit_of(CONTRADICTION_RATE))
    said = say(" of those whose reason ends with an answer, {}", figure(rate))
    if rate.status == INCONCLUSIVE and not rate.numerator:
        clause = Clause(say("gives another answer than its reason in {}", times(rate, "call")), said)
        return Answer(MEASURED, clause, (Test.without_limit(rate),))
    more = more_calls(rate) if rate.status == INCONCLUSIVE else ""
    clause = Clause(
        say("gives another answer than its reason in {}", times(rate, "call")),
        said,
        say(f"; limit {limit}{more}"),
    )
    return Answer(rate.status or MEASURED, clause, (Test.of(rate),))


REASONS = Question(
    "Reasons",
    "contradicts its reason",
    reasons,
    Counts.FAULT,
    (CONTRADICTION_RATE.id,),
    (Fault(Cause.CONTRADICTION, Advice.ANSWER_AFTER_REASON),),
    ExampleFilter(CONTRADICTION, lambda shown: np.ones(len(shown.stimuli), dtype=np.bool_)),
)
FAILURES = Question(
    "Failures",
    "calls without an answer",
    failures,
    Counts.FAULT,
    (UNREADABLE_RATE.id, FAILED_RATE.id),
    (
        Fault(Cause.FAILED, Advice.FIX_CALLS, when=_more_failed_than_unreadable),
        Fault(Cause.UNREADABLE, Advice.READABLE),
    ),
)
COST = Question("Cost", "cost per call", cost, metrics=(COST_PER_CALL.id,))
CRITERION = Question(
    "Criterion", CRITERION_SHIFT.short, criterion, metrics=(CRITERION_SHIFT.id,), probes=("criterion",)
)
INSTRUMENT = Question("Instrument", "fits the instrument model", instrument, metrics=(FIT_PROBABILITY.id,))
RESOLUTION = Question(
    "Resolution",
    RESOLUTION_RATIO.short,
    resolution,
    metrics=(RESOLUTION_RATIO.id,),
    protocols=RESOLUTION_RATIO,
    base=False,
)
