"""Calls on their way, and after a kill, what may be billed twice and what is lost.

Calls in flight stand in a file beside the run file, batches at a vendor in rows of it.
"""

from __future__ import annotations

import json
import mmap
import sqlite3
import time
from collections.abc import Iterable, Mapping
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

from steelyard.core.content_hash import PREFIX, WIDTH
from steelyard.errors import StoreError
from steelyard.store.connection import transaction
from steelyard.store.rows import Row, rows_of

SLOTS = 2048
"""Calls that are recorded at the same time."""
SAVED = 64
"""The last replies on disk whose calls are recorded, behind the slots."""
UNCHECKED = 16_384
"""Calls, behind those, whose replies may yet turn out to be those to other calls; the newest count."""
_LAST = SLOTS + SAVED + UNCHECKED
_SIZE = _LAST * WIDTH
_FREE = bytes(WIDTH)


class InFlight:
    """A slot of the file for each call, written before it is sent and cleared when its reply is on disk.

    The file is mapped into memory: a write costs no system call and outlives the process, though not a loss
    of power. Where a disk has room for the calls in flight alone, these are recorded; where it has none,
    nothing is, and the run goes on.
    """

    def __init__(self, path: Path) -> None:
        self.path = path
        self._map: mmap.mmap | None = None
        self._failed = False
        self._free = list(range(SLOTS))
        self._taken: dict[str, int] = {}
        self._saved = 0
        self._room = list(range(SLOTS + SAVED, _LAST))
        self._unchecked: dict[str, int] = {}

    def begin(self, key: str) -> None:
        self._open()
        if self._map is not None and self._free and key not in self._taken:
            self._taken[key] = slot = self._free.pop()
            self._write(slot, bytes.fromhex(key.removeprefix(PREFIX)))

    def end(self, key: str) -> None:
        slot = self._taken.pop(key, None)
        if slot is not None:
            self._write(slot, _FREE)
            self._free.append(slot)

    def leave(self, key: str) -> None:
        """The call ends without a word: it stays in the file as after a kill."""
        self._taken.pop(key, None)

    def saved(self, key: str) -> None:
        """The reply to the call is on disk; the last of these must be found there after a kill."""
        self._write(SLOTS + self._saved % SAVED, bytes.fromhex(key.removeprefix(PREFIX)))
        self._saved += 1

    def forget(self, key: str) -> None:
        """The reply to the call is withdrawn: nobody has to find it after a kill."""
        saved = bytes.fromhex(key.removeprefix(PREFIX))
        for slot in range(SLOTS, SLOTS + SAVED) if self._map is not None else ():
            if self._map is not None and self._map[slot * WIDTH : (slot + 1) * WIDTH] == saved:
                self._write(slot, _FREE)

    def doubt(self, key: str) -> None:
        """The reply to the call is there, and may turn out to be that to another."""
        self._open()
        if self._map is not None and key not in self._unchecked and (self._room or self._unchecked):
            if not self._room:
                self.trust([next(iter(self._unchecked))])
            self._unchecked[key] = slot = self._room.pop()
            self._write(slot, bytes.fromhex(key.removeprefix(PREFIX)))

    def trust(self, keys: Iterable[str]) -> None:
        """Replies are known to be those to their calls, or are withdrawn."""
        for key in keys:
            slot = self._unchecked.pop(key, None)
            if slot is not None:
                self._write(slot, _FREE)
                self._room.append(slot)

    def left_behind(self) -> list[str]:
        """Keys of the calls that a killed process left in its file."""
        return self._keys(0, SLOTS)

    def left_unchecked(self) -> list[str]:
        """Keys of the calls whose replies a killed process could not check."""
        return self._keys(SLOTS + SAVED, _LAST)

    def last_saved(self) -> list[str]:
        """Keys of the last calls whose replies a killed process had put on disk."""
        return self._keys(SLOTS, SLOTS + SAVED)

    def _keys(self, first: int, last: int) -> list[str]:
        try:
            slots = self.path.read_bytes()
        except OSError:
            return []
        keys = (slots[place * WIDTH : (place + 1) * WIDTH] for place in range(first, last))
        return sorted({f"{PREFIX}{key.hex()}" for key in keys if len(key) == WIDTH and key != _FREE})

    def clear(self) -> None:
        """Forget what a killed process left; its calls are on record elsewhere."""
        with suppress(OSError):
            self.path.unlink(missing_ok=True)

    def close(self) -> None:
        if self._map is not None:
            self._map.close()
            self._map = None
            if not self.left_behind() and not self.left_unchecked():
                self.clear()

    def _open(self) -> None:
        if self._map is not None or self._failed:
            return
        try:
            self._create(_SIZE)
        except (OSError, ValueError):
            try:
                self._room = []
                self._create((SLOTS + SAVED) * WIDTH)
            except (OSError, ValueError):
                self._failed = True
                self.clear()

    def _create(self, size: int) -> None:
        with self.path.open("wb+") as file:
            # Not a hole: a page of it without room on disk would end the process.
            file.write(bytes(size))
            file.flush()
            self._map = mmap.mmap(file.fileno(), size)

    def _write(self, slot: int, value: bytes) -> None:
        if self._map is not None:
            self._map[slot * WIDTH : (slot + 1) * WIDTH] = value


