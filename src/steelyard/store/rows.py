"""Rows of a run file: written by one thread, acknowledged after their commit; read back as columns."""

from __future__ import annotations

import asyncio
import json
import queue
import sqlite3
import threading
from bisect import bisect_left, bisect_right
from collections.abc import Hashable, Iterable, Iterator, Sequence
from contextlib import closing, suppress
from itertools import chain
from pathlib import Path
from typing import Any, TypeAlias, TypeVar

import numpy as np

from steelyard.core.arrays import Ints
from steelyard.errors import StoreError
from steelyard.store.connection import connect, store_errors, transaction, write_error_words

PORTIONS = (1, 2, 3, 4, 6, 8, 12, 16, 24, 32, 48, 64, 96, 128)
"""Rows of one statement: few lengths, so that SQLite keeps the statements it has read.

A thread gives way to all others at every statement, so a commit of many small ones waits for each of them.
"""


Row: TypeAlias = tuple[str, tuple[Any, ...]]
"""One row that is to be kept: the statement up to its values, such as `INSERT INTO prompts VALUES`, and its
values, one for each column; or a whole statement that deletes, and its values."""


def insert(connection: sqlite3.Connection, rows: Iterable[Row]) -> None:
    tables: dict[str, list[tuple[Any, ...]]] = {}
    for into, values in rows:
        tables.setdefault(into, []).append(values)
    for into, every in tables.items():
        if into.startswith("DELETE"):
            connection.executemany(into, every)
            continue
        marks = f"({', '.join('?' * len(every[0]))})"
        is_padded = into.startswith("INSERT OR IGNORE")
        for start in range(0, len(every), PORTIONS[-1]):
            part = every[start : start + PORTIONS[-1]]
            while part:
                if is_padded:
                    size = PORTIONS[bisect_left(PORTIONS, len(part))]
                    part += part[-1:] * (size - len(part))
                else:
                    size = PORTIONS[bisect_right(PORTIONS, len(part)) - 1]
                values = tuple(chain.from_iterable(part[:size]))
                connection.execute(f"{into} {', '.join([marks] * size)}", values)
                part = part[size:]


CHUNK = 1024
"""Rows that are read at a time: what they hold is let go while it is still at hand."""
NO_NUMBERS: Ints = np.empty(0, dtype=np.int64)

Value = TypeVar("Value", bound=Hashable)


def chunks(cursor: sqlite3.Cursor) -> Iterator[tuple[tuple[Any, ...], ...]]:
    while rows := cursor.fetchmany(CHUNK):
        yield tuple(zip(*rows, strict=True))


class Numbering(dict[Value, int]):
    def __missing__(self, value: Value) -> int:
        self[value] = number = len(self)
        return number

    def of(self, values: Iterable[Value]) -> Ints:
        return np.array(list(map(self.__getitem__, values)), dtype=np.int64)


def rows_of(
    connection: sqlite3.Connection, table: str, query: str, values: tuple[Any, ...] = ()
) -> Iterable[tuple[Any, ...]]:
    """What a query about a table finds; nothing where the file has no such table."""
    return connection.execute(query, values) if has_table(connection, table) else ()


def among(query: str, column: str, keys: Iterable[str] | None) -> tuple[str, tuple[str, ...]]:
    """The query for these keys of a column, or for all, and its values."""
    if keys is None:
        return query, ()
    word = "AND" if " WHERE " in query else "WHERE"
    return f"{query} {word} {column} IN (SELECT value FROM json_each(?))", (json.dumps(list(keys)),)


def has_table(connection: sqlite3.Connection, table: str) -> bool:
    """A file of an earlier format that is only read has no such table."""
    rows = connection.execute("SELECT 1 FROM sqlite_master WHERE type = 'table' AND name = ?", (table,))
    return rows.fetchone() is not None


