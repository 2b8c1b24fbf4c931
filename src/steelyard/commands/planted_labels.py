"""Labels of a served planted judge: every text that a study on the built-in pack shows under a seed."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

from steelyard.core.registry import Spec
from steelyard.probes.probe import PROBES, reads_runs
from steelyard.probes.suites import SUITES
from steelyard.providers.planted.planted_judges import DUMMY_SCORER
from steelyard.stimuli.stimulus import Stimulus
from steelyard.study.study_file import StudyConfig, build_study
from steelyard.study.task_config import PACK_ITEMS, pack_scales
from steelyard.tasks.agent_pack import AGENT_TASK
from steelyard.tasks.scale import scale_name


def pack_stimuli(seed: int) -> Iterator[Stimulus]:
    # Suites about runs of agents have items of their own.
    runs = [
        name for name, suite in SUITES.items() if any(reads_runs(PROBES.build(Spec(p))) for p in suite.probes)
    ]
    texts = [name for name in SUITES if name not in runs]
    for profile in PACK_ITEMS:
        for scale in pack_scales():
            yield from _stimuli(seed, profile, texts, scale_name(scale))
        yield from _stimuli(seed, profile, runs, scale_name(AGENT_TASK.scale))


def _stimuli(seed: int, profile: str, suites: list[str], scale: str) -> Iterator[Stimulus]:
    body = {"name": "served", "seed": seed, "profile": profile, "judges": [DUMMY_SCORER], "probes": suites}
    study = build_study(StudyConfig.model_validate({**body, "task": {"scale": scale}}), Path())
    for probe in study.build_probes():
        for showing in probe.showings(study.design, study.judges[0].protocols):
            yield showing.stimulus
