"""Study files: strict where bytes enter, then resolved into a Study."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any, Literal

import yaml
from pydantic import BaseModel, ConfigDict, Field, ValidationError

from steelyard.errors import ConfigError
from steelyard.lab.judge_config import parse_judge
from steelyard.lab.judge_defaults import baseline_judges
from steelyard.lab.pack_study import pack_draw
from steelyard.lab.study import Study
from steelyard.probes.probe import POINTWISE, PROBES, arms_of, level_of
from steelyard.probes.suites import expanded
from steelyard.providers.provider import connect
from steelyard.registry import Spec
from steelyard.tasks.item import Item
from steelyard.tasks.task import CHECKLIST_TASK, Task
from steelyard.trials.judge import Judge

DEFAULT_JUDGES = ("embedded/smollm2-135m", "embedded/smollm2-135m-likelihood")
DEFAULT_PROBES = ("vacuum", "ladder", "criterion")
SCORE_JUDGES = ("embedded/smollm2-135m",)
"""Judges of single texts where none is named."""
SCORE_PROBES = ("vacuum",)
"""Probes of single texts where none is named."""
LATER_KEYS = ("task", "data", "author", "validator", "review")
"""Keys of the contract that this version does not act on."""


class StudyConfig(BaseModel):
    """A study file."""

    model_config = ConfigDict(extra="forbid", strict=True)

    name: str = Field(default="catalogue", pattern=r"^[A-Za-z0-9][A-Za-z0-9._-]*$")
    seed: int = 7
    profile: Literal["quick", "standard", "full"] = "quick"
    replicates: int = Field(default=1, ge=1, le=1000)
    judges: list[str | dict[str, Any]] = Field(default=list(DEFAULT_JUDGES), min_length=1)
    probes: list[str | dict[str, dict[str, Any]]] = Field(default=list(DEFAULT_PROBES), min_length=1)


def load_config(path: Path | None, overrides: Mapping[str, Any]) -> StudyConfig:
    """Read a study file (or none) and lay the command line's options over it."""
    body = {} if path is None else read_yaml(path)
    where = "command line" if path is None else str(path)
    for key in LATER_KEYS:
        if key in body:
            raise ConfigError(
                f"{where}: key {key!r} is not built yet: this version measures on the built-in catalogue; "
                "remove the key."
            )
    if path is not None:
        body.setdefault("name", path.stem)
    try:
        return StudyConfig.model_validate({**body, **overrides})
    except ValidationError as error:
        raise ConfigError(_sentence(error, where)) from error


def build_study(
    config: StudyConfig, folder: Path, task: Task = CHECKLIST_TASK, items: tuple[Item, ...] = ()
) -> Study:
    """Resolve judges and probes; baselines are added last.

    A pointwise task without items is put to the built-in pack.
    """
    config = _with_defaults(config, task)
    if not items and level_of(task) == POINTWISE:
        items = pack_draw(task.scale, config.profile, config.seed)
    scales = {item.scale or task.scale for item in items}
    probes = [_probe_spec(given) for given in expanded(config.probes, scales)]
    arms = {arm for spec in probes for arm in arms_of(PROBES.build(spec))}
    judges = [parse_judge(given, folder, task.scale, arms) for given in config.judges]
    judges = _distinct(judges, config.judges)
    for judge in judges:
        connect(judge)  # refuses wrong models and options before anything is written
    for spec in probes:
        if probes.count(spec) > 1:
            raise ConfigError(f"probes: {spec.name!r} stands there twice; leave one out.")
    names = {judge.name for judge in judges}
    baselines = [judge for judge in baseline_judges(config.seed, task.scale) if judge.name not in names]
    study = Study(
        config.name,
        config.seed,
        config.profile,
        config.replicates,
        (*judges, *baselines),
        tuple(probes),
        task,
        items,
    )
    study.build_probes()  # refuses probes that do not fit the scale
    return study


def _with_defaults(config: StudyConfig, task: Task) -> StudyConfig:
    """What was not said follows the level of measurement."""
    if level_of(task) != POINTWISE:
        return config
    defaults: dict[str, Any] = {"judges": list(SCORE_JUDGES), "probes": list(SCORE_PROBES), "name": "pack"}
    unsaid = {name: value for name, value in defaults.items() if name not in config.model_fields_set}
    return config.model_copy(update=unsaid)


def read_yaml(path: Path) -> dict[str, Any]:
    """A mapping from a YAML file, or one sentence about what is there instead."""
    try:
        body = yaml.safe_load(path.read_text(encoding="utf-8"))
    except OSError as error:
        raise ConfigError(f"{path}: cannot be read ({error.strerror}); expected a study file.") from error
    except (yaml.YAMLError, ValueError, RecursionError) as error:
        mark = getattr(error, "problem_mark", None)
        line = f", line {mark.line + 1}" if mark else ""
        problem = getattr(error, "problem", None) or str(error).splitlines()[0]
        raise ConfigError(f"{path}{line}: not valid YAML ({problem}); correct the file.") from error
    if not isinstance(body, dict):
        found = "an empty file" if body is None else f"a {type(body).__name__}"
        raise ConfigError(f"{path}: found {found}, expected a mapping with keys such as judges and probes.")
    return body


def _sentence(error: ValidationError, where: str) -> str:
    problem = error.errors()[0]
    key = ".".join(str(part) for part in problem["loc"][:2])
    if problem["type"] == "extra_forbidden":
        return f"{where}: unknown key {key!r}; known keys: {', '.join(StudyConfig.model_fields)}."
    return f"{where}: {key}: {problem['msg']}, found {problem['input']!r}."


def _probe_spec(given: str | dict[str, dict[str, Any]]) -> Spec:
    if isinstance(given, str):
        spec = Spec(given)
    elif len(given) == 1:
        spec = Spec(*next(iter(given.items())))
    else:
        raise ConfigError(f"probes: expected a name or one name with its options, found {given!r}.")
    try:
        PROBES.build(spec)
    except TypeError as error:
        raise ConfigError(f"probe {spec.name!r}: wrong options {dict(spec.args)!r} ({error}).") from error
    return spec


def _distinct(judges: list[Judge], given: list[str | dict[str, Any]]) -> list[Judge]:
    """Two judges of one model are told apart by what was written; two of one name are refused."""
    names = [judge.name for judge in judges]
    named = [
        replace(judge, name=text[:80]) if names.count(judge.name) > 1 and text else judge
        for judge, text in zip(judges, map(_spoken, given), strict=True)
    ]
    shown = [" ".join(judge.name.split()) for judge in named]
    for name in shown:
        if shown.count(name) > 1:
            raise ConfigError(f"two judges are named {name!r}: give each a 'name' of its own.")
    seen: dict[str, str] = {}
    for judge in named:
        twin = seen.setdefault(judge.fingerprint("base"), judge.name)
        if twin != judge.name:
            raise ConfigError(
                f"judges {twin!r} and {judge.name!r} are one instrument: leave one of them out."
            )
    return named


def _spoken(given: str | dict[str, Any]) -> str:
    """The judge as it was written, where that can serve as a name."""
    return given if isinstance(given, str) and given.isprintable() else ""
