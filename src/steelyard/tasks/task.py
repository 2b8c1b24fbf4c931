"""The question put to the judge."""

from __future__ import annotations

from dataclasses import dataclass

from steelyard.tasks.scale import Pairwise, Scale


@dataclass(frozen=True)
class Task:
    """Instruction, rubric and scale; the same for all items of a study."""

    instruction: str
    """What the judge is asked to do."""
    rubric: str
    """What counts."""
    scale: Scale
    """The admissible answers."""


CHECKLIST_TASK = Task(
    instruction="Decide which of two answers to a request is better.",
    rubric=(
        "The better answer gives more of the things the request asks for. "
        "Wording, style, sentence order and length do not count."
    ),
    scale=Pairwise(tie=True),
)
"""The question of the built-in catalogue."""
