"""Inspect logs, by `inspect_ai` where it is installed: one row a sample, its messages as a transcript.

The file format is not frozen, so that Inspect's own reader is the one that opens it.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

from steelyard.core.files import check_archive
from steelyard.core.foreign_code import import_problem
from steelyard.errors import DataError
from steelyard.tasks.sources.table import Table, table_of_objects
from steelyard.tasks.transcripts.chat import json_value, turns_of
from steelyard.tasks.transcripts.transcript import RunScore, ScoreEntry, Transcript

PARTS = {"id": "id", "cluster": "sample", "request": "input", "messages": "messages", "author": "model"}
NO_ERROR = "none"
"""What the column `error` holds of a sample that ended without one, so that `where` can choose those."""
_UNCHANGED = "UNCHANGED"
"""How Inspect writes that an edit leaves a part of a score alone."""
_LOG_KEYS = {"version", "status", "eval"}


def is_log(body: object) -> bool:
    return isinstance(body, dict) and body.keys() >= _LOG_KEYS


def read_inspect(path: Path) -> Table:
    return log_table(open_log(path), path)


def log_table(log: Any, path: Path) -> Table:
    samples = log.samples or []
    if all(sample.error and not sample.messages for sample in samples):
        raise DataError(
            f"{path}: the log holds no samples (its status is {log.status!r}), expected at least one run; "
            "name a log whose evaluation was carried out."
        )
    several = any(sample.epoch != 1 for sample in samples)
    bodies = [_row(sample, log, path, several) for sample in samples]
    return replace(table_of_objects(str(path), bodies), parts=PARTS)


def open_log(path: Path) -> Any:
    try:
        from inspect_ai.log import read_eval_log
    except Exception as error:  # of a damaged installation, nearly anything
        raise DataError(
            f"{path}: Inspect logs need inspect_ai, which {import_problem('inspect_ai', error)}."
        ) from error
    if not path.is_file():
        raise DataError(f"{path}: no such file; correct the path.")
    check_archive(path)
    try:
        return read_eval_log(str(path), resolve_attachments=True)
    except Exception as error:  # a damaged log makes zip, JSON and pydantic readers raise nearly anything
        raise DataError(
            f"{path}: Inspect can not read this log ({_reason(error)}); write it again, or convert it with "
            "`inspect log convert`."
        ) from error


def _reason(error: Exception) -> str:
    faults = error.errors() if hasattr(error, "errors") else []
    if faults and "loc" in faults[0]:
        place = ".".join(map(str, faults[0]["loc"]))
        return f"{place}: {faults[0].get('msg', 'not as expected')}"[:200]
    return (str(error).strip().splitlines() or [type(error).__name__])[0][:200]


def transcript_of_sample(sample: Any, log: Any, where: str) -> Transcript:
    messages = [message.model_dump(exclude_none=True) for message in sample.messages]
    return Transcript(
        id=str(sample.id),
        turns=turns_of(messages, where),
        epoch=sample.epoch,
        scores=transcript_scores(sample),
        metadata=json_value(sample.metadata or {}),
        model=log.eval.model,
        task=log.eval.task,
    )


def transcript_scores(sample: Any) -> tuple[RunScore, ...]:
    found = []
    for name, score in sorted((sample.scores or {}).items()):
        entries: list[ScoreEntry] = [] if score.history else [_entry(score, None, None)]
        for edit in score.history:
            entries.append(_entry(edit, entries[-1] if entries else None, edit.provenance))
        found.append(RunScore(name, tuple(entries)))
    return tuple(found)


def valued(score: Any) -> tuple[bool, ...]:
    """Whether each step of a score's history gives a value; an edit may change its explanation alone."""
    return tuple(edit.value != _UNCHANGED for edit in score.history) or (True,)


def place_of(sample: Any, several: bool) -> str:
    return f"sample {sample.id}" + (f", epoch {sample.epoch}" if several else "")


def _row(sample: Any, log: Any, path: Path, several: bool) -> tuple[str, dict[str, Any]]:
    where = place_of(sample, several)
    transcript = transcript_of_sample(sample, log, f"{path}, {where}") if sample.messages else None
    own = {
        "id": f"{sample.id}/{sample.epoch}" if several else str(sample.id),
        "sample": str(sample.id),
        "epoch": sample.epoch,
        "task": log.eval.task,
        "model": log.eval.model,
        "input": "" if transcript is None else transcript.request,
        "target": sample.target if isinstance(sample.target, str) else "\n".join(map(str, sample.target)),
        "error": NO_ERROR if sample.error is None else sample.error.message.strip() or "error",
        "messages": transcript,
    }
    given = json_value(sample.metadata or {})
    metadata = {f"metadata.{key}" if key in own else key: value for key, value in given.items()}
    return where, {**metadata, **dict(_score_columns(transcript_scores(sample))), **own}


def _score_columns(scores: tuple[RunScore, ...]) -> Iterator[tuple[str, Any]]:
    """`score.NAME` for a plain value, `score.NAME.KEY` for each of a mapping; `score` for a lone one."""
    for score in scores:
        value = score.current.value
        if isinstance(value, Mapping):
            yield from ((f"score.{score.scorer}.{key}", inner) for key, inner in value.items())
        else:
            yield f"score.{score.scorer}", value
            if len(scores) == 1:
                yield "score", value


def _entry(edit: Any, before: ScoreEntry | None, provenance: Any) -> ScoreEntry:
    """One step of a history; what an edit leaves alone is as it was before."""

    def part(name: str) -> Any:
        value = getattr(edit, name, None)
        return getattr(before, name, None) if value == _UNCHANGED else value

    reason = provenance.reason if provenance is not None else part("reason")
    return ScoreEntry(
        value=json_value(part("value")),
        answer=part("answer"),
        explanation=part("explanation"),
        author=None if provenance is None else provenance.author,
        reason=None if reason is None else str(reason),
    )
