"""The prompts of authors, validators and embedding models, as protocols."""

from __future__ import annotations

from collections.abc import Mapping
from functools import cache
from importlib.resources import files

from steelyard.stimuli.authored.brief import GOALS, ORDINAL
from steelyard.trials.builtin_prompts import (
    POINTWISE_SYSTEM,
    POINTWISE_USER,
    TRANSCRIPT_SYSTEM,
    TRANSCRIPT_USER,
)
from steelyard.trials.exchange import EDITING_ROLES, VERIFIER
from steelyard.trials.judge import Protocol

GRADE, MEANING, EXPANSION, BORDER = "grade", "meaning", "expansion", "border"
"""What a validator is asked: a score, whether two texts say the same, or the same with explanation, whether a
score is open."""
QUESTIONS = {VERIFIER: GRADE}
"""Roles of editing whose question is called otherwise than they are."""
EMBED = "embedding"
"""What an embedding model is asked."""


@cache
def prompt_file(name: str) -> str:
    """The text of a prompt file."""
    return (files("steelyard.stimuli.authored") / "prompts" / f"{name}.md").read_text(encoding="utf-8")


AUTHOR_VARIABLES = frozenset({"exemplars", "expected", "fence", "high", "label", "low", "variant", "words"})
"""What the part of an author's prompt that says what to write may name."""


def author_protocols(own: Mapping[str, str] | None = None) -> dict[str, Protocol]:
    """Goal to prompt: what to write, in the study's words where it brings some, the material, the form."""
    material = {goal: "ordinal_material" if goal == ORDINAL else "material" for goal in GOALS}
    asked = {goal: f"{text.rstrip()}\n" for goal, text in (own or {}).items()}
    return {
        goal: Protocol(
            asked.get(goal, prompt_file(goal))
            + prompt_file(material[goal])
            + prompt_file("form").rstrip("\n"),
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


def editing_protocols(prompts: Mapping[str, str]) -> dict[str, dict[str, Protocol]]:
    """Role to its one question, in the study's own words where it brings some; a verifier has a judge's."""
    system = prompt_file("run_author").rstrip("\n")
    asked = {role: Protocol(prompt_file(f"run_{role}").rstrip("\n"), system) for role in EDITING_ROLES[:-1]}
    asked[VERIFIER] = Protocol(TRANSCRIPT_USER, TRANSCRIPT_SYSTEM)
    own = {role: Protocol(text, None) for role, text in prompts.items()}
    return {role: {QUESTIONS.get(role, role): own.get(role, asked[role])} for role in EDITING_ROLES}


def embedder_protocols() -> dict[str, Protocol]:
    """The text as it is."""
    return {EMBED: Protocol("{{ text }}")}
