"""One SQLite file per run: content-addressed trials, their replies, their failures."""

from __future__ import annotations

import asyncio
import json
import queue
import sqlite3
import threading
import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from steelyard.errors import StoreError
from steelyard.identity import canonical_json, content_hash
from steelyard.store import authoring
from steelyard.store.authoring import Asked, AuthoredRow, StoredExchange
from steelyard.store.replies import StoredFailure, StoredReply, reply_body, reply_from
from steelyard.store.schema import migrate
from steelyard.trials.exchange import Call, Exchange
from steelyard.trials.reply import Reply
from steelyard.trials.trial import Trial, trial_key

Write = Callable[[sqlite3.Connection], None]
_PRIMARY = 0xFF
"""The bits of a result code of SQLite that tell its kind."""
_NO_ROOM = (sqlite3.SQLITE_FULL, sqlite3.SQLITE_IOERR)
_Pending = tuple[Write, asyncio.Future[None], asyncio.AbstractEventLoop]


@dataclass(frozen=True)
class PlannedTrial:
    """A trial of the plan, whether or not it was tried."""

    trial: str
    """Key of the trial."""
    judge: str
    """Name of the judge."""
    protocol: str
    """`base`, `strict`, …"""
    stimulus: str
    """Hash of the stimulus."""
    order: str
    """`uv` or `vu`."""
    replicate: int
    """0, 1, …"""
    probes: tuple[str, ...]
    """Probes that use it."""


