"""Preflight: a judge that cannot be parsed costs eight replies per protocol, and no more."""

from __future__ import annotations

import json
import re
import sqlite3
from collections import Counter
from collections.abc import Callable, Sequence
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest

from commands import Command
from servers import Answer, Received, ScriptedServer, fails, says, wins
from steelyard.errors import PreflightError
from steelyard.run_folder.next_step import TRY_FIRST
from steelyard.run_folder.run_folder import RunFolder
from steelyard.runner.limits import RunLimits
from steelyard.runner.preflight import PREFLIGHT_CALLS, rank_trials
from steelyard.runner.record import RunRecord
from steelyard.runner.runner import Runner, run_async
from steelyard.runner.session import RunSession
from steelyard.study.planner import make_plan
from steelyard.study.study_file import StudyConfig, build_study
from steelyard.trials.trial import Trial

CALLS = 12
"""Calls of the probe vacuum, quick profile, under the base protocol alone."""
FAST = ("--attempts", 2, "--backoff", 0.01)
PROMPT = "{{ instruction }} {{ rubric }} {{ request }} A: {{ first }} B: {{ second }} Reply with 1, 2 or tie."


def study(tmp_path: Path, *judges: dict[str, Any], probes: tuple[str, ...] = ("vacuum",)) -> Path:
    path = tmp_path / "study.yaml"
    path.write_text(json.dumps({"name": "preflight", "judges": judges, "probes": probes}))
    return path


def asked(server: ScriptedServer) -> Counter[str]:
    """Calls by model, as the server counted them."""
    return Counter(request.body["model"] for request in server.requests)


def replies(folder: Path) -> dict[tuple[str, str], int]:
    """Replies on disk by judge and protocol."""
    with closing(sqlite3.connect(folder / "run.db")) as connection, connection:
        rows = connection.execute(
            "SELECT judge, protocol, count(*) FROM replies JOIN trials ON trial = key GROUP BY 1, 2"
        ).fetchall()
    return {(judge, protocol): count for judge, protocol, count in rows if judge.startswith("openai/")}


def by_model(answers: dict[str, Callable[[Received], Answer]]) -> Callable[[Received], Answer]:
    return lambda request: answers[request.body["model"]](request)


def sit(trials: Sequence[Trial], folder: Path, concurrency: int) -> RunSession:
    """One run on the open trials, without a datasheet."""
    with RunFolder(folder).store() as store:
        runner = Runner(RunRecord(store), RunLimits(concurrency=concurrency, attempts=2, backoff=0.01))
        return run_async(runner, lambda runner: runner.run(trials))


@pytest.mark.parametrize("concurrency", [1, 8, 64])
def test_an_unreadable_judge_costs_eight_calls_per_protocol_and_the_others_go_on(
    tmp_path: Path, concurrency: int
) -> None:
    """Three judges, two protocols each; the third is unreadable under strict alone."""
    strict = "The criterion for a tie is strict"
    answers = {
        "mute": lambda _: says("1"),
        "sound": lambda _: wins("tie"),
        "half": lambda request: says("?") if strict in request.user else wins("2"),
    }
    with ScriptedServer(by_model(answers)) as server:
        judges = [{"name": name, "model": f"openai/{name}?base_url={server.url}"} for name in answers]
        config = StudyConfig(judges=judges, probes=["vacuum", "ladder", "criterion"])
        trials = [
            trial for trial in make_plan(build_study(config, tmp_path)).trials if not trial.judge.baseline
        ]
        planned = Counter((trial.judge.name, trial.protocol) for trial in trials)
        session = sit(trials, tmp_path, concurrency)
        requests = Counter(
            (r.body["model"], "strict" if strict in r.user else "base") for r in server.requests
        )
        paid = len(server.requests)
        again = sit(trials, tmp_path, concurrency)
        assert len(server.requests) == paid
    assert planned["sound", "base"] > 8 * PREFLIGHT_CALLS
    assert {key: requests[key] for key in requests if key[0] == "sound"} == {
        key: count for key, count in planned.items() if key[0] == "sound"
    }
    assert requests["mute", "base"] == PREFLIGHT_CALLS
    assert requests["mute", "strict"] <= {1: 0}.get(concurrency, PREFLIGHT_CALLS)
    assert requests["half", "strict"] == PREFLIGHT_CALLS
    assert requests["half", "base"] <= planned["half", "base"]
    assert set(session.aborted_judges) == set(again.aborted_judges) == {"mute", "half"}
    assert all(isinstance(error, PreflightError) for error in session.aborted_judges.values())
    assert again.calls == 0


