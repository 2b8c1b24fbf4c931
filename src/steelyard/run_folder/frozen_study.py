"""`study.yaml` of a run folder: every effective value, and the way back."""

from __future__ import annotations

from dataclasses import asdict
from pathlib import Path
from typing import Any

import yaml
from pydantic import ValidationError

from steelyard.core.json_dataclasses import from_body
from steelyard.core.registry import Spec
from steelyard.core.validation import reason
from steelyard.datasheet.run_facts import Look
from steelyard.errors import ConfigError
from steelyard.providers.provider import provider_flags
from steelyard.study.data_source import DataSource
from steelyard.study.study import Study
from steelyard.study.study_file import FROZEN, StudyConfig, read_yaml
from steelyard.tasks.scale import parse_scale, scale_name
from steelyard.tasks.task import Task
from steelyard.trials.judge import Composition, Judge, Protocol
from steelyard.trials.presentation import Decoding


def freeze(study: Study) -> str:
    """`study.yaml` of the run folder: every effective value, prompts included."""
    body = {
        **FROZEN,
        "name": study.name,
        "seed": study.seed,
        "profile": study.profile,
        "replicates": study.replicates,
        "probes": [{"name": spec.name, "args": dict(spec.args)} for spec in study.probes],
        "task": {
            "instruction": study.task.instruction,
            "rubric": study.task.rubric,
            "scale": scale_name(study.task.scale),
        },
        **({} if study.source is None else {"data": _source(study.source)}),
        **({} if study.items_hash is None else {"items": study.items_hash}),
        **({} if study.reference is None else {"reference": study.reference}),
        **({} if study.writers is None else {"writers": dict(study.writers)}),
        "judges": [_frozen(asdict(judge)) for judge in study.judges],
        **({} if study.command is None else {"command": list(study.command)}),
        **({} if study.decides is None else {"decides": study.decides}),
        **({} if study.looks is None else {"looks": [look.to_json() for look in study.looks]}),
    }
    return yaml.safe_dump(body, sort_keys=False, allow_unicode=True, width=100)


def thaw(path: Path) -> Study:
    """The study of a run folder."""
    body = read_yaml(path)
    try:
        frame = StudyConfig(
            name=body["name"], seed=body["seed"], profile=body["profile"], replicates=body["replicates"]
        )
        judges = tuple(_thaw_judge(dict(judge)) for judge in body["judges"])
        probes = tuple(Spec(str(spec["name"]), dict(spec["args"])) for spec in body["probes"])
        task = Task(
            str(body["task"]["instruction"]),
            str(body["task"]["rubric"]),
            parse_scale(str(body["task"]["scale"])),
        )
        return Study(
            frame.name,
            frame.seed,
            frame.profile,
            frame.replicates,
            judges,
            probes,
            task,
            frozen_items=body.get("items"),
            reference=body.get("reference"),
            writers=body.get("writers"),
            source=None if body.get("data") is None else _thaw_source(dict(body["data"])),
            command=None if body.get("command") is None else tuple(map(str, body["command"])),
            decides=None if body.get("decides") is None else str(body["decides"]),
            looks=None if body.get("looks") is None else tuple(from_body(Look, o) for o in body["looks"]),
        )
    except (KeyError, TypeError, ValueError, AttributeError, ConfigError) as error:
        raise ConfigError(
            f"{path}: not the frozen study of a run folder ({_first_line(error)}); restore the file."
        ) from error


def _source(source: DataSource) -> dict[str, Any]:
    return {**source.settings, "files": dict(source.files)}


def _thaw_source(body: dict[str, Any]) -> DataSource:
    files = {str(path): str(digest) for path, digest in body.pop("files").items()}
    return DataSource(body, files)


def _first_line(error: Exception) -> str:
    if isinstance(error, ValidationError):
        return reason(error, StudyConfig)
    return (str(error).splitlines() or [type(error).__name__])[0]


def _frozen(body: dict[str, Any]) -> dict[str, Any]:
    """A judge as it is kept: what it is made of only where it is made of others, else its traits.

    A report needs no provider then: a plug-in that brought it may be gone.
    """
    made, traits = body.pop("composition"), body.pop("traits")
    if made is not None:
        members = [_frozen(member) for member in made["members"]]
        return {**body, "composition": {**made, "members": members}}
    return {**body, "traits": traits or provider_flags(f"{body['provider']}/{body['model']}")}


def _thaw_judge(body: dict[str, Any]) -> Judge:
    made = body.pop("composition", None)
    if made is not None:
        members = tuple(_thaw_judge(dict(member)) for member in made["members"])
        body["composition"] = Composition(**{**made, "members": members})
    protocols = {}
    for name, protocol in body["protocols"].items():
        reader = Spec(**protocol["reader"])
        protocols[name] = Protocol(**{**protocol, "reader": reader})
    return Judge(**{**body, "protocols": protocols, "decoding": Decoding(**body["decoding"])})