class RunStore:
    """Reads happen where they are asked for; writes go through one thread, acknowledged after commit."""

    def __init__(self, path: Path, *, read_only: bool = False) -> None:
        """Open or create the file; read-only sees what is there at this moment and changes nothing."""
        self.path = path
        self._queue: queue.Queue[_Pending | None] = queue.Queue()
        self._thread: threading.Thread | None = None
        with self._readable():
            self._reader = self._connect_read_only() if read_only else self._connect()
            if not read_only:
                migrate(self._reader)

    def _connect(self) -> sqlite3.Connection:
        connection = sqlite3.connect(self.path, timeout=30, isolation_level=None, check_same_thread=False)
        connection.execute("PRAGMA journal_mode = WAL")
        connection.execute("PRAGMA synchronous = FULL")
        return connection

    def _connect_read_only(self) -> sqlite3.Connection:
        """All reads from one snapshot, for a run may be going on beside them.

        Where the folder cannot be written, SQLite cannot keep its own files: take the file as it is.
        """
        place = self.path.resolve().as_uri()
        for mode in ("mode=ro", "mode=ro&immutable=1"):
            connection = sqlite3.connect(f"{place}?{mode}", uri=True, isolation_level=None)
            try:
                connection.execute("BEGIN")  # the snapshot is that of the first statement after it
                connection.execute("SELECT count(*) FROM sqlite_master").fetchone()
                return connection
            except sqlite3.OperationalError:
                connection.close()
        raise sqlite3.OperationalError("cannot be opened")

    @contextmanager
    def _readable(self) -> Iterator[None]:
        """Turn whatever a damaged file does to its reader into one sentence."""
        try:
            yield
        except (sqlite3.Error, ValueError, KeyError, TypeError) as error:
            if getattr(error, "sqlite_errorcode", 0) & _PRIMARY in _NO_ROOM:
                raise StoreError(f"{self.path}: {_full(error)}") from error
            raise StoreError(
                f"{self.path}: not a usable run file ({error}); restore a copy or choose another --out."
            ) from error

    # Writing

    async def save_reply(self, call: Call, reply: Reply, attempts: int) -> None:
        """Return when the reply is on disk."""
        body = canonical_json(reply_body(reply))
        row = (body, content_hash([call.key, body]), attempts, reply.latency_ms, time.time())

        def write(connection: sqlite3.Connection) -> None:
            _insert_prompt(connection, call)
            if isinstance(call, Exchange):
                authoring.insert_exchange(connection, call, row)
            else:
                _insert_trial(connection, call)
                connection.execute(
                    "INSERT OR IGNORE INTO replies VALUES (?, ?, ?, ?, ?, ?)", (call.key, *row)
                )

        await self._submit(write)

    async def save_failure(self, call: Call, reason: str, message: str, attempts: int) -> None:
        """Return when the failure is on disk."""
        told = message.encode("utf-8", "backslashreplace").decode()
        row = (reason, told, attempts, time.time())

        def write(connection: sqlite3.Connection) -> None:
            if isinstance(call, Exchange):
                authoring.insert_failure(connection, call, row)
                return
            _insert_prompt(connection, call)
            _insert_trial(connection, call)
            connection.execute(
                "INSERT INTO failures (trial, reason, message, attempts, at) VALUES (?, ?, ?, ?, ?)",
                (call.key, *row),
            )

        await self._submit(write)

    async def save_authored(self, rows: Sequence[AuthoredRow]) -> None:
        """Return when all the stimuli are on disk; none is there before."""
        await self._submit(lambda connection: authoring.insert_authored(connection, rows))

    async def _submit(self, write: Write) -> None:
        if self._thread is None:
            with self._readable():
                writer = self._connect()
            self._thread = threading.Thread(
                target=self._write_forever, args=(writer,), name="steelyard-store", daemon=True
            )
            self._thread.start()
        loop = asyncio.get_running_loop()
        acknowledged: asyncio.Future[None] = loop.create_future()
        self._queue.put((write, acknowledged, loop))
        await asyncio.shield(acknowledged)

    def _write_forever(self, connection: sqlite3.Connection) -> None:
        while (first := self._queue.get()) is not None:
            batch = [first]
            while not self._queue.empty() and len(batch) < 500:
                following = self._queue.get()
                if following is None:
                    self._queue.put(None)
                    break
                batch.append(following)
            errors = _commit_each(connection, [write for write, _, _ in batch])
            for (_, acknowledged, loop), error in zip(batch, errors, strict=True):
                loop.call_soon_threadsafe(_acknowledge, acknowledged, error)
        connection.close()

    def close(self) -> None:
        """Finish writing and release the file."""
        if self._thread is not None:
            self._queue.put(None)
            self._thread.join()
            self._thread = None
        self._reader.close()

    # Reading

    def answered(self) -> set[str]:
        """Keys of the trials that have a reply."""
        with self._readable():
            return {row[0] for row in self._reader.execute("SELECT trial FROM replies")}

    def replies(self, keys: Iterable[str] | None = None) -> dict[str, StoredReply]:
        """Replies by trial key: of these trials, or all of them."""
        chosen = "" if keys is None else " WHERE trial IN (SELECT value FROM json_each(?))"
        with self._readable():
            rows = self._reader.execute(
                "SELECT trial, body, attempts, latency_ms, received FROM replies" + chosen,
                () if keys is None else (json.dumps(list(keys)),),
            )
            return {
                key: StoredReply(reply_from(json.loads(body), latency), attempts, received)
                for key, body, attempts, latency, received in rows
            }

    def failures(self) -> dict[str, StoredFailure]:
        """The last failure of every trial without a reply."""
        with self._readable():
            rows = self._reader.execute(
                "SELECT trial, reason, message, attempts FROM failures"
                " WHERE trial NOT IN (SELECT trial FROM replies) ORDER BY id"
            )
            return {key: StoredFailure(reason, message, attempts) for key, reason, message, attempts in rows}

    def exchanges(self, keys: Iterable[str] | None = None) -> dict[str, StoredExchange]:
        """Replies of authors and validators by the keys of their exchanges: these, or all of them."""
        with self._readable():
            return authoring.read_exchanges(self._reader, keys)

    def asked_about(self, brief: str) -> list[Asked]:
        """What authors and validators were asked about a stimulus, and what they said."""
        with self._readable():
            return authoring.read_about(self._reader, brief)

    def exchange_failures(self) -> dict[str, StoredFailure]:
        """The last failure of every exchange without a reply."""
        with self._readable():
            return authoring.read_failures(self._reader)

    def authored(self) -> dict[str, AuthoredRow]:
        """Every stimulus that was written for the study, by id."""
        with self._readable():
            return authoring.read_authored(self._reader)

    @property
    def study(self) -> str | None:
        """Hash of the study whose trials lie here."""
        with self._readable():
            row = self._reader.execute("SELECT value FROM meta WHERE key = 'study'").fetchone()
        return None if row is None else str(row[0])

    def freeze(self, study: str, plan: Iterable[PlannedTrial]) -> None:
        """Record study and plan, together; done before the first trial, and again when the study grows."""
        rows = (
            (t.trial, t.judge, t.protocol, t.stimulus, t.order, t.replicate, json.dumps(t.probes))
            for t in plan
        )
        with self._readable():
            self._reader.execute("BEGIN IMMEDIATE")
            try:
                self._reader.execute("DELETE FROM planned")
                self._reader.executemany("INSERT INTO planned VALUES (NULL, ?, ?, ?, ?, ?, ?, ?)", rows)
                self._reader.execute("INSERT OR REPLACE INTO meta VALUES ('study', ?)", (study,))
            except BaseException:
                self._reader.execute("ROLLBACK")
                raise
            self._reader.execute("COMMIT")

    def refile(self, moves: Iterable[tuple[Trial, Trial]]) -> None:
        """Put replies and failures under other trials with the same prompt; all of them, or none."""
        with self._readable():
            self._reader.execute("BEGIN IMMEDIATE")
            try:
                for old, new in moves:
                    _move(self._reader, old, new)
            except BaseException:
                self._reader.execute("ROLLBACK")
                raise
            self._reader.execute("COMMIT")

    @property
    def has_plan(self) -> bool:
        """False for a run file of a version that kept no plan."""
        with self._readable():
            found = self._reader.execute("SELECT 1 FROM sqlite_master WHERE name = 'planned'").fetchone()
            return bool(found and self._reader.execute("SELECT 1 FROM planned LIMIT 1").fetchone())

    def planned(self) -> list[PlannedTrial]:
        """Every planned trial, in the order of the plan."""
        columns = "trial, judge, protocol, stimulus, presented, replicate, probes"
        with self._readable():
            rows = self._reader.execute(f"SELECT {columns} FROM planned ORDER BY position")
            return [
                PlannedTrial(key, judge, protocol, stimulus, order, replicate, tuple(json.loads(probes)))
                for key, judge, protocol, stimulus, order, replicate, probes in rows
            ]

    def verify(self) -> list[str]:
        """Re-hash the whole file; one sentence per damaged row, none when all is well."""
        with self._readable():
            pages = list(self._damaged_pages())
            return pages or [
                *self._damaged_prompts(),
                *self._damaged_trials(),
                *self._damaged_replies(),
                *authoring.damaged(self._reader),
            ]

    def _damaged_pages(self) -> Iterator[str]:
        for (line,) in self._reader.execute("PRAGMA integrity_check"):
            if line != "ok":
                yield f"SQLite: {line}"

    def _damaged_prompts(self) -> Iterator[str]:
        for key, body in self._reader.execute("SELECT hash, body FROM prompts"):
            if content_hash(json.loads(body)) != key:
                yield f"prompt {key[:15]}… does not match its hash"

    def _damaged_trials(self) -> Iterator[str]:
        columns = "SELECT key, fingerprint, stimulus, presented, replicate, prompt FROM trials"
        for key, *parts in self._reader.execute(columns):
            if trial_key(*parts) != key:
                yield f"trial {key[:15]}… does not match its key"

    def _damaged_replies(self) -> Iterator[str]:
        for key, body, digest in self._reader.execute("SELECT trial, body, digest FROM replies"):
            if content_hash([key, body]) != digest:
                yield f"reply to trial {key[:15]}… does not match its digest"


