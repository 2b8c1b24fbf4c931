"""What authors and validators said, and the stimuli that came of it: rows of a run file."""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from steelyard.core.content_hash import canonical_json, content_hash
from steelyard.store.rows import Row, among, rows_of
from steelyard.store.trials import StoredFailure, StoredReply, reply_from
from steelyard.trials.judge import PRICE_OPTIONS
from steelyard.trials.trial import Exchange, exchange_key


@dataclass(frozen=True)
class StoredExchange(StoredReply):
    role: str
    model: str
    prices: Mapping[str, float]
    question: str
    brief: str
    prompt_characters: int
    """Length of the prompt, for servers that count no tokens."""


@dataclass(frozen=True)
class AuthoredRow:
    stimulus: str
    brief: str
    roles: str
    body: str

    @property
    def digest(self) -> str:
        return content_hash([self.stimulus, self.brief, self.roles, self.body])


def exchange_row(exchange: Exchange, row: tuple[Any, ...]) -> Row:
    prices = {name: v for name, v in exchange.judge.options.items() if name in PRICE_OPTIONS}
    return (
        "INSERT OR IGNORE INTO exchanges VALUES",
        (
            exchange.key,
            exchange.role,
            exchange.judge.fingerprint(exchange.protocol),
            exchange.prompt_hash,
            exchange.attempt,
            exchange.judge.address,
            canonical_json(prices),
            exchange.protocol,
            exchange.brief,
            *row,
        ),
    )


def failure_row(exchange: Exchange, row: tuple[Any, ...]) -> Row:
    return (
        "INSERT INTO exchange_failures (exchange, role, brief, reason, message, attempts, at) VALUES",
        (exchange.key, exchange.role, exchange.brief, *row),
    )


def read_exchanges(
    connection: sqlite3.Connection, keys: Iterable[str] | None = None
) -> dict[str, StoredExchange]:
    query = (
        "SELECT key, exchanges.body, attempts, latency_ms, received, role, model, prices, question, brief,"
        " prompts.body FROM exchanges JOIN prompts ON prompts.hash = exchanges.prompt"
    )
    rows = rows_of(connection, "exchanges", *among(query, "key", keys))
    return {
        key: StoredExchange(
            reply_from(body, latency),
            attempts,
            received,
            role,
            model,
            json.loads(prices),
            question,
            brief,
            sum(len(message["content"]) for message in json.loads(prompt)["messages"]),
        )
        for key, body, attempts, latency, received, role, model, prices, question, brief, prompt in rows
    }


def read_failures(connection: sqlite3.Connection) -> dict[str, StoredFailure]:
    rows = rows_of(
        connection,
        "exchange_failures",
        "SELECT exchange, reason, message, attempts FROM exchange_failures"
        " WHERE exchange NOT IN (SELECT key FROM exchanges) ORDER BY id",
    )
    return {key: StoredFailure(reason, message, attempts) for key, reason, message, attempts in rows}


@dataclass(frozen=True)
class AuthoringCall:
    role: str
    model: str
    question: str
    attempt: int
    temperature: float | None
    messages: tuple[tuple[str, str], ...]
    reply: str


def read_about(connection: sqlite3.Connection, brief: str) -> list[AuthoringCall]:
    rows = rows_of(
        connection,
        "exchanges",
        "SELECT role, model, question, attempt, prompts.body, exchanges.body FROM exchanges"
        " JOIN prompts ON prompts.hash = exchanges.prompt WHERE brief = ? ORDER BY attempt, received",
        (brief,),
    )
    calls = []
    for role, model, question, attempt, prompt, reply in rows:
        sent = json.loads(prompt)
        messages = tuple((message["role"], message["content"]) for message in sent["messages"])
        temperature = sent["decoding"].get("temperature")
        text = json.loads(reply).get("text", "")
        calls.append(AuthoringCall(role, model, question, attempt, temperature, messages, text))
    return calls


def read_authored(connection: sqlite3.Connection) -> dict[str, AuthoredRow]:
    query = "SELECT stimulus, brief, roles, body FROM authored ORDER BY stimulus"
    rows = rows_of(connection, "authored", query)
    return {row[0]: AuthoredRow(*row) for row in rows}


def count_authored(connection: sqlite3.Connection) -> int:
    return sum(count for (count,) in rows_of(connection, "authored", "SELECT count(*) FROM authored"))


def damaged_rows(connection: sqlite3.Connection) -> Iterator[str]:
    columns = "SELECT key, role, fingerprint, prompt, attempt, body, digest FROM exchanges"
    for key, role, fingerprint, prompt, attempt, body, digest in rows_of(connection, "exchanges", columns):
        if exchange_key(role, fingerprint, prompt, attempt) != key:
            yield f"exchange {key[:15]}… does not match its key"
        if content_hash([key, body]) != digest:
            yield f"reply to exchange {key[:15]}… does not match its digest"
    columns = "SELECT stimulus, brief, roles, body, digest FROM authored"
    for *parts, digest in rows_of(connection, "authored", columns):
        if AuthoredRow(*parts).digest != digest:
            yield f"authored stimulus {parts[0]} does not match its digest"
