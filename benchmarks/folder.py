"""Plans and run folders of growing size: CPU seconds and peak memory of `plan`, `measure` and `report`.

Run: .venv/bin/python benchmarks/folder.py [TRIALS …]     10,000 and 100,000 trials unless told otherwise

Every command is a process of its own, so that its seconds and its memory are its own. The judge is planted:
it answers at once and costs nothing, so all that is measured is ours. A folder of a million trials takes
some minutes to be made and about 2 GB.
"""

from __future__ import annotations

import json
import os
import platform
import subprocess
import sys
import tempfile
from datetime import UTC, datetime
from pathlib import Path

JUDGE = "planted/probit?s=0.8&beta=0.4&tau=0.6&sigma=0.7&lapse=0.02"
PER_REPLICATE = 12_096
"""Trials of one judge and the baselines in the full profile, without repeats."""
PLANNED = ("openai/gpt-4o", "openai/gpt-4.1", "anthropic/claude-opus-4-5")
RUN = """
import json, resource, subprocess, sys, time
started = time.perf_counter()
done = subprocess.run(sys.argv[1:], stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True)
used = resource.getrusage(resource.RUSAGE_CHILDREN)
spent = time.perf_counter() - started, used.ru_utime + used.ru_stime, used.ru_maxrss / 1024
print(json.dumps([done.returncode, done.stderr[-300:], *spent]))
"""


def steelyard(what: str, *arguments: str) -> None:
    """One command in a process of its own, and a line about it."""
    command = [sys.executable, "-c", RUN, sys.executable, "-m", "steelyard", *arguments]
    code, told, seconds, cpu, memory = json.loads(subprocess.check_output(command, text=True))
    if code:
        raise SystemExit(f"{what}: {told}")
    print(f"{what:<44}{seconds:8.1f} s{cpu:8.1f} s of CPU{memory:8,.0f} MB", flush=True)


def main(sizes: list[int]) -> None:
    """The plan of a study for three vendors' models, then folders of these sizes."""
    print(
        f"{datetime.now(UTC):%Y-%m-%d}, {platform.machine()}, {os.cpu_count()} cores, "
        f"load {os.getloadavg()[0]:.1f}, Python {platform.python_version()}"
    )
    with tempfile.TemporaryDirectory() as place:
        named = [word for judge in PLANNED for word in ("--judge", judge)]
        out = str(Path(place, "planned"))
        steelyard("start and end", "--version")
        steelyard(
            "plan, 34,560 calls", "plan", *named, "--profile", "full", "--replicates", "3", "--out", out
        )
        for size in sizes:
            folder, repeats = str(Path(place, str(size))), max(1, round(size / PER_REPLICATE))
            study = ("--judge", JUDGE, "--profile", "full", "--replicates", str(repeats), "--out", folder)
            told = f"{repeats * PER_REPLICATE:,} trials"
            steelyard(f"measure, {told}", "measure", *study)
            steelyard(f"report, {told}", "report", folder)
            steelyard(f"report --verify, {told}", "report", folder, "--verify")


if __name__ == "__main__":
    main([int(text) for text in sys.argv[1:]] or [10_000, 100_000])
