"""Recorded verdicts to a full datasheet: seconds by stage, and peak memory.

Run: .venv/bin/python benchmarks/import_verdicts.py [CALLS] [KIND]
KIND is `natural` (pairs as met in use, the default), `mixed` (vacuum, ladder and natural pairs) or `scores`
(single texts as they are and edited, on a scale from 1 to 5). Ten judges see every pair in both orders, or
both texts; they belong to 500 tasks. Careful reading, which words what is wrong with a line, is timed on a
tenth of the same calls beside decoding.
"""

from __future__ import annotations

import json
import os
import platform
import random
import resource
import sys
import tempfile
import time
from collections.abc import Iterator
from datetime import UTC, datetime
from importlib.metadata import version
from pathlib import Path
from typing import Any

from steelyard.commands.import_verdicts import ImportFolder, import_verdicts
from steelyard.importing.jsonl import parse_object, text_lines
from steelyard.importing.pairs import read_pairs

JUDGES = 10
TASKS = 500
MIXED = (
    *((0.04, "vacuum", kind) for kind in ("empty", "blank", "identical")),
    (0.18, "ladder", "same_subset"),
    (0.30, "ladder", "prefix"),
    (0.40, "position", "natural"),
)
NATURAL = ((1.0, "position", "natural"),)


def pairs(
    count: int, shares: tuple[tuple[float, str, str], ...], chance: random.Random
) -> Iterator[dict[str, Any]]:
    """What the calls are about."""
    for share, probe, kind in shares:
        for number in range(round(share * count)):
            task = f"t{chance.randrange(TASKS):03d}"
            facts: dict[str, Any] = {
                "probe": probe,
                "task": task,
                "pair": f"{task}-{kind}-{number}",
                "kind": kind,
            }
            if kind == "prefix":
                facts |= {"delta": chance.randint(1, 5), "better": chance.choice("uv")}
            elif kind == "natural":
                facts["better"] = chance.choice(("u", "v", "tie"))
            yield facts


def as_objects(path: Path) -> Iterator[tuple[str, dict[str, Any]]]:
    """The lines of a file as a reader of tables gives them."""
    for number, line in enumerate(text_lines(path), start=1):
        yield f"{path}, line {number}", parse_object(f"{path}, line {number}", line)


def write(path: Path, calls: int, kind: str) -> None:
    """A file of recorded calls."""
    chance = random.Random(7)
    shown = list(pairs(calls // JUDGES // 2, MIXED if kind == "mixed" else NATURAL, chance))
    answers, weights = ("1", "2", "tie", "unreadable"), (40, 30, 28, 2)
    with path.open("w", encoding="utf-8") as stream:
        for judge in range(JUDGES):
            for facts in shown:
                for first in "uv":
                    answer = chance.choices(answers, weights)[0]
                    line = {
                        "judge": f"judge-{judge}",
                        "protocol": "base",
                        **facts,
                        "first": first,
                        "answer": answer,
                    }
                    stream.write(json.dumps({**line, "replicate": 0}) + "\n")


def write_scores(path: Path, calls: int) -> None:
    """A file of recorded scores."""
    chance = random.Random(7)
    with path.open("w", encoding="utf-8") as stream:
        for judge in range(JUDGES):
            for item in range(calls // JUDGES // 2):
                for variant in ("original", "perturbed"):
                    label = item % 5 + 1
                    line = {
                        "judge": f"judge-{judge}",
                        "probe": "format_invariance",
                        "item": f"i{item}",
                        "variant": variant,
                        "expected": label,
                        "task": f"t{item % TASKS:03d}",
                        "score": min(5, max(1, label + chance.choice((-1, 0, 0, 1)))),
                    }
                    stream.write(json.dumps(line) + "\n")


class Clock:
    """Prints the seconds since it was last asked."""

    def __init__(self) -> None:
        self.wall, self.work = time.perf_counter(), time.process_time()
        self.first = self.wall

    def tell(self, stage: str) -> float:
        wall, work = time.perf_counter(), time.process_time()
        print(f"{stage:<44}{wall - self.wall:8.2f} s{work - self.work:8.2f} s of CPU")
        spent, self.wall, self.work = work - self.work, wall, work
        return spent


def main() -> None:
    calls = int(sys.argv[1]) if len(sys.argv) > 1 else 1_000_000
    kind = sys.argv[2] if len(sys.argv) > 2 else "natural"
    told = ", ".join(f"{name} {version(name)}" for name in ("numpy", "pydantic", "msgspec"))
    print(
        f"{datetime.now(UTC):%Y-%m-%d}, {platform.machine()}, {os.cpu_count()} cores, "
        f"load {os.getloadavg()[0]:.1f}"
    )
    print(f"Python {platform.python_version()}, {told}, {calls:,} calls, {kind} pairs")
    with tempfile.TemporaryDirectory() as folder:
        path, tenth = Path(folder, "calls.jsonl"), Path(folder, "tenth.jsonl")
        if kind == "scores":
            write_scores(path, calls)
        else:
            write(path, calls, kind)
            write(tenth, calls // 10, kind)
        clock = Clock()
        imported = import_verdicts([path], "benchmark")
        clock.tell(f"reading and estimates ({len(imported.datasheet.estimates):,} figures)")
        ImportFolder(Path(folder, "sheet")).write(imported)
        clock.tell("writing calls, JSON, Markdown and HTML")
        peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
        print(f"{'all':<44}{time.perf_counter() - clock.first:8.2f} s, peak memory {peak:,.0f} MB")
        if kind == "scores":
            return
        read_pairs([tenth], as_objects)
        careful = clock.tell("a tenth, each line read carefully")
        read_pairs([tenth])
        fast = clock.tell("a tenth, lines decoded")
        print(f"ratio {careful / fast:.1f}")


if __name__ == "__main__":
    main()
