"""`steelyard estimate`: the figure that people would give."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from steelyard.cli.options import Decorator, confidence_option, option
from steelyard.cli.output import finish_report, print_lines, print_table, report_options, warn
from steelyard.cli.process import use_one_blas_thread

if TYPE_CHECKING:
    from steelyard.commands.estimate import EstimateReport
    from steelyard.importing.ratings import RatingColumns, RatingsTable

_RATING_OPTIONS: tuple[Decorator, ...] = (
    click.argument("file", metavar="FILE|DIR", type=click.Path(path_type=Path)),
    option("-j", "--judge", metavar="NAME", help="Judge: a rater, or a column of a wide table."),
    option(
        "--people",
        multiple=True,
        metavar="NAME",
        help="Person: a rater, or a column of a wide table; repeatable [all].",
    ),
    option(
        "--columns", metavar="PART=COLUMN,…", help="Column mapping: item, value, system, task, stratum, …."
    ),
    option("--values", metavar="WORD=NUMBER,…", help="Value mapping: good=1,bad=0."),
    option("--where", metavar="MAP", help="Keep only rows with these column values: split=test."),
    option("--criterion", metavar="NAME", help="Criterion, where the file holds several."),
)


_LABEL_OPTIONS: tuple[Decorator, ...] = (
    option(
        "--labels",
        type=click.Path(path_type=Path),
        metavar="FILE|DIR",
        help="People's labels: a file with item and value, or the folder of `labels draw`.",
    ),
    option(
        "--label-columns",
        metavar="PART=COLUMN,…",
        help="Column mapping of the file of labels: item, value, rater, …. [as --columns]",
    ),
)


def rating_options(command: Any) -> Any:
    for decorate in reversed(_RATING_OPTIONS):
        command = decorate(command)
    return command


def label_options(command: Any) -> Any:
    for decorate in reversed(_LABEL_OPTIONS):
        command = decorate(command)
    return command


def rating_columns(options: dict[str, Any]) -> RatingColumns:
    from steelyard.importing.ratings import RatingColumns

    judges = [] if options["judge"] is None else [options["judge"]]
    return RatingColumns.parse(
        options["columns"], judges, options["people"], options["values"], options["where"]
    )


def load(options: dict[str, Any], labels: Path | None = None, *, pilot: bool = False) -> RatingsTable:
    from steelyard.commands.rating_files import load_ratings
    from steelyard.importing.ratings import parse_parts

    own = parse_parts(options.get("label_columns"), "--label-columns")
    table = load_ratings(options["file"], rating_columns(options), labels, own, pilot=pilot)
    for remark in table.remarks:
        warn(remark)
    return table


@click.command(short_help="Estimate the score that people would give.")
@rating_options
@label_options
@option(
    "--design",
    type=click.Choice(["random", "by-verdict", "strata", "odds", "elsewhere"]),
    help="How the labels were drawn [from p_drawn].",
)
@option(
    "--of",
    type=click.Choice(["items", "population"]),
    default="items",
    help="What the claim is about.",
)
@option("--system", metavar="NAME", help="System that the figure is about.")
@option("--versus", metavar="NAME", help="Other system: estimate the difference, paired by item.")
@option(
    "--votes",
    type=click.Choice(["mean", "majority"]),
    default="mean",
    help="Label of an item that several people labelled.",
)
@option("--by", type=click.Choice(["stratum"]), help="Also estimate each stratum.")
@confidence_option
@option("--methods", is_flag=True, help="Print a paragraph for a methods section.")
@report_options
def estimate(
    labels: Path | None,
    design: str | None,
    of: str,
    system: str | None,
    versus: str | None,
    votes: str,
    by: str | None,
    confidence: float,
    methods: bool,
    out: Path | None,
    page: Path | None,
    as_json: bool,
    **options: Any,
) -> None:
    """Estimate what people would say of all items, from a judge of all and labels of some.

    FILE is a table of ratings with the columns item, rater, kind (human, judge or code) and value; or a table
    with one row per item, whose columns --judge and --people name; or a run folder. The estimator follows
    from how the labels were drawn, which the column p_drawn records or --design says.
    """
    use_one_blas_thread()
    from steelyard.commands.estimate import estimate as compute
    from steelyard.commands.estimate_file import NAME, estimate_json
    from steelyard.commands.estimate_text import methods as paragraph
    from steelyard.commands.judged_items import Subject
    from steelyard.commands.score_pages import estimate_page
    from steelyard.datasheet.render.html.score_page import render
    from steelyard.estimation.designs import LabelDesign

    table = load(options, labels)
    subject = Subject(options["judge"], options["people"], options["criterion"], system, versus, votes)
    drawn = None if design is None else LabelDesign(design)
    report = compute(
        table,
        subject,
        drawn,
        population=of == "population",
        by_stratum=by is not None,
        confidence=confidence,
    )
    folder = options["file"] if options["file"].is_dir() else None
    finish_report(
        estimate_json(report, folder),
        lambda: click.echo(paragraph(report)) if methods else _print(report),
        lambda: render(estimate_page(report)),
        out=out or (None if folder is None else folder / NAME),
        page=page,
        as_json=as_json,
    )


def _print(report: EstimateReport) -> None:
    from steelyard.commands.estimate_text import (
        figure_columns,
        figure_rows,
        notes,
        sentence,
        stratum_columns,
        stratum_rows,
    )

    print_lines([sentence(report)])
    print_table(figure_columns(report), figure_rows(report))
    if report.strata:
        print_table(stratum_columns(report), stratum_rows(report))
    print_lines(notes(report))
