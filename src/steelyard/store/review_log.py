"""What people decided about stimuli: one SQLite file beside the run, appended to and never rewritten."""

from __future__ import annotations

import json
import sqlite3
import threading
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, fields
from pathlib import Path
from typing import Any

from steelyard.errors import StoreError
from steelyard.store.connection import connect, store_error, transaction

_TABLES = """
CREATE TABLE IF NOT EXISTS decisions (
    id INTEGER PRIMARY KEY,
    stimulus TEXT NOT NULL,
    base TEXT NOT NULL,      -- hash of the stimulus as it was made, which the decision is about
    reviewer TEXT NOT NULL,
    decision TEXT NOT NULL,  -- 'accepted', 'edited', 'rejected', 'deferred' or 'undone'
    text TEXT,               -- the whole text after an edit
    label TEXT,              -- the label after a correction
    reason TEXT NOT NULL,
    note TEXT NOT NULL,
    final INTEGER NOT NULL,  -- 1 where it settles what others disagree about
    undoes INTEGER,          -- the decision that is taken back
    at REAL NOT NULL
);
CREATE INDEX IF NOT EXISTS decisions_by_stimulus ON decisions (stimulus, id);
CREATE TABLE IF NOT EXISTS drafts (
    stimulus TEXT NOT NULL,
    reviewer TEXT NOT NULL,
    body TEXT NOT NULL,      -- JSON: what was typed and not yet decided
    PRIMARY KEY (stimulus, reviewer)
) WITHOUT ROWID;
CREATE TABLE IF NOT EXISTS arrivals (
    id INTEGER PRIMARY KEY,
    stimulus TEXT NOT NULL UNIQUE,
    body TEXT NOT NULL       -- JSON: a text that was confirmed while others are still written
);
CREATE TABLE IF NOT EXISTS published (
    stimulus TEXT PRIMARY KEY,
    decision INTEGER NOT NULL -- newest decision that the stimuli's file was written with
) WITHOUT ROWID;
CREATE TABLE IF NOT EXISTS sets (
    version INTEGER PRIMARY KEY,
    hash TEXT NOT NULL,      -- of the stimuli that may be judged
    parent TEXT,             -- hash of the version before
    newest INTEGER NOT NULL, -- last decision that went into it
    reviewer TEXT NOT NULL,
    members TEXT NOT NULL,   -- JSON: stimulus to its review and hash
    at REAL NOT NULL
);
CREATE TABLE IF NOT EXISTS meta (key TEXT PRIMARY KEY, value TEXT NOT NULL) WITHOUT ROWID;
"""


@dataclass(frozen=True)
class Choice:
    stimulus: str
    base: str
    reviewer: str
    decision: str
    """`accepted`, `edited`, `rejected`, `deferred` or `undone`."""
    text: str | None = None
    label: str | None = None
    reason: str = ""
    note: str = ""
    final: bool = False
    undoes: int | None = None


@dataclass(frozen=True)
class Vote(Choice):
    id: int = 0
    at: float = 0.0
    """When it was written, in seconds since 1970."""


@dataclass(frozen=True)
class ReviewedSet:
    version: int
    hash: str
    parent: str | None
    newest: int
    reviewer: str
    members: Mapping[str, Sequence[str]]
    at: float


class StaleError(Exception):
    """Somebody decided about the stimulus after the page was drawn."""


_CHOICE = tuple(field.name for field in fields(Choice))


def _insert(connection: sqlite3.Connection, table: str, row: Mapping[str, Any]) -> int:
    """Add a row, and say its number."""
    into = f"INSERT INTO {table} ({', '.join(row)}) VALUES ({', '.join('?' * len(row))})"
    return connection.execute(into, tuple(row.values())).lastrowid or 0


