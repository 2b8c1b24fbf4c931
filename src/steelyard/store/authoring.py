"""What authors and validators said, and the stimuli that came of it: rows of a run file, counts by probe."""

from __future__ import annotations

import json
import sqlite3
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import asdict, dataclass
from typing import Any

from steelyard.core.content_hash import canonical_json, content_hash
from steelyard.stimuli.authored_checks import Rejection
from steelyard.stimuli.brief import BY_A_PERSON, BY_LEVEL, Bucket, ProbeReport
from steelyard.stimuli.stimulus import ACCEPTED, EDITED, PENDING, REJECTED, Label, Stimulus
from steelyard.store.rows import Row, among, rows_of
from steelyard.store.trials import StoredFailure, StoredReply, reply_from
from steelyard.tasks.task import parse_scale
from steelyard.trials.judge import PRICE_OPTIONS
from steelyard.trials.trial import Exchange, exchange_key


@dataclass(frozen=True)
class StoredExchange(StoredReply):
    role: str
    model: str
    question: str
    brief: str
    prices: Mapping[str, float]
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
    judge, protocol = exchange.judge, exchange.protocol
    prices = {name: v for name, v in judge.options.items() if name in PRICE_OPTIONS}
    asked = (exchange.role, judge.fingerprint(protocol), exchange.prompt_hash, exchange.attempt)
    model = (judge.address, canonical_json(prices), protocol, exchange.brief)
    return "INSERT OR IGNORE INTO exchanges VALUES", (exchange.key, *asked, *model, *row)


def failure_row(exchange: Exchange, row: tuple[Any, ...]) -> Row:
    return (
        "INSERT INTO exchange_failures (exchange, role, brief, reason, message, attempts, at) VALUES",
        (exchange.key, exchange.role, exchange.brief, *row),
    )


def read_exchanges(
    connection: sqlite3.Connection, keys: Iterable[str] | None = None
) -> dict[str, StoredExchange]:
    query = (
        "SELECT key, exchanges.body, attempts, latency_ms, received, role, model, question, brief, prices,"
        " prompts.body FROM exchanges JOIN prompts ON prompts.hash = exchanges.prompt"
    )
    rows = rows_of(connection, "exchanges", *among(query, "key", keys))
    found = {}
    for key, body, attempts, latency, received, *asked, prices, prompt in rows:
        size = sum(len(message["content"]) for message in json.loads(prompt)["messages"])
        about = *asked, json.loads(prices), size
        found[key] = StoredExchange(reply_from(body, latency), attempts, received, *about)
    return found


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


@dataclass(frozen=True)
class AuthoredStimulus:
    stimulus: Stimulus
    """As it was made; what a person decided later is not in it."""
    tries: tuple[Rejection, ...] = ()
    """Why earlier texts were rejected; for a rejected stimulus every text."""
    by_validator: bool = False
    """True where the reference is the validator's opinion: a run taken as it is that nobody labelled."""

    @property
    def rejected(self) -> bool:
        return self.stimulus.lineage.review == REJECTED

    def row(self, brief: str, roles: str) -> AuthoredRow:
        return AuthoredRow(self.stimulus.id, brief, roles, canonical_json(self._body))

    def arrival(self, original: Stimulus) -> str:
        return canonical_json({**self._body, "original": original.to_json()})

    @property
    def _body(self) -> dict[str, Any]:
        body = {"stimulus": self.stimulus.to_json(), "tries": [asdict(each) for each in self.tries]}
        return {**body, "by_validator": True} if self.by_validator else body

    @classmethod
    def from_arrival(cls, body: str) -> tuple[AuthoredStimulus, Stimulus]:
        """The inverse of `arrival`."""
        return cls.from_json(body), Stimulus.from_json(json.loads(body)["original"])

    @classmethod
    def of(cls, row: AuthoredRow) -> AuthoredStimulus:
        """The inverse of `row`."""
        return cls.from_json(row.body)

    @classmethod
    def from_json(cls, text: str) -> AuthoredStimulus:
        body = json.loads(text)
        tries = tuple(Rejection(**each) for each in body["tries"])
        return cls(Stimulus.from_json(body["stimulus"]), tries, body.get("by_validator", False))


def count_by_probe(
    written: Iterable[AuthoredStimulus], stimuli: Iterable[Stimulus]
) -> tuple[ProbeReport, ...]:
    """One report for each probe, by name; `stimuli` hold what people decided."""
    decided = {stimulus.id: stimulus for stimulus in stimuli}
    probes: dict[str, list[tuple[AuthoredStimulus, Stimulus]]] = {}
    for text in written:
        current = decided.get(text.stimulus.id)
        if current is not None:
            probes.setdefault(current.probe, []).append((text, current))
    return tuple(_probe(probe, probes[probe]) for probe in sorted(probes))


def _probe(probe: str, made: list[tuple[AuthoredStimulus, Stimulus]]) -> ProbeReport:
    rejected = Counter(
        text.tries[-1].reason if text.rejected else BY_A_PERSON
        for text, stimulus in made
        if stimulus.lineage.review == REJECTED
    )
    return ProbeReport(
        probe,
        len(made),
        sum(stimulus.judged for _, stimulus in made),
        sum(stimulus.lineage.review == PENDING for _, stimulus in made),
        dict(sorted(rejected.items())),
        dict(sorted(Counter(each.reason for text, _ in made for each in text.tries).items())),
        _buckets([stimulus for _, stimulus in made]) if probe in BY_LEVEL else (),
        sum(stimulus.judged and text.by_validator for text, stimulus in made),
        sum(stimulus.lineage.review == EDITED for _, stimulus in made),
        sum(stimulus.lineage.review in (ACCEPTED, EDITED) for _, stimulus in made),
    )


def _buckets(stimuli: Iterable[Stimulus]) -> tuple[Bucket, ...]:
    wanted: Counter[str] = Counter()
    filled: Counter[str] = Counter()
    for stimulus in stimuli:
        if isinstance(stimulus.expectation, Label):
            # The level that it was written for, which need not be the one it is kept at.
            answers = parse_scale(stimulus.scale or "").answers
            wanted[answers[int(stimulus.id.rpartition("/")[2]) % len(answers)]] += 1
            filled[stimulus.expectation.value] += stimulus.lineage.review != REJECTED
    return tuple(Bucket(level, filled[level], wanted[level]) for level in sorted(wanted, key=int))
