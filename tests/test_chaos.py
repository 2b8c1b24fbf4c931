"""A server that does everything wrong: each trial ends in one class, they add up, and nothing is left."""

from __future__ import annotations

import asyncio
import json
import resource
import sqlite3
import subprocess
import sys
from collections import Counter
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

import pytest

import chaos_server
from steelyard.commands.measure import measure
from steelyard.run_folder.run_folder import RunFolder
from steelyard.runner.limits import RunLimits
from steelyard.runner.record import RunRecord
from steelyard.runner.runner import Runner
from steelyard.study.planner import make_plan
from steelyard.study.study_file import build_study, load_config

MEGABYTE = 1024 if sys.platform != "darwin" else 1024 * 1024
"""In the units of `ru_maxrss`."""
CAUGHT = {"garbled_reply", "connection_dropped", "timeout", "server_error", "rate_limited", "bad_request"}
"""Reasons that a trial may have for having no reply."""


@pytest.fixture(scope="module")
def chaos() -> Iterator[str]:
    """The address of a running server."""
    command = [sys.executable, str(Path(chaos_server.__file__))]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as server:
        assert server.stdout is not None
        assert server.stdin is not None
        yield f"http://127.0.0.1:{int(server.stdout.readline())}/v1"
        server.stdin.close()


def run(
    url: str, folder: RunFolder, replicates: int, attempts: int = 2
) -> tuple[int, Counter[str], set[str]]:
    """Trials planned, how they ended, and tasks that are left when the last one is settled."""
    judge = f"openai/chaos?base_url={url}&reader=choice&temperature=1&seed=1"
    overrides = {"judges": [judge], "profile": "quick", "replicates": replicates, "seed": 3}
    study = build_study(load_config(None, overrides), Path())
    limits = RunLimits(
        concurrency=32, attempts=2, backoff=0.001, call_timeout=1.0, failure_threshold=1000, preflight=False
    )
    left = set[str]()
    plan = make_plan(study)
    folder.path.mkdir()
    with folder.store() as store:
        record = RunRecord(store)
        runner = Runner(record, limits)

        async def work() -> None:
            await runner.run(plan.trials)
            left.update(str(task) for task in asyncio.all_tasks() - {asyncio.current_task()})

        asyncio.run(work())
        mine = [trial for trial in plan.trials if not trial.judge.baseline]
        replies, failures = store.replies([t.key for t in mine]), store.failures()
        assert replies.keys().isdisjoint(failures)
        ends = Counter("answered" if trial.key in replies else failures[trial.key].reason for trial in mine)
        assert store.verify() == []
        assert runner.session.calls == ends["answered"]
        assert runner.session.failures == {name: n for name, n in ends.items() if name != "answered"}
    return len(mine), ends, left


def test_every_trial_ends_in_one_class(chaos: str, tmp_path: Path) -> None:
    """Two tries each: what comes of a trial is what the die of the server says of its two requests."""
    planned, ends, left = run(chaos, RunFolder(tmp_path / "run"), replicates=2)
    assert sum(ends.values()) == planned
    assert set(ends) <= {"answered", *CAUGHT}
    assert ends["answered"] > planned / 2
    assert len(set(ends) - {"answered"}) >= 4
    assert not left


@pytest.mark.calibrate
def test_fifty_thousand_trials_in_the_same_memory(chaos: str, tmp_path: Path) -> None:
    """After a first part, so that what is loaded once is loaded; the plan itself grows with its trials."""
    run(chaos, RunFolder(tmp_path / "first"), replicates=4)
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    planned, ends, left = run(chaos, RunFolder(tmp_path / "run"), replicates=350)
    assert planned >= 50_000
    assert sum(ends.values()) == planned
    assert not left
    grown = (resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before) / MEGABYTE
    assert grown < 300, f"{grown:.0f} MB"


def test_lying_counts_are_no_counts(chaos: str, tmp_path: Path) -> None:
    """Whatever a server says it used, the sheet's tokens are whole numbers from 0 and the money is finite."""
    judge = f"openai/chaos?base_url={chaos}&reader=choice&input_price=1&output_price=1"
    overrides = {"judges": [judge], "profile": "quick", "probes": ["vacuum"], "seed": 3}
    study = build_study(load_config(None, overrides), Path())
    folder = RunFolder(tmp_path / "run")
    limits = RunLimits(concurrency=8, attempts=6, backoff=0.001, call_timeout=2.0, preflight=False)
    done = measure(study, folder, limits)
    assert 0 <= done.session.dollars < 1
    with closing(sqlite3.connect(folder.path / "run.db")) as connection, connection:
        bodies = [json.loads(body) for (body,) in connection.execute("SELECT body FROM replies")]
    counts = [body["usage"][name] for body in bodies for name in ("input_tokens", "output_tokens")]
    assert counts
    assert all(isinstance(count, int) and 0 <= count < 10**9 for count in counts)
