"""`steelyard labels`: plan, draw, add and open labels by people."""

from __future__ import annotations

from pathlib import Path
from shlex import quote
from typing import TYPE_CHECKING, Any

import click

from steelyard.cli.estimate import load, rating_columns, rating_options
from steelyard.cli.options import COUNT, NOT_NEGATIVE, POSITIVE, FiniteRange, option
from steelyard.cli.output import display_path, print_lines, print_table
from steelyard.cli.process import use_one_blas_thread
from steelyard.core.text import pluralize
from steelyard.errors import ConfigError

if TYPE_CHECKING:
    from steelyard.commands.labels import LabelProgress
    from steelyard.commands.plan_labels import LabelPlan

FOLDER = click.Path(file_okay=False, path_type=Path)
SHARE = FiniteRange(0, 1)


@click.command(short_help="Price the ways of drawing labels, side by side.")
@rating_options
@option("--system", metavar="NAME", help="System that the figure is about.")
@option("--half-width", type=POSITIVE, default=0.03, metavar="WIDTH", help="Half-width that is wanted.")
@option("-n", "--size", type=COUNT, metavar="N", help="Also the half-width that N labels give.")
@option("--pilot", type=FOLDER, metavar="DIR", help="Draw whose tuning labels are a pilot.")
@option("--assume", metavar="MAP", help="Without a pilot: sensitivity=0.9,specificity=0.8.")
@option("--cost-label", type=NOT_NEGATIVE, metavar="USD", help="Price of a label.")
@option("--cost-call", type=NOT_NEGATIVE, metavar="USD", help="Price of a verdict.")
@option("--json", "as_json", is_flag=True, help="Print the plan as JSON.")
def plan(
    system: str | None,
    half_width: float,
    size: int | None,
    pilot: Path | None,
    assume: str | None,
    cost_label: float | None,
    cost_call: float | None,
    as_json: bool,
    **options: Any,
) -> None:
    """Say how many labels a figure of a given half-width takes under each design, and what they cost.

    FILE is a table of ratings or a run folder. How far labels spread within each verdict is taken from
    people's labels in the file or from a pilot; without any, the plan is for the worst case.
    """
    use_one_blas_thread()
    import json

    from steelyard.commands.judged_items import Subject
    from steelyard.commands.plan_labels import parse_rates, plan_labels

    table = load(options, pilot, pilot=True)
    subject = Subject(options["judge"], options["people"], options["criterion"], system)
    made = plan_labels(
        table,
        subject,
        half_width=half_width,
        labels=size,
        rates=None if assume is None else parse_rates(assume),
        label_cost=cost_label,
        call_cost=cost_call,
    )
    if as_json:
        click.echo(json.dumps(made.to_json(), indent=1))
    else:
        given = {"--pilot": pilot and str(pilot)}
        given |= {f"--{name}": options[name] for name in ("columns", "values", "where", "criterion")}
        reading = [word for name, value in given.items() if value for word in (name, value)]
        _print_plan(made, options["file"], reading)


def _print_plan(made: LabelPlan, file: Path, reading: list[str]) -> None:
    from steelyard.commands.plan_labels import next_command, notes, table_columns, table_rows

    print_table(table_columns(made), table_rows(made))
    print_lines(notes(made))
    if (command := next_command(made, display_path(file), reading)) is not None:
        click.echo(f"Next: draw the fewest labels:\n{command}")


