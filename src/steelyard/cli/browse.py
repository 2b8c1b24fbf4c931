"""Pages that a command opens: the link in the terminal, and the browser with it."""

from __future__ import annotations

import webbrowser
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
