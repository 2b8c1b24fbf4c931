"""What lenient and strict instructions do, in a sentence."""

from __future__ import annotations

from steelyard.datasheet.look_up import Figures
from steelyard.datasheet.readings.answer import Answer, unanswered
from steelyard.datasheet.words.numbers import figure
from steelyard.metrics.estimate import Estimate
from steelyard.metrics.pairs.criterion import CRITERION_SHIFT, SENSITIVITY_SHIFT
from steelyard.trials.builtin_prompts import GRADED


def criterion(figures: Figures) -> Answer | None:
    """How each protocol moves the ties between equals, against base."""
    arms = [(arm, figures.find(CRITERION_SHIFT.id, protocol=arm, delta=0)) for arm in _arms(figures)]
    known = [(arm, shift) for arm, shift in arms if shift is not None]
    if not known:
        return None
    phrases = [_changes(figures, arm, shift) for arm, shift in known if shift.value is not None]
    if not phrases:
        return unanswered(known[0][1])
    return "measured", f"against the base instruction, {'; '.join(phrases)}"


def _arms(figures: Figures) -> list[str]:
    """Protocols that were compared with base, from lenient to strict."""
    protocols = figures.protocols(CRITERION_SHIFT.id)
    return sorted(protocols, key=lambda arm: GRADED.index(arm) if arm in GRADED else len(GRADED))


def _changes(figures: Figures, arm: str, equal: Estimate) -> str:
    """Both paired changes of one arm: what it does to ties between equals, and to sensitivity."""
    one = figures.find(SENSITIVITY_SHIFT.id, protocol=arm, delta=1)
    price = "" if one is None or one.value is None else f", sensitivity at one step by {figure(one)}"
    return f"{arm} changes the tie rate between equals by {figure(equal)}{price}"
