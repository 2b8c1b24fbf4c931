"""What outweighs quality in sentences: the worth of each cue, the largest first."""

from __future__ import annotations

from math import floor

from steelyard.core.text import pluralize
from steelyard.datasheet.estimate_index import JudgeEstimates
from steelyard.datasheet.findings.answer import Answer, worst
from steelyard.datasheet.words.cue_names import cue_carrier, cue_name, text_cue_name
from steelyard.datasheet.words.numbers import defined, figure, reason
from steelyard.metrics.basis import LARGE
from steelyard.metrics.estimate import Estimate
from steelyard.metrics.findings import CLEAR, FLAGGED, INCONCLUSIVE
from steelyard.metrics.instrument.crossing import POSITION
from steelyard.metrics.instrument.level_worth import PASS_RATE
from steelyard.metrics.instrument.worth_estimates import FAULT, WORTH
from steelyard.metrics.pairs.cue_shift import CUE_SHIFT

PADDED = ("padding", "padding_25", "padding_100")


def worths(figures: JudgeEstimates) -> list[Estimate]:
    """The worth of every cue, the largest first; those without a value come last."""
    every = [e for e in figures.every.of(figures.judge, WORTH.id) if e.group.get("cue") != POSITION]
    return sorted(every, key=lambda e: (not defined(e), -abs(e.value or 0.0), str(e.group.get("cue"))))


def shift_sentence(estimate: Estimate) -> str:
    """`padding moves the preference by +0.12 [+0.04, +0.20] on your pairs`."""
    cue = estimate.group.get("cue")
    if estimate.reading == PASS_RATE:
        return f"{text_cue_name(cue)} moves the pass rate by {figure(estimate)}"
    if estimate.unit == "item":
        return f"{text_cue_name(cue)} moves the score by {figure(estimate)} of the scale"
    return f"{cue_name(cue)} moves the preference by {figure(estimate)} on your pairs"


def _shifts(figures: JudgeEstimates) -> list[Estimate]:
    """What cues do on data where no worth says it, the largest shift first."""
    every = [e for e in figures.every.of(figures.judge, CUE_SHIFT.id) if defined(e) and e.status is not None]
    return sorted(every, key=lambda e: (-abs(e.value or 0.0), str(e.group.get("cue"))))


def cues(figures: JudgeEstimates) -> Answer | None:
    every, shifts = worths(figures), _shifts(figures)
    known = [estimate for estimate in every if defined(estimate)]
    if not known and not shifts:
        return ("undefined", reason(every[0])) if every else None
    word = worst(*(estimate.status or INCONCLUSIVE for estimate in (*known, *shifts)))
    return word, "; ".join([*map(worth_sentence, known), *map(shift_sentence, shifts)])


def flagged_cues(figures: JudgeEstimates) -> str | None:
    """The cues that are faults alone."""
    told = [worth_sentence(e) for e in worths(figures) if defined(e) and e.status == FLAGGED]
    told += [shift_sentence(e) for e in _shifts(figures) if e.status == FLAGGED]
    return "; ".join(told) or None


def goes_by_length(figures: JudgeEstimates) -> bool:
    """Whether padding outweighs the larger quality steps with its whole interval."""
    steps = (e for e in worths(figures) if e.unit == "pair")  # a level of a scale may be a tenth of it
    padded = (e for e in steps if str(e.group.get("cue")) in PADDED and e.status == FLAGGED)
    limits = (estimate.interval for estimate in padded)
    return any(each is not None and each.low is not None and each.low >= LARGE for each in limits)


def worth_sentence(estimate: Estimate) -> str:
    """`padding is worth 1.4 [1.1, 1.9] steps: a padded answer beats one that is a step better`."""
    name = cue_name(estimate.group.get("cue"))
    said = f"{name} is worth {_figure(estimate)} {step_noun(estimate)}s: {_meaning(estimate)}"
    return said if estimate.crossing is None else f"{said} ({disagreement(estimate.crossing)})"


def disagreement(crossing: float) -> str:
    """What is said of a worth that the crossing point contradicts."""
    return f"the two ways to measure it disagree: {_signed(crossing, 2)} without a model"


def step_noun(estimate: Estimate) -> str:
    """What the worth is counted in: quality steps of pairs, levels of single texts."""
    return "level" if estimate.unit == "item" else "step"


def _figure(estimate: Estimate) -> str:
    """With one decimal; `more than 1.6` where an end is open."""
    value, limits = estimate.value or 0.0, estimate.interval
    ends = [] if limits is None else [end for end in (limits.low, limits.high) if end is not None]
    # A limit that would be rounded to what decides has one digit more, and so have its neighbours.
    digits = 2 if any(round(abs(end), 1) in (0.0, FAULT) for end in ends) else 1
    point, *span = (_signed(number, digits) for number in (value, *ends))
    if estimate.censored is not None:
        return f"{'more' if estimate.censored == 'right' else 'less'} than {point}"
    return f"{point} [{', '.join(span)}]" if span else point


def _signed(number: float, digits: int) -> str:
    text = f"{abs(number):.{digits}f}"
    return f"−{text}" if number < 0 and float(text) else text


def _meaning(estimate: Estimate) -> str:
    """What the whole interval bears out."""
    limits = estimate.interval
    low = limits.low if limits else None
    high = limits.high if limits else None
    if estimate.status == CLEAR:
        return f"less than half a {step_noun(estimate)} either way"
    if high is not None and high < 0:
        return "it harms the answer that has it"
    if low is None or low <= 0:
        return "too few data to say whether it counts"
    steps, noun = floor(low), step_noun(estimate)
    better = f"a {noun}" if steps == 1 else pluralize(steps, noun)
    beaten = f"one that is {better} better" if steps else "an equal one"
    beats = "outscores" if estimate.unit == "item" else "beats"
    return f"{cue_carrier(estimate.group.get('cue'))} {beats} {beaten}"
