"""The question put to the judge."""

from __future__ import annotations

from dataclasses import dataclass

from steelyard.tasks.scale import Pairwise, Scale


@dataclass(frozen=True)
class Task:
    instruction: str
    rubric: str
    scale: Scale


SURFACE_CLAUSE = "Wording, style, sentence order and length do not count."
"""The part of the catalogue's rubric that says what quality is not."""

CHECKLIST_TASK = Task(
    instruction="Decide which of two answers to a request is better.",
    rubric=f"The better answer gives more of the things the request asks for. {SURFACE_CLAUSE}",
    scale=Pairwise(tie=True),
)
