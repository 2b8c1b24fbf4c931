"""How long the viewer takes over a hundred thousand trials: `python benchmarks/view.py [TRIALS]`.

A small run of planted judges is measured; its trials are repeated until there are as many as wanted, each
with a key and a reply of its own. Then the pages are asked for over HTTP, and the server's time is told.
"""

from __future__ import annotations

import asyncio
import http.client
import subprocess
import sys
import tempfile
import threading
import time
from dataclasses import replace
from pathlib import Path
from urllib.parse import urlsplit

import numpy as np

from steelyard.run_folder.run_folder import RunFolder
from steelyard.run_folder.snapshot import load_plan, planned_trials
from steelyard.store.replies import StoredReply
from steelyard.trials.trial import Trial
from steelyard.trials.trials import Trials
from steelyard.web.server import Server
from steelyard.web.view.app import ViewPages

PAGES = {
    "overview": "/",
    "calls, first page": "/run/0/calls",
    "calls, one judge and probe": "/run/0/calls?judge=planted%2Ftie&probe=ladder",
    "calls, wrong ones": "/run/0/calls?outcome=wrong",
    "calls, last page": "/run/0/calls?page=999999",
    "calls, words": "/run/0/calls?text=winner",
    "calls, behind a number": "/run/0/calls?figure={figure}",
    "map": "/run/0/map",
}


def multiplied(folder: RunFolder, wanted: int) -> int:
    """Repeat the trials of a run under further replicates; return how many there are then."""
    plan = load_plan(folder)
    with folder.store(read_only=True) as store:
        replies = store.replies()
    copies = -(-wanted // len(plan.trials))
    every = [
        (replace(trial, replicate=copy), replies[trial.key])
        for copy in range(copies)
        for trial in plan.trials
    ]
    asyncio.run(_kept(folder, every))
    use = np.tile(plan.use, copies)
    whole = replace(plan, trials=Trials.of(trial for trial, _ in every), use=use)
    with folder.store() as store:
        store.save_plan(plan.study.hash, planned_trials(whole))
    return len(every)


async def _kept(folder: RunFolder, every: list[tuple[Trial, StoredReply]]) -> None:
    with folder.store() as store:
        for start in range(0, len(every), 5000):
            part = every[start : start + 5000]
            await asyncio.gather(*(store.save_reply(trial, stored.reply, 1) for trial, stored in part))


def timed(port: int, cookie: str, path: str) -> tuple[float, int]:
    """Milliseconds until the whole answer is here, and its bytes."""
    begun = time.perf_counter()
    connection = http.client.HTTPConnection("127.0.0.1", port)
    connection.request("GET", path, headers={"cookie": cookie})
    answer = connection.getresponse()
    size = len(answer.read())
    connection.close()
    assert answer.status == 200, (path, answer.status)
    return 1000 * (time.perf_counter() - begun), size


def main() -> None:
    """Make the run, open it, ask for every page five times, and print the medians."""
    wanted = int(sys.argv[1]) if len(sys.argv) > 1 else 100_000
    with tempfile.TemporaryDirectory(prefix="steelyard-view-") as scratch:
        folder = RunFolder(Path(scratch) / "run")
        judges = ["-j", "planted/tie", "-j", "planted/probit", "-p", "vacuum", "-p", "ladder"]
        script = [sys.executable, "-m", "steelyard", "measure", *judges, "--out", str(folder.path)]
        subprocess.run(script, check=True, capture_output=True)
        print(f"{multiplied(folder, wanted):,} trials, {folder.database.stat().st_size / 1e6:,.0f} MB")
        pages = ViewPages([folder.path])
        begun = time.perf_counter()
        pages.runs[0].load()
        print(f"opened in {time.perf_counter() - begun:.1f} s")
        server, ready = Server("127.0.0.1", 0), threading.Event()
        threading.Thread(target=server.serve, args=(pages.app(), lambda _: ready.set()), daemon=True).start()
        ready.wait()
        link = urlsplit(server.access.url())
        connection = http.client.HTTPConnection("127.0.0.1", server.access.port)
        connection.request("GET", f"{link.path}?{link.query}")
        cookie = (connection.getresponse().headers["set-cookie"] or "").partition(";")[0]
        figures = pages.runs[0].published.figures if pages.runs[0].published else {}
        figure = next(name for name, each in figures.items() if each.metric == "no_preference")
        for name, place in PAGES.items():
            path = place.format(figure=figure)
            begun = time.process_time()
            times = sorted(timed(server.access.port, cookie, path) for _ in range(5))
            spent = 200 * (time.process_time() - begun)
            print(f"{name:28} {times[2][0]:7.1f} ms   {spent:7.1f} CPU ms   {times[2][1] / 1000:,.0f} kB")
        server.stop()


if __name__ == "__main__":
    main()
