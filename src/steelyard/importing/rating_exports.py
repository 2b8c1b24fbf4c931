"""Ratings in the export files of evaluation tools, recognised by their keys; a rater's kind is never guessed.

promptfoo, DeepEval, MLflow and Phoenix say who rated. Langfuse says so of annotations and of its own
evaluators. Scores that were posted over an API, feedback of LangSmith and events of OpenTelemetry do not:
there the caller names the scores of judges and of people.
"""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from steelyard.core.content_hash import content_hash, short_hash
from steelyard.core.text import pluralize
from steelyard.errors import DataError
from steelyard.importing.rating_reader import parse_value
from steelyard.importing.ratings import (
    CODE,
    HUMAN,
    JUDGE,
    KINDS,
    Rating,
    RatingColumns,
    RatingsTable,
)
from steelyard.tasks.sources.cells import normal
from steelyard.tasks.sources.delimited import read_text

Body = Mapping[str, Any]
UNKNOWN = ""
MODEL_GRADED = ("llm-rubric", "model-graded", "g-eval", "factuality", "select-best", "search-rubric")
MODEL_GRADED_PARTS = ("context-", "answer-relevance", "conversation-relevance", "trajectory:goal")
EVENT = "gen_ai.evaluation."


@dataclass(frozen=True)
class Export:
    tool: str
    fits: Callable[[Body], bool]
    """Whether a row, or the whole file, is of this tool."""
    ratings: Callable[[Body], Iterator[tuple[Rating, Any]]]
    """Each rating without its value, and the value as it stands in the file."""
    whole: bool = False
    """True where the file is one object."""


def read_export(path: Path, how: RatingColumns) -> RatingsTable | None:
    """The ratings of an export; None where the file is of no known tool."""
    bodies = _bodies(path)
    if not bodies:
        return None
    export = next((each for each in EXPORTS if each.fits(bodies[0])), None)
    if export is None:
        return None
    if export.whole:
        bodies = bodies[:1]
    found: list[Rating] = []
    left: Counter[str] = Counter()
    for number, body in enumerate(bodies, start=1):
        for rating, cell in _read_ratings(path, number, export, body):
            kind = rating.kind or _told_kind(rating.rater, how)
            if kind == UNKNOWN:
                left[rating.rater] += 1
                continue
            value = parse_value(cell, f"{path}, row {number}", rating.rater, how.values, compared=False)
            criterion = rating.criterion if rating.kind else ""  # the caller matched these names
            if value is not None or kind != HUMAN:
                found.append(replace(rating, kind=kind, value=value, criterion=criterion))
    if not found:
        names = ", ".join(map(repr, left)) or "none"
        raise DataError(
            f"{path}: {export.tool} does not say whether people or judges gave the scores {names}; name "
            "those of judges with --judge and those of people with --people."
        )
    remarks = tuple(
        f"{pluralize(count, 'rating')} {name!r} left out: neither --judge nor --people names it."
        for name, count in left.items()
    )
    return RatingsTable(str(path), tuple(_numbered(found)), remarks)


def _read_ratings(path: Path, number: int, export: Export, body: Body) -> list[tuple[Rating, Any]]:
    try:
        return list(export.ratings(body))
    except (KeyError, TypeError, AttributeError) as error:
        raise DataError(
            f"{path}, row {number}: not in the form that {export.tool} writes ({type(error).__name__}: "
            f"{error}); export it again."
        ) from error


def _bodies(path: Path) -> list[Body]:
    """The objects of a JSON or JSONL file; none where it holds anything else."""
    text = read_text(path)
    try:
        body = json.loads(text)
    except ValueError:
        try:
            body = [json.loads(line) for line in text.split("\n") if line.strip()]
        except ValueError:
            return []
    if isinstance(body, Mapping):
        for key in ("data", "assessments", "annotations", "scores"):
            if isinstance(body.get(key), list):
                body = body[key]
                break
        else:
            body = [body]
    rows = body if isinstance(body, list) else []
    return rows if all(isinstance(row, Mapping) for row in rows) else []


def _told_kind(rater: str, how: RatingColumns) -> str:
    return JUDGE if rater in how.judges else HUMAN if rater in how.people else UNKNOWN


def _numbered(ratings: list[Rating]) -> Iterator[Rating]:
    """Several ratings of one rater and item are repeats of a judge; of a person the last one counts."""
    seen: Counter[tuple[str, ...]] = Counter()
    last = {_key(rating): rating for rating in ratings if rating.kind == HUMAN}
    for rating in ratings:
        key = _key(rating)
        if rating.kind == HUMAN:
            if last[key] is rating:
                yield rating
            continue
        yield replace(rating, run=str(seen[key])) if seen[key] else rating
        seen[key] += 1


def _key(rating: Rating) -> tuple[str, ...]:
    return rating.item, rating.system, rating.criterion, rating.rater


