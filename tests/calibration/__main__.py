"""Simulate the coverage of every printed interval and write docs/calibration.json.

PYTHONPATH=tests python -m calibration [--runs N] [--more] [SHEET …]
"""

from __future__ import annotations

import argparse
from collections.abc import Iterator
from concurrent.futures import ProcessPoolExecutor
from pathlib import Path

from calibration.circumstances import circumstances
from calibration.coverage import CORRELATIONS, Counts, count, truth
from calibration.results import CELLS, FILE, SheetResults, load, save
from calibration.sheets import SHEETS

RUNS = {
    "pairs": 300,
    "binary": 300,
    "skewed": 300,
    "ordinal": 200,
    "pairs compared": 150,
    "scores compared": 300,
    "cues of texts": 300,
}
FEW = 30
"""Runs of a sheet that is named nowhere above: the joint fit takes a second a run."""
APART = ("corrected_scores", "arena_scores", "scale_worths", "rank_sets")
"""Parts of the file that other programs write."""
SLICE = 10
"""Runs that a worker takes at a time."""


def simulate(pool: ProcessPoolExecutor, sheet: str, found: SheetResults, runs: int) -> None:
    """Add so many runs to every cell of a sheet."""
    if not found.truths:
        trues = pool.map(truth, [sheet] * len(CORRELATIONS), CORRELATIONS)
        found.truths = dict(zip(CORRELATIONS, trues, strict=True))
    jobs = [(cell, part) for cell in CELLS for part in _slices(found.cells.get(cell, Counts()).runs, runs)]
    counted = pool.map(
        count,
        [sheet] * len(jobs),
        [tasks for (tasks, _), _ in jobs],
        [correlation for (_, correlation), _ in jobs],
        [found.truths[correlation] for (_, correlation), _ in jobs],
        [part for _, part in jobs],
    )
    for (cell, _), counts in zip(jobs, counted, strict=True):
        found.cells.setdefault(cell, Counts()).merge(counts)


def _slices(first: int, runs: int) -> Iterator[range]:
    for start in range(first, first + runs, SLICE):
        yield range(start, min(start + SLICE, first + runs))


def main() -> None:
    """Run the sheets that are named, or all, and write the file after each."""
    options = argparse.ArgumentParser(prog="calibration", description=__doc__)
    options.add_argument("sheets", nargs="*", choices=[[], *SHEETS], metavar="SHEET")
    options.add_argument("--runs", type=int, help="runs of each cell")
    options.add_argument("--more", action="store_true", help="add to the runs that the file holds")
    options.add_argument("--workers", type=int, default=2)
    options.add_argument("--file", type=Path, default=FILE, help="where results are held and written")
    given = options.parse_args()
    with ProcessPoolExecutor(given.workers) as pool:
        for sheet in given.sheets or SHEETS:
            body = load(given.file)
            held = body["sheets"].get(sheet) if given.more else None
            found = SheetResults.from_json(held) if held else SheetResults()
            simulate(pool, sheet, found, given.runs or RUNS.get(sheet, FEW))
            sheets = {**body["sheets"], sheet: found.to_json()}
            kept = {name: sheets[name] for name in SHEETS if name in sheets}
            kept_apart = {name: body[name] for name in APART if name in body}
            save(
                {
                    **circumstances(),
                    **kept_apart,
                    "command": "PYTHONPATH=tests python -m calibration",
                    "sheets": kept,
                },
                given.file,
            )


if __name__ == "__main__":
    main()
