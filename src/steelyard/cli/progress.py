"""Live progress on stderr: calls, rate, errors, spend, time left."""

from __future__ import annotations

from collections import Counter, defaultdict
from contextlib import AbstractContextManager, nullcontext
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
from steelyard.runner.progress import Tick

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


class LiveProgress:
    """One bar per judge; nothing at all when stderr is no terminal."""

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

    def __enter__(self) -> LiveProgress:
        self._bars.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._bars.stop()

    def begin(self, judge: str, total: int, done: int) -> None:
        if done < total:
            name = plain(judge).plain
            self._tasks[judge] = self._bars.add_task(
                name, total=total, completed=done, counts=self._counts[judge], dollars=0.0
            )

    def tick(self, tick: Tick) -> None:
        if tick.judge in self._tasks:
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
