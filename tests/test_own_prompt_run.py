"""From a prompt in the user's braces and a table of answers to a decision: real calls on loopback."""

from __future__ import annotations

import csv
import json
import re
from pathlib import Path
from typing import Any

import pytest

from commands import Command
from servers import Answer, Received, ScriptedServer, says

PROMPT = "You grade answers on {topic}.\nQuestion: {question}\nAnswer: {answer}\nReply PASS or FAIL.\n"
COLUMNS = "id=id,request=question,response=answer,label=human_verdict"
FAST = ("--attempts", 2, "--backoff", 0.01)


def write_rows(path: Path, topic: str = "capitals", count: int = 12) -> None:
    with path.open("w", newline="", encoding="utf-8") as file:
        table = csv.writer(file)
        table.writerow(["id", "question", "answer", "human_verdict", "topic"])
        for number in range(count):
            good = number % 2
            answer = f"City {number} is the capital." if good else f"I do not know number {number}."
            verdict = "good" if good else "bad"
            table.writerow([f"r{number}", f"Capital of land {number}?", answer, verdict, topic])


def grade(request: Received) -> Answer:
    return says("FAIL" if "do not know" in request.user else "PASS")


@pytest.fixture
def files(tmp_path: Path) -> Path:
    write_rows(tmp_path / "answers.csv")
    (tmp_path / "judge.md").write_text(PROMPT)
    return tmp_path


def options(server: ScriptedServer, *more: object) -> tuple[Any, ...]:
    data = ("--data", "answers.csv", "--columns", COLUMNS, "--labels", "good=1,bad=0", "--scale", "binary")
    return ("-j", f"openai/m?base_url={server.url}", "--prompt", "judge.md", *data, *FAST, *more)


def test_a_prompt_with_question_and_answer_measures_the_rows(command: Command, files: Path) -> None:
    """One command: no reader, no map of answers, a column that is no part of an item."""
    with ScriptedServer(grade) as server:
        done = command("measure", *options(server, "-p", "stochastic_stability", "--out", "run"))
        sent = [request.user for request in server.requests]
    assert done.code == 0, done.err
    assert any(
        "answers on capitals.\nQuestion: Capital of land 3?\nAnswer: City 3 is the capital.\n" in one
        for one in sent
    )
    assert not any("{" in one for one in sent)
    sheet = json.loads((files / "run" / "datasheet.json").read_text())
    accuracy = next(e for e in sheet["estimates"] if e["metric"] == "accuracy" and e["judge"] == "openai/m")
    assert accuracy["value"] == 1.0
    assert sheet["verdicts"][0]["verdict"]


def test_a_column_that_a_prompt_shows_is_part_of_what_the_judge_sees(command: Command, files: Path) -> None:
    """No reply on other cells is taken for one on these."""
    with ScriptedServer(grade) as server:
        first = command("measure", *options(server, "-p", "stochastic_stability"))
        paid = len(server.requests)
        again = command("measure", *options(server, "-p", "stochastic_stability"))
        assert len(server.requests) == paid
        write_rows(files / "answers.csv", topic="rivers")
        other = command("measure", *options(server, "-p", "stochastic_stability"))
        assert len(server.requests) == 2 * paid
        assert all("answers on rivers" in request.user for request in server.requests[paid:])
    assert first.code == again.code == other.code == 0, other.err
    sets = [
        json.loads(path.read_text())["study"]
        for path in sorted(files.glob("steelyard-runs/*/datasheet.json"))
    ]
    assert len({one["stimulus_set"] for one in sets}) == 2


def test_messages_of_a_file_are_sent_by_their_roles(command: Command, files: Path) -> None:
    (files / "chat.yaml").write_text(
        "- role: system\n  content: You are strict about {topic}.\n"
        "- role: user\n  content: |\n    Q: {question}\n    A: {answer}\n    Reply PASS or FAIL.\n"
    )
    with ScriptedServer(grade) as server:
        given = options(server, "-p", "stochastic_stability", "--out", "run")
        done = command("measure", *(("chat.yaml" if one == "judge.md" else one) for one in given))
        roles = [[(m["role"], m["content"]) for m in r.body["messages"]] for r in server.requests]
    assert done.code == 0, done.err
    assert all([role for role, _ in sent] == ["system", "user"] for sent in roles)
    assert all(sent[0][1] == "You are strict about capitals." for sent in roles)
    assert all(sent[1][1].startswith("Q: Capital of land") for sent in roles)


def test_a_prompt_that_shows_what_no_row_has_is_refused(command: Command, files: Path) -> None:
    (files / "judge.md").write_text(PROMPT + "{context}")
    with ScriptedServer(grade) as server:
        done = command("plan", *options(server))
        assert not server.requests
    assert done.code == 2
    assert re.search(r"prompt shows \{\{ context \}\}, .* no row ", done.err)


