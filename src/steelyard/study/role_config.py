"""`author`, `validator` and `editing` of a study file: unknown keys raise an error."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Annotated, Any, Literal, TypeVar

from pydantic import BaseModel, BeforeValidator, ConfigDict, Field

from steelyard.core.validation import Expected, checked
from steelyard.errors import ConfigError, UsageError
from steelyard.providers.planted.planted_judges import EXAMPLE_SERVER
from steelyard.providers.provider import connect
from steelyard.stimuli.authored.brief import GOALS
from steelyard.study.judge_address import as_mapping, convert_query, judge_place, provider_options
from steelyard.study.judge_config import ADDRESS, judge_info, parse_judge
from steelyard.study.judge_protocols import text_or_file
from steelyard.study.roles import (
    AUTHOR_VARIABLES,
    EMBED,
    EXAMPLES,
    STEPS,
    SUMMARY_WORDS,
    Editing,
    Roles,
    author_protocols,
    editing_protocols,
    validator_protocols,
)
from steelyard.tasks.scale import Binary, Pairwise
from steelyard.trials.exchange import EDITING_ROLES, EDITOR, PLANNER, SUMMARIZER, VERIFIER
from steelyard.trials.judge import Judge, Protocol
from steelyard.trials.prompt import POINTWISE_VARIABLES, PromptTemplate, check_braces

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
    model_config = ConfigDict(extra="forbid", strict=True)

    planner: str | dict[str, Any] | None = None
    editor: str | dict[str, Any] | None = None
    summarizer: str | dict[str, Any] | None = None
    verifier: str | dict[str, Any] | None = None
    steps: int = Field(default=STEPS, ge=1, le=100)
    summary_words: int = Field(default=SUMMARY_WORDS, ge=10, le=10_000)


def read_prompts(config: EditingConfig, folder: Path, where: str) -> EditingConfig:
    read = {}
    for role in EDITING_ROLES:
        given = getattr(config, role)
        if isinstance(given, Mapping) and given.get("prompt") is not None:
            place = f"{where}: editing.{role}.prompt"
            read[role] = {**given, "prompt": _read_prompt(given["prompt"], role, folder, place)}
    return config.model_copy(update=read)


def _read_prompt(file: object, role: str, folder: Path, place: str) -> str:
    if not isinstance(file, str):
        raise ConfigError(f"{place}: found {file!r}, expected a file with a prompt; correct it.")
    text = text_or_file(file, folder, place)
    check_prompt(role, text, place)
    return text


def check_prompt(name: str, text: str, place: str) -> None:
    """Refuse words of a study for a goal of its author, or for a role of editing, that cannot be sent."""
    if not text.strip():
        raise ConfigError(f"{place}: found an empty text, expected what to write; add it.")
    allowed = VARIABLES.get(name, AUTHOR_VARIABLES)
    check_braces(text, allowed, place, jinja=True)
    named = PromptTemplate(text, place).check(allowed)
    missing = {"transcript"} if name == VERIFIER and not named & {"transcript", "response"} else set()
    missing |= SHOWN.get(name, set()) - named
    if missing:
        raise ConfigError(f"{place}: does not show {{{{ {min(missing)} }}}}; add it.")


TAKEN = ("model", "extra", "temperature", "max_tokens", "seed")

Given = str | Mapping[str, Any]


Limit = Annotated[float, Field(gt=0, le=1)]
"""A cosine."""


def _off(given: object) -> object:
    """YAML reads a bare `off` as false."""
    return "off" if given is False else given


class ModelConfig(BaseModel):
    model_config = ConfigDict(extra="forbid", strict=True, allow_inf_nan=False)

    model: Annotated[str, Expected(ADDRESS)]
    extra: dict[str, Any] = {}


class RoleConfig(ModelConfig):
    temperature: float | None = Field(default=0.0, ge=0)
    max_tokens: int = Field(default=512, gt=0, le=10**9)
    seed: int | None = Field(default=None, ge=-(2**62), lt=2**62)


class AuthorConfig(RoleConfig):
    temperature: float | None = Field(default=0.7, ge=0)
    temperature_cap: float = Field(default=1.2, ge=0)
    max_tokens: int = Field(default=2048, gt=0, le=10**9)
    attempts: int = Field(default=3, ge=1, le=20)
    exemplars: int = Field(default=EXAMPLES, ge=0, le=20)
    embeddings: str | dict[str, Any] | None = None
    similarity: Annotated[Limit | Literal["off"] | None, BeforeValidator(_off)] = None
    off_target: Literal["reject", "keep"] = "reject"
    prompts: dict[str, str] = {}


class ValidatorConfig(RoleConfig):
    fallback: str | dict[str, Any] | None = None


class EditingRoleConfig(RoleConfig):
    prompt: str | None = None


class StageConfig(EditingRoleConfig):
    temperature: float | None = Field(default=0.7, ge=0)
    max_tokens: int = Field(default=2048, gt=0, le=10**9)


class SummarizerConfig(EditingRoleConfig):
    max_tokens: int = Field(default=1024, gt=0, le=10**9)


_STAGES: Mapping[str, type[RoleConfig]] = {
    PLANNER: StageConfig,
    EDITOR: StageConfig,
    SUMMARIZER: SummarizerConfig,
    VERIFIER: EditingRoleConfig,
}

Config = TypeVar("Config", bound=ModelConfig)


def parse_roles(author: Given, validator: Given | None, editing: EditingConfig | None = None) -> Roles:
    if validator is None:
        raise ConfigError(
            "validator: found none, expected a model that confirms what the author writes; "
            "add validator: {model: …}."
        )
    written, writer = _role(AuthorConfig, author, "author", author_protocols())
    writer = replace(writer, protocols=author_protocols(_own_prompts(written.prompts)))
    confirmed, confirmer = _role(ValidatorConfig, validator, "validator", validator_protocols())
    fallback = embedder = None
    if confirmed.fallback is not None:
        protocols = validator_protocols()
        _, fallback = _role(
            RoleConfig, confirmed.fallback, "validator.fallback", protocols, "fallback validator"
        )
    if written.embeddings is not None:
        protocols = {EMBED: Protocol("{{ text }}")}
        _, embedder = _role(ModelConfig, written.embeddings, "author.embeddings", protocols, "embeddings")
    return Roles(
        author=writer,
        validator=confirmer,
        fallback=fallback,
        attempts=written.attempts,
        temperature_cap=written.temperature_cap,
        exemplars=written.exemplars,
        embedder=embedder,
        similarity=None if written.similarity == "off" else written.similarity,
        compared=written.similarity != "off",
        editing=_editing(author, validator, editing or EditingConfig()),
        off_target=written.off_target,
        prompts=tuple(sorted(written.prompts.items())),
    )


def _own_prompts(given: Mapping[str, str]) -> Mapping[str, str]:
    for goal, text in given.items():
        if goal not in GOALS:
            raise ConfigError(
                f"author.prompts: found {goal!r}, expected one of {', '.join(GOALS)}; correct the name."
            )
        check_prompt(goal, text, f"author.prompts.{goal}")
    return given


def _editing(author: Given, validator: Given, given: EditingConfig) -> Editing:
    """Who edits runs: the author's model, checked by the validator's, where nobody else is named."""
    stages: dict[str, dict[str, Any]] = {}
    for role in EDITING_ROLES:
        stated = getattr(given, role)
        stages[role] = {} if stated is None else as_mapping(stated, f"editing.{role}")
    prompts = {role: str(body["prompt"]) for role, body in stages.items() if body.get("prompt") is not None}
    protocols = editing_protocols(prompts)
    models = {}
    for role, kind in _STAGES.items():
        base = (validator, ValidatorConfig) if role == VERIFIER else (author, AuthorConfig)
        body = stages[role] if "model" in stages[role] else {**_inherited(*base), **stages[role]}
        _, models[role] = _role(kind, body, f"editing.{role}", protocols[role], role)
    return Editing(
        **models,
        steps=given.steps,
        summary_words=given.summary_words,
        prompts=tuple(prompts.items()),
        stated=bool(given.model_fields_set),
    )


def _inherited(given: Given, kind: type[RoleConfig]) -> dict[str, Any]:
    own = set(kind.model_fields) - set(RoleConfig.model_fields)
    return {key: value for key, value in as_mapping(given, "").items() if key not in own}


def _role(
    kind: type[Config], given: Given, where: str, protocols: Mapping[str, Protocol], name: str | None = None
) -> tuple[Config, Judge]:
    """What a role says of itself, and its model as a judge of its own with the questions of the role."""
    body = as_mapping(given, where)
    own = {key: value for key, value in body.items() if key in kind.model_fields}
    config = checked(kind, convert_query(own, kind), where)
    try:
        info = judge_info(config.model, judge_place(config.model))
    except UsageError as error:
        raise type(error)(f"{where}: {error}") from error
    if not info.can_write:
        raise ConfigError(
            f"{where}: {config.model!r} gives verdicts and writes no text; "
            f"name a model behind a server, such as {EXAMPLE_SERVER}."
        )
    provider_options(info.options, body, kind.model_fields, where)
    settings = {key: value for key, value in config.model_dump().items() if key in TAKEN}
    reached = {key: value for key, value in body.items() if key in info.options.model_fields}
    try:
        judge = parse_judge({**reached, **settings}, Path(), Binary() if info.can_score else Pairwise())
        judge = replace(judge, name=name or where, protocols=protocols)
        connect(judge)
    except UsageError as error:
        raise type(error)(f"{where}: {error}") from error
    return config, judge
