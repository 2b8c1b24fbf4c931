"""Trials with their prompts, replies and failures: rows of a run file."""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np

from steelyard.core.arrays import Digests, Floats, Ints
from steelyard.core.content_hash import NO_DIGESTS, content_hash, digests_of, plain
from steelyard.errors import REPEATED
from steelyard.store.replies import FailureColumns, ReplyColumns, StoredFailure, StoredReply, reply_from
from steelyard.store.rows import NO_NUMBERS, Numbering, Row, chunks, insert
from steelyard.trials.exchange import Call
from steelyard.trials.trial import Trial

PARTS, CONTENTS = 64, 4096


def prompt_row(call: Call) -> Row:
    return "INSERT OR IGNORE INTO prompts VALUES", (call.prompt_hash, call.prompt_body)


def reply_row(trial: Trial, row: tuple[Any, ...]) -> Row:
    """The reply to a trial; the first one stays."""
    return "INSERT OR IGNORE INTO replies VALUES", (trial.key, *row)


def failure_row(trial: Trial, row: tuple[Any, ...]) -> Row:
    """Why a trial has no reply; every failure stays."""
    return "INSERT INTO failures (trial, reason, message, attempts, at) VALUES", (trial.key, *row)


def withdrawal_row(trial: Trial) -> Row:
    return "DELETE FROM replies WHERE trial = ?", (trial.key,)


def repeated_replies(connection: sqlite3.Connection) -> dict[str, int]:
    """Judge to its replies that may have been those to other calls and are not kept."""
    rows = connection.execute(
        "SELECT judge, count(*) FROM failures JOIN trials ON key = trial WHERE reason = ? GROUP BY judge",
        (REPEATED,),
    )
    return dict(rows)


@dataclass(frozen=True)
class StoredCall:
    messages: tuple[tuple[str, str], ...]
    decoding: dict[str, Any]
    reply: StoredReply | None
    failures: tuple[StoredFailure, ...]

    def to_json(self) -> dict[str, Any]:
        return {
            "messages": [{"role": role, "content": text} for role, text in self.messages],
            "decoding": self.decoding,
            "reply": None if self.reply is None else plain(self.reply.reply),
            "attempts": None if self.reply is None else self.reply.attempts,
            "received": None if self.reply is None else self.reply.received,
            "failures": [vars(failure) for failure in self.failures],
        }


def read_calls(connection: sqlite3.Connection, keys: Iterable[str]) -> dict[str, StoredCall]:
    """All that lies in the file of these trials; one that was never tried is left out."""
    wanted = (json.dumps(list(keys)),)
    failures: dict[str, list[StoredFailure]] = {}
    for key, reason, message, attempts in connection.execute(
        "SELECT trial, reason, message, attempts FROM failures"
        " WHERE trial IN (SELECT value FROM json_each(?)) ORDER BY id",
        wanted,
    ):
        failures.setdefault(key, []).append(StoredFailure(reason, message, attempts))
    rows = connection.execute(
        "SELECT key, prompts.body, replies.body, attempts, latency_ms, received FROM trials"
        " JOIN prompts ON prompts.hash = trials.prompt LEFT JOIN replies ON replies.trial = trials.key"
        " WHERE key IN (SELECT value FROM json_each(?))",
        wanted,
    )
    calls = {}
    for key, prompt, body, attempts, latency, received in rows:
        sent = json.loads(prompt)
        calls[key] = StoredCall(
            tuple((message["role"], message["content"]) for message in sent["messages"]),
            {name: value for name, value in sent["decoding"].items() if name != "type"},
            None if body is None else StoredReply(reply_from(body, latency), attempts, received),
            tuple(failures.get(key, ())),
        )
    return calls


def keys_containing(connection: sqlite3.Connection, text: str) -> list[str]:
    needle = text.casefold()
    if needle.isascii():
        sought = needle.replace("\\", "\\\\").replace("%", "\\%").replace("_", "\\_")
        query = "SELECT trial FROM replies WHERE json_extract(body, '$.text') LIKE ? ESCAPE '\\'"
        return [row[0] for row in connection.execute(query, (f"%{sought}%",))]
    rows = connection.execute("SELECT trial, json_extract(body, '$.text') FROM replies")
    return [trial for trial, reply in rows if needle in (reply or "").casefold()]


def read_size(connection: sqlite3.Connection) -> tuple[int, int]:
    replies = connection.execute("SELECT count(*) FROM replies").fetchone()[0]
    failed = connection.execute(
        "SELECT count(DISTINCT trial) FROM failures WHERE trial NOT IN (SELECT trial FROM replies)"
    ).fetchone()[0]
    return int(replies), int(failed)


