"""Commands of a study: `steelyard measure`, `plan` and `generate`."""

from __future__ import annotations

import json
import sys
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from shlex import quote
from typing import TYPE_CHECKING

import click

from steelyard.cli.help import StudyCommand
from steelyard.cli.main import return_large_arrays
from steelyard.cli.options import StudyOptions, WholeRange, takes, until_setting
from steelyard.cli.output import (
    describe_calls,
    display_path,
    plain,
    print_datasheet,
    print_page_path,
    print_results,
    warn,
)
from steelyard.cli.study import (
    RULE,
    VERDICT,
    MeasureOptions,
    open_study,
    print_destinations,
    run_limits,
    with_reference,
)
from steelyard.core.settings import flag, setting
from steelyard.core.text import escape_control_chars, plural, pluralize
from steelyard.errors import ConfigError, SteelyardError

if TYPE_CHECKING:
    from steelyard.commands.measure import Measurement


@click.command(cls=StudyCommand, short_help="Measure judges and print the datasheet.")
@takes(MeasureOptions)
def measure(options: MeasureOptions) -> None:
    """Measure judges, print the datasheet and write the run folder.

    Without arguments it measures the two embedded judges with the probes vacuum, ladder and criterion on the
    built-in checklists, in the quick profile. Run the same command again to resume; a finished run makes no
    calls.
    """
    options = _with_until(options)
    rule = None if options.until in (None, VERDICT) else options.until
    if rule is not None and options.batch:
        raise ConfigError(
            "--batch: cannot be combined with a rule of --until, which needs each reply before the next "
            "call; remove one of them."
        )
    if rule is not None:
        from steelyard.cli.stopping import decide_rule

        sys.exit(decide_rule(rule, options))
    if options.cap is not None:
        raise ConfigError(f"--cap: works only with a rule, as in --until '{RULE}'; add one, or remove --cap.")
    if options.until is not None:
        from steelyard.cli.stopping import measure_sizes, print_sizes

        if options.dry_run:
            print_sizes(options, options.as_json)
            return
        sys.exit(_print(measure_sizes(options), options.full, options.as_json))
    study, folder, generation = open_study(options, options.accept_all, calls=not options.dry_run)
    if options.dry_run:
        from steelyard.cli.plan_table import print_study_plan

        print_study_plan(study, folder, options.as_json, generation)
        return
    from steelyard.cli.progress import LiveProgress
    from steelyard.commands.measure import measure as run
    from steelyard.providers.provider import model_info

    asked = [one for judge in study.judges for one in judge.leaf_judges]
    if not any(model_info(judge.address).sequential for judge in asked):
        return_large_arrays()  # an embedded model would ask for the same ones again at every call

    if options.batch:
        from steelyard.runner.batch_runner import judges_without_batches

        for name in judges_without_batches(study.judges):
            warn(f"judge {name}: its provider has no batch API; its calls are made one by one.")
    limits = options.limits
    print_destinations(options, study, generation)
    with LiveProgress() as progress:
        study = with_reference(study, folder, limits, progress)
        if generation is not None:
            study, authored = generation.generate(study, folder, limits, progress)
            authored.require_review(folder)
            for shortfall in authored.shortfalls:
                warn(shortfall)
        measurement = run(study, folder, limits, progress)
    sys.exit(_print(measurement, options.full, options.as_json))


def _with_until(options: MeasureOptions) -> MeasureOptions:
    """The options with `--decide`, the earlier spelling, under its name of today."""
    if options.decide is None:
        return options
    if options.until is not None:
        raise ConfigError("--decide: earlier spelling of --until, which is given too; remove --decide.")
    rule = quote(options.decide)
    warn(f"--decide: earlier spelling, which goes with the next release; write --until {rule}.")
    return replace(options, until=options.decide, decide=None)


def _print(measurement: Measurement, full: bool, as_json: bool) -> int:
    from steelyard.datasheet.render.data_files import dumps

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


@dataclass(frozen=True, kw_only=True)
class PlanOptions(StudyOptions):
    labels: str | None = setting("Numbers of labelled rows, to print their precision: 50,200.", "N,…")
    until: str | None = until_setting()
    by_probe: bool = flag("Print one row per judge and probe.")
    rank: Path | None = setting(
        "Smallest difference that the judges of this run detect.", "DIR", kind="folder"
    )
    items: int = setting("Items per system, for --rank.", "N", default=500, type=WholeRange(2, 1_000_000_000))
    as_json: bool = flag("Print the plan as JSON.", ("--json",), late=True)


