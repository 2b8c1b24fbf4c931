"""Judges as people write them: `provider/model?key=value` or a mapping in YAML."""

from __future__ import annotations

import json
import os
import unicodedata
from collections.abc import Collection, Mapping
from dataclasses import replace
from pathlib import Path
from reprlib import Repr
from typing import Annotated, Any
from urllib.parse import parse_qsl

from pydantic import AfterValidator, BaseModel, ConfigDict, Field, ValidationError, model_validator
from pydantic_core import ErrorDetails, PydanticCustomError

from steelyard.errors import ConfigError, UnknownNameError
from steelyard.identity import canonical_json
from steelyard.lab.recorded.replay import recorded_judge
from steelyard.lab.study.judge_defaults import PLANTED_PARAMETERS, default_protocols
from steelyard.providers.provider import PROVIDERS
from steelyard.registry import Spec
from steelyard.tasks.scale import Pairwise, Scale, scale_name
from steelyard.trials.builtin_prompts import NAMED_USER, PAPER_SYSTEM, PAPER_USER
from steelyard.trials.judge import PRICE_OPTIONS, Judge, Protocol
from steelyard.trials.presentation import Decoding
from steelyard.trials.prompt import (
    PAIRWISE_SHOWN,
    PAIRWISE_VARIABLES,
    POINTWISE_SHOWN,
    POINTWISE_VARIABLES,
    PromptTemplate,
)
from steelyard.verdicts.readers import READERS

PLANNED_PROVIDERS = {
    "anthropic": ("https://api.anthropic.com/v1", "ANTHROPIC_API_KEY"),
    "google": ("https://generativelanguage.googleapis.com/v1beta/openai", "GEMINI_API_KEY"),
    "bedrock": ("https://bedrock-runtime.REGION.amazonaws.com/openai/v1", "AWS_BEARER_TOKEN_BEDROCK"),
}
"""Named in the contract, not built yet: each vendor's chat-completions address and variable of the key."""

TEXT_READERS = ("choice", "json", "logprob")
_READER_FORMS = f"expected {', '.join(TEXT_READERS)} or {{regex: pattern}}"


WIRE = ("base_url", "api_key_env", "timeout", *PRICE_OPTIONS)
"""Keys of judges behind HTTP."""

DEEPEST = 20
"""Levels of nesting in a judge's mapping; more would exhaust the stack when it is written or hashed."""


def _one_line(text: str) -> str:
    """Refuse what would break a table or steer a terminal."""
    if any(unicodedata.category(sign) in ("Cc", "Cs") for sign in text):
        raise PydanticCustomError("control_character", "expected no control characters")
    return text


Line = Annotated[str, AfterValidator(_one_line)]
Name = Annotated[str, Field(min_length=1, max_length=80), AfterValidator(_one_line)]
Margin = Annotated[float, Field(ge=0)]


class _Strict(BaseModel):
    model_config = ConfigDict(extra="forbid", strict=True, allow_inf_nan=False)


class ProtocolConfig(_Strict):
    """What a protocol changes of `base`; a text alone is a prompt."""

    prompt: str | None = None
    system: str | None = None
    reader: str | dict[str, str] | None = None
    margin: Margin | None = None
    s: float | None = None
    beta: float | None = None
    tau: float | None = None
    sigma: float | None = None
    lapse: float | None = None

    @model_validator(mode="before")
    @classmethod
    def _prompt_alone(cls, given: Any) -> Any:
        return {"prompt": given} if isinstance(given, str) else given


class JudgeConfig(_Strict):
    """A judge in a study file."""

    model: Line
    name: Name | None = None
    judge: Name | None = None
    prompt: str | None = None
    system: str | None = None
    rubric: str | None = None
    temperature: float | None = 0.0
    max_tokens: int = Field(default=512, gt=0, le=10**9)
    seed: int | None = Field(default=None, ge=-(2**63), lt=2**63)
    reader: str | dict[str, str] | None = None
    protocols: dict[Name, ProtocolConfig] = {}
    margin: Margin | None = None
    extra: dict[str, Any] = {}
    base_url: Line | None = None
    api_key_env: Line | None = None
    timeout: float | None = Field(default=None, gt=0)
    input_price: float | None = Field(default=None, ge=0)
    output_price: float | None = Field(default=None, ge=0)
    s: float | None = None
    beta: float | None = None
    tau: float | None = None
    tau_strict: float | None = None
    sigma: float | None = None
    lapse: float | None = None
    sensitivity: float | None = None
    specificity: float | None = None
    noise: float | None = None
    value: int | None = None


