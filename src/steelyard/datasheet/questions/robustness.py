"""Does the judge give the same answer again, and after edits that should change nothing?"""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from steelyard.core.text import pluralize
from steelyard.datasheet.clause import Clause, Phrase, figure, join, say, times, value
from steelyard.datasheet.estimate_index import JudgeEstimates
from steelyard.datasheet.example_selection import FLIP
from steelyard.datasheet.glossary import metric_named, probe_label, probe_title
from steelyard.datasheet.numbers import defined, reason, undefined
from steelyard.datasheet.questions.causes import Advice, Cause
from steelyard.datasheet.questions.more_data import more_calls
from steelyard.datasheet.questions.question import (
    MEASURED,
    TEXTS,
    UNDEFINED,
    Answer,
    Counts,
    ExampleFilter,
    Fault,
    NotMeasured,
    Question,
    Test,
    Way,
    limit_of,
    of_flagged,
    unmeasured,
    worst,
)
from steelyard.metrics.estimate import Estimate
from steelyard.metrics.findings import CLEAR, FLAGGED, INCONCLUSIVE, TOLERATED_LOSS
from steelyard.metrics.pairs.flips import REPEAT_FLIP_RATE
from steelyard.metrics.remedies.mitigations import MAJORITY, MEAN
from steelyard.metrics.scores.edited_texts import EXCESS_FLIP, INVARIANCE
from steelyard.metrics.scores.probe import ACCURACY_CHANGE, COMMONEST_ANSWER, answer_in_words, never_varies
from steelyard.metrics.scores.repeats import FLEISS_KAPPA, ICC, SELF_AGREEMENT
from steelyard.probes.probe import EDITS
from steelyard.probes.probe_metadata import label_keeping_probes, probes_in
from steelyard.stimuli.original import ORIGINAL


def constant_answer(figures: JudgeEstimates, because: str) -> Answer | None:
    """The answer where every score of the judge is the same; `because` says what follows; else None."""
    commonest = figures.of_probe(ORIGINAL, COMMONEST_ANSWER.id, protocol="base")
    if not never_varies(commonest):
        return None
    said = say(
        f"says nothing: it gives the same answer to everything, {answer_in_words(commonest)} in {{}}, "
        f"{because}",
        times(commonest, "call"),
    )
    return Answer(UNDEFINED, Clause(said, about_judge=False))


def repeatability(figures: JudgeEstimates, protocol: str) -> Answer | NotMeasured | None:
    """Agreement of the judge with itself, whatever its accuracy, compared with a floor.

    Beyond chance where nearly all verdicts are alike, and by the spread of scores on ordinal scales: there
    repeats agree, or differ, for reasons other than repeatability.
    """
    again = figures.of_probe(ORIGINAL, SELF_AGREEMENT.id, protocol=protocol)
    if again is None:
        return _between_equals(figures)
    if not defined(again):
        return unmeasured(again)
    if nothing := constant_answer(figures, "so repeats can not differ"):
        return nothing
    decides = figures.repeat_agreement() or again
    metric = metric_named(decides.metric)
    beside = () if decides is again else say(f"; {metric.name} {{}}", figure(decides))
    floor = f", floor {metric.limit.value:g}" if metric.limit else ""
    left_out = decides.left_out
    apart = f"; {pluralize(left_out, 'call')} abstained, which that leaves out" if left_out else ""
    status = decides.status or MEASURED
    if status == CLEAR and left_out > TOLERATED_LOSS * (decides.n_calls + left_out):
        status = MEASURED  # the scores are steady, and whether one is given is not
    clause = Clause(
        say("gives the same verdict on the same input in {} of repeats", times(again, "pair")),
        say(", {}{}", figure(again), beside),
        say(f"{floor}{apart}{more_calls(decides, of_agents=figures.of_agents)}"),
    )
    test = Test.without_limit(decides) if status == MEASURED else Test.of(decides)
    return Answer(status, clause, (test,))


def _between_equals(figures: JudgeEstimates) -> Answer | NotMeasured | None:
    """Judges of pairs: how often asking again names another winner where neither text is better."""
    flips = figures.between_equals(REPEAT_FLIP_RATE.id)
    if not defined(flips):
        return unmeasured(flips)
    clause = Clause(
        say("names another winner on the same input in {} between equals", times(flips, "comparison")),
        say(", {}", figure(flips)),
        say(f", limit {limit_of(REPEAT_FLIP_RATE):g}{more_calls(flips)}"),
    )
    return Answer(flips.status or MEASURED, clause, (Test.of(flips),))


REPEATABILITY = Question(
    "Repeatability",
    "repeats its answer",
    repeatability,
    Counts.FAULT,
    (SELF_AGREEMENT.id, ICC.id, FLEISS_KAPPA.id, REPEAT_FLIP_RATE.id),
    (
        Fault(
            *(Cause.REPEATABILITY, Advice.STEADY),
            (Cause.DARK_CURRENT, Cause.SENSITIVITY, Cause.ACCURACY, Cause.NOISE),
            instead=Advice.COLDER_OR_STRONGER,
        ),
    ),
    ExampleFilter(FLIP, lambda shown: shown.original),
    (MEAN, MAJORITY),
    probes=("stochastic_stability",),
    ways=(Way("the same calls again, column replicate", recorded=True), Way("--replicates 2")),
)


