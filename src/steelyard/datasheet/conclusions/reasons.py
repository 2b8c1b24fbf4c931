"""The facts behind a verdict, one short sentence each, with the counts that stand behind them."""

from __future__ import annotations

from collections.abc import Callable

from steelyard.datasheet.conclusion import ConclusionReason, Finding
from steelyard.datasheet.estimate_index import JudgeEstimates
from steelyard.datasheet.findings.merit import errs_towards, gives_reference, merit_clause, merit_figures
from steelyard.datasheet.findings.pairs import favours, prefers_wording, reacts_to_nothing, sees_one_step
from steelyard.datasheet.findings.run import lost_calls
from steelyard.datasheet.findings.worth import flagged_cues
from steelyard.datasheet.words import titles
from steelyard.datasheet.words.glossary import metric_named, probe_title
from steelyard.datasheet.words.numbers import abstentions, defined, figure, times
from steelyard.metrics.common import ACCURACY, DARK_CURRENT, FAILED_RATE, KAPPA, MERIT, UNREADABLE_RATE
from steelyard.metrics.estimate import Estimate
from steelyard.metrics.findings import FLAGGED
from steelyard.metrics.pairs.decomposition import POSITIONAL_FALSE_PREFERENCE, STABLE_CROSS_SENSITIVITY
from steelyard.metrics.pairs.equals import RAW_FALSE_PREFERENCE, TIE_RATE
from steelyard.metrics.pairs.natural import ORDER_CONSISTENCY
from steelyard.metrics.pairs.sensitivity import MISS_BY_TIE, TARGET_SENSITIVITY
from steelyard.metrics.pairs.slot import NET_SLOT_PREFERENCE
from steelyard.metrics.run.unchanged import COMMONEST_ANSWER, answer_in_words, never_varies
from steelyard.metrics.scores.against_labels import QWK
from steelyard.metrics.scores.leniency import LENIENCY, wrong_ways
from steelyard.probes.probe import EDITS, PROBES
from steelyard.probes.probe_metadata import section_of
from steelyard.stimuli.natural import NATURAL_PROBE
from steelyard.stimuli.original import ORIGINAL

IDENTICAL = "identical"
"""The kind of vacuum that only judges of pairs are shown."""
EMPTY_KINDS = ("empty", "blank")
HALF = 0.5


def sentence(finding: Finding, figures: JudgeEstimates) -> str:
    """What was found under a title, shorter than the finding where there is a shorter way to say it."""
    say = SHORT.get(finding.title)
    return (say(figures) if say else None) or finding.sentence


def plugin_reasons(figures: JudgeEstimates) -> list[ConclusionReason]:
    """Whole figures of plug-ins that are flagged and that no finding speaks of; edits have Robustness."""
    return [
        ConclusionReason(
            probe_title(e.probe), f"{metric_named(e.metric).name} {figure(e)} is beyond its limit"
        )
        for e in plugin_flags(figures)
    ]


def plugin_flags(figures: JudgeEstimates) -> list[Estimate]:
    return [
        e
        for e in figures.every.of_judge(figures.judge)
        if e.status == FLAGGED and e.is_overall and PROBES.added(e.probe) and section_of(e.probe) != EDITS
    ]


def merit_is_reversed(figures: JudgeEstimates) -> bool:
    """True where merit lies below chance with its whole interval."""
    return any(estimate.below_chance for estimate in figures.merits() if defined(estimate))


def same_answer(figures: JudgeEstimates) -> str | None:
    """What a judge answers to everything, in words; None where its answers vary."""
    commonest = figures.of_probe(ORIGINAL, COMMONEST_ANSWER.id, protocol="base")
    if never_varies(commonest):
        return f"answers {answer_in_words(commonest)} to everything"
    steps = _steps(figures, MISS_BY_TIE.id)
    if steps and all(ties.numerator == ties.denominator for ties in steps):
        calls = sum(ties.denominator or 0 for ties in steps)
        always = "" if _prefers_between_equals(figures) else " whatever the texts are:"
        return f"answers tie{always} in {calls} of {calls} calls on texts that differ in quality"
    slot = _only_slot(figures, steps)
    return f"names the {slot} text whatever the texts are" if slot else None


def _prefers_between_equals(figures: JudgeEstimates) -> bool:
    """True where some call names a winner between texts of equal quality, padded ones too."""
    return any(
        estimate.numerator
        for estimate in figures.every.of(figures.judge, RAW_FALSE_PREFERENCE.id)
        if defined(estimate) and estimate.group.get("protocol") == "base"
    )


