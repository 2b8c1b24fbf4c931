"""`steelyard doctor`: whether keys, weights and servers work."""

from __future__ import annotations

import sys

import click

from steelyard.cli.options import option
from steelyard.cli.say import complain, plain

STYLES = {"ok": "green", "absent": "yellow", "broken": "bold red"}


@click.command(short_help="Check machine, weights, keys and judges.")
@option("--judge", "-j", "judges", multiple=True, metavar="JUDGE", help="Make one real call to this judge.")
def doctor(judges: tuple[str, ...]) -> None:
    """Check the machine, the embedded weights and the keys; with -j, make one call to a judge."""
    from rich import box
    from rich.console import Console
    from rich.table import Table

    from steelyard.lab.checkup import checkup

    table = Table(box=box.SIMPLE_HEAD)
    for title in ("check", "state", "what was found"):
        table.add_column(title, overflow="fold")
    findings = list(checkup(judges))
    for finding in findings:
        state = plain(finding.state, STYLES[finding.state])
        table.add_row(plain(finding.subject), state, plain(finding.found))
    Console().print(table)
    broken = [finding for finding in findings if finding.state == "broken"]
    if broken:
        complain(f"{broken[0].subject}: {broken[0].found}")
        sys.exit(max(finding.exit_code for finding in broken))
