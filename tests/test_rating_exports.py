"""Ratings from the exports of tools, each with its trap: an override, a position for a name, no kind."""

from __future__ import annotations

import csv
import json
import re
from pathlib import Path
from typing import Any

import pytest

from commands import Command
from steelyard.errors import DataError
from steelyard.importing.ratings import RatingColumns, RatingsTable
from steelyard.survey.rating_files import load_ratings


def read(folder: Path, body: Any, name: str = "export.json", **how: Any) -> RatingsTable:
    path = folder / name
    lines = "".join(json.dumps(row) + "\n" for row in body) if name.endswith("l") else json.dumps(body)
    path.write_text(lines, encoding="utf-8")
    return load_ratings(path, RatingColumns(**how))


def said(table: RatingsTable) -> list[tuple[str, str, str, float | None]]:
    return [(rating.item, rating.rater, rating.kind, rating.value) for rating in table.ratings]


def promptfoo_row(test: int, judge: bool, human: bool | None = None) -> dict[str, Any]:
    """As promptfoo writes it: a person's rating replaces `success`, `score` and `gradingResult.pass`."""
    parts: list[dict[str, Any]] = [
        {
            "pass": judge,
            "score": float(judge),
            "reason": "",
            "assertion": {"type": "llm-rubric", "value": "x"},
        },
        {"pass": True, "score": 1.0, "reason": "", "assertion": {"type": "contains", "value": "y"}},
    ]
    if human is not None:
        parts.append({"pass": human, "score": float(human), "assertion": {"type": "human"}})
    final = judge if human is None else human
    return {
        "testIdx": test,
        "promptIdx": 0,
        "provider": {"id": "openai:gpt-4o", "label": "ours"},
        "success": final,
        "score": float(final),
        "gradingResult": {"pass": final, "score": float(final), "componentResults": parts},
    }


def test_promptfoo_keeps_the_judge_apart_from_the_person_who_overrode_it(tmp_path: Path) -> None:
    rows = [
        promptfoo_row(0, judge=True, human=False),
        promptfoo_row(1, judge=False),
        promptfoo_row(1, judge=True),
    ]
    table = read(tmp_path, {"version": 3, "results": {"version": 3, "results": rows}})
    assert said(table) == [
        ("0/0", "llm-rubric", "judge", 1.0),
        ("0/0", "contains", "code", 1.0),
        ("0/0", "human", "human", 0.0),
        ("1/0", "llm-rubric", "judge", 0.0),
        ("1/0", "contains", "code", 1.0),
        ("1/0#1", "llm-rubric", "judge", 1.0),  # a repeat runs the system again: another item of the test
        ("1/0#1", "contains", "code", 1.0),
    ]
    assert {rating.system for rating in table.ratings} == {"ours"}
    assert [rating.task for rating in table.ratings][-1] == "1"


def test_deepeval_names_test_cases_by_position(tmp_path: Path) -> None:
    def case(name: str, question: str, **metric: Any) -> dict[str, Any]:
        data = {
            "name": "Correctness",
            "threshold": 0.5,
            "success": True,
            "evaluationModel": "gpt-4o",
            **metric,
        }
        return {"name": name, "input": question, "actualOutput": "so", "metricsData": [data]}

    one = read(
        tmp_path, {"testCases": [case("test_case_0", "a", score=0.8), case("test_case_1", "b", score=0.2)]}
    )
    other = read(tmp_path, {"testCases": [case("test_case_0", "b", score=0.3)]})
    assert [rating.value for rating in one.ratings] == [0.8, 0.2]
    assert one.ratings[1].item == other.ratings[0].item != one.ratings[0].item
    failed = read(tmp_path, {"testCases": [case("test_case_0", "a", score=0.0, error="timeout")]})
    assert failed.ratings[0].value is None  # an error is no grade
    code = read(tmp_path, {"testCases": [case("test_case_0", "a", score=1.0, evaluationModel=None)]})
    assert code.ratings[0].kind == "code"