def move(connection: sqlite3.Connection, old: Trial, new: Trial) -> None:
    insert(connection, [trial_row(new)])
    for (body,) in connection.execute("SELECT body FROM replies WHERE trial = ?", (old.key,)).fetchall():
        connection.execute(
            "UPDATE replies SET trial = ?, digest = ? WHERE trial = ?",
            (new.key, content_hash([new.key, body]), old.key),
        )
    connection.execute("UPDATE failures SET trial = ? WHERE trial = ?", (new.key, old.key))
    connection.execute("DELETE FROM trials WHERE key = ?", (old.key,))


def trial_row(trial: Trial) -> Row:
    return (
        "INSERT OR IGNORE INTO trials VALUES",
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


def answered(connection: sqlite3.Connection) -> set[str]:
    return {key for (key,) in connection.execute("SELECT trial FROM replies")}


def read_replies(connection: sqlite3.Connection, keys: Iterable[str] | None = None) -> dict[str, StoredReply]:
    chosen = "" if keys is None else " WHERE trial IN (SELECT value FROM json_each(?))"
    rows = connection.execute(
        "SELECT trial, body, attempts, latency_ms, received FROM replies" + chosen,
        () if keys is None else (json.dumps(list(keys)),),
    )
    return {
        key: StoredReply(reply_from(body, latency), attempts, received)
        for key, body, attempts, latency, received in rows
    }


def reply_columns(connection: sqlite3.Connection, keys: Iterable[str] | None) -> Iterator[ReplyColumns]:
    chosen = "" if keys is None else " WHERE trial IN (SELECT value FROM json_each(?))"
    rows = connection.execute(
        "SELECT trial, body, latency_ms, received FROM replies" + chosen,
        () if keys is None else (json.dumps(list(keys)),),
    )
    part, known = [], Numbering[str]()
    for key, body, latency, received in chunks(rows):
        took, came = np.array(latency, dtype=np.float64), np.array(received, dtype=np.float64)
        part.append((digests_of(key), known.of(body), took, came))
        if len(part) == PARTS or len(known) > CONTENTS:
            yield _join_columns(part, known)
            part, known = [], Numbering[str]()
    if part:
        yield _join_columns(part, known)


def _join_columns(part: list[tuple[Digests, Ints, Floats, Floats]], known: Numbering[str]) -> ReplyColumns:
    key, content, took, came = (np.concatenate(column) for column in zip(*part, strict=True))
    return ReplyColumns(key, tuple(reply_from(text, 0.0) for text in known), content, took, came)


def failure_columns(connection: sqlite3.Connection) -> FailureColumns:
    known = Numbering[str]()
    parts = [
        (digests_of(key), known.of(reason))
        for key, reason in chunks(connection.execute(f"SELECT trial, reason {_UNANSWERED} ORDER BY id"))
    ]
    keys, reasons = [part[0] for part in parts], [part[1] for part in parts]
    return FailureColumns(
        np.concatenate([NO_DIGESTS, *keys]), tuple(known), np.concatenate([NO_NUMBERS, *reasons])
    )


def read_failures(
    connection: sqlite3.Connection, keys: Iterable[str] | None = None
) -> dict[str, StoredFailure]:
    """The last failure of each of these trials, or of all, that has no reply."""
    chosen = "" if keys is None else " AND trial IN (SELECT value FROM json_each(?))"
    rows = connection.execute(
        f"SELECT trial, reason, message, attempts {_UNANSWERED}{chosen} ORDER BY id",
        () if keys is None else (json.dumps(list(keys)),),
    )
    return {key: StoredFailure(reason, message, attempts) for key, reason, message, attempts in rows}


def last_failures(connection: sqlite3.Connection) -> dict[str, str]:
    """Judge to what was said of the last of its calls that failed and has no reply."""
    query = (
        f"SELECT judge, message {_UNANSWERED.replace('failures', 'failures JOIN trials ON key = trial', 1)}"
    )
    return dict(connection.execute(f"{query} ORDER BY id"))


_UNANSWERED = "FROM failures WHERE trial NOT IN (SELECT trial FROM replies)"


def damaged_rows(connection: sqlite3.Connection) -> Iterator[str]:
    """One sentence for each prompt, trial and reply that is not what its hash says."""
    for key, body in connection.execute("SELECT hash, body FROM prompts"):
        if content_hash(json.loads(body)) != key:
            yield f"prompt {key[:15]}… does not match its hash"
    columns = "SELECT key, fingerprint, stimulus, presented, replicate, prompt FROM trials"
    for key, *parts in connection.execute(columns):
        if content_hash(parts) != key:
            yield f"trial {key[:15]}… does not match its key"
    for key, body, digest in connection.execute("SELECT trial, body, digest FROM replies"):
        if content_hash([key, body]) != digest:
            yield f"reply to trial {key[:15]}… does not match its digest"
