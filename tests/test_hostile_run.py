"""Whole runs against a server that misbehaves: nothing becomes a score, everything is counted."""

from __future__ import annotations

import json
import threading
from dataclasses import replace
from itertools import cycle
from pathlib import Path
from typing import Any

import pytest

from servers import Answer, Received, ScriptedServer, cut, drop, fails, hang, says, sends, wins
from steelyard.commands.measure import measure
from steelyard.run_folder.run_folder import RunFolder
from steelyard.runner.limits import RunLimits
from steelyard.runner.run_messages import AGAIN
from steelyard.study.study_file import StudyConfig, build_study

FAST = ("--attempts", 2, "--backoff", 0.01, "--timeout", 60, "--concurrency", 4)
CALLS = 12
"""Calls of the quick vacuum probe under the base protocol."""


def judge(server: ScriptedServer) -> str:
    return f"openai/scripted?base_url={server.url}"


def sheet(folder: Path) -> dict[str, Any]:
    body: dict[str, Any] = json.loads((folder / "datasheet.json").read_text())
    return body


def figure(folder: Path, metric: str, name: str = "openai/scripted") -> dict[str, Any]:
    rows = [
        row
        for row in sheet(folder)["estimates"]
        if row["judge"] == name and row["metric"] == metric and row["group"] == {"protocol": "base"}
    ]
    assert len(rows) == 1
    return rows[0]


def first_turns(count: int, bad: Answer, good: Answer) -> Any:
    """Answer `bad` to the first requests, `good` to the rest, whatever the order of threads."""
    lock, seen = threading.Lock(), [0]

    def script(request: Received) -> Answer:
        del request
        with lock:
            seen[0] += 1
            return bad if seen[0] <= count else good

    return script


UNREADABLE = {
    "prose": says("I like the second one."),
    "refusal": says(None, finish="stop"),
    "truncated": says('{"winner": "1', finish="length"),
    "empty": says(""),
    "filtered": says("", finish="content_filter"),
    "off scale": says('{"winner": "3"}'),
    "ambiguous": says('{"winner": "1"} {"winner": "2"}'),
}


def test_a_judge_that_is_never_readable_has_no_figure(steelyard, tmp_path: Path) -> None:
    """Each kind of answer in turn: one that is read lets the judge have a figure."""
    turn = cycle(UNREADABLE.values())
    with ScriptedServer(lambda request: next(turn)) as server:
        done = steelyard(
            "measure", "-j", judge(server), "-p", "vacuum", "--out", "run", "--no-preflight",
            *FAST, "--concurrency", 1,
        )  # fmt: skip
        assert len(server.requests) == CALLS > len(UNREADABLE)
    assert done.returncode == 1
    assert "no readable verdict in 12 calls" in done.stderr
    dark = figure(tmp_path / "run", "dark_current")
    assert dark["value"] is None
    assert dark["note"]
    assert dark["excluded"] == {"unreadable": CALLS, "failed": 0}
    assert figure(tmp_path / "run", "unreadable_rate")["numerator"] == CALLS


FAILING = {
    "429": (fails(429, "slow down", headers={"Retry-After": "0"}), "rate_limited"),
    "500": (fails(500, "boom"), "server_error"),
    "garbage": (sends("<html>not json</html>"), "garbled_reply"),
    "empty body": (sends(b""), "garbled_reply"),
    "truncated body": (cut(wins("1"), 40), "garbled_reply"),
    "dropped": (drop(), ""),
    "hang": (hang(), "timeout"),
}


@pytest.mark.parametrize("name", FAILING)
def test_a_server_that_always_fails_gives_no_score(steelyard, tmp_path: Path, name: str) -> None:
    answer, reason = FAILING[name]
    patience = ("--timeout", 1) if answer.hang else ()
    with ScriptedServer(lambda request: answer) as server:
        done = steelyard("measure", "-j", judge(server), "-p", "vacuum", "--out", "run", *FAST, *patience)
    assert done.returncode == 1, done.stderr
    assert AGAIN in done.stderr
    assert reason in done.stderr
    assert not done.stdout
    assert not list((tmp_path / "run").glob("datasheet.*"))


