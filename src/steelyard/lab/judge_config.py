"""Judges as people write them: `provider/model?key=value` or a mapping in YAML."""

from __future__ import annotations

import os
from collections.abc import Mapping
from pathlib import Path
from typing import Any
from urllib.parse import parse_qsl

from pydantic import BaseModel, ConfigDict, Field, ValidationError

from steelyard.errors import ConfigError, UnknownNameError
from steelyard.lab.judge_defaults import PLANTED_PARAMETERS, default_protocols
from steelyard.providers.provider import PROVIDERS
from steelyard.registry import Spec
from steelyard.tasks.scale import Pairwise, Scale
from steelyard.trials.judge import Judge, Protocol
from steelyard.trials.presentation import Decoding
from steelyard.trials.prompt import PAIRWISE_VARIABLES, POINTWISE_VARIABLES, PromptTemplate
from steelyard.verdicts.readers import READERS

PLANNED_PROVIDERS = ("anthropic", "google", "bedrock", "recorded")
"""Named in the contract, not built yet."""

TEXT_READERS = ("choice", "json", "logprob")


class JudgeConfig(BaseModel):
    """A judge in a study file."""

    model_config = ConfigDict(extra="forbid", strict=True)

    model: str
    name: str | None = Field(default=None, pattern=r"^[^\x00-\x1f\x7f]{1,80}$")
    prompt: str | None = None
    system: str | None = None
    rubric: str | None = None
    temperature: float | None = 0.0
    max_tokens: int = Field(default=512, gt=0)
    seed: int | None = None
    reader: str | dict[str, str] | None = None
    protocols: dict[str, str | dict[str, Any]] = {}
    margin: float | None = None
    extra: dict[str, Any] = {}
    base_url: str | None = None
    api_key_env: str | None = None
    timeout: float | None = Field(default=None, gt=0)
    s: float | None = None
    beta: float | None = None
    tau: float | None = None
    tau_strict: float | None = None
    sigma: float | None = None
    lapse: float | None = None


def parse_judge(given: str | Mapping[str, Any], folder: Path, scale: Scale) -> Judge:
    """Build a Judge; paths are relative to `folder`."""
    where = (
        f"judge {given!r}" if isinstance(given, str) else f"judge {given.get('name') or given.get('model')!r}"
    )
    config = _validated(_as_mapping(given, where), where)
    provider, _, model = config.model.partition("/")
    if not model:
        raise ConfigError(f"{where}: found no '/', expected provider/model such as openai/gpt-4o.")
    _check_provider(provider, where)
    _check_options(config, provider, where)
    protocols = _protocols(config, provider, model, folder, scale, where)
    return Judge(
        name=config.name or config.model,
        provider=provider,
        model=model,
        protocols=protocols,
        decoding=Decoding(config.temperature, config.max_tokens, config.seed, config.extra),
        options=_options(config, provider),
        rubric=None if config.rubric is None else text_or_file(config.rubric, folder, where),
    )


def text_or_file(value: str, folder: Path, where: str) -> str:
    """A template or text as it is when it spans lines or holds `{{`; the content of a file otherwise."""
    if "\n" in value or "{{" in value:
        return value
    path = folder / value
    try:
        return path.read_text(encoding="utf-8")
    except (OSError, ValueError) as error:
        raise ConfigError(f"{where}: cannot read {path} ({error}); expected a UTF-8 text file.") from error


def _as_mapping(given: str | Mapping[str, Any], where: str) -> dict[str, Any]:
    if not isinstance(given, str):
        body = dict(given)
        if "model" in body and isinstance(body["model"], str) and "?" in body["model"]:
            body = {**_as_mapping(body["model"], where), **{k: v for k, v in body.items() if k != "model"}}
        return body
    model, _, query = given.partition("?")
    try:
        pairs = parse_qsl(query, keep_blank_values=True, strict_parsing=bool(query))
    except ValueError as error:
        raise ConfigError(f"{where}: the query after '?' must read key=value&key=value ({error}).") from error
    return {"model": model, **{key: _typed(key, value) for key, value in pairs}}


def _typed(key: str, value: str) -> object:
    """A query value has no type of its own: numbers and null become what they look like."""
    if key in ("model", "name", "prompt", "system", "rubric", "reader", "base_url", "api_key_env"):
        return value
    if value in ("null", "none", ""):
        return None
    for convert in (int, float):
        try:
            return convert(value)
        except ValueError:
            continue
    return value


def _validated(body: dict[str, Any], where: str) -> JudgeConfig:
    try:
        return JudgeConfig.model_validate(body)
    except ValidationError as error:
        problem = error.errors()[0]
        key = ".".join(str(part) for part in problem["loc"])
        if problem["type"] == "extra_forbidden":
            known = ", ".join(JudgeConfig.model_fields)
            raise ConfigError(f"{where}: unknown key {key!r}; known keys: {known}.") from error
        raise ConfigError(f"{where}: {key}: {problem['msg']}, found {problem['input']!r}.") from error