def test_what_a_failed_preflight_says_and_leaves(command: Command, tmp_path: Path) -> None:
    script = by_model({"mute": lambda _: says("1"), "sound": lambda _: wins("tie")})
    with ScriptedServer(script) as server:
        names = ("mute", "sound")
        judges = [{"name": name, "model": f"openai/{name}", "base_url": server.url} for name in names]
        path = study(tmp_path, *judges)
        done = command("measure", path, "--out", "run", *FAST)
        again = command("measure", path, "--out", "run", *FAST)
        assert asked(server) == {"mute": PREFLIGHT_CALLS, "sound": CALLS}
    assert done.code == again.code == 1
    for err in (done.err, again.err):
        assert re.search(r"judge mute: .* 8 replies .*protocol base; 0 could", err)
        assert 'reader json wants {"winner": "1"}' in err
        assert re.search(r"replied '1'; .*reader: choice, .* 8 of 8", err)
        assert "no readable verdict" not in err
        assert "--no-preflight" in err
    sheet = json.loads((tmp_path / "run" / "datasheet.json").read_text())
    verdict = next(one for one in sheet["verdicts"] if one["judge"] == "mute")
    assert verdict["next"]["purpose"].startswith(TRY_FIRST)
    assert sheet["run"]["partial"]
    assert sheet["run"]["unfinished"] == {"mute": {"asked": PREFLIGHT_CALLS, "planned": CALLS}}
    assert re.match(r"Partial: 20 of 24\b", (tmp_path / "run" / "datasheet.md").read_text())


def test_no_preflight_goes_on_from_the_replies_of_the_preflight(command: Command, tmp_path: Path) -> None:
    with ScriptedServer(lambda _: says("hm")) as server:
        path = study(tmp_path, {"model": f"openai/m?base_url={server.url}"})
        stopped = command("measure", path, "--out", "run", *FAST)
        assert len(server.requests) == PREFLIGHT_CALLS
        whole = command("measure", path, "--out", "run", "--no-preflight", *FAST)
        assert len({request.headers["idempotency-key"] for request in server.requests}) == CALLS
        assert len(server.requests) == CALLS
    assert (stopped.code, whole.code) == (1, 1)
    assert f"verdict in {CALLS} calls" in whole.err


def test_a_judge_that_is_read_half_the_time_goes_on(command: Command, tmp_path: Path) -> None:
    turns: list[str] = []

    def script(request: Received) -> Answer:
        turns.append(request.path)
        return wins("tie") if len(turns) % 2 else says("well")

    with ScriptedServer(script) as server:
        path = study(tmp_path, {"model": f"openai/m?base_url={server.url}"})
        done = command("measure", path, "--out", "run", "--concurrency", 1)
        assert len(server.requests) == CALLS
    assert done.code == 0, done.err


def test_three_readable_of_eight_are_too_few(command: Command, tmp_path: Path) -> None:
    turns: list[str] = []

    def script(request: Received) -> Answer:
        turns.append(request.path)
        return wins("tie") if len(turns) <= 3 else says("well")

    with ScriptedServer(script) as server:
        path = study(tmp_path, {"model": f"openai/m?base_url={server.url}"})
        done = command("measure", path, "--out", "run", "--concurrency", 1)
        assert len(server.requests) == PREFLIGHT_CALLS
    assert done.code == 1
    assert re.search(r"; 3 could .*\(no answer 5\)", done.err)


def test_failed_calls_are_no_preflight_and_free_their_places(command: Command, tmp_path: Path) -> None:
    """Every third call fails for good; eight replies are wanted, and eight are paid for."""
    turns: list[str] = []

    def script(request: Received) -> Answer:
        turns.append(request.path)
        return says("well") if len(turns) % 3 else fails(400, "no")

    with ScriptedServer(script) as server:
        path = study(tmp_path, {"model": f"openai/m?base_url={server.url}"})
        done = command("measure", path, "--out", "run", "--concurrency", 64, *FAST)
        assert replies(tmp_path / "run") == {("openai/m", "base"): PREFLIGHT_CALLS}
        assert PREFLIGHT_CALLS < len(server.requests) <= 12
    assert done.code == 1
    assert "after 8 replies" in done.err


