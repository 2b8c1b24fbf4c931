"""From the options of a command to its study and its run limits, and back to a command line for a rerun."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from contextlib import nullcontext
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click
from click.core import ParameterSource

from steelyard.cli.output import print_error, warn
from steelyard.errors import ConfigError

if TYPE_CHECKING:
    from steelyard.authoring.generation_plan import GenerationPlan
    from steelyard.run_folder.run_folder import RunFolder
    from steelyard.runner.limits import RunLimits
    from steelyard.runner.progress import Progress
    from steelyard.study.consent import Consent
    from steelyard.study.study import Study
    from steelyard.trials.judge import Judge


def open_study(
    options: dict[str, Any], accept_all: bool = False, *, calls: bool = True, quiet: bool = False
) -> tuple[Study, RunFolder, GenerationPlan | None]:
    """The study, its folder and its writers; without `calls`, no code of a `python/…` judge is run."""
    from steelyard.authoring.generation_plan import generation_plan
    from steelyard.cli.options import data_overrides
    from steelyard.core.foreign_code import without_code
    from steelyard.run_folder.run_folder import RunFolder
    from steelyard.study.consent import check_keys
    from steelyard.study.study_copy import copy_study
    from steelyard.study.study_file import build_study, open_config

    overrides: dict[str, Any] = {
        name: options[name] for name in ("profile", "seed", "replicates") if options[name] is not None
    }
    overrides |= {name: list(options[name]) for name in ("judges", "probes") if options[name]}
    path: Path | None = options["study"]
    overrides |= data_overrides(options)
    consent = consent_of(yes=options["yes"])
    config, files = open_config(path, overrides, "command line", consent)
    generation = generation_plan(config, accept_all)
    with nullcontext() if calls else without_code():
        study = build_study(
            config, Path() if path is None else path.parent, options["prompt"], options["answers"]
        )
    if generation is not None and path is not None:
        copy = copy_study(path, overrides, options["prompt"], options["answers"])
        generation = replace(generation, source=copy)
    for note in (*study.notes, *(generation.roles.cautions(study.judges) if generation else ())):
        if not quiet:
            warn(note)
    if calls and path is not None:
        check_keys(path, _judges_of_file(options, study, generation), consent)
    reads = tuple(str(file) for file in files if file.path.exists())
    study = replace(study, command=argv_for_rerun(), reads=reads)
    folder = RunFolder(options["out"]) if options["out"] else RunFolder.default(study)
    return study, folder, generation


def _judges_of_file(
    options: dict[str, Any], study: Study, generation: GenerationPlan | None
) -> tuple[Judge, ...]:
    """Judges and writers that the study file names; those of the command line are the user's own."""
    return (
        *(() if options["judges"] else study.judges),
        *(generation.roles.models if generation else ()),
    )


def consent_of(*, yes: bool) -> Consent:
    """What the user says to a study file: --yes to all, on a terminal when asked, else no; once a command."""
    from steelyard.study.consent import refuse

    context = click.get_current_context(silent=True)
    answered: set[str] = set() if context is None else context.meta.setdefault(__name__, set())

    def check(kind: str, does: str, instead: str = "") -> None:
        if does in answered:
            return
        if not yes and not (sys.stdin is not None and sys.stdin.isatty()):
            refuse(kind, does, instead)
        print_error(f"{does}.")
        if not yes and not click.confirm("Go on?", err=True):
            raise ConfigError("no consent: nothing of it was read or sent; correct the study file.")
        answered.add(does)

    return check


def print_destinations(
    options: dict[str, Any], study: Study, generation: GenerationPlan | None = None
) -> None:
    """Say where a study file sends calls and keys, before the first call."""
    from steelyard.providers.provider import destinations

    if options["study"] is not None:
        for name, place in destinations(_judges_of_file(options, study, generation)).items():
            print_error(f"calls of {name} {place.text}.")


def with_reference(study: Study, folder: RunFolder, limits: RunLimits, progress: Progress) -> Study:
    from steelyard.commands.reference_run import with_reference_labels

    labelled = with_reference_labels(study, folder, limits, progress)
    for note in labelled.notes if study.reference else ():
        warn(note)
    return labelled


def run_limits(options: dict[str, Any]) -> RunLimits:
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


RERUN_PARAMETERS = (
    *("study", "judges", "probes", "scale", "profile", "until", "replicates", "seed", "out"),
    *("data", "columns", "labels", "adapter", "stratify", "sample", "where", "preprocess", "failing"),
    *("rubric", "prompt", "answers"),
)
"""Parameters that decide what is measured and where it is saved; the others decide speed and output."""


def argv_for_rerun() -> tuple[str, ...] | None:
    context = click.get_current_context(silent=True)
    if context is None:
        return None
    return tuple(word for parameter in context.command.params for word in _words(context, parameter))


def _words(context: click.Context, parameter: click.Parameter) -> Iterator[str]:
    name = parameter.name or ""
    source = context.get_parameter_source(name)
    if name not in RERUN_PARAMETERS or source in (None, ParameterSource.DEFAULT):
        return
    option = min(parameter.opts, key=len)
    value = context.params[name]
    for each in value if isinstance(value, tuple) else (value,):
        if isinstance(parameter, click.Option):
            yield option
        yield str(each)
