"""A server that sends a response twice: no trial keeps the reply to another, and every call is billed."""

from __future__ import annotations

import asyncio
import json
import os
import signal
import sqlite3
import subprocess
import sys
import threading
from collections.abc import Iterator
from contextlib import closing, contextmanager
from pathlib import Path
from typing import Any

import pytest

import repeating_server
from commands import Command, StartedCommand
from repeating_server import body_for, name_of, response
from servers import ScriptedServer, _receive
from steelyard.core.content_hash import content_hash
from steelyard.errors import REPEATED
from steelyard.providers.http.http_provider import HttpProvider
from steelyard.providers.provider import connect
from steelyard.runner.limits import RunLimits
from steelyard.runner.prices import PriceClock
from steelyard.runner.record import RunRecord
from steelyard.runner.session import RunControl, Withdrawals
from steelyard.store.in_flight import UNCHECKED as ROOM
from steelyard.store.in_flight import InFlight
from steelyard.store.run_store import RunStore
from steelyard.study.planner import make_plan
from steelyard.study.study_file import StudyConfig, build_study
from steelyard.trials.judge import Reply

PRICED = "&input_price=1&output_price=1"
EACH = 0.000105
"""Dollars of a call: 100 tokens in, 5 out."""


@contextmanager
def repeating(latency: float, share: float, *, has_id: bool) -> Iterator[tuple[str, dict[str, int]]]:
    """A server's address, and what it counted, once it has ended."""
    words = [str(latency), str(share), "0.04", "ids" if has_id else "none"]
    command = [sys.executable, str(Path(repeating_server.__file__)), *words]
    counted: dict[str, int] = {}
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as server:
        assert server.stdout is not None
        assert server.stdin is not None
        yield f"http://127.0.0.1:{int(server.stdout.readline())}/v1", counted
        server.stdin.close()
        counted |= json.loads(server.stdout.readline())


def replies_of_others(folder: Path) -> tuple[int, int]:
    """Replies on disk, and those among them that answer another prompt."""
    with closing(sqlite3.connect(folder / "run.db")) as connection:
        rows = connection.execute(
            "SELECT prompts.body, replies.body FROM replies JOIN trials ON trials.key = replies.trial"
            " JOIN prompts ON prompts.hash = trials.prompt WHERE judge = 'mine'"
        ).fetchall()
    wrong = [
        1
        for prompt, reply in rows
        if name_of(json.loads(prompt)["messages"][-1]["content"]) not in json.loads(reply)["text"]
    ]
    return len(rows), len(wrong)


def sheet(folder: Path) -> dict[str, Any]:
    body: dict[str, Any] = json.loads((folder / "datasheet.json").read_text())
    return body


@pytest.mark.parametrize("has_id", [True, False], ids=["ids", "no ids"])
@pytest.mark.parametrize("latency", [0, 0.02])
def test_no_trial_keeps_the_reply_to_another(
    command: Command, tmp_path: Path, latency: float, has_id: bool
) -> None:
    with repeating(latency, 0.05, has_id=has_id) as (url, counted):
        judge = f"openai/m?base_url={url}&name=mine{PRICED}"
        said = command("measure", "-j", judge, "--replicates", 4, "--out", tmp_path / "run")
    assert said.code == 0
    run = sheet(tmp_path / "run")["run"]
    assert counted["repeats"] > 0
    assert replies_of_others(tmp_path / "run") == (run["calls"], 0)
    again = run.get("repeated", {"calls": 0})["calls"]
    assert run["calls"] + again == counted["requests"]
    assert run["dollars"] == pytest.approx(EACH * counted["requests"])
    if again:
        sentence = "that may belong to other calls"
        assert sentence in said.err
        assert sentence in (tmp_path / "run" / "datasheet.md").read_text()


CALLS = 72
"""Of vacuum and ladder, quick."""


