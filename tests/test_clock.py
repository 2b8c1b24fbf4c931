"""A clock that jumps by a day and back: nothing but the moments that are written down depends on it."""

from __future__ import annotations

import itertools
import json
import time
from email.utils import formatdate
from typing import Any

import pytest

from batch_server import BatchServer
from commands import Command
from servers import Answer, Received, ScriptedServer, fails, says
from test_batch import BATCH
from vendors import KEY


def with_jumps(command: Command, *arguments: str) -> str:
    """What a command prints where every look at the clock finds another day; it has to end well."""
    usual, days = time.time, itertools.cycle([0, 86400, -86400, 1, 40 * 86400])
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("OPENAI_API_KEY", KEY)
        patch.setattr(time, "time", lambda: usual() + next(days))
        done = command(*arguments)
    assert done.code == 0, done.err
    return done.out


def figures(text: str) -> dict[str, Any]:
    """A datasheet without what happened when it was made."""
    sheet: dict[str, Any] = json.loads(text)
    del sheet["run"]
    return sheet


def test_waits_limits_and_figures_go_by_another_clock(
    command: Command, monkeypatch: pytest.MonkeyPatch
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
        jumped = with_jumps(command, *chosen, "--out", "jumped")
        asked = len(seen)
        seen.clear()
        steady = command(*chosen, "--out", "steady")
        again = with_jumps(command, *chosen, "--out", "jumped")
        requests = len(server.requests)
    assert asked == 4
    assert figures(jumped) == figures(steady.out) == figures(again)
    assert requests == 2 * (12 + asked)


def test_batches_are_found_and_collected_once(command: Command) -> None:
    script = BatchServer(looks=3)
    with ScriptedServer(script) as server:
        judge = f"openai/gpt-4o?base_url={server.url}"
        chosen = ("measure", "-j", judge, "-p", "vacuum", "--json", "--out", "run", "--no-preflight", *BATCH)
        with_jumps(command, *chosen)
    assert [*script.handed_in.values()] == [1] * 12
