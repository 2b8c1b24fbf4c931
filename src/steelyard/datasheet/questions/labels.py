"""How does the judge do against labels: single texts, strata, runs of agents, the best of several?"""

from __future__ import annotations

from dataclasses import replace
from math import inf

import numpy as np

from steelyard.core.arrays import Mask
from steelyard.core.text import plural, pluralize
from steelyard.datasheet.clause import Clause, Name, Phrase, figure, join, say, times
from steelyard.datasheet.estimate_index import JudgeEstimates
from steelyard.datasheet.example_selection import WRONG
from steelyard.datasheet.glossary import metric_named
from steelyard.datasheet.numbers import abstentions, decimal, defined, reason
from steelyard.datasheet.questions.causes import Advice, Cause
from steelyard.datasheet.questions.more_data import more_calls
from steelyard.datasheet.questions.question import (
    MEASURED,
    PAIRS,
    UNDEFINED,
    Answer,
    Counts,
    ExampleFilter,
    Fault,
    NotMeasured,
    Question,
    Test,
    Way,
    as_decided,
    by_status,
    limit_of,
    of_flagged,
    unmeasured,
)
from steelyard.datasheet.questions.robustness import constant_answer
from steelyard.metrics.comparison.against_baselines import ACCURACY_GAIN, ERROR_GAIN, best_baseline_name
from steelyard.metrics.estimate import Estimate
from steelyard.metrics.findings import FLAGGED, INCONCLUSIVE, MARGIN
from steelyard.metrics.proportions import ACCURACY as ACCURACY_METRIC
from steelyard.metrics.proportions import KAPPA
from steelyard.metrics.remedies.mitigations import JURY, MAJORITY, MEAN
from steelyard.metrics.run.strata import AREA_MERIT, STRATUM_GAP
from steelyard.metrics.scores.against_labels import BALANCED_ACCURACY, BIAS, COMPRESSION, MAE, QWK
from steelyard.metrics.scores.leniency import LENIENCY as LENIENCY_METRIC
from steelyard.metrics.scores.leniency import PASS_RATE, SHARE_ABOVE, SHARE_BELOW, wrong_ways
from steelyard.metrics.scores.shares import FALSE_NEGATIVE_RATE, FALSE_POSITIVE_RATE
from steelyard.stimuli.original import BEST_OF_PROBE, NATURAL, NATURAL_PROBE, ORIGINAL
from steelyard.stimuli.original import ROTATION as ROTATED
from steelyard.verdicts.stimulus_columns import StimulusColumns

HALF = 0.5


def accuracy(figures: JudgeEstimates, protocol: str) -> Answer | NotMeasured | None:
    """Agreement with the references beside the best rule that reads nothing, and beyond chance."""
    probe, noun = _subject(figures)
    right = figures.of_probe(probe, ACCURACY_METRIC.id, protocol=protocol)
    if not defined(right):
        return unmeasured(right)
    gain = _first(figures, probe, ACCURACY_GAIN.id, ERROR_GAIN.id)
    kappa = _first(figures, probe, KAPPA.id, QWK.id)
    status = _status(right, gain, kappa)
    ordinal = gain is not None and gain.metric == ERROR_GAIN.id
    clause = Clause(
        say("gives the reference answer in {}", times(right, "call")),
        say(" on {}, {}{}{}", noun, figure(right), _beyond_chance(kappa), abstentions(right)),
        (_beside(figures, probe, gain) if ordinal else ())
        + say(more_calls(kappa if status == INCONCLUSIVE else None, of_agents=figures.of_agents)),
    )
    return Answer(status, clause, tuple(_tests(right, gain if ordinal else None, kappa)))


def _tests(right: Estimate, gain: Estimate | None, kappa: Estimate | None) -> list[Test]:
    """What decides: agreement beyond chance, and of scores in levels whether a constant is nearer."""
    tests = [Test.of(kappa)] if defined(kappa) and kappa.status else []
    if gain is not None and right.below_chance and right.chance is not None:
        low = replace(right, status=FLAGGED)
        tests.append(Test(low, (right.chance, inf), "gives the reference score"))
    if defined(gain) and gain.status == FLAGGED:
        tests.append(Test.of(gain))
    return tests


