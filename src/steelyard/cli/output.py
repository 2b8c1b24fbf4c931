"""What commands print: messages and paths as plain text, progress, the datasheet, and the link of a page."""

from __future__ import annotations

import os
import sys
import threading
import webbrowser
from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Sequence
from contextlib import AbstractContextManager, nullcontext, suppress
from pathlib import Path
from time import monotonic
from types import TracebackType
from typing import TYPE_CHECKING

import click
from rich.console import Console
from rich.progress import (
    BarColumn,
    MofNCompleteColumn,
    Progress,
    ProgressColumn,
    Task,
    TaskID,
    TextColumn,
    TimeRemainingColumn,
)
from rich.text import Text

from steelyard.core.text import pluralize
from steelyard.errors import SteelyardError, exit_code
from steelyard.runner.session import Tick

if TYPE_CHECKING:
    from rich.text import Text

    from steelyard.datasheet.datasheet import Datasheet
    from steelyard.errors import SteelyardError
    from steelyard.runner.session import RunSession


def print_note(message: object) -> None:
    from steelyard.datasheet.words.text import escape_control_chars

    click.echo(f"steelyard: {escape_control_chars(str(message))}", err=True)


def print_error(message: object) -> None:
    print_note(message)
    annotate(message)


def annotate(message: object) -> None:
    """Mark a job of GitHub Actions with an error, which its page shows without the log."""
    from steelyard.datasheet.words.text import escape_control_chars

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
    from steelyard.datasheet.words.text import escape_keeping_spaces

    return escape_keeping_spaces(str(path))


def plain(text: str, style: str = "") -> Text:
    """Text for rich without markup: square brackets stay square brackets."""
    from rich.text import Text

    from steelyard.datasheet.words.text import escape_control_chars

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


LOSSES = ("failed", "unreadable")


FAST = 1000
"""Calls per second from which nobody waits, and a rate is only noise."""


class RateColumn(ProgressColumn):
    def render(self, task: Task) -> Text:
        speed = task.finished_speed or task.speed
        return Text(f"{speed:.1f}/s" if speed and speed < FAST else "", style="dim")


class NotesColumn(ProgressColumn):
    def render(self, task: Task) -> Text:
        counts, dollars = task.fields["counts"], task.fields["dollars"]
        parts = [Text(f"{counts[word]:,} {word}", style="red") for word in LOSSES if counts[word]]
        parts += [Text(f"${dollars:.4f}")] if dollars else []
        return Text(" · ").join(parts)


EVERY = 15.0
"""Seconds between two lines where stderr is no terminal."""


def log_line(done: int, total: int, before: int, seconds: float, dollars: float) -> str:
    """What is done and what is left; `before` were answered by an earlier run and tell no rate."""
    made, left = done - before, total - done
    parts = [f"{done:,} of {pluralize(total, 'call')}"]
    if not left:
        return f"{parts[0]}, now computing the figures"  # the clock goes on, and a rate would sink
    if made > 0 and seconds > 0:
        parts += [f"{made / seconds:.1f}/s", f"about {_duration(left * seconds / made)} left"]
    if made > 0 and dollars:
        parts += [f"${dollars:.4f} spent", f"about ${left * dollars / made:.2f} to go"]
    return ", ".join(parts)


def _duration(seconds: float) -> str:
    if seconds < 120:
        return f"{seconds:.0f} s"
    return f"{seconds / 60:.0f} min" if seconds < 7200 else f"{seconds / 3600:.0f} h"


class LiveProgress:
    """One bar per judge; where stderr is no terminal, a line on all judges every so often."""

    def __init__(self) -> None:
        self._console = Console(stderr=True)
        self._bars = Progress(
            TextColumn("{task.description}", markup=False),
            BarColumn(bar_width=24),
            MofNCompleteColumn(),
            RateColumn(),
            NotesColumn(),
            TimeRemainingColumn(),
            console=self._console,
            transient=True,
            disable=not self._console.is_terminal,
        )
        self._tasks: dict[str, TaskID] = {}
        self._counts: defaultdict[str, Counter[str]] = defaultdict(Counter)
        self._dollars: defaultdict[str, float] = defaultdict(float)
        self._done, self._total, self._before = 0, 0, 0
        self._started = 0.0
        self._ended = threading.Event()

    def __enter__(self) -> LiveProgress:
        self._bars.start()
        if not self._console.is_terminal:
            threading.Thread(target=self._write_lines, daemon=True).start()
        return self

    def _write_lines(self) -> None:
        while not self._ended.wait(EVERY):
            if self._total:
                spent, seconds = sum(self._dollars.values()), monotonic() - self._started
                self.say(log_line(self._done, self._total, self._before, seconds, spent))

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._ended.set()
        self._bars.stop()

    def begin(self, judge: str, total: int, done: int) -> None:
        if done < total:
            self._started = self._started or monotonic()
            self._done, self._before = self._done + done, self._before + done
            self._total += total
            name = plain(judge).plain
            self._tasks[judge] = self._bars.add_task(
                name, total=total, completed=done, counts=self._counts[judge], dollars=0.0
            )

    def tick(self, tick: Tick) -> None:
        if tick.judge in self._tasks:
            self._done += tick.calls
            counts = self._counts[tick.judge]
            counts["failed"] += not tick.ok
            counts["unreadable"] += tick.unreadable
            self._dollars[tick.judge] += tick.dollars
            self._bars.update(self._tasks[tick.judge], advance=tick.calls, dollars=self._dollars[tick.judge])

    def say(self, message: str) -> None:
        self._console.print(plain(f"steelyard: {message}"), highlight=False, soft_wrap=True)


def working(message: str) -> AbstractContextManager[object]:
    console = Console(stderr=True)
    return console.status(plain(f"steelyard: {message}")) if console.is_terminal else nullcontext()