def robustness(figures: JudgeEstimates, protocol: str) -> Answer | NotMeasured | None:
    """Whether edits that should change nothing change the verdict, beyond what repeats do."""
    asked = {probe: _effect(figures, probe, protocol) for probe in label_keeping_probes()}
    estimates = {probe: estimate for probe, estimate in asked.items() if defined(estimate)}
    unmeasured = _reasons({p: e for p, e in asked.items() if e is not None and undefined(e)})
    if not estimates:
        return NotMeasured(f"nothing was measured: {unmeasured}") if unmeasured else None
    if nothing := constant_answer(figures, "so no edit could move it"):
        return nothing
    status = worst(estimate.status for estimate in estimates.values())
    by_word = {
        word: [probe for probe, each in estimates.items() if (each.status or INCONCLUSIVE) == word]
        for word in (FLAGGED, CLEAR, INCONCLUSIVE)
    }
    moved, kept, unsure = (", ".join(map(probe_label, probes)) for probes in by_word.values())
    figures_ = join("; ", (_figure(estimates[probe]) for probe in by_word[FLAGGED]))
    parts = [
        f"its verdict is moved by {moved}" if moved else "",
        f"its verdict is not moved by {kept}" if kept else "",
        f"too few items to decide: {unsure}" if unsure else "",
        f"not measured: {unmeasured}" if unmeasured else "",
        _family(estimates.values()),
    ]
    first, *others = filter(None, parts)
    clause = Clause(
        say(first),
        say(" ({})", figures_) if figures_ else (),
        say("".join(f"; {part}" for part in others)),
        about_judge=False,
    )
    return Answer(status, clause, tuple(map(_test, estimates.values())))


def _test(estimate: Estimate) -> Test:
    return Test.of(estimate, f"{metric_named(estimate.metric).short}: {probe_label(estimate.probe)}")


def _figure(estimate: Estimate) -> Phrase:
    return say(f"{metric_named(estimate.metric).plain} {{}}", figure(estimate))


def _effect(figures: JudgeEstimates, probe: str, protocol: str) -> Estimate | None:
    """The excess over noise; without repeats, the share of kept verdicts, which then carries the word.

    Where neither could be measured, the latter says why; None where the probe was not asked.
    """
    excess, kept = (
        figures.of_probe(probe, metric, protocol=protocol) for metric in (EXCESS_FLIP.id, INVARIANCE.id)
    )
    return excess if defined(excess) or kept is None else kept


def _reasons(unmeasured: Mapping[str, Estimate]) -> str:
    probes: dict[str, list[str]] = {}
    for probe, estimate in unmeasured.items():
        probes.setdefault(reason(estimate), []).append(probe_label(probe))
    return "; ".join(f"{', '.join(names)} ({why})" for why, names in probes.items())


def _family(effects: Iterable[Estimate]) -> str:
    tests = sum(estimate.p_corrected is not None for estimate in effects)
    return f"corrected for {tests} edits (Holm)" if tests > 1 else ""


def volatility(figures: JudgeEstimates, protocol: str) -> Answer | NotMeasured | None:
    """Accuracy from probe to probe, and how much of its spread sampling explains; nothing for one probe."""
    estimates = [
        figures.of_probe("volatility", f"accuracy_{name}", protocol=protocol)
        for name in ("mean", "min", "max", "sd", "sd_sampling")
    ]
    known = [estimate for estimate in estimates if defined(estimate)]
    if len(known) < len(estimates):
        return None
    if nothing := constant_answer(figures, "so its accuracy follows the labels of each probe"):
        return nothing
    mean, least, most, spread, sampling = known
    right = say("right in {} of calls in the mean over probes", figure(mean))
    changes = [figures.of_probe(probe, ACCURACY_CHANGE.id, protocol=protocol) for probe in probes_in(EDITS)]
    moved = sorted((change for change in changes if defined(change)), key=lambda change: change.value or 0.0)
    if moved:
        ends = (
            say(f"{{}} ({probe_label(change.probe)})", figure(change))
            for change in (moved[0], *moved[1:][-1:])
        )
        more = say("; against the same items unchanged accuracy changes by {}", join(" to ", ends))
    else:
        more = say(
            f", from {{}} ({_probe(least)}) to {{}} ({_probe(most)}); spread {{}}, where sampling alone "
            "would give {}",
            *map(value, (least, most, spread, sampling)),
        )
    return Answer(MEASURED, Clause(right, (), more, about_judge=False), (Test.without_limit(mean),))


def _probe(estimate: Estimate) -> str:
    return probe_title(estimate.details.get("extreme_probe", "one probe")).lower()


ROBUSTNESS = Question(
    "Robustness",
    "changes with edits that keep the label",
    robustness,
    Counts.FAULT,
    (EXCESS_FLIP.id, INVARIANCE.id),
    (Fault(Cause.ROBUSTNESS, Advice.ONE_FORM, (Cause.ACCURACY, Cause.DARK_CURRENT)),),
    ExampleFilter(
        FLIP,
        lambda shown: ~shown.original & ~shown.paired,
        narrow=of_flagged("probe", lambda e: e.probe, EXCESS_FLIP.id, INVARIANCE.id),
    ),
    ways=(
        Way("edited texts in JSONL, each under its probe", TEXTS, recorded=True),
        Way("-p reliability", TEXTS),
    ),
)
VOLATILITY = Question("Volatility", "mean accuracy over probes", volatility, metrics=("accuracy_mean",))
