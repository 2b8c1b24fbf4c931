"""Does the judge tell good from bad, how small a difference does it see, does it know when it is wrong?"""

from __future__ import annotations

from collections.abc import Iterable

import numpy as np

from steelyard.datasheet.clause import Clause, Phrase, figure, join, say, times
from steelyard.datasheet.estimate_index import JudgeEstimates, MeritTest
from steelyard.datasheet.example_selection import WRONG
from steelyard.datasheet.glossary import probe_label
from steelyard.datasheet.numbers import decimal, defined
from steelyard.datasheet.questions.causes import Advice, Cause
from steelyard.datasheet.questions.labels import as_shown, label_rates
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
    Test,
    Way,
    limit_of,
    unmeasured,
    worst,
)
from steelyard.metrics.estimate import Estimate
from steelyard.metrics.findings import CLEAR, FLAGGED, INCONCLUSIVE, MISSING_DECIDE
from steelyard.metrics.merit import LADDER, STEPS
from steelyard.metrics.metric import LARGE_STEPS
from steelyard.metrics.pairs.equals import RAW_FALSE_PREFERENCE, TIE_RATE
from steelyard.metrics.pairs.ladder import DELTA75, MISS_BY_TIE, TARGET_SENSITIVITY
from steelyard.metrics.pairs.slot import NET_SLOT_PREFERENCE
from steelyard.metrics.proportions import ACCURACY
from steelyard.metrics.proportions import MERIT as MERIT_METRIC
from steelyard.metrics.remedies.mitigations import JURY, MAJORITY
from steelyard.metrics.run.agent_runs import PROBE as RUNS
from steelyard.metrics.run.confidence import AUROC, OVERCONFIDENCE, PROBE, RECALIBRATED, WRONG_BUT_SURE
from steelyard.metrics.scores.edited_texts import BY_RULE, FEW_TEXTS, UNACCEPTED, rests_on_author
from steelyard.metrics.scores.probe import COMMONEST_ANSWER, answer_in_words, never_varies
from steelyard.stimuli.brief import LABEL_FLIP as FLIP
from steelyard.stimuli.brief import ORDINAL as LEVELS
from steelyard.stimuli.brief import RUN_LEVEL
from steelyard.stimuli.original import BEST_OF_PROBE, NATURAL, NATURAL_PROBE, ORIGINAL, ROTATION
from steelyard.verdicts.call_answers import JURY as JURY_AGREES
from steelyard.verdicts.call_answers import ORDERS_AGREE, REPEATS
from steelyard.verdicts.readers import TOKEN

WHERE = {
    LADDER: "texts that differ in quality",
    NATURAL_PROBE: "natural pairs",
    BEST_OF_PROBE: "the best of several responses",
    ORIGINAL: "labelled texts",
    RUNS: "runs of agents",
    FLIP: "changed texts",
    LEVELS: "texts written for each level",
    RUN_LEVEL: "runs edited to each level",
}
IN_PAIRS = (LADDER, NATURAL_PROBE)
HALF = 0.5


def merit(figures: JudgeEstimates, protocol: str) -> Answer | NotMeasured | None:
    """What each kind of evidence in the run says of merit; one that refutes it decides, else one shows it."""
    del protocol
    evidence = figures.merits()
    known = [estimate for estimate in evidence if defined(estimate)]
    if not known:
        # Texts that nobody accepted say more than what was not there to be compared.
        refused = UNACCEPTED.code, BY_RULE.code, FEW_TEXTS.code
        return unmeasured(*sorted(evidence, key=lambda each: each.reason not in refused)[:1])
    words = {estimate.status for estimate in known}
    status = next((word for word in (FLAGGED, CLEAR) if word in words), INCONCLUSIVE)
    opening = {
        CLEAR: "tells good from bad",
        FLAGGED: "does not tell good from bad",
        INCONCLUSIVE: "too few data to say whether it tells good from bad",
    }[status]
    reversed_ = merit_is_reversed(figures)
    clause = Clause(
        say("says the opposite of what is right" if reversed_ else opening),
        say(": {}", merit_figures(figures, known)),
        join("", (_more(figures, estimate) for estimate in known)),
        about_judge=status != INCONCLUSIVE or reversed_,
    )
    return Answer(status, clause, tuple(_tests(figures, known)))


