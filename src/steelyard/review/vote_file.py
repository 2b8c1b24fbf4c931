"""Votes as lines of JSON: out for other tools, in from other machines."""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from steelyard.errors import DataError
from steelyard.review.session import RefusedError, ReviewSession, VoteRequest
from steelyard.review.votes import DECIDED, DEFERRED, in_force
from steelyard.store.review_log import Vote

KEYS = (
    "stimulus",
    "decision",
    "reviewer",
    "text",
    "label",
    "reason",
    "note",
    "final",
    "base",
    "at",
    "undone",
)


@dataclass(frozen=True)
class ImportedVotes:
    kept: int
    known: int


def export_votes(session: ReviewSession) -> Iterator[str]:
    """Every vote of the log, oldest first; one that was taken back says so."""
    items = session.items()
    active = {
        vote.id for name, item in items.items() for vote in in_force(session.log.votes(name), item.base)
    }
    for vote in session.log.votes():
        if vote.decision in (*DECIDED, DEFERRED):
            yield json.dumps(_line(vote, undone=vote.id not in active), ensure_ascii=False) + "\n"


def _line(vote: Vote, *, undone: bool) -> dict[str, Any]:
    body: dict[str, Any] = {
        "stimulus": vote.stimulus,
        "decision": vote.decision,
        "reviewer": vote.reviewer,
        "text": vote.text,
        "label": vote.label,
        "reason": vote.reason,
        "note": vote.note,
        "final": vote.final or None,
        "base": vote.base,
        "at": datetime.fromtimestamp(vote.at, UTC).isoformat(),
        "undone": undone or None,
    }
    return {key: value for key, value in body.items() if value not in (None, "")}


def import_votes(session: ReviewSession, path: Path, reviewer: str) -> ImportedVotes:
    """Keep the votes of a file; all lines are checked before the first is kept."""
    try:
        written = path.read_text(encoding="utf-8").split("\n")
    except (OSError, ValueError) as error:
        raise DataError(f"{path}: cannot be read ({error}); name another file.") from error
    items = session.items()
    wanted: list[tuple[str, str, VoteRequest]] = []
    for number, line in enumerate(written, start=1):
        if line.strip():
            where = f"{path}, line {number}"
            body = _body(line, where)
            if body.get("undone"):
                continue
            name = body["stimulus"]
            if name not in items:
                raise DataError(f"{where}: no stimulus {name!r} in {session.folder.path}; remove the line.")
            if body.get("base", items[name].base) != items[name].base:
                raise DataError(f"{where}: decides about another text of {name!r}; remove the line.")
            request = VoteRequest(
                body["decision"],
                body.get("text"),
                body.get("label"),
                reason=body.get("reason", ""),
                note=body.get("note", ""),
                final=body.get("final") is True,
            )
            try:
                session.check(items[name], request)
            except RefusedError as error:
                raise DataError(f"{where}: {error}") from error
            wanted.append((name, str(body.get("reviewer") or reviewer), request))
    kept = sum(session.add(items[name], who, request) for name, who, request in wanted)
    session.publish()
    return ImportedVotes(kept, len(wanted) - kept)


def _body(line: str, where: str) -> dict[str, Any]:
    try:
        body = json.loads(line)
    except ValueError as error:
        raise DataError(f"{where}: not JSON ({error}); correct it.") from error
    if not isinstance(body, dict) or not isinstance(body.get("stimulus"), str):
        raise DataError(f"{where}: expected an object with 'stimulus' and 'decision'; correct it.")
    unknown = sorted(set(body) - set(KEYS))
    if unknown:
        raise DataError(f"{where}: unknown key {unknown[0]!r}, expected {', '.join(KEYS)}; remove it.")
    texts = ("decision", "reviewer", "text", "label", "reason", "note")
    wrong = [key for key in texts if not isinstance(body.get(key, ""), str)]
    if wrong or "decision" not in body:
        raise DataError(f"{where}: expected a text under {(wrong or ['decision'])[0]!r}; correct it.")
    return body
