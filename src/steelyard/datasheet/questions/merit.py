"""Does the judge tell good from bad, and how small a difference does it see?"""

from __future__ import annotations

from collections.abc import Iterable

import numpy as np

from steelyard.datasheet.clause import Clause, Phrase, figure, join, say, times
from steelyard.datasheet.estimate_index import JudgeEstimates, MeritTest
from steelyard.datasheet.examples.selection import WRONG
from steelyard.datasheet.questions.causes import Advice, Cause
from steelyard.datasheet.questions.labels import label_rates
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
    limit_of,
    unmeasured,
)
from steelyard.datasheet.words.glossary import probe_label
from steelyard.datasheet.words.numbers import decimal, defined
from steelyard.metrics.estimate import Estimate
from steelyard.metrics.findings import CLEAR, FLAGGED, INCONCLUSIVE, MISSING_DECIDE
from steelyard.metrics.merit import LADDER, STEPS
from steelyard.metrics.metric import LARGE_STEPS
from steelyard.metrics.pairs.equals import RAW_FALSE_PREFERENCE, TIE_RATE
from steelyard.metrics.pairs.ladder import DELTA75, MISS_BY_TIE, TARGET_SENSITIVITY
from steelyard.metrics.pairs.slot import NET_SLOT_PREFERENCE
from steelyard.metrics.proportions import ACCURACY
from steelyard.metrics.proportions import MERIT as MERIT_METRIC
from steelyard.metrics.remedies.jury_selection import JURY
from steelyard.metrics.remedies.mitigations import MAJORITY
from steelyard.metrics.run.agent_runs import PROBE as RUNS
from steelyard.metrics.scores.edited_texts import (
    BY_RULE,
    FEW_TEXTS,
    UNACCEPTED,
    rests_on_author,
)
from steelyard.metrics.scores.probe import COMMONEST_ANSWER, answer_in_words, never_varies
from steelyard.stimuli.authored.brief import LABEL_FLIP as FLIP
from steelyard.stimuli.authored.brief import ORDINAL as LEVELS
from steelyard.stimuli.authored.brief import RUN_LEVEL
from steelyard.stimuli.original import BEST_OF_PROBE, NATURAL, NATURAL_PROBE, ORIGINAL, ROTATION

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
        between = _prefers_between_equals(figures)
        return f"answers tie {'where texts differ' if between else 'whatever the texts are'}", counted
    slot = _only_slot(figures, steps)
    return (f"names the {slot} text whatever the texts are", "") if slot else None


def missed_by_tie(figures: JudgeEstimates) -> list[Estimate]:
    """The calls that name neither text, at each quality step of the base protocol."""
    return [
        estimate
        for estimate in figures.every.of(figures.judge, MISS_BY_TIE.id)
        if defined(estimate) and set(estimate.group) == {"protocol", "delta"} and estimate.denominator
        if estimate.group["protocol"] == "base" and estimate.group["delta"]
    ]


def _prefers_between_equals(figures: JudgeEstimates) -> bool:
    """True where some call names a winner between texts of equal quality, padded ones too."""
    return any(
        estimate.numerator
        for estimate in figures.every.of(figures.judge, RAW_FALSE_PREFERENCE.id)
        if defined(estimate) and estimate.group.get("protocol") == "base"
    )


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
    (Fault(Cause.SENSITIVITY, Severity.IMPRECISE, Advice.LARGE_DIFFERENCES),),
    ExampleFilter(WRONG, lambda shown: shown.delta == 1),
    (MAJORITY, JURY),
)
THRESHOLD = Question("Threshold", "smallest step seen", threshold, metrics=(DELTA75.id,))