def _only_slot(figures: JudgeEstimates, ties: list[Estimate]) -> str | None:
    """The slot that every call names; None where calls differ."""
    slots = _by_slot(figures)
    if len(slots) == 2 and {estimate.value for estimate in slots.values()} == {0.0, 1.0}:
        return "first" if slots[1].value else "second"
    net, merit = figures.between_equals(NET_SLOT_PREFERENCE.id), figures.find(MERIT.id, protocol="base")
    if not defined(net) or not defined(merit) or any(estimate.numerator for estimate in ties):
        return None
    return {1.0: "first", -1.0: "second"}.get(net.value or 0.0) if merit.value == HALF else None


def _steps(figures: JudgeEstimates, metric: str) -> list[Estimate]:
    """A figure of the base protocol at each quality step."""
    return [
        estimate
        for estimate in figures.every.of(figures.judge, metric)
        if defined(estimate) and set(estimate.group) == {"protocol", "delta"} and estimate.denominator
        if estimate.group["protocol"] == "base" and estimate.group["delta"]
    ]


def _by_slot(figures: JudgeEstimates) -> dict[int, Estimate]:
    """Accuracy on natural pairs by the slot of the better text."""
    found = ((n, figures.of_probe(NATURAL_PROBE, ACCURACY.id, protocol="base", slot=n)) for n in (1, 2))
    return {slot: estimate for slot, estimate in found if defined(estimate) and estimate.denominator}


def never_ties(figures: JudgeEstimates) -> bool:
    """True where a judge of pairs names a winner in every call, also where the texts do not differ."""
    current = figures.find(DARK_CURRENT.id, protocol="base", kind=IDENTICAL)
    equal = figures.between_equals(RAW_FALSE_PREFERENCE.id)
    if not defined(current) or not defined(equal):
        return False
    ties = _steps(figures, MISS_BY_TIE.id)
    return current.value == equal.value == 1.0 and not any(estimate.numerator for estimate in ties)


def prefers_at_random(figures: JudgeEstimates) -> bool:
    """True where preferences between equals are common, and keep to neither a slot nor a wording."""
    equal = figures.between_equals(RAW_FALSE_PREFERENCE.id)
    stable = figures.between_equals(STABLE_CROSS_SENSITIVITY.id)
    net = figures.between_equals(NET_SLOT_PREFERENCE.id)
    limit = DARK_CURRENT.limit
    if not defined(equal) or equal.interval is None or limit is None:
        return False
    common = (equal.interval.low or 0.0) > limit.value
    by_wording = stable is not None and stable.status == FLAGGED
    return common and not by_wording and not _off_zero(net)


def _off_zero(net: Estimate | None) -> bool:
    limits = None if net is None else net.interval
    return limits is not None and ((limits.low or 0.0) > 0 or (limits.high or 0.0) < 0)


def only_empty_texts(figures: JudgeEstimates) -> bool:
    """True where a judge reacts to empty and blank texts alone."""
    kinds = {
        str(estimate.group["kind"]): estimate.numerator or 0
        for estimate in figures.every.of(figures.judge, DARK_CURRENT.id)
        if "kind" in estimate.group and estimate.group.get("protocol") == "base" and defined(estimate)
    }
    nothing = sum(count for kind, count in kinds.items() if kind in EMPTY_KINDS)
    return nothing > 0 and nothing == sum(kinds.values())


def never_right(figures: JudgeEstimates) -> bool:
    """True where an ordinal judge gives the reference score less often than a guess, with its interval."""
    right = figures.of_probe(ORIGINAL, ACCURACY.id, protocol="base")
    if not defined(right) or right.chance is None or right.interval is None:
        return False
    return right.chance < HALF and (right.interval.high or 1.0) < right.chance


def mostly_ties(figures: JudgeEstimates) -> bool:
    """True where a judge names neither text of most natural pairs, with the whole interval."""
    ties = figures.of_probe(NATURAL_PROBE, TIE_RATE.id, protocol="base")
    return ties is not None and ties.interval is not None and (ties.interval.low or 0.0) > HALF


def _whole(figures: JudgeEstimates, metric: str) -> tuple[Estimate | None, ...]:
    """A figure of texts as they are: single ones, then natural pairs."""
    return tuple(figures.of_probe(probe, metric, protocol="base") for probe in (ORIGINAL, NATURAL_PROBE))


def mostly_unreadable(figures: JudgeEstimates) -> bool:
    """True where more than half of the calls brought a reply that could not be read."""
    return _surely_most(figures.find(UNREADABLE_RATE.id))


def mostly_failed(figures: JudgeEstimates) -> bool:
    """True where more than half of the calls brought no reply, for which nobody is blamed."""
    return _share(figures, FAILED_RATE.id) > HALF


def mostly_lost(figures: JudgeEstimates) -> bool:
    """True where more than half of the calls brought no verdict, whatever the reason."""
    return _share(figures, FAILED_RATE.id) + _share(figures, UNREADABLE_RATE.id) > HALF


