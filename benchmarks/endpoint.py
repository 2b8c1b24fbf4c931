"""Durable trials a second against one endpoint: steelyard beside a bare aiohttp loop and other clients.

Run: .venv/bin/python benchmarks/endpoint.py [CALLS] [CONNECTIONS] [ROUNDS]

All speak to the same server (20 ms an answer, a process of its own), in turns, and in several rounds of which
the medians are told; each client is a process of its own, so that its CPU seconds are its own. litellm,
inspect_ai and the openai SDK are measured where they are installed. Every client runs on the event loop that
its users have, the one of the standard library. Every client makes a few calls first, which import and open
what is to be imported and opened. Steelyard's seconds are those of a run's calls: from the first that is open
to the last that is on disk, baselines included.
"""

from __future__ import annotations

import asyncio
import gc
import json
import os
import platform
import resource
import subprocess
import sys
import tempfile
import time
from collections.abc import Awaitable, Callable
from datetime import UTC, datetime
from importlib.metadata import PackageNotFoundError, version
from importlib.util import find_spec
from pathlib import Path
from statistics import median
from typing import Any

SECONDS = 0.02
"""What the server takes for an answer."""
CLIENTS = ("aiohttp", "steelyard", "openai", "litellm", "inspect_ai")
PROMPT = "Which of the two answers is better? " * 30
"""As long as a rendered prompt of the catalogue."""

STANDARD = 1200
"""Calls of a standard study without repeats."""

Call = Callable[[], Awaitable[Any]]


def spent() -> float:
    """CPU seconds of this process so far."""
    used = resource.getrusage(resource.RUSAGE_SELF)
    return used.ru_utime + used.ru_stime


async def in_turns(call: Call, calls: int, connections: int) -> None:
    """So many workers share the calls."""
    left = iter(range(calls))

    async def worker() -> None:
        for _ in left:
            await call()

    await asyncio.gather(*(worker() for _ in range(connections)))


async def bare(url: str, calls: int, connections: int) -> tuple[float, float]:
    """aiohttp alone: post, read, parse; nothing is kept."""
    import aiohttp

    body = {"model": "bench", "messages": [{"role": "user", "content": PROMPT}], "max_tokens": 256}
    async with aiohttp.ClientSession(connector=aiohttp.TCPConnector(limit=0)) as session:

        async def call() -> None:
            async with session.post(f"{url}/chat/completions", json=body) as response:
                json.loads(await response.text())

        return await timed(call, calls, connections)


async def openai_sdk(url: str, calls: int, connections: int) -> tuple[float, float]:
    """The openai SDK."""
    from openai import AsyncOpenAI

    client = AsyncOpenAI(base_url=url, api_key="none")

    async def call() -> None:
        await client.chat.completions.create(
            model="bench", messages=[{"role": "user", "content": PROMPT}], max_tokens=256
        )

    return await timed(call, calls, connections)


async def litellm_client(url: str, calls: int, connections: int) -> tuple[float, float]:
    """litellm."""
    import litellm

    async def call() -> None:
        await litellm.acompletion(
            model="openai/bench",
            messages=[{"role": "user", "content": PROMPT}],
            api_base=url,
            api_key="none",
            max_tokens=256,
        )

    return await timed(call, calls, connections)


async def inspect_client(url: str, calls: int, connections: int) -> tuple[float, float]:
    """inspect_ai's model interface."""
    from inspect_ai.model import GenerateConfig, get_model

    config = GenerateConfig(max_connections=connections, max_tokens=256)
    model = get_model("openai/bench", base_url=url, api_key="none", config=config, responses_api=False)

    async def call() -> None:
        await model.generate(PROMPT)

    return await timed(call, calls, connections)


async def timed(call: Call, calls: int, connections: int) -> tuple[float, float]:
    """Seconds and CPU seconds, after a few calls that open what is to be opened."""
    await in_turns(call, min(connections, calls), connections)
    started, before = time.perf_counter(), spent()
    await in_turns(call, calls, connections)
    return time.perf_counter() - started, spent() - before


def steelyard(url: str, calls: int, connections: int) -> tuple[float, float, int]:
    """A study of about so many calls, run into a folder; seconds, CPU seconds and calls on disk."""
    gc.set_threshold(50_000, 20, 20)  # as the command line does
    standard = {"profile": "standard", "replicates": max(1, round(calls / STANDARD))}
    run_study(url, connections, {"profile": "quick", "probes": ["vacuum"]})
    return run_study(url, connections, standard)


