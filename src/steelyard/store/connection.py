"""Connections to a run file, and the sentence for a file that cannot be read or written."""

from __future__ import annotations

import sqlite3
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from steelyard.errors import StoreError

_PRIMARY = 0xFF
"""The bits of a result code of SQLite that tell its kind."""
_NO_ROOM = (sqlite3.SQLITE_FULL, sqlite3.SQLITE_IOERR)
_IN_USE = (sqlite3.SQLITE_BUSY, sqlite3.SQLITE_LOCKED)


def connected(path: Path) -> sqlite3.Connection:
    """A connection that may write; what it commits is on the disk."""
    connection = sqlite3.connect(path, timeout=30, isolation_level=None, check_same_thread=False)
    try:
        connection.execute("PRAGMA journal_mode = WAL")
        connection.execute("PRAGMA synchronous = FULL")
    except BaseException:
        connection.close()
        raise
    return connection


def snapshot(path: Path) -> sqlite3.Connection:
    """All reads from one moment, for a run may be going on beside them.

    Where the folder cannot be written, SQLite cannot keep its own files: take the file as it is.
    """
    place = path.resolve().as_uri()
    for mode in ("mode=ro", "mode=ro&immutable=1"):
        connection = sqlite3.connect(f"{place}?{mode}", uri=True, isolation_level=None)
        try:
            connection.execute("BEGIN")  # the snapshot is that of the first statement after it
            connection.execute("SELECT count(*) FROM sqlite_master").fetchone()
            return connection
        except sqlite3.OperationalError:
            connection.close()
        except BaseException:
            connection.close()
            raise
    raise sqlite3.OperationalError("cannot be opened")


@contextmanager
def usable(path: Path) -> Iterator[None]:
    """Turn whatever a damaged file does to its reader into one sentence."""
    try:
        yield
    except (sqlite3.Error, ValueError, KeyError, TypeError) as error:
        if _kind(error) in (*_NO_ROOM, *_IN_USE):
            raise StoreError(f"{path}: {unwritable(error)}") from error
        raise StoreError(
            f"{path}: not a usable run file ({error}); restore a copy or choose another --out."
        ) from error


@contextmanager
def transaction(connection: sqlite3.Connection) -> Iterator[None]:
    """All of it is committed, or none."""
    connection.execute("BEGIN IMMEDIATE")
    try:
        yield
        connection.execute("COMMIT")
    except BaseException:
        if connection.in_transaction:
            connection.execute("ROLLBACK")
        raise


def unwritable(error: Exception) -> str:
    """What is said where a row cannot be written, or nothing be read for the same reason."""
    if _kind(error) in _IN_USE:
        return f"in use by another program ({error}): close that one, then run again to resume."
    return f"cannot be written ({error}): free some space, then run again to resume."


def _kind(error: Exception) -> int:
    """What SQLite calls the error; 0 where it is none of its."""
    return int(getattr(error, "sqlite_errorcode", 0)) & _PRIMARY
