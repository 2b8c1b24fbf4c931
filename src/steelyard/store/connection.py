"""SQLite connections to a run file: schema, migrations, transactions, and the error for an unusable file."""

from __future__ import annotations

import os
import sqlite3
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from steelyard.errors import StoreError, StoreFormatError

MIGRATIONS = (
    """
    CREATE TABLE meta (
        key TEXT PRIMARY KEY,    -- 'study'; 'run': a random name of the file; 'unchecked': see in_flight
        value TEXT NOT NULL
    ) WITHOUT ROWID;
    CREATE TABLE prompts (
        hash TEXT PRIMARY KEY,   -- content hash of the body
        body TEXT NOT NULL       -- canonical JSON: rendered messages and decoding
    ) WITHOUT ROWID;
    CREATE TABLE trials (
        key TEXT PRIMARY KEY,    -- content hash of the columns below it
        fingerprint TEXT NOT NULL,
        stimulus TEXT NOT NULL,
        presented TEXT NOT NULL, -- 'uv' or 'vu'
        replicate INTEGER NOT NULL,
        prompt TEXT NOT NULL REFERENCES prompts (hash),
        judge TEXT NOT NULL,
        protocol TEXT NOT NULL
    ) WITHOUT ROWID;
    CREATE TABLE replies (
        trial TEXT PRIMARY KEY REFERENCES trials (key),
        body TEXT NOT NULL,      -- canonical JSON of the reply
        digest TEXT NOT NULL,    -- content hash of trial and body
        attempts INTEGER NOT NULL,
        latency_ms REAL NOT NULL,
        received REAL NOT NULL
    ) WITHOUT ROWID;
    CREATE TABLE failures (
        id INTEGER PRIMARY KEY,
        trial TEXT NOT NULL REFERENCES trials (key),
        reason TEXT NOT NULL,
        message TEXT NOT NULL,
        attempts INTEGER NOT NULL,
        at REAL NOT NULL
    );
    CREATE INDEX failures_by_trial ON failures (trial);
    """,
    """
    CREATE TABLE planned (
        position INTEGER PRIMARY KEY,
        trial TEXT NOT NULL,     -- key of the trial, answered or not
        judge TEXT NOT NULL,
        protocol TEXT NOT NULL,
        stimulus TEXT NOT NULL,
        presented TEXT NOT NULL,
        replicate INTEGER NOT NULL,
        probes TEXT NOT NULL     -- JSON list of names
    );
    """,
    """
    CREATE TABLE exchanges (
        key TEXT PRIMARY KEY,    -- content hash of role, fingerprint, prompt and attempt
        role TEXT NOT NULL,      -- 'author', 'validator' or 'embedder'
        fingerprint TEXT NOT NULL,
        prompt TEXT NOT NULL REFERENCES prompts (hash),
        attempt INTEGER NOT NULL,
        model TEXT NOT NULL,     -- provider and model
        prices TEXT NOT NULL,    -- JSON: what was stated about its price
        question TEXT NOT NULL,  -- the protocol of the model
        brief TEXT NOT NULL,     -- the stimulus that was wanted
        body TEXT NOT NULL,      -- canonical JSON of the reply
        digest TEXT NOT NULL,    -- content hash of key and body
        attempts INTEGER NOT NULL,
        latency_ms REAL NOT NULL,
        received REAL NOT NULL
    ) WITHOUT ROWID;
    CREATE TABLE exchange_failures (
        id INTEGER PRIMARY KEY,
        exchange TEXT NOT NULL,
        role TEXT NOT NULL,
        brief TEXT NOT NULL,
        reason TEXT NOT NULL,
        message TEXT NOT NULL,
        attempts INTEGER NOT NULL,
        at REAL NOT NULL
    );
    CREATE TABLE authored (
        stimulus TEXT PRIMARY KEY, -- id of the stimulus
        brief TEXT NOT NULL,     -- content hash of what was asked for
        roles TEXT NOT NULL,     -- content hash of author, validator and their settings
        body TEXT NOT NULL,      -- canonical JSON: the stimulus and the tries it took
        digest TEXT NOT NULL     -- content hash of the columns before it
    ) WITHOUT ROWID;
    """,
    """
    CREATE TABLE batches (
        name TEXT PRIMARY KEY,   -- ours, told to vendors that keep one
        judge TEXT NOT NULL,
        keys TEXT NOT NULL,      -- JSON list of the calls
        dialect TEXT NOT NULL,   -- JSON: forms of fields that the calls were put in
        created REAL NOT NULL,
        state TEXT NOT NULL,     -- 'intended', 'submitted' or 'settled'
        remote TEXT              -- the vendor's name, once it is known
    ) WITHOUT ROWID;
    """,
    """
    CREATE TABLE lost_calls (
        id INTEGER PRIMARY KEY,
        call TEXT NOT NULL,      -- key of a trial or an exchange, in flight when the process was killed
        found REAL NOT NULL
    );
    """,
    """
    CREATE TABLE failed_requests (
        id INTEGER PRIMARY KEY,
        call TEXT NOT NULL,      -- key of a trial or an exchange, one try of which failed
        requests INTEGER NOT NULL -- HTTP requests of a Python judge in that try
    );
    """,
)


