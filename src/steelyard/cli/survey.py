"""What people would say: `steelyard estimate`, `labels`, `leaderboard`, `people`, `bridge`; and `trust`."""

from __future__ import annotations

import json
import shlex
from collections.abc import Iterable
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

import click

from steelyard.cli.main import use_one_blas_thread
from steelyard.cli.options import KINDS, option, takes
from steelyard.cli.output import display_path, plain, print_note, warn
from steelyard.core.settings import ReportOptions
from steelyard.core.text import pluralize
from steelyard.errors import ConfigError
from steelyard.survey.options import (
    AnyRatings,
    BridgeOptions,
    DrawOptions,
    EstimateOptions,
    LabelOptions,
    LabelPlanOptions,
    LeaderboardOptions,
    PeopleOptions,
)
from steelyard.trust.options import ApplyOptions, CheckOptions, FitOptions

if TYPE_CHECKING:
    from steelyard.datasheet.render.report import Report, ReportTable
    from steelyard.importing.ratings import RatingsTable


@click.command(short_help="Estimate the score that people would give.")
@takes(EstimateOptions)
def estimate(options: EstimateOptions) -> None:
    """Estimate what people would say of all items, from a judge of all and labels of some.

    FILE is a table of ratings with the columns item, rater, kind (human, judge or code) and value; or a table
    with one row per item, whose columns --judge and --people name; or a run folder. The estimator follows
    from how the labels were drawn, which the column p_drawn records or --design says.
    """
    table = _load(options.ratings, options.label_options)
    from steelyard.run_folder.published_files import ESTIMATE
    from steelyard.survey.estimate_report import estimate_report

    folder = options.ratings.file
    usual = folder / ESTIMATE if folder.is_dir() else None
    finish_report(estimate_report(table, options), options.report, usual)


@click.command(short_help="Rank systems, with intervals that include the judge's error.")
@takes(LeaderboardOptions)
def leaderboard(options: LeaderboardOptions) -> None:
    """Rank systems by a judge, corrected by people's votes on some rows, and say which ranks the data allow.

    FILE is a table of ratings: comparisons with system_a and system_b, or scores with system. Ranks hold for
    all systems at once. Without people's votes they assume that the judge is right.
    """
    table = _load(options.ratings, options.label_options, ranks=True)
    from steelyard.survey.leaderboard_report import leaderboard_report

    finish_report(leaderboard_report(table, options), options.report)


@click.command(short_help="Measure agreement of people, and judges beside them.")
@takes(PeopleOptions)
def people(options: PeopleOptions) -> None:
    """Say how far people agree, and whether a judge agrees with them as well as they do.

    FILE is a table of ratings in which several people rated the same items. Every judge is compared with each
    person against the same other people (the alternative annotator test).
    """
    table = _load(options)
    from steelyard.survey.people_report import people_report

    finish_report(people_report(table, options), options.report)


@click.command(short_help="Translate an old judge's figures to a new judge.")
@takes(BridgeOptions)
def bridge(options: BridgeOptions) -> None:
    """Say whether figures of an old judge can be compared with those of a new one, and translate them.

    FILE is a table of ratings in which both judges rated the same items (the anchors); they should resemble
    the items of the history. comparable: the judges differ by less than the margin. translatable: old figures
    translate with less uncertainty than the margin. not comparable: neither.
    """
    table = _load(options)
    from steelyard.survey.bridge_report import bridge_report

    finish_report(bridge_report(table, options), options.report)


def _load(
    options: AnyRatings, labels: LabelOptions | None = None, pilot: Path | None = None, *, ranks: bool = False
) -> RatingsTable:
    """The ratings of a file, with labels of another file or of a pilot; what is odd in them is said."""
    use_one_blas_thread()
    from steelyard.importing.ratings import parse_parts
    from steelyard.survey.rating_files import columns_of, load_ratings

    own = None if labels is None else parse_parts(labels.label_columns, "--label-columns")
    beside = pilot if labels is None else labels.labels
    how = replace(columns_of(options), ranks=ranks)
    table = load_ratings(options.file, how, beside, own, pilot=pilot is not None)
    if table.mapping:
        print_note(table.mapping)
    for remark in table.remarks:
        warn(remark)
    return table