def test_many_failures_end_no_run_in_which_every_trial_was_asked(steelyard, tmp_path: Path) -> None:
    """Every second call ends in a 400; a limit on failures is a matter for the reading, and for a gate."""
    lock, seen = threading.Lock(), [0]

    def script(request: Received) -> Answer:
        del request
        with lock:
            seen[0] += 1
            return fails(400, "no") if seen[0] % 2 else wins("tie")

    with ScriptedServer(script) as server:
        done = steelyard("measure", "-j", judge(server), "-p", "vacuum", "--out", "run", *FAST)
    assert done.returncode == 0, done.stderr
    assert "6 of 12 trials failed (bad_request 6); none of them is a score" in done.stderr
    dark = figure(tmp_path / "run", "dark_current")
    assert (dark["numerator"], dark["denominator"]) == (0, 6)
    assert dark["bounds"] == [0.0, 0.5]
    body = sheet(tmp_path / "run")
    assert body["run"]["partial"] is False
    failures = next(reading for reading in body["readings"] if reading["title"] == "Failures")
    assert failures["word"] == "flagged"
    assert failures["sentence"].startswith("no reply at all in 6 of 12 calls")
    (tmp_path / "policy.yaml").write_text("failed_rate: {max: 0.1}\n")
    assert steelyard("gate", "run", "--policy", "policy.yaml").returncode == 3


def test_failed_trials_are_tried_again_and_unreadable_ones_are_not(steelyard, tmp_path: Path) -> None:
    script = first_turns(3, fails(400, "no"), says("mumble"))
    with ScriptedServer(script) as server:
        steelyard("measure", "-j", judge(server), "-p", "vacuum", "--out", "run", "--no-preflight", *FAST)
        assert len(server.requests) == CALLS
        steelyard("measure", "-j", judge(server), "-p", "vacuum", "--out", "run", "--no-preflight", *FAST)
        assert len(server.requests) == CALLS + 3


def test_a_storm_of_429_passes_and_is_paid_once(steelyard, tmp_path: Path) -> None:
    script = first_turns(9, fails(429, "slow down"), wins("tie"))
    with ScriptedServer(script) as server:
        done = steelyard(
            "measure", "-j", judge(server), "-p", "vacuum", "--out", "run",
            "--attempts", 20, "--backoff", 0.01, "--concurrency", 4,
        )  # fmt: skip
        assert len(server.requests) == CALLS + 9
    assert done.returncode == 0, done.stderr
    assert figure(tmp_path / "run", "dark_current")["denominator"] == CALLS


@pytest.mark.parametrize("status", [401, 403, 404])
def test_a_rejected_key_or_model_stops_at_once_with_exit_2(steelyard, tmp_path: Path, status: int) -> None:
    with ScriptedServer(lambda request: fails(status, "no such thing")) as server:
        done = steelyard(
            "measure",
            "-j",
            judge(server),
            "-p",
            "vacuum",
            "--out",
            "run",
            *FAST,
            OPENAI_API_KEY="sk-very-secret",
        )
        assert len(server.requests) <= 4
    assert done.returncode == 2
    assert "sk-very-secret" not in done.stdout + done.stderr
    assert len(done.stderr.strip().splitlines()) == 1


def test_an_unreachable_server_is_exit_1(steelyard, tmp_path: Path) -> None:
    done = steelyard(
        "measure", "-j", "openai/x?base_url=http://127.0.0.1:9/v1", "-p", "vacuum", "--out", "run", *FAST
    )
    assert done.returncode == 1
    assert "127.0.0.1:9" in done.stderr
    assert done.stderr.count("\n") == 1
    assert not done.stdout
    assert not list((tmp_path / "run").glob("datasheet.*"))


def test_a_missing_key_is_exit_2_before_any_call(steelyard) -> None:
    done = steelyard("measure", "-j", "openai/gpt-4o", "-p", "vacuum", "--out", "run", *FAST)
    assert done.returncode == 2
    assert "OPENAI_API_KEY" in done.stderr


