"""`steelyard people`: whether people agree, and whether a judge may stand in for one of them."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import click

from steelyard.cli.options import NOT_NEGATIVE, option
from steelyard.cli.output import finish_report, print_lines, print_table, report_options, warn
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
    type=click.Choice(["nominal", "ordinal", "interval", "ratio"]),
    default="nominal",
    help="Level of measurement of the ratings; nominal ones may be words.",
)
@option("--columns", metavar="PART=COLUMN,…", help="Column mapping: item, value, task, stratum, ….")
@option("--values", metavar="WORD=NUMBER,…", help="Value mapping: good=1,bad=0.")
@option("--where", metavar="MAP", help="Keep only rows with these column values: split=test.")
@option("--criterion", metavar="NAME", help="Criterion, where the file holds several.")
@report_options
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
    out: Path | None,
    page: Path | None,
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
    from steelyard.commands.score_pages import people_page
    from steelyard.datasheet.render.html.score_page import render
    from steelyard.importing.ratings import Categories, RatingColumns

    how = RatingColumns.parse(columns, judges, names, values, where, nominal=level == "nominal")
    table = load_ratings(file, how)
    for remark in table.remarks:
        warn(remark)
    words = how.values.words if isinstance(how.values, Categories) else {}
    report = compute(
        table, names, judges, criterion=criterion, epsilon=epsilon, level=level, categories=words
    )
    finish_report(
        json.dumps(report.to_json(), indent=1) + "\n",
        lambda: _print(report),
        lambda: render(people_page(report)),
        out=out,
        page=page,
        as_json=as_json,
    )


def _print(report: PeopleReport) -> None:
    from steelyard.commands.people_text import (
        ANSWER_COLUMNS,
        JUDGE_COLUMNS,
        PERSON_COLUMNS,
        answer_rows,
        judge_rows,
        people_notes,
        people_sentence,
        person_rows,
    )

    print_lines([people_sentence(report)])
    if report.judges:
        print_table(JUDGE_COLUMNS, judge_rows(report))
        print_table(ANSWER_COLUMNS, answer_rows(report))
    print_table(PERSON_COLUMNS, person_rows(report))
    print_lines(people_notes(report))