def finish_report(report: Report, options: ReportOptions, usual: Path | None = None) -> None:
    """Write the files, then print JSON, or text and the names of the files."""
    from steelyard.core.files import atomic_write_text

    out = options.out or usual
    if out is not None:
        atomic_write_text(out, report.json_text)
    if options.page is not None:
        atomic_write_text(options.page, report.page())
    if options.as_json:
        click.echo(report.json_text, nl=False)
        return
    if report.paragraph:
        click.echo(report.paragraph)
    else:
        print_lines([report.lead])
        for table in report.tables:
            if not table.on_page_only:
                print_table(table)
        print_lines(report.notes)
    for path in (out, options.page):
        if path is not None:
            click.echo(f"Written: {display_path(path)}")


def print_table(made: ReportTable) -> None:
    """A table of texts; figures with their intervals never wrap, nor does any but the one to `wrap`."""
    from rich import box
    from rich.console import Console
    from rich.table import Table

    table = Table(box=box.SIMPLE_HEAD, pad_edge=False)
    for title in made.header:
        whole = title.endswith(" %]") or made.wrap not in (None, title)
        table.add_column(title, overflow="fold", no_wrap=whole)
    for row in made.rows:
        table.add_row(*map(plain, row))
    Console().print(table)


def print_lines(lines: Iterable[str]) -> None:
    from rich.console import Console

    console = Console()
    for line in lines:
        console.print(plain(line))


@click.command(short_help="Price the ways of drawing labels, side by side.")
@takes(LabelPlanOptions)
def plan(options: LabelPlanOptions) -> None:
    """Say how many labels a figure of a given half-width takes under each design, and what they cost.

    FILE is a table of ratings or a run folder. How far labels spread within each verdict is taken from
    people's labels in the file or from a pilot; without any, the plan is for the worst case. Where the labels
    that are there already give the half-width, it says so; else it counts further ones, of the items that
    `labels draw` can draw.
    """
    table = _load(options.ratings, pilot=options.pilot)
    from steelyard.survey.plan_labels import design_table, next_step, notes, plan_labels, promise_table
    from steelyard.survey.rating_files import columns_of, load_ratings

    ratings = options.ratings
    plain = load_ratings(ratings.file, columns_of(ratings)) if options.pilot else table
    made = plan_labels(table, plain, options)
    if options.as_json:
        click.echo(json.dumps(made.to_json(), indent=1))
        return
    for report_table in (design_table(made), promise_table(made)):
        if report_table is not None:
            print_table(report_table)
    print_lines(notes(made))
    for line in next_step(made, plain, options, display_path(ratings.file)):
        click.echo(line)


@click.command(short_help="Draw items for labelling, with recorded odds and blind sheets.")
@takes(DrawOptions)
def draw(options: DrawOptions) -> None:
    """Draw items for labelling, record every item's odds, and write sheets without any verdict.

    The rest after --tune is the test part. Its labels are sealed until `labels open`. Label on the sheets and
    bring them back with `labels add`, or on the pages of `review DIR --label`.
    """
    table = _load(options.ratings)
    from steelyard.survey.draw_labels import draw_labels
    from steelyard.survey.rating_files import columns_of

    for line in draw_labels(table, columns_of(options.ratings), options).lines():
        click.echo(line)
    sheets = ", ".join(display_path(path) for path in sorted(options.out.glob("sheet*.csv")))
    click.echo(f"Sheets: {sheets}")
    click.echo(f"Label there, or with `steelyard review {shlex.quote(display_path(options.out))} --label`.")


