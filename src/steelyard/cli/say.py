"""What commands print: names, paths and messages as plain text, never as markup or terminal codes."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import click

if TYPE_CHECKING:
    from rich.text import Text


def complain(message: object) -> None:
    """One sentence on stderr, on one line."""
    from steelyard.datasheet.words.visible import visible

    click.echo(f"steelyard: {visible(str(message))}", err=True)


def warn(message: object) -> None:
    """A sentence about something that did not stop the run."""
    complain(f"warning: {message}")


def shown(path: Path) -> str:
    """A path with every invisible character spelled out."""
    from steelyard.datasheet.words.visible import spelled

    return spelled(str(path))


def plain(text: str, style: str = "") -> Text:
    """Text for a table or a line; square brackets stay square brackets."""
    from rich.text import Text

    from steelyard.datasheet.words.visible import visible

    return Text(visible(text), style)
