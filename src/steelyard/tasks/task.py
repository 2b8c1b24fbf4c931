"""The question put to the judge."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from steelyard.core.content_hash import content_hash
from steelyard.tasks.scale import Pairwise, Scale


@dataclass(frozen=True)
class Task:
    instruction: str
    rubric: str
    scale: Scale


def question_hash(tasks: Iterable[Task]) -> str:
    """Of the instructions and rubrics that are shown."""
    return content_hash([[*pair] for pair in sorted({(task.instruction, task.rubric) for task in tasks})])


SURFACE_CLAUSE = "Wording, style, sentence order and length do not count."
"""The part of the catalogue's rubric that says what quality is not."""

CHECKLIST_TASK = Task(
    instruction="Decide which of two answers to a request is better.",
    rubric=f"The better answer gives more of the things the request asks for. {SURFACE_CLAUSE}",
    scale=Pairwise(tie=True),
)
