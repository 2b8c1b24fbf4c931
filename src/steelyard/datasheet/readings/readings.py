"""The findings in sentences: what the tests behind a figure allow one to say, and no more."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from functools import partial

from steelyard.datasheet.datasheet import JudgeEntry, Reading
from steelyard.datasheet.look_up import Figures, LookUp
from steelyard.datasheet.readings.accuracy import accuracy, leniency
from steelyard.datasheet.readings.answer import Answer, unanswered
from steelyard.datasheet.readings.instrument import instrument, resolution_moved
from steelyard.datasheet.readings.length import length
from steelyard.datasheet.readings.more_data import more_calls
from steelyard.datasheet.readings.reliability import repeatability, robustness
from steelyard.datasheet.readings.run import cost, failures, volatility
from steelyard.datasheet.readings.strata import strata
from steelyard.datasheet.words.glossary import KINDS
from steelyard.datasheet.words.numbers import abstentions, figure, times
from steelyard.metrics.common import DARK_CURRENT
from steelyard.metrics.estimate import Estimate
from steelyard.metrics.faults import Fault, Faults
from steelyard.metrics.instrument.resolution_ratio import RESOLUTION_RATIO
from steelyard.metrics.metric import Metric
from steelyard.metrics.pairs.criterion import CRITERION_SHIFT, SENSITIVITY_SHIFT
from steelyard.metrics.pairs.decomposition import POSITIONAL_FALSE_PREFERENCE, STABLE_CROSS_SENSITIVITY
from steelyard.metrics.pairs.equals import BY_CHANCE
from steelyard.metrics.pairs.flip_estimates import FLIP_EXCESS, REPEAT_FLIP_RATE, SWAP_FLIP_RATE
from steelyard.metrics.pairs.natural import FLIP_FIRST, FLIP_SECOND, ORDER_CONSISTENCY
from steelyard.metrics.pairs.sensitivity import MISS_BY_TIE, TARGET_SENSITIVITY
from steelyard.metrics.pairs.slot import NET_SLOT_PREFERENCE
from steelyard.metrics.pairs.threshold import DELTA75
from steelyard.trials.builtin_prompts import GRADED

NATURAL = "Natural pairs"


SCORED_KINDS = ("off_topic", "dont_know", "master_key")
"""Responses without content that only judges of single texts are shown."""
VACUUM_KINDS = ("empty", "blank", "identical", *SCORED_KINDS)


def readings_of(
    judges: Sequence[JudgeEntry], estimates: Sequence[Estimate], faults: Faults | None = None
) -> Iterator[Reading]:
    """Every reading of every measured judge; baselines need none. What can not be read is a fault."""
    guard = Faults() if faults is None else faults
    every = LookUp(estimates)
    for judge in judges:
        if not judge.baseline:
            figures = Figures(judge.name, every)
            for title in QUESTIONS:
                make, otherwise = partial(_answers, figures, title), partial(_unread, title)
                yield from guard.guarded(judge.name, f"reading {title}", make, otherwise)


def _answers(figures: Figures, title: str) -> list[Reading]:
    """The answer to a question, and those of the same kind under other protocols."""
    reading = QUESTIONS[title](figures)
    answers = [] if reading is None else [Reading(figures.judge, title, *reading)]
    if title == "Instrument":
        answers += _resolutions(figures)
    if title == NATURAL:
        answers += _other_prompts(figures)
    return answers


def _unread(title: str, fault: Fault) -> list[Reading]:
    return [Reading(fault.judge, title, "undefined", fault.note)]


def _resolutions(figures: Figures) -> Iterator[Reading]:
    """What each protocol other than base does to the resolution."""
    for protocol in figures.protocols(RESOLUTION_RATIO.id):
        moved = resolution_moved(figures, protocol)
        if moved is not None:
            yield Reading(figures.judge, f"Resolution, {protocol}", *moved)


def _other_prompts(figures: Figures) -> Iterator[Reading]:
    """Natural pairs under protocols other than base."""
    for protocol in figures.protocols(ORDER_CONSISTENCY.id):
        reading = None if protocol == "base" else _natural(figures, protocol)
        if reading is not None:
            yield Reading(figures.judge, f"{NATURAL}, {protocol}", *reading)


def _zero_point(figures: Figures) -> Answer | None:
    pooled = figures.find(DARK_CURRENT.id, protocol="base")
    if pooled is None or pooled.value is None:
        return unanswered(pooled)
    kinds = [figures.find(DARK_CURRENT.id, protocol="base", kind=kind) for kind in VACUUM_KINDS]
    split = ", ".join(
        f"{KINDS[str(e.group['kind'])]} {e.numerator}/{e.denominator}"
        for e in kinds
        if e is not None and e.value is not None
    )
    sentence = (
        f"{_told_of_nothing(kinds)} in {times(pooled, 'call')}, {figure(pooled)} ({split}); "
        f"limit {_limit(DARK_CURRENT):g}{abstentions(pooled)}{more_calls(pooled)}"
    )
    return pooled.finding or "undefined", sentence


def _told_of_nothing(kinds: Sequence[Estimate | None]) -> str:
    if any(e is not None and e.group["kind"] in SCORED_KINDS for e in kinds):
        return "gives a response without content more than the lowest score"
    return "reports a preference where there is none"


def _position(figures: Figures) -> Answer | None:
    net = figures.between_equals(NET_SLOT_PREFERENCE.id)
    share = figures.between_equals(POSITIONAL_FALSE_PREFERENCE.id)
    if net is None or net.value is None:
        return unanswered(net)
    words = {
        "flagged": f"favours slot {1 if net.value > 0 else 2} between equals",
        "clear": "treats the two slots alike within the margin",
        "underpowered": "too few data to say whether a slot is favoured",
    }
    word = net.finding or "undefined"
    mixed = ", and prefers some wordings whatever the slot" if net.reading == "mixed" else ""
    same = "" if share is None or share.value is None else f"; same slot in both orders {figure(share)}"
    phrase = words.get(word, "slots compared")
    return word, f"{phrase}{mixed}: net slot-1 preference {figure(net)}{same}{more_calls(net)}"


def _noise(figures: Figures) -> Answer | None:
    """Whether order adds to noise; which slot gains by it is the position test's to say."""
    excess = figures.between_equals(FLIP_EXCESS.id) or figures.find(FLIP_EXCESS.id, protocol="base")
    if excess is None:
        return None
    here = dict(excess.group)
    repeat, swap = (figures.find(metric, **here) for metric in (REPEAT_FLIP_RATE.id, SWAP_FLIP_RATE.id))
    words = {
        "flagged": "reversing a pair changes the winner more often than asking again does",
        "clear": "reversing a pair changes the winner no more often than asking again, within the margin",
        "underpowered": "too few data to say whether order adds to noise",
    }
    never = "asking again never changed the winner, so replicates tell nothing of noise"
    unsaid = never if repeat is not None and repeat.value == 0 else "asked again and reversed"
    phrase = words.get(excess.finding or "", unsaid)
    return (
        excess.finding or "measured",
        f"{phrase}: repeat flips {figure(repeat)}, swap flips {figure(swap)}, excess {figure(excess)}"
        f"{more_calls(excess)}; whether one slot gains is told under Position",
    )


