"""`author` and `validator` of a study file: strict, and every setting is really sent."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Annotated, Any, Literal, TypeVar

from pydantic import BaseModel, BeforeValidator, ConfigDict, Field, ValidationError

from steelyard.errors import ConfigError, UsageError
from steelyard.lab.study.judge_config import WIRE, as_mapping, parse_judge
from steelyard.lab.study.role_prompts import author_protocols, embedder_protocols, validator_protocols
from steelyard.lab.study.roles import EXAMPLES, Roles
from steelyard.providers.provider import connect
from steelyard.tasks.scale import Binary
from steelyard.trials.judge import Judge, Protocol

WORDLESS = ("embedded", "planted", "recorded")
"""Providers that give verdicts and write no text."""

TAKEN = ("model", *WIRE, "extra", "temperature", "max_tokens", "seed")
"""Settings that every model takes."""

Given = str | Mapping[str, Any]
"""A model as people write it."""


Limit = Annotated[float, Field(gt=0, le=1)]
"""A cosine."""


def _off(given: object) -> object:
    """YAML reads a bare `off` as false."""
    return "off" if given is False else given


class ModelConfig(BaseModel):
    """A model and how it is reached."""

    model_config = ConfigDict(extra="forbid", strict=True, allow_inf_nan=False)

    model: str
    base_url: str | None = None
    api_key_env: str | None = None
    timeout: float | None = Field(default=None, gt=0)
    input_price: float | None = Field(default=None, ge=0)
    output_price: float | None = Field(default=None, ge=0)
    extra: dict[str, Any] = {}


class RoleConfig(ModelConfig):
    """A model with its decoding."""

    temperature: float | None = Field(default=0.0, ge=0)
    max_tokens: int = Field(default=512, gt=0, le=10**9)
    seed: int | None = Field(default=None, ge=-(2**62), lt=2**62)


class AuthorConfig(RoleConfig):
    """`author`: what writes, how warm, how often, and how texts are compared."""

    temperature: float | None = Field(default=0.7, ge=0)
    temperature_cap: float = Field(default=1.2, ge=0)
    max_tokens: int = Field(default=2048, gt=0, le=10**9)
    attempts: int = Field(default=3, ge=1, le=20)
    exemplars: int = Field(default=EXAMPLES, ge=0, le=20)
    embeddings: str | dict[str, Any] | None = None
    similarity: Annotated[Limit | Literal["off"] | None, BeforeValidator(_off)] = None
    off_target: Literal["reject", "keep"] = "reject"


class ValidatorConfig(RoleConfig):
    """`validator`: what confirms, and what is asked where it gives no readable answer."""

    fallback: str | dict[str, Any] | None = None


Config = TypeVar("Config", bound=ModelConfig)


def parse_roles(author: Given, validator: Given | None) -> Roles:
    """The roles of a study file; what is wrong with them is said in one sentence."""
    if validator is None:
        raise ConfigError(
            "validator: found none, expected a model that confirms what the author writes; "
            "add validator: {model: …}."
        )
    written = _validated(AuthorConfig, author, "author")
    confirmed = _validated(ValidatorConfig, validator, "validator")
    fallback, embeddings = confirmed.fallback, written.embeddings
    return Roles(
        author=_model(written, "author", author_protocols()),
        validator=_model(confirmed, "validator", validator_protocols()),
        fallback=None if fallback is None else _fallback(fallback),
        attempts=written.attempts,
        temperature_cap=written.temperature_cap,
        exemplars=written.exemplars,
        embedder=None if embeddings is None else _embedder(embeddings),
        similarity=None if written.similarity == "off" else written.similarity,
        compared=written.similarity != "off",
        off_target=written.off_target,
    )


def _fallback(given: Given) -> Judge:
    where = "validator.fallback"
    return _model(_validated(RoleConfig, given, where), where, validator_protocols(), "fallback validator")


def _embedder(given: Given) -> Judge:
    where = "author.embeddings"
    return _model(_validated(ModelConfig, given, where), where, embedder_protocols(), "embeddings")


def _validated(kind: type[Config], given: Given, where: str) -> Config:
    try:
        return kind.model_validate(as_mapping(given, where))
    except ValidationError as error:
        problem = error.errors()[0]
    key = str(problem["loc"][0])
    if problem["type"] == "extra_forbidden":
        raise ConfigError(f"{where}: unknown key {key!r}; known keys: {', '.join(kind.model_fields)}.")
    if problem["type"] == "missing":
        raise ConfigError(f"{where}: no {key!r} found, expected one such as openai/gpt-4o-mini; add it.")
    raise ConfigError(f"{where}: {key}: {problem['msg']}, found {problem['input']!r}; correct it.")


def _model(
    config: ModelConfig, where: str, protocols: Mapping[str, Protocol], name: str | None = None
) -> Judge:
    """The model as a judge of its own, with the questions of its role."""
    provider = config.model.partition("/")[0]
    if provider in WORDLESS:
        raise ConfigError(
            f"{where}: {config.model!r} gives verdicts and writes no text; "
            "name a model behind a server, such as openai/NAME?base_url=…."
        )
    body = {key: value for key, value in config.model_dump().items() if key in TAKEN and value is not None}
    if isinstance(config, RoleConfig):
        body["temperature"] = config.temperature
    try:
        judge = parse_judge(body, Path(), Binary())
        judge = replace(judge, name=name or where, protocols=protocols)
        connect(judge)
    except UsageError as error:
        raise type(error)(f"{where}: {error}") from error
    return judge
