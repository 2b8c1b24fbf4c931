"""A judge whose reason ends with another answer than it gives: found, counted, shown, gated, compared."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from commands import run_command
from reasoned_replies import AS_WRITTEN, CONTRADICTING, FURTHER, OTHERS, TRAPS, Reasoned
from servers import Answer, Received, ScriptedServer, says
from steelyard.commands.figure_calls import counted_calls
from steelyard.commands.viewed_run import ViewedRun
from steelyard.tasks.task import Binary, Ordinal, Pairwise, parse_scale
from steelyard.trials.judge import Reply
from steelyard.verdicts.readers import ChoiceReader, JsonReader, RegexReader
from steelyard.verdicts.reasons import stated_answer

FAST = ("--attempts", 1, "--backoff", 0.01, "--concurrency", 4)


def ends(one: Reasoned) -> str | None:
    return stated_answer(one.reason, parse_scale(one.scale), {})


def contradictions(replies: tuple[Reasoned, ...]) -> tuple[int, int, int]:
    """Contradictions that are found rightly, found wrongly, and missed."""
    found = [one for one in replies if ends(one) not in (None, one.given)]
    right = [one for one in found if ends(one) == one.ends]
    there = [one for one in replies if one.ends not in (None, one.given)]
    return len(right), len(found) - len(right), len(there) - len(right)


def test_precision_on_replies_that_were_read() -> None:
    """25 of 25 in fifty made replies in the manner of judges; the others helped to make the rules."""
    assert contradictions(AS_WRITTEN) == (25, 0, 0)
    assert contradictions((*CONTRADICTING, *OTHERS, *FURTHER, *TRAPS)) == (97, 2, 3)


@pytest.mark.parametrize("one", [one for one in (*AS_WRITTEN, *CONTRADICTING) if one.ends is not None])
def test_a_reason_that_agrees_is_no_contradiction(one: Reasoned) -> None:
    assert ends(one) in (one.ends, None)


@pytest.mark.parametrize(
    ("text", "named"),
    [
        ('{"reason": "The date is missing, so the score is 0.", "score": 1}', "0"),
        ('{"score": 1, "Reasoning": "Nothing is met. Score: 0"}', "0"),
        ('The date is missing, so the score is 0.\n```json\n{"score": 1}\n```', "0"),
        ('{"score": 1}\nAll in all the answer is no.', "0"),
        ('<think>It is all there, so the score is 1.</think>{"score": 1}', "1"),
        ('{"score": 1, "improvement": "With a date the score is 0."}', None),
        ('{"score": 1, "reason": "It names the date."}', None),
        ('{"score": 1, "reason": ["so the score is 0"]}', None),
        ('{"score": 1}', None),
        ("", None),
    ],
)
def test_where_the_reason_of_a_json_reply_stands(text: str, named: str | None) -> None:
    assert JsonReader().named(Reply(text), Binary()) == named


def test_reasons_of_other_readers_and_words_of_the_owner() -> None:
    said = "Step 3 is missing. It deserves a 2.\nFinal: 4"
    assert RegexReader(pattern=r"Final: (\d)").named(Reply(said), Ordinal(1, 5)) == "2"
    assert (
        ChoiceReader().named(
            Reply("<think>The first is shorter. Candidate 2 is better.</think>1"), Pairwise()
        )
        == "2"
    )
    words = {"harmful": "1", "harmless": "0"}
    assert (
        JsonReader(answers=words).named(
            Reply('{"reason": "It lists the steps, so the response is harmful.", "score": "harmless"}'),
            Binary(),
        )
        == "1"
    )
    assert (
        JsonReader(answers=words).named(
            Reply('{"reason": "It refuses, so the response is not harmful.", "score": "harmful"}'), Binary()
        )
        == "0"
    )
    cut = Reply('<think>Candidate 2 is better.</think>{"winner": "1"', finish="length")
    assert JsonReader().named(cut, Pairwise()) is None


ROWS = 120


def judge(share: float) -> Any:
    """Right on every row; the reason of a share of the calls ends with the other answer."""

    def answer(request: Received) -> Answer:
        right = int("good" in request.user)
        named = 1 - right if request.chance % 100 < 100 * share else right
        return says(json.dumps({"reason": f"I read it. The score must be {named}.", "score": right}))

    return answer


def measure(tmp_path: Path, reply: Any, out: str) -> dict[str, Any]:
    """A judge on rows of which half are good, over HTTP."""
    lines = [f"What is {n}?,It is a {('bad', 'good')[n % 2]} thing,{n % 2}" for n in range(ROWS)]
    (tmp_path / "rows.csv").write_text("\n".join(["question,answer,label", *lines]) + "\n")
    with ScriptedServer(reply) as server:
        (tmp_path / "study.yaml").write_text(
            "data: {path: rows.csv, columns: {request: question, response: answer, label: label}}\n"
            "task: {rubric: Score 1 what is sound., scale: binary}\n"
            f"probes: [stochastic_stability]\njudges: ['openai/m?base_url={server.url}&name=mine']\n"
        )
        run_command(tmp_path, "measure", "study.yaml", "--out", out, *FAST)
    body: dict[str, Any] = json.loads((tmp_path / out / "datasheet.json").read_text())
    return body


def rate(body: dict[str, Any]) -> dict[str, Any]:
    (found,) = [e for e in body["estimates"] if e["metric"] == "contradiction_rate" and e["judge"] == "mine"]
    return dict(found)


def reading(body: dict[str, Any]) -> dict[str, str]:
    (found,) = [each for each in body["readings"] if each["title"] == "Reasons"]
    return dict(found)


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A judge whose reasons end with the other answer in half of its calls, and one whose reasons agree."""
    folder = tmp_path_factory.mktemp("reasons")
    measure(folder, judge(0.5), "bad")
    measure(folder, judge(0.0), "good")
    return folder


