"""What decides between two texts of equal quality, in sentences: the slot, noise, the wording."""

from __future__ import annotations

from steelyard.datasheet.look_up import Figures
from steelyard.datasheet.readings.answer import Answer, unanswered
from steelyard.datasheet.readings.more_data import more_calls
from steelyard.datasheet.words.numbers import figure, times
from steelyard.metrics.findings import BY_CHANCE
from steelyard.metrics.pairs.decomposition import POSITIONAL_FALSE_PREFERENCE, STABLE_CROSS_SENSITIVITY
from steelyard.metrics.pairs.equals import ONE_VERDICT
from steelyard.metrics.pairs.flip_estimates import FLIP_EXCESS, REPEAT_FLIP_RATE, SWAP_FLIP_RATE
from steelyard.metrics.pairs.slot import NET_SLOT_PREFERENCE


def position(figures: Figures) -> Answer | None:
    """Whether a slot is favoured."""
    net = figures.between_equals(NET_SLOT_PREFERENCE.id)
    share = figures.between_equals(POSITIONAL_FALSE_PREFERENCE.id)
    if net is None or net.value is None:
        return unanswered(net)
    words = {
        "flagged": f"favours slot {1 if net.value > 0 else 2} between equals",
        "clear": "treats the two slots alike within the margin",
        "inconclusive": "too few data to say whether a slot is favoured",
    }
    word = net.finding or "undefined"
    mixed = ", and prefers some wordings whatever the slot" if net.reading == "mixed" else ""
    same = "" if share is None or share.value is None else f"; same slot in both orders {figure(share)}"
    phrase = words.get(word, "slots compared")
    return word, f"{phrase}{mixed}: net slot-1 preference {figure(net)}{same}{more_calls(net)}"


def noise(figures: Figures) -> Answer | None:
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
    phrase = words.get(excess.finding or "", unsaid)
    return (
        excess.finding or "measured",
        f"{phrase}: repeat flips {figure(repeat)}, swap flips {figure(swap)}, excess {figure(excess)}"
        f"{more_calls(excess)}; whether one slot gains is told under Position",
    )


def surface(figures: Figures) -> Answer | None:
    """Whether it keeps to one wording in both orders."""
    stable = figures.between_equals(STABLE_CROSS_SENSITIVITY.id)
    if stable is None or stable.value is None:
        return unanswered(stable)
    if stable.reading == ONE_VERDICT:
        return "measured", (
            f"names one of two equally good wordings for {times(stable, 'pair')}, {figure(stable)}; "
            f"{ONE_VERDICT}, so these calls do not tell taste from noise"
        )
    chance = "" if stable.chance is None else f", {stable.chance:.2f} expected of independent calls"
    noise = "; too near to that to be told from noise"
    rest = noise if stable.reading == BY_CHANCE else more_calls(stable)
    sentence = (
        f"keeps to one of two equally good wordings in both orders for {times(stable, 'pair')}, "
        f"{figure(stable)}{chance}{rest}"
    )
    return stable.finding or "undefined", sentence