def parse_judge(
    given: str | Mapping[str, Any], folder: Path, scale: Scale, arms: Collection[str] = ()
) -> Judge:
    """Build a Judge; paths are relative to `folder`; `arms` are protocols that probes ask for."""
    where = _where(given)
    if _deeper_than(DEEPEST, given):
        raise ConfigError(f"{where}: nested more than {DEEPEST} levels deep; flatten the mapping.")
    config = _validated(as_mapping(given, where), where)
    provider, _, model = config.model.partition("/")
    if not model:
        raise ConfigError(f"{where}: found no '/', expected provider/model such as openai/gpt-4o.")
    _check_provider(provider, where)
    if provider == "recorded":
        return _recorded(config, model, folder, scale, where)
    _check_options(config, provider, where)
    _check_extra(config.extra, where)
    protocols = _protocols(config, provider, model, folder, scale, where, arms)
    return Judge(
        name=config.name or config.model,
        provider=provider,
        model=model,
        protocols=protocols,
        decoding=Decoding(config.temperature, config.max_tokens, config.seed, config.extra),
        options=_options(config, provider),
        rubric=None if config.rubric is None else text_or_file(config.rubric, folder, where),
    )


def _recorded(config: JudgeConfig, model: str, folder: Path, scale: Scale, where: str) -> Judge:
    """A judge that replays a file: nothing of it can be set but its name."""
    for key in sorted(config.model_fields_set - {"model", "name", "judge"}):
        raise ConfigError(f"{where}: key {key!r} changes nothing in a recording; remove it.")
    if not isinstance(scale, Pairwise):
        raise ConfigError(f"{where}: replays pairwise verdicts, found another scale; import scores instead.")
    return recorded_judge(model, config.judge, config.name, folder)


def text_or_file(value: str, folder: Path, where: str) -> str:
    """A template or text as it is when it spans lines or holds `{{`; the content of a file otherwise."""
    if "\n" in value or "{{" in value:
        return value
    path = folder / value
    try:
        return path.read_text(encoding="utf-8")
    except (OSError, ValueError) as error:
        raise ConfigError(f"{where}: cannot read {path} ({error}); expected a UTF-8 text file.") from error


def _where(given: str | Mapping[str, Any]) -> str:
    """The judge by name or model; the query is left out, since an address in it may hold a secret."""
    title = given if isinstance(given, str) else given.get("name") or given.get("model")
    return f"judge {_found(title.partition('?')[0] if isinstance(title, str) else title)}"


def _deeper_than(levels: int, value: Any) -> bool:
    inner = value.values() if isinstance(value, Mapping) else value if isinstance(value, list) else ()
    return levels == 0 or any(_deeper_than(levels - 1, part) for part in inner)


def as_mapping(given: str | Mapping[str, Any], where: str) -> dict[str, Any]:
    """A model and its settings, wherever they stand: in the mapping or in the query of its address."""
    if not isinstance(given, str):
        body = dict(given)
        if "model" in body and isinstance(body["model"], str) and "?" in body["model"]:
            body = {**as_mapping(body["model"], where), **{k: v for k, v in body.items() if k != "model"}}
        return body
    model, _, query = given.partition("?")
    try:
        pairs = parse_qsl(query, keep_blank_values=True, strict_parsing=bool(query))
    except ValueError as error:
        raise ConfigError(f"{where}: the query after '?' must read key=value&key=value ({error}).") from error
    return {"model": model, **{key: _typed(key, value) for key, value in pairs}}


def _typed(key: str, value: str) -> object:
    """A query value has no type of its own: numbers and null become what they look like."""
    if key in ("model", "name", "judge", "prompt", "system", "rubric", "reader", "base_url", "api_key_env"):
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
        raise ConfigError(f"{where}: {_problem(error.errors()[0])}") from error