def never_right(figures: JudgeEstimates) -> bool:
    """True where an ordinal judge gives the reference score less often than a guess, with its interval."""
    right = figures.of_probe(ORIGINAL, ACCURACY_METRIC.id, protocol="base")
    if not defined(right) or right.chance is None or right.interval is None:
        return False
    return right.chance < HALF and (right.interval.high or 1.0) < right.chance


def _subject(figures: JudgeEstimates) -> tuple[str, str]:
    """What was judged as it is: single texts, several of which one is the best, else natural pairs."""
    scored = figures.of_probe(ORIGINAL, ACCURACY_METRIC.id, protocol="base") is not None
    if figures.of_probe(BEST_OF_PROBE, ACCURACY_METRIC.id, protocol="base") is not None:
        return BEST_OF_PROBE, "rotations"
    return (ORIGINAL, "unchanged items") if scored else (NATURAL_PROBE, "natural pairs")


def _first(figures: JudgeEstimates, probe: str, *metrics: str) -> Estimate | None:
    estimates = (figures.of_probe(probe, metric, protocol="base") for metric in metrics)
    return next((estimate for estimate in estimates if estimate is not None), None)


def _status(right: Estimate, gain: Estimate | None, kappa: Estimate | None) -> str:
    """Agreement beyond chance decides, or scores hardly ever right or further off than a constant.

    Accuracy beside the commonest label decides nothing: where labels are skewed a good judge may fall short.
    """
    if not defined(kappa) or kappa.status is None:
        return UNDEFINED
    ordinal = gain is not None and gain.metric == ERROR_GAIN.id
    if ordinal and (right.below_chance or (defined(gain) and gain.status == FLAGGED)):
        return FLAGGED
    return kappa.status


def _beside(figures: JudgeEstimates, probe: str, gain: Estimate | None) -> Phrase:
    """The distance in levels, and the gain over the best rule."""
    if not defined(gain):
        return ()
    error = figures.of_probe(probe, MAE.id, protocol="base")
    off = say("; {} levels off, ", figure(error)) if defined(error) else say("; ")
    rule = best_baseline_name(gain)
    compared = by_status(
        gain, f"further off than {rule} by", f"nearer than {rule} by", f"not shown to be nearer than {rule}:"
    )
    return off + say(f"{compared} {{}}", figure(gain))


def _beyond_chance(kappa: Estimate | None) -> Phrase:
    if kappa is None:
        return ()
    if not defined(kappa) or kappa.status is None:
        return say(f"; agreement beyond chance says nothing: {reason(kappa)}")
    floor = metric_named(kappa.metric).limit
    return say(f"; beyond chance {{}}{f', floor {floor.value:g}' if floor else ''}", figure(kappa))


def leniency(figures: JudgeEstimates, protocol: str) -> Answer | NotMeasured | None:
    """Which way errors go; nothing without two kinds of labels to err on."""
    shift = figures.of_probe(ORIGINAL, LENIENCY_METRIC.id, protocol=protocol)
    if not defined(shift):
        return unmeasured(shift)
    opening = by_status(
        shift,
        "is lenient" if (shift.value or 0.0) > 0 else "is strict",
        "errs to neither side beyond the margin",
        "too few data to say whether it is lenient or strict",
        "errors compared",
    )
    counted = join(
        "; ", [_false_rates(figures, shift), say(f"leniency {{}}, margin {MARGIN:g}", figure(shift))]
    )
    more = join("", (say("; {}", part) for part in (_passes(figures), _levels(figures)) if part))
    clause = Clause(
        say(opening),
        say(": {}", counted),
        more + say(more_calls(shift, of_agents=figures.of_agents)),
        about_judge=shift.status != INCONCLUSIVE,
    )
    tests = (Test.of(shift),) if shift.status else (Test.without_limit(shift),)
    return Answer(shift.status or UNDEFINED, clause, tests)


def _false_rates(figures: JudgeEstimates, shift: Estimate) -> Phrase:
    ways = zip(wrong_ways(shift), (("passes", "fail"), ("fails", "pass")), strict=True)
    rates = ((figures.of_probe(ORIGINAL, m.id, protocol="base"), words) for m, words in ways)
    return join(
        ", ",
        (
            say(f"{does} {{}} that should {should}, {{}}", times(rate, "call"), figure(rate))
            for rate, (does, should) in rates
            if defined(rate)
        ),
    )


