"""The instrument model in sentences."""

from __future__ import annotations

from steelyard.datasheet.estimate_index import JudgeEstimates
from steelyard.datasheet.findings.answer import Answer, undefined_answer
from steelyard.datasheet.words.numbers import decimal, defined, figure, interval, value
from steelyard.metrics.estimate import Estimate
from steelyard.metrics.instrument.estimates import FIT_PROBABILITY, LIMIT_OF_DETECTION, TOO_LITTLE
from steelyard.metrics.instrument.likelihood import (
    LAPSE_RATE,
    POSITION_BIAS,
    RESOLUTION,
    SURFACE_SENSITIVITY,
    TIE_THRESHOLD,
)
from steelyard.metrics.instrument.resolution_ratio import RESOLUTION_RATIO, SAME_WITHIN
from steelyard.metrics.pairs.criterion import CRITERION_SHIFT

WORDS = {
    RESOLUTION.id: "resolves {} of its own noise per quality step",
    POSITION_BIAS.id: "is pushed by {} towards slot 1",
    TIE_THRESHOLD.id: "calls a tie within {}",
    SURFACE_SENSITIVITY.id: "is swayed by wording with spread {}",
    LAPSE_RATE.id: "answers at random in a share of {}",
}


def instrument(figures: JudgeEstimates) -> Answer | None:
    fit = figures.find(FIT_PROBABILITY.id, protocol="base")
    rows = [figures.find(metric, protocol="base") for metric in WORDS]
    if fit is None or all(row is None for row in rows):
        return None
    if not defined(fit):
        return ("inconclusive", TOO_LITTLE) if fit.reason == TOO_LITTLE.code else undefined_answer(fit)
    tested = f"p of the fit {value(fit)}"
    if fit.status == "flagged":
        return "flagged", f"does not answer like such an instrument, so its parameters are not read: {tested}"
    phrases = [
        words.format(figure(row)) for words, row in zip(WORDS.values(), rows, strict=True) if defined(row)
    ]
    return "measured", "; ".join([*phrases, *_limit(figures), tested])


def _limit(figures: JudgeEstimates) -> list[str]:
    limit = figures.find(LIMIT_OF_DETECTION.id, protocol="base")
    if not defined(limit):
        return []
    return [f"names the better text in 95 % of calls from {figure(limit)} steps"]


def resolution(figures: JudgeEstimates, protocol: str) -> Answer | None:
    """Whether a protocol left the resolution alone: an equivalence claim, not the absence of a difference."""
    ratio = figures.find(RESOLUTION_RATIO.id, protocol=protocol)
    if ratio is None:
        return None
    if not defined(ratio):
        return undefined_answer(ratio)
    narrow = next(i for i in ratio.intervals if i.confidence == 0.90)
    least, most = SAME_WITHIN
    comparison = f"ratio to base {value(ratio)}, 90 % {interval(ratio, narrow)}, margin {least:g} to {most:g}"
    words = {
        "clear": f"{_criterion_moved(figures, protocol)}the resolution did not",
        "flagged": f"the resolution {'rose' if (ratio.value or 0) > 1 else 'fell'} under {protocol}",
        "inconclusive": f"too few data to say whether the resolution is the same under {protocol}",
    }
    word = ratio.status or "undefined"
    return word, f"{words.get(word, 'resolutions compared')}: {comparison}"


def _criterion_moved(figures: JudgeEstimates, protocol: str) -> str:
    shift = figures.find(CRITERION_SHIFT.id, protocol=protocol, delta=0)
    if not defined(shift) or not _off_zero(shift):
        return "no move of the criterion is shown, and "
    return f"the criterion moved (tie rate {decimal(shift.value or 0.0, signed=True)} between equals), "


def _off_zero(estimate: Estimate) -> bool:
    limits = estimate.interval
    if limits is None or limits.low is None or limits.high is None:
        return False
    return limits.low > 0 or limits.high < 0