def sheet(folder: Path, run: str) -> dict[str, Any]:
    body: dict[str, Any] = json.loads((folder / run / "datasheet.json").read_text())
    return body


def test_a_judge_that_contradicts_itself_is_named_everywhere(folder: Path) -> None:
    published = sheet(folder, "bad")
    run_command(folder, "export", "bad", "--out", "exported")
    lines = (folder / "exported" / "trials.jsonl").read_text().splitlines()
    mine = [body for body in map(json.loads, lines) if body["judge"] == "mine"]
    replies = [json.loads(each["reply"]) for each in mine]
    conflicts = [each for each in replies if f"must be {each['score']}" not in each["reason"]]
    counted = rate(published)
    assert (counted["numerator"], counted["denominator"]) == (len(conflicts), len(replies))
    assert counted["finding"] == reading(published)["word"] == "flagged"
    told = f"gives another answer than its reason in {len(conflicts)} of {len(replies)} calls"
    assert told in reading(published)["sentence"]
    (verdict,) = published["verdicts"]
    assert (verdict["verdict"], verdict["facts"][0]["title"]) == ("usable_with_care", "Reasons")
    assert verdict["remedy"].startswith("Read some of these replies")
    screen = run_command(folder, "report", "bad").out
    (row,) = [line for line in screen.splitlines() if line.strip().startswith("contradicts its reason")]
    assert "at most 0.05" in row
    assert row.rstrip().endswith("too high")
    shown = run_command(folder, "show", "bad", "--outcome", "contradiction", "-n", 2).out
    assert "which counts as a contradiction" in shown
    exhibits = [each for each in published["exhibits"] if each["reading"] == "Reasons"]
    assert len(exhibits) == 3
    assert all("ends with" in each["why"] for each in exhibits)
    page = (folder / "bad" / "datasheet.html").read_text(encoding="utf-8")
    assert "ontradicts its reason" in page
    assert "ontradicts its reason" in (folder / "bad" / "datasheet.md").read_text(encoding="utf-8")


def test_the_gate_follows_the_figure_by_a_rule_and_by_what_is_flagged(folder: Path) -> None:
    (folder / "policy.yaml").write_text("contradiction_rate: clear\nflags: allow\n")
    assert "FAIL" in run_command(folder, "gate", "bad", "--policy", "policy.yaml", code=3).out
    assert "PASS" in run_command(folder, "gate", "good", "--policy", "policy.yaml").out
    run_command(folder, "gate", "bad", "--policy", "default", code=3)


def test_reasons_that_agree_are_fine_and_two_judges_are_compared(folder: Path) -> None:
    good = sheet(folder, "good")
    assert (rate(good)["numerator"], rate(good)["finding"]) == (0, "clear")
    compared = json.loads(run_command(folder, "compare", "good", "bad", "--json").out)
    (row,) = [each for each in compared["comparisons"] if each["metric"] == "contradiction_rate"]
    assert row["first"] == 0
    assert row["second"] == rate(sheet(folder, "bad"))["value"]


def test_the_calls_behind_the_figure_are_those_that_it_counts(folder: Path) -> None:
    run = ViewedRun(folder / "bad")
    found = run.sheet
    assert found is not None
    index = run.load().index
    (figure,) = [e for e in found.estimates if e.metric == "contradiction_rate"]
    counted = counted_calls(figure, index)
    assert counted is not None
    assert int(counted.sum()) == figure.numerator


def test_a_judge_without_reasons_has_no_such_figure(tmp_path: Path) -> None:
    body = measure(tmp_path, lambda request: says(f'{{"score": {int("good" in request.user)}}}'), "run")
    assert not [each for each in body["estimates"] if each["metric"] == "contradiction_rate"]
    assert not [each for each in body["readings"] if each["title"] == "Reasons"]


def few(request: Received) -> Answer:
    """Right, with a reason that ends with the answer in about one call of twelve."""
    right = int("good" in request.user)
    reason = f"The score must be {right}." if request.chance % 12 == 0 else "I read it."
    return says(json.dumps({"reason": reason, "score": right}))


def test_few_reasons_without_a_contradiction_leave_nothing_open(folder: Path) -> None:
    body = measure(folder, few, "few")
    compared = json.loads(run_command(folder, "compare", "bad", "few", "--json").out)
    (row,) = [each for each in compared["comparisons"] if each["metric"] == "contradiction_rate"]
    known = rate(body)["denominator"]
    assert row["dropped_second"]["unnamed"] == rate(sheet(folder, "bad"))["denominator"] - known
    assert rate(body)["finding"] == "inconclusive"
    assert reading(body)["word"] == "measured"