def format_version(connection: sqlite3.Connection, path: Path) -> int:
    """The format of a run file; one that a later version wrote is neither read nor written."""
    version = int(connection.execute("PRAGMA user_version").fetchone()[0])
    if version > len(MIGRATIONS):
        raise StoreFormatError(
            f"{path}: found format {version}, expected at most {len(MIGRATIONS)}; upgrade Steelyard to the "
            "version that measured."
        )
    return version


def migrate(connection: sqlite3.Connection, path: Path) -> None:
    """Bring a run file to this version; each step and its record are one transaction."""
    version = format_version(connection, path)
    for number, script in enumerate(MIGRATIONS[version:], start=version + 1):
        connection.executescript(f"BEGIN IMMEDIATE; {script} PRAGMA user_version = {number}; COMMIT;")


LONGEST_PATH = 504
"""Bytes of a path that SQLite opens, with room for the names of the files beside it."""


def check_path(path: Path) -> None:
    """Refuse a path that is too long for SQLite before anything is written."""
    size = len(os.fsencode(path.absolute()))
    if size > LONGEST_PATH:
        raise StoreError(
            f"{path}: the whole path has {size} bytes, and SQLite opens at most {LONGEST_PATH}; choose a "
            "shorter --out."
        )


_PRIMARY = 0xFF
_NO_ROOM = (sqlite3.SQLITE_FULL, sqlite3.SQLITE_IOERR)
_IN_USE = (sqlite3.SQLITE_BUSY, sqlite3.SQLITE_LOCKED)


def connect(path: Path) -> sqlite3.Connection:
    connection = sqlite3.connect(path, timeout=30, isolation_level=None, check_same_thread=False)
    try:
        connection.execute("PRAGMA journal_mode = WAL")
        connection.execute("PRAGMA synchronous = FULL")
    except BaseException:
        connection.close()
        raise
    return connection


def connect_read_only(path: Path) -> sqlite3.Connection:
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
def store_errors(path: Path) -> Iterator[None]:
    try:
        yield
    except (sqlite3.Error, ValueError, KeyError, TypeError) as error:
        raise store_error(
            path, error, f"not a usable run file ({error}); restore a copy or choose another --out."
        ) from error


def store_error(path: Path, error: Exception, unusable: str) -> StoreError:
    """Of a file that cannot be written at this moment, or that is not usable."""
    passing = _kind(error) in (*_NO_ROOM, *_IN_USE)
    return StoreError(f"{path}: {write_error_words(error) if passing else unusable}")


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


def write_error_words(error: Exception) -> str:
    if _kind(error) in _IN_USE:
        return f"in use by another program ({error}): close that one, then run again to resume."
    return f"cannot be written ({error}): free some space, then run again to resume."


def _kind(error: Exception) -> int:
    return int(getattr(error, "sqlite_errorcode", 0)) & _PRIMARY
