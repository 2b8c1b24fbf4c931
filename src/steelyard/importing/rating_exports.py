"""Ratings in the export files of evaluation tools, recognised by their keys; a rater's kind is never guessed.

promptfoo, DeepEval, MLflow and Phoenix say who rated. Langfuse says so of annotations and of its own
evaluators. Scores that were posted over an API, feedback of LangSmith and events of OpenTelemetry do not:
there the caller names the scores of judges and of people.
"""

from __future__ import annotations

import json
import re
from collections import Counter
from collections.abc import Callable, Collection, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from steelyard.core.content_hash import content_hash, short_hash
from steelyard.errors import DataError
from steelyard.importing.ratings import CODE, HUMAN, JUDGE, KINDS, RatingRow
from steelyard.tasks.sources.read import csv_header, read_table, read_text
from steelyard.tasks.sources.table import is_missing, normal

Body = Mapping[str, Any]
UNKNOWN = ""
MODEL_GRADED = ("llm-rubric", "model-graded", "g-eval", "factuality", "select-best", "search-rubric")
MODEL_GRADED_PARTS = ("context-", "answer-relevance", "conversation-relevance", "trajectory:goal")
EVENT = "gen_ai.evaluation."
NO_VERDICTS = ("TEXT", "CORRECTION")
"""What people write into Langfuse beside scores."""
CSV, ENDINGS = ".csv", (".json", ".jsonl", ".ndjson")
LISTS = ("data", "traces", "assessments", "annotations", "scores")
"""Keys of a file under which its rows stand."""


@dataclass(frozen=True)
class Export:
    tool: str
    fits: Callable[[Body], bool]
    """Whether a row, or the whole file, is of this tool."""
    ratings: Callable[[Body], Iterator[RatingRow]]
    whole: bool = False
    """True where the file is one object."""
    columns: tuple[Collection[str], ...] = ()
    """Columns by which a CSV of the tool is known, one set for each form."""
    lack: str = ""
    """Why a file holds no ratings, and what to export in its place."""

    def rows(self, path: Path) -> Iterator[RatingRow]:
        if self.lack:
            raise DataError(f"{path}: {self.lack}")
        bodies = _bodies(path)
        for number, body in enumerate(bodies[:1] if self.whole else bodies, start=1):
            where = f"{path}, row {number}"
            try:
                yield from (row._replace(where=where) for row in self.ratings(body))
            except (KeyError, TypeError, AttributeError, ValueError) as error:
                raise DataError(
                    f"{where}: not in the form that {self.tool} writes ({type(error).__name__}: {error}); "
                    "export it again."
                ) from error


def export_of(path: Path) -> Export | None:
    """The tool that wrote a file; None where it is of no known tool."""
    try:
        if path.suffix.lower() == CSV:
            header = {*csv_header(path)}
            return next((each for each in EXPORTS if any(header >= {*one} for one in each.columns)), None)
        bodies = _bodies(path, first=True) if path.suffix.lower() in ENDINGS else []
    except DataError:  # whoever reads the file says what is wrong with it
        return None
    return next((each for each in EXPORTS if bodies and each.fits(bodies[0])), None)


def _bodies(path: Path, *, first: bool = False) -> list[Body]:
    """The rows of a CSV or the objects of a JSON or JSONL file, or its first; none where it holds others."""
    if path.suffix.lower() == CSV:
        return [record.values for record in read_table(path).records]
    text = read_text(path)
    try:
        body = json.loads(text.split("\n", 1)[0] if first and path.suffix.lower() != ".json" else text)
    except (ValueError, RecursionError):
        try:
            body = [json.loads(line) for line in text.split("\n") if line.strip()]
        except (ValueError, RecursionError):
            return []
    if isinstance(body, Mapping):
        lists = [body[key] for key in LISTS if key in body and not _is_trace(body)]
        body = next((rows for rows in lists if isinstance(rows, list)), [body])
    rows = body if isinstance(body, list) else []
    return rows if all(isinstance(row, Mapping) for row in rows) else []


def _row(
    item: object, rater: str, kind: str, cell: Any, passed: bool | None = None, **about: str
) -> RatingRow:
    return RatingRow("", rater, kind, {"item": str(item), **about}, cell, rater, passed)


def _promptfoo(body: Body) -> Iterator[RatingRow]:
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
            graded = kind.removeprefix("not-").startswith((*MODEL_GRADED, *MODEL_GRADED_PARTS))
            who = HUMAN if kind == "human" else JUDGE if graded else CODE
            yield _row(item, rater, who, part.get("pass"), system=system, task=test)


def _deepeval(body: Body) -> Iterator[RatingRow]:
    """Test cases are named by position, so the item is what was asked and answered."""
    for case in body["testCases"]:
        said = {name: str(case.get(name)) for name in ("input", "actualOutput")}
        for metric in case.get("metricsData") or []:
            kind = JUDGE if metric.get("evaluationModel") else CODE
            name = str(metric["name"])
            lost = bool(metric.get("error"))
            cell, passed = (None, None) if lost else (metric.get("score"), metric.get("success"))
            yield _row(short_hash(content_hash(said)), name, kind, cell, passed, criterion=name)


