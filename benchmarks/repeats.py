"""Replies of other trials where a server sends responses twice, and what it costs to keep them out.

Run: PYTHONPATH=tests .venv/bin/python benchmarks/repeats.py [CALLS] [ROUNDS]

The first table: of so many calls to a server that repeats one response in fifty within 40 ms, the replies on
disk that answer another prompt, and the calls that were made again. The second: calls a second of a server
that repeats nothing, with connections that rest and without, one after the other and in both orders, as the
median over the ratios of these pairs.
"""

from __future__ import annotations

import gc
import json
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from statistics import median

from endpoint import STANDARD, machine

import repeating_server
from repeating_server import name_of
from steelyard.providers.http import connection_pool
from steelyard.providers.http.connection_pool import ConnectionPool
from steelyard.run_folder.resume import prepare_folder
from steelyard.run_folder.run_folder import RunFolder
from steelyard.runner.limits import RunLimits
from steelyard.runner.record import RunRecord
from steelyard.runner.runner import Runner, run_async
from steelyard.study.planner import make_plan
from steelyard.study.study_file import build_study, load_config

LATENCIES = 0.0, 0.01, 0.031, 0.05
SHARE, LONGEST = 0.02, 0.04
CONNECTIONS = 16
usual = connection_pool.UNRESTED_REPLIES, ConnectionPool.rest


@contextmanager
def serving(latency: float, share: float, *, has_id: bool) -> Iterator[tuple[str, dict[str, int]]]:
    """A server in a process of its own, and what it counted, once it has ended."""
    words = [str(latency), str(share), str(LONGEST), "ids" if has_id else "none"]
    command = [sys.executable, str(Path(repeating_server.__file__)), *words]
    counted: dict[str, int] = {}
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as server:
        assert server.stdout is not None
        assert server.stdin is not None
        yield f"http://127.0.0.1:{int(server.stdout.readline())}/v1", counted
        server.stdin.close()
        counted |= json.loads(server.stdout.readline())


def run(url: str, calls: int) -> tuple[float, int, int]:
    """Calls a second, replies on disk, and those among them that answer another prompt."""
    judge = f"openai/bench?base_url={url}"
    design = {"judges": [judge], "profile": "standard", "replicates": max(1, -(-calls // STANDARD))}
    plan = make_plan(build_study(load_config(None, design), Path()))
    with tempfile.TemporaryDirectory() as place:
        folder = RunFolder(Path(place) / "run")
        with folder.locked():
            plan = prepare_folder(folder, plan)
            with folder.store() as store:
                runner = Runner(RunRecord(store), RunLimits(concurrency=CONNECTIONS))
                started = time.perf_counter()
                session = run_async(runner, lambda runner: runner.run(plan.trials))
                seconds = time.perf_counter() - started
                mine = [trial for trial in plan.trials if not trial.judge.baseline]
                replies = store.replies([trial.key for trial in mine])
                wrong = sum(
                    name_of(trial.messages[-1].content) not in replies[trial.key].reply.text for trial in mine
                )
                return session.calls / seconds, len(replies), wrong


def use_rests(is_used: bool) -> None:
    async def none(self: ConnectionPool) -> None:
        del self

    connection_pool.UNRESTED_REPLIES = usual[0] if is_used else sys.maxsize
    ConnectionPool.rest = usual[1] if is_used else none  # type: ignore[method-assign]


def main(calls: int, rounds: int) -> None:
    gc.set_threshold(50_000, 20, 20)  # as the command line does
    print(machine(), f"{CONNECTIONS} calls at the same time", sep="\n")
    for has_id in (True, False):
        for latency in LATENCIES:
            with serving(latency, SHARE, has_id=has_id) as (url, counted):
                _, replies, wrong = run(url, calls)
            again = counted["requests"] - replies
            print(
                f"{'ids' if has_id else 'none':<5} {1000 * latency:>3.0f} ms  {replies:,} replies, "
                f"{wrong} of other trials; {counted['repeats']} repeated, {again} made again",
                flush=True,
            )
    for has_id in (True, False):
        for latency in LATENCIES:
            rates: dict[bool, list[float]] = {True: [], False: []}
            with serving(latency, 0.0, has_id=has_id) as (url, _):
                for is_used in ([True, False, False, True] * rounds)[: 2 * rounds]:
                    use_rests(is_used)
                    rates[is_used].append(run(url, calls)[0])
            use_rests(True)
            rested, plain = (median(rates[is_used]) for is_used in (True, False))
            ratios = sorted(mine / other for mine, other in zip(rates[True], rates[False], strict=True))
            print(
                f"{'ids' if has_id else 'none':<5} {1000 * latency:>3.0f} ms  {rested:,.0f} calls/s with "
                f"rests, {plain:,.0f} without: ratio {median(ratios):.3f} ({ratios[0]:.3f} to "
                f"{ratios[-1]:.3f} in {rounds} pairs)",
                flush=True,
            )


if __name__ == "__main__":
    main(*(int(text) for text in (*sys.argv[1:], *("5000", "3")[len(sys.argv) - 1 :])))