def more_failed_than_unreadable(figures: JudgeEstimates) -> bool:
    """True where more calls brought no reply than one that could not be read."""
    return _share(figures, FAILED_RATE.id) > _share(figures, UNREADABLE_RATE.id)


def _share(figures: JudgeEstimates, metric: str) -> float:
    rate = figures.find(metric)
    return 0.0 if rate is None else rate.value or 0.0


def _surely_most(rate: Estimate | None) -> bool:
    """Flagged, and beyond one half with its whole interval."""
    if rate is None or rate.status != FLAGGED or rate.interval is None:
        return False
    return (rate.interval.low or 0.0) > HALF


def _zero_point(figures: JudgeEstimates) -> str | None:
    current = figures.find(DARK_CURRENT.id, protocol="base")
    if not defined(current):
        return None
    return reacts_to_nothing(figures, current)


def _position(figures: JudgeEstimates) -> str | None:
    net = figures.between_equals(NET_SLOT_PREFERENCE.id)
    share = figures.between_equals(POSITIONAL_FALSE_PREFERENCE.id)
    if not defined(net) or not defined(share):
        return None
    return (
        f"{favours(net)} whatever it says: same slot in both orders for {times(share, 'pair')} of equals, "
        f"net preference {figure(net)}"
    )


def _natural(figures: JudgeEstimates) -> str | None:
    stays = figures.find(ORDER_CONSISTENCY.id, protocol="base")
    net = figures.find(NET_SLOT_PREFERENCE.id, protocol="base")
    if not defined(net) or not defined(stays):
        return None
    return (
        f"{favours(net)}, net preference {figure(net)}: it names the same text in both orders for only "
        f"{times(stays, 'pair')}"
    )


def _surface(figures: JudgeEstimates) -> str | None:
    stable = figures.between_equals(STABLE_CROSS_SENSITIVITY.id)
    return prefers_wording(stable) if defined(stable) else None


def _sensitivity(figures: JudgeEstimates) -> str | None:
    seen = figures.find(TARGET_SENSITIVITY.id, protocol="base", delta=1)
    return sees_one_step(seen) if defined(seen) else None


def _accuracy(figures: JudgeEstimates) -> str | None:
    right = next((e for e in _whole(figures, ACCURACY.id) if defined(e)), None)
    if right is None:
        return None
    kappa = next((e for m in (KAPPA.id, QWK.id) for e in _whole(figures, m) if defined(e)), None)
    beyond = "" if kappa is None else f"; {metric_named(kappa.metric).label} {figure(kappa)}"
    return f"{gives_reference(right)}{beyond}{abstentions(right)}"


def _without_ties(figures: JudgeEstimates) -> str | None:
    current = figures.find(DARK_CURRENT.id, protocol="base")
    if not defined(current):
        return None
    return f"never answers tie: names a winner in {times(current, 'call')} on texts that do not differ"


def _at_random(figures: JudgeEstimates) -> str | None:
    equal = figures.between_equals(RAW_FALSE_PREFERENCE.id)
    if not defined(equal):
        return None
    return (
        f"answers at random where texts are equally good: names a winner in {times(equal, 'call')}, "
        f"{figure(equal)}, and keeps to neither a slot nor a wording"
    )


def _leniency(figures: JudgeEstimates) -> str | None:
    shift = figures.of_probe(ORIGINAL, LENIENCY.id, protocol="base")
    if not defined(shift):
        return None
    passed, failed = (figures.of_probe(ORIGINAL, metric.id, protocol="base") for metric in wrong_ways(shift))
    if not defined(passed) or not defined(failed):
        return None
    up, down = times(passed, "call"), times(failed, "call")
    return f"{errs_towards(shift)}: passes {up} that should fail, fails {down} that should pass"


def _failures(figures: JudgeEstimates) -> str | None:
    return ", ".join(lost_calls(map(figures.find, (UNREADABLE_RATE.id, FAILED_RATE.id)))) or None


def _merit(figures: JudgeEstimates) -> str | None:
    known = [estimate for estimate in figures.merits() if defined(estimate)]
    if not known:
        return None
    return f"{merit_clause(known)}: {merit_figures(figures, known)}"


CAUSES = {titles.NO_TIES: _without_ties, titles.NOISE: _at_random}
"""Sentences about causes that no finding of that title speaks of."""
SHORT: dict[str, Callable[[JudgeEstimates], str | None]] = {
    titles.MERIT: _merit,
    titles.DARK_CURRENT: _zero_point,
    titles.POSITION: _position,
    titles.NATURAL_PAIRS: _natural,
    titles.SURFACE: _surface,
    titles.SENSITIVITY: _sensitivity,
    titles.ACCURACY: _accuracy,
    titles.CUES: flagged_cues,
    titles.LENIENCY: _leniency,
    titles.FAILURES: _failures,
}
