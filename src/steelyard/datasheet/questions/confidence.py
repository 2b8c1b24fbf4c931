"""Whether a judge knows when it is wrong: its own confidence, and what its calls tell beside it."""

from __future__ import annotations

from steelyard.datasheet.clause import Clause, Phrase, figure, join, say, times
from steelyard.datasheet.estimate_index import JudgeEstimates
from steelyard.datasheet.examples.selection import WRONG
from steelyard.datasheet.questions.causes import Advice, Cause
from steelyard.datasheet.questions.labels import as_shown
from steelyard.datasheet.questions.more_data import more_calls
from steelyard.datasheet.questions.question import (
    MEASURED,
    PAIRS,
    TEXTS,
    Answer,
    Counts,
    ExampleFilter,
    Fault,
    NotMeasured,
    Question,
    Severity,
    Test,
    Way,
    unmeasured,
    worst,
)
from steelyard.datasheet.words.numbers import decimal, defined
from steelyard.metrics.estimate import Estimate
from steelyard.metrics.findings import CLEAR, FLAGGED, INCONCLUSIVE
from steelyard.metrics.run.confidence import (
    AUROC,
    OVERCONFIDENCE,
    PROBE,
    RECALIBRATED,
    WRONG_BUT_SURE,
)
from steelyard.verdicts.call_answers import JURY, ORDERS_AGREE, REPEATS
from steelyard.verdicts.readers import TOKEN

SIGNALS = {
    TOKEN: "probability of the token",
    REPEATS: "agreement of repeats",
    ORDERS_AGREE: "agreement of both orders",
    JURY: "agreement with the other judges",
}


def confidence(figures: JudgeEstimates, protocol: str) -> Answer | NotMeasured | None:
    """Whether its confidence tells right from wrong, and claims no more than is right."""
    tells, over, sure = (
        figures.of_probe(PROBE, metric.id, protocol=protocol)
        for metric in (AUROC, OVERCONFIDENCE, WRONG_BUT_SURE)
    )
    if tells is None:
        return _other_signals(figures, protocol)
    known = [each for each in (tells, over) if defined(each) and each.status]
    status = worst(each.status for each in known) if known else INCONCLUSIVE
    if not defined(tells) and status != FLAGGED:
        return unmeasured(tells)
    said = [say("AUROC {}", figure(tells))] if defined(tells) else []
    said += [_stated(over)] if defined(over) else []
    said += [say("surer than 0.9 in {}", times(sure, "wrong answer"))] if defined(sure) else []
    needed = next((each for each in known if each.status == INCONCLUSIVE), None)
    clause = Clause(
        say(_opening(tells, over, status)),
        say(": {}", join("; ", said)),
        _recalibrated(figures, over) + say(more_calls(needed if status == INCONCLUSIVE else None)),
        about_judge=status != INCONCLUSIVE,
    )
    return Answer(status, clause, tuple(map(Test.of, known)))


def _opening(tells: Estimate, over: Estimate | None, status: str) -> str:
    if tells.status == FLAGGED:
        return "does not know when it is wrong"
    if over is not None and over.status == FLAGGED:
        return "is surer than it is right"
    if status == CLEAR:
        return "knows when it is wrong"
    return "too few data to say whether it knows when it is wrong"


def _stated(over: Estimate) -> Phrase:
    stated, right = (decimal(float(over.details.get(name, 0.0))) for name in ("confidence", "right"))
    return say(f"confidence {stated} in the mean where {right} are right, {{}}", figure(over))


def _recalibrated(figures: JudgeEstimates, over: Estimate | None) -> Phrase:
    """What the remedy would show, where there is something to mend."""
    anew = figures.of_probe(PROBE, OVERCONFIDENCE.id, protocol="base", signal=RECALIBRATED)
    if not defined(anew) or over is None or over.status != FLAGGED:
        return ()
    return say("; recalibrated by the labels of other items {}", figure(anew))


def _other_signals(figures: JudgeEstimates, protocol: str) -> Answer | None:
    """What the calls tell of a judge that was not asked how sure it is; nothing has a limit."""
    found = {name: figures.of_probe(PROBE, AUROC.id, protocol=protocol, signal=name) for name in SIGNALS}
    known = {name: each for name, each in found.items() if defined(each)}
    if not known:
        return None
    told = join(", ", (say(f"{SIGNALS[name]} {{}}", figure(each)) for name, each in known.items()))
    clause = Clause(say("tells right from wrong answers, as AUROC: {}", told), about_judge=False)
    tests = tuple(Test.without_limit(each, f"AUROC, {SIGNALS[name]}") for name, each in known.items())
    return Answer(MEASURED, clause, tests)


def does_not_tell(figures: JudgeEstimates) -> bool:
    tells = figures.of_probe(PROBE, AUROC.id, protocol="base")
    return tells is not None and tells.status == FLAGGED


CONFIDENCE = Question(
    "Confidence",
    AUROC.short,
    confidence,
    Counts.FAULT,
    (AUROC.id, OVERCONFIDENCE.id),
    (
        Fault(Cause.NO_SIGNAL, Severity.IMPRECISE, Advice.OTHER_SIGNAL, when=does_not_tell),
        Fault(Cause.OVERCONFIDENT, Severity.IMPRECISE, Advice.RECALIBRATE),
    ),
    ExampleFilter(WRONG, as_shown),
    ways=(
        Way("column confidence", recorded=True),
        Way("--prompt confidence", PAIRS, own_data=True),
        Way("--prompt confidence", TEXTS, own_data=True),
    ),
)
