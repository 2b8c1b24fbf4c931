"""`steelyard measure`."""

from __future__ import annotations

import sys
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import click

from steelyard.cli.options import amount, option, study_options, until_option, whole
from steelyard.cli.say import calls_made, tell, warn
from steelyard.cli.sheet import full_option, print_page, print_sheet
from steelyard.cli.study import limits_of, open_study, with_reference
from steelyard.errors import ConfigError, SteelyardError

if TYPE_CHECKING:
    from steelyard.commands.measure import Measurement


@click.command(short_help="Measure judges and print the datasheet.")
@study_options
@until_option
@option(
    "--decide",
    metavar="RULE",
    help='Stop once a rule such as "dark_current<0.10" is decided.',
)
@option("--cap", type=whole(1), metavar="N", help="Pairs to draw for --decide, at most [all].")
@option("--batch", is_flag=True, help="Hand calls in together: cheaper, and answered later.")
@option(
    "--poll", type=amount(zero=False), default=60.0, metavar="SECONDS", help="Between two looks at a batch."
)
@option("--accept-all", is_flag=True, help="Judge written texts that wait for review, unseen.")
@option("--dry-run", is_flag=True, help="Print the plan and stop.")
@full_option
@option("--json", "as_json", is_flag=True, help="Print datasheet.json instead of the datasheet.")
def measure(
    until: str | None,
    decide: str | None,
    cap: int | None,
    batch: bool,
    poll: float,
    accept_all: bool,
    dry_run: bool,
    full: bool,
    as_json: bool,
    **options: Any,
) -> None:
    """Measure judges, print the datasheet and write the run folder.

    Without arguments: the two embedded judges, the probes vacuum, ladder and criterion, the built-in
    checklists, quick profile. Running it again on the same folder resumes; a finished run makes no calls.
    """
    if decide is not None and until is not None:
        raise ConfigError("--until: --decide stops by a rule of its own; leave one of them out.")
    if decide is not None and batch:
        raise ConfigError("--batch: --decide draws by what the last calls said; leave one of them out.")
    if decide is not None:
        from steelyard.cli.decide import decide_rule

        sys.exit(decide_rule(decide, cap, options, dry_run, as_json))
    if cap is not None:
        raise ConfigError("--cap: belongs to --decide; leave it out, or say what to decide.")
    if until is not None:
        from steelyard.cli.until import measure_sizes, print_sizes

        if dry_run:
            print_sizes(options, as_json)
            return
        limits = replace(limits_of(options), batch=batch, poll=poll)
        sys.exit(_print(measure_sizes(options, limits), full, as_json))
    study, folder, generation = open_study(options, accept_all)
    if dry_run:
        from steelyard.cli.plan import print_study_plan

        print_study_plan(study, folder, as_json, generation)
        return
    from steelyard.cli.progress import LiveProgress
    from steelyard.commands.measure import measure as run
    from steelyard.runner.batch_judge_run import judges_without_batches

    for name in judges_without_batches(study) if batch else ():
        warn(f"judge {name}: its calls are made one by one; its provider takes no batches.")
    limits = limits_of(options)
    with LiveProgress() as progress:
        study = with_reference(study, folder, limits, progress)
        if generation is not None:
            study, authored = generation.generate(study, folder, limits, progress)
            authored.require_review(folder)
            for shortfall in authored.shortfalls:
                warn(shortfall)
        measurement = run(study, folder, replace(limits, batch=batch, poll=poll), progress)
    sys.exit(_print(measurement, full, as_json))


def _print(measurement: Measurement, full: bool, as_json: bool) -> int:
    """Print the datasheet, then what was lost, last where the page is; return the exit code."""
    sheet = measurement.datasheet
    if sheet is not None and as_json:
        click.echo(sheet.dumps(), nl=False)
    faults: list[SteelyardError] = []
    if sheet is not None and not as_json:
        faults = print_sheet(sheet, full=full)
        click.echo()
    code = tell(measurement.warnings, (*measurement.errors, *faults))
    if sheet is not None and not as_json:
        print_page(
            measurement.folder.page,
            calls_made(measurement.session, estimated=bool(sheet.facts.uncounted)),
            full=full,
        )
    return code
