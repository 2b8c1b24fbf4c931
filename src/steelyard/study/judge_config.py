"""From a judge as people write it to a Judge: keys that every judge has, and those of its provider."""

from __future__ import annotations

import json
from collections.abc import Collection, Mapping
from pathlib import Path
from typing import Annotated, Any

from pydantic import Field

from steelyard.core.content_hash import canonical_json
from steelyard.core.dotenv import holds_key
from steelyard.core.validation import Expected, checked, format_value
from steelyard.errors import ConfigError, UsageError
from steelyard.providers.planted.planted_judges import EXAMPLE_MODEL
from steelyard.providers.provider import model_info, provider_info
from steelyard.providers.provider_info import Line, Name, Options, ProviderInfo, field_with_key
from steelyard.study.composite_judges import (
    CompositeJudge,
    as_mapping,
    convert_query,
    judge_place,
    provider_options,
)
from steelyard.study.judge_protocols import (
    PromptReport,
    ProtocolConfig,
    ProtocolMaker,
    as_list,
    names_file,
    text_or_file,
)
from steelyard.tasks.task import BestOf, Pairwise, Scale, scale_name
from steelyard.trials.builtin_prompts import NAMED_PROMPTS
from steelyard.trials.judge import Decoding, Judge
from steelyard.trials.template_reader import DataColumns

ADDRESS = f"provider/model such as {EXAMPLE_MODEL}"

NO_COLUMNS = DataColumns()


class JudgeConfig(ProtocolConfig):
    model: Annotated[Line, Expected(ADDRESS)]
    name: Name | None = None
    rubric: str | None = None
    temperature: float | None = 0.0
    max_tokens: int = Field(default=512, gt=0, le=10**9)
    context: int | None = Field(default=None, ge=256, le=10**9)
    seed: int | None = Field(default=None, ge=-(2**63), lt=2**63)
    protocols: dict[Name, str | dict[str, Any]] = Field(default={})
    extra: dict[str, Any] = Field(default={})


def parse_judge(
    given: str | Mapping[str, Any],
    folder: Path,
    scale: Scale,
    arms: Collection[str] = (),
    prompt: Path | None = None,
    answers: str | None = None,
    known: Mapping[str, Judge] | None = None,
    transcripts: bool = False,
    columns: DataColumns = NO_COLUMNS,
    report: PromptReport | None = None,
    literals: Collection[str] = (),
) -> Judge:
    """Build a Judge; paths are relative to `folder`; `arms` are protocols that probes ask for.

    `prompt` is the template of a judge that is prompted and brings none of its own, `answers` the map of
    one that is prompted or a function; `known` are judges that others can be made of by their names;
    `transcripts` says that runs are judged; `columns` are those of the data; `report` takes what
    is found out about the prompts; `literals` are names in braces that are text.
    """
    composite = CompositeJudge.of(given)
    if composite is not None:
        rest = (folder, scale, arms, prompt, answers, known, transcripts, columns, report, literals)
        return composite.judge(lambda member: parse_judge(member, *rest), known or {}, scale)
    where, common = judge_place(given), JudgeConfig.model_fields
    body = as_mapping(given, where)
    config = checked(
        JudgeConfig, convert_query({key: body[key] for key in body if key in common}, JudgeConfig), where
    )
    if holds_key(config.model):
        raise ConfigError(
            f"{where}: the model's name may be a key (not repeated here), expected {ADDRESS}; put the key "
            "into an environment variable."
        )
    info = judge_info(config.model, where)
    options = provider_options(info.options, body, common, where)
    _check_scale(config.model, info, scale, where)
    if info.is_recording:
        return _recorded(config, options, folder, where)
    _check_extra(config.extra, where)
    if prompt is not None and info.uses_prompt and "prompt" not in config.model_fields_set:
        named = str(prompt if str(prompt) in NAMED_PROMPTS else prompt.absolute())
        config = config.model_copy(update={"prompt": named})
    if answers is not None and info.is_read and "answers" not in config.model_fields_set:
        config = config.model_copy(update={"answers": answers})
    provider, _, model = config.model.partition("/")
    options = info.complete_options(model, options)
    report = PromptReport() if report is None else report
    texts = frozenset((*literals, *as_list(config.literal)))
    maker = ProtocolMaker(info, options, scale, folder, where, transcripts, columns, texts, report)
    judge = Judge(
        name=config.name or config.model,
        provider=provider,
        model=model,
        protocols=maker.protocols(config, config.protocols, arms),
        context=config.context or info.context,
        decoding=Decoding(config.temperature, config.max_tokens, config.seed, config.extra),
        options=options.stored(),
        rubric=None if config.rubric is None else text_or_file(config.rubric, folder, where),
    )
    if config.prompt is not None and config.prompt not in NAMED_PROMPTS:
        is_file = isinstance(config.prompt, str) and names_file(config.prompt)
        report.sources[judge.fingerprint("base")] = Path(str(config.prompt)).name if is_file else ""
        if config.reader is None:
            report.unread.add(judge.fingerprint("base"))
    return judge


