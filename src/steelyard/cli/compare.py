"""`steelyard compare`: two judges on the stimuli that both were shown."""

from __future__ import annotations

import sys
from pathlib import Path

import click

from steelyard.cli.options import amount, option
from steelyard.cli.say import complain, shown

TARGET = "DIR[:JUDGE]"


@click.command(short_help="Compare two judges on shared stimuli, no calls.")
@click.argument("first", metavar=TARGET)
@click.argument("second", metavar=TARGET)
@option(
    "--margin",
    type=amount(zero=False),
    default=0.10,
    metavar="SHARE",
    help="Largest difference that still counts as none.",
)
@option("--stratum", metavar="NAME", help="Compare on this stratum of the data only.")
@option("--json", "as_json", is_flag=True, help="Print the comparison as JSON.")
@option(
    "--html",
    "page",
    type=click.Path(dir_okay=False, path_type=Path),
    metavar="FILE",
    help="Write the comparison as one HTML page.",
)
def compare(
    first: str, second: str, margin: float, stratum: str | None, as_json: bool, page: Path | None
) -> None:
    """Compare two judges on the stimuli that both were shown, without a call.

    Each argument is a run folder or an import, with the judge's name after a colon where it holds several;
    two judges of one folder can be compared. Differences are those of the second judge less the first.
    """
    from rich.console import Console

    from steelyard.commands.compare import Target, compare_targets
    from steelyard.core.atomic_write import atomic_write_text
    from steelyard.datasheet.comparison import terminal as comparison_terminal
    from steelyard.datasheet.comparison.page import render
    from steelyard.runner.run_messages import metric_errors

    comparison = compare_targets(Target.parse(first), Target.parse(second), margin, stratum)
    if page is not None:
        atomic_write_text(page, render(comparison))
    if as_json:
        click.echo(comparison.dumps(), nl=False)
    else:
        comparison_terminal.render(comparison, Console())
        if page is not None:
            click.echo(f"\nPage: {shown(page)}")
    faults = [*metric_errors(comparison.faults)]
    for fault in faults:
        complain(fault)
    if faults:
        sys.exit(1)