def _passes(figures: JudgeEstimates) -> Phrase:
    passes = figures.of_probe(ORIGINAL, PASS_RATE.id, protocol="base")
    if not defined(passes) or passes.chance is None:
        return ()
    said = f"passes {{}} of calls where the references pass {decimal(passes.chance)}"
    return say(said, decimal(passes.value or 0.0))


def _levels(figures: JudgeEstimates) -> Phrase:
    bias = figures.of_probe(ORIGINAL, BIAS.id, protocol="base")
    if not defined(bias):
        return ()
    sides = zip((SHARE_ABOVE, SHARE_BELOW), ("above the reference", "below"), strict=True)
    shares = ((figures.of_probe(ORIGINAL, metric.id, protocol="base"), words) for metric, words in sides)
    told = join(
        ", ", (say(f"{words} in {{}}", times(side, "call")) for side, words in shares if defined(side))
    )
    return say("{} levels from the reference in the mean, {}", figure(bias), told)


def label_rates(figures: JudgeEstimates) -> Phrase:
    """What it does with what should pass and with what should fail; nothing without both labels."""
    shift = figures.of_probe(ORIGINAL, LENIENCY_METRIC.id, protocol="base")
    if not defined(shift):
        return ()
    rates = [figures.of_probe(ORIGINAL, metric.id, protocol="base") for metric in wrong_ways(shift)]
    passed, failed = rates
    if not defined(passed) or not defined(failed) or not passed.denominator or not failed.denominator:
        return ()
    told = "of the answers that should pass it failed {}, of those that should fail it passed {}"
    lost = sum(sum(rate.excluded.values()) for rate in (passed, failed))
    verb = plural(lost, "is", "are")
    left_out = f"; {pluralize(lost, 'call')} without a verdict {verb} left out of both" if lost else ""
    return say(f"{told}{left_out}", figure(failed), figure(passed))


def errors_by_label(figures: JudgeEstimates, protocol: str) -> Answer | NotMeasured | None:
    """The share of each label that it gets wrong; how far they may lie apart is asked by leniency."""
    rates = [
        figures.of_probe(ORIGINAL, metric.id, protocol=protocol)
        for metric in (FALSE_NEGATIVE_RATE, FALSE_POSITIVE_RATE)
    ]
    told = label_rates(figures)
    if not told:
        return unmeasured(*rates)
    known = tuple(Test.without_limit(rate) for rate in rates if defined(rate))
    return Answer(MEASURED, Clause(told, about_judge=False), known)


def spread(figures: JudgeEstimates, protocol: str) -> Answer | NotMeasured | None:
    """Whether scores in levels keep to the middle of the scale; nothing for yes and no."""
    ratio = figures.of_probe(ORIGINAL, COMPRESSION.id, protocol=protocol)
    if not defined(ratio):
        return unmeasured(ratio)
    if nothing := constant_answer(figures, "so its scores have no spread"):
        return nothing
    opening = by_status(
        ratio,
        "keeps to the middle of the scale",
        "spreads its scores as the references do",
        "too few data to say whether it keeps to the middle of the scale",
    )
    clause = Clause(
        say(opening),
        say(": its scores spread {} times as far as the references", figure(ratio)),
        say(f"; floor {limit_of(COMPRESSION):g}{more_calls(ratio, of_agents=figures.of_agents)}"),
        about_judge=ratio.status != INCONCLUSIVE,
    )
    return Answer(ratio.status or MEASURED, clause, (Test.of(ratio),))


def strata(figures: JudgeEstimates, protocol: str) -> Answer | NotMeasured | None:
    """Areas of the catalogue in which it is reversed, or the stratum with the lowest accuracy of own data.

    Nothing without strata.
    """
    if (areas := _areas(figures, protocol)) is not None:
        return areas
    gap = next(iter(figures.known(STRATUM_GAP.id, protocol)), None)
    here = None if gap is None else figures.of_probe(gap.probe, ACCURACY_METRIC.id, **gap.group)
    if gap is None or not defined(here):
        return None
    name = str(gap.group["stratum"])
    status = gap.status or MEASURED
    opening = "is right less often in" if status == FLAGGED else "lowest measured, and not told apart, in"
    chosen = gap.p_corrected
    tested = "" if chosen is None else f", p = {chosen:.2g}, corrected for choosing the lowest"
    clause = Clause(
        say(f"{opening} {{}}", Name(name)),
        say(
            f": {{}}, {{}}, {decimal(gap.value or 0.0, signed=True)} against the others",
            times(here, "call"),
            figure(here),
        ),
        say(f"; {gap.note}{tested}"),
        about_judge=status == FLAGGED,
    )
    title = f"right in {name}, against the others"
    test = Test.of(gap, title) if gap.status else Test.without_limit(gap, title)
    return Answer(status, clause, (test,))