class SlidingServer(ScriptedServer):
    """The second response on a connection goes out twice: each later request gets the one before its own.

    After `patience` requests it answers nobody. What is left over then stays with it, unless `is_late`.
    """

    def __init__(self, patience: int | None, *, slides: bool = True, has_id: bool = False) -> None:
        super().__init__()
        self.patience = patience
        self.slides = slides
        self.has_id = has_id
        self.varies = False
        self.is_late = False
        self.hanging = threading.Event()

    async def _connection(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        task = asyncio.current_task()
        assert task is not None
        self._open[writer] = task
        before = b""
        timer: asyncio.TimerHandle | None = None
        try:
            for number in range(1, sys.maxsize):
                received = await _receive(reader)
                if timer is not None:
                    timer.cancel()
                self.requests.append(received)
                if self.patience is not None and len(self.requests) > self.patience:
                    self.hanging.set()
                    await reader.read()
                    return
                body = body_for(received.data, has_id=self.has_id)
                answer = ("tie", "1", "1")[received.chance // 5 % 3] if self.varies else "1"
                own = response(body.replace(b'\\"1\\"', f'\\"{answer}\\"'.encode()))
                slid = self.slides and number > 2
                writer.write(before if slid else own)
                before = own
                if slid and self.is_late:
                    timer = asyncio.get_running_loop().call_later(0.02, writer.write, own)
        except (asyncio.IncompleteReadError, ConnectionError):
            pass
        finally:
            del self._open[writer]
            writer.close()


UNCHECKED = "had come when a run was killed and could not be checked"


def killed(
    server: SlidingServer,
    tmp_path: Path,
    environment: dict[str, str],
    *words: object,
) -> tuple[object, ...]:
    """The command that was killed when the server no longer answered."""
    server.hanging.clear()
    judge = f"openai/m?base_url={server.url}&name=mine{PRICED}"
    probes = words or ("-p", "vacuum", "-p", "ladder")
    asked = ("measure", "-j", judge, *probes, "--concurrency", 1, "--out", "run")
    process = StartedCommand(asked, tmp_path, environment)
    assert server.hanging.wait(timeout=240)
    os.kill(process.pid, signal.SIGKILL)
    process.communicate()
    server.patience = None
    return asked


def test_replies_that_no_rest_had_checked_before_a_kill_are_withdrawn_where_the_server_repeats(
    command: Command, tmp_path: Path, environment: dict[str, str]
) -> None:
    with SlidingServer(patience=30) as server:
        server.varies = True
        asked = killed(server, tmp_path, environment)
        replies, wrong = replies_of_others(tmp_path / "run")
        assert (replies, wrong > 20) == (30, True)
        server.is_late = True
        said = command(*asked)
        requests, server.slides = len(server.requests), False
        command(*asked[:-1], "honest")
    assert said.code == 0
    assert sheet(tmp_path / "run")["estimates"] == sheet(tmp_path / "honest")["estimates"]
    assert f"{CALLS} calls in this run" in said.out  # all 30 from before the kill are among them
    assert replies_of_others(tmp_path / "run") == (CALLS, 0)
    assert sheet(tmp_path / "run")["run"]["dollars"] == pytest.approx(EACH * requests)
    assert "that may belong to other calls" in (tmp_path / "run" / "datasheet.md").read_text()
    assert not (tmp_path / "run" / ".in_flight").exists()


def test_what_was_in_doubt_before_two_kills_is_withdrawn_after_the_second(
    command: Command, tmp_path: Path, environment: dict[str, str]
) -> None:
    with SlidingServer(patience=20) as server:
        killed(server, tmp_path, environment)
        server.patience = 31  # one request was left without an answer
        asked = killed(server, tmp_path, environment)
        server.is_late = True
        said = command(*asked)
    assert said.code == 0
    assert replies_of_others(tmp_path / "run") == (CALLS, 0)
    assert sheet(tmp_path / "run")["run"]["dollars"] == pytest.approx(EACH * len(server.requests))


def test_a_server_that_repeats_nothing_is_asked_for_no_reply_again_after_a_kill(
    command: Command, tmp_path: Path, environment: dict[str, str]
) -> None:
    with SlidingServer(patience=30, slides=False) as server:
        asked = killed(server, tmp_path, environment)
        said = command(*asked)
    assert said.code == 0
    assert len(server.requests) == CALLS + 1
    assert replies_of_others(tmp_path / "run") == (CALLS, 0)
    assert "notes" not in sheet(tmp_path / "run")["run"]
    assert not (tmp_path / "run" / ".in_flight").exists()


def test_replies_that_too_few_later_calls_can_check_are_told_until_more_are_made(
    command: Command, tmp_path: Path, environment: dict[str, str]
) -> None:
    with SlidingServer(patience=60, slides=False) as server:
        asked = killed(server, tmp_path, environment)
        first = command(*asked)
        notes = sheet(tmp_path / "run")["run"]["notes"]["mine"]
        server.slides = server.is_late = True
        second = command(*asked, "-p", "criterion")
    assert (first.code, second.code) == (0, 0), second.err
    assert notes[0].startswith(f"60 replies {UNCHECKED}")
    run = sheet(tmp_path / "run")["run"]
    assert UNCHECKED not in str(run["notes"])
    assert replies_of_others(tmp_path / "run") == (run["calls"], 0)
    assert run["dollars"] == pytest.approx(EACH * len(server.requests))


def test_replies_with_ids_are_checked_as_they_come(
    command: Command, tmp_path: Path, environment: dict[str, str]
) -> None:
    with SlidingServer(patience=60, slides=False, has_id=True) as server:
        asked = killed(server, tmp_path, environment)
        assert command(*asked).code == 0
    assert len(server.requests) == CALLS + 1
    assert "notes" not in sheet(tmp_path / "run")["run"]


def test_what_is_in_doubt_stays_in_the_file_and_gives_way_to_what_is_newer(tmp_path: Path) -> None:
    first, second, *more = (content_hash(number) for number in range(ROOM + 1))
    in_flight = InFlight(tmp_path / "file")
    in_flight.doubt(first)
    in_flight.doubt(second)
    in_flight.trust([first])
    in_flight.close()
    assert InFlight(tmp_path / "file").left_unchecked() == [second]
    in_flight = InFlight(tmp_path / "file")
    for key in (first, second, *more):
        in_flight.doubt(key)
    assert set(in_flight.left_unchecked()) == {second, *more}
    in_flight.trust([second, *more])
    in_flight.close()
    assert not (tmp_path / "file").exists()


def test_condemned_replies_are_noted_even_where_trusting_the_others_raises(tmp_path: Path) -> None:
    """What a provider found is told once: the next look withdraws it, though the first broke off."""
    study = build_study(StudyConfig(judges=[f"openai/m?base_url=http://127.0.0.1:9/v1{PRICED}"]), Path())
    right, wrong = calls = list(make_plan(study).trials[:2])
    store = RunStore(tmp_path / "run.db")
    control = RunControl(RunRecord(store), RunLimits())
    withdrawals = Withdrawals(control, right.judge, calls, PriceClock(right.judge))
    provider = connect(right.judge)

    async def checked_twice() -> None:
        await provider.open()
        assert isinstance(provider, HttpProvider)
        pool = provider.client.pool
        assert pool is not None
        withdrawals.start(provider)
        for call in calls:
            await store.save_reply(call, Reply("1"), 1)
            withdrawals.doubt(call)
        pool.checked, pool.condemned = [right.presentation().trial], [wrong.presentation().trial]
        assert store.in_flight._map is not None
        store.in_flight._map.close()
        with pytest.raises(ValueError, match="mmap closed"):
            await withdrawals.collect()
        assert store.answered() == {right.key, wrong.key}
        store.in_flight.close()  # what cannot be written to is let go
        await withdrawals.collect()
        await provider.close()

    asyncio.run(checked_twice())
    assert store.answered() == {right.key}
    assert store.failures()[wrong.key].reason == REPEATED
    assert store.lost_calls() == {wrong.key: 1}
    assert [call.key for call in withdrawals.again] == [wrong.key]
    store.close()


def test_a_decision_counts_no_reply_that_was_withdrawn(
    command: Command, tmp_path: Path, environment: dict[str, str]
) -> None:
    words = "--until", "dark_current<0.65", "--cap", 20
    with SlidingServer(patience=9) as server:  # in the first look
        server.varies = True
        asked = killed(server, tmp_path, environment, *words)
        server.is_late = True
        assert command(*asked).code == 0
        assert replies_of_others(tmp_path / "run")[1] == 0
        server.slides = False
        assert command(*asked[:-1], "honest").code == 0
    mine, honest = (
        json.loads((tmp_path / name / "decision.json").read_text())["decisions"][0]["looks"][-1]
        for name in ("run", "honest")
    )
    assert mine == honest