def test_a_server_that_fails_always_opens_the_circuit(command: Command, tmp_path: Path) -> None:
    with ScriptedServer(lambda _: fails(500, "boom")) as server:
        path = study(tmp_path, {"model": f"openai/m?base_url={server.url}"})
        done = command("measure", path, "--out", "run", "--concurrency", 64, *FAST)
        assert len({request.headers["idempotency-key"] for request in server.requests}) == CALLS
    assert done.code == 1
    assert "--outcome failed`" in done.err
    assert "after 8 replies" not in done.err


@pytest.mark.parametrize("concurrency", [1, 64])
def test_a_server_that_refuses_every_call_alike_is_asked_eight_times(
    command: Command, tmp_path: Path, concurrency: int
) -> None:
    """More than 1,000 calls are planned under two protocols; a corrected server is asked all over again."""
    broken = True

    def script(_: Received) -> Answer:
        return fails(400, "No connected db.") if broken else wins("tie")

    with ScriptedServer(script) as server:
        words = ("-j", f"openai/m?base_url={server.url}", "-p", "vacuum", "-p", "ladder", "-p", "criterion")
        run = ("measure", *words, "--profile", "standard", "--out", "run", "--concurrency", concurrency)
        for times in (1, 2):
            done = command(*run)
            assert len(server.requests) == times * PREFLIGHT_CALLS
            assert done.code == 2
            last = done.err.splitlines()[-1]
            assert re.search(r"judge openai/m: .* 8 calls, .* refused alike", last)
            assert re.search(r" 400 \(No connected db\.\); .*; 0 of 1,\d+", last)
            assert "steelyard doctor" in last
            assert "--no-preflight" in last
        broken = False
        mended = command("measure", *words, "--profile", "standard", "--out", "run")
        assert mended.code == 0, mended.err
        assert len(server.requests) > 1000


def test_a_judge_that_is_refused_leaves_the_others_to_go_on(command: Command, tmp_path: Path) -> None:
    script = by_model({"ill": lambda _: fails(422, "no such field"), "sound": lambda _: wins("tie")})
    with ScriptedServer(script) as server:
        names = ("ill", "sound")
        judges = [{"name": name, "model": f"openai/{name}", "base_url": server.url} for name in names]
        done = command("measure", study(tmp_path, *judges), "--out", "run", *FAST)
        assert asked(server) == {"ill": PREFLIGHT_CALLS, "sound": CALLS}
    assert done.code == 2
    assert "no readable verdict" not in done.err
    assert json.loads((tmp_path / "run" / "datasheet.json").read_text())["run"]["unfinished"] == {
        "ill": {"asked": PREFLIGHT_CALLS, "planned": CALLS}
    }


@pytest.mark.parametrize("concurrency", [1, 64])
@pytest.mark.parametrize(
    "other", [wins("tie"), fails(422, "another thing"), fails(400, "maximum context length is 8 tokens")]
)
def test_seven_of_eight_refusals_stop_nothing(
    command: Command, tmp_path: Path, concurrency: int, other: Answer
) -> None:
    turns: list[str] = []

    def script(request: Received) -> Answer:
        turns.append(request.path)
        return other if len(turns) == PREFLIGHT_CALLS else fails(400, "no")

    with ScriptedServer(script) as server:
        path = study(tmp_path, {"model": f"openai/m?base_url={server.url}"})
        done = command("measure", path, "--out", "run", "--concurrency", concurrency, *FAST)
        assert len(server.requests) == CALLS
    assert done.code == (0 if other == wins("tie") else 1)
    assert "refused alike" not in done.err


@pytest.mark.parametrize(
    ("message", "more"), [("no", ["--no-preflight"]), ("maximum context length is 8 tokens", [])]
)
def test_refusals_that_stop_nothing(command: Command, tmp_path: Path, message: str, more: list[str]) -> None:
    """A prompt that is too long says nothing of the next item's."""
    with ScriptedServer(lambda _: fails(400, message)) as server:
        path = study(tmp_path, {"model": f"openai/m?base_url={server.url}"})
        done = command("measure", path, "--out", "run", *FAST, *more)
        assert len(server.requests) == CALLS
    assert done.code == 1
    assert f"verdict in {CALLS} calls" in done.err