def _problem(problem: ErrorDetails) -> str:
    """What is wrong with one key, in the words of this project where pydantic's would mislead."""
    parts = [str(part) for part in problem["loc"] if part != "[key]"]
    key = ".".join(part if part.isprintable() else ascii(part) for part in parts)
    found = _found(problem["input"])
    if problem["type"] == "extra_forbidden":
        fields = (ProtocolConfig if len(parts) > 1 else JudgeConfig).model_fields
        return f"unknown key {key!r}; known keys: {', '.join(fields)}."
    if problem["type"] == "model_type":
        return f"{key}: expected a prompt or a mapping, found {found}."
    if "reader" in parts:
        return f"reader: {_READER_FORMS}, found {found}."
    return f"{key}: {problem['msg']}, found {found}."


def _found(value: object) -> str:
    """A value for a message, cut short."""
    shortener = Repr()
    shortener.maxstring = shortener.maxother = 100
    try:
        return shortener.repr(value)
    except (ValueError, RecursionError):
        return f"a {type(value).__name__}"


def _check_provider(provider: str, where: str) -> None:
    if provider in PLANNED_PROVIDERS:
        url, key = PLANNED_PROVIDERS[provider]
        raise ConfigError(
            f"{where}: provider {provider!r} is not built yet; use its chat-completions address: "
            f"'openai/NAME?base_url={url}&api_key_env={key}'."
        )
    if provider not in PROVIDERS.names():
        raise UnknownNameError(
            f"{where}: unknown provider {provider!r}; known: {', '.join(PROVIDERS.names())}."
        )


def _check_options(config: JudgeConfig, provider: str, where: str) -> None:
    """Refuse a key that this provider would silently ignore."""
    if config.judge is not None:
        raise ConfigError(f"{where}: key 'judge' belongs to recorded judges only; remove it.")
    wire = {name for name in WIRE if getattr(config, name) is not None}
    if wire and provider in ("embedded", "planted"):
        raise ConfigError(
            f"{where}: key {min(wire)!r} belongs to judges behind HTTP; {provider} judges run in process."
        )
    if (config.input_price is None) != (config.output_price is None):
        raise ConfigError(
            f"{where}: found one of input_price and output_price, expected both or neither "
            "(dollars per million tokens); add the other."
        )
    _check_settings(config, config.model, where)
    for name, change in config.protocols.items():
        _check_settings(change, config.model, f"{where}: protocols: {name}")


def _check_settings(config: JudgeConfig | ProtocolConfig, address: str, where: str) -> None:
    for owner, names in PLANTED_PARAMETERS.items():
        given = [name for name in names if getattr(config, name, None) is not None]
        if given and address != f"planted/{owner}":
            raise ConfigError(f"{where}: key {min(given)!r} belongs to planted/{owner} only; remove it.")
    likelihood = address.startswith("embedded/") and address.endswith("-likelihood")
    if config.margin is not None and not likelihood:
        raise ConfigError(f"{where}: key 'margin' belongs to likelihood judges only; remove it.")


def _check_extra(extra: dict[str, Any], where: str) -> None:
    """Refuse what would not reach the server as it was written."""
    try:
        sound = json.loads(canonical_json(extra)) == extra
    except (TypeError, ValueError, RecursionError):
        sound = False
    if not sound:
        raise ConfigError(
            f"{where}: extra: found {_found(extra)}, expected values that JSON can hold "
            "(text, finite numbers, true, false, null, lists, mappings with text keys); quote dates."
        )


def _options(config: JudgeConfig, provider: str) -> dict[str, Any]:
    names = [*WIRE, *PLANTED_PARAMETERS.get(_model(config), ())]
    options = {name: getattr(config, name) for name in names if getattr(config, name) is not None}
    options.pop("tau_strict", None)
    if provider == "openai" and "base_url" not in options and os.environ.get("OPENAI_BASE_URL"):
        options["base_url"] = os.environ["OPENAI_BASE_URL"]
    if provider == "planted" and config.seed is not None:
        options["seed"] = config.seed
    return options


def _model(config: JudgeConfig) -> str:
    return config.model.removeprefix("planted/")


