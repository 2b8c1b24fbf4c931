"""Planned trials, and trials with their prompts, replies and failures: rows of a run file."""

from __future__ import annotations

import json
import sqlite3
from array import array
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from functools import lru_cache
from math import isfinite
from typing import Any

import numpy as np

from steelyard.core.arrays import Digests, Floats, Ints, compact
from steelyard.core.content_hash import (
    NO_DIGESTS,
    canonical_json,
    column,
    content_hash,
    digests_of,
    hash_json,
    hash_of,
    plain,
)
from steelyard.errors import REPEATED
from steelyard.store.rows import NO_NUMBERS, Numbering, Row, among, chunks, insert, rows_of
from steelyard.trials.judge import Reply, Usage
from steelyard.trials.trial import ORDERS, Call, Trial

SHORT = 500
"""Letters of a body that is likely to come again."""
_WORDS = {None: "null", True: "true", False: "false"}


@dataclass(frozen=True, slots=True)
class StoredReply:
    reply: Reply
    attempts: int
    received: float


@dataclass(frozen=True, eq=False)
class ReplyColumns:
    key: Digests
    contents: tuple[Reply, ...]
    content: Ints
    latency_ms: Floats
    received: Floats


@dataclass(frozen=True, eq=False)
class FailureColumns:
    key: Digests
    reasons: tuple[str, ...]
    reason: Ints


@dataclass(frozen=True)
class StoredFailure:
    reason: str
    message: str
    attempts: int


def reply_body(reply: Reply) -> str:
    """What is hashed and kept, as canonical JSON; the latency has a column of its own.

    Which fields there are, and in which order, is known: an encoder would take ten times as long to find out.
    """
    return (
        f'{{"effective":{_value(reply.effective)},"finish":{_value(reply.finish)},'
        f'"logprobs":{_value(reply.logprobs)},"scores":{_value(reply.scores)},'
        f'"served_model":{_value(reply.served_model)},"text":{_value(reply.text)},"type":"Reply",'
        f'"usage":{_usage_body(reply.usage)}}}'
    )


def _usage_body(usage: Usage) -> str:
    billed = "" if usage.billed is None else f'"billed":{_value(usage.billed)},'
    dollars = "" if usage.dollars is None else f'"dollars":{_value(usage.dollars)},'
    requests = f'"requests":{usage.requests},' if usage.requests else ""
    return (
        f'{{"batched":{_WORDS[usage.batched]},{billed}"cache_write_tokens":{usage.cache_write_tokens},'
        f'"cached_tokens":{usage.cached_tokens},{dollars}"input_tokens":{usage.input_tokens},'
        f'"output_tokens":{usage.output_tokens},"reasoning_tokens":{usage.reasoning_tokens},'
        f'{requests}"type":"Usage"}}'
    )


def _value(value: Any) -> str:
    if type(value) is int or (type(value) is float and isfinite(value)):
        return repr(value)
    if value is None or value is True or value is False:
        return _WORDS[value]
    return "{}" if value == {} else canonical_json(value)


def reply_from(body: str, latency_ms: float) -> Reply:
    fields = _fields(body) if len(body) <= SHORT else _fields.__wrapped__(body)
    return Reply(**fields, latency_ms=latency_ms)


@lru_cache(maxsize=16_384)
def _fields(body: str) -> dict[str, Any]:
    parsed = json.loads(body)
    usage = {key: value for key, value in parsed["usage"].items() if key != "type"}
    scores = parsed["scores"]
    rest = {key: value for key, value in parsed.items() if key not in ("type", "usage", "scores")}
    return {**rest, "usage": Usage(**usage), "scores": None if scores is None else tuple(scores)}


PARTS, CONTENTS = 64, 4096


def prompt_row(call: Call) -> Row:
    return "INSERT OR IGNORE INTO prompts VALUES", (call.prompt_hash, call.prompt_body)


def failure_row(trial: Trial, row: tuple[Any, ...]) -> Row:
    """Why a trial has no reply; every failure stays."""
    return "INSERT INTO failures (trial, reason, message, attempts, at) VALUES", (trial.key, *row)


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
    wanted = list(keys)
    failures: dict[str, list[StoredFailure]] = {}
    query, values = among("SELECT trial, reason, message, attempts FROM failures", "trial", wanted)
    for key, reason, message, attempts in connection.execute(f"{query} ORDER BY id", values):
        failures.setdefault(key, []).append(StoredFailure(reason, message, attempts))
    query = (
        "SELECT key, prompts.body, replies.body, attempts, latency_ms, received FROM trials"
        " JOIN prompts ON prompts.hash = trials.prompt LEFT JOIN replies ON replies.trial = trials.key"
    )
    rows = connection.execute(*among(query, "key", wanted))
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
    shown = (trial.stimulus.hash, trial.order, trial.replicate, trial.prompt_hash)
    row = (trial.key, trial.judge.fingerprint(trial.protocol), *shown, trial.judge.name, trial.protocol)
    return "INSERT OR IGNORE INTO trials VALUES", row


