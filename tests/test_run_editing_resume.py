"""Editing that is killed or stopped: what was answered counts, and nothing is asked twice."""

from __future__ import annotations

import json
import os
import signal
import sqlite3
from contextlib import closing
from pathlib import Path

from authoring_server import CONCURRENCY
from commands import Command, StartedCommand
from editing_server import Cast, Question, edit, last_message, write_study
from servers import ScriptedServer


def two_steps(asked: Question) -> str:
    steps = [{"message": number, "goal": "say something else"} for number in (12, last_message(asked))]
    return json.dumps({"thesis": "two messages change", "steps": steps})


def both(asked: Question) -> str:
    return edit(asked) if "There are" in asked.message else "<text>Looking elsewhere.</text>"


def start(folder: Path, environment: dict[str, str], out: str) -> StartedCommand:
    options = ["--out", out, "--concurrency", str(CONCURRENCY)]
    return StartedCommand(["generate", "study.yaml", *options], folder, environment)


def test_kill_9_resumes_at_the_step(tmp_path: Path, environment: dict[str, str], command: Command) -> None:
    """Killed at the first summary and at the second, and each time started again."""
    cast = Cast(planner=two_steps, editor=both)
    stages = ("planner", "summarizer", "editor", "summarizer", "editor", "verifier")
    with ScriptedServer(cast) as server:
        write_study(tmp_path, server, ["agent_perturbation"], count=CONCURRENCY, long=True)
        for stage in (4, 16):
            cast.patience = stage
            process = start(tmp_path, environment, "killed")
            for _ in range(CONCURRENCY):
                assert cast.hanging.acquire(timeout=240)
            os.kill(process.pid, signal.SIGKILL)
            process.wait()
            assert not (tmp_path / "killed" / "stimuli.jsonl").exists()
        cast.patience = None
        assert command("generate", "study.yaml", "--out", "killed").code == 0
        assert len(cast.keys) == CONCURRENCY * len(stages)
        assert cast.keys.total() - len(cast.keys) == 2 * CONCURRENCY
        assert command("generate", "study.yaml", "--out", "undisturbed").code == 0
    killed, whole = ((tmp_path / n / "stimuli.jsonl").read_bytes() for n in ("killed", "undisturbed"))
    assert killed == whole


def test_every_stage_is_kept_with_prompt_and_reply(tmp_path: Path, command: Command) -> None:
    cast = Cast(planner=two_steps, editor=both)
    with ScriptedServer(cast) as server:
        write_study(tmp_path, server, ["agent_perturbation"], count=1, long=True)
        assert command("generate", "study.yaml", "--out", "run").code == 0
        asked = cast.calls.total()
        assert command("generate", "study.yaml", "--out", "run").code == 0
        assert cast.calls.total() == asked
        plan = command("plan", "study.yaml", "--out", "other")
    assert all(role in plan.out for role in ("planner", "editor", "summarizer", "verifier"))
    with closing(sqlite3.connect(tmp_path / "run" / "run.db")) as connection, connection:
        query = "SELECT role, prompts.body, exchanges.body FROM exchanges JOIN prompts ON hash = prompt"
        rows = list(connection.execute(query))
    assert sorted(role for role, *_ in rows) == sorted(
        ["planner", "summarizer", "summarizer", "editor", "editor", "verifier"]
    )
    assert all(json.loads(prompt)["messages"] and json.loads(reply)["text"] for _, prompt, reply in rows)


def test_a_budget_stops_the_editing_and_more_goes_on(tmp_path: Path, command: Command) -> None:
    cast = Cast()
    with ScriptedServer(cast) as server:
        own = f"base_url={server.url}&input_price=1000&output_price=1000&max_tokens=9"
        editor, planner, verifier = (f"openai/{role}?{own}" for role in ("editor", "planner", "verifier"))
        write_study(
            tmp_path,
            server,
            ["agent_perturbation"],
            author=editor,
            validator=verifier,
            editing={"planner": planner},
        )
        stopped = command("generate", "study.yaml", "--out", "run", "--budget", "0.9", "--concurrency", "1")
        assert stopped.code != 0
        assert "budget" in stopped.err
        assert 0 < cast.calls.total() < 12
        done = command("generate", "study.yaml", "--out", "run", "--budget", "900")
        assert done.code == 0, done.err
    assert cast.calls == {"planner": 4, "editor": 4, "verifier": 4}
