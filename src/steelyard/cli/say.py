"""What commands print: names, paths and messages as plain text, never as markup or terminal codes."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import click

from steelyard.core.text import pluralize
from steelyard.errors import SteelyardError, exit_code

if TYPE_CHECKING:
    from rich.text import Text

    from steelyard.runner.session import RunSession

ASK_AFRESH = "To ask afresh, name a new folder: --out DIR."
"""What to do where a model or server changed under the same name."""


def complain(message: object) -> None:
    """One sentence on stderr, on one line."""
    from steelyard.datasheet.words.text import escape_control_chars

    click.echo(f"steelyard: {escape_control_chars(str(message))}", err=True)


def warn(message: object) -> None:
    """A sentence about something that did not stop the run."""
    complain(f"warning: {message}")


def tell(warnings: Iterable[str], errors: Sequence[SteelyardError]) -> int:
    """Say what was lost, then what could not be finished; return the exit code."""
    for warning in warnings:
        warn(warning)
    for error in errors:
        complain(error)
    return exit_code(errors)


def shown(path: Path) -> str:
    """A path with every invisible character spelled out."""
    from steelyard.datasheet.words.text import escape_keeping_spaces

    return escape_keeping_spaces(str(path))


def plain(text: str, style: str = "") -> Text:
    """Text for a table or a line; square brackets stay square brackets."""
    from rich.text import Text

    from steelyard.datasheet.words.text import escape_control_chars

    return Text(escape_control_chars(text), style)


def calls_made(session: RunSession, *, estimated: bool = False) -> str:
    """What the sitting took; `estimated` where some of its tokens no server counted."""
    about = "about " if estimated else ""
    spent = f", {about}${session.dollars:.4f} spent in all" if session.dollars else ""
    if session.calls:
        return f"{pluralize(session.calls, 'call')} in this run{spent}."
    if session.failures or session.stop_errors:
        return f"No call of this run was answered{spent}."
    return f"No calls: every trial was answered before. {ASK_AFRESH}"