@click.command(short_help="Add labels from sheets, and print the progress.")
@click.argument("folder", metavar="DIR", type=KINDS["folder"])
@click.argument("sheets", metavar="[SHEET…]", nargs=-1, type=KINDS["file"])
@option("--replace", is_flag=True, help="Let a label take the place of another one by the same annotator.")
@option("--json", "as_json", is_flag=True, help="Print the progress as JSON.")
def add(folder: Path, sheets: tuple[Path, ...], replace: bool, as_json: bool) -> None:
    """Add the labels of sheets to a draw, and say how far labelling is.

    A sheet is added whole or not at all. A label that is there already is not counted twice. Without a sheet
    only the progress is printed.
    """
    from steelyard.survey.labels import add_sheets, progress, progress_lines

    if replace and not sheets:
        raise ConfigError("--replace: works only with sheets; name them, or leave it out.")
    counts = add_sheets(folder, sheets, replace=replace) if sheets else None
    found = progress(folder)
    if as_json:
        click.echo(json.dumps(found.to_json(), indent=1))
        return
    if counts is not None:
        fresh, known, empty = counts
        click.echo(
            f"{pluralize(fresh, 'label')} added, {known:,} known already, "
            f"{pluralize(empty, 'row')} without a label."
        )
    for line in progress_lines(found, display_path(folder)):
        click.echo(line)


@click.command("open", short_help="Open the sealed test part, once.")
@click.argument("folder", metavar="DIR", type=KINDS["folder"])
@option("--incomplete", is_flag=True, help="Open though some items have no label, and leave them out.")
def open_command(folder: Path, incomplete: bool) -> None:
    """Open the test part of a draw. It opens once, and no label can change afterwards."""
    from steelyard.review.label_draw import LabelDraw
    from steelyard.survey.labels import open_labels

    found, draw = open_labels(folder, incomplete=incomplete), LabelDraw.read(folder)
    shown = display_path(folder)
    click.echo(f"Opened at {found.opened}: {pluralize(found.test[0], 'test label')} in {shown}/labels.jsonl.")
    words = ("steelyard", "estimate", draw.source, "--judge", draw.judge, "--labels", shown)
    click.echo(f"The figure: {shlex.join(words)}")


NOT_SHOWN, BROKEN = 4, 3
"""Exit codes: the promise is not shown; audits show that it is not kept."""


@click.command(short_help="Find which verdicts can be accepted, with a promise on their error.")
@takes(FitOptions)
def fit(options: FitOptions) -> None:
    """Find the confidence from which on a judge's answers are accepted, and promise how many are wrong.

    FILE is a table with one row per item: a column of the judge's answers, one or more of its confidence,
    and people's labels of some rows; or a run folder of labelled data. Several judges make a cascade,
    cheapest first; people answer what no judge is sure of. A promise that the labels do not show is refused
    (exit 4).
    """
    use_one_blas_thread()
    from steelyard.trust.fit_report import fit_report
    from steelyard.trust.trust_file import NAME

    report, shown = fit_report(options)
    usual = options.file / NAME if options.file.is_dir() else Path(NAME)
    finish_report(report, ReportOptions(out=options.out or usual, page=options.page, as_json=options.as_json))
    if not shown:
        raise SystemExit(NOT_SHOWN)


@click.command(short_help="Accept verdicts of a table, or send them to people.")
@takes(ApplyOptions)
def apply(options: ApplyOptions) -> None:
    """Write a table with a decision for every row: accept, ask the next judge, or escalate to people.

    FILE has the columns of answers and signals that TRUST.json names, or is a run folder. The table is
    written whole or not at all, and the same input gives the same table.
    """
    from steelyard.trust.apply import apply_trust

    counts, out = apply_trust(options)
    if options.as_json:
        click.echo(json.dumps(vars(counts), indent=1))
    else:
        print_lines(counts.lines())
        click.echo(f"Written: {display_path(out)}")


@click.command(short_help="Check with audited verdicts whether the promise still holds.")
@takes(CheckOptions)
def check(options: CheckOptions) -> None:
    """Compare accepted answers with those of people, and say whether the promised error is still kept.

    FILE has the columns that TRUST.json names, and people's answers on a random part of the accepted rows,
    in the order of the audits. It may be looked at every day: of promises that are kept at most 5 % are ever
    refuted, however often one looks. Exit 3 where it is refuted.
    """
    from steelyard.trust.check import check_report

    report, kept = check_report(options)
    finish_report(report, options.report)
    if not kept:
        raise SystemExit(BROKEN)
