"""Whether length sways a judge: padded pairs, natural pairs, and single texts with the same label."""

from __future__ import annotations

from steelyard.datasheet.look_up import Figures
from steelyard.datasheet.readings.answer import Answer, worst
from steelyard.datasheet.readings.constant import says_nothing
from steelyard.datasheet.readings.more_data import more_calls
from steelyard.datasheet.words.numbers import decimal, defined, figure, reason, times
from steelyard.metrics.estimate import Estimate
from steelyard.metrics.findings import CLEAR, FLAGGED, INCONCLUSIVE, MARGIN
from steelyard.metrics.pairs.ladder import PADDED_PREFERENCE
from steelyard.metrics.pairs.length import FILLER, LENGTH_LEAN, LONGER_CHOSEN
from steelyard.metrics.scores.length import LENGTH_GAP
from steelyard.stimuli.natural import NATURAL_PROBE
from steelyard.stimuli.original import ORIGINAL

LADDER = "ladder"
_PADDED: dict[str, str | float] = {"protocol": "base", "delta": 0, "kind": FILLER}


def length(figures: Figures) -> Answer | None:
    """What each kind of text that was shown says of length; nothing where none can."""
    questions = [
        (figures.of_probe(LADDER, LENGTH_LEAN.id, **_PADDED), _padded),
        (figures.of_probe(NATURAL_PROBE, LENGTH_LEAN.id, protocol="base"), _natural),
        (figures.of_probe(ORIGINAL, LENGTH_GAP.id, protocol="base"), _single),
    ]
    tests = [(estimate, tell) for estimate, tell in questions if defined(estimate)]
    if not tests:
        why = [reason(estimate) for estimate, _ in questions if estimate is not None]
        return ("undefined", why[0]) if why else None
    if nothing := says_nothing(figures, "so no length could move it"):
        return nothing
    word = worst(*(estimate.finding or INCONCLUSIVE for estimate, _ in tests))
    parts = [
        f"{tell(figures, estimate)}, {_measure(estimate)}{more_calls(estimate, of_agents=figures.of_agents)}"
        for estimate, tell in tests
    ]
    return word, "; ".join(parts)


def _measure(estimate: Estimate) -> str:
    noun = "difference" if estimate.metric == LENGTH_GAP.id else "lean"
    return f"{noun} {figure(estimate)}, margin {MARGIN:g}"


def _said(estimate: Estimate, flagged: tuple[str, str], clear: str, unsure: str) -> str:
    """The words for a figure; flagged by its sign."""
    word = estimate.finding or INCONCLUSIVE
    return {FLAGGED: flagged[(estimate.value or 0.0) < 0], CLEAR: clear}.get(word, unsure)


def _padded(figures: Figures, lean: Estimate) -> str:
    phrase = _said(
        lean,
        ("prefers the text that is padded", "prefers the text that is not padded"),
        "is not swayed by padding",
        "too few data to say whether padding sways it",
    )
    share = figures.of_probe(LADDER, PADDED_PREFERENCE.id, **_PADDED)
    chosen = f": padded in {times(share, 'decided call')} between equals" if defined(share) else ""
    return phrase + chosen


def _natural(figures: Figures, lean: Estimate) -> str:
    phrase = _said(
        lean,
        ("errs towards the longer of two texts", "errs towards the shorter of two texts"),
        "errs towards neither the longer nor the shorter of two texts",
        "too few data to say whether the longer of two texts wins too often",
    )
    chosen = figures.of_probe(NATURAL_PROBE, LONGER_CHOSEN.id, protocol="base")
    if not defined(chosen):
        return phrase
    people = "" if chosen.chance is None else f", people in {decimal(chosen.chance)}"
    share = f"{times(chosen, 'decided call')}, {decimal(chosen.value or 0.0)}"
    return f"{phrase}: names the longer in {share}{people}"


def _single(figures: Figures, gap: Estimate) -> str:
    del figures
    return (
        _said(
            gap,
            ("scores longer texts higher than shorter ones", "scores longer texts lower than shorter ones"),
            "scores longer and shorter texts alike",
            "too few data to say whether longer texts score higher",
        )
        + " with the same label"
    )
