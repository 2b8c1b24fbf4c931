"""`steelyard plan`: the cost of a measurement before it is made."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from steelyard.cli.options import option, study_options, until_option
from steelyard.cli.sample_size import print_label_precision, print_ranking
from steelyard.cli.study import open_study

if TYPE_CHECKING:
    pass


MOST_ITEMS = 1_000_000_000
"""Items beyond this number are no plan."""


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
    type=click.IntRange(2, MOST_ITEMS),
    default=500,
    metavar="N",
    help="Items per system, for --rank.",
)
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

    study, folder, generation = open_study(options)
    print_study_plan(study, folder, as_json, generation, by_probe=by_probe)
