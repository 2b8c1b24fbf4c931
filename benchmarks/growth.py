"""How time, money, disk and memory of a run grow with its trials, up to ten million.

    python benchmarks/growth.py [TRIALS]

What the driver does is measured here, on a planted judge that answers at once: trials a second, bytes on disk
and in memory a trial. What the endpoint does is simulated: calls of uneven length on so many places, some of
which fail and are made again, on nodes of which some are lost with all that is in flight on them.
"""

from __future__ import annotations

import asyncio
import heapq
import os
import platform
import random
import sys
import tempfile
import time
from dataclasses import dataclass
from pathlib import Path

from steelyard.run_folder.run_folder import RunFolder
from steelyard.runner.limits import RunLimits
from steelyard.runner.prices import price_at
from steelyard.runner.record import RunRecord
from steelyard.runner.runner import Runner
from steelyard.study.planner import make_plan
from steelyard.study.study_file import build_study, load_config

TOKENS = (400, 12)
"""Of a call, in and out."""
MODEL = ("openai", "gpt-4o-mini")
SIZES = (10**3, 10**4, 10**5, 10**6, 10**7)
SIMULATED = 10**5
"""Calls of the largest simulation; beyond it time grows as the calls do, which the table shows."""


@dataclass(frozen=True)
class Driver:
    """What one trial costs the process that keeps it."""

    rate: float
    """Trials a second, planned, answered and on disk."""
    disk: float
    """Bytes."""
    memory: float
    """Bytes."""


@dataclass(frozen=True)
class Endpoint:
    """Where calls go."""

    nodes: int
    """Machines that make calls."""
    places: int
    """Calls in flight on each."""
    latency: float = 0.8
    """Seconds of a call, in the middle; the slowest twentieth takes three times as long."""
    failing: float = 0.01
    """Share of calls that are made again."""
    losses: float = 0.1
    """Nodes lost in an hour, each back after a minute."""


def measured(replicates: int) -> Driver:
    """The driver, on a judge that answers at once."""
    config = load_config(None, {"judges": ["planted/probit"], "profile": "quick", "replicates": replicates})
    study = build_study(config, Path())
    with tempfile.TemporaryDirectory() as name:
        folder = RunFolder(Path(name) / "run")
        folder.path.mkdir()
        before, started = _resident(), time.perf_counter()
        plan = make_plan(study)
        with folder.store() as store:
            asyncio.run(Runner(RunRecord(store), RunLimits(preflight=False)).run(plan.trials))
        seconds, trials = time.perf_counter() - started, len(plan.trials)
        size = sum(file.stat().st_size for file in folder.path.iterdir())
        return Driver(trials / seconds, size / trials, max(0.0, _resident() - before) / trials)


def _resident() -> float:
    """Bytes of this process."""
    return int(Path("/proc/self/statm").read_text().split()[1]) * os.sysconf("SC_PAGE_SIZE")


def simulated(calls: int, endpoint: Endpoint, seed: int = 1) -> tuple[float, int]:
    """Seconds until every call has its reply, and the calls that were made for it."""
    die = random.Random(seed)
    free = [(0.0, node) for node in range(endpoint.nodes) for _ in range(endpoint.places)]
    heapq.heapify(free)
    down = {node: die.expovariate(endpoint.losses / 3600) for node in range(endpoint.nodes)}
    open_calls, made, end = calls, 0, 0.0
    while open_calls:
        now, node = heapq.heappop(free)
        made += 1
        done = now + endpoint.latency * die.lognormvariate(0.0, 0.668)
        if done > down[node]:
            # The node is lost before the reply: the call is made again, and the node is back in a minute.
            heapq.heappush(free, (down[node] + 60.0, node))
            if now > down[node]:
                down[node] = now + die.expovariate(endpoint.losses / 3600)
            continue
        heapq.heappush(free, (done, node))
        if die.random() >= endpoint.failing:
            open_calls -= 1
            end = max(end, done)
    return end, made


def main() -> None:
    """Measure the driver, simulate the rest, and print the table."""
    replicates = max(1, int(sys.argv[1]) // 448) if len(sys.argv) > 1 else 60
    driver = measured(replicates)
    price = price_at(*MODEL, {})
    assert price is not None
    dollars = price.dollars(*TOKENS)
    print(f"{platform.machine()}, {os.cpu_count()} cores, Python {platform.python_version()}")
    sizes = f"{driver.disk:,.0f} bytes on disk, {driver.memory:,.0f} in memory"
    print(f"driver: {driver.rate:,.0f} trials/s, {sizes}\n")
    shapes = {"1 node x 64": Endpoint(1, 64), "4 x 128": Endpoint(4, 128), "16 x 256": Endpoint(16, 256)}
    columns = f"{'dollars':>12}{'batch':>10}{'disk':>10}{'memory':>10}"
    print(f"{'calls':>12}" + "".join(f"{name:>16}" for name in shapes) + columns)
    paced = {name: simulated(SIMULATED, shape) for name, shape in shapes.items()}
    for calls in SIZES:
        cells = ""
        for name, shape in shapes.items():
            seconds, _ = simulated(calls, shape) if calls <= SIMULATED else paced[name]
            waited = seconds * max(1.0, calls / SIMULATED)
            cells += f"{_clock(max(waited, calls / driver.rate)):>16}"
        money = f"{calls * dollars:>12,.2f}{calls * dollars / 2:>10,.2f}"
        print(f"{calls:>12,}{cells}{money}{_size(calls * driver.disk):>10}{_size(calls * driver.memory):>10}")
    again = max(made for _, made in paced.values()) / SIMULATED - 1
    print(f"\ncalls made again, failures and lost nodes together: {100 * again:.2f} % at most")


def _clock(seconds: float) -> str:
    if seconds < 120:
        return f"{seconds:.0f} s"
    return f"{seconds / 60:.0f} min" if seconds < 7200 else f"{seconds / 3600:.1f} h"


def _size(count: float) -> str:
    return f"{count / 1e6:.0f} MB" if count < 1e9 else f"{count / 1e9:.1f} GB"


if __name__ == "__main__":
    main()