def test_an_overridden_judge_of_mlflow_is_still_the_judge(tmp_path: Path) -> None:
    def assessment(source: str, who: str, value: Any, **more: Any) -> dict[str, Any]:
        return {
            "assessment_name": "correct",
            "trace_id": "tr-1",
            "source": {"source_type": source, "source_id": who},
            "feedback": {"value": value},
            **more,
        }

    rows = [
        assessment("LLM_JUDGE", "gpt-4o", True, valid=False),
        assessment("HUMAN", "ann", False, overrides="a-1", valid=True),
        {**assessment("HUMAN", "ann", None), "feedback": None, "expectation": {"value": 1}},
    ]
    del rows[2]["feedback"]
    assert said(read(tmp_path, rows)) == [("tr-1", "gpt-4o", "judge", 1.0), ("tr-1", "ann", "human", 0.0)]


def trace(number: int, right: bool, human: bool | None) -> dict[str, Any]:
    """As MLflow 3 writes a trace."""

    def said(name: str, kind: str, who: str, value: Any) -> dict[str, Any]:
        source = {"source_type": kind, "source_id": who}
        feedback = {"assessment_name": name, "feedback": {"value": value}, "rationale": "so", "valid": True}
        return {"assessment_id": f"a-{name}", "trace_id": f"tr-{number}", "source": source, **feedback}

    assessments = [said("correct", "LLM_JUDGE", "gpt-4o", right)]
    assessments += [] if human is None else [said("correct", "HUMAN", "ann", human)]
    wish = {**said("expected", "HUMAN", "ann", None), "expectation": {"value": "4"}}
    del wish["feedback"]
    info = {"trace_id": f"tr-{number}", "state": "OK", "assessments": [*assessments, wish]}
    return {"info": info, "data": {"spans": [{"name": "chat"}]}}


def frame_row(body: dict[str, Any]) -> dict[str, Any]:
    """A trace as a row of the frame that `search_traces` returns."""
    info = body["info"]
    row = {"trace_id": info["trace_id"], "trace": json.dumps(body), "request": {"q": "2 + 2"}}
    return {**row, "response": "4", "tags": {}, "assessments": info["assessments"]}


@pytest.mark.parametrize("form", ["cli.json", "list.json", "frame.json", "frame.jsonl", "frame.csv"])
def test_traces_of_mlflow_carry_assessments_in_every_form(
    command: Command, tmp_path: Path, form: str
) -> None:
    """`mlflow traces search`, a list of `Trace.to_dict`, and the frame of `search_traces` as it is saved."""
    traces = [trace(n, n % 3 > 0, n % 3 > 0 if n % 2 else None) for n in range(12)]
    rows = [frame_row(body) for body in traces]
    path = tmp_path / form
    if form == "frame.csv":  # pandas writes lists as Python does
        with path.open("w", newline="") as stream:
            writer = csv.DictWriter(stream, rows[0])
            writer.writeheader()
            writer.writerows({key: str(value) for key, value in row.items()} for row in rows)
    else:
        read(tmp_path, {"cli": {"traces": traces}, "list": traces}.get(path.stem, rows), form)
    table = load_ratings(path, RatingColumns())
    assert said(table)[:3] == [
        ("tr-0", "gpt-4o", "judge", 0.0),
        ("tr-1", "gpt-4o", "judge", 1.0),
        ("tr-1", "ann", "human", 1.0),
    ]
    done = command("import", form, "--out", "sheet")
    assert done.code == 0, done.err
    assert "12 recorded calls" in done.out


def test_a_damaged_trace_of_mlflow_is_told_with_its_row(tmp_path: Path) -> None:
    row = {**frame_row(trace(0, right=True, human=None)), "trace": "Trace(trace_id=tr-0)"}
    with pytest.raises(DataError, match=r"export.json, row 1: not in the form that MLflow writes"):
        read(tmp_path, [row])


LANGFUSE = (
    *("id", "traceId", "sessionId", "timestamp", "source", "name", "dataType", "value", "stringValue"),
    *("comment", "metadata", "observationId", "traceName", "authorUserName"),
)


