"""The one synchronous door, for notebooks and scripts."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from steelyard.datasheet.datasheet import Datasheet
from steelyard.lab.authoring.commission import commission_of
from steelyard.lab.folder.run_folder import RunFolder
from steelyard.lab.measure import measure as run
from steelyard.lab.reference_run import referenced
from steelyard.lab.run.limits import RunLimits
from steelyard.lab.study.study_file import build_study, load_config


def measure(
    *judges: str | dict[str, Any],
    study: str | Path | None = None,
    out: str | Path | None = None,
    limits: RunLimits | None = None,
    **overrides: Any,
) -> Datasheet:
    """Measure judges and return the datasheet; keywords are those of a study file (profile, seed, probes, …).

    Runs and resumes like the command; what stopped a run early is raised, and every reply is kept.
    """
    path = None if study is None else Path(study)
    config = load_config(path, {**overrides, **({"judges": list(judges)} if judges else {})})
    built = build_study(config, Path() if path is None else path.parent)
    folder = RunFolder(Path(out)) if out else RunFolder.default(built)
    built = referenced(built, folder, limits or RunLimits())
    commission = commission_of(config)
    if commission is not None:
        built, authored = commission.fulfilled(built, folder, limits or RunLimits())
        authored.require_review(folder)
    return run(built, folder, limits or RunLimits()).require()