def test_refusals_after_a_reply_of_an_earlier_run_stop_nothing(command: Command, tmp_path: Path) -> None:
    """What fails again for its own sake is no server that refuses the judge."""
    turns: list[str] = []

    def script(request: Received) -> Answer:
        turns.append(request.path)
        return wins("tie") if len(turns) == 1 else fails(400, "no")

    with ScriptedServer(script) as server:
        path = study(tmp_path, {"model": f"openai/m?base_url={server.url}"})
        codes = [command("measure", path, "--out", "run", *FAST).code for _ in range(2)]
        assert len(server.requests) == CALLS + (CALLS - 1)
    assert codes == [0, 0]


def test_a_corrected_reader_reads_the_replies_of_the_same_prompt_again(
    command: Command, tmp_path: Path
) -> None:
    judge = {"name": "mine", "prompt": PROMPT}
    with ScriptedServer(lambda _: says("2")) as server:
        model = f"openai/m?base_url={server.url}"
        as_json = {**judge, "model": model, "reader": "json"}
        command("measure", study(tmp_path, as_json), "--out", "run", *FAST)
        assert len(server.requests) == PREFLIGHT_CALLS
        done = command(
            "measure", study(tmp_path, {**judge, "model": model, "reader": "choice"}), "--out", "run", *FAST
        )
        assert done.code == 0, done.err
        assert len(server.requests) == CALLS
        other = command("measure", study(tmp_path, as_json), "--out", "run", *FAST)
        assert len(server.requests) == CALLS
    assert other.code == 2
    assert "(judges differ)" in other.err
    assert not command("report", "run", "--format", "json").code


def test_a_corrected_reader_reads_repeats_again_too(command: Command, tmp_path: Path) -> None:
    with ScriptedServer(lambda _: says("2")) as server:
        path = tmp_path / "study.yaml"
        for reader in ("json", "choice"):
            judge = {"name": "mine", "prompt": PROMPT, "reader": reader}
            judge["model"] = f"openai/m?base_url={server.url}"
            path.write_text(json.dumps({"judges": [judge], "probes": ["vacuum"], "replicates": 2}))
            done = command("measure", path, "--out", "run", "--no-preflight", *FAST)
            assert len(server.requests) == 2 * CALLS
    assert done.code == 0, done.err
    body = json.loads((tmp_path / "run" / "datasheet.json").read_text())
    assert (body["run"]["calls"], body["run"]["partial"]) == (2 * CALLS, False)


def test_the_folder_takes_a_corrected_reader_whose_built_in_prompt_is_another(
    command: Command, tmp_path: Path
) -> None:
    """The built-in prompt asks for what the reader reads, so the eight replies are to another prompt."""
    with ScriptedServer(lambda _: says("2")) as server:
        judge = f"openai/m?base_url={server.url}&name=mine"
        first = command("measure", "-j", judge, "-p", "vacuum", "--out", "run", *FAST)
        assert "run can be" in first.err
        assert len(server.requests) == PREFLIGHT_CALLS
        mended = ("measure", "-j", f"{judge}&reader=choice", "-p", "vacuum", "--out", "run", *FAST)
        done = command(*mended)
        assert done.code == 0, done.err
        assert len(server.requests) == PREFLIGHT_CALLS + CALLS
        assert command(*mended).code == 0
        assert len(server.requests) == PREFLIGHT_CALLS + CALLS
        # What could be read is not to be corrected, and what was paid for stays where it is.
        other = command("measure", "-j", f"{judge}&reader=json", "-p", "vacuum", "--out", "run", *FAST)
        assert (other.code, len(server.requests)) == (2, PREFLIGHT_CALLS + CALLS)
    assert "(judges differ)" in other.err
    body = json.loads((tmp_path / "run" / "datasheet.json").read_text())
    assert (body["run"]["calls"], body["run"]["partial"]) == (CALLS, False)
    assert "reader=choice" in body["verdicts"][0]["command"]