def score(trace: str, source: str, form: str, value: Any, word: str | None, **more: Any) -> dict[str, Any]:
    """As the table of scores of Langfuse is exported."""
    given = {"traceId": trace, "source": source, "name": "quality", "dataType": form, "value": value}
    return dict.fromkeys(LANGFUSE) | given | {"stringValue": word} | more


SCORES = [
    score("t0", "EVAL", "BOOLEAN", 1, "True"),
    score("t0", "ANNOTATION", "BOOLEAN", 0, "False", authorUserName="Ann"),
    score("t1", "EVAL", "CATEGORICAL", 0, "good"),  # a word that nobody gave a number has value 0
    score("t1", "EVAL", "NUMERIC", 0.5, None, observationId="o1"),
    score("t1", "EVAL", "NUMERIC", 0.25, None, observationId="o2"),
    score("t1", "ANNOTATION", "TEXT", None, "a remark", authorUserName="Ann"),
    score("", "EVAL", "NUMERIC", 1, None, sessionId="s9"),
]


@pytest.mark.parametrize("form", ["scores.json", "scores.jsonl", "scores.csv", "bucket.csv", "bucket.jsonl"])
def test_scores_of_langfuse_are_read_in_every_form_of_its_exports(tmp_path: Path, form: str) -> None:
    """From the page with names as in `traceId`, and to a bucket as in `trace_id`."""
    rows = SCORES
    if form.startswith("bucket"):
        rows = [{re.sub("(?=[A-Z])", "_", key).lower(): row[key] for key in row} for row in SCORES]
    if form.endswith("csv"):
        with (tmp_path / form).open("w", newline="") as stream:
            writer = csv.DictWriter(stream, rows[0], quoting=csv.QUOTE_ALL)
            writer.writeheader()
            writer.writerows(rows)
        table = load_ratings(tmp_path / form, RatingColumns(values={"good": 1.0}))
    else:
        table = read(tmp_path, rows, form, values={"good": 1.0})
    assert said(table) == [
        ("t0", "quality", "judge", 1.0),
        ("t0", "Ann", "human", 0.0),
        ("t1", "quality", "judge", 1.0),
        ("t1/o1", "quality", "judge", 0.5),
        ("t1/o2", "quality", "judge", 0.25),
        ("s9", "quality", "judge", 1.0),
    ]
    assert {rating.run for rating in table.ratings} == {""}  # two observations of a trace are no repeat


@pytest.mark.parametrize("form", ["json", "jsonl", "csv"])
def test_traces_of_langfuse_are_refused_with_what_to_export(
    command: Command, tmp_path: Path, form: str
) -> None:
    """Its scores are means over whoever gave them, in lists without a source."""
    row = {"id": "t1", "timestamp": "2026-11-01T10:00:00.000Z", "name": "chat", "userId": None}
    row |= {
        "sessionId": None,
        "bookmarked": False,
        "public": False,
        "input": "q",
        "output": "a",
        "tone": [0.5],
    }
    path = tmp_path / f"traces.{form}"
    if form == "csv":
        with path.open("w", newline="") as stream:
            csv.writer(stream).writerows([row, [json.dumps(cell) for cell in row.values()]])
    else:
        path.write_text(json.dumps([row] if form == "json" else row))
    for line in (("import", path.name, "--out", "sheet"), ("estimate", path.name, "--design", "random")):
        done = command(*line)
        assert done.code == 2
        assert done.err.endswith(
            f"{path.name}: the table of traces of Langfuse holds means of scores and not who gave them, "
            "expected its table of scores; export that from the page Scores.\n"
        )


def test_phoenix_has_several_annotations_of_one_name(tmp_path: Path) -> None:
    def annotation(kind: str, score: float | None, **more: Any) -> dict[str, Any]:
        result = {"label": "pass", "score": score}
        return {"span_id": "s", "name": "quality", "annotator_kind": kind, "result": result, **more}

    rows = [annotation("LLM", 0.5), annotation("LLM", 0.7), annotation("HUMAN", None, identifier="ann")]
    table = read(tmp_path, {"data": rows})
    assert said(table) == [
        ("s", "quality", "judge", 0.5),
        ("s", "quality", "judge", 0.7),
        ("s", "ann", "human", 1.0),
    ]
    assert [rating.run for rating in table.ratings] == ["", "1", ""]