LARGEST_BATCH = 500
"""Writes of one transaction: a commit costs the same for one and for many."""
CACHE = 32_768
"""Kilobytes of the file at hand: keys are hashes, so the rows of one transaction lie all over it."""
WAL_PAGES = 16_384
"""Pages of the log after which they are put in their places: each is written once for many commits."""
_Answer = tuple[asyncio.Future[None], StoreError | None]
_Pending = tuple[Sequence[Row], asyncio.Future[None], asyncio.AbstractEventLoop]


class Writer:
    """Group commit: rows go in together, in order, from a thread that starts with the first write."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self._queue: queue.SimpleQueue[list[_Pending] | None] = queue.SimpleQueue()
        self._gathered: dict[asyncio.AbstractEventLoop, list[_Pending]] = {}
        """What was submitted in this turn of a loop: the thread is woken once for all of it."""
        self._thread: threading.Thread | None = None

    async def submit(self, rows: Sequence[Row]) -> None:
        """Return when they are on disk, all together."""
        self._start()
        loop = asyncio.get_running_loop()
        acknowledged: asyncio.Future[None] = loop.create_future()
        if loop not in self._gathered:
            self._gathered[loop] = []
            loop.call_soon(self._hand_over, loop)
        self._gathered[loop].append((rows, acknowledged, loop))
        await acknowledged

    def _hand_over(self, loop: asyncio.AbstractEventLoop) -> None:
        if gathered := self._gathered.pop(loop, None):
            self._queue.put(gathered)

    def close(self) -> None:
        if self._thread is not None:
            for loop in list(self._gathered):
                self._hand_over(loop)
            self._queue.put(None)
            self._thread.join()
            self._thread = None

    def _start(self) -> None:
        if self._thread is not None:
            return
        with store_errors(self._path):
            connection = connect(self._path)
            try:
                connection.execute(f"PRAGMA cache_size = -{CACHE}")
                connection.execute(f"PRAGMA wal_autocheckpoint = {WAL_PAGES}")
            except BaseException:
                connection.close()
                raise
        self._thread = threading.Thread(
            target=self._write_forever, args=(connection,), name="steelyard-store", daemon=True
        )
        self._thread.start()

    def _write_forever(self, connection: sqlite3.Connection) -> None:
        with closing(connection):
            while (first := self._queue.get()) is not None:
                batch = self._with_waiting(first)
                errors = _commit_each(connection, [rows for rows, _, _ in batch])
                answers: dict[asyncio.AbstractEventLoop, list[_Answer]] = {}
                for (_, acknowledged, loop), error in zip(batch, errors, strict=True):
                    answers.setdefault(loop, []).append((acknowledged, error))
                for loop, mine in answers.items():
                    # Where the loop is closed, who waited is gone; the rest is written.
                    with suppress(RuntimeError):
                        loop.call_soon_threadsafe(_acknowledge, mine)

    def _with_waiting(self, batch: list[_Pending]) -> list[_Pending]:
        while not self._queue.empty() and len(batch) < LARGEST_BATCH:
            following = self._queue.get()
            if following is None:
                self._queue.put(None)
                break
            batch += following
        return batch


def _commit_each(connection: sqlite3.Connection, writes: Sequence[Sequence[Row]]) -> list[StoreError | None]:
    """All in one transaction; where that fails, each in its own, so that one bad row costs no other."""
    if _commit(connection, chain.from_iterable(writes)) is None:
        return [None] * len(writes)
    return [_commit(connection, rows) for rows in writes]


def _commit(connection: sqlite3.Connection, rows: Iterable[Row]) -> StoreError | None:
    try:
        with transaction(connection):
            insert(connection, rows)
    except Exception as error:  # the writers wait for an answer, whatever went wrong
        return StoreError(f"the run file {write_error_words(error)}")
    return None


def _acknowledge(answers: Iterable[_Answer]) -> None:
    for future, error in answers:
        if future.done():
            continue
        if error is None:
            future.set_result(None)
        else:
            future.set_exception(error)