def answered(connection: sqlite3.Connection) -> set[str]:
    return {key for (key,) in connection.execute("SELECT trial FROM replies")}


def read_replies(connection: sqlite3.Connection, keys: Iterable[str] | None = None) -> dict[str, StoredReply]:
    query = "SELECT trial, body, attempts, latency_ms, received FROM replies"
    return {
        key: StoredReply(reply_from(body, latency), attempts, received)
        for key, body, attempts, latency, received in connection.execute(*among(query, "trial", keys))
    }


def reply_columns(connection: sqlite3.Connection, keys: Iterable[str] | None) -> Iterator[ReplyColumns]:
    query = "SELECT trial, body, latency_ms, received FROM replies"
    rows = connection.execute(*among(query, "trial", keys))
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
    query, values = among(f"SELECT trial, reason, message, attempts {_UNANSWERED}", "trial", keys)
    rows = connection.execute(f"{query} ORDER BY id", values)
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
        if not _is_hash(key, body):
            yield f"prompt {key[:15]}… does not match its hash"
    columns = "SELECT key, fingerprint, stimulus, presented, replicate, prompt FROM trials"
    for key, fingerprint, stimulus, order, replicate, prompt in connection.execute(columns):
        # No part of a key has to be escaped.
        if not _is_hash(key, f'["{fingerprint}","{stimulus}","{order}",{replicate},"{prompt}"]'):
            yield f"trial {key[:15]}… does not match its key"
    for key, body, digest in connection.execute("SELECT trial, body, digest FROM replies"):
        if not _is_hash(digest, f'["{key}",{canonical_json(body)}]'):
            yield f"reply to trial {key[:15]}… does not match its digest"


def _is_hash(digest: str, canonical: str) -> bool:
    return canonical.isascii() and hash_json(canonical) == digest


@dataclass(frozen=True, slots=True)
class PlannedTrial:
    trial: str
    judge: str
    protocol: str
    stimulus: str
    order: str
    replicate: int
    probes: tuple[str, ...]


@dataclass(frozen=True, eq=False)
class PlannedTrials:
    questions: tuple[tuple[str, str, str, str], ...]
    """Judge, protocol, hash of the stimulus and order, which `question` is an index into."""
    uses: tuple[tuple[str, ...], ...]
    key: Digests
    question: Ints
    replicate: Ints
    use: Ints

    def __len__(self) -> int:
        return len(self.key)

    def __iter__(self) -> Iterator[PlannedTrial]:
        columns = (self.key, self.question, self.replicate, self.use)
        for key, question, replicate, use in zip(*(each.tolist() for each in columns), strict=True):
            judge, protocol, stimulus, order = self.questions[question]
            probes = self.uses[use]
            yield PlannedTrial(hash_of(key), judge, protocol, stimulus, order, replicate, probes)

    @property
    def stimuli(self) -> set[str]:
        return {stimulus for _, _, stimulus, _ in self.questions}


def replace_plan(connection: sqlite3.Connection, plan: Iterable[PlannedTrial]) -> None:
    rows = (
        (t.trial, t.judge, t.protocol, t.stimulus, t.order, t.replicate, json.dumps(t.probes)) for t in plan
    )
    connection.execute("DELETE FROM planned")
    connection.executemany("INSERT INTO planned VALUES (NULL, ?, ?, ?, ?, ?, ?, ?)", rows)


def has_plan(connection: sqlite3.Connection) -> bool:
    return any(rows_of(connection, "planned", "SELECT 1 FROM planned LIMIT 1"))


def read_plan(connection: sqlite3.Connection) -> PlannedTrials:
    """Every planned trial, in the order of the plan."""
    asked, uses = Numbering[str](), Numbering[str]()
    # Each column grows in one piece: small pieces of a million rows would leave holes between them.
    key, question, replicate, use = bytearray(), array("q"), array("q"), array("q")
    rows = connection.execute(
        "SELECT trial, json_array(judge, protocol, stimulus, presented), replicate, probes FROM planned "
        "ORDER BY position"
    )
    for trial, place, repeat, probes in chunks(rows):
        key += digests_of(trial).tobytes()
        question.extend(map(asked.__getitem__, place))
        replicate.extend(repeat)
        use.extend(map(uses.__getitem__, probes))
    questions = tuple(
        (judge, protocol, stimulus, order) for judge, protocol, stimulus, order in map(json.loads, asked)
    )
    if not {order for *_, order in questions} <= set(ORDERS):
        raise ValueError("a planned trial without an order")
    return PlannedTrials(
        questions,
        tuple(tuple(json.loads(probes)) for probes in uses),
        column(key),
        *(compact(np.frombuffer(numbers, dtype=np.int64)) for numbers in (question, replicate, use)),
    )