def _areas(figures: JudgeEstimates, protocol: str) -> Answer | None:
    """Where the better text loses more often than it wins; None where no area was compared."""
    known = sorted(figures.known(AREA_MERIT.id, protocol), key=lambda estimate: estimate.value or 0.0)
    low = [estimate for estimate in known if estimate.status == FLAGGED]
    if not known:
        return None
    if not low:
        lead = say("is reversed in no area; lowest measured in {}", Name(str(known[0].group["stratum"])))
        clause = Clause(lead, say(": merit {}", figure(known[0])), about_judge=False)
        return Answer(MEASURED, clause, (Test.without_limit(known[0]),))
    named = join(", ", (say("{}", Name(str(each.group["stratum"]))) for each in low))
    measured = join(", ", (say("{}", figure(each)) for each in low))
    others = [each.value or 0.0 for each in known if each not in low]
    rest = say(f"; in the other areas {decimal(min(others))} to {decimal(max(others))}") if others else ()
    clause = Clause(
        say("is wrong more often than right in {}", named), say(": merit {}, chance 0.50", measured), rest
    )
    named_tests = ((as_decided(e), f"tells good from bad in {e.group['stratum']}") for e in low)
    return Answer(FLAGGED, clause, tuple(Test(e, (HALF, inf), name) for e, name in named_tests))


def as_shown(shown: StimulusColumns) -> Mask:
    return shown.original | np.isin(shown.kind, (NATURAL, ROTATED))


ACCURACY = Question(
    "Accuracy",
    KAPPA.short,
    accuracy,
    Counts.FAULT,
    (ACCURACY_METRIC.id, BALANCED_ACCURACY.id, KAPPA.id, QWK.id, ACCURACY_GAIN.id, ERROR_GAIN.id),
    (
        Fault(Cause.NEVER_RIGHT, Advice.ORDER_NOT_SCORES, when=never_right),
        Fault(Cause.ACCURACY, Advice.SHARPEN),
    ),
    ExampleFilter(WRONG, as_shown),
    (JURY, MEAN, MAJORITY),
)
LENIENCY = Question(
    "Leniency",
    LENIENCY_METRIC.short,
    leniency,
    Counts.FAULT,
    (LENIENCY_METRIC.id, FALSE_POSITIVE_RATE.id, FALSE_NEGATIVE_RATE.id),
    (Fault(Cause.LENIENCY, Advice.EXAMPLES_IN_RUBRIC, (Cause.DARK_CURRENT, Cause.ACCURACY)),),
    ExampleFilter(WRONG, lambda shown: shown.original),
    (JURY, MEAN, MAJORITY),
)
ERRORS = Question(
    "Errors by label",
    "right on each label",
    errors_by_label,
    metrics=(FALSE_NEGATIVE_RATE.id, FALSE_POSITIVE_RATE.id),
    examples=ExampleFilter(WRONG, lambda shown: shown.original),
)
SPREAD = Question(
    "Spread",
    COMPRESSION.short,
    spread,
    Counts.FAULT,
    (COMPRESSION.id,),
    (Fault(Cause.SPREAD, Advice.ORDER_NOT_SCORES, (Cause.ACCURACY,)),),
    ExampleFilter(WRONG, lambda shown: shown.original),
)
STRATA = Question(
    "Strata",
    "right less often in a stratum",
    strata,
    Counts.FAULT,
    (STRATUM_GAP.id, AREA_MERIT.id),
    (Fault(Cause.STRATA, Advice.PEOPLE_IN_STRATUM),),
    ExampleFilter(
        WRONG,
        lambda shown: as_shown(shown) | (shown.delta > 0),
        narrow=of_flagged("stratum", lambda e: e.group["stratum"], STRATUM_GAP.id, AREA_MERIT.id),
    ),
    ways=(
        Way("column stratum", recorded=True),
        Way("--columns stratum=COLUMN", own_data=True),
        Way("--profile standard", PAIRS, own_data=False),
    ),
)
