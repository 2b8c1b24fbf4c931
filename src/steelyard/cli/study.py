"""From the options of a command to the study that they describe, and to what a run may take."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from steelyard.cli.say import warn
from steelyard.cli.spoken import spoken

if TYPE_CHECKING:
    from steelyard.authoring.commission import Commission
    from steelyard.run_folder.run_folder import RunFolder
    from steelyard.runner.limits import RunLimits
    from steelyard.runner.progress import Progress
    from steelyard.study.study import Study


def open_study(
    options: dict[str, Any], accept_all: bool = False, *, quiet: bool = False
) -> tuple[Study, RunFolder, Commission | None]:
    """The study that the options describe, its folder, and who writes for it; prints notes unless quiet."""
    from steelyard.authoring.commission import commission_of
    from steelyard.cli.data_options import data_overrides
    from steelyard.run_folder.run_folder import RunFolder
    from steelyard.study.study_file import build_study, load_config

    overrides: dict[str, Any] = {
        name: options[name] for name in ("profile", "seed", "replicates") if options[name] is not None
    }
    overrides |= {name: list(options[name]) for name in ("judges", "probes") if options[name]}
    path: Path | None = options["study"]
    config = load_config(path, {**overrides, **data_overrides(options)})
    commission = commission_of(config, accept_all)
    study = build_study(
        config, Path() if path is None else path.parent, options["prompt"], options["answers"]
    )
    for note in (*study.notes, *(commission.roles.cautions(study.judges) if commission else ())):
        if not quiet:
            warn(note)
    study = replace(study, command=spoken())
    folder = RunFolder(options["out"]) if options["out"] else RunFolder.default(study)
    return study, folder, commission


def with_reference(study: Study, folder: RunFolder, limits: RunLimits, progress: Progress) -> Study:
    """The study with a judge's verdicts as labels, where it names one for that; what is missing is said."""
    from steelyard.commands.reference_run import with_reference_labels

    labelled = with_reference_labels(study, folder, limits, progress)
    for note in labelled.notes if study.reference else ():
        warn(note)
    return labelled


def limits_of(options: dict[str, Any]) -> RunLimits:
    """How far a run goes, as the options say."""
    from steelyard.runner.limits import RunLimits

    return RunLimits(
        concurrency=options["concurrency"],
        attempts=options["attempts"],
        backoff=options["backoff"],
        call_timeout=options["timeout"],
        preflight=not (options["no_preflight"] or options["no_pilot"]),
        budget=options["budget"],
        engine=options["engine"],
    )
