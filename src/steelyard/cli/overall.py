"""`steelyard overall`: the runs of several data sets in one table."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import click

from steelyard.cli.options import option

if TYPE_CHECKING:
    from rich.console import Console

    from steelyard.commands.overall import JudgeOverall

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

    from steelyard.commands.overall import overall as put_together

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
            cells = (_accuracy(row.accuracy), _dollars(row.dollars), _dollars(point))
            table.add_row(plain(judge.judge), plain(row.data_set), *cells)
        for name in judge.missing:
            table.add_row(plain(judge.judge), plain(name), _accuracy(None), "", "")
        mean = _accuracy(judge.accuracy_mean)
        table.add_row("", "overall, pooled", mean, "", _dollars(judge.cost.pooled))
        table.add_row("", "overall, mean", "", "", _dollars(judge.cost.mean_of_rows), end_section=True)
    for line in _partial(judges):
        console.print(Text(line), soft_wrap=True)
    console.print(table)
    for line in (*_references(judges), *_missing(judges), *_lacking(judges), MEANING):
        console.print(Text(line), soft_wrap=True)


def _partial(judges: list[JudgeOverall]) -> list[str]:
    """A line for each data set whose run ended early."""
    rows = [row for judge in judges for row in judge.rows if row.partial]
    return list(dict.fromkeys(f"{row.partial} on {row.data_set}." for row in rows))


def _references(judges: list[JudgeOverall]) -> list[str]:
    """A line for each data set whose labels are verdicts of a judge."""
    rows = [row for judge in judges for row in judge.rows if row.reference]
    return list(dict.fromkeys(f"Reference on {row.data_set}: {row.reference}." for row in rows))


def _missing(judges: list[JudgeOverall]) -> list[str]:
    """A line for each judge that some data set has no accuracy of."""
    gaps = {
        judge.judge: ", ".join(f"{name} ({why})" for name, why in judge.missing.items()) for judge in judges
    }
    return [f"{judge}: no accuracy on {names}." for judge, names in gaps.items() if names]


def _lacking(judges: list[JudgeOverall]) -> list[str]:
    """A line for each data set whose accuracy is over other probes, with the judges that this holds for."""
    held: dict[tuple[str, tuple[str, ...]], list[str]] = {}
    for judge in judges:
        for place in judge.lacking.items():
            held.setdefault(place, []).append(judge.judge)
    return [
        f"{name}: the accuracy of {', '.join(whose)} is without {', '.join(probes)}, which other data sets "
        "have; the rows are not alike."
        for (name, probes), whose in held.items()
    ]


def _accuracy(value: float | None) -> str:
    return "undefined" if value is None else f"{value:.2f}"


def _dollars(amount: float | None) -> str:
    from steelyard.datasheet.words.numbers import dollars

    return "undefined" if amount is None else dollars(amount)
