"""The datasheet on the terminal, and the path of its page below it."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from steelyard.cli.options import option
from steelyard.cli.say import shown

if TYPE_CHECKING:
    from steelyard.datasheet.datasheet import Datasheet
    from steelyard.errors import SteelyardError

full_option = option("--full", is_flag=True, help="Print every figure on the terminal, not one screen.")


def print_sheet(datasheet: Datasheet, *, full: bool) -> list[SteelyardError]:
    """Print one screen, or everything; where a fault stops that, it is told, and the files stand."""
    from rich.console import Console

    from steelyard.datasheet.render import one_screen, terminal
    from steelyard.metrics.faults import Faults
    from steelyard.runner.run_messages import metric_errors

    faults = Faults()
    render = terminal.render if full else one_screen.render
    faults.guarded(
        "",
        "the datasheet on the terminal",
        lambda: render(datasheet, Console()),
        lambda _: None,
        passing=(OSError, UnicodeError),
    )
    return list(metric_errors(faults.found))


def print_page(page: Path, before: str = "", *, full: bool) -> None:
    """The last line: the path of the page, unbroken, and a link where the terminal knows links."""
    from rich.console import Console
    from rich.text import Text

    console = Console()
    hint = " ".join(part for part in (before, "" if full else "Every figure: the page, or --full.") if part)
    if hint:
        console.print(Text(hint), soft_wrap=True, highlight=False)
    # The address escapes every letter that could end the terminal's code for a link.
    line = Text("Page: ").append(shown(page), f"link {page.resolve().as_uri()}")
    console.print(line, soft_wrap=True, highlight=False)
