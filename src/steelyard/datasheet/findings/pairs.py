"""Findings on pairs: dark current, position, noise, wording, sensitivity, threshold, criterion."""

from __future__ import annotations

from steelyard.datasheet.estimate_index import JudgeEstimates
from steelyard.datasheet.findings.answer import Answer, limit_of, undefined_answer
from steelyard.datasheet.findings.more_data import more_calls
from steelyard.datasheet.words.glossary import KINDS
from steelyard.datasheet.words.numbers import abstentions, figure, times
from steelyard.metrics.common import DARK_CURRENT
from steelyard.metrics.estimate import Estimate
from steelyard.metrics.findings import BY_CHANCE
from steelyard.metrics.pairs.criterion import CRITERION_SHIFT, SENSITIVITY_SHIFT
from steelyard.metrics.pairs.decomposition import POSITIONAL_FALSE_PREFERENCE, STABLE_CROSS_SENSITIVITY
from steelyard.metrics.pairs.equals import ONE_VERDICT
from steelyard.metrics.pairs.flips import FLIP_EXCESS, REPEAT_FLIP_RATE, SWAP_FLIP_RATE
from steelyard.metrics.pairs.natural import FLIP_FIRST, FLIP_SECOND, ORDER_CONSISTENCY
from steelyard.metrics.pairs.sensitivity import MISS_BY_TIE, TARGET_SENSITIVITY
from steelyard.metrics.pairs.slot import NET_SLOT_PREFERENCE
from steelyard.metrics.pairs.threshold import DELTA75
from steelyard.trials.builtin_prompts import GRADED

SCORED_KINDS = ("off_topic", "dont_know", "master_key")
"""Responses without content that only judges of single texts are shown."""
VACUUM_KINDS = ("empty", "blank", "identical", *SCORED_KINDS)


def zero_point(figures: JudgeEstimates) -> Answer | None:
    pooled = figures.find(DARK_CURRENT.id, protocol="base")
    if pooled is None or pooled.value is None:
        return undefined_answer(pooled)
    kinds = [figures.find(DARK_CURRENT.id, protocol="base", kind=kind) for kind in VACUUM_KINDS]
    split = ", ".join(
        f"{KINDS[str(e.group['kind'])]} {e.numerator}/{e.denominator}"
        for e in kinds
        if e is not None and e.value is not None
    )
    sentence = (
        f"{reacts_to_nothing(figures, pooled)}, {figure(pooled)} ({split}); "
        f"limit {limit_of(DARK_CURRENT):g}{abstentions(pooled)}{more_calls(pooled)}"
    )
    return pooled.status or "undefined", sentence


def reacts_to_nothing(figures: JudgeEstimates, pooled: Estimate) -> str:
    paired = figures.find(DARK_CURRENT.id, protocol="base", kind="identical") is not None
    does = (
        "prefers one of two texts that do not differ"
        if paired
        else "gives texts without content more than the lowest score"
    )
    return f"{does} in {times(pooled, 'call')}"


def position(figures: JudgeEstimates) -> Answer | None:
    net = figures.between_equals(NET_SLOT_PREFERENCE.id)
    share = figures.between_equals(POSITIONAL_FALSE_PREFERENCE.id)
    if net is None or net.value is None:
        return undefined_answer(net)
    words = {
        "flagged": f"{favours(net)} between equals",
        "clear": "treats the two slots alike within the margin",
        "inconclusive": "too few data to say whether a slot is favoured",
    }
    word = net.status or "undefined"
    mixed = ", and prefers some wordings whatever the slot" if net.reading == "mixed" else ""
    same = "" if share is None or share.value is None else f"; same slot in both orders {figure(share)}"
    phrase = words.get(word, "slots compared")
    return word, f"{phrase}{mixed}: net slot-1 preference {figure(net)}{same}{more_calls(net)}"


def favours(net: Estimate) -> str:
    return f"favours the {'first' if (net.value or 0.0) > 0 else 'second'} text"


def noise(figures: JudgeEstimates) -> Answer | None:
    """Whether order adds to noise; which slot gains by it is the position test's to say."""
    excess = figures.between_equals(FLIP_EXCESS.id) or figures.find(FLIP_EXCESS.id, protocol="base")
    if excess is None:
        return None
    here = dict(excess.group)
    repeat, swap = (figures.find(metric, **here) for metric in (REPEAT_FLIP_RATE.id, SWAP_FLIP_RATE.id))
    words = {
        "flagged": "reversing a pair changes the winner more often than asking again does",
        "clear": "reversing a pair changes the winner no more often than asking again, within the margin",
        "inconclusive": "too few data to say whether order adds to noise",
    }
    never = "asking again never changed the winner, so replicates tell nothing of noise"
    unsaid = never if repeat is not None and repeat.value == 0 else "asked again and reversed"
    phrase = words.get(excess.status or "", unsaid)
    return (
        excess.status or "measured",
        f"{phrase}: repeat flips {figure(repeat)}, swap flips {figure(swap)}, excess {figure(excess)}"
        f"{more_calls(excess)}; see Position for whether one slot gains",
    )


