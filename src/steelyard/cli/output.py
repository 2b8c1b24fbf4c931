"""What commands print: messages and paths as plain text, the datasheet, and the link of a page."""

from __future__ import annotations

import os
import sys
import threading
import webbrowser
from collections.abc import Callable, Iterable, Sequence
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING

import click

from steelyard.core.text import escape_control_chars, escape_keeping_spaces, pluralize
from steelyard.errors import SteelyardError, exit_code

if TYPE_CHECKING:
    from rich.text import Text

    from steelyard.datasheet.datasheet import Datasheet
    from steelyard.runner.session import RunSession


def print_note(message: object) -> None:
    click.echo(f"steelyard: {escape_control_chars(str(message))}", err=True)


def print_error(message: object) -> None:
    print_note(message)
    annotate(message)


def annotate(message: object) -> None:
    """Mark a job of GitHub Actions with an error, which its page shows without the log."""

    if os.environ.get("GITHUB_ACTIONS") == "true":
        click.echo(
            f"::error title=Steelyard::{escape_control_chars(str(message)).replace('%', '%25')}", err=True
        )


def warn(message: object) -> None:
    print_note(f"warning: {message}")


def print_results(warnings: Iterable[str], errors: Sequence[SteelyardError]) -> int:
    for warning in warnings:
        warn(warning)
    for error in errors:
        print_error(error)
    return exit_code(errors)


def display_path(path: Path) -> str:
    return escape_keeping_spaces(str(path))


def plain(text: str, style: str = "") -> Text:
    """Text for rich without markup: square brackets stay square brackets."""
    from rich.text import Text

    return Text(escape_control_chars(text), style)


def describe_calls(session: RunSession, *, estimated: bool = False) -> str:
    about = "about " if estimated else ""
    spent = f", {about}${session.dollars:.4f} spent in all" if session.dollars else ""
    failed = session.failures.total()
    if session.calls:  # those that failed were made too, as the first line of the datasheet counts them
        among = f", {failed:,} of them failed" if failed else ""
        return f"{pluralize(session.calls + failed, 'call')} in this run{among}{spent}."
    if failed or session.stop_errors:
        return f"No call of this run was answered{spent}."
    return "No calls: every trial was answered before. To repeat the calls, use a new folder: --out DIR."


FULL = "Print every figure instead of one screen."


def print_datasheet(datasheet: Datasheet, *, full: bool) -> list[SteelyardError]:
    """Print one screen, or every figure; return the errors of the printing itself, which cost no file."""
    from rich.console import Console

    from steelyard.datasheet.render import terminal
    from steelyard.metrics.faults import Faults
    from steelyard.runner.run_messages import metric_errors

    faults = Faults()
    render = terminal.render if full else terminal.render_brief
    faults.guarded(
        "",
        "the datasheet on the terminal",
        lambda: render(datasheet, Console()),
        lambda _: None,
        passing=(OSError, UnicodeError),
    )
    return list(metric_errors(faults.found))


def print_page_path(page: Path, before: str = "", *, full: bool) -> None:
    """The last line: the path of the page, unwrapped, as a link on terminals that support links."""
    from rich.console import Console
    from rich.text import Text

    console = Console()
    hint = " ".join(
        part for part in (before, "" if full else "For every figure open the page, or add --full.") if part
    )
    if hint:
        console.print(Text(hint), soft_wrap=True, highlight=False)
    # as_uri escapes every character that could end the terminal's escape code of the link.
    line = Text("Page: ").append(display_path(page), f"link {page.resolve().as_uri()}")
    console.print(line, soft_wrap=True, highlight=False)


def open_link(what: str, url: str, *, browser: bool, host: str) -> None:
    from steelyard.web.server import LOOPBACK

    if host not in LOOPBACK:
        warn(
            f"listening at {host}: every machine that reaches this one can open the page with the link, and "
            "read along, since the connection is not encrypted."
        )
    click.echo(f"{what} at {url}\nPress Ctrl-C to stop; saved work is kept.")
    if browser:
        with suppress(webbrowser.Error):
            webbrowser.open(url)


def system_user() -> str:
    import getpass

    try:
        return getpass.getuser()
    except (OSError, KeyError, ImportError):
        return "reviewer"


def on_enter(act: Callable[[], None]) -> None:
    """Call a function on every Enter in the terminal; without a terminal, never."""
    if not sys.stdin.isatty():
        return

    def listen() -> None:
        for _ in sys.stdin:
            act()

    threading.Thread(target=listen, daemon=True).start()
