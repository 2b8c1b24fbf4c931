"""The plan of a run folder: every planned trial as it was frozen, and the way back without its sources."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

from steelyard.errors import ConfigError
from steelyard.lab.run.planner import Plan
from steelyard.lab.study.study import Study
from steelyard.stimuli.stimulus_set import StimulusSet
from steelyard.store.plan import PlannedTrial
from steelyard.trials.trial import Trial


def freeze_plan(plan: Plan) -> list[PlannedTrial]:
    """Every trial of a plan, in its order."""
    return [
        PlannedTrial(
            trial.key,
            trial.judge.name,
            trial.protocol,
            trial.stimulus.hash,
            trial.order,
            trial.replicate,
            tuple(sorted(plan.probes[trial.key])),
        )
        for trial in plan.trials
    ]


def thaw_plan(study: Study, planned: list[PlannedTrial], path: Path) -> Plan:
    """The plan from the stimuli of a folder; files that are not those of the plan are refused."""
    held = StimulusSet.read(path)
    stimuli = held.judged
    study = replace(study, authored=tuple(stimulus for stimulus in held if not stimulus.judged))
    by_hash = {stimulus.hash: stimulus for stimulus in stimuli}
    judges = {judge.name: judge for judge in study.judges}
    if set(by_hash) != {row.stimulus for row in planned}:
        raise ConfigError(f"{path}: not the stimuli that were measured; restore the file.")
    trials, first = [], dict[tuple[str, str, str, str], Trial]()
    for row in planned:
        judge, stimulus = judges[row.judge], by_hash[row.stimulus]
        asked = (row.judge, row.protocol, row.stimulus, row.order)
        if asked in first:
            trial = first[asked].repeat(row.replicate)
        else:
            trial = first[asked] = Trial(judge, row.protocol, stimulus, study.task, row.order, row.replicate)
        if trial.key != row.trial:
            raise ConfigError(
                f"{path}: stimulus {stimulus.id!r} is put to judge {judge.name!r} in other words than those "
                "that were measured; restore the folder, or use the version that measured."
            )
        trials.append(trial)
    probes = {row.probes: frozenset(row.probes) for row in planned}
    return Plan(study, stimuli, tuple(trials), {row.trial: probes[row.probes] for row in planned})
