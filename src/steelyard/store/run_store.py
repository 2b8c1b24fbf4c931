"""One SQLite file per run: content-addressed trials, their replies, their failures."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager
from dataclasses import astuple
from pathlib import Path
from secrets import token_hex
from sqlite3 import Connection
from typing import Concatenate, ParamSpec, TypeVar

from steelyard.core.content_hash import canonical_json, hash_json
from steelyard.errors import REPEATED
from steelyard.store import authoring, trials
from steelyard.store.authoring import AuthoredRow
from steelyard.store.connection import (
    connect,
    connect_read_only,
    format_version,
    migrate,
    store_errors,
    transaction,
)
from steelyard.store.in_flight import (
    InFlight,
    StoredBatch,
    batch_row,
    check_saved,
    lost_row,
    read_batches,
    read_failed_requests,
    read_lost,
    read_unchecked,
    save_lost,
    save_unchecked,
    submitted_calls,
)
from steelyard.store.rows import Row, Writer
from steelyard.store.trials import SHORT, PlannedTrial, ReplyColumns, reply_body
from steelyard.trials.judge import Reply
from steelyard.trials.trial import Call, Exchange, Trial

Parameters = ParamSpec("Parameters")
Result = TypeVar("Result")


def _reading(
    function: Callable[Concatenate[Connection, Parameters], Result],
) -> Callable[Concatenate[RunStore, Parameters], Result]:
    """A method that reads where it is called; whatever a damaged file raises becomes a StoreError."""

    def method(self: RunStore, /, *args: Parameters.args, **kwargs: Parameters.kwargs) -> Result:
        with self._store_errors():
            return function(self._reader, *args, **kwargs)

    return method


SHARED_REPLIES = 1024
"""Short replies whose bodies are at hand for the calls that got the same one."""


class RunStore:
    """Reads happen where they are asked for; writes go through one thread, acknowledged after commit."""

    def __init__(self, path: Path, *, read_only: bool = False) -> None:
        self.path = path
        self._writer = Writer(path)
        self.in_flight = InFlight(path.with_name(".in_flight"))
        self._prompts: set[str] = set()
        """Hashes of prompts that this store has put on disk."""
        self._sending: set[str] = set()
        """Hashes of prompts that are on their way there."""
        self._bodies: dict[int, tuple[Reply, str, str]] = {}
        with self._store_errors():
            self._reader = connect_read_only(path) if read_only else connect(path)
            try:
                (format_version if read_only else migrate)(self._reader, path)
            except BaseException:
                self._reader.close()
                raise

    def _store_errors(self) -> AbstractContextManager[None]:
        return store_errors(self.path)

    # Writing

    async def save_reply(self, call: Call, reply: Reply, attempts: int) -> None:
        """Return when the reply is on disk."""
        await self.save_replies([(call, reply, attempts)])

    async def save_replies(self, answers: Sequence[tuple[Call, Reply, int]]) -> None:
        moment = time.time()
        rows: list[Row] = []
        prompts: dict[str, Call] = {}
        for call, reply, attempts in answers:
            prompts[call.prompt_hash] = call
            body, quoted = self._body(reply)
            row = (body, hash_json(f'["{call.key}",{quoted}]'), attempts, reply.latency_ms, moment)
            if isinstance(call, Exchange):
                rows.append(authoring.exchange_row(call, row))
            else:
                rows.append(trials.trial_row(call))
                rows.append(("INSERT OR IGNORE INTO replies VALUES", (call.key, *row)))  # the first one stays
        await self._with_prompts(rows, prompts)

    def _body(self, reply: Reply) -> tuple[str, str]:
        """What is kept of a reply, and the same as a JSON string; calls of a baseline share replies."""
        known = self._bodies.get(id(reply))
        if known is None:
            body = reply_body(reply)
            known = reply, body, canonical_json(body)  # with the reply: no other can have its id
            if len(self._bodies) >= SHARED_REPLIES:
                self._bodies.clear()
            if len(body) <= SHORT:
                self._bodies[id(reply)] = known
        return known[1:]

    async def _with_prompts(self, rows: list[Row], prompts: Mapping[str, Call]) -> None:
        """Return when rows and the prompts that they speak of are on disk; each prompt is sent there once.

        What others are sending is there first, for writes are in order; unless theirs went wrong.
        """
        unsaved = [name for name in prompts if name not in self._prompts]
        if not unsaved:
            await self._writer.submit(rows)
            return
        mine = [name for name in unsaved if name not in self._sending]
        self._sending.update(mine)
        try:
            await self._writer.submit([*(trials.prompt_row(prompts[name]) for name in mine), *rows])
            self._prompts.update(mine)
        finally:
            self._sending.difference_update(mine)
        if missing := [name for name in unsaved if name not in self._prompts]:
            await self._writer.submit([trials.prompt_row(prompts[name]) for name in missing])
            self._prompts.update(missing)

    async def save_lost(self, call: Call) -> None:
        """Put on record a call that was sent and whose reply never came."""
        await self._writer.submit([lost_row(call.key)])

    async def save_failed_requests(self, call: Call, requests: int) -> None:
        """Put on record the HTTP requests of a try that failed."""
        into = "INSERT INTO failed_requests (call, requests) VALUES"
        await self._writer.submit([(into, (call.key, requests))])

    async def save_failure(self, call: Call, reason: str, message: str, attempts: int) -> None:
        """Return when the failure is on disk."""
        text = message.encode("utf-8", "backslashreplace").decode()
        row = (reason, text, attempts, time.time())
        if isinstance(call, Exchange):
            rows = [authoring.failure_row(call, row)]
        else:
            rows = [trials.prompt_row(call), trials.trial_row(call), trials.failure_row(call, row)]
        await self._writer.submit(rows)

    async def save_repeated(self, calls: Sequence[Trial], *, billed: bool) -> None:
        """Take back the replies of calls, where they have any: they may be those to other calls."""
        rows = list[Row]()
        for call in calls:
            self.in_flight.forget(call.key)
            note = (REPEATED, "the server sends responses that nobody asked for", 1, time.time())
            rows.append(("DELETE FROM replies WHERE trial = ?", (call.key,)))
            rows.append(trials.failure_row(call, note))
            rows += [lost_row(call.key)] if billed else []
        await self._writer.submit(rows)

    async def save_batch(self, batch: StoredBatch) -> None:
        await self._writer.submit([batch_row(batch)])

    async def save_authored(self, rows: Sequence[AuthoredRow]) -> None:
        into = "INSERT OR IGNORE INTO authored VALUES"
        await self._writer.submit([(into, (*astuple(row), row.digest)) for row in rows])

    def save_plan(self, study: str, planned: Iterable[PlannedTrial]) -> None:
        """Record study and plan, together; done before the first trial, and again when the study grows."""
        with self._store_errors(), transaction(self._reader):
            trials.replace_plan(self._reader, planned)
            self._reader.execute("INSERT OR REPLACE INTO meta VALUES ('study', ?)", (study,))

    def move_replies(self, moves: Iterable[tuple[Trial, Trial]]) -> None:
        """Put replies and failures under other trials with the same prompt; all of them, or none."""
        with self._store_errors(), transaction(self._reader):
            for old, new in moves:
                trials.move(self._reader, old, new)

    def collect_lost(self) -> int:
        """Put on record which calls a killed process left without a reply; only who has the folder may."""
        keys, unchecked = self.in_flight.left_behind(), self.in_flight.left_unchecked()
        with self._store_errors():
            check_saved(self._reader, self.in_flight, self.path)
            many = save_lost(self._reader, keys) if keys else 0
        if unchecked:
            self.save_unchecked({*self.unchecked(), *unchecked})
        self.in_flight.clear()
        return many

    def save_unchecked(self, keys: Iterable[str]) -> None:
        with self._store_errors():
            save_unchecked(self._reader, keys)

    def close(self) -> None:
        self.in_flight.close()
        self._writer.close()
        self._reader.close()

    # Reading

    answered = _reading(trials.answered)
    replies = _reading(trials.read_replies)
    failures = _reading(trials.read_failures)
    last_failures = _reading(trials.last_failures)
    failure_columns = _reading(trials.failure_columns)
    calls = _reading(trials.read_calls)
    keys_containing = _reading(trials.keys_containing)
    exchanges = _reading(authoring.read_exchanges)
    exchange_failures = _reading(authoring.read_failures)
    authoring_calls = _reading(authoring.read_about)
    authored = _reading(authoring.read_authored)
    batches = _reading(read_batches)
    submitted_calls = _reading(submitted_calls)
    planned = _reading(trials.read_plan)
    lost_calls = _reading(read_lost)
    unchecked = _reading(read_unchecked)
    repeated_replies = _reading(trials.repeated_replies)
    failed_requests = _reading(read_failed_requests)

    def reply_columns(self, keys: Iterable[str] | None = None) -> Iterator[ReplyColumns]:
        with self._store_errors():
            yield from trials.reply_columns(self._reader, keys)

    @property
    def version(self) -> tuple[int, int]:
        """Another after every change of the file that a read would see."""
        with self._store_errors():
            others = self._reader.execute("PRAGMA data_version").fetchone()[0]
            return int(others), self._reader.total_changes

    @property
    def size(self) -> tuple[int, int]:
        with self._store_errors():
            return trials.read_size(self._reader)

    @property
    def authored_count(self) -> int:
        with self._store_errors():
            return authoring.count_authored(self._reader)

    @property
    def run_id(self) -> str:
        """A random name of this run file, made when it is first wanted: batches at a vendor carry it."""
        with self._store_errors():
            self._reader.execute("INSERT OR IGNORE INTO meta VALUES ('run', ?)", (token_hex(16),))
            return str(self._reader.execute("SELECT value FROM meta WHERE key = 'run'").fetchone()[0])

    @property
    def study(self) -> str | None:
        with self._store_errors():
            row = self._reader.execute("SELECT value FROM meta WHERE key = 'study'").fetchone()
        return None if row is None else str(row[0])

    @property
    def has_plan(self) -> bool:
        with self._store_errors():
            return trials.has_plan(self._reader)

    def verify(self) -> list[str]:
        with self._store_errors():
            pages = [line for (line,) in self._reader.execute("PRAGMA integrity_check") if line != "ok"]
            if pages:
                return [f"SQLite: {line}" for line in pages]
            return [*trials.damaged_rows(self._reader), *authoring.damaged_rows(self._reader)]
