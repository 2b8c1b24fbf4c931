"""`steelyard people`: whether people agree, and whether a judge may stand in for one of them."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import click

from steelyard.cli.options import NOT_NEGATIVE, option
from steelyard.cli.output import plain, warn
from steelyard.cli.process import use_one_blas_thread

if TYPE_CHECKING:
    from steelyard.commands.people import PeopleReport


@click.command(short_help="Measure agreement of people, and judges beside them.")
@click.argument("file", metavar="FILE|DIR", type=click.Path(path_type=Path))
@option("-j", "--judge", "judges", multiple=True, metavar="NAME", help="Judge; repeatable [all].")
@option("--people", "names", multiple=True, metavar="NAME", help="Person; repeatable [all].")
@option(
    "--epsilon",
    type=NOT_NEGATIVE,
    default=0.15,
    metavar="SHARE",
    help="Largest gap to a person that a judge may have.",
)
@option(
    "--level",
    type=click.Choice(["nominal", "ordinal", "interval"]),
    default="nominal",
    help="Level of measurement of the ratings.",
)
@option("--columns", metavar="PART=COLUMN,…", help="Column mapping: item, value, task, stratum, ….")
@option("--values", metavar="WORD=NUMBER,…", help="Value mapping: good=1,bad=0.")
@option("--where", metavar="MAP", help="Keep only rows with these column values: split=test.")
@option("--criterion", metavar="NAME", help="Criterion, where the file holds several.")
@option("--json", "as_json", is_flag=True, help="Print the figures as JSON.")
def people(
    file: Path,
    judges: tuple[str, ...],
    names: tuple[str, ...],
    epsilon: float,
    level: str,
    columns: str | None,
    values: str | None,
    where: str | None,
    criterion: str | None,
    as_json: bool,
) -> None:
    """Say how far people agree, and whether a judge agrees with them as well as they do.

    FILE is a table of ratings in which several people rated the same items. Every judge is compared with each
    person against the same other people (the alternative annotator test).
    """
    use_one_blas_thread()
    import json

    from steelyard.commands.people import people as compute
    from steelyard.commands.rating_files import load_ratings
    from steelyard.importing.ratings import RatingColumns

    table = load_ratings(file, RatingColumns.parse(columns, judges, names, values, where))
    for remark in table.remarks:
        warn(remark)
    report = compute(table, names, judges, criterion=criterion, epsilon=epsilon, level=level)
    if as_json:
        click.echo(json.dumps(report.to_json(), indent=1))
    else:
        _print(report)


def _print(report: PeopleReport) -> None:
    from rich import box
    from rich.console import Console
    from rich.table import Table

    from steelyard.core.text import pluralize

    console = Console()
    alpha = report.alpha
    ends = "" if alpha.low is None else f" [{alpha.low:.3f}, {alpha.high:.3f}]"
    shared = pluralize(report.shared, "item")
    console.print(plain(f"Agreement of people: α {alpha.value:.3f}{ends} ({report.level}), {shared} shared."))
    for judge in report.judges:
        console.print(plain(f"{judge.judge}: {judge.verdict}."))
    table = Table(box=box.SIMPLE_HEAD)
    for title in ("person", "items", "severity [95 %]"):
        table.add_column(title, overflow="fold")
    for each in report.people:
        far = each.severity
        text = "" if far is None else f"{far.value:+.3f} [{far.low:+.3f}, {far.high:+.3f}]"
        table.add_row(*map(plain, (each.name, f"{each.items:,}", text)))
    console.print(table)
    if report.judges:
        table = Table(box=box.SIMPLE_HEAD)
        for title in ("judge", "gap to a person [95 %]", "ω", "ρ", "as the majority", "squared error"):
            table.add_column(title, overflow="fold")
        for each_judge in report.judges:
            gap = each_judge.gap
            text = "" if gap is None else f"{gap.value:+.3f} [{gap.low:+.3f}, {gap.high:+.3f}]"
            rates = ("" if x is None else f"{x:.2f}" for x in (each_judge.winning_rate, each_judge.advantage))
            right = f"{each_judge.majority[0]} of {each_judge.majority[1]}"
            table.add_row(
                *map(plain, (each_judge.judge, text, *rates, right, f"{each_judge.squared_error:.3f}"))
            )
        console.print(table)
        console.print(plain(f"ω: share of people whom the judge may replace at ε = {report.epsilon:g}."))
    if report.split:
        named = ", ".join(report.split[:8]) + (" …" if len(report.split) > 8 else "")
        console.print(plain(f"{pluralize(len(report.split), 'item')} without a majority: {named}."))
