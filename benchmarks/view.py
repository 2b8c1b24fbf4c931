"""How long the viewer takes over a hundred thousand trials: `python benchmarks/view.py [TRIALS]`.

A small run of planted judges is measured; its trials are repeated until there are as many as wanted, each
with a key and a reply of its own. Then the pages are asked for over HTTP, and the server's time is told.
`python benchmarks/view.py bundle` measures the pages as files for a study of about 7,000 trials, and
`python benchmarks/view.py votes [TEXTS]` a vote in Chromium until the next text is on the screen.
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

from steelyard.review.session import ReviewSession
from steelyard.run_folder.run_folder import RunFolder
from steelyard.run_folder.snapshot import load_plan, planned_trials
from steelyard.store.trials import StoredReply
from steelyard.trials.trial import Trial
from steelyard.trials.trials import Trials
from steelyard.web.bundle import write_bundle
from steelyard.web.review_app import ReviewPages
from steelyard.web.server import Server
from steelyard.web.view_app import ViewPages

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


def bundle() -> None:
    """Five judges at standard size, as files: how many, how large, how long."""
    with tempfile.TemporaryDirectory(prefix="steelyard-bundle-") as scratch:
        run, out = Path(scratch) / "run", Path(scratch) / "pages"
        names = ("probit?name=a", "probit?name=b&s=2", "first", "tie", "coin?name=toss")
        judges = [word for name in names for word in ("-j", f"planted/{name}")]
        script = [sys.executable, "-m", "steelyard", "measure", *judges, "--profile", "standard"]
        subprocess.run([*script, "--out", str(run)], check=True, capture_output=True)
        trials = len(load_plan(RunFolder(run)).trials)
        begun, spent = time.perf_counter(), time.process_time()
        count = write_bundle([run], out)
        seconds, spent = time.perf_counter() - begun, time.process_time() - spent
        size = sum(file.stat().st_size for file in out.rglob("*") if file.is_file()) / 1e6
        print(f"{trials:,} trials: {count} files, {size:.1f} MB, {seconds:.1f} s, {spent:.1f} CPU s")


NEXT_TEXT = """async () => {
  const before = pane.dataset.item, begun = performance.now();
  accept.click();
  while (document.getElementById("pane")?.dataset.item === before) await new Promise(requestAnimationFrame);
  return performance.now() - begun;
}"""


def votes(texts: int, count: int = 20) -> None:
    """Accept text after text in a browser: the clock of the page, and the server's CPU."""
    sys.path.insert(0, str(Path(__file__).parents[1] / "tests"))
    from browsers import chromium, opened
    from review_sessions import serving, written_folder

    with tempfile.TemporaryDirectory(prefix="steelyard-votes-") as scratch:
        session = ReviewSession(written_folder(Path(scratch) / "run", texts // 2).path, waits_for_file=False)
        with (
            chromium() as browser,
            serving(lambda _: ReviewPages(session, "Ada").app()) as server,
            opened(browser, server.access.url()) as page,
        ):
            page.locator("#accept").wait_for()
            page.evaluate(NEXT_TEXT)
            spent = time.process_time()
            times = sorted(page.evaluate(NEXT_TEXT) for _ in range(count))
            spent = 1000 * (time.process_time() - spent) / count
        session.close()
        print(f"{texts:,} texts: {times[count // 2]:.0f} ms to the next text (median of {count}), ", end="")
        print(f"at most {times[-1]:.0f} ms; {spent:.0f} CPU ms of this process")


def main() -> None:
    """Measure what the first argument names."""
    mode = sys.argv[1] if len(sys.argv) > 1 else "100000"
    if mode == "bundle":
        bundle()
    elif mode == "votes":
        votes(int(sys.argv[2]) if len(sys.argv) > 2 else 5000)
    else:
        pages(int(mode))


def pages(wanted: int) -> None:
    """Make the run, open it, ask for every page five times, and print the medians."""
    with tempfile.TemporaryDirectory(prefix="steelyard-view-") as scratch:
        folder = RunFolder(Path(scratch) / "run")
        judges = ["-j", "planted/tie", "-j", "planted/probit", "-p", "vacuum", "-p", "ladder"]
        script = [sys.executable, "-m", "steelyard", "measure", *judges, "--out", str(folder.path)]
        subprocess.run(script, check=True, capture_output=True)
        print(f"{multiplied(folder, wanted):,} trials, {folder.database.stat().st_size / 1e6:,.0f} MB")
        viewer = ViewPages([folder.path])
        begun = time.perf_counter()
        viewer.runs[0].load()
        print(f"opened in {time.perf_counter() - begun:.1f} s")
        server, ready = Server("127.0.0.1", 0), threading.Event()
        threading.Thread(target=server.serve, args=(viewer.app(), lambda _: ready.set()), daemon=True).start()
        ready.wait()
        link = urlsplit(server.access.url())
        connection = http.client.HTTPConnection("127.0.0.1", server.access.port)
        connection.request("GET", f"{link.path}?{link.query}")
        cookie = (connection.getresponse().headers["set-cookie"] or "").partition(";")[0]
        figures = viewer.runs[0].published.figures if viewer.runs[0].published else {}
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