def run_study(url: str, connections: int, design: dict[str, Any]) -> tuple[float, float, int]:
    """Seconds, CPU seconds and calls on disk of a study."""
    from steelyard.run_folder.resume import prepare_folder
    from steelyard.run_folder.run_folder import RunFolder
    from steelyard.runner.limits import RunLimits
    from steelyard.runner.record import RunRecord
    from steelyard.runner.runner import Runner, run_async
    from steelyard.study.planner import make_plan
    from steelyard.study.study_file import build_study, load_config

    overrides = {"judges": [f"openai/bench?base_url={url}"], **design}
    plan = make_plan(build_study(load_config(None, overrides), Path()))
    with tempfile.TemporaryDirectory() as place:
        folder = RunFolder(Path(place) / "run")
        with folder.locked():
            plan = prepare_folder(folder, plan)
            with folder.store() as store:
                runner = Runner(RunRecord(store), RunLimits(concurrency=connections))
                started, before = time.perf_counter(), spent()
                session = run_async(runner, lambda runner: runner.run(plan.trials))
                return time.perf_counter() - started, spent() - before, session.calls


def measured(client: str, url: str, calls: int, connections: int) -> tuple[float, float, int]:
    """One client, in this process."""
    if client == "steelyard":
        return steelyard(url, calls, connections)
    clients = {
        "aiohttp": bare,
        "openai": openai_sdk,
        "litellm": litellm_client,
        "inspect_ai": inspect_client,
    }
    return (*asyncio.run(clients[client](url, calls, connections)), calls)


def main(calls: int, connections: int, rounds: int) -> None:
    """Every client that is there, in turns."""
    here = Path(__file__)
    server = subprocess.Popen(
        [sys.executable, here.with_name("endpoint_server.py"), str(SECONDS)],
        stdout=subprocess.PIPE,
        text=True,
    )
    try:
        assert server.stdout is not None
        url = f"http://127.0.0.1:{int(server.stdout.readline())}/v1"
        print(machine(), f"{connections} connections, {SECONDS * 1000:g} ms an answer", sep="\n")
        clients = [name for name in CLIENTS if find_spec(name)]
        rates: dict[str, list[float]] = {name: [] for name in clients}
        cpu: dict[str, list[float]] = {name: [] for name in clients}
        for client in clients * rounds:
            command = [sys.executable, str(here), client, url, str(calls), str(connections)]
            done = subprocess.run(
                command, capture_output=True, text=True, env={**os.environ, "OPENAI_API_KEY": "none"}
            )
            if done.returncode:
                print(f"{client:<12} failed: {done.stderr.strip().splitlines()[-1]}")
                continue
            seconds, spent_here, made = json.loads(done.stdout.splitlines()[-1])
            rates[client].append(made / seconds)
            cpu[client].append(1000 * spent_here / made)
        for client in (name for name in clients if rates[name]):
            rate, each = median(rates[client]), median(cpu[client])
            print(
                f"{client:<12} {rate:>7,.0f} calls/s  ratio {rate / median(rates[CLIENTS[0]]):.2f}  "
                f"CPU {each:.2f} ms a call, ratio {each / median(cpu[CLIENTS[0]]):.2f}"
            )
    finally:
        server.kill()


def machine() -> str:
    """What the figures were measured on."""
    names = []
    for package in ("aiohttp", "openai", "litellm", "inspect_ai"):
        try:
            names.append(f"{package} {version(package)}")
        except PackageNotFoundError:
            continue
    load = os.getloadavg()[0]
    return (
        f"{datetime.now(UTC):%Y-%m-%d}, {platform.machine()}, {os.cpu_count()} cores, load {load:.1f}, "
        f"Python {platform.python_version()}, {', '.join(names)}"
    )


if __name__ == "__main__":
    if len(sys.argv) > 1 and sys.argv[1] in CLIENTS:
        print(json.dumps(measured(sys.argv[1], sys.argv[2], int(sys.argv[3]), int(sys.argv[4]))))
    else:
        main(*(int(text) for text in (*sys.argv[1:], *("4800", "128", "3")[len(sys.argv) - 1 :])))
