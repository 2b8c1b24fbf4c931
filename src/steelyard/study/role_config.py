"""`author`, `validator` and `editing` of a study file: unknown keys raise an error."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any, TypeVar

from pydantic import Field

from steelyard.core.validation import StrictModel, checked
from steelyard.errors import ConfigError, UsageError
from steelyard.providers.planted.planted_judges import EXAMPLE_SERVER
from steelyard.providers.provider import connect
from steelyard.stimuli.brief import GOALS
from steelyard.study.composite_judges import Given, as_mapping, convert_query, judge_place, provider_options
from steelyard.study.judge_config import judge_info, parse_judge
from steelyard.study.judge_protocols import text_or_file
from steelyard.study.roles import (
    AUTHOR_VARIABLES,
    EMBED,
    STEPS,
    SUMMARY_WORDS,
    AuthorConfig,
    Editing,
    ModelConfig,
    RoleConfig,
    Roles,
    author_protocols,
    editing_protocols,
    validator_protocols,
)
from steelyard.tasks.task import Binary, Pairwise
from steelyard.trials.judge import Judge, Protocol
from steelyard.trials.prompt import POINTWISE_VARIABLES, PromptTemplate
from steelyard.trials.template_reader import JUDGE_NAMES, TemplateNames, read_template
from steelyard.trials.trial import EDITING_ROLES, EDITOR, PLANNER, SUMMARIZER, VERIFIER

_WANTED = frozenset({"target", "expected"})
_SHARED = _WANTED | {"instruction", "rubric", "request", "low", "high", "fence"}
VARIABLES = {
    PLANNER: _SHARED | {"transcript", "agent_messages", "editable", "most", "feedback"},
    EDITOR: _SHARED
    | {"thesis", "steps", "goal", "number", "message", "text", "calls"}
    | {"before", "after", "edits", "summary"},
    SUMMARIZER: frozenset({"messages", "summary", "most", "fence"}),
    VERIFIER: POINTWISE_VARIABLES,
}
"""Role to what its prompt may name; what is wanted of a run is no word for its verifier."""
SHOWN = {
    PLANNER: (("transcript", "agent_messages"),),
    EDITOR: (("goal",), ("message", "text")),
    SUMMARIZER: (("messages",),),
    VERIFIER: (("transcript", "response"),),
}
"""Role to what its prompt must show: one of each."""
_PLAN = "{{ rubric }}\n\nThe plan: {{ thesis }}\nThe goal of this edit: {{ goal }}"
HARNESS_NAMES: Mapping[str, Mapping[str, str]] = {
    PLANNER: {
        "rubric_id": "",
        "rubric_instructions": "{{ rubric }}",
        "assistant_transcript": "{{ agent_messages }}",
        "max_steps": "{{ most }}",
        "ordinal_guidance": "{{ target }}",
    },
    EDITOR: {
        "run_id": "",
        "message_id": "{{ number }}",
        "original_message": "{{ text }}",
        "ordinal_guidance": "{{ target }}",
    },
    SUMMARIZER: {"chronological_log": "{{ messages }}"},
    VERIFIER: {**JUDGE_NAMES, "rubric_instruction": "{{ rubric }}", "summary": ""},
}
"""Role to the names in the harness's templates, and what stands for them."""


class EditingConfig(StrictModel):
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
        if isinstance(given, Mapping) and (file := given.get("prompt")) is not None:
            place = f"{where}: editing.{role}.prompt"
            if not isinstance(file, str):
                raise ConfigError(f"{place}: found {file!r}, expected a file with a prompt; correct it.")
            text = text_or_file(file, folder, place)
            check_prompt(role, text, place)
            read[role] = {**given, "prompt": text}
    return config.model_copy(update=read)


def check_prompt(name: str, text: str, place: str, notes: list[str] | None = None) -> str:
    """A study's words for a goal of its author or a role of editing, as Jinja2; none that cannot be sent."""
    if not text.strip():
        raise ConfigError(f"{place}: found an empty text, expected what to write; add it.")
    allowed, others = VARIABLES.get(name, AUTHOR_VARIABLES), HARNESS_NAMES.get(name, {})
    if "{original_message}" in text:
        others = {**others, "rubric": _PLAN}  # the harness shows its editor the plan there
    text = read_template(text, TemplateNames(allowed, others, elsewhere=_WANTED), place, notes)
    named = PromptTemplate(text, place).check(allowed)
    hidden = [names[0] for names in SHOWN.get(name, ()) if not named.intersection(names)]
    if hidden:
        raise ConfigError(f"{place}: does not show {{{{ {hidden[0]} }}}}; add it.")
    return text


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


def parse_roles(
    author: Given,
    validator: Given | None,
    editing: EditingConfig | None = None,
    notes: list[str] | None = None,
) -> Roles:
    """Build the models that write and confirm; `notes` takes what the user should know of their prompts."""
    if validator is None:
        raise ConfigError(
            "validator: found none, expected a model that confirms what the author writes; "
            "add validator: {model: …}."
        )
    written, writer = _role(AuthorConfig, author, "author", author_protocols())
    prompts = {}
    for goal, text in written.prompts.items():
        if goal not in GOALS:
            raise ConfigError(
                f"author.prompts: found {goal!r}, expected one of {', '.join(GOALS)}; correct the name."
            )
        prompts[goal] = check_prompt(goal, text, f"author.prompts.{goal}", notes)
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
        author=replace(writer, protocols=author_protocols(prompts)),
        validator=confirmer,
        own=written,
        fallback=fallback,
        embedder=embedder,
        editing=_editing(author, validator, editing or EditingConfig(), notes),
    )


def _editing(author: Given, validator: Given, given: EditingConfig, notes: list[str] | None) -> Editing:
    """Who edits runs: the author's model, checked by the validator's, where nobody else is named."""
    stages: dict[str, dict[str, Any]] = {}
    for role in EDITING_ROLES:
        stated = getattr(given, role)
        stages[role] = {} if stated is None else as_mapping(stated, f"editing.{role}")
    prompts = {role: str(body["prompt"]) for role, body in stages.items() if body.get("prompt") is not None}
    read = {role: check_prompt(role, text, f"editing.{role}.prompt", notes) for role, text in prompts.items()}
    protocols = editing_protocols(read)
    models = {}
    for role, kind in _STAGES.items():
        body = stages[role]
        if "model" not in body:  # all that its author or validator says, but what only these have
            base = as_mapping(validator if role == VERIFIER else author, "")
            own = ValidatorConfig if role == VERIFIER else AuthorConfig
            alone = own.model_fields.keys() - RoleConfig.model_fields.keys()
            body = {**{key: value for key, value in base.items() if key not in alone}, **body}
        _, models[role] = _role(kind, body, f"editing.{role}", protocols[role], role)
    return Editing(
        **models,
        steps=given.steps,
        summary_words=given.summary_words,
        prompts=tuple(prompts.items()),
        stated=bool(given.model_fields_set),
    )


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
    settings = {key: value for key, value in config.model_dump().items() if key in RoleConfig.model_fields}
    reached = {key: value for key, value in body.items() if key in info.options.model_fields}
    try:
        judge = parse_judge({**reached, **settings}, Path(), Binary() if info.can_score else Pairwise())
        judge = replace(judge, name=name or where, protocols=protocols)
        connect(judge)
    except UsageError as error:
        raise type(error)(f"{where}: {error}") from error
    return config, judge