def surface(figures: JudgeEstimates) -> Answer | None:
    stable = figures.between_equals(STABLE_CROSS_SENSITIVITY.id)
    if stable is None or stable.value is None:
        return undefined_answer(stable)
    if stable.reading == ONE_VERDICT:
        return "measured", (
            f"names one of two equally good wordings for {times(stable, 'pair')}, {figure(stable)}; "
            f"{ONE_VERDICT}, so these calls do not tell taste from noise"
        )
    chance = "" if stable.chance is None else f", {stable.chance:.2f} expected of independent calls"
    noise = "; too near to that to be told from noise"
    rest = noise if stable.reading == BY_CHANCE else more_calls(stable)
    return stable.status or "undefined", f"{prefers_wording(stable)}, {figure(stable)}{chance}{rest}"


def prefers_wording(stable: Estimate) -> str:
    return f"prefers one of two equally good wordings, in both orders, for {times(stable, 'pair')}"


def sensitivity(figures: JudgeEstimates) -> Answer | None:
    first = figures.find(TARGET_SENSITIVITY.id, protocol="base", delta=1)
    if first is None or first.value is None:
        return undefined_answer(first)
    ties = figures.find(MISS_BY_TIE.id, protocol="base", delta=1)
    missed = "" if ties is None or ties.value is None else f"; misses by {_missed_by(ties)} {figure(ties)}"
    floor = limit_of(TARGET_SENSITIVITY)
    return (
        first.status or "undefined",
        f"{sees_one_step(first)}, floor {floor:g}{missed}{more_calls(first)}",
    )


def sees_one_step(seen: Estimate) -> str:
    return f"sees which text is better by one step in {times(seen, 'call')}, {figure(seen)}"


def _missed_by(ties: Estimate) -> str:
    """What the calls were that named neither text."""
    if not ties.abstained:
        return "tie"
    return "abstention" if ties.abstained == ties.numerator else "tie or abstention"


def threshold(figures: JudgeEstimates) -> Answer | None:
    threshold = figures.find(DELTA75.id, protocol="base")
    if threshold is None or threshold.value is None:
        return undefined_answer(threshold)
    words = {
        "right": "is right in three calls of four at no step that was measured; the threshold is",
        "left": "is right in three calls of four at the smallest step already; the threshold is",
    }
    phrase = words.get(threshold.censored or "", "is right in three calls of four from a difference of")
    return "measured", f"{phrase} {figure(threshold)} steps"


def natural(figures: JudgeEstimates, protocol: str = "base") -> Answer | None:
    stays = figures.find(ORDER_CONSISTENCY.id, protocol=protocol)
    net = figures.find(NET_SLOT_PREFERENCE.id, protocol=protocol)
    if stays is None or net is None or stays.value is None:
        return undefined_answer(stays)
    flips = [figures.find(metric, protocol=protocol) for metric in (FLIP_FIRST.id, FLIP_SECOND.id)]
    directions = ", ".join(
        f"to slot {n} in {e.numerator}" for n, e in enumerate(flips, start=1) if e is not None
    )
    return (
        net.status or "measured",
        f"names the same text in both orders for {times(stays, 'natural pair')}, "
        f"{figure(stays)}; flips {directions}; net slot-1 preference {figure(net)}{abstentions(stays)}"
        f"{more_calls(net)}",
    )


def criterion(figures: JudgeEstimates) -> Answer | None:
    arms = [(arm, figures.find(CRITERION_SHIFT.id, protocol=arm, delta=0)) for arm in _arms(figures)]
    known = [(arm, shift) for arm, shift in arms if shift is not None]
    if not known:
        return None
    phrases = [_changes(figures, arm, shift) for arm, shift in known if shift.value is not None]
    if not phrases:
        return undefined_answer(known[0][1])
    return "measured", f"against the base instruction, {'; '.join(phrases)}"


def _arms(figures: JudgeEstimates) -> list[str]:
    """Protocols that were compared with base, from lenient to strict."""
    protocols = figures.protocols(CRITERION_SHIFT.id)
    return sorted(protocols, key=lambda arm: GRADED.index(arm) if arm in GRADED else len(GRADED))


def _changes(figures: JudgeEstimates, arm: str, equal: Estimate) -> str:
    one = figures.find(SENSITIVITY_SHIFT.id, protocol=arm, delta=1)
    price = "" if one is None or one.value is None else f", sensitivity at one step by {figure(one)}"
    return f"{arm} changes the tie rate between equals by {figure(equal)}{price}"