def _surface(figures: Figures) -> Answer | None:
    stable = figures.between_equals(STABLE_CROSS_SENSITIVITY.id)
    if stable is None or stable.value is None:
        return unanswered(stable)
    chance = "" if stable.chance is None else f", {stable.chance:.2f} expected of independent calls"
    noise = "; too near to that to be told from noise"
    rest = noise if stable.reading == BY_CHANCE else more_calls(stable)
    sentence = (
        f"keeps to one of two equally good wordings in both orders for {times(stable, 'pair')}, "
        f"{figure(stable)}{chance}{rest}"
    )
    return stable.finding or "undefined", sentence


def _sensitivity(figures: Figures) -> Answer | None:
    first = figures.find(TARGET_SENSITIVITY.id, protocol="base", delta=1)
    if first is None or first.value is None:
        return unanswered(first)
    ties = figures.find(MISS_BY_TIE.id, protocol="base", delta=1)
    missed = "" if ties is None or ties.value is None else f"; misses by {_missed_by(ties)} {figure(ties)}"
    floor = _limit(TARGET_SENSITIVITY)
    return (
        first.finding or "undefined",
        f"sees a difference of one step in {times(first, 'call')}, {figure(first)}, "
        f"floor {floor:g}{missed}{more_calls(first)}",
    )