def judge_info(address: str, where: str) -> ProviderInfo:
    if not address.partition("/")[2]:
        of_python = address.startswith("python") or ".py" in address
        expected = "python/FILE.py:FUNCTION or python/MODULE:FUNCTION" if of_python else ADDRESS
        raise ConfigError(f"{where}: found no '/', expected {expected}.")
    try:
        return model_info(address)
    except UsageError as error:
        raise type(error)(f"{where}: {error}") from error


def _recorded(config: JudgeConfig, options: Options, folder: Path, where: str) -> Judge:
    """A judge that replays a file: nothing of it can be set but its name."""
    for key in sorted(config.model_fields_set - {"model", "name"}):
        raise ConfigError(f"{where}: key {key!r} changes nothing in a recording; remove it.")
    # Imported here: only a recorded judge needs the readers of recorded verdicts.
    from steelyard.importing.replay import recorded_judge

    return recorded_judge(config.model, options.stored().get("judge"), config.name, folder)


def _check_scale(address: str, info: ProviderInfo, scale: Scale, where: str) -> None:
    if isinstance(scale, BestOf):
        if not info.can_choose:
            raise ConfigError(
                f"{where}: cannot name the best of several texts, found the scale {scale_name(scale)!r}; "
                f"{_instead(address, 'can_choose')}take a judge that is prompted, or a function of your own."
            )
    elif not (info.can_compare or info.can_score):
        raise ConfigError(
            f"{where}: names the best of several texts, found the scale {scale_name(scale)!r}; "
            "measure it on a scale such as best-of-4."
        )
    elif isinstance(scale, Pairwise):
        if not info.can_compare:
            raise ConfigError(
                f"{where}: scores single texts, found a pairwise scale; {_instead(address, 'can_compare')}"
                "measure it on a scale such as binary or 1-6."
            )
    elif not info.can_score:
        raise ConfigError(
            f"{where}: compares two texts and gives no score, found the scale {scale_name(scale)!r}; "
            f"{_instead(address, 'can_score')}measure it on a pairwise scale."
        )


def _instead(address: str, ability: str) -> str:
    examples = provider_info(address.partition("/")[0]).every_example()
    able = [example.address for example in examples if getattr(model_info(example.address), ability)]
    return f"use {able[0]}, or " if able else ""


def _check_extra(extra: dict[str, Any], where: str) -> None:
    """Refuse what would not reach the server as it was written."""
    try:
        sound = json.loads(canonical_json(extra)) == extra
    except (TypeError, ValueError, RecursionError):
        sound = False
    if not sound:
        raise ConfigError(
            f"{where}: extra: found {format_value(extra)}, expected values that JSON can hold "
            "(text, finite numbers, true, false, null, lists, mappings with text keys); quote dates."
        )
    secret = field_with_key(extra)
    if secret is not None:
        raise ConfigError(
            f"{where}: extra: {secret!r} may hold a key (not repeated here), expected fields of the request "
            "body, which are stored with the run; put the key into an environment variable and name that "
            "under api_key_env."
        )
