"""`steelyard bridge`: an old judge's figures as the new judge would give them."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import click

from steelyard.cli.options import POSITIVE, option
from steelyard.cli.output import display_path, plain, warn
from steelyard.cli.process import use_one_blas_thread

if TYPE_CHECKING:
    from steelyard.commands.bridge import BridgeReport

FILE = click.Path(dir_okay=False, path_type=Path)


@click.command(short_help="Translate an old judge's figures to a new judge.")
@click.argument("file", metavar="FILE|DIR", type=click.Path(path_type=Path))
@option("--from", "old", required=True, metavar="NAME", help="Old judge: a rater, or a column.")
@option("--to", "new", required=True, metavar="NAME", help="New judge: a rater, or a column.")
@option("--people", multiple=True, metavar="NAME", help="Person: a rater, or a column; repeatable [all].")
@option("--history", type=FILE, metavar="FILE", help="Old figures: period, value, items and perhaps stratum.")
@option("--margin", type=POSITIVE, default=0.03, metavar="WIDTH", help="Largest uncertainty of a figure.")
@option("--columns", metavar="PART=COLUMN,…", help="Column mapping: item, value, task, stratum, ….")
@option("--values", metavar="WORD=NUMBER,…", help="Value mapping: good=1,bad=0.")
@option("--where", metavar="MAP", help="Keep only rows with these column values: split=test.")
@option("--criterion", metavar="NAME", help="Criterion, where the file holds several.")
@option("--out", type=FILE, metavar="FILE", help="Write the bridge as JSON here.")
@option("--json", "as_json", is_flag=True, help="Print the bridge as JSON.")
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
    out: Path | None,
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
    from steelyard.core.atomic_write import atomic_write_text
    from steelyard.importing.ratings import RatingColumns

    table = load_ratings(file, RatingColumns.parse(columns, (old, new), people, values, where))
    for remark in table.remarks:
        warn(remark)
    rows = [] if history is None else read_history(history)
    report = compute(table, old, new, criterion=criterion, history=rows, margin=margin)
    text = json.dumps(report.to_json(), indent=1) + "\n"
    if out is not None:
        atomic_write_text(out, text)
    if as_json:
        click.echo(text, nl=False)
        return
    _print(report)
    if out is not None:
        click.echo(f"Written: {display_path(out)}")


def _print(report: BridgeReport) -> None:
    from rich import box
    from rich.console import Console
    from rich.table import Table

    from steelyard.core.text import pluralize

    console = Console()
    anchors = pluralize(report.anchors, "anchor")
    console.print(plain(f"{report.old} to {report.new}: {report.verdict}; {report.reason}."))
    shift = report.shift
    console.print(
        plain(f"New less old on {anchors}: {shift.value:+.3f} [{shift.low:+.3f}, {shift.high:+.3f}].")
    )
    if report.channel is not None and report.channel.is_complete:
        parts = []
        limits = report.channel.limits()
        counts = report.channel.kept, report.channel.turned
        for (k, n), (low, high), word in zip(counts, limits, ("passed", "failed"), strict=True):
            parts.append(f"{k} of {n} that the old one {word} [{low:.2f}, {high:.2f}]")
        console.print(plain(f"The new judge passes {' and '.join(parts)}."))
    if report.translations:
        table = Table(box=box.SIMPLE_HEAD)
        for title in ("period", "stratum", "items", "old", "translated [95 %]"):
            table.add_column(title, overflow="fold")
        for each in report.translations:
            row, figure = each.row, each.figure
            text = f"{figure.value:.3f} [{figure.low:.3f}, {figure.high:.3f}]"
            table.add_row(*map(plain, (row.period, row.stratum, f"{row.items:,}", f"{row.value:.3f}", text)))
        console.print(table)
    if report.strata_p is not None:
        console.print(plain(f"One exchange rate for all strata: p {report.strata_p:.3f}."))
    if report.anchors_needed is not None:
        needed = pluralize(report.anchors_needed, "anchor")
        console.print(plain(f"About {needed} would bring the uncertainty down to {report.margin:g}."))
    if report.people is not None:
        count, old, new = report.people
        labels = pluralize(count, "labelled anchor")
        console.print(plain(f"Mean distance from people on {labels}: old {old:.3f}, new {new:.3f}."))