def test_a_column_is_refused_on_texts_that_are_no_rows(command: Command, files: Path) -> None:
    (files / "pairs.jsonl").write_text(
        "\n".join(json.dumps({"q": f"q{n}", "a": "x", "b": "y", "topic": "t"}) for n in range(3))
    )
    (files / "pair.md").write_text("{topic} {question} {answer_a} {answer_b}")
    with ScriptedServer(grade) as server:
        judge = ("-j", f"openai/m?base_url={server.url}", "--prompt", "pair.md", "--scale", "pairwise")
        data = ("--data", "pairs.jsonl", "--columns", "request=q,response_1=a,response_2=b")
        done = command("plan", *judge, *data, "-p", "vacuum")
    assert done.code == 2
    assert "shows column 'topic'" in done.err


FORMS = {
    "choice": ("PASS", "FAIL"),
    "json (key: grade)": ('{"why": "x", "grade": "pass"}', '{"why": "x", "grade": "fail"}'),
    "json (key: score)": ('It holds. {"score": 1}', 'It fails. {"score": 0}'),
    "regex": ("It names a city.\nVerdict: pass", "It does not.\nVerdict: fail"),
}


@pytest.mark.parametrize("form", FORMS)
def test_the_first_replies_tell_how_they_are_read(command: Command, files: Path, form: str) -> None:
    """Nothing is asked twice: calls on the bill are calls of the server; a rerun goes on with the reader."""
    good, bad = FORMS[form]
    with ScriptedServer(lambda r: says(bad if "do not know" in r.user else good)) as server:
        given = options(server, "-p", "stochastic_stability", "--out", "run")
        done = command("measure", *given)
        paid = len(server.requests)
        planned = command("plan", *given)
        again = command("measure", *given)
        assert len(server.requests) == paid == 60
        assert not any("response_format" in request.body for request in server.requests)
    assert done.code == planned.code == again.code == 0, done.err
    assert re.search(f"judge openai/m: no reader .*; {re.escape(form)}", done.err)
    assert re.search(r"reads 60 of .*\b60 replies", done.err)
    sheet = json.loads((files / "run" / "datasheet.json").read_text())
    assert sheet["run"]["calls"] == paid
    accuracy = next(e for e in sheet["estimates"] if e["metric"] == "accuracy" and e["judge"] == "openai/m")
    assert accuracy["value"] == 1.0
    assert "60 calls in" not in planned.out


def test_replies_that_no_reader_reads_end_the_run_after_eight(command: Command, files: Path) -> None:
    with ScriptedServer(lambda _: says("Well, it depends on many things.")) as server:
        done = command("measure", *options(server, "-p", "stochastic_stability", "--out", "run"))
        assert len(server.requests) == 8
    assert done.code == 1
    assert re.search(r"8 replies .*protocol base; 0 could", done.err)


def test_a_stated_reader_is_not_changed(command: Command, files: Path) -> None:
    with ScriptedServer(grade) as server:
        judge = f"openai/m?base_url={server.url}&reader=json"
        done = command("measure", *options(server, "-p", "stochastic_stability", "--out", "run"), "-j", judge)
    assert re.search(r"reader: choice, .*\b8 of 8\b", done.err)


def test_doctor_reads_the_reply_as_a_run_would(command: Command, files: Path) -> None:
    with ScriptedServer(lambda _: says('{"grade": "pass"}')) as server:
        done = command("doctor", *options(server, "-p", "stochastic_stability"))
    assert done.code == 0, done.err
    assert re.search(r"read as  1, .*\bjson \(key: grade\), .* stated", done.out)


def first_lines(folder: Path) -> tuple[str, str]:
    return (folder / "datasheet.md").read_text(), (folder / "datasheet.html").read_text()


def test_the_first_screen_says_whose_prompt_and_texts_were_measured(command: Command, files: Path) -> None:
    with ScriptedServer(grade) as server:
        own = command("measure", *options(server, "-p", "stochastic_stability", "--out", "own"))
        data = list(options(server, "-p", "stochastic_stability", "--out", "data"))
        del data[2:4]
        theirs = command("measure", *data, "--no-preflight", "--rubric", "judge.md")
    built_in = command("measure", "-j", "planted/first", "-p", "vacuum", "--out", "planted")
    again = command("report", "own")
    said = "Asked with judge.md on 12 rows of answers.csv."
    assert said in own.out
    assert said in again.out
    assert all(said in text for text in first_lines(files / "own"))
    theirs_told, built_in_told = (" ".join(done.out.split()) for done in (theirs, built_in))
    assert re.search(r"Asked with .* own prompt .*\b12 rows of answers\.csv; .*--prompt FILE\.", theirs_told)
    assert re.search(r"Asked with no prompt .*built-in texts; .*--data FILE\.", built_in_told)
    sheet = json.loads((files / "own" / "datasheet.json").read_text())
    assert sheet["run"]["materials"]["prompts"] == ["judge.md"]


def test_an_import_says_that_no_judge_was_asked(command: Command, tmp_path: Path) -> None:
    call = {"judge": "j", "probe": "vacuum", "protocol": "base", "task": "t", "pair": "p", "kind": "empty"}
    rows = [{**call, "delta": 0, "better": None, "first": first, "answer": "1"} for first in "uv"]
    (tmp_path / "calls.jsonl").write_text("\n".join(map(json.dumps, rows)))
    done = command("import", "calls.jsonl", "--out", "sheet")
    assert "no judge was" in done.out