def test_a_folder_with_more_than_a_preflight_takes_no_other_prompt(command: Command, tmp_path: Path) -> None:
    with ScriptedServer(lambda _: says("2")) as server:
        judge = f"openai/m?base_url={server.url}&name=mine"
        command("measure", "-j", judge, "-p", "vacuum", "--out", "run", "--no-preflight", *FAST)
        other = command("measure", "-j", f"{judge}&reader=choice", "-p", "vacuum", "--out", "run", *FAST)
        assert len(server.requests) == CALLS
    assert other.code == 2
    assert "(judges differ)" in other.err


def test_replies_in_the_schema_that_was_asked_for_are_not_those_of_another_request(
    command: Command, tmp_path: Path
) -> None:
    """The server kept to a schema, which the other reader would not have asked for."""
    judge = {"name": "mine", "prompt": PROMPT}
    with ScriptedServer(lambda _: says('{"choice": "2"}')) as server:
        model = f"openai/m?base_url={server.url}"
        as_json = {**judge, "model": model, "reader": "json"}
        first = command("measure", study(tmp_path, as_json), "--out", "run", *FAST)
        assert re.search(r"reader: \{json: choice\}, .* 8 of 8", first.err)
        mended = {**judge, "model": model, "reader": {"json": "choice"}}
        done = command("measure", study(tmp_path, mended), "--out", "run", *FAST)
        assert len(server.requests) == PREFLIGHT_CALLS + CALLS
    assert done.code == 0, done.err


def test_a_decision_leaves_a_judge_that_cannot_be_read(command: Command, tmp_path: Path) -> None:
    with ScriptedServer(lambda _: says("neither")) as server:
        judge = f"openai/m?base_url={server.url}"
        done = command("measure", "-j", judge, "--until", "dark_current<0.10", "--out", "run", *FAST)
        assert len(server.requests) == PREFLIGHT_CALLS
    assert done.code == 1
    assert re.search(r"openai/m: .* 8 replies", done.err)


def test_the_first_eight_are_of_every_probe_and_of_either_order() -> None:
    built = build_study(StudyConfig(judges=["openai/m"], probes=["vacuum", "ladder", "criterion"]), Path())
    trials = [trial for trial in make_plan(built).trials if trial.judge.name == "openai/m"]
    for protocol, mine in rank_trials(trials).items():
        first = mine[:PREFLIGHT_CALLS]
        assert {trial.stimulus.probe for trial in first} == {"vacuum", "ladder"}
        assert Counter(trial.order for trial in first) == {"uv": 4, "vu": 4}
        assert len({trial.stimulus.id for trial in first}) == 4
        assert {trial.protocol for trial in mine} == {protocol}
    assert rank_trials(reversed(trials)) == rank_trials(trials)


def test_a_reference_that_cannot_be_read_costs_eight_calls_once(command: Command, tmp_path: Path) -> None:
    rows = [{"id": n, "q": f"question {n}", "a": f"answer {n}"} for n in range(20)]
    (tmp_path / "rows.jsonl").write_text("\n".join(map(json.dumps, rows)))
    with ScriptedServer(lambda _: says("hm")) as server:
        body = {
            "name": "referred",
            "task": {"scale": "binary", "rubric": "Is it right?"},
            "judges": [{"name": name, "model": f"openai/{name}?base_url={server.url}"} for name in "ab"],
            "data": {
                "path": "rows.jsonl",
                "columns": {"id": "id", "request": "q", "response": "a"},
                "reference": {"judge": "a"},
            },
            "probes": ["stochastic_stability"],
        }
        (tmp_path / "study.yaml").write_text(json.dumps(body))
        first, again = (command("measure", "study.yaml", "--out", "run", *FAST) for _ in range(2))
        assert asked(server) == {"a": PREFLIGHT_CALLS}
    assert first.code == again.code == 1
    assert re.search(r"data\.reference: judge a: .* 8 replies", again.err)
    assert "fix the judge" in again.err


def test_prose_that_no_reader_reads_may_be_read_by_its_first_token(command: Command, tmp_path: Path) -> None:
    """Only where the server gives log-probabilities, and the first token is the answer."""
    prose = says("The first answer gives the capital and the second one gives a river, so it depends.")
    with ScriptedServer(lambda _: prose) as server:
        judge = f"openai/m?base_url={server.url}&reader=choice"
        done = command("measure", "-j", judge, "-p", "vacuum", "--out", "run", *FAST)
    assert re.search(r"log-probabilities .*reader: logprob", done.err)
    assert "first token most" in done.err
