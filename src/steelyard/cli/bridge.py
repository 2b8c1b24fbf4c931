"""`steelyard bridge`: an old judge's figures as the new judge would give them."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import click

from steelyard.cli.options import POSITIVE, confidence_option, option
from steelyard.cli.output import finish_report, print_lines, print_table, report_options, warn
from steelyard.cli.process import use_one_blas_thread

if TYPE_CHECKING:
    from steelyard.commands.bridge import BridgeReport

FILE = click.Path(dir_okay=False, path_type=Path)


@click.command(short_help="Translate an old judge's figures to a new judge.")
@click.argument("file", metavar="FILE|DIR", type=click.Path(path_type=Path))
@option("--from", "old", required=True, metavar="NAME", help="Old judge: a rater, or a column.")
@option("--to", "new", required=True, metavar="NAME", help="New judge: a rater, or a column.")
@option("--people", multiple=True, metavar="NAME", help="Person: a rater, or a column; repeatable [all].")
@option(
    "--history", type=FILE, metavar="FILE", help="Old figures: period, value and items, or items by level."
)
@option("--margin", type=POSITIVE, default=0.03, metavar="WIDTH", help="Largest uncertainty of a figure.")
@option("--columns", metavar="PART=COLUMN,…", help="Column mapping: item, value, task, stratum, ….")
@option("--values", metavar="WORD=NUMBER,…", help="Value mapping: good=1,bad=0.")
@option("--where", metavar="MAP", help="Keep only rows with these column values: split=test.")
@option("--criterion", metavar="NAME", help="Criterion, where the file holds several.")
@confidence_option
@report_options
def bridge(
    file: Path,
    old: str,
    new: str,
    people: tuple[str, ...],
    history: Path | None,
    margin: float,
    columns: str | None,
    values: str | None,
    where: str | None,
    criterion: str | None,
    confidence: float,
    out: Path | None,
    page: Path | None,
    as_json: bool,
) -> None:
    """Say whether figures of an old judge can be compared with those of a new one, and translate them.

    FILE is a table of ratings in which both judges rated the same items (the anchors); they should resemble
    the items of the history. comparable: the judges differ by less than the margin. translatable: old figures
    translate with less uncertainty than the margin. not comparable: neither.
    """
    use_one_blas_thread()
    import json

    from steelyard.commands.bridge import bridge as compute
    from steelyard.commands.bridge import read_history
    from steelyard.commands.rating_files import load_ratings
    from steelyard.commands.score_pages import bridge_page
    from steelyard.datasheet.render.html.score_page import render
    from steelyard.importing.ratings import RatingColumns

    table = load_ratings(file, RatingColumns.parse(columns, (old, new), people, values, where))
    for remark in table.remarks:
        warn(remark)
    rows = [] if history is None else read_history(history)
    report = compute(table, old, new, criterion=criterion, history=rows, margin=margin, confidence=confidence)
    finish_report(
        json.dumps(report.to_json(), indent=1) + "\n",
        lambda: _print(report),
        lambda: render(bridge_page(report)),
        out=out,
        page=page,
        as_json=as_json,
    )


def _print(report: BridgeReport) -> None:
    from steelyard.commands.bridge_text import (
        bridge_notes,
        bridge_sentence,
        channel_columns,
        channel_rows,
        history_columns,
        translation_rows,
    )

    print_lines([bridge_sentence(report)])
    if report.translations:
        print_table(history_columns(report), translation_rows(report))
    if channel_rows(report):
        print_table(channel_columns(report), channel_rows(report))
    print_lines(bridge_notes(report))