def test_langfuse_does_not_say_what_posts_over_its_api(tmp_path: Path) -> None:
    rows = [
        {"traceId": "t", "name": "quality", "value": 1, "source": "ANNOTATION", "authorUserId": "ann"},
        {"traceId": "t", "name": "quality", "value": 0, "source": "EVAL"},
        {"traceId": "t", "name": "mine", "value": 0.5, "source": "API"},
    ]
    table = read(tmp_path, {"data": rows})
    assert said(table) == [("t", "ann", "human", 1.0), ("t", "quality", "judge", 0.0)]
    assert table.remarks == ("1 rating 'mine' left out: neither --judge nor --people names it.",)
    assert said(read(tmp_path, rows[2:], judges=("mine",))) == [("t", "mine", "judge", 0.5)]


def test_langsmith_and_opentelemetry_need_the_names(tmp_path: Path) -> None:
    feedback = [
        {"run_id": "r", "key": "auto", "score": 1, "value": None, "feedback_source": {"type": "model"}},
        {"run_id": "r", "key": "thumbs", "score": 0, "value": None, "feedback_source": {"type": "app"}},
    ]
    with pytest.raises(
        DataError, match="LangSmith does not say whether judges, people or code gave the scores 'auto'"
    ):
        read(tmp_path, feedback, "f.jsonl")
    told = read(tmp_path, feedback, "f.jsonl", judges=("auto",), people=("thumbs",))
    assert said(told) == [("r", "auto", "judge", 1.0), ("r", "thumbs", "human", 0.0)]
    about = {
        "gen_ai.evaluation.name": "auto",
        "gen_ai.evaluation.score.value": 0.5,
        "gen_ai.response.id": "x",
    }
    events = [
        {"name": "gen_ai.evaluation.result", "attributes": about},
        {"name": "gen_ai.evaluation.result", "attributes": {**about, "error.type": "timeout"}},
    ]
    assert said(read(tmp_path, events, "o.jsonl", judges=("auto",))) == [
        ("x", "auto", "judge", 0.5),
        ("x", "auto", "judge", None),
    ]


def test_a_broken_export_is_one_sentence(tmp_path: Path) -> None:
    with pytest.raises(DataError, match="row 1: not in the form that DeepEval writes"):
        read(tmp_path, {"testCases": [{"metricsData": [{"score": 1}]}]})


def test_other_json_is_a_table(tmp_path: Path) -> None:
    table = read(tmp_path, [{"item": "1", "rater": "j", "kind": "judge", "value": 1}])
    assert said(table) == [("1", "j", "judge", 1.0)]


def test_estimate_from_a_promptfoo_file(command: Command, tmp_path: Path) -> None:
    rows = [promptfoo_row(n, judge=n % 4 > 0, human=n % 2 > 0 if n < 30 else None) for n in range(80)]
    (tmp_path / "p.json").write_text(json.dumps({"results": {"results": rows}}))
    done = command("estimate", "p.json", "--design", "random", "--json")
    assert done.code == 0, done.err
    body = json.loads(done.out)
    assert (body["judge"], body["labels"], body["items"]) == ("llm-rubric", 30, 80)
    assert body["judge_only"]["value"] == pytest.approx(0.75)  # not 0.5, as people said of theirs


