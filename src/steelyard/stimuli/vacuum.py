"""True-vacuum stimuli: pairs of equal texts, and single responses without any content."""

from __future__ import annotations

from dataclasses import replace

from steelyard.stimuli.expectation import Label
from steelyard.stimuli.ladder import checklist_pair, compose
from steelyard.stimuli.original import original_of
from steelyard.stimuli.stimulus import Lineage, Stimulus
from steelyard.tasks.checklist import Checklist
from steelyard.tasks.task import Item, Task

BLANKS = ("   ", "\n\n")


def vacuum_pair(checklist: Checklist, kind: str, which: int, seed: int) -> Stimulus:
    """A vacuum pair of one kind; `which` (0 or 1) picks the blank or the text, and is 0 for empty."""
    if kind == "identical":
        text = compose(checklist, seed)[which].prefix((3, checklist.depth)[which])
    else:
        text = BLANKS[which] if kind == "blank" else ""
    texts, edit = (text, text), f"both candidates {kind}"
    return checklist_pair(checklist, "vacuum", f"{kind}-{which}", kind, texts, edit)


TEXTS: dict[str, tuple[str, ...]] = {
    "empty": ("",),
    "blank": BLANKS,
    "off_topic": (
        "The tram museum opens at ten on weekdays and shows forty restored cars in its main hall.",
        "Larches are conifers that shed their needles in autumn, after the needles have turned gold.",
        "In a string quartet the viola sits between the second violin and the cello.",
    ),
    "dont_know": (
        "I don't know.",
        "I have no idea, sorry.",
        "I cannot say anything about that.",
    ),
    "master_key": (
        ":",
        ".",
        "Solution",
        "Thought process:",
        "Let's solve this step by step.",
        "Answer:",
        "Final answer",
        "Lösung:",
    ),
}
"""Kind to its responses. Master keys open an answer and give none."""


def vacuum_response(item: Item, task: Task, kind: str, which: int) -> Stimulus:
    edit = f"{kind.replace('_', ' ')} in place of the response"
    return replace(
        original_of(item, task),
        id=f"{item.id}/vacuum/{kind}-{which}",
        probe="vacuum",
        kind=kind,
        texts=(TEXTS[kind][which],),
        expectation=Label((item.scale or task.scale).answers[0]),
        lineage=Lineage(parent=item.id, edit=edit, author="catalogue"),
        authors=None,
        transcript=None,
    )