def _commit_each(connection: sqlite3.Connection, writes: list[Write]) -> list[StoreError | None]:
    """All in one transaction; where that fails, each in its own, so that one bad row costs no other."""
    if _commit(connection, writes) is None:
        return [None] * len(writes)
    return [_commit(connection, [write]) for write in writes]


def _commit(connection: sqlite3.Connection, writes: list[Write]) -> StoreError | None:
    try:
        connection.execute("BEGIN IMMEDIATE")
        for write in writes:
            write(connection)
        connection.execute("COMMIT")
    except Exception as error:  # the writers wait for an answer, whatever went wrong
        if connection.in_transaction:
            connection.execute("ROLLBACK")
        return StoreError(f"the run file {_full(error)}")
    return None


def _full(error: Exception) -> str:
    return f"cannot be written ({error}): free some space, then run again to resume."


def _acknowledge(future: asyncio.Future[None], error: StoreError | None) -> None:
    if future.done():
        return
    if error is None:
        future.set_result(None)
    else:
        future.set_exception(error)


def _insert_prompt(connection: sqlite3.Connection, call: Call) -> None:
    prompt = {"messages": call.messages, "decoding": call.decoding}
    connection.execute(
        "INSERT OR IGNORE INTO prompts VALUES (?, ?)", (call.prompt_hash, canonical_json(prompt))
    )


def _move(connection: sqlite3.Connection, old: Trial, new: Trial) -> None:
    _insert_trial(connection, new)
    for (body,) in connection.execute("SELECT body FROM replies WHERE trial = ?", (old.key,)).fetchall():
        connection.execute(
            "UPDATE replies SET trial = ?, digest = ? WHERE trial = ?",
            (new.key, content_hash([new.key, body]), old.key),
        )
    connection.execute("UPDATE failures SET trial = ? WHERE trial = ?", (new.key, old.key))
    connection.execute("DELETE FROM trials WHERE key = ?", (old.key,))


def _insert_trial(connection: sqlite3.Connection, trial: Trial) -> None:
    connection.execute(
        "INSERT OR IGNORE INTO trials VALUES (?, ?, ?, ?, ?, ?, ?, ?)",
        (
            trial.key,
            trial.judge.fingerprint(trial.protocol),
            trial.stimulus.hash,
            trial.order,
            trial.replicate,
            trial.prompt_hash,
            trial.judge.name,
            trial.protocol,
        ),
    )
