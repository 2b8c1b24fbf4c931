"""The plan of a run folder: every planned trial as it was frozen, and the way back without its sources."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import numpy as np

from steelyard.core.content_hash import hash_of
from steelyard.errors import ConfigError
from steelyard.runner.planner import Plan
from steelyard.stimuli.stimulus_set import StimulusSet
from steelyard.store.plan import PlannedTrial, PlannedTrials
from steelyard.study.study import Study
from steelyard.trials.trial import Trial
from steelyard.trials.trials import Trials

STEP = 16_384
"""Trials that are handed over at a time."""


def freeze_plan(plan: Plan) -> Iterator[PlannedTrial]:
    """Every trial of a plan, in its order."""
    probes = [tuple(sorted(use)) for use in plan.uses]
    trials = plan.trials
    for start in range(0, len(trials), STEP):
        part = slice(start, start + STEP)
        columns = (trials.question[part], trials.replicate[part], trials.key[part], plan.use[part])
        for question, replicate, key, use in zip(*(column.tolist() for column in columns), strict=True):
            asked = trials.questions[question]
            name, stimulus, probe = asked.judge.name, asked.stimulus.hash, probes[use]
            yield PlannedTrial(hash_of(key), name, asked.protocol, stimulus, asked.order, replicate, probe)


def thaw_plan(study: Study, planned: PlannedTrials, path: Path) -> Plan:
    """The plan from the stimuli of a folder; files that are not those of the plan are refused."""
    held = StimulusSet.read(path)
    stimuli = held.judged
    study = replace(study, authored=tuple(stimulus for stimulus in held if not stimulus.judged))
    by_hash = {stimulus.hash: stimulus for stimulus in stimuli}
    judges = {judge.name: judge for judge in study.judges}
    if set(by_hash) != planned.stimuli:
        raise ConfigError(f"{path}: not the stimuli that were measured; restore the file.")
    first = planned.replicate[np.unique(planned.question, return_index=True)[1]]
    questions = [
        Trial(judges[judge], protocol, by_hash[stimulus], study.task, order, replicate).sealed()
        for (judge, protocol, stimulus, order), replicate in zip(
            planned.questions, first.tolist(), strict=True
        )
    ]
    trials = Trials.repeats(questions, planned.question, planned.replicate)
    others = np.flatnonzero(trials.key != planned.key)
    if len(others):
        asked = questions[planned.question[others[0]]]
        raise ConfigError(
            f"{path}: stimulus {asked.stimulus.id!r} is put to judge {asked.judge.name!r} in other words "
            "than those that were measured; restore the folder, or use the version that measured."
        )
    return Plan(study, stimuli, trials, tuple(map(frozenset, planned.uses)), planned.use)
