"""A clock that jumps by a day and back: nothing but the moments that are written down depends on it."""

from __future__ import annotations

import json
import subprocess
import sys
from email.utils import formatdate
from pathlib import Path
from typing import Any

import pytest

from batch_server import BatchServer
from commands import Command
from servers import Answer, Received, ScriptedServer, fails, says
from test_batch import BATCH
from vendors import KEY

JUMPING = """
import itertools, time

usual, days = time.time, itertools.cycle([0, 86400, -86400, 1, 40 * 86400])
time.time = lambda: usual() + next(days)
from steelyard.cli.main import main
main()
"""
"""The command in a world where every look at the clock finds another day."""


def with_jumps(folder: Path, environment: dict[str, str], *arguments: str) -> str:
    """What a command prints there; it has to end well."""
    done = subprocess.run(
        [sys.executable, "-c", JUMPING, *arguments],
        cwd=folder,
        env={**environment, "OPENAI_API_KEY": KEY},
        capture_output=True,
        text=True,
        timeout=300,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    return done.stdout


def figures(text: str) -> dict[str, Any]:
    """A datasheet without what happened when it was made."""
    sheet: dict[str, Any] = json.loads(text)
    del sheet["run"]
    return sheet


def test_waits_limits_and_figures_go_by_another_clock(
    command: Command, tmp_path: Path, environment: dict[str, str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """A server asks to wait until a moment of its own clock, which is no wait at all."""
    monkeypatch.setenv("OPENAI_API_KEY", KEY)
    seen: set[str] = set()

    def script(request: Received) -> Answer:
        key = request.headers["idempotency-key"]
        if key not in seen and len(seen) < 4:
            seen.add(key)
            moment = formatdate(1_800_000_000, usegmt=True)
            return fails(429, "slow down", headers={"Retry-After": moment, "Date": moment})
        return says(json.dumps({"winner": "1" if request.chance % 2 else "2"}))

    with ScriptedServer(script) as server:
        judge = f"openai/gpt-4o?base_url={server.url}&requests_per_minute=6000"
        chosen = ("measure", "-j", judge, "-p", "vacuum", "--json", "--budget", "1", "--backoff", "0.01")
        jumped = with_jumps(tmp_path, environment, *chosen, "--out", "jumped")
        asked = len(seen)
        seen.clear()
        steady = command(*chosen, "--out", "steady")
        again = with_jumps(tmp_path, environment, *chosen, "--out", "jumped")
        requests = len(server.requests)
    assert asked == 4
    assert figures(jumped) == figures(steady.out) == figures(again)
    assert requests == 2 * (12 + asked)


def test_batches_are_found_and_collected_once(tmp_path: Path, environment: dict[str, str]) -> None:
    script = BatchServer(looks=3)
    with ScriptedServer(script) as server:
        judge = f"openai/gpt-4o?base_url={server.url}"
        chosen = ("measure", "-j", judge, "-p", "vacuum", "--json", "--out", "run", "--no-preflight", *BATCH)
        with_jumps(tmp_path, environment, *chosen)
    assert [*script.handed_in.values()] == [1] * 12