@click.command(cls=StudyCommand, short_help="Estimate the cost of a measurement; makes no calls.")
@takes(PlanOptions)
def plan(options: PlanOptions) -> None:
    """Estimate calls, tokens, dollars and time of a measurement; makes no calls.

    Takes the arguments of `measure` and counts only calls that the run folder does not hold yet. Two
    estimates of sample size need no study: --labels with numbers, such as 50,200, shows the precision of that
    many labelled rows; --rank shows the smallest difference between two systems that the judges of a run can
    detect.
    """
    if options.labels is not None and "=" not in options.labels:
        if options.rank is not None:
            raise click.UsageError("--labels and --rank cannot be combined; remove one of them")
        print_label_precision(options.labels, options.as_json)
        return
    if options.rank is not None:
        print_ranking(options.rank, options.items, options.as_json)
        return
    if options.until is not None:
        from steelyard.cli.stopping import print_rule_plan, print_sizes

        if options.until == VERDICT:
            print_sizes(options, options.as_json)
        else:
            print_rule_plan(options.until, options, None, options.as_json)
        return
    from steelyard.cli.plan_table import print_study_plan

    study, folder, generation = open_study(options, calls=False)
    print_study_plan(study, folder, options.as_json, generation, by_probe=options.by_probe)


ASSUMED = {"accuracy": 0.85, "error_rate": 0.10, "disagreement": 0.15}
MOST_ROWS = 10**7


def print_label_precision(given: str, as_json: bool) -> None:
    from steelyard.metrics.stats.sample_size import label_precision

    rows = [label_precision(count, **ASSUMED) for count in _counts(given)]
    if as_json:
        click.echo(json.dumps({"expected": ASSUMED, "labels": [asdict(row) for row in rows]}, indent=1))
        return
    click.echo("Precision by labelled rows: half the width of each 95 % interval, and the")
    click.echo("smallest difference between two judges that 80 % of studies detect.\n")
    click.echo("    rows  accuracy   kappa   false passes   between two judges")
    for row in rows:
        accuracy, kappa, error = (f"±{share:.3f}" for share in (row.accuracy, row.kappa, row.error_rate))
        between = f"{row.between_judges:>18.3f}"
        click.echo(f"{row.rows:>8,}  {accuracy:>8}  {kappa:>6}   {error:>12}   {between}")
    click.echo("\nAssumes a judge that is right in 0.85 of the rows and passes 0.10 of those")
    click.echo("that should fail (half of them), and a second one that differs in 0.15.")


def _counts(given: str) -> list[int]:
    counts = [part.strip() for part in given.split(",") if part.strip()]
    for part in counts or [given]:
        if not (part.isascii() and part.isdigit() and 2 <= int(part[:9]) <= MOST_ROWS and len(part) < 9):
            raise ConfigError(
                f"--labels: found {part!r}, expected whole numbers from 2 to {MOST_ROWS:,}, as in 50,100,200."
            )
    return sorted({int(part) for part in counts})


def print_ranking(folder: Path, items: int, as_json: bool) -> None:
    from steelyard.commands.ranking import ranking_power
    from steelyard.commands.report import current_datasheet

    rows = ranking_power(current_datasheet(folder), items, str(folder))
    if as_json:
        click.echo(json.dumps({"ranking": [asdict(row) for row in rows]}, indent=1, ensure_ascii=False))
        return
    for row in rows:
        click.echo(f"{escape_control_chars(row.judge)}: {row.sentence()}.")
    click.echo("\nAssumes that a judge errs equally on both systems; a bias towards one adds to this.")


@dataclass(frozen=True, kw_only=True)
class GenerateOptions(StudyOptions):
    accept_all: bool = flag("Treat generated texts still pending review as accepted.", late=True)


@click.command(cls=StudyCommand, short_help="Generate stimuli with a model; calls no judge.")
@takes(GenerateOptions)
def generate(options: GenerateOptions) -> None:
    """Generate the stimuli of a study with its author model and confirm them with its validator.

    No judge is called. Run the same command again to resume; `measure` with the same arguments judges the
    texts.
    """
    from rich.console import Console

    from steelyard.cli.progress import LiveProgress
    from steelyard.study.planner import open_briefs
    from steelyard.study.study import with_placeholder_labels

    study, folder, generation = open_study(options, options.accept_all)
    if generation is None:
        raise ConfigError("generate: the study has no author; add author and validator to the study file.")
    if not open_briefs(with_placeholder_labels(study)):
        raise ConfigError(
            "generate: no probe of the study uses generated texts; add one, such as label_flip."
        )
    asked = tuple(judge for judge in study.judges if judge.name == study.reference)
    print_destinations(options, replace(study, judges=asked), generation)
    limits = run_limits(options)
    with LiveProgress() as progress:
        study = with_reference(study, folder, limits, progress)
        _, authored = generation.generate(study, folder, limits, progress)
    console = Console()
    for report in authored.report:
        console.print(plain(report.sentence()), soft_wrap=True)
    for shortfall in authored.shortfalls:
        warn(shortfall)
    if authored.pending:
        texts = (
            f"{pluralize(authored.pending, 'text')} {plural(authored.pending, 'waits', 'wait')} for review"
        )
        page = f"`steelyard review {quote(display_path(folder.path))}` opens a page"
        console.print(plain(f"{texts}: {page}, or measure with --accept-all."), soft_wrap=True)
    session = authored.session
    asked_now = session.calls or session.failures
    calls = describe_calls(session) if asked_now else "No calls: every text already exists."
    click.echo(f"{calls} Stimuli: {display_path(folder.stimuli)}")