def _check_provider(provider: str, where: str) -> None:
    if provider in PLANNED_PROVIDERS:
        raise ConfigError(
            f"{where}: provider {provider!r} is not built yet; "
            "use openai/NAME?base_url=… for any chat-completions server, embedded/… or planted/…."
        )
    if provider not in PROVIDERS.names():
        raise UnknownNameError(
            f"{where}: unknown provider {provider!r}; known: {', '.join(PROVIDERS.names())}."
        )


def _check_options(config: JudgeConfig, provider: str, where: str) -> None:
    """Refuse a key that this provider would silently ignore."""
    given = {name for name in PLANTED_PARAMETERS if getattr(config, name) is not None}
    if given and config.model != "planted/probit":
        raise ConfigError(f"{where}: key {min(given)!r} belongs to planted/probit only.")
    wire = {name for name in ("base_url", "api_key_env", "timeout") if getattr(config, name) is not None}
    if wire and provider in ("embedded", "planted"):
        raise ConfigError(
            f"{where}: key {min(wire)!r} belongs to judges behind HTTP; {provider} judges run in process."
        )
    if config.margin is not None and not config.model.endswith("-likelihood"):
        raise ConfigError(f"{where}: key 'margin' belongs to likelihood judges only.")


def _options(config: JudgeConfig, provider: str) -> dict[str, Any]:
    names = ["base_url", "api_key_env", "timeout", *PLANTED_PARAMETERS]
    options = {name: getattr(config, name) for name in names if getattr(config, name) is not None}
    options.pop("tau_strict", None)
    if provider == "openai" and "base_url" not in options and os.environ.get("OPENAI_BASE_URL"):
        options["base_url"] = os.environ["OPENAI_BASE_URL"]
    if provider == "planted" and config.seed is not None:
        options["seed"] = config.seed
    return options


def _protocols(
    config: JudgeConfig, provider: str, model: str, folder: Path, scale: Scale, where: str
) -> dict[str, Protocol]:
    protocols = default_protocols(provider, model, config.margin, config.tau, config.tau_strict)
    if config.prompt is not None or config.system is not None or config.reader is not None:
        protocols = {"base": protocols["base"]}
    own = {"prompt": config.prompt, "system": config.system, "reader": config.reader}
    protocols["base"] = _changed(protocols["base"], own, folder, where)
    for name, change in config.protocols.items():
        if name == "base":
            raise ConfigError(f"{where}: protocols: 'base' is the judge's own prompt; give it as 'prompt'.")
        body = {"prompt": change} if isinstance(change, str) else change
        protocols[name] = _changed(protocols["base"], body, folder, where)
    allowed = PAIRWISE_VARIABLES if isinstance(scale, Pairwise) else POINTWISE_VARIABLES
    for protocol in protocols.values():
        for text in (protocol.system, protocol.user):
            if text is not None:
                PromptTemplate(text, where).check(allowed)
    return protocols


def _changed(base: Protocol, change: Mapping[str, Any], folder: Path, where: str) -> Protocol:
    known = {"prompt", "system", "reader", "margin", *PLANTED_PARAMETERS}
    unknown = sorted(set(change) - known)
    if unknown:
        raise ConfigError(
            f"{where}: protocols: unknown key {unknown[0]!r}; known: {', '.join(sorted(known))}."
        )
    user, system, reader, settings = base.user, base.system, base.reader, dict(base.settings)
    if change.get("prompt") is not None:
        user = text_or_file(change["prompt"], folder, where)
        system = None
    if change.get("system") is not None:
        system = text_or_file(change["system"], folder, where)
    if change.get("reader") is not None:
        reader = _reader(change["reader"], where)
    if change.get("margin") is not None:
        reader = Spec("likelihood", {"margin": float(change["margin"])})
    settings |= {name: float(change[name]) for name in PLANTED_PARAMETERS if change.get(name) is not None}
    return Protocol(user, system, reader, settings)


def _reader(given: str | Mapping[str, str], where: str) -> Spec:
    if isinstance(given, str):
        if given not in TEXT_READERS:
            raise ConfigError(
                f"{where}: unknown reader {given!r}; known: {', '.join(TEXT_READERS)}, {{regex: …}}."
            )
        return Spec(given)
    if set(given) != {"regex"}:
        raise ConfigError(f"{where}: reader must be a name or {{regex: pattern}}, found {dict(given)!r}.")
    spec = Spec("regex", {"pattern": given["regex"]})
    READERS.build(spec)
    return spec
