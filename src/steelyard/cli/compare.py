"""Commands over several results: `steelyard compare` and `steelyard overall`."""

from __future__ import annotations

import sys
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

import click

from steelyard.cli.options import option, takes
from steelyard.cli.output import display_path, plain, print_results
from steelyard.core.settings import argument, flag, setting

if TYPE_CHECKING:
    from rich.console import Console

    from steelyard.commands.overall import JudgeOverall

TARGET = "DIR[:JUDGE]"


@dataclass(frozen=True, kw_only=True)
class CompareOptions:
    first: str = argument(TARGET)
    second: str = argument(TARGET)
    margin: float = setting(
        "Largest difference that counts as equal.", "SHARE", default=0.10, kind="positive"
    )
    stratum: str | None = setting("Compare on this stratum of the data only.", "NAME")
    full: bool = flag("List every figure with its test, and what was left out.")
    as_json: bool = flag("Print the comparison as JSON.", ("--json",))
    page: Path | None = setting("Write the comparison as one HTML page.", "FILE", ("--html",), kind="file")
    markdown: Path | None = setting("Write the comparison as Markdown.", "FILE", kind="file")


@click.command(short_help="Compare two judges on shared stimuli, no calls.")
@takes(CompareOptions)
def compare(options: CompareOptions) -> None:
    """Compare two judges on the stimuli that both were shown; makes no calls.

    Each argument is a run folder or an import, with the judge's name after a colon if the folder holds
    several. Two judges of one folder can be compared. Differences are second minus first: B, the second, is
    better, worse, different (where no way is better) or alike, or the figure is undecided.
    """
    from rich.console import Console

    from steelyard.commands.compare import Target, compare_targets
    from steelyard.core.files import atomic_write_text
    from steelyard.datasheet.comparison import markdown as comparison_markdown
    from steelyard.datasheet.comparison import page as comparison_page
    from steelyard.datasheet.comparison import terminal as comparison_terminal
    from steelyard.runner.run_messages import metric_errors

    both = Target.parse(options.first), Target.parse(options.second)
    comparison = compare_targets(*both, options.margin, options.stratum)
    written = {
        "Page": (options.page, comparison_page.render),
        "Markdown": (options.markdown, comparison_markdown.render),
    }
    for path, render in written.values():
        if path is not None:
            atomic_write_text(path, render(comparison))
    if options.as_json:
        click.echo(comparison.dumps(), nl=False)
    else:
        comparison_terminal.render(comparison, Console(), full=options.full)
        for name, (path, _) in written.items():
            if path is not None:
                click.echo(f"{name}: {display_path(path)}")
    sys.exit(print_results((), list(metric_errors(comparison.faults))))


SPREAD_NOTE = (
    "Volatility: standard deviation of accuracy over the probes of a data set, in brackets what sampling "
    "alone would give; then the worst and the best probe."
)
COST_NOTE = (
    "Each data set counts once. Pooled: all dollars over 100 times the mean accuracy; mean: the mean of the "
    "data sets' own costs per point, undefined where one has none. Data sets are not a "
    "sample, so these figures have no interval."
)


@click.command(short_help="Accuracy and cost over several data sets, no calls.")
@click.argument("folders", metavar="DIR...", nargs=-1, required=True, type=click.Path(path_type=Path))
@option("--json", "as_json", is_flag=True, help="Print the rows as JSON.")
def overall(folders: tuple[Path, ...], as_json: bool) -> None:
    """Summarise the runs of several data sets in one table; makes no calls.

    Each folder is the run of one data set of labelled single texts. The table shows for every judge its
    accuracy, its volatility over probes and cost per point on each data set, the mean accuracy, and the
    overall cost per point by both common definitions.
    """
    import json

    from rich.console import Console

    from steelyard.commands.overall import overall as summarise_runs

    judges = summarise_runs(folders)
    if as_json:
        click.echo(json.dumps([judge.to_json() for judge in judges], indent=1))
    else:
        _print(judges, Console())


def _print(judges: list[JudgeOverall], console: Console) -> None:
    from rich import box
    from rich.table import Table
    from rich.text import Text

    rows = [row for judge in judges for row in judge.rows]
    spreads = any(row.spread for row in rows)
    table = Table(box=box.SIMPLE_HEAD)
    for name in ("judge", "data set"):
        table.add_column(name, overflow="fold")
    for name in ("accuracy", *(("volatility", "worst–best") if spreads else ()), "dollars", "cost per point"):
        table.add_column(name, justify="right", no_wrap=name in ("volatility", "worst–best"))
    for judge in judges:
        for row in judge.rows:
            point = row.cost.per_point if row.cost else None
            spread = _spread(row.spread) if spreads else ()
            cells = (_accuracy(row.accuracy), *spread, _dollars(row.dollars), _dollars(point))
            table.add_row(plain(judge.judge), plain(row.data_set), *cells)
        for name in judge.missing:
            table.add_row(plain(judge.judge), plain(name), _accuracy(None))
        gap = ("", "") if spreads else ()
        mean = _accuracy(judge.accuracy_mean)
        table.add_row("", "overall, pooled", mean, *gap, "", _dollars(judge.cost.pooled))
        table.add_row("", "overall, mean", "", *gap, "", _dollars(judge.cost.mean_of_rows), end_section=True)
    partial = dict.fromkeys(f"{row.partial} on {row.data_set}." for row in rows if row.partial)
    references = dict.fromkeys(
        f"Reference on {row.data_set}: {row.reference}." for row in rows if row.reference
    )
    for line in partial:
        console.print(Text(line), soft_wrap=True)
    console.print(table)
    notes = [SPREAD_NOTE] if spreads else []
    for line in (*references, *_gaps(judges), *notes, COST_NOTE):
        console.print(Text(line), soft_wrap=True)


def _gaps(judges: list[JudgeOverall]) -> Iterator[str]:
    without: dict[tuple[str, tuple[str, ...]], list[str]] = {}
    for judge in judges:
        if judge.missing:
            names = ", ".join(f"{name} ({why})" for name, why in judge.missing.items())
            yield f"{judge.judge}: no accuracy on {names}."
        for place in judge.lacking.items():
            without.setdefault(place, []).append(judge.judge)
    for (name, probes), whose in without.items():
        yield (
            f"{name}: the accuracy of {', '.join(whose)} is without {', '.join(probes)}, which other "
            "data sets have; the rows are not alike."
        )


def _spread(spread: Mapping[str, float | None]) -> tuple[str, str]:
    if not spread:
        return "", ""
    sd, sampling, least, most = (
        spread.get(f"accuracy_{name}") for name in ("sd", "sd_sampling", "min", "max")
    )
    alone = "" if sampling is None else f" ({_accuracy(sampling)})"
    return f"{_accuracy(sd)}{alone}", f"{_accuracy(least)}–{_accuracy(most)}"


def _accuracy(value: float | None) -> str:
    return "undefined" if value is None else f"{value:.2f}"


def _dollars(amount: float | None) -> str:
    from steelyard.datasheet.words.numbers import dollars

    return "undefined" if amount is None else dollars(amount)
