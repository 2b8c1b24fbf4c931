"""Trials with their prompts, replies and failures: rows of a run file."""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Iterable, Iterator
from typing import Any

from steelyard.identity import content_hash
from steelyard.store.replies import StoredFailure, StoredReply, reply_from
from steelyard.trials.exchange import Call
from steelyard.trials.trial import Trial, trial_key


def insert_prompt(connection: sqlite3.Connection, call: Call) -> None:
    """Keep what is said to the model, once for all calls that say it."""
    connection.execute("INSERT OR IGNORE INTO prompts VALUES (?, ?)", (call.prompt_hash, call.prompt_body))


def insert_reply(connection: sqlite3.Connection, trial: Trial, row: tuple[Any, ...]) -> None:
    """Keep a trial with its reply; the first one stays."""
    _insert_trial(connection, trial)
    connection.execute("INSERT OR IGNORE INTO replies VALUES (?, ?, ?, ?, ?, ?)", (trial.key, *row))


def insert_failure(connection: sqlite3.Connection, trial: Trial, row: tuple[Any, ...]) -> None:
    """Keep a trial with why it has no reply; every failure stays."""
    _insert_trial(connection, trial)
    connection.execute(
        "INSERT INTO failures (trial, reason, message, attempts, at) VALUES (?, ?, ?, ?, ?)",
        (trial.key, *row),
    )


def move(connection: sqlite3.Connection, old: Trial, new: Trial) -> None:
    """Put what was said to one trial under another with the same prompt."""
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


def answered(connection: sqlite3.Connection) -> set[str]:
    """Keys of the trials that have a reply."""
    return {key for (key,) in connection.execute("SELECT trial FROM replies")}


def read_replies(connection: sqlite3.Connection, keys: Iterable[str] | None) -> dict[str, StoredReply]:
    """Replies by trial key: of these trials, or all of them."""
    chosen = "" if keys is None else " WHERE trial IN (SELECT value FROM json_each(?))"
    rows = connection.execute(
        "SELECT trial, body, attempts, latency_ms, received FROM replies" + chosen,
        () if keys is None else (json.dumps(list(keys)),),
    )
    return {
        key: StoredReply(reply_from(json.loads(body), latency), attempts, received)
        for key, body, attempts, latency, received in rows
    }


def read_failures(connection: sqlite3.Connection) -> dict[str, StoredFailure]:
    """The last failure of every trial without a reply."""
    rows = connection.execute(
        "SELECT trial, reason, message, attempts FROM failures"
        " WHERE trial NOT IN (SELECT trial FROM replies) ORDER BY id"
    )
    return {key: StoredFailure(reason, message, attempts) for key, reason, message, attempts in rows}


def damaged(connection: sqlite3.Connection) -> Iterator[str]:
    """One sentence for each prompt, trial and reply that is not what its hash says."""
    for key, body in connection.execute("SELECT hash, body FROM prompts"):
        if content_hash(json.loads(body)) != key:
            yield f"prompt {key[:15]}… does not match its hash"
    columns = "SELECT key, fingerprint, stimulus, presented, replicate, prompt FROM trials"
    for key, *parts in connection.execute(columns):
        if trial_key(*parts) != key:
            yield f"trial {key[:15]}… does not match its key"
    for key, body, digest in connection.execute("SELECT trial, body, digest FROM replies"):
        if content_hash([key, body]) != digest:
            yield f"reply to trial {key[:15]}… does not match its digest"
