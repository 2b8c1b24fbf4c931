"""Live progress on stderr: calls, rate, errors, spend, time left."""

from __future__ import annotations

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

from steelyard.lab.progress import Tick


class RateColumn(ProgressColumn):
    """Calls per second."""

    def render(self, task: Task) -> Text:
        """Calls per second of the last while."""
        speed = task.finished_speed or task.speed
        return Text("" if not speed else f"{speed:,.1f}/s", style="dim")


class LiveProgress:
    """One bar per judge; nothing at all when stderr is no terminal."""

    def __init__(self) -> None:
        self._console = Console(stderr=True)
        self._bars = Progress(
            TextColumn("{task.description}"),
            BarColumn(bar_width=24),
            MofNCompleteColumn(),
            RateColumn(),
            TextColumn("{task.fields[notes]}"),
            TimeRemainingColumn(),
            console=self._console,
            transient=True,
            disable=not self._console.is_terminal,
        )
        self._tasks: dict[str, TaskID] = {}
        self._errors: dict[str, int] = {}
        self._dollars: dict[str, float] = {}

    def __enter__(self) -> LiveProgress:
        self._bars.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._bars.stop()

    def begin(self, judge: str, total: int, done: int) -> None:
        """Show a bar for a judge that has something to do."""
        if done < total:
            self._tasks[judge] = self._bars.add_task(judge, total=total, completed=done, notes="")

    def tick(self, tick: Tick) -> None:
        """Move a judge's bar."""
        self._errors[tick.judge] = self._errors.get(tick.judge, 0) + (not tick.ok)
        self._dollars[tick.judge] = self._dollars.get(tick.judge, 0.0) + tick.dollars
        if tick.judge in self._tasks:
            self._bars.update(self._tasks[tick.judge], advance=1, notes=self._notes(tick.judge))

    def say(self, message: str) -> None:
        """Print a line above the bars."""
        self._console.print(f"steelyard: {message}", highlight=False)

    def _notes(self, judge: str) -> str:
        errors, dollars = self._errors[judge], self._dollars[judge]
        parts = [f"[red]{errors} failed[/]"] if errors else []
        parts += [f"${dollars:.4f}"] if dollars else []
        return " · ".join(parts)