@click.command(short_help="Draw items for labelling, with recorded odds and blind sheets.")
@rating_options
@option("-n", "--size", type=COUNT, default=100, metavar="N", help="Items to draw.")
@option(
    "--design",
    type=click.Choice(["random", "by-verdict", "strata"]),
    default="by-verdict",
    help="At random of all items, of each verdict, or of each stratum.",
)
@option("--tune", type=click.IntRange(min=0), default=0, metavar="N", help="Of these, items for tuning.")
@option("--annotators", metavar="N|NAME,…", help="Who labels: a number, or names [anybody].")
@option(
    "--overlap", type=SHARE, default=0.0, metavar="SHARE", help="Share of items that all annotators label."
)
@option("--stop", type=POSITIVE, metavar="WIDTH", help="Half-width at which labelling may stop early.")
@option("--scale", metavar="SCALE", help="Scale for people: binary or a range such as 1-5 [the judge's].")
@option("--texts", metavar="PART=COLUMN,…", help="Columns to show: request, response, ….")
@option(
    "--rubric",
    type=click.Path(dir_okay=False, path_type=Path),
    metavar="FILE",
    help="Rubric file that the pages show.",
)
@option("--pilot", type=FOLDER, metavar="DIR", help="Pilot: sets the numbers, and its labels come along.")
@option("--seed", type=int, default=7, metavar="N", help="Random seed.")
@option("--out", type=FOLDER, required=True, metavar="DIR", help="Folder to write.")
def draw(
    size: int,
    design: str,
    tune: int,
    annotators: str | None,
    overlap: float,
    stop: float | None,
    scale: str | None,
    texts: str | None,
    rubric: Path | None,
    pilot: Path | None,
    seed: int,
    out: Path,
    **options: Any,
) -> None:
    """Draw items for labelling, record every item's odds, and write sheets without any verdict.

    The rest after --tune is the test part. Its labels are sealed until `labels open`. Label on the sheets and
    bring them back with `labels add`, or on the pages of `review DIR --label`.
    """
    use_one_blas_thread()
    from steelyard.commands.draw_labels import draw_labels, parse_annotators, parse_texts, read_rubric
    from steelyard.commands.judged_items import Subject
    from steelyard.estimation.designs import LabelDesign

    table = load(options)
    made = draw_labels(
        table,
        Subject(options["judge"], options["people"], options["criterion"]),
        options["file"],
        rating_columns(options),
        out,
        size=size,
        tune=tune,
        design=LabelDesign(design),
        seed=seed,
        annotators=parse_annotators(annotators),
        overlap=overlap,
        stop=stop,
        scale=scale,
        texts=parse_texts(texts),
        rubric=None if rubric is None else read_rubric(rubric),
        pilot=pilot,
    )
    for line in made.lines():
        click.echo(line)
    sheets = ", ".join(display_path(path) for path in sorted(out.glob("sheet*.csv")))
    click.echo(f"Sheets: {sheets}")
    click.echo(f"Label there, or with `steelyard review {quote(display_path(out))} --label`.")


@click.command(short_help="Add labels from sheets, and print the progress.")
@click.argument("folder", metavar="DIR", type=FOLDER)
@click.argument("sheets", metavar="[SHEET…]", nargs=-1, type=click.Path(dir_okay=False, path_type=Path))
@option("--replace", is_flag=True, help="Let a label take the place of another one by the same annotator.")
@option("--json", "as_json", is_flag=True, help="Print the progress as JSON.")
def add(folder: Path, sheets: tuple[Path, ...], replace: bool, as_json: bool) -> None:
    """Add the labels of sheets to a draw, and say how far labelling is.

    A sheet is added whole or not at all. A label that is there already is not counted twice. Without a sheet
    only the progress is printed.
    """
    import json

    from steelyard.commands.labels import add_sheets, progress

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
    _print_progress(found, folder)


def _print_progress(found: LabelProgress, folder: Path) -> None:
    from steelyard.commands.labels import progress_lines

    for line in progress_lines(found, display_path(folder)):
        click.echo(line)


@click.command("open", short_help="Open the sealed test part, once.")
@click.argument("folder", metavar="DIR", type=FOLDER)
@option("--incomplete", is_flag=True, help="Open though some items have no label, and leave them out.")
def open_command(folder: Path, incomplete: bool) -> None:
    """Open the test part of a draw. It opens once, and no label can change afterwards."""
    from steelyard.commands.labels import open_labels

    found = open_labels(folder, incomplete=incomplete)
    shown = display_path(folder)
    click.echo(f"Opened at {found.opened}: {pluralize(found.test[0], 'test label')} in {shown}/labels.jsonl.")
    click.echo(f"The figure: steelyard estimate FILE --judge NAME --labels {shown}")
