"""Progress of a run: calls made so far, failures, dollars."""

from __future__ import annotations

import builtins
import sys
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from time import monotonic
from typing import NamedTuple, Protocol

from steelyard.core.text import pluralize


class Tick(NamedTuple):
    judge: str
    ok: bool
    dollars: float = 0.0
    unreadable: bool = False
    calls: int = 1
    """Below 0 for replies that were withdrawn, whose calls are made again."""


class Progress(Protocol):
    def begin(self, judge: str, total: int, done: int) -> None:
        """A judge starts with this many trials, some of them answered before."""

    def tick(self, tick: Tick) -> None:
        """A trial ended; baselines, which never start, are heard of only where one fails."""

    def say(self, message: str) -> None:
        """Something worth a line."""


class NullProgress:
    def begin(self, judge: str, total: int, done: int) -> None:
        """Nothing."""

    def tick(self, tick: Tick) -> None:
        """Nothing."""

    def say(self, message: str) -> None:
        """Nothing."""


class LineProgress:
    INTERVAL = 0.2
    """Seconds between two writes, so that a fast judge does not flood a notebook."""

    def __init__(self) -> None:
        self._stream = sys.stderr
        self._total: Counter[str] = Counter()
        self._done: Counter[str] = Counter()
        self._lost: Counter[str] = Counter()
        self._dollars = 0.0
        self._written = (0.0, 0)

    def begin(self, judge: str, total: int, done: int) -> None:
        if done < total:
            self._total[judge], self._done[judge] = total, done

    def tick(self, tick: Tick) -> None:
        if tick.judge not in self._total:
            return
        self._done[tick.judge] += tick.calls
        self._lost["failed"] += not tick.ok
        self._lost["unreadable"] += tick.unreadable
        self._dollars += tick.dollars
        if self._done == self._total or monotonic() - self._written[0] >= self.INTERVAL:
            self._write(self._line())

    def say(self, message: str) -> None:
        self._write(f"steelyard: {message}")
        print(file=self._stream)

    def end(self) -> None:
        if self._total:
            self._write(self._line())
            print(file=self._stream, flush=True)

    def _line(self) -> str:
        parts = [
            f"{judge} {self._done[judge]:,}/{pluralize(total, 'call')}"
            for judge, total in self._total.items()
        ]
        parts += [f"{count:,} {word}" for word, count in self._lost.items() if count]
        return " · ".join([*parts, *([f"${self._dollars:.4f}"] if self._dollars else [])])

    def _write(self, text: str) -> None:
        self._stream.write("\r" + text.ljust(self._written[1]))
        self._stream.flush()
        self._written = monotonic(), len(text)


@contextmanager
def progress_line(is_shown: bool) -> Iterator[Progress]:
    if not is_shown:
        yield NullProgress()
        return
    line = LineProgress()
    try:
        yield line
    finally:
        line.end()


def is_watched() -> bool:
    return sys.stderr.isatty() or hasattr(builtins, "__IPYTHON__")
