"""`steelyard selftest`: planted judges through the whole pipe."""

from __future__ import annotations

import sys

import click

from steelyard.cli.options import option
from steelyard.cli.say import complain, plain
from steelyard.core.text import pluralize


@click.command(short_help="Measure judges with known parameters and compare.")
@option(
    "--profile",
    type=click.Choice(["standard", "full"]),
    default="standard",
    metavar="SIZE",
    help="standard or full.",
)
@option("--json", "as_json", is_flag=True, help="Print the gates as JSON.")
def selftest(profile: str, as_json: bool) -> None:
    """Measure judges whose parameters are known and compare; exit 1 when a gate fails."""
    import json
    import tempfile
    from dataclasses import asdict
    from pathlib import Path

    from rich import box
    from rich.console import Console
    from rich.table import Table

    from steelyard.commands.selftest import selftest as run

    with tempfile.TemporaryDirectory(prefix="steelyard-selftest-") as folder:
        gates = run(Path(folder), profile)
    failed = sum(not gate.passed for gate in gates)
    if as_json:
        click.echo(json.dumps([asdict(gate) for gate in gates], indent=1, ensure_ascii=False))
    else:
        table = Table(box=box.SIMPLE_HEAD, pad_edge=False, padding=(0, 1, 0, 0))
        for name in ("judge", "figure", "planted", "accepted", "recovered"):
            width = None if name == "figure" else max(len(getattr(gate, name)) for gate in gates)
            table.add_column(name, min_width=width)
        table.add_column("gate", min_width=4)
        for gate in gates:
            word = plain("ok", "green") if gate.passed else plain("FAIL", "bold red")
            cells = (gate.judge, gate.figure.replace("_", " "), gate.planted, gate.accepted, gate.recovered)
            table.add_row(*map(plain, cells), word)
        Console().print(table)
        click.echo(f"{len(gates) - failed} of {pluralize(len(gates), 'gate')} passed.")
    if failed:
        complain(f"{pluralize(failed, 'gate')} failed: do not trust figures of this installation.")
        sys.exit(1)
