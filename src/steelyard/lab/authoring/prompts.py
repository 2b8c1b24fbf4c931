"""The questions put to authors and validators: prompt files, and the values that go into them."""

from __future__ import annotations

from collections.abc import Mapping
from functools import cache
from importlib.resources import files

from steelyard.stimuli.authored.brief import GOALS, ORDINAL, Brief
from steelyard.stimuli.authored.checks import words
from steelyard.tasks.scale import Ordinal
from steelyard.tasks.task import Task
from steelyard.trials.builtin_prompts import POINTWISE_SYSTEM, POINTWISE_USER
from steelyard.trials.judge import Judge, Protocol
from steelyard.trials.presentation import Message
from steelyard.trials.prompt import PromptTemplate

GRADE, MEANING, EXPANSION, BORDER = "grade", "meaning", "expansion", "border"
"""What a validator is asked: a score, whether two texts say the same, or the same with explanation, whether a
score is open."""
EMBED = "embedding"
"""What an embedding model is asked."""


@cache
def prompt_file(name: str) -> str:
    """The text of a prompt file."""
    return (files("steelyard.stimuli.authored") / "prompts" / f"{name}.md").read_text(encoding="utf-8")


def author_protocols() -> dict[str, Protocol]:
    """Goal to prompt: what to write, the material, the form of the reply."""
    material = {goal: "ordinal_material" if goal == ORDINAL else "material" for goal in GOALS}
    return {
        goal: Protocol(
            prompt_file(goal) + prompt_file(material[goal]) + prompt_file("form").rstrip("\n"),
            prompt_file("author").rstrip("\n"),
        )
        for goal in GOALS
    }


def validator_protocols() -> dict[str, Protocol]:
    """A judge's own question for grades, so that the rubric counts as it is; other questions beside it."""
    system = prompt_file("validator").rstrip("\n")
    return {
        GRADE: Protocol(POINTWISE_USER, POINTWISE_SYSTEM),
        MEANING: Protocol(prompt_file("meaning").rstrip("\n"), system),
        EXPANSION: Protocol(prompt_file("expansion").rstrip("\n"), system),
        BORDER: Protocol(prompt_file("border").rstrip("\n"), system),
    }


def embedder_protocols() -> dict[str, Protocol]:
    """The text as it is."""
    return {EMBED: Protocol("{{ text }}")}


def question_of(brief: Brief, task: Task) -> Task:
    """Instruction, rubric and scale that hold for the item of a brief."""
    item = brief.item
    return Task(
        task.instruction if item.instruction is None else item.instruction,
        item.rubric or task.rubric,
        item.scale or task.scale,
    )


def values_of(brief: Brief, task: Task, **more: object) -> dict[str, object]:
    """Everything that a prompt may name."""
    asked, item = question_of(brief, task), brief.item
    scale = asked.scale
    low, high = (scale.low, scale.high) if isinstance(scale, Ordinal) else (0, 1)
    return {
        "instruction": asked.instruction,
        "rubric": asked.rubric,
        "request": item.request,
        "reference": item.reference or "",
        "response": item.responses[0],
        "label": item.label,
        "expected": brief.expected,
        "low": low,
        "high": high,
        "variant": 1 + brief.number // len(scale.answers),
        "words": len(words(item.responses[0])),
        "exemplars": (),
        "feedback": "",
        **more,
    }


def rendered(judge: Judge, protocol: str, values: Mapping[str, object]) -> tuple[Message, ...]:
    """The messages of one question."""
    asked = judge.protocols[protocol]
    parts = [("system", asked.system), ("user", asked.user)]
    return tuple(
        Message(role, PromptTemplate(text, f"{judge.name}, {protocol} prompt").render(values))
        for role, text in parts
        if text is not None
    )
