"""Findings on merit, accuracy and leniency: does the judge tell good from bad, and how does it err."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from steelyard.core.text import pluralize
from steelyard.datasheet.estimate_index import JudgeEstimates, MeritTest
from steelyard.datasheet.findings.answer import Answer, limit_of, undefined_answer, worst
from steelyard.datasheet.findings.more_data import more_calls
from steelyard.datasheet.words.glossary import metric_named
from steelyard.datasheet.words.numbers import abstentions, decimal, defined, figure, reason, times
from steelyard.metrics.basis import LARGE_STEPS
from steelyard.metrics.common import ACCURACY, KAPPA, MERIT
from steelyard.metrics.comparison.against_baselines import ACCURACY_GAIN, ERROR_GAIN, best_baseline_name
from steelyard.metrics.estimate import Estimate
from steelyard.metrics.findings import CLEAR, FLAGGED, INCONCLUSIVE, MARGIN
from steelyard.metrics.merit import LADDER, LEVEL_AGREEMENT, STEPS
from steelyard.metrics.run.agent_runs import PROBE as RUNS
from steelyard.metrics.scores.against_labels import BIAS, MAE, QWK
from steelyard.metrics.scores.leniency import LENIENCY, PASS_RATE, SHARE_ABOVE, SHARE_BELOW, wrong_ways
from steelyard.metrics.scores.shares import FOLLOWED
from steelyard.stimuli.best_of import BEST_OF_PROBE
from steelyard.stimuli.natural import NATURAL_PROBE
from steelyard.stimuli.original import ORIGINAL

OPENINGS = {
    CLEAR: "tells good from bad",
    FLAGGED: "does not tell good from bad",
    INCONCLUSIVE: "too few data to say whether it tells good from bad",
}
REVERSED = "says the opposite of what is right"


def merit(figures: JudgeEstimates) -> Answer | None:
    """What each kind of evidence in the run says of merit; one that refutes it decides."""
    evidence = figures.merits()
    known = [estimate for estimate in evidence if defined(estimate)]
    if not known:
        return undefined_answer(evidence[0]) if evidence else None
    measured = "; ".join(measure(figures, estimate) for estimate in known)
    return merit_status(known), f"{merit_clause(known)}: {measured}"


def merit_status(known: Iterable[Estimate]) -> str:
    """The status of several kinds of evidence: refuted where one refutes, else shown where one shows."""
    words = {estimate.status for estimate in known}
    return next((word for word in (FLAGGED, CLEAR) if word in words), INCONCLUSIVE)


def merit_clause(known: Sequence[Estimate]) -> str:
    reversed_ = any(estimate.below_chance for estimate in known)
    return REVERSED if reversed_ else OPENINGS[merit_status(known)]


def measure(figures: JudgeEstimates, estimate: Estimate) -> str:
    chance = f"chance {decimal(estimate.chance or 0.0)}"
    match estimate.probe:
        case probe if probe == LADDER:
            large = figures.of_probe(LADDER, MERIT.id, protocol="base", steps=LARGE_STEPS)
            decides_there = STEPS in figures.deciding_merit(estimate).estimate.group
            told_apart = defined(large) and not decides_there
            at_large = f"; {figure(large)} at three steps and more" if told_apart else ""
            share = f"chooses the better text in {figure(estimate)} of calls"
            return f"{share}, a tie counted half, {chance}{at_large}{_wanted(figures, estimate)}"
        case probe if probe == NATURAL_PROBE:
            share = f"chooses the text that people prefer in {figure(estimate)} of calls"
            return f"{share}, a tie counted half, {chance}{_wanted(figures, estimate)}"
        case probe if probe == BEST_OF_PROBE:
            return (
                f"agreement beyond chance with the labels {figure(estimate)}, {chance}{more_calls(estimate)}"
            )
        case probe if probe == RUNS:
            return f"agreement on runs of agents {figure(estimate)}, {chance}{more_calls(estimate)}"
        case _:
            binary = figures.of_probe(ORIGINAL, KAPPA.id, protocol="base") is not None
            name = "Youden's J" if binary else "rank agreement"
            return f"{name} with the labels {figure(estimate)}, {chance}{more_calls(estimate)}"


def _wanted(figures: JudgeEstimates, estimate: Estimate) -> str:
    """The test that keeps merit from being shown, with what it would take; empty where it is shown."""
    test = figures.deciding_merit(estimate)
    if test.estimate.status == CLEAR:
        return ""
    return f"; {_with_limit(test)}"


def _with_limit(test: MeritTest, where: str = "") -> str:
    told = " ".join(word for word in ("merit", figure(test.estimate), test.part, where) if word)
    return f"{told}, where {decimal(test.limit)} is wanted"


def merit_figures(figures: JudgeEstimates, known: Iterable[Estimate]) -> str:
    """What each kind of evidence says: the test that decides, with chance or with what it would take."""
    parts = []
    for estimate in known:
        where = f"on {WHERE.get(estimate.probe, estimate.probe)}"
        test = figures.deciding_merit(estimate)
        shown = f"merit {figure(estimate)} {where}, chance {decimal(estimate.chance or 0.0)}"
        parts.append(shown if test.estimate.status == CLEAR else _with_limit(test, where))
    return "; ".join(parts)


WHERE = {
    LADDER: "texts that differ in quality",
    NATURAL_PROBE: "natural pairs",
    BEST_OF_PROBE: "the best of several responses",
    ORIGINAL: "labelled texts",
    RUNS: "runs of agents",
}
FLIP, LEVELS = "label_flip", "synthetic_ordinal"


def accuracy(figures: JudgeEstimates) -> Answer | None:
    """Agreement with the references beside the best rule that reads nothing, and beyond chance."""
    probe, noun = _subject(figures)
    right = figures.of_probe(probe, ACCURACY.id, protocol="base")
    if not defined(right):
        return undefined_answer(right)
    gain = _first(figures, probe, ACCURACY_GAIN.id, ERROR_GAIN.id)
    kappa = _first(figures, probe, KAPPA.id, QWK.id)
    word = _word(right, gain, kappa)
    parts = [
        f"{gives_reference(right, f' on {noun}')}{abstentions(right)}",
        _beside(figures, probe, gain) if gain is not None and gain.metric == ERROR_GAIN.id else "",
        _beyond_chance(kappa),
        more_calls(kappa if word == INCONCLUSIVE else None, of_agents=figures.of_agents),
    ]
    return word, "; ".join(part.removeprefix("; ") for part in parts if part)


def gives_reference(right: Estimate, on: str = "") -> str:
    return f"gives the reference answer in {times(right, 'call')}{on}, {figure(right)}"


def errs_towards(shift: Estimate) -> str:
    return "is lenient" if (shift.value or 0.0) > 0 else "is strict"


def leniency(figures: JudgeEstimates) -> Answer | None:
    """Which way errors go; nothing without two kinds of labels to err on."""
    shift = figures.of_probe(ORIGINAL, LENIENCY.id, protocol="base")
    if not defined(shift):
        return undefined_answer(shift)
    words = {
        FLAGGED: errs_towards(shift),
        CLEAR: "errs to neither side beyond the margin",
        INCONCLUSIVE: "too few data to say whether it is lenient or strict",
    }
    word = shift.status or "undefined"
    parts = [
        f"{words.get(word, 'errors compared')}: leniency {figure(shift)}, margin {MARGIN:g}",
        _false_rates(figures, shift),
        _passes(figures),
        _levels(figures),
        more_calls(shift, of_agents=figures.of_agents),
    ]
    return word, "; ".join(part.removeprefix("; ") for part in parts if part)


def _subject(figures: JudgeEstimates) -> tuple[str, str]:
    """What was judged as it is: single texts, several of which one is the best, else natural pairs."""
    scored = figures.of_probe(ORIGINAL, ACCURACY.id, protocol="base") is not None
    if figures.of_probe(BEST_OF_PROBE, ACCURACY.id, protocol="base") is not None:
        return BEST_OF_PROBE, "rotations"
    return (ORIGINAL, "unchanged items") if scored else (NATURAL_PROBE, "natural pairs")


def _first(figures: JudgeEstimates, probe: str, *metrics: str) -> Estimate | None:
    estimates = [figures.of_probe(probe, metric, protocol="base") for metric in metrics]
    return next((estimate for estimate in estimates if estimate is not None), None)


def _word(right: Estimate, gain: Estimate | None, kappa: Estimate | None) -> str:
    """Agreement beyond chance decides, or scores hardly ever right or further off than a constant.

    Accuracy beside the commonest label decides nothing: where labels are skewed a good judge may fall short.
    """
    if not defined(kappa) or kappa.status is None:
        return "undefined"
    ordinal = gain is not None and gain.metric == ERROR_GAIN.id
    if ordinal and (right.below_chance or (defined(gain) and gain.status == FLAGGED)):
        return FLAGGED
    return kappa.status


def _beside(figures: JudgeEstimates, probe: str, gain: Estimate | None) -> str:
    """The gain over the best rule; of scores in levels, after their own distance."""
    if not defined(gain):
        return ""
    levels = gain.metric == ERROR_GAIN.id
    error = figures.of_probe(probe, MAE.id, protocol="base") if levels else None
    off = f"{figure(error)} levels off, " if defined(error) else ""
    nearer, further = ("nearer", "further off") if levels else ("better", "worse")
    phrases = {
        CLEAR: f"{nearer} than {best_baseline_name(gain)} by",
        FLAGGED: f"{further} than {best_baseline_name(gain)} by",
    }
    beat = "not shown to be nearer than" if levels else "not shown to beat"
    return f"{off}{phrases.get(gain.status or '', f'{beat} {best_baseline_name(gain)}:')} {figure(gain)}"


def _beyond_chance(kappa: Estimate | None) -> str:
    if kappa is None:
        return ""
    if not defined(kappa) or kappa.status is None:
        return f"agreement beyond chance says nothing: {reason(kappa)}"
    floor = metric_named(kappa.metric).limit
    return f"beyond chance {figure(kappa)}" + (f", floor {floor.value:g}" if floor else "")


def expected_answers(figures: JudgeEstimates) -> Answer | None:
    """Whether texts that were written or changed to earn an answer get it; each kind is a test of its own."""
    kinds = [
        (figures.of_probe(FLIP, FOLLOWED.id, protocol="base"), _follows),
        (figures.of_probe(LEVELS, LEVEL_AGREEMENT.id, protocol="base"), _ranks),
    ]
    known = [(estimate, tell) for estimate, tell in kinds if defined(estimate)]
    if not known:
        return next((undefined_answer(estimate) for estimate, _ in kinds if estimate is not None), None)
    known.sort(key=lambda kind: kind[0].status != FLAGGED)
    parts = [
        f"{tell(estimate)}; floor {limit_of(metric_named(estimate.metric)):g}{more_calls(estimate)}"
        for estimate, tell in known
    ]
    return worst(*(estimate.status or INCONCLUSIVE for estimate, _ in known)), "; ".join(parts)


def _follows(share: Estimate) -> str:
    only = "only " if share.status == FLAGGED else ""
    return f"follows a changed label in {only}{times(share, 'call')}, {figure(share)}{abstentions(share)}"


def _ranks(rank: Estimate) -> str:
    words = {CLEAR: "ranks", FLAGGED: "does not rank"}
    how = words.get(rank.status or "", "too few data to say whether it ranks")
    apart = f"; {pluralize(rank.left_out, 'call')} abstained, which that leaves out" if rank.left_out else ""
    return f"{how} texts written for each level by that level: rank agreement {figure(rank)}{apart}"


def _false_rates(figures: JudgeEstimates, shift: Estimate) -> str:
    rates = [
        (figures.of_probe(ORIGINAL, metric.id, protocol="base"), words)
        for metric, words in zip(wrong_ways(shift), ("passes", "fails"), strict=True)
    ]
    return ", ".join(
        f"{words} {times(rate, 'call')} that should {'fail' if words == 'passes' else 'pass'}, {figure(rate)}"
        for rate, words in rates
        if defined(rate)
    )


def _passes(figures: JudgeEstimates) -> str:
    passes = figures.of_probe(ORIGINAL, PASS_RATE.id, protocol="base")
    if not defined(passes) or passes.chance is None:
        return ""
    return (
        f"passes {decimal(passes.value or 0.0)} of calls where the references pass {decimal(passes.chance)}"
    )


def _levels(figures: JudgeEstimates) -> str:
    bias = figures.of_probe(ORIGINAL, BIAS.id, protocol="base")
    sides = [figures.of_probe(ORIGINAL, metric.id, protocol="base") for metric in (SHARE_ABOVE, SHARE_BELOW)]
    if not defined(bias):
        return ""
    phrases = [
        f"{words} in {times(side, 'call')}"
        for side, words in zip(sides, ("above the reference", "below"), strict=True)
        if defined(side)
    ]
    return f"{figure(bias)} levels from the reference in the mean, {', '.join(phrases)}"
