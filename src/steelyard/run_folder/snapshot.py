"""The snapshot of a study in its run folder: `study.yaml` and the plan, saved before the first call."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import asdict, replace
from pathlib import Path
from typing import Any

import numpy as np
import yaml
from pydantic import ValidationError

from steelyard.core.content_hash import hash_of
from steelyard.core.files import atomic_write_text, no_such
from steelyard.core.json_dataclasses import from_body, to_body
from steelyard.core.registry import Spec
from steelyard.core.validation import reason
from steelyard.datasheet.run_facts import ProfileLook
from steelyard.errors import ConfigError
from steelyard.providers.provider import provider_flags
from steelyard.run_folder.run_folder import RunFolder
from steelyard.stimuli.stimulus import StimulusSet
from steelyard.store.trials import PlannedTrial, PlannedTrials
from steelyard.study.planner import Plan, make_plan
from steelyard.study.study import DataSource, Study
from steelyard.study.study_file import FROZEN, StudyConfig, read_yaml
from steelyard.tasks.checklist import Checklist
from steelyard.tasks.task import Task, parse_scale, scale_name
from steelyard.trials.judge import Composition, Decoding, Judge, Protocol
from steelyard.trials.trial import PromptCache, Trial
from steelyard.trials.trials import Trials

_DUMPER = getattr(yaml, "CSafeDumper", yaml.SafeDumper)
"""libyaml where PyYAML has it: the same text, seven times as fast."""


def save_snapshot(path: Path, study: Study) -> None:
    atomic_write_text(path, snapshot_text(study))


def snapshot_text(study: Study) -> str:
    source, lists = study.source, study.checklists
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
        "data": None if source is None else {**source.settings, "files": dict(source.files)},
        "items": study.items_hash,
        "checklists": {"file": study.checklists_file, "content": to_body(lists)} if lists else None,
        "reference": study.reference,
        "writers": None if study.writers is None else dict(study.writers),
        "judges": [_judge_body(asdict(judge)) for judge in study.judges],
        "command": None if study.command is None else list(study.command),
        "asked": list(study.asked) or None,
        "prompts": dict(study.prompts) or None,
        "decides": study.decides,
        "looks": to_body(study.looks),
    }
    known = {key: value for key, value in body.items() if value is not None}
    return yaml.dump(known, Dumper=_DUMPER, sort_keys=False, allow_unicode=True, width=100)


def load_snapshot(path: Path) -> Study:
    body = read_yaml(path)
    try:
        data, looks, command = body.get("data"), body.get("looks"), body.get("command")
        frame = StudyConfig(
            name=body["name"], seed=body["seed"], profile=body["profile"], replicates=body["replicates"]
        )
        own = body.get("checklists") or {"file": "", "content": ()}
        judges = tuple(_load_judge(dict(judge)) for judge in body["judges"])
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
            checklists=tuple(from_body(Checklist, one) for one in own["content"]),
            checklists_file=str(own["file"]),
            frozen_items=body.get("items"),
            reference=body.get("reference"),
            writers=body.get("writers"),
            source=None if data is None else _load_source(dict(data)),
            command=None if command is None else tuple(map(str, command)),
            asked=tuple(map(str, body.get("asked") or ())),
            prompts={str(name): str(file) for name, file in (body.get("prompts") or {}).items()},
            decides=None if body.get("decides") is None else str(body["decides"]),
            looks=None if looks is None else tuple(from_body(ProfileLook, one) for one in looks),
        )
    except (KeyError, TypeError, ValueError, AttributeError, ConfigError) as error:
        line = (str(error).splitlines() or [type(error).__name__])[0]
        why = reason(error, StudyConfig) if isinstance(error, ValidationError) else line
        raise ConfigError(
            f"{path}: not the frozen study of a run folder ({why}); restore the file."
        ) from error


def _load_source(settings: dict[str, Any]) -> DataSource:
    files = settings.pop("files")
    return DataSource(settings, {str(file): str(digest) for file, digest in files.items()})


def _judge_body(body: dict[str, Any]) -> dict[str, Any]:
    """A judge as it is kept: what it is made of only where it is made of others, else its traits.

    A report needs no provider then: a plug-in that brought it may be gone.
    """
    made, traits = body.pop("composition"), body.pop("traits")
    if made is not None:
        members = [_judge_body(member) for member in made["members"]]
        return {**body, "composition": {**made, "members": members}}
    return {**body, "traits": traits or provider_flags(f"{body['provider']}/{body['model']}")}


def _load_judge(body: dict[str, Any]) -> Judge:
    made = body.pop("composition", None)
    if made is not None:
        members = tuple(_load_judge(dict(member)) for member in made["members"])
        body["composition"] = Composition(**{**made, "members": members})
    protocols = {}
    for name, protocol in body["protocols"].items():
        reader = Spec(**protocol["reader"])
        protocols[name] = Protocol(**{**protocol, "reader": reader})
    return Judge(**{**body, "protocols": protocols, "decoding": Decoding(**body["decoding"])})


STEP = 16_384
"""Trials that are handed over at a time."""


def planned_trials(plan: Plan) -> Iterator[PlannedTrial]:
    probes = [tuple(sorted(use)) for use in plan.uses]
    trials = plan.trials
    for start in range(0, len(trials), STEP):
        part = slice(start, start + STEP)
        columns = (trials.question[part], trials.replicate[part], trials.key[part], plan.use[part])
        for question, replicate, key, use in zip(*(column.tolist() for column in columns), strict=True):
            asked = trials.questions[question]
            name, stimulus, probe = asked.judge.name, asked.stimulus.hash, probes[use]
            yield PlannedTrial(hash_of(key), name, asked.protocol, stimulus, asked.order, replicate, probe)


def restore_plan(study: Study, planned: PlannedTrials, path: Path, *, verify: bool = False) -> Plan:
    """The plan from the stimuli of a folder; files that are not those of the plan are refused.

    Repeats differ in a number, and in a seed where the judge has one: the first and the last one tell of all
    between, and only `verify` looks at those.
    """
    held = StimulusSet.read(path)
    stimuli = held.judged
    study = replace(study, authored=tuple(stimulus for stimulus in held if not stimulus.judged))
    by_hash = {stimulus.hash: stimulus for stimulus in stimuli}
    judges = {judge.name: judge for judge in study.judges}
    if set(by_hash) != planned.stimuli:
        raise ConfigError(f"{path}: not the stimuli that were measured; restore the file.")
    for name, protocol, *_ in planned.questions:
        if name not in judges or protocol not in judges[name].protocols:
            raise ConfigError(
                f"{path.parent}: run.db plans calls of judge {name!r} with protocol {protocol!r}, which "
                "study.yaml does not have; restore both files."
            )
    first = np.unique(planned.question, return_index=True)[1]
    prompts = PromptCache()
    questions = tuple(
        Trial(judges[judge], protocol, by_hash[stimulus], study.task, order, replicate, prompts=prompts)
        for (judge, protocol, stimulus, order), replicate in zip(
            planned.questions, planned.replicate[first].tolist(), strict=True
        )
    )
    last = len(planned) - 1 - np.unique(planned.question[::-1], return_index=True)[1]
    rows = np.arange(len(planned)) if verify else np.union1d(first, last)
    rendered = Trials.repeats(questions, planned.question[rows], planned.replicate[rows])
    others = rows[rendered.key != planned.key[rows]]
    if len(others):
        asked = questions[planned.question[others[0]]]
        raise ConfigError(
            f"{path}: stimulus {asked.stimulus.id!r} is put to judge {asked.judge.name!r} in other words "
            "than those that were measured; restore the folder, or use the version that measured."
        )
    trials = Trials(questions, planned.question, planned.replicate, planned.key)
    return Plan(study, stimuli, trials, tuple(map(frozenset, planned.uses)), planned.use)


def load_plan(folder: RunFolder, *, verify: bool = False) -> Plan:
    """The plan of the study that lies here, from its frozen stimuli alone; nothing is written."""
    for path in (folder.study, folder.stimuli, folder.database):
        if not path.exists():
            lack = f"no {path.name} found" if folder.path.exists() else no_such(folder.path, "folder")
            raise ConfigError(f"{folder.path}: {lack}, expected a run folder that `measure` wrote.")
    study = load_snapshot(folder.study)
    with folder.store(read_only=True) as store:
        if store.study != study.hash:
            raise ConfigError(
                f"{folder.study}: not the study of the replies in {folder.database.name}; restore the file."
            )
        planned = store.planned() if store.has_plan else None
    if planned is not None:
        return restore_plan(study, planned, folder.stimuli, verify=verify)
    plan = make_plan(study)
    check_stimuli(folder, plan)
    return plan


def check_stimuli(folder: RunFolder, plan: Plan) -> None:
    frozen = StimulusSet.read(folder.stimuli).judged
    if frozen.hash != plan.stimuli.hash:
        raise ConfigError(
            f"{folder.stimuli}: the stimuli differ from those this version builds "
            f"({frozen.hash[7:15]} against {plan.stimuli.hash[7:15]}); "
            "restore the file, use the version that measured, or measure into another --out."
        )
