"""Simulate the worth of cues on single texts, on planted raters over clusters that differ.

PYTHONPATH=tests python -m calibration.level_worth [--runs N]
"""

from __future__ import annotations

import argparse
from collections.abc import Iterable
from dataclasses import dataclass

import numpy as np

from calibration.worth import CONTEXT, WorthTally
from steelyard.core.arrays import Floats
from steelyard.metrics.estimate import Estimate
from steelyard.metrics.instrument.crossing import Moves, Ratings
from steelyard.metrics.instrument.level_worth import level_worth
from steelyard.metrics.instrument.worth_estimates import ALLOWED, WORTH
from steelyard.metrics.multiplicity import adjust_estimates

LOW, HIGH = 1, 9
CUES = ("padding", "authority", "bullets", "confidence")
CLUSTERS, PER_CLUSTER = 24, 3
WORTH_SPREAD, LEVEL_SPREAD = 0.3, 0.5
"""How clusters differ: standard deviations of the worth and of the judge's severity, in levels."""


@dataclass(frozen=True)
class Rater:
    """Rates a text of level x at middle + rise · (x − middle), with noise, rounded and cut to the scale."""

    rise: float
    noise: float


STRONG, WEAK = Rater(1.0, 0.6), Rater(0.3, 1.0)
RATERS = {"strong": STRONG, "weak": WEAK}
WORTHS = (0.0, 0.5, 1.5)


def rated(rater: Rater, level: Floats, chance: np.random.Generator) -> Floats:
    middle = (LOW + HIGH) / 2
    signal = middle + rater.rise * (level - middle) + chance.normal(0, rater.noise, len(level))
    return np.clip(np.rint(signal), LOW, HIGH)


def run(
    rater: Rater,
    worth: float,
    chance: np.random.Generator,
    clusters: int = CLUSTERS,
    rows: int = PER_CLUSTER,
    spread: float = 1.0,
) -> list[Estimate]:
    """The worths of one run, of four cues that are worth as much; labels keep clear of the scale's ends."""
    cluster = np.repeat(np.arange(clusters), rows)
    label = chance.integers(LOW + 2, HIGH - 3, len(cluster)).astype(np.float64)
    severity = chance.normal(0, spread * LEVEL_SPREAD, clusters)[cluster]
    names, low, high = (
        cluster.astype(str).astype(np.object_),
        np.full(len(cluster), LOW),
        np.full(len(cluster), HIGH),
    )
    area = np.full(len(cluster), "general", dtype=np.object_)
    item, once = np.arange(len(cluster)).astype(str).astype(np.object_), np.ones(len(cluster), dtype=np.int64)
    lost = {"unreadable": 0, "failed": 0}
    plain = Ratings(item, rated(rater, label + severity, chance), label, low, high, names, area, once, lost)
    found = []
    for cue in CUES:
        added = worth + chance.normal(0, spread * WORTH_SPREAD, clusters)[cluster]
        score = rated(rater, label + severity + added, chance)
        cued = Ratings(item, score, label, low, high, names, area, once, lost)
        found.append(level_worth(CONTEXT.for_subgroup(cue=cue), plain, Moves.between(plain, cued), cue))
    return adjust_estimates(found, "cues", WORTH, ALLOWED, None)


def count(rater: Rater, worth: float, runs: Iterable[int], clusters: int = CLUSTERS) -> WorthTally:
    """What the intervals of these runs did, each of which has a random stream of its own."""
    tally = WorthTally()
    for number in runs:
        stream = np.random.default_rng([number, int(100 * worth), int(100 * rater.rise), clusters])
        tally.add(run(rater, worth, stream, clusters), worth, 0.0)
    return tally


def main() -> None:
    """Print one row for each judge, worth and number of clusters."""
    options = argparse.ArgumentParser(prog="calibration.level_worth", description=__doc__)
    options.add_argument("--runs", type=int, default=400)
    given = options.parse_args()
    print("| judge | worth | clusters | runs | worth covered | undefined | flagged |")
    print("| :-- | --: | --: | --: | --: | --: | --: |")
    for name, rater in RATERS.items():
        for worth in WORTHS:
            for clusters in (8, CLUSTERS, 60):
                tally = count(rater, worth, range(given.runs), clusters)
                lost = f"{tally.undefined}/{tally.undefined + tally.worths}"
                cells = f"{clusters} | {tally.runs} | {tally.coverage:.3f} | {lost} | {tally.flagged:.3f}"
                print(f"| {name} | {worth:g} | {cells} |", flush=True)


if __name__ == "__main__":
    main()