def _tests(figures: JudgeEstimates, known: Iterable[Estimate]) -> Iterable[Test]:
    several = len(list(known)) > 1
    for estimate in known:
        test = figures.deciding_merit(estimate)
        words = ("tells good from bad", f"on {_evidence(estimate.probe)}" if several else "", test.part)
        yield Test.of_merit(test, " ".join(filter(None, words)))


def _evidence(probe: str) -> str:
    """What merit was measured on; of a kind of edited runs its name."""
    return WHERE.get(probe) or f"runs: {probe_label(probe)}"


def merit_figures(figures: JudgeEstimates, known: Iterable[Estimate]) -> Phrase:
    """What each kind of evidence says: the test that decides, with chance or with what it would take."""
    return join("; ", (_figure(figures.deciding_merit(each), each) for each in known))


def _figure(test: MeritTest, whole: Estimate) -> Phrase:
    where = f"on {_evidence(whole.probe)}"
    if test.estimate.status == CLEAR:
        return say("merit {} {}, chance {}", figure(whole), where, decimal(whole.chance or 0.0))
    place = " ".join(filter(None, (test.part, where)))
    return say("merit {} {}, where {} is wanted", figure(test.estimate), place, decimal(test.limit))


def _more(figures: JudgeEstimates, estimate: Estimate) -> Phrase:
    ties = say("; a tie counts half") if estimate.probe in IN_PAIRS else ()
    if estimate.probe == ORIGINAL and (rates := label_rates(figures)):
        ties = say("; {}", rates)
    large = figures.of_probe(LADDER, MERIT_METRIC.id, protocol="base", steps=LARGE_STEPS)
    if estimate.probe != LADDER or not defined(large):
        return ties + say(more_calls(estimate, of_agents=figures.of_agents))
    if STEPS in figures.deciding_merit(estimate).estimate.group:
        return ties
    return ties + say("; {} at three steps and more", figure(large))


def merit_is_reversed(figures: JudgeEstimates) -> bool:
    """True where merit lies below chance with its whole interval."""
    return any(estimate.below_chance for estimate in figures.merits() if defined(estimate))


def shown_by_author_alone(figures: JudgeEstimates) -> Estimate | None:
    """The merit that is shown, where it rests on texts that nobody but their author accepted."""
    shown = [estimate for estimate in figures.merits() if estimate.status == CLEAR]
    return shown[0] if shown and all(map(rests_on_author, shown)) else None


def undecided_merit(figures: JudgeEstimates) -> Clause:
    same, known = same_answer(figures), [e for e in figures.merits() if defined(e)]
    lost = any(estimate.missing_decides for estimate in figures.merits())
    always, counted = same or ("", "")
    return Clause(
        say(f"{always}{'; ' if same else ''}whether it tells good from bad is undecided on these data"),
        say(f": {counted}{{}}{{}}", merit_figures(figures, known), f"; {MISSING_DECIDE}" if lost else ""),
        about_judge=same is not None,
    )


def same_answer(figures: JudgeEstimates) -> tuple[str, str] | None:
    """What a judge answers to everything, in words and in counts; None where its answers vary."""
    commonest = figures.of_probe(ORIGINAL, COMMONEST_ANSWER.id, protocol="base")
    if never_varies(commonest):
        return f"answers {answer_in_words(commonest)} to everything", ""
    steps = missed_by_tie(figures)
    if steps and all(ties.numerator == ties.denominator for ties in steps):
        calls = sum(ties.denominator or 0 for ties in steps)
        counted = f"a tie in {calls} of {calls} calls on texts that differ in quality; "
        # Some call names a winner between texts of equal quality, padded ones too.
        between = any(each.numerator for each in figures.known(RAW_FALSE_PREFERENCE.id, "base"))
        return f"answers tie {'where texts differ' if between else 'whatever the texts are'}", counted
    slot = _only_slot(figures, steps)
    return (f"names the {slot} text whatever the texts are", "") if slot else None


def missed_by_tie(figures: JudgeEstimates) -> list[Estimate]:
    """The calls that name neither text, at each quality step of the base protocol."""
    known = (e for e in figures.known(MISS_BY_TIE.id, "base") if set(e.group) == {"protocol", "delta"})
    return [estimate for estimate in known if estimate.denominator and estimate.group["delta"]]


