"""Coverage on real verdicts: labels are drawn repeatedly from people's votes, and all votes are the truth.

PYTHONPATH=tests python -m calibration.arena_scores [--runs N]; needs the Arena comparisons.
"""

from __future__ import annotations

import argparse
import csv
from collections.abc import Iterator, Sequence
from dataclasses import replace
from functools import cache
from typing import Any

import numpy as np

from calibration.circumstances import circumstances
from calibration.results import load, save
from planted_frames import Draw, Tally, labelled_frame
from published_data import published
from steelyard.errors import DataError
from steelyard.estimation.designs import LabelDesign, corrected, labels_only
from steelyard.estimation.frame import Frame
from steelyard.survey.estimate import _from_elsewhere

ARENA = published("arena_ranking") / "comparisons.csv"
JUDGES = ("gpt-4-0125-preview", "claude-3-opus-20240229", "gpt-3.5-turbo")
SYSTEM = "gpt-4"
WON, WINS = "won outright", "wins, a tie is half"
LABELS = (60, 200)
JUDGED = 1000
"""Comparisons that are judged where the claim is about the population: all others are unseen."""
RUNS = 1000
DESIGNS = (
    (LabelDesign.RANDOM, False),
    (LabelDesign.RANDOM, True),
    (LabelDesign.BY_VERDICT, False),
    (LabelDesign.ODDS, False),
    (LabelDesign.ELSEWHERE, False),
)


@cache
def votes(judge: str, quantity: str) -> Draw:
    """People's votes and the judge's on every comparison of one system, from its side."""
    ties = 0.5 if quantity == WINS else 0.0
    with ARENA.open(encoding="utf-8", newline="") as stream:
        rows = [row for row in csv.DictReader(stream) if SYSTEM in (row["model_a"], row["model_b"])]
    side = ["a" if row["model_a"] == SYSTEM else "b" for row in rows]

    def points(rater: str) -> np.ndarray:
        said = [row[rater] for row in rows]
        return np.array(
            [1.0 if one == own else 0.0 if one in "ab" else ties for one, own in zip(said, side, strict=True)]
        )

    return points("human"), points(judge), np.arange(len(rows))


def cells() -> Iterator[tuple[str, str, LabelDesign, bool, int]]:
    for judge in JUDGES:
        for quantity in (WON, WINS):
            for design, population in DESIGNS:
                if design is not LabelDesign.ELSEWHERE or quantity == WON:
                    yield from ((judge, quantity, design, population, labels) for labels in LABELS)


def count(
    judge: str, quantity: str, design: LabelDesign, population: bool, labels: int, runs: int
) -> tuple[Tally, float]:
    """Intervals that hold the truth, and their mean half-width."""
    y, f, number = votes(judge, quantity)
    rng = np.random.default_rng([JUDGES.index(judge), len(quantity), labels])
    tally, widths = Tally(), []
    for _ in range(runs):
        alone, truth = None, float(y.mean())
        try:
            if design is LabelDesign.ELSEWHERE:
                frame, target, truth = _balanced(y, f, labels, rng)
                figure = _from_elsewhere("arena", frame, target)
            else:
                seen = rng.permutation(len(y))[: JUDGED if population else len(y)]
                drawn = y[seen], f[seen], number[seen]
                frame = labelled_frame(drawn, design, labels, rng, (0.0, 1.0))
                frame = replace(frame, of_population=population)
                figure, alone = corrected(frame, design), labels_only(frame)
        except DataError:  # refused: nothing is claimed
            continue
        figure = figure.within((0.0, 1.0))
        widths.append(figure.half_width or 0.0)
        tally.add(figure, alone, truth)
    return tally, float(np.mean(widths)) if widths else float("nan")


def _balanced(
    y: np.ndarray, f: np.ndarray, labels: int, rng: np.random.Generator
) -> tuple[Frame, Frame, float]:
    """As many labels of either kind, and the other comparisons as those to be judged."""
    some = np.concatenate([rng.permutation(np.flatnonzero(y == kind))[: labels // 2] for kind in (0, 1)])
    people = np.full(len(y), np.nan)
    people[some] = y[some]
    frame = Frame(f, people, np.arange(len(y)))
    return frame, frame.filter(~frame.labelled), float(np.delete(y, some).mean())


def main(arguments: Sequence[str] | None = None) -> None:
    """Write the coverage of every cell to docs/calibration.json."""
    options = argparse.ArgumentParser(prog="calibration.arena_scores", description=__doc__)
    options.add_argument("--runs", type=int, default=RUNS)
    runs = options.parse_args(arguments).runs
    rows: list[dict[str, Any]] = []
    for judge, quantity, design, population, labels in cells():
        tally, width = count(judge, quantity, design, population, labels, runs)
        of = "population" if population else "items"
        told = {"judge": judge, "quantity": quantity, "design": str(design), "of": of, "labels": labels}
        rows.append({**told, "given": tally.given, "held": tally.held, "half_width": round(width, 3)})
        print(f"{', '.join(map(str, told.values()))}: {tally.coverage:.3f} ± {width:.3f}", flush=True)
    save({**load(), "arena_scores": {**circumstances(), "runs": runs, "rows": rows}})


if __name__ == "__main__":
    main()
