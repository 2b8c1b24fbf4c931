"""`steelyard plan`, and the plans that other commands print."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from steelyard.cli.foresight import print_labels, print_ranking
from steelyard.cli.options import option, study_options, until_option, whole
from steelyard.cli.study import open_study

if TYPE_CHECKING:
    from steelyard.authoring.commission import Commission
    from steelyard.run_folder.run_folder import RunFolder
    from steelyard.runner.planner import Plan, PlanRow
    from steelyard.study.study import Study


MOST_ITEMS = 1_000_000_000
"""Items beyond this number are no plan."""


@click.command(short_help="Say what a measurement will cost; spends nothing.")
@study_options
@until_option
@option("--by-probe", is_flag=True, help="One row per judge and probe, not per judge.")
@option(
    "--rank",
    type=click.Path(file_okay=False, path_type=Path),
    metavar="DIR",
    help="Smallest difference that the judges of a run show.",
)
@option(
    "--items", type=whole(2, MOST_ITEMS), default=500, metavar="N", help="Items of each system, for --rank."
)
@option("--json", "as_json", is_flag=True, help="Print the plan as JSON.")
def plan(
    until: str | None, by_probe: bool, rank: Path | None, items: int, as_json: bool, **options: Any
) -> None:
    """Say what a measurement will take: calls, tokens, dollars, time. Spends nothing.

    Takes the arguments of `measure` and counts only what its run folder has not answered yet. Two questions
    need no study: with numbers for --labels, such as 50,200, what so many labelled rows would tell; with
    --rank, how small a difference between two systems the judges of a run can show.
    """
    labels = options["labels"]
    if labels is not None and "=" not in labels:
        if rank is not None:
            raise click.UsageError("--labels and --rank are two questions; ask one at a time")
        print_labels(labels, as_json)
        return
    if rank is not None:
        print_ranking(rank, items, as_json)
        return
    if until is not None:
        from steelyard.cli.until import print_sizes

        print_sizes(options, as_json)
        return
    study, folder, commission = open_study(options)
    print_study_plan(study, folder, as_json, commission, by_probe=by_probe)


def print_study_plan(
    study: Study, folder: RunFolder, as_json: bool, commission: Commission | None, *, by_probe: bool = False
) -> None:
    """What is still to be paid for: texts to be written first, then the trials of the judges."""
    from steelyard.commands.reference_run import with_expected_labels
    from steelyard.run_folder.resume import require_same_study
    from steelyard.runner.planner import make_plan

    rows: list[PlanRow] = []
    if study.reference is None:  # labels that a judge has yet to give are no labels of the folder
        require_same_study(folder, study)
    study = with_expected_labels(study, folder)
    if commission is not None:
        study, rows = commission.foreseen(study, folder)
    print_plan(make_plan(study), folder, as_json, rows, by_probe=by_probe)
    if rows and commission is not None and not as_json:
        tries = commission.roles.attempts
        click.echo(f"Author and validator are counted for one try of each text; up to {tries} may be needed.")


def print_plan(
    made: Plan, folder: RunFolder, as_json: bool, before: Sequence[PlanRow] = (), *, by_probe: bool = False
) -> None:
    """What is still to be paid for, as a table or as JSON; `before` is what comes before any judge."""
    import json
    from dataclasses import asdict

    from rich.console import Console

    from steelyard.cli.plan_table import by_judge, listed_prices, plan_table
    from steelyard.core.text import pluralize
    from steelyard.runner.planner import plan_rows
    from steelyard.runner.record import submitted

    answered, waiting = set[str](), set[str]()
    if folder.database.exists():
        with folder.store() as store:
            answered, waiting = store.answered(), submitted(store)
    rows = [*before, *plan_rows(made, answered | waiting)]
    if as_json:
        body = {
            "stimulus_set": made.stimuli.hash,
            "stimuli": len(made.stimuli),
            "rows": [asdict(r) for r in rows],
            "prices": listed_prices(made.study),
            "handed_in": len(waiting),
        }
        click.echo(json.dumps(body, indent=1))
    else:
        shown = rows if by_probe else by_judge(rows)
        if waiting:
            click.echo(f"{pluralize(len(waiting), 'call')} submitted in batches before; not counted here.\n")
        plan_table(made, shown, len(answered), folder.path, Console())
