"""`steelyard plan`: the cost of a measurement before it is made, and sample sizes that need no study."""

from __future__ import annotations

import json
from dataclasses import asdict
from pathlib import Path
from typing import Any

import click

from steelyard.cli.options import option, study_options, until_option, yes_option
from steelyard.cli.study import open_study
from steelyard.datasheet.words.text import escape_control_chars
from steelyard.errors import ConfigError


@click.command(short_help="Estimate the cost of a measurement; makes no calls.")
@study_options
@until_option
@option("--by-probe", is_flag=True, help="Print one row per judge and probe.")
@option(
    "--rank",
    type=click.Path(file_okay=False, path_type=Path),
    metavar="DIR",
    help="Smallest difference that the judges of this run detect.",
)
@option(
    "--items",
    type=click.IntRange(2, 1_000_000_000),
    default=500,
    metavar="N",
    help="Items per system, for --rank.",
)
@yes_option
@option("--json", "as_json", is_flag=True, help="Print the plan as JSON.")
def plan(
    until: str | None, by_probe: bool, rank: Path | None, items: int, as_json: bool, **options: Any
) -> None:
    """Estimate calls, tokens, dollars and time of a measurement; makes no calls.

    Takes the arguments of `measure` and counts only calls that the run folder does not hold yet. Two
    estimates of sample size need no study: --labels with numbers, such as 50,200, shows the precision of that
    many labelled rows; --rank shows the smallest difference between two systems that the judges of a run can
    detect.
    """
    labels = options["labels"]
    if labels is not None and "=" not in labels:
        if rank is not None:
            raise click.UsageError("--labels and --rank cannot be combined; remove one of them")
        print_label_precision(labels, as_json)
        return
    if rank is not None:
        print_ranking(rank, items, as_json)
        return
    if until is not None:
        from steelyard.cli.stopping import print_sizes

        print_sizes(options, as_json)
        return
    from steelyard.cli.plan_table import print_study_plan

    study, folder, generation = open_study(options, calls=False)
    print_study_plan(study, folder, as_json, generation, by_probe=by_probe)


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
    from steelyard.run_folder.published_files import read_datasheet

    rows = ranking_power(read_datasheet(folder), items, str(folder))
    if as_json:
        click.echo(json.dumps({"ranking": [asdict(row) for row in rows]}, indent=1, ensure_ascii=False))
        return
    for row in rows:
        click.echo(f"{escape_control_chars(row.judge)}: {row.sentence()}.")
    click.echo("\nAssumes that a judge errs equally on both systems; a bias towards one adds to this.")