def _is_trace(body: Body) -> bool:
    """Whether a row is a trace of MLflow, alone or as a row of `search_traces`."""
    info = body.get("info")
    whole = isinstance(info, Mapping) and "trace_id" in info
    return whole or body.keys() >= {"trace_id", "trace", "assessments"}


def _mlflow(body: Body) -> Iterator[RatingRow]:
    """A judge's assessment that a person overrode is not valid any more, and still the judge's verdict."""
    if _is_trace(body):
        # A cell of a table holds the trace as JSON; its list of assessments may be in Python's own writing.
        info = body["info"] if "info" in body else json.loads(body["trace"])["info"]
        for each in info.get("assessments") or ():
            yield from _mlflow(each)
        return
    if "feedback" not in body:
        return
    source, feedback = body["source"], body["feedback"]
    kind = KINDS.get(normal(source["source_type"]), UNKNOWN)
    name = str(body["assessment_name"])
    cell = None if feedback.get("error") else feedback.get("value")
    yield _row(body["trace_id"], str(source.get("source_id") or name), kind, cell, criterion=name)


def _phoenix(body: Body) -> Iterator[RatingRow]:
    kind = KINDS.get(normal(body["annotator_kind"]), UNKNOWN)
    result, name = body.get("result") or {}, str(body["name"])
    rater = str(body.get("identifier") or name)
    cell = result.get("score") if result.get("score") is not None else result.get("label")
    yield _row(body["span_id"], rater, kind, cell, criterion=name)


def _langfuse(body: Body) -> Iterator[RatingRow]:
    """Judges of an SDK post as API: of those the caller says what they are.

    Exports of the page and of the API write `traceId`, exports to a bucket `trace_id`. Of a category the word
    counts: where nobody gave it a number, its value is 0.
    """

    def of(name: str) -> Any:
        cells = (body.get(each) for each in (name, re.sub("(?=[A-Z])", "_", name).lower()))
        return next((cell for cell in cells if not is_missing(cell)), None)

    kind = {"ANNOTATION": HUMAN, "EVAL": JUDGE}.get(str(body["source"]), UNKNOWN)
    name, form, word = str(body["name"]), of("dataType"), of("stringValue")
    if form in NO_VERDICTS:
        return
    author = of("authorUserId") or of("authorUserName") or name
    cell = word if word is not None and form == "CATEGORICAL" else of("value")
    item = [str(of(key)) for key in ("traceId", "observationId") if of(key)]
    item = item or [str(of("sessionId") or of("datasetRunId") or (body.get("subject") or {}).get("id"))]
    rater = str(author) if kind == HUMAN else name
    yield _row("/".join(item), rater, kind, word if cell is None else cell, criterion=name)


def _langsmith(body: Body) -> Iterator[RatingRow]:
    cell = body.get("score") if body.get("score") is not None else body.get("value")
    yield _row(body["run_id"], str(body["key"]), UNKNOWN, cell)


def _opentelemetry(body: Body) -> Iterator[RatingRow]:
    about = body["attributes"]
    name = str(about.get(f"{EVENT}name"))
    cell = about.get(f"{EVENT}score.value", about.get(f"{EVENT}score.label"))
    item = about.get("gen_ai.response.id") or body.get("trace_id") or body.get("traceId")
    yield _row(item, name, UNKNOWN, None if about.get("error.type") else cell)


TRACES_OF_LANGFUSE = ("id", "timestamp", "sessionId", "bookmarked", "public")
"""Of the keys that each row of its exported traces has."""


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
    Export(
        "MLflow",
        lambda b: _is_trace(b) or _has("assessment_name", "trace_id", "source")(b),
        _mlflow,
        columns=(("trace_id", "trace", "assessments"),),
    ),
    Export("Phoenix", _has("annotator_kind", "span_id", "name"), _phoenix),
    Export("LangSmith", _has("run_id", "key"), _langsmith),
    Export(
        "Langfuse",
        lambda b: b.get("source") in ("ANNOTATION", "EVAL", "API") and "name" in b,
        _langfuse,
        columns=(
            ("traceId", "source", "name", "value", "stringValue"),
            ("trace_id", "source", "name", "value", "string_value"),
        ),
    ),
    Export(
        "Langfuse",
        _has(*TRACES_OF_LANGFUSE),
        lambda _: iter(()),
        columns=(TRACES_OF_LANGFUSE,),
        lack="the table of traces of Langfuse holds means of scores and not who gave them, expected its "
        "table of scores; export that from the page Scores.",
    ),
    Export(
        "OpenTelemetry",
        lambda b: isinstance(b.get("attributes"), Mapping) and f"{EVENT}name" in b["attributes"],
        _opentelemetry,
    ),
)
