"""What outweighs quality in sentences: the worth of each cue, the largest first."""

from __future__ import annotations

from math import floor

from steelyard.core.text import pluralize
from steelyard.datasheet.estimate_index import JudgeEstimates
from steelyard.datasheet.findings.answer import Answer, worst
from steelyard.datasheet.words.numbers import decimal, defined, figure, reason
from steelyard.metrics.estimate import Estimate
from steelyard.metrics.findings import CLEAR, FLAGGED, INCONCLUSIVE
from steelyard.metrics.instrument.worth_estimates import DISAGREE, FAULT, POSITION, WORTH

_NAMES = {
    "padding_25": "padding by a quarter",
    "padding_100": "padding by as many words again",
    "author": "a claimed author",
    "authority": "a claim of authority",
    "majority": "a claim of popular approval",
    "confidence": "stated confidence",
    "praise": "self-praise",
    "emoji": "a green tick before every sentence",
    "injection": "an instruction to the judge",
    "typos": "clean spelling",
    "position": "the first slot",
}
"""Cues whose name does not say what it is."""


def cue_name(kind: object) -> str:
    return _NAMES.get(str(kind), str(kind).replace("_", " "))


def worths(figures: JudgeEstimates) -> list[Estimate]:
    """The worth of every cue, the largest first; those without a value come last."""
    every = [e for e in figures.every.of(figures.judge, WORTH.id) if e.group.get("kind") != POSITION]
    return sorted(every, key=lambda e: (not defined(e), -abs(e.value or 0.0), str(e.group.get("kind"))))


def cues(figures: JudgeEstimates) -> Answer | None:
    every = worths(figures)
    known = [estimate for estimate in every if defined(estimate)]
    if not known:
        return ("undefined", reason(every[0])) if every else None
    word = worst(*(estimate.status or INCONCLUSIVE for estimate in known))
    return word, "; ".join(worth_sentence(estimate) for estimate in known)


def flagged_cues(figures: JudgeEstimates) -> str | None:
    """The cues that are faults alone."""
    told = [worth_sentence(e) for e in worths(figures) if defined(e) and e.status == FLAGGED]
    return "; ".join(told) or None


def worth_sentence(estimate: Estimate) -> str:
    """`padding is worth +1.40 [+1.10, +1.90] steps: a text with it beats one that is 1 step better`."""
    name = cue_name(estimate.group.get("kind"))
    note = f" ({DISAGREE})" if DISAGREE in (estimate.note or "") else ""
    return f"{name} is worth {figure(estimate)} steps: {_meaning(estimate)}{note}"


def _meaning(estimate: Estimate) -> str:
    value, limits = estimate.value or 0.0, estimate.interval
    low = limits.low if limits else None
    high = limits.high if limits else None
    if estimate.status == CLEAR:
        return f"less than {FAULT:g} steps either way"
    if estimate.status == INCONCLUSIVE and (low is None or low <= 0) and (high is None or high >= 0):
        return "too few data to say whether it counts"
    if value < 0:
        return "it harms the text that has it"
    if estimate.censored == "right":
        return f"it outweighs every step that was measured, at least {decimal(low or 0.0)} of them"
    steps = floor(value)
    better = f"one that is {pluralize(steps, 'step')} better" if steps else "an equal one"
    return f"a text with it beats {better}"
