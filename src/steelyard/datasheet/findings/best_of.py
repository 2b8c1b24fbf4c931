"""The finding on the best of several responses: does the choice follow the response, or its slot?"""

from __future__ import annotations

from steelyard.datasheet.estimate_index import JudgeEstimates
from steelyard.datasheet.findings.answer import Answer, undefined_answer
from steelyard.datasheet.findings.more_data import more_calls
from steelyard.datasheet.words.numbers import defined, figure, times
from steelyard.metrics.estimate import Estimate
from steelyard.metrics.findings import CLEAR, FLAGGED, INCONCLUSIVE, MARGIN
from steelyard.metrics.scores.best_of import ROTATION_CONSISTENCY, ROTATION_VOTE_ACCURACY, SLOT_PREFERENCE
from steelyard.stimuli.best_of import BEST_OF_PROBE


def rotation(figures: JudgeEstimates) -> Answer | None:
    slot, stays, vote = (
        figures.of_probe(BEST_OF_PROBE, metric.id, protocol="base")
        for metric in (SLOT_PREFERENCE, ROTATION_CONSISTENCY, ROTATION_VOTE_ACCURACY)
    )
    if not defined(slot):
        return undefined_answer(slot)
    parts = [f"{favours_slot(slot)}: {figure(slot)} from an even share, margin {MARGIN:g}"]
    if defined(stays):
        parts.append(f"names the same response in every rotation for {_items(stays)}, {figure(stays)}")
    if defined(vote):
        parts.append(f"the vote of the rotations is right for {_items(vote)}, {figure(vote)}")
    return slot.status or "undefined", "; ".join(parts) + more_calls(slot)


def _items(share: Estimate) -> str:
    repeated = share.denominator != share.n_units
    return times(share, "item") + (" and repeats" if repeated else "")


def favours_slot(slot: Estimate) -> str:
    verb = "favours" if (slot.value or 0.0) > 0 else "avoids"
    words = {
        FLAGGED: f"{verb} slot {slot.answer}",
        CLEAR: "favours no slot beyond the margin",
        INCONCLUSIVE: "too few data to say whether it favours a slot",
    }
    return words.get(slot.status or "", f"slot {slot.answer} lies farthest from even")
