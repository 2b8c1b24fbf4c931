"""`steelyard overall`: the runs of several data sets in one table."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import click

from steelyard.cli.options import option

if TYPE_CHECKING:
    from rich.console import Console

    from steelyard.lab.overall import JudgeOverall

MEANING = (
    "Each data set counts once. Pooled: all dollars over 100 times the mean accuracy; mean: the mean of the "
    "data sets' own costs per point, undefined where one has none. Data sets are no sample: this describes."
)


@click.command(short_help="Accuracy and cost over several data sets, no calls.")
@click.argument("folders", metavar="DIR...", nargs=-1, required=True, type=click.Path(path_type=Path))
@option("--json", "as_json", is_flag=True, help="Print the rows as JSON.")
def overall(folders: tuple[Path, ...], as_json: bool) -> None:
    """Put the runs of several data sets together, without a call.

    Each folder is the run of one data set on labelled single texts. For every judge: accuracy and cost per
    point on each, the mean accuracy, and the cost per point overall in both ways that are in use.
    """
    import json

    from rich.console import Console

    from steelyard.lab.overall import overall as put_together

    judges = put_together(folders)
    if as_json:
        click.echo(json.dumps([judge.to_json() for judge in judges], indent=1))
    else:
        _print(judges, Console())


def _print(judges: list[JudgeOverall], console: Console) -> None:
    from rich import box
    from rich.table import Table
    from rich.text import Text

    from steelyard.cli.say import plain

    table = Table(box=box.SIMPLE_HEAD)
    for name in ("judge", "data set"):
        table.add_column(name, overflow="fold")
    for name in ("accuracy", "dollars", "cost per point"):
        table.add_column(name, justify="right")
    for judge in judges:
        for row in judge.rows:
            point = row.cost.per_point if row.cost else None
            cells = (f"{row.accuracy:.2f}", _dollars(row.dollars), _dollars(point))
            table.add_row(plain(judge.judge), plain(row.data_set), *cells)
        table.add_row("", "overall, pooled", f"{judge.accuracy_mean:.2f}", "", _dollars(judge.cost.pooled))
        table.add_row("", "overall, mean", "", "", _dollars(judge.cost.mean_of_rows), end_section=True)
    console.print(table)
    for judge in judges:
        if judge.missing:
            console.print(Text(f"{judge.judge}: no accuracy on {', '.join(judge.missing)}."), soft_wrap=True)
    console.print(Text(MEANING), soft_wrap=True)


def _dollars(amount: float | None) -> str:
    from steelyard.datasheet.numbers import dollars

    return "undefined" if amount is None else dollars(amount)