def test_a_budget_stops_before_it_is_passed(steelyard, tmp_path: Path) -> None:
    """gpt-4o costs $2.50 and $10 per million tokens; a scripted call has 100 in and 5 out: $0.0003.

    The longest answer it may get, 512 tokens, costs $0.00512 and must fit before a call is made.
    """
    with ScriptedServer(lambda request: wins("tie")) as server:
        environment = {"OPENAI_BASE_URL": server.url, "OPENAI_API_KEY": "sk-test"}
        arguments = ("measure", "-j", "openai/gpt-4o", "-p", "vacuum", "--out", "run", "--concurrency", 1)
        done = steelyard(*arguments, "--budget", 0.008, **environment)
        first = len(server.requests)
        assert done.returncode == 1
        assert "the budget of $0.008 is reached" in done.stderr
        assert 0 < first < CALLS
        again = steelyard(*arguments, "--budget", 1, **environment)
        assert again.returncode == 0
        assert len(server.requests) == CALLS
    assert sheet(tmp_path / "run")["run"]["dollars"] == pytest.approx(CALLS * 0.0003)


def test_no_key_and_no_answer_reaches_the_wire(tmp_path: Path) -> None:
    """The judge sees request, rubric and candidates; no id, level, kind or expectation."""
    with ScriptedServer(lambda request: wins("tie")) as server:
        study = build_study(StudyConfig.model_validate({"judges": [judge(server)]}), tmp_path)
        study = replace(study, judges=study.judges[:1])  # the baselines are asked in process
        measure(study, RunFolder(tmp_path / "run"), RunLimits())
        bodies = [request.data.decode() for request in server.requests]
        heads = {name for request in server.requests for name in request.headers}
    assert len(bodies) == 144
    lines = (tmp_path / "run" / "stimuli.jsonl").read_text().splitlines()
    stimuli = [json.loads(line) for line in lines]
    forbidden = {
        "same_subset",
        "different_subset",
        "prefix",
        "base_level",
        "delta",
        "Prefers",
        "NoPreference",
    }
    forbidden |= {stimulus["id"] for stimulus in stimuli} | {stimulus["cluster"] for stimulus in stimuli}
    for body in bodies:
        assert not [word for word in forbidden if word in body]
    assert heads <= {
        *("host", "idempotency-key", "accept", "accept-encoding"),
        *("user-agent", "content-length", "content-type"),
    }


def test_a_server_that_counts_no_tokens_is_charged_all_the_same(steelyard, tmp_path: Path) -> None:
    with ScriptedServer(lambda request: says('{"winner": "tie"}', usage=None)) as server:
        environment = {"OPENAI_BASE_URL": server.url, "OPENAI_API_KEY": "sk-test"}
        done = steelyard(
            "measure", "-j", "openai/gpt-4o", "-p", "vacuum", "--out", "run", "--budget", 0.008, **environment
        )
        assert done.returncode == 1
        assert 0 < len(server.requests) < CALLS
    assert 0 < sheet(tmp_path / "run")["run"]["dollars"] <= 0.008


def test_a_wait_of_an_hour_is_told_instead_of_waited(steelyard, tmp_path: Path) -> None:
    answer = fails(429, "come back later", headers={"Retry-After": "3600"})
    with ScriptedServer(lambda request: answer) as server:
        done = steelyard("measure", "-j", judge(server), "-p", "vacuum", "--out", "run", "--concurrency", 1)
        assert len(server.requests) == 1
    assert done.returncode == 1
    assert "asks to wait 3,600 s" in done.stderr


def test_a_message_that_is_no_unicode_costs_no_other_reply(steelyard, tmp_path: Path) -> None:
    bad = sends(b'{"error": {"message": "x \\ud83d"}}', 400)
    with ScriptedServer(first_turns(1, bad, wins("tie"))) as server:
        done = steelyard("measure", "-j", judge(server), "-p", "vacuum", "--out", "run", *FAST)
        assert len(server.requests) == CALLS
    assert done.returncode == 0, done.stderr
    assert figure(tmp_path / "run", "dark_current")["denominator"] == CALLS - 1