def save_lost(connection: sqlite3.Connection, keys: list[str]) -> int:
    """Record calls of a killed process that have no reply, and count them: they are sent again."""
    unanswered = [key for key in keys if not _has_reply(connection, key)]
    with transaction(connection):
        rows = [(key, time.time()) for key in unanswered]
        connection.executemany("INSERT INTO lost_calls (call, found) VALUES (?, ?)", rows)
    return len(unanswered)


def save_unchecked(connection: sqlite3.Connection, keys: Iterable[str]) -> None:
    """Record whose replies may be those to other calls, in place of what was recorded; those without count
    for nothing."""
    kept = [key for key in sorted(keys) if _has_reply(connection, key)]
    with transaction(connection):
        connection.execute("DELETE FROM meta WHERE key = 'unchecked'")
        if kept:
            connection.execute("INSERT INTO meta VALUES ('unchecked', ?)", (json.dumps(kept),))


def read_unchecked(connection: sqlite3.Connection) -> list[str]:
    """Calls whose replies no run has checked, since it was killed before."""
    found = connection.execute("SELECT value FROM meta WHERE key = 'unchecked'").fetchone()
    return [] if found is None else [str(key) for key in json.loads(found[0])]


def lost_row(key: str) -> Row:
    return "INSERT INTO lost_calls (call, found) VALUES", (key, time.time())


def read_failed_requests(connection: sqlite3.Connection) -> dict[str, int]:
    """Calls to the HTTP requests of their tries that failed, where a Python judge's are counted."""
    query = "SELECT call, sum(requests) FROM failed_requests GROUP BY call"
    return dict(rows_of(connection, "failed_requests", query))


def check_saved(connection: sqlite3.Connection, in_flight: InFlight, path: Path) -> None:
    """Refuse to go on where replies that were on disk are gone: their calls would be paid for again."""
    gone = [key for key in in_flight.last_saved() if not _has_reply(connection, key)]
    if gone:
        raise StoreError(
            f"{path}: replies are missing that were saved before the last run was killed ({len(gone)} of the "
            f"last {SAVED}): {path.name}-wal, which held them, is gone or another. Put it back beside "
            f"{path.name}; or, to pay for these calls again, delete {in_flight.path}."
        )


def _has_reply(connection: sqlite3.Connection, key: str) -> bool:
    found = connection.execute(
        "SELECT 1 FROM replies WHERE trial = ? UNION ALL SELECT 1 FROM exchanges WHERE key = ?", (key, key)
    )
    return found.fetchone() is not None


def read_lost(connection: sqlite3.Connection) -> dict[str, int]:
    """Calls whose reply was lost (a kill, a timeout, a lost worker), and how often."""
    query = "SELECT call, count(*) FROM lost_calls GROUP BY call ORDER BY call"
    return dict(rows_of(connection, "lost_calls", query))


INTENDED, SUBMITTED, SETTLED = "intended", "submitted", "settled"
"""State of a batch: about to be submitted; at the vendor; collected, or given up."""


@dataclass(frozen=True)
class StoredBatch:
    name: str
    judge: str
    keys: tuple[str, ...]
    dialect: Mapping[str, int]
    """Forms of fields that the calls were put in."""
    created: float
    state: str = INTENDED
    remote: str | None = None


def batch_row(batch: StoredBatch) -> Row:
    dialect = json.dumps(dict(batch.dialect), sort_keys=True)
    row = {**vars(batch), "keys": json.dumps(batch.keys), "dialect": dialect}
    return f"INSERT OR REPLACE INTO batches ({', '.join(row)}) VALUES", tuple(row.values())


def read_batches(connection: sqlite3.Connection, judge: str) -> list[StoredBatch]:
    rows = connection.execute(
        "SELECT name, judge, keys, dialect, created, state, remote FROM batches"
        " WHERE judge = ? ORDER BY created, name",
        (judge,),
    )
    return [
        StoredBatch(name, owner, tuple(json.loads(keys)), json.loads(dialect), created, state, remote)
        for name, owner, keys, dialect, created, state, remote in rows
    ]


def submitted_calls(connection: sqlite3.Connection) -> set[str]:
    """Ids of the calls in batches that were submitted and not collected; none in files without batches."""
    rows = rows_of(connection, "batches", "SELECT keys FROM batches WHERE state = ?", (SUBMITTED,))
    return {call for (keys,) in rows for call in json.loads(keys)}