class ReviewLog:
    """Every write is on disk when the method returns."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self._lock = threading.RLock()
        try:
            self._connection = connect(path)
            try:
                self._connection.executescript(_TABLES)
            except BaseException:
                self._connection.close()
                raise
        except sqlite3.Error as error:
            raise self._unusable(error) from error

    def _unusable(self, error: Exception) -> StoreError:
        if getattr(error, "sqlite_errorname", "").startswith("SQLITE_READONLY"):
            return StoreError(f"{self.path}: cannot be written; make it and its folder writable.")
        return store_error(self.path, error, f"not a usable file of decisions ({error}); restore a copy.")

    @contextmanager
    def transaction(self) -> Iterator[sqlite3.Connection]:
        """All that is written within is on disk at its end, or nothing; no other process writes meanwhile."""
        with self._lock:
            if self._connection.in_transaction:  # of the caller, who has the lock
                yield self._connection
                return
            try:
                with transaction(self._connection):
                    yield self._connection
            except sqlite3.Error as error:
                raise self._unusable(error) from error

    def _rows(self, query: str, values: Sequence[Any] = ()) -> list[tuple[Any, ...]]:
        with self._lock:
            try:
                return self._connection.execute(query, values).fetchall()
            except sqlite3.Error as error:
                raise self._unusable(error) from error

    def close(self) -> None:
        self._connection.close()

    # Decisions

    def append(self, choice: Choice, seen: int | None = None, *, own: bool = False) -> Vote:
        """Keep a choice; refused where somebody was faster than the newest vote `seen`.

        With `own`, only votes of the same reviewer count as somebody's.
        """
        with self.transaction() as connection:
            who = " AND reviewer = ?" if own else ""
            values = (choice.stimulus, choice.reviewer) if own else (choice.stimulus,)
            query = f"SELECT max(id) FROM decisions WHERE stimulus = ?{who}"
            if seen is not None and seen != (connection.execute(query, values).fetchone()[0] or 0):
                raise StaleError
            row = {**{name: getattr(choice, name) for name in _CHOICE}, "at": time.time()}
            number = _insert(connection, "decisions", row)
            connection.execute(
                "DELETE FROM drafts WHERE stimulus = ? AND reviewer = ?", (choice.stimulus, choice.reviewer)
            )
        return Vote(**row, id=number)

    def votes(self, stimulus: str | None = None) -> list[Vote]:
        chosen = "" if stimulus is None else " WHERE stimulus = ?"
        values = () if stimulus is None else (stimulus,)
        columns = (*_CHOICE, "id", "at")
        rows = self._rows(f"SELECT {', '.join(columns)} FROM decisions{chosen} ORDER BY id", values)
        named = [dict(zip(columns, row, strict=True)) for row in rows]
        return [Vote(**{**one, "final": bool(one["final"])}) for one in named]

    def voted_since(self, number: int) -> set[str]:
        """Stimuli with an entry after this one."""
        return {
            row[0] for row in self._rows("SELECT DISTINCT stimulus FROM decisions WHERE id > ?", (number,))
        }

    @property
    def position(self) -> tuple[int, int]:
        query = "SELECT (SELECT max(id) FROM decisions), (SELECT max(id) FROM arrivals)"
        decided, arrived = self._rows(query)[0]
        return decided or 0, arrived or 0

    # What is typed and not yet decided

    def save_draft(self, stimulus: str, reviewer: str, body: Mapping[str, str]) -> None:
        with self.transaction() as connection:
            connection.execute(
                "INSERT OR REPLACE INTO drafts VALUES (?, ?, ?)", (stimulus, reviewer, json.dumps(body))
            )

    def draft(self, stimulus: str, reviewer: str) -> dict[str, str] | None:
        rows = self._rows("SELECT body FROM drafts WHERE stimulus = ? AND reviewer = ?", (stimulus, reviewer))
        return json.loads(rows[0][0]) if rows else None

    # Texts that arrive while others are written

    def arrive(self, bodies: Mapping[str, str]) -> None:
        with self.transaction() as connection:
            connection.executemany(
                "INSERT OR IGNORE INTO arrivals (stimulus, body) VALUES (?, ?)", bodies.items()
            )

    def arrivals(self) -> list[str]:
        return [row[0] for row in self._rows("SELECT body FROM arrivals ORDER BY id")]

    # Versions

    def add_set(self, fresh: ReviewedSet) -> None:
        with self.transaction() as connection:
            members = json.dumps(fresh.members, sort_keys=True)
            _insert(connection, "sets", {**vars(fresh), "members": members})

    def sets(self) -> list[ReviewedSet]:
        rows = self._rows(
            "SELECT version, hash, parent, newest, reviewer, members, at FROM sets ORDER BY version"
        )
        return [ReviewedSet(v, h, p, n, r, json.loads(members), at) for v, h, p, n, r, members, at in rows]

    def publish(self, newest: Mapping[str, int]) -> None:
        with self.transaction() as connection:
            connection.executemany("INSERT OR REPLACE INTO published VALUES (?, ?)", newest.items())

    def published(self) -> dict[str, int]:
        return dict(self._rows("SELECT stimulus, decision FROM published"))

    # Settings

    def set_meta(self, key: str, value: Any, *, keep: bool = False) -> None:
        """Note a setting; with `keep`, one that stands there stays."""
        with self.transaction() as connection:
            word = "IGNORE" if keep else "REPLACE"
            connection.execute(f"INSERT OR {word} INTO meta VALUES (?, ?)", (key, json.dumps(value)))

    def get_meta(self, key: str) -> Any:
        rows = self._rows("SELECT value FROM meta WHERE key = ?", (key,))
        return json.loads(rows[0][0]) if rows else None