def test_import_reads_the_judges_of_an_export_and_people_as_references(
    command: Command, tmp_path: Path
) -> None:
    rows = [promptfoo_row(n, judge=n % 4 > 0, human=n % 2 > 0 if n < 30 else None) for n in range(80)]
    (tmp_path / "p.json").write_text(json.dumps({"results": {"results": rows}}))
    done = command("import", "p.json", "--out", "p", "--json")
    assert done.code == 0, done.err
    accuracy = [r for r in done.rows if r["metric"] == "accuracy" and "stratum" not in r["group"]]
    # Of 30 labelled rows those with n % 4 in (0, 1, 3) agree: 8 + 8 + 7.
    assert {(r["judge"], r["numerator"], r["denominator"]) for r in accuracy} == {("llm-rubric", 23, 30)}
    calls = [json.loads(line) for line in (tmp_path / "p" / "observations.jsonl").read_text().splitlines()]
    assert len(calls) == 80
    absent = command("import", "p.json", "--judge", "nobody", "--out", "q")
    assert absent.code == 2
    assert "p.json: no judge 'nobody' found (judges: llm-rubric)" in absent.err


def test_import_reads_pass_and_fail_by_the_threshold_of_deepeval(command: Command, tmp_path: Path) -> None:
    def metric(score: float, **more: Any) -> dict[str, Any]:
        return {"name": "Right", "score": score, "success": score > 0.5, "evaluationModel": "gpt-4o", **more}

    metrics = [metric(0.8), metric(0.2), metric(0.0, error="timeout")]
    cases = [{"input": str(n), "actualOutput": "so", "metricsData": [m]} for n, m in enumerate(metrics)]
    (tmp_path / "d.json").write_text(json.dumps({"testCases": cases}))
    done = command("import", "d.json", "--out", "d")
    assert done.code == 0, done.err
    calls = [json.loads(line) for line in (tmp_path / "d" / "observations.jsonl").read_text().splitlines()]
    assert sorted((c["judge"], str(c["score"]), c.get("outcome")) for c in calls) == [
        ("Right", "0", None),
        ("Right", "1", None),
        ("Right", "None", "unreadable"),  # an error is no grade
    ]


def test_import_of_an_export_with_fractions_names_the_way_out(command: Command, tmp_path: Path) -> None:
    rows = [{"traceId": "t", "name": "quality", "value": 0.5, "source": "EVAL"}]
    (tmp_path / "f.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
    done = command("import", "f.jsonl", "--out", "f")
    assert done.code == 2
    assert "item 't' of quality: found 0.5, expected a whole number from 0 on" in done.err


def test_two_criteria_of_one_judge_are_two_judges(command: Command, tmp_path: Path) -> None:
    rows = [
        {
            "assessment_name": name,
            "trace_id": f"tr-{n}",
            "source": {"source_type": kind, "source_id": who},
            "feedback": {"value": value},
        }
        for n in range(4)
        for name, kind, who, value in (
            ("correct", "LLM_JUDGE", "gpt", True),
            ("polite", "LLM_JUDGE", "gpt", n % 2 == 0),
            ("correct", "HUMAN", "ann", n < 3),
            ("correct", "HUMAN", "bob", n < 2),
        )
    ]
    (tmp_path / "m.json").write_text(json.dumps([*rows, rows[0]]))  # a repeat has the same reference
    done = command("import", "m.json", "--out", "m")
    assert done.code == 0, done.err
    calls = [json.loads(line) for line in (tmp_path / "m" / "observations.jsonl").read_text().splitlines()]
    told = {(c["judge"], c["item"]): c.get("expected") for c in calls}
    # People differ on tr-2, so that it has no reference; nobody said anything of politeness.
    expected = {("gpt, correct", f"tr-{n}, correct"): e for n, e in enumerate([1, 1, None, 0])}
    assert told == expected | {("gpt, polite", f"tr-{n}, polite"): None for n in range(4)}
    assert (len(calls), {c["task"] for c in calls}) == (9, {"tr-0", "tr-1", "tr-2", "tr-3"})


def test_of_a_persons_ratings_the_last_counts_and_a_judge_may_have_the_same_name(tmp_path: Path) -> None:
    def annotation(kind: str, score: float) -> dict[str, Any]:
        return {"span_id": "s", "name": "quality", "annotator_kind": kind, "result": {"score": score}}

    table = read(tmp_path, [annotation("LLM", 1), annotation("HUMAN", 1), annotation("HUMAN", 0)])
    assert said(table) == [("s", "quality", "judge", 1.0), ("s", "quality", "human", 0.0)]
