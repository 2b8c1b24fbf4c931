"""Progress on stderr: bars on a terminal, and elsewhere a line every 15 seconds, as in a log."""

from __future__ import annotations

import threading
from collections import Counter, defaultdict
from contextlib import AbstractContextManager, nullcontext
from time import monotonic
from types import TracebackType

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

from steelyard.cli.output import plain
from steelyard.core.text import pluralize
from steelyard.runner.session import Tick

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
