"""`steelyard measure`."""

from __future__ import annotations

import sys
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import click

from steelyard.cli.options import COUNT, POSITIVE, option, study_options, until_option, yes_option
from steelyard.cli.output import (
    describe_calls,
    full_option,
    print_datasheet,
    print_page_path,
    print_results,
    warn,
)
from steelyard.cli.process import return_large_arrays
from steelyard.cli.study import open_study, print_destinations, run_limits, with_reference
from steelyard.errors import ConfigError, SteelyardError

if TYPE_CHECKING:
    from steelyard.commands.measure import Measurement
    from steelyard.runner.limits import RunLimits


@click.command(short_help="Measure judges and print the datasheet.")
@study_options
@until_option
@option("--decide", metavar="RULE", help='Stop once a rule such as "dark_current<0.10" is decided.')
@option("--cap", type=COUNT, metavar="N", help="Maximum number of pairs for --decide [all].")
@option(
    "--batch", is_flag=True, help="Use the vendor's batch API: about half the price, results within hours."
)
@option("--batch-size", type=COUNT, metavar="N", help="Calls per batch, at most [what the vendor takes].")
@option("--poll", type=POSITIVE, default=60.0, metavar="SECONDS", help="Seconds between batch status checks.")
@option("--accept-all", is_flag=True, help="Treat generated texts still pending review as accepted.")
@option("--dry-run", is_flag=True, help="Print the plan and stop.")
@yes_option
@full_option
@option("--json", "as_json", is_flag=True, help="Print datasheet.json instead of the datasheet.")
def measure(
    until: str | None,
    decide: str | None,
    cap: int | None,
    batch: bool,
    batch_size: int | None,
    poll: float,
    accept_all: bool,
    dry_run: bool,
    full: bool,
    as_json: bool,
    **options: Any,
) -> None:
    """Measure judges, print the datasheet and write the run folder.

    Without arguments it measures the two embedded judges with the probes vacuum, ladder and criterion on the
    built-in checklists, in the quick profile. Run the same command again to resume; a finished run makes no
    calls.
    """
    if decide is not None and until is not None:
        raise ConfigError(
            "--until: cannot be combined with --decide, which has its own stopping rule; remove one of them."
        )
    if decide is not None and batch:
        raise ConfigError(
            "--batch: cannot be combined with --decide, which needs each reply before the next "
            "call; remove one of them."
        )
    if decide is not None:
        from steelyard.cli.stopping import decide_rule

        sys.exit(decide_rule(decide, cap, options, dry_run, as_json))
    if cap is not None:
        raise ConfigError("--cap: works only with --decide; add --decide RULE, or remove --cap.")
    if until is not None:
        from steelyard.cli.stopping import measure_sizes, print_sizes

        if dry_run:
            print_sizes(options, as_json)
            return
        limits = _with_batches(run_limits(options), batch, batch_size, poll)
        sys.exit(_print(measure_sizes(options, limits), full, as_json))
    study, folder, generation = open_study(options, accept_all, calls=not dry_run)
    if dry_run:
        from steelyard.cli.plan_table import print_study_plan

        print_study_plan(study, folder, as_json, generation)
        return
    from steelyard.cli.progress import LiveProgress
    from steelyard.commands.measure import measure as run
    from steelyard.providers.provider import model_info
    from steelyard.runner.batch_runner import judges_without_batches

    asked = [one for judge in study.judges for one in judge.leaf_judges]
    if not any(model_info(judge.address).sequential for judge in asked):
        return_large_arrays()  # an embedded model would ask for the same ones again at every call

    for name in judges_without_batches(study) if batch else ():
        warn(f"judge {name}: its provider has no batch API; its calls are made one by one.")
    limits = _with_batches(run_limits(options), batch, batch_size, poll)
    print_destinations(options, study, generation)
    with LiveProgress() as progress:
        study = with_reference(study, folder, limits, progress)
        if generation is not None:
            study, authored = generation.generate(study, folder, limits, progress)
            authored.require_review(folder)
            for shortfall in authored.shortfalls:
                warn(shortfall)
        measurement = run(study, folder, limits, progress)
    sys.exit(_print(measurement, full, as_json))


def _with_batches(limits: RunLimits, batch: bool, size: int | None, poll: float) -> RunLimits:
    limits = replace(limits, batch=batch, poll=poll)
    return limits if size is None else replace(limits, batch_size=size)


def _print(measurement: Measurement, full: bool, as_json: bool) -> int:
    from steelyard.datasheet.render.json import dumps

    sheet = measurement.datasheet
    if sheet is not None and as_json:
        click.echo(dumps(sheet), nl=False)
    faults: list[SteelyardError] = []
    if sheet is not None and not as_json:
        faults = print_datasheet(sheet, full=full)
        click.echo()
    code = print_results(measurement.warnings, (*measurement.errors, *faults))
    if sheet is not None and not as_json:
        print_page_path(
            measurement.folder.page,
            describe_calls(measurement.session, estimated=bool(sheet.facts.uncounted)),
            full=full,
        )
    return code
