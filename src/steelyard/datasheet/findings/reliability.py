"""Findings on what should not matter: edits, repeats, length, the stratum of an item."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from steelyard.core.text import pluralize
from steelyard.datasheet.estimate_index import JudgeEstimates
from steelyard.datasheet.findings.answer import Answer, constant_answer, undefined_answer, worst
from steelyard.datasheet.findings.more_data import more_calls
from steelyard.datasheet.words.glossary import metric_named, probe_label
from steelyard.datasheet.words.numbers import decimal, defined, figure, reason, times, undefined
from steelyard.metrics.common import ACCURACY
from steelyard.metrics.estimate import Estimate
from steelyard.metrics.findings import CLEAR, FLAGGED, INCONCLUSIVE, MARGIN, TOLERATED_LOSS
from steelyard.metrics.pairs.flips import REPEAT_FLIP_RATE
from steelyard.metrics.pairs.ladder import PADDED_PREFERENCE
from steelyard.metrics.pairs.length import FILLER, LENGTH_LEAN, LONGER_CHOSEN
from steelyard.metrics.run.strata import STRATUM_GAP
from steelyard.metrics.scores.invariance import EXCESS_FLIP, INVARIANCE
from steelyard.metrics.scores.length import LENGTH_GAP
from steelyard.metrics.scores.repeats import SELF_AGREEMENT
from steelyard.probes.probe_metadata import label_keeping_probes
from steelyard.stimuli.natural import NATURAL_PROBE
from steelyard.stimuli.original import ORIGINAL

MEASURED = "measured"
"""The word of a reading that nothing is cleared or blamed by."""


def robustness(figures: JudgeEstimates) -> Answer | None:
    """Whether edits that should change nothing change the verdict, beyond what repeats do."""
    asked = {probe: _effect(figures, probe) for probe in label_keeping_probes()}
    estimates = {probe: estimate for probe, estimate in asked.items() if defined(estimate)}
    unmeasured = _reasons({p: e for p, e in asked.items() if e is not None and undefined(e)})
    if not estimates:
        return ("undefined", f"nothing was measured: {unmeasured}") if unmeasured else None
    if nothing := constant_answer(figures, "so no edit could move it"):
        return nothing
    words = {probe: estimate.status or INCONCLUSIVE for probe, estimate in estimates.items()}
    parts = [
        _listed(
            "its verdict is moved by",
            (f"{probe_label(p)} ({_name_and_figure(estimates[p])})" for p in words if words[p] == FLAGGED),
        ),
        _listed("its verdict is not moved by", (probe_label(p) for p in words if words[p] == CLEAR)),
        _listed("too few items to decide:", (probe_label(p) for p in words if words[p] == INCONCLUSIVE)),
        f"not measured: {unmeasured}" if unmeasured else "",
        _family(estimates.values()),
    ]
    order = (FLAGGED, INCONCLUSIVE, CLEAR)
    return min(words.values(), key=order.index), "; ".join(part for part in parts if part)


def _name_and_figure(estimate: Estimate) -> str:
    return f"{metric_named(estimate.metric).plain} {figure(estimate)}"


def repeatability(figures: JudgeEstimates) -> Answer | None:
    """Agreement of the judge with itself, whatever its accuracy, held against a floor.

    Beyond chance where nearly all verdicts are alike, and by the spread of scores on ordinal scales: there
    repeats agree, or differ, for reasons other than repeatability.
    """
    again = figures.of_probe(ORIGINAL, SELF_AGREEMENT.id, protocol="base")
    if again is None:
        return _between_equals(figures)
    if not defined(again):
        return undefined_answer(again)
    if nothing := constant_answer(figures, "so repeats can not differ"):
        return nothing
    held = figures.repeat_agreement() or again
    sentence = (
        f"gives the same verdict on the same input in {times(again, 'pair')} of repeats, {figure(again)}"
    )
    beside = "" if held is again else f"; {metric_named(held.metric).name} {figure(held)}"
    floor = metric_named(held.metric).limit
    limit = f", floor {floor.value:g}" if floor else ""
    apart = f"; {pluralize(held.left_out, 'call')} abstained, which that leaves out" if held.left_out else ""
    more = more_calls(held, of_agents=figures.of_agents)
    word = held.status or MEASURED
    if word == CLEAR and held.left_out > TOLERATED_LOSS * (held.n_calls + held.left_out):
        word = MEASURED  # the scores are steady, and whether one is given is not
    return word, f"{sentence}{beside}{limit}{apart}{more}"


def _between_equals(figures: JudgeEstimates) -> Answer | None:
    """Judges of pairs: how often asking again names another winner where neither text is better."""
    flips = figures.between_equals(REPEAT_FLIP_RATE.id)
    if flips is None or not defined(flips):
        return undefined_answer(flips)
    limit = REPEAT_FLIP_RATE.limit
    held = f", limit {limit.value:g}" if limit else ""
    return (
        flips.status or MEASURED,
        f"names another winner on the same input in {times(flips, 'comparison')} between equals, "
        f"{figure(flips)}{held}{more_calls(flips)}",
    )


def _effect(figures: JudgeEstimates, probe: str) -> Estimate | None:
    """The excess over noise; without repeats, the share of kept verdicts, which then carries the word.

    Where neither could be measured, the latter says why; None where the probe was not asked.
    """
    excess, kept = (
        figures.of_probe(probe, metric, protocol="base") for metric in (EXCESS_FLIP.id, INVARIANCE.id)
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


def _listed(opening: str, names: Iterable[str]) -> str:
    together = ", ".join(names)
    return f"{opening} {together}" if together else ""


LADDER = "ladder"
_PADDED: dict[str, str | float] = {"protocol": "base", "delta": 0, "kind": FILLER}


def length(figures: JudgeEstimates) -> Answer | None:
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
    if nothing := constant_answer(figures, "so no length could move it"):
        return nothing
    word = worst(*(estimate.status or INCONCLUSIVE for estimate, _ in tests))
    parts = [
        f"{tell(figures, estimate)}, {_measure(estimate)}{more_calls(estimate, of_agents=figures.of_agents)}"
        for estimate, tell in tests
    ]
    return word, "; ".join(parts)


def _measure(estimate: Estimate) -> str:
    noun = "difference" if estimate.metric == LENGTH_GAP.id else "lean"
    return f"{noun} {figure(estimate)}, margin {MARGIN:g}"


def _phrase(estimate: Estimate, flagged: tuple[str, str], clear: str, unsure: str) -> str:
    """The words for a figure; flagged by its sign."""
    word = estimate.status or INCONCLUSIVE
    return {FLAGGED: flagged[(estimate.value or 0.0) < 0], CLEAR: clear}.get(word, unsure)


def _padded(figures: JudgeEstimates, lean: Estimate) -> str:
    phrase = _phrase(
        lean,
        ("prefers the text that is padded", "prefers the text that is not padded"),
        "is not swayed by padding",
        "too few data to say whether padding sways it",
    )
    share = figures.of_probe(LADDER, PADDED_PREFERENCE.id, **_PADDED)
    chosen = f": padded in {times(share, 'decided call')} between equals" if defined(share) else ""
    return phrase + chosen


def _natural(figures: JudgeEstimates, lean: Estimate) -> str:
    phrase = _phrase(
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


def _single(figures: JudgeEstimates, gap: Estimate) -> str:
    del figures
    return (
        _phrase(
            gap,
            ("scores longer texts higher than shorter ones", "scores longer texts lower than shorter ones"),
            "scores longer and shorter texts alike",
            "too few data to say whether longer texts score higher",
        )
        + " with the same label"
    )


def strata(figures: JudgeEstimates) -> Answer | None:
    """The stratum with the lowest accuracy, and whether it is lower than the rest; nothing without strata."""
    gaps = [
        gap for gap in figures.every.of(figures.judge, STRATUM_GAP.id) if gap.group.get("protocol") == "base"
    ]
    gap = next((gap for gap in gaps if defined(gap)), None)
    if gap is None:
        return None
    here = figures.of_probe(gap.probe, ACCURACY.id, **gap.group)
    if not defined(here):
        return None
    name = gap.group["stratum"]
    tested = (
        f"p = {gap.p_corrected:.2g}, corrected for choosing the lowest" if gap.p_corrected is not None else ""
    )
    word = gap.status or "measured"
    sentence = (
        "is right less often in"
        if word == FLAGGED
        else "lowest measured, and not told apart from the others, in"
    )
    return word, (
        f"{sentence} {name}: {times(here, 'call')}, {figure(here)}, "
        f"{decimal(gap.value or 0.0, signed=True)} against the others; {gap.note}, {tested}"
    )