def _missed_by(ties: Estimate) -> str:
    """What the calls were that named neither text."""
    if not ties.abstained:
        return "tie"
    return "abstention" if ties.abstained == ties.numerator else "tie or abstention"


def _threshold(figures: Figures) -> Answer | None:
    threshold = figures.find(DELTA75.id, protocol="base")
    if threshold is None or threshold.value is None:
        return unanswered(threshold)
    words = {
        "right": "is right in three calls of four at no step that was measured; the threshold is",
        "left": "is right in three calls of four at the smallest step already; the threshold is",
    }
    phrase = words.get(threshold.censored or "", "is right in three calls of four from a difference of")
    return "measured", f"{phrase} {figure(threshold)} steps"


def _criterion(figures: Figures) -> Answer | None:
    arms = [(arm, figures.find(CRITERION_SHIFT.id, protocol=arm, delta=0)) for arm in _arms(figures)]
    known = [(arm, shift) for arm, shift in arms if shift is not None]
    if not known:
        return None
    phrases = [_moved(figures, arm, shift) for arm, shift in known if shift.value is not None]
    if not phrases:
        return unanswered(known[0][1])
    return "measured", f"against the base instruction, {'; '.join(phrases)}"


def _arms(figures: Figures) -> list[str]:
    """Protocols that were compared with base, from lenient to strict."""
    found = figures.protocols(CRITERION_SHIFT.id)
    return sorted(found, key=lambda arm: GRADED.index(arm) if arm in GRADED else len(GRADED))


def _moved(figures: Figures, arm: str, equal: Estimate) -> str:
    """Both paired changes of one arm: what it does to ties between equals, and to sensitivity."""
    one = figures.find(SENSITIVITY_SHIFT.id, protocol=arm, delta=1)
    cost = "" if one is None or one.value is None else f", sensitivity at one step by {figure(one)}"
    return f"{arm} changes the tie rate between equals by {figure(equal)}{cost}"


def _natural(figures: Figures, protocol: str = "base") -> Answer | None:
    stays = figures.find(ORDER_CONSISTENCY.id, protocol=protocol)
    net = figures.find(NET_SLOT_PREFERENCE.id, protocol=protocol)
    if stays is None or net is None or stays.value is None:
        return unanswered(stays)
    flips = [figures.find(metric, protocol=protocol) for metric in (FLIP_FIRST.id, FLIP_SECOND.id)]
    directions = ", ".join(
        f"to slot {n} in {e.numerator}" for n, e in enumerate(flips, start=1) if e is not None
    )
    return (
        net.finding or "measured",
        f"names the same text in both orders for {times(stays, 'natural pair')}, "
        f"{figure(stays)}; flips {directions}; net slot-1 preference {figure(net)}{abstentions(stays)}"
        f"{more_calls(net)}",
    )


QUESTIONS: dict[str, Callable[[Figures], Answer | None]] = {
    "Zero point": _zero_point,
    "Position": _position,
    "Noise": _noise,
    "Surface": _surface,
    "Sensitivity": _sensitivity,
    "Threshold": _threshold,
    "Criterion": _criterion,
    "Instrument": instrument,
    NATURAL: _natural,
    "Accuracy": accuracy,
    "Leniency": leniency,
    "Length": length,
    "Strata": strata,
    "Robustness": robustness,
    "Repeatability": repeatability,
    "Volatility": volatility,
    "Cost": cost,
    "Failures": failures,
}
"""What a datasheet answers, in order."""


def _limit(metric: Metric) -> float:
    """What a datasheet holds the metric against."""
    if metric.limit is None:
        raise ValueError(f"{metric.id} has no limit")
    return metric.limit.value
