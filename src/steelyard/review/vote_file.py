"""Votes as lines of JSON: out for other tools, in from other machines."""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from pydantic import BaseModel, ConfigDict

from steelyard.core.files import read_problem
from steelyard.core.validation import checked
from steelyard.errors import DataError
from steelyard.importing.jsonl import parse_object
from steelyard.review.session import RefusedError, ReviewSession, VoteRequest
from steelyard.review.votes import DECIDED, DEFERRED, in_force


class VoteLine(BaseModel):
    model_config = ConfigDict(extra="forbid", strict=True)

    stimulus: str
    decision: str
    reviewer: str = ""
    text: str | None = None
    label: str | None = None
    reason: str = ""
    note: str = ""
    final: bool = False
    base: str | None = None
    at: str | None = None
    undone: bool = False


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
            at = datetime.fromtimestamp(vote.at, UTC).isoformat()
            told: dict[str, Any] = {**vars(vote), "at": at, "undone": vote.id not in active}
            body = {key: told[key] for key in VoteLine.model_fields if told[key] not in (None, "", False)}
            yield json.dumps(body, ensure_ascii=False) + "\n"


def import_votes(session: ReviewSession, path: Path, reviewer: str) -> ImportedVotes:
    """Keep the votes of a file; all lines are checked before the first is kept."""
    try:
        written = path.read_text(encoding="utf-8").split("\n")
    except (OSError, ValueError) as error:
        raise DataError(f"{path}: {read_problem(path, error)}; name another file.") from error
    items = session.items()
    wanted: list[tuple[str, str, VoteRequest]] = []
    for number, text in enumerate(written, start=1):
        where = f"{path}, line {number}"
        line = checked(VoteLine, parse_object(where, text), where, error=DataError) if text.strip() else None
        if line is None or line.undone:
            continue
        item = items.get(line.stimulus)
        if item is None:
            raise DataError(
                f"{where}: no stimulus {line.stimulus!r} in {session.folder.path}; remove the line."
            )
        if line.base not in (None, item.base):
            raise DataError(f"{where}: decides about another text of {line.stimulus!r}; remove the line.")
        given = line.model_dump(include={"decision", "text", "label", "reason", "note", "final"})
        request = VoteRequest(**given)
        try:
            session.check(item, request)
        except RefusedError as error:
            raise DataError(f"{where}: {error}") from error
        wanted.append((line.stimulus, line.reviewer or reviewer, request))
    kept = sum(session.add(items[name], who, request) for name, who, request in wanted)
    session.publish()
    return ImportedVotes(kept, len(wanted) - kept)
