"""Studies of their own judges alone: the baselines are four fifths of a run of one judge."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

from steelyard.commands.measure import measure
from steelyard.datasheet.datasheet import Datasheet
from steelyard.run_folder.run_folder import RunFolder
from steelyard.runner.limits import RunLimits
from steelyard.study.study import Study
from steelyard.study.study_file import build_study, load_config


def study_of(given: Path | Mapping[str, Any], baselines: tuple[str, ...] = ()) -> Study:
    """The study of a file or of its keys, with no baselines but those that are named."""
    file, keys = (given, {}) if isinstance(given, Path) else (None, given)
    study = build_study(load_config(file, keys), Path() if file is None else file.parent)
    own = tuple(judge for judge in study.judges if not judge.baseline or judge.name in baselines)
    return replace(study, judges=own)


def measured(study: Study, out: Path) -> Datasheet:
    """The datasheet of a study that is run to its end in a folder."""
    return measure(study, RunFolder(out), RunLimits()).require()