def _promptfoo(body: Body) -> Iterator[tuple[Rating, Any]]:
    """A person's rating overwrites `success` and `pass` of the row, so single assertions are read.

    A row that stands there again is another answer of the system to the same test.
    """
    times: Counter[tuple[str, str]] = Counter()
    for row in body["results"]["results"]:
        provider = row.get("provider") or {}
        system = (
            str(provider.get("label") or provider.get("id") or "") if isinstance(provider, Mapping) else ""
        )
        test = str(row.get("testIdx"))
        place = (test, f"{system} {row.get('promptIdx', 0)}")
        item = f"{test}/{row.get('promptIdx', 0)}" + (f"#{times[place]}" if times[place] else "")
        times[place] += 1
        named: Counter[str] = Counter()
        for part in (row.get("gradingResult") or {}).get("componentResults") or []:
            rule = part.get("assertion") or {}
            kind = str(rule.get("type", ""))
            rater = str(rule.get("metric") or kind)
            named[rater] += 1
            rater += f"#{named[rater]}" if named[rater] > 1 else ""
            who = HUMAN if kind == "human" else JUDGE if _is_graded(kind) else CODE
            yield Rating(item, rater, who, None, system=system, task=test), part.get("pass")


def _is_graded(kind: str) -> bool:
    kind = kind.removeprefix("not-")
    return kind.startswith((*MODEL_GRADED, *MODEL_GRADED_PARTS))


def _deepeval(body: Body) -> Iterator[tuple[Rating, Any]]:
    """Test cases are named by position, so the item is what was asked and answered."""
    for case in body["testCases"]:
        said = {name: str(case.get(name)) for name in ("input", "actualOutput")}
        for metric in case.get("metricsData") or []:
            kind = JUDGE if metric.get("evaluationModel") else CODE
            name = str(metric["name"])
            cell = None if metric.get("error") else metric.get("score")
            yield Rating(short_hash(content_hash(said)), name, kind, None, criterion=name), cell


def _mlflow(body: Body) -> Iterator[tuple[Rating, Any]]:
    """A judge's assessment that a person overrode is not valid any more, and still the judge's verdict."""
    if "feedback" not in body:
        return
    source, feedback = body["source"], body["feedback"]
    kind = KINDS.get(normal(source["source_type"]), UNKNOWN)
    name = str(body["assessment_name"])
    cell = None if feedback.get("error") else feedback.get("value")
    yield (
        Rating(str(body["trace_id"]), str(source.get("source_id") or name), kind, None, criterion=name),
        cell,
    )


def _phoenix(body: Body) -> Iterator[tuple[Rating, Any]]:
    kind = KINDS.get(normal(body["annotator_kind"]), UNKNOWN)
    result, name = body.get("result") or {}, str(body["name"])
    rater = str(body.get("identifier") or name)
    cell = result.get("score") if result.get("score") is not None else result.get("label")
    yield Rating(str(body["span_id"]), rater, kind, None, criterion=name), cell


def _langfuse(body: Body) -> Iterator[tuple[Rating, Any]]:
    """Judges of an SDK post as API: of those the caller says what they are."""
    kind = {"ANNOTATION": HUMAN, "EVAL": JUDGE}.get(str(body["source"]), UNKNOWN)
    name, subject = str(body["name"]), body.get("subject") or {}
    rater = str(body.get("authorUserId") or name) if kind == HUMAN else name
    item = str(body.get("traceId") or subject.get("id"))
    cell = body.get("stringValue") if body.get("value") is None else body.get("value")
    yield Rating(item, rater, kind, None, criterion=name), cell


def _langsmith(body: Body) -> Iterator[tuple[Rating, Any]]:
    cell = body.get("score") if body.get("score") is not None else body.get("value")
    yield Rating(str(body["run_id"]), str(body["key"]), UNKNOWN, None), cell


def _opentelemetry(body: Body) -> Iterator[tuple[Rating, Any]]:
    about = body["attributes"]
    name = str(about.get(f"{EVENT}name"))
    cell = about.get(f"{EVENT}score.value", about.get(f"{EVENT}score.label"))
    item = str(about.get("gen_ai.response.id") or body.get("trace_id") or body.get("traceId"))
    yield Rating(item, name, UNKNOWN, None), None if about.get("error.type") else cell


def _has(*keys: str) -> Callable[[Body], bool]:
    return lambda body: all(key in body for key in keys)


EXPORTS = (
    Export(
        "promptfoo",
        lambda b: isinstance(b.get("results"), Mapping) and "results" in b["results"],
        _promptfoo,
        True,
    ),
    Export("DeepEval", _has("testCases"), _deepeval, True),
    Export("MLflow", _has("assessment_name", "trace_id", "source"), _mlflow),
    Export("Phoenix", _has("annotator_kind", "span_id", "name"), _phoenix),
    Export("LangSmith", _has("run_id", "key"), _langsmith),
    Export("Langfuse", lambda b: b.get("source") in ("ANNOTATION", "EVAL", "API") and "name" in b, _langfuse),
    Export(
        "OpenTelemetry",
        lambda b: isinstance(b.get("attributes"), Mapping) and f"{EVENT}name" in b["attributes"],
        _opentelemetry,
    ),
)