def _only_slot(figures: JudgeEstimates, ties: list[Estimate]) -> str | None:
    """The slot that every call names; None where calls differ."""
    slots = [figures.of_probe(NATURAL_PROBE, ACCURACY.id, protocol="base", slot=n) for n in (1, 2)]
    known = [estimate for estimate in slots if defined(estimate) and estimate.denominator]
    if len(known) == 2 and {estimate.value for estimate in known} == {0.0, 1.0}:
        return "first" if known[0].value else "second"
    net = figures.between_equals(NET_SLOT_PREFERENCE.id)
    whole = figures.find(MERIT_METRIC.id, protocol="base")
    if not defined(net) or not defined(whole) or any(estimate.numerator for estimate in ties):
        return None
    return {1.0: "first", -1.0: "second"}.get(net.value or 0.0) if whole.value == HALF else None


def mostly_ties(figures: JudgeEstimates) -> bool:
    """True where a judge names neither text of most natural pairs, with the whole interval."""
    ties = figures.of_probe(NATURAL_PROBE, TIE_RATE.id, protocol="base")
    return ties is not None and ties.interval is not None and (ties.interval.low or 0.0) > HALF


def sensitivity(figures: JudgeEstimates, protocol: str) -> Answer | NotMeasured | None:
    first = figures.find(TARGET_SENSITIVITY.id, protocol=protocol, delta=1)
    if not defined(first):
        return unmeasured(first)
    ties = figures.find(MISS_BY_TIE.id, protocol=protocol, delta=1)
    missed = say("; misses by {} {}", _missed_by(ties), figure(ties)) if defined(ties) else ()
    clause = Clause(
        say("sees which text is better by one step in {}", times(first, "call")),
        say(", {}", figure(first)),
        say(", floor {}{}{}", f"{limit_of(TARGET_SENSITIVITY):g}", missed, more_calls(first)),
    )
    return Answer(first.status or MEASURED, clause, (Test.of(first, SENSITIVITY.title),))


def _missed_by(ties: Estimate) -> str:
    """What the calls were that named neither text."""
    if not ties.abstained:
        return "tie"
    return "abstention" if ties.abstained == ties.numerator else "tie or abstention"


def threshold(figures: JudgeEstimates, protocol: str) -> Answer | NotMeasured | None:
    smallest = figures.find(DELTA75.id, protocol=protocol)
    if not defined(smallest):
        return unmeasured(smallest)
    words = {
        "right": "is right in three calls of four at no step that was measured; the threshold is",
        "left": "is right in three calls of four at the smallest step already; the threshold is",
    }
    opening = words.get(smallest.censored or "", "is right in three calls of four from a difference of")
    return Answer(
        MEASURED, Clause(say("{} {} steps", opening, figure(smallest))), (Test.without_limit(smallest),)
    )


MERIT = Question(
    "Merit",
    "tells good from bad",
    merit,
    Counts.MERIT,
    (MERIT_METRIC.id,),
    examples=ExampleFilter(
        WRONG,
        lambda shown: (
            (shown.delta > 0) | shown.original | shown.run | np.isin(shown.kind, (NATURAL, ROTATION))
        ),
    ),
    probes=(LADDER,),
    ways=(
        Way("column better", PAIRS, recorded=True, unless=ACCURACY.id),
        Way("column expected", TEXTS, recorded=True, unless=ACCURACY.id),
        Way("-p ladder", PAIRS, own_data=False),
        Way("--columns label=COLUMN", own_data=True, unless=ACCURACY.id),
    ),
)
SENSITIVITY = Question(
    "Sensitivity",
    "better text, one step apart",
    sensitivity,
    Counts.FAULT,
    (TARGET_SENSITIVITY.id,),
    (Fault(Cause.SENSITIVITY, Advice.LARGE_DIFFERENCES),),
    ExampleFilter(WRONG, lambda shown: shown.delta == 1),
    (MAJORITY, JURY),
)
THRESHOLD = Question("Threshold", "smallest step seen", threshold, metrics=(DELTA75.id,))


SIGNALS = {
    TOKEN: "probability of the token",
    REPEATS: "agreement of repeats",
    ORDERS_AGREE: "agreement of both orders",
    JURY_AGREES: "agreement with the other judges",
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
        Fault(Cause.NO_SIGNAL, Advice.OTHER_SIGNAL, when=does_not_tell),
        Fault(Cause.OVERCONFIDENT, Advice.RECALIBRATE),
    ),
    ExampleFilter(WRONG, as_shown),
    ways=(
        Way("column confidence", recorded=True),
        Way("--prompt confidence", PAIRS, own_data=True),
        Way("--prompt confidence", TEXTS, own_data=True),
    ),
)
