"""The datasheet on the terminal."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from steelyard.datasheet.datasheet import Datasheet
    from steelyard.errors import SteelyardError


def print_sheet(datasheet: Datasheet) -> list[SteelyardError]:
    """Print the tables and sentences; where a fault stops that, it is told, and the files stand."""
    from rich.console import Console

    from steelyard.datasheet.render import terminal
    from steelyard.lab.run.shortfalls import uncomputed
    from steelyard.metrics.faults import Faults

    faults = Faults()
    faults.guarded(
        "",
        "the datasheet on the terminal",
        lambda: terminal.render(datasheet, Console()),
        lambda _: None,
        passing=(OSError, UnicodeError),
    )
    return list(uncomputed(faults.found))
