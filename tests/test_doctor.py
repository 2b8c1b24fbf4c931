"""`doctor` tries each judge as it will be measured, and says what to change."""

from __future__ import annotations

import json
import math
import re
from collections import Counter
from pathlib import Path

import pytest

from commands import Command
from servers import Answer, Received, ScriptedServer, fails, says, wins


@pytest.fixture(autouse=True)
def no_weights(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The hash of the embedded judge's weights is another test's concern."""
    monkeypatch.setenv("STEELYARD_CACHE", str(tmp_path / "cache"))


STRICT = "The criterion for a tie is strict"


def test_every_judge_of_a_study_gets_one_call_under_each_protocol(command: Command, tmp_path: Path) -> None:
    def script(request: Received) -> Answer:
        if request.body["model"] == "own":
            return says("**B**")
        return says("the second") if STRICT in request.user else wins("1")

    with ScriptedServer(script) as server:
        own = "{{ request }} A: {{ first }} B: {{ second }}. A or B?"
        judges = [
            {"name": "a judge with a name of many words", "model": f"openai/plain?base_url={server.url}"},
            {
                "name": "own",
                "model": f"openai/own?base_url={server.url}&input_price=1000&output_price=2000",
                "prompt": own,
                "reader": "choice",
                "answers": {"A": 1, "B": 2},
            },
        ]
        (tmp_path / "study.yaml").write_text(
            json.dumps({"judges": judges, "probes": ["vacuum", "criterion"]})
        )
        done = command("doctor", "study.yaml")
        asked = Counter((r.body["model"], STRICT in r.user) for r in server.requests)
    assert asked == {("plain", False): 1, ("plain", True): 1, ("own", False): 1}
    lines = done.out.splitlines()
    states = [line.rpartition("protocol ") for line in lines if line.startswith("judge ")]
    assert [(said[len("judge ") : -len(": ")], state) for said, _, state in states] == [
        (judges[0]["name"], "base: ok"),
        (judges[0]["name"], "strict: broken"),
        ("own", "base: ok"),
    ]
    assert "  replied  '**B**'" in lines
    assert [" ".join(line.split()[2:]) for line in lines if line.startswith("  read as")][1:] == [
        "unreadable (no answer), by reader json",
        "2, by reader choice",
    ]
    assert any(line.startswith("  cost     $0.110000, ") for line in lines)
    assert "Unreadable(" not in done.out
    assert done.code == 1
    faults = [line for line in done.err.splitlines() if "steelyard: calls of " not in line]
    assert len(faults) == 1
    assert faults[0].startswith(f"steelyard: judge {judges[0]['name']}: protocol strict: ")


@pytest.mark.parametrize(
    ("answer", "code", "said"),
    [
        (says("1"), 1, "try reader: choice, which reads 1 of 1"),
        (fails(401, "no such key"), 2, "no such key"),
        (fails(500, "boom"), 1, "boom"),
        (wins("1"), 0, ""),
    ],
)
def test_a_judge_of_the_command_line(command: Command, answer: Answer, code: int, said: str) -> None:
    with ScriptedServer(lambda _: answer) as server:
        done = command("doctor", "-j", f"openai/m?base_url={server.url}", "-j", "planted/first")
        assert len(server.requests) == 1
    assert done.code == code, done.err
    assert said in done.err
    assert done.out.index("openai/m: protocol base:") < done.out.index("what was found")
    assert "planted/first: protocol base: ok" in done.out


def test_judges_of_single_texts_and_judges_that_cannot_be_made(command: Command) -> None:
    done = command("doctor", "-j", "planted/rater", "-j", "nobody/x", "-j", "planted/tie")
    assert "planted/rater: protocol base: ok" in done.out
    assert "judge nobody/x: broken" in done.out
    assert "planted/tie: protocol base: ok" in done.out
    assert done.code == 2


def test_what_measure_takes_is_tried_as_it_will_be_measured(command: Command, tmp_path: Path) -> None:
    (tmp_path / "items.csv").write_text("q,a,grade\nWhy?,Because.,good\nHow?,So.,bad\n")
    data = ("--data", "items.csv", "--columns", "request=q,response=a,label=grade", "--scale", "binary")
    words = ("--labels", "good=1,bad=0", "--answers", "sound=1,unsound=0")
    (tmp_path / "prompt.md").write_text("{{ request }} {{ response }}\nSound or unsound?\n")
    with ScriptedServer(lambda _: says("Unsound.")) as server:
        judge = ("-j", f"openai/m?base_url={server.url}&reader=choice", "--prompt", "prompt.md")
        done = command("doctor", *judge, *data, *words)
        assert len(server.requests) == 1
        assert server.requests[0].user.endswith("Sound or unsound?")
    assert done.code == 0, done.err
    assert re.search(r"^  read as  0, .*\bchoice$", done.out, re.M)


def test_a_study_in_json_is_a_study(command: Command, tmp_path: Path) -> None:
    (tmp_path / "study.json").write_text(json.dumps({"judges": ["planted/tie"], "probes": ["vacuum"]}))
    done = command("doctor", "study.json")
    assert done.code == 0, done.err
    assert "planted/tie" in done.out


# The judge templates of the Judge Reliability Harness, in their own form

SINGLE = """
# Evaluation

## Instruction
{instruction}

## Rubric
{rubric}

Give an answer 'True' or 'False' and your reasons.

<request>{request}</request>
<response>{response}</response>

Respond in JSON format **only**. {"score": "<your-score>", "reasoning": "[...]"}"""
LETTER = """{instruction} {rubric} <request>{request}</request> <response>{response}</response>
The "score" field must be exactly "Y" or "N".
{{
  "score": "Y",
  "reasoning": "<brief>"
}}
"""
GRADE = SINGLE.replace(
    "an answer 'True' or 'False'", "an integer score from {lowest_score} to {highest_score}"
)


@pytest.mark.parametrize(
    ("template", "scale", "reply", "read"),
    [
        (SINGLE, "binary", '{"score": "True", "reasoning": "It does."}', "1"),
        (SINGLE, "binary", '{"score": False, "reasoning": "It does not."}', "0"),
        (LETTER, "binary", '{\n  "score": "N",\n  "reasoning": "No."\n}', "0"),
        (GRADE, "1-6", '{"score": "4", "reasoning": "Good."}', "4"),
    ],
)
def test_templates_of_the_harness_work_as_they_stand(
    command: Command, tmp_path: Path, template: str, scale: str, reply: str, read: str
) -> None:
    (tmp_path / "single.md").write_text(template)
    with ScriptedServer(lambda _: says(reply)) as server:
        judge = ("-j", f"openai/m?base_url={server.url}", "--prompt", "single.md", "--scale", scale)
        done = command("doctor", *judge)
        user = server.requests[0].user
    assert done.code == 0, done.err
    assert re.search(rf"^  read as  {re.escape(read)}, .*\bjson\b", done.out, re.M)
    assert not any(f"{{{name}}}" in user for name in ("instruction", "rubric", "request", "response"))
    assert "{{" not in user
    assert '"score": ' in user
    assert "1 to 6" in user or scale == "binary"


def chatty(words: str, **probabilities: float) -> Answer:
    """A reply in words with the probabilities of its first token."""
    top = [{"token": token, "logprob": math.log(share)} for token, share in probabilities.items()]
    content = [{**max(top, key=lambda entry: entry["logprob"]), "top_logprobs": top}]
    choice = {"message": {"content": words}, "logprobs": {"content": content}, "finish_reason": "stop"}
    return says(words, choices=[choice])


def test_log_probabilities_below_one_half_are_no_verdict(command: Command) -> None:
    """The judge says 2; of the answers only 1 is among the alternatives of its first token."""
    answer = chatty("The better answer is candidate 2.", **{"The": 0.6, "1": 0.07})
    with ScriptedServer(lambda _: answer) as server:
        judge = f"openai/m?base_url={server.url}&reader=logprob"
        done = command("doctor", "-j", judge)
        stopped = command("measure", "-j", judge, "-p", "vacuum", "--out", "run")
        asked = len(server.requests)
    assert (done.code, stopped.code) == (1, 1)
    assert re.search(r"^  read as  unreadable \(answers improbable\), .*\blogprob$", done.out, re.M)
    for err in (done.err, stopped.err):
        assert re.search(r"\b0\.07 of .*\b0\.50\b", err)
    assert "after 8 replies" in stopped.err
    assert "(answers improbable 8)" in stopped.err
    assert asked == 1 + 8
