"""What a served rater has to know: every text that a study on the built-in pack shows under a seed."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

from steelyard.lab.study.pack_study import PACK_ITEMS, pack_scales
from steelyard.lab.study.study_file import StudyConfig, build_study
from steelyard.probes.suites import SUITES
from steelyard.providers.house_judges import DUMMY_SCORER
from steelyard.stimuli.stimulus import Stimulus
from steelyard.tasks.scale import scale_name


def pack_stimuli(seed: int) -> Iterator[Stimulus]:
    """Items of the pack and their edits by every suite, on every scale and at every profile."""
    for scale in pack_scales():
        for profile in PACK_ITEMS:
            config = StudyConfig.model_validate(
                {
                    "name": "served",
                    "seed": seed,
                    "profile": profile,
                    "judges": [DUMMY_SCORER],
                    "task": {"scale": scale_name(scale)},
                    "probes": list(SUITES),
                }
            )
            study = build_study(config, Path())
            for probe in study.build_probes():
                for showing in probe.showings(study.design, study.judges[0].protocols):
                    yield showing.stimulus