def _protocols(
    config: JudgeConfig,
    provider: str,
    model: str,
    folder: Path,
    scale: Scale,
    where: str,
    arms: Collection[str],
) -> dict[str, Protocol]:
    protocols = default_protocols(provider, model, config.margin, config.tau, config.tau_strict, scale, arms)
    if config.value is not None and str(config.value) not in scale.answers:
        raise ConfigError(
            f"{where}: value is {config.value}, expected an answer of the scale {scale_name(scale)!r}; "
            "correct it."
        )
    _check_named(config, provider, scale, where)
    if config.prompt == "paper" and config.system is None and config.reader is None:
        protocols = _in_the_papers_words(protocols)
    elif config.prompt is not None or config.system is not None or config.reader is not None:
        protocols = {"base": protocols["base"]}
    own = ProtocolConfig(prompt=config.prompt, system=config.system, reader=config.reader)
    protocols["base"] = _changed(protocols["base"], own, folder, where)
    for name, change in config.protocols.items():
        if name == "base":
            raise ConfigError(f"{where}: protocols: 'base' is the judge's own prompt; give it as 'prompt'.")
        protocols[name] = _changed(protocols["base"], change, folder, where)
    for name, protocol in protocols.items():
        _check_prompt(protocol, scale, where if name == "base" else f"{where}: protocol {name!r}")
    return protocols


def _check_prompt(protocol: Protocol, scale: Scale, where: str) -> None:
    """Refuse a template that is wrong, and one that does not show the judge what it is to judge."""
    pairwise = isinstance(scale, Pairwise)
    allowed = PAIRWISE_VARIABLES if pairwise else POINTWISE_VARIABLES
    texts = [text for text in (protocol.system, protocol.user) if text]
    named = frozenset[str]().union(*(PromptTemplate(text, where).check(allowed) for text in texts))
    hidden = sorted((PAIRWISE_SHOWN if pairwise else POINTWISE_SHOWN) - named)
    if texts and hidden:
        raise ConfigError(
            f"{where}: the prompt does not show the judge {{{{ {hidden[0]} }}}}, and what it has not "
            "seen it can not judge; add it."
        )


def _check_named(config: JudgeConfig, provider: str, scale: Scale, where: str) -> None:
    """Refuse a prompt by name to a judge that it was not written for."""
    for prompt in (config.prompt, *(change.prompt for change in config.protocols.values())):
        if prompt in NAMED_USER and (provider == "embedded" or not isinstance(scale, Pairwise)):
            raise ConfigError(
                f"{where}: prompt {prompt!r} asks a judge behind HTTP or a planted one about two texts; "
                "leave it out, or give a prompt of your own."
            )


def _in_the_papers_words(protocols: Mapping[str, Protocol]) -> dict[str, Protocol]:
    """Base and strict in the paper's words; settings of judges that are not prompted stay."""
    return {
        name: replace(protocols[name], user=user, system=PAPER_SYSTEM)
        for name, user in PAPER_USER.items()
        if name in protocols
    }


def _changed(base: Protocol, change: ProtocolConfig, folder: Path, where: str) -> Protocol:
    user, system, reader = base.user, base.system, base.reader
    if change.prompt in NAMED_USER:
        user, system, reader = NAMED_USER[change.prompt], PAPER_SYSTEM, Spec("json")
    elif change.prompt is not None:
        user, system = text_or_file(change.prompt, folder, where), None
    if change.system is not None:
        system = text_or_file(change.system, folder, where)
    if change.reader is not None:
        reader = _reader(change.reader, where)
    if change.margin is not None:
        reader = Spec("likelihood", {"margin": change.margin})
    given = {name: getattr(change, name, None) for name in PLANTED_PARAMETERS["probit"]}
    settings = {name: value for name, value in given.items() if value is not None}
    return Protocol(user, system, reader, {**base.settings, **settings})


def _reader(given: str | Mapping[str, str], where: str) -> Spec:
    if isinstance(given, str):
        if given not in TEXT_READERS:
            raise ConfigError(f"{where}: unknown reader {_found(given)}; {_READER_FORMS}.")
        return Spec(given)
    if set(given) != {"regex"}:
        raise ConfigError(f"{where}: reader: {_READER_FORMS}, found {_found(given)}.")
    spec = Spec("regex", {"pattern": given["regex"]})
    try:
        READERS.build(spec)
    except ConfigError as error:
        raise ConfigError(f"{where}: {error}") from error
    return spec
