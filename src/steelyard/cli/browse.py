"""Pages that a command opens: the link in the terminal, and the browser with it."""

from __future__ import annotations

import sys
import threading
import webbrowser
from collections.abc import Callable
from contextlib import suppress

import click


def announce(what: str, url: str, *, browser: bool) -> None:
    """Print the link, and open it."""
    click.echo(f"{what} at {url}\nCtrl-C ends it; nothing that was saved is lost.")
    if browser:
        with suppress(webbrowser.Error):
            webbrowser.open(url)


def own_name() -> str:
    """The name of whoever runs the command, as the system knows it."""
    import getpass

    try:
        return getpass.getuser()
    except (OSError, KeyError, ImportError):
        return "reviewer"


def on_enter(act: Callable[[], None]) -> None:
    """Do something whenever somebody presses Enter in the terminal; without a terminal, never."""
    if not sys.stdin.isatty():
        return

    def listen() -> None:
        for _ in sys.stdin:
            act()

    threading.Thread(target=listen, daemon=True).start()
