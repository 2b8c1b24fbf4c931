"""`editing` of a study file: models, prompts and limits of those who edit runs of agents."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from pydantic import BaseModel, ConfigDict, Field

from steelyard.core.validation import checked
from steelyard.errors import ConfigError
from steelyard.study.editing import STEPS, SUMMARY_WORDS
from steelyard.study.judge_protocols import text_or_file
from steelyard.trials.exchange import EDITING_ROLES, EDITOR, PLANNER, SUMMARIZER, VERIFIER
from steelyard.trials.prompt import POINTWISE_VARIABLES, PromptTemplate

_SHARED = frozenset({"instruction", "rubric", "request", "target", "expected", "low", "high", "fence"})
VARIABLES = {
    PLANNER: _SHARED | {"transcript", "editable", "most", "feedback"},
    EDITOR: _SHARED
    | {"thesis", "steps", "goal", "number", "message", "calls", "before", "after", "edits", "summary"},
    SUMMARIZER: frozenset({"messages", "summary", "most", "fence"}),
    VERIFIER: POINTWISE_VARIABLES,
}
"""Role to what its prompt may name; what is wanted of a run is no word for its verifier."""
SHOWN = {PLANNER: {"transcript"}, EDITOR: {"message", "goal"}, SUMMARIZER: {"messages"}}
"""Role to what its prompt must show; a verifier's must show the run by either of its names."""


class EditingConfig(BaseModel):
    """`editing`: each role is a model, or a mapping with what differs from author or validator."""

    model_config = ConfigDict(extra="forbid", strict=True)

    planner: str | dict[str, Any] | None = None
    editor: str | dict[str, Any] | None = None
    summarizer: str | dict[str, Any] | None = None
    verifier: str | dict[str, Any] | None = None
    steps: int = Field(default=STEPS, ge=1, le=100)
    summary_words: int = Field(default=SUMMARY_WORDS, ge=10, le=10_000)


def parse_editing(body: Any, folder: Path, where: str) -> EditingConfig:
    """The `editing` key with its prompt files read, or what is wrong with it in one sentence."""
    config = checked(EditingConfig, body, where, under="editing")
    stated = [role for role in EDITING_ROLES if role in config.model_fields_set]
    read = {role: _with_prompt(getattr(config, role), role, folder, where) for role in stated}
    return config.model_copy(update=read)


def _with_prompt(given: Any, role: str, folder: Path, where: str) -> Any:
    if not isinstance(given, Mapping) or given.get("prompt") is None:
        return given
    place = f"{where}: editing.{role}.prompt"
    if not isinstance(given["prompt"], str):
        raise ConfigError(f"{place}: found {given['prompt']!r}, expected a file with a prompt; correct it.")
    text = text_or_file(given["prompt"], folder, place)
    named = PromptTemplate(text, place).check(VARIABLES[role])
    missing = {"transcript"} if role == VERIFIER and not named & {"transcript", "response"} else set()
    missing |= SHOWN.get(role, set()) - named
    if missing:
        raise ConfigError(f"{place}: does not show {{{{ {min(missing)} }}}}; add it.")
    return {**given, "prompt": text}
