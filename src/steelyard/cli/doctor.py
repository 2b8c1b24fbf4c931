"""`steelyard doctor`: whether keys, weights and servers work."""

from __future__ import annotations

import sys

import click

from steelyard.cli.options import option


@click.command()
@option("--judge", "-j", "judges", multiple=True, metavar="JUDGE", help="Make one real call to this judge.")
def doctor(judges: tuple[str, ...]) -> None:
    """Check the machine, the embedded weights and the keys; with -j, make one call to a judge."""
    from rich import box
    from rich.console import Console
    from rich.table import Table

    from steelyard.lab.checkup import checkup

    table = Table("check", "state", "what was found", box=box.SIMPLE_HEAD)
    states = {"ok": "[green]ok[/]", "absent": "[yellow]absent[/]", "broken": "[bold red]broken[/]"}
    findings = list(checkup(judges))
    for finding in findings:
        table.add_row(finding.subject, states[finding.state], finding.found)
    Console().print(table)
    broken = [finding for finding in findings if finding.state == "broken"]
    if broken:
        click.echo(f"steelyard: {broken[0].subject}: {broken[0].found}", err=True)
        sys.exit(max(finding.exit_code for finding in broken))