def test_one_judge_out_of_reach_lets_the_other_finish(steelyard, tmp_path: Path) -> None:
    (tmp_path / "two.yaml").write_text(
        "name: two\nprobes: [vacuum]\njudges:\n  - {name: gone, model: 'openai/x?base_url=http://127.0.0.1:9/v1'}\n"
        "  - {name: here, model: planted/tie}\n"
    )
    done = steelyard("measure", "two.yaml", "--out", "run", *FAST)
    assert done.returncode == 1
    assert figure(tmp_path / "run", "dark_current", "here")["denominator"] == CALLS
    gone = figure(tmp_path / "run", "dark_current", "gone")
    assert gone["value"] is None


def test_a_time_limit_is_no_part_of_the_study(steelyard, tmp_path: Path) -> None:
    with ScriptedServer(lambda request: wins("tie")) as server:
        steelyard("measure", "-j", judge(server), "-p", "vacuum", "--out", "run")
        again = steelyard("measure", "-j", judge(server) + "&timeout=7", "-p", "vacuum", "--out", "run")
        assert again.returncode == 0, again.stderr
        assert len(server.requests) == CALLS


def test_a_field_that_the_server_would_not_take_is_told(steelyard, tmp_path: Path) -> None:
    def script(request: Received) -> Answer:
        return fails(400, "no such thing", param="seed") if "seed" in request.body else wins("tie")

    with ScriptedServer(script) as server:
        asked = f"{judge(server)}&seed=5"
        done = steelyard("measure", "-j", asked, "-p", "vacuum", "--out", "run", "--concurrency", 1)
        assert len(server.requests) == CALLS + 1
    told = f"the server would not take seed in {CALLS} calls"
    assert done.returncode == 0, done.stderr
    assert told in done.stderr
    assert sheet(tmp_path / "run")["run"]["refused"] == {"openai/scripted": {"seed": CALLS}}
    assert told in (tmp_path / "run" / "datasheet.md").read_text()
    assert told in (tmp_path / "run" / "datasheet.html").read_text()


def test_no_token_limit_is_one_sentence(steelyard, tmp_path: Path) -> None:
    def script(request: Received) -> Answer:
        name = next(name for name in request.body if name.startswith("max_"))
        return fails(400, f"Unsupported parameter: '{name}'.", param=name)

    with ScriptedServer(script) as server:
        done = steelyard("measure", "-j", judge(server), "-p", "vacuum", "--out", "run", *FAST)
        assert len(server.requests) <= 2 * 4
    assert done.returncode == 2
    assert done.stderr.count("\n") == 1
    assert "takes neither max_tokens nor max_completion_tokens" in done.stderr


def test_a_budget_that_two_judges_reach_is_told_once_with_what_was_spent(command, tmp_path: Path) -> None:
    """Each call costs about $0.0002 at these prices, and more than $0.005 are set aside for it."""
    prices = "&input_price=2&output_price=10&max_tokens=500"
    with ScriptedServer(lambda request: says('{"winner": "tie"}', usage={"prompt_tokens": 80})) as server:
        judges = [f"openai/{name}?base_url={server.url}{prices}" for name in ("a", "b")]
        options = ("-p", "vacuum", "--out", "run", "--budget", 0.008, "--concurrency", 2)
        done = command("measure", "-j", judges[0], "-j", judges[1], *options)
    assert done.code == 1
    assert done.err.count("the budget of $0.008 is reached") == 1
    spent = sheet(tmp_path / "run")["run"]["dollars"]
    assert f"is reached (${spent:.4f} spent)" in done.err
    assert f"${spent:.4f} spent in all" in done.out


def test_a_budget_without_a_price_names_the_cure(command) -> None:
    done = command("measure", "-j", "openai/x?base_url=http://127.0.0.1:9/v1", "-p", "vacuum", "--budget", 1)
    assert done.code == 2
    assert "input_price and output_price" in done.err
