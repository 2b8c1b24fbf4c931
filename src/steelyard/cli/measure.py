"""`steelyard measure` and `steelyard plan`."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from steelyard.cli.options import StudyCommand, option, study_options, whole
from steelyard.cli.say import complain, shown, warn
from steelyard.cli.sheet import print_sheet
from steelyard.errors import ConfigError, SteelyardError
from steelyard.wording import counted

if TYPE_CHECKING:
    from steelyard.lab.authoring.commission import Commission
    from steelyard.lab.folder.run_folder import RunFolder
    from steelyard.lab.measure import Measured
    from steelyard.lab.run.limits import Limits
    from steelyard.lab.run.planner import Plan, PlanRow
    from steelyard.lab.run.progress import Progress
    from steelyard.lab.run.runner import Outcome
    from steelyard.lab.study.study import Study


@click.command(cls=StudyCommand, short_help="Measure judges and print the datasheet.")
@study_options
@option(
    "--decide",
    metavar="RULE",
    help='Stop once a rule such as "dark_current<0.10" is decided.',
)
@option("--cap", type=whole(1), metavar="N", help="Pairs to draw for --decide, at most [all].")
@option("--accept-all", is_flag=True, help="Judge written texts that wait for review, unseen.")
@option("--dry-run", is_flag=True, help="Print the plan and stop.")
@option("--json", "as_json", is_flag=True, help="Print datasheet.json instead of the datasheet.")
def measure(
    decide: str | None, cap: int | None, accept_all: bool, dry_run: bool, as_json: bool, **options: Any
) -> None:
    """Measure judges, print the datasheet and write the run folder.

    Without arguments: the two embedded judges, the probes vacuum, ladder and criterion, the built-in tasks,
    quick profile. Running it again on the same folder resumes; a finished run makes no calls.
    """
    if decide is not None:
        from steelyard.cli.decide import decide_rule

        sys.exit(decide_rule(decide, cap, options, dry_run, as_json))
    if cap is not None:
        raise ConfigError("--cap: belongs to --decide; leave it out, or say what to decide.")
    study, folder, commission = open_study(options, accept_all)
    if dry_run:
        print_study_plan(study, folder, as_json, commission)
        return
    from steelyard.cli.progress import LiveProgress
    from steelyard.lab.measure import measure as run

    limits = limits_of(options)
    with LiveProgress() as progress:
        study = with_reference(study, folder, limits, progress)
        if commission is not None:
            study, authored = commission.fulfilled(study, folder, limits, progress)
            authored.require_review(folder)
            for shortfall in authored.shortfalls:
                warn(shortfall)
        measured = run(study, folder, limits, progress)
    errors = _print(measured, as_json)
    sys.exit(max((error.exit_code for error in errors), default=0))


@click.command(cls=StudyCommand, short_help="Say what a measurement will cost; spends nothing.")
@study_options
@option("--json", "as_json", is_flag=True, help="Print the plan as JSON.")
def plan(as_json: bool, **options: Any) -> None:
    """Say what a measurement will take: calls, tokens, dollars, time. Spends nothing.

    Takes the arguments of `measure` and counts only what its run folder has not answered yet.
    """
    study, folder, commission = open_study(options)
    print_study_plan(study, folder, as_json, commission)


def with_reference(study: Study, folder: RunFolder, limits: Limits, progress: Progress) -> Study:
    """The study with a judge's verdicts as labels, where it names one for that; what is missing is said."""
    from steelyard.lab.reference_run import referenced

    labelled = referenced(study, folder, limits, progress)
    for note in labelled.notes if study.reference else ():
        warn(note)
    return labelled


def limits_of(options: dict[str, Any]) -> Limits:
    """How far a run goes, as the options say."""
    from steelyard.lab.run.limits import Limits

    return Limits(
        concurrency=options["concurrency"],
        attempts=options["attempts"],
        backoff=options["backoff"],
        call_timeout=options["timeout"],
        budget=options["budget"],
    )


def open_study(
    options: dict[str, Any], accept_all: bool = False
) -> tuple[Study, RunFolder, Commission | None]:
    """The study that the options describe, its folder, and who writes for it; its notes are printed."""
    from steelyard.cli.data_options import data_overrides
    from steelyard.lab.authoring.commission import commission_of
    from steelyard.lab.folder.run_folder import RunFolder
    from steelyard.lab.study.study_file import build_study, load_config

    overrides: dict[str, Any] = {
        name: options[name] for name in ("profile", "seed", "replicates") if options[name] is not None
    }
    overrides |= {name: list(options[name]) for name in ("judges", "probes") if options[name]}
    path: Path | None = options["study"]
    config = load_config(path, {**overrides, **data_overrides(options)})
    commission = commission_of(config, accept_all)
    study = build_study(config, Path() if path is None else path.parent, options["prompt"])
    for note in (*study.notes, *(commission.roles.cautions(study.judges) if commission else ())):
        warn(note)
    folder = RunFolder(options["out"]) if options["out"] else RunFolder.default(study)
    return study, folder, commission


def _print(measured: Measured, as_json: bool) -> list[SteelyardError]:
    """Print the datasheet, then what was lost; all that the exit code has to tell comes back."""
    errors = list(measured.errors)
    if measured.datasheet is not None and as_json:
        click.echo(measured.datasheet.dumps(), nl=False)
    elif measured.datasheet is not None:
        errors += print_sheet(measured.datasheet)
        click.echo(f"\n{calls_made(measured.outcome)} Page: {shown(measured.folder.page)}")
    for warning in measured.warnings:
        warn(warning)
    for error in errors:
        complain(error)
    return errors


def calls_made(outcome: Outcome) -> str:
    """What the sitting took."""
    spent = f", ${outcome.dollars:.4f} spent in all" if outcome.dollars else ""
    if outcome.calls:
        return f"{counted(outcome.calls, 'call')} in this sitting{spent}."
    if outcome.failed or outcome.stopped:
        return f"No call of this sitting was answered{spent}."
    return "No calls: every trial was answered before."


def print_study_plan(study: Study, folder: RunFolder, as_json: bool, commission: Commission | None) -> None:
    """What is still to be paid for: texts to be written first, then the trials of the judges."""
    from steelyard.lab.reference_run import foreseen
    from steelyard.lab.run.planner import make_plan

    rows: list[PlanRow] = []
    study = foreseen(study, folder)
    if commission is not None:
        study, rows = commission.foreseen(study, folder)
    print_plan(make_plan(study), folder, as_json, rows)
    if rows and commission is not None and not as_json:
        tries = commission.roles.attempts
        click.echo(f"Author and validator are counted for one try of each text; up to {tries} may be needed.")


def print_plan(made: Plan, folder: RunFolder, as_json: bool, before: Sequence[PlanRow] = ()) -> None:
    """What is still to be paid for, as a table or as JSON; `before` is what comes before any judge."""
    import json
    from dataclasses import asdict

    from rich.console import Console

    from steelyard.cli.plan_table import listed_prices, plan_table
    from steelyard.lab.run.planner import plan_rows

    answered: set[str] = set()
    if folder.database.exists():
        with folder.store() as store:
            answered = store.answered()
    rows = [*before, *plan_rows(made, answered)]
    if as_json:
        body = {
            "stimulus_set": made.stimuli.hash,
            "stimuli": len(made.stimuli),
            "rows": [asdict(r) for r in rows],
            "prices": listed_prices(made.study),
        }
        click.echo(json.dumps(body, indent=1))
    else:
        plan_table(made.study, made, rows, len(answered), folder.path, Console())
