"""Simulate the worth of cues on planted judges over clusters that differ: coverage and false flags.

PYTHONPATH=tests python -m calibration.worth [--runs N] [--profile PROFILE]
"""

from __future__ import annotations

import argparse
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from functools import cache

import numpy as np

from steelyard.core.arrays import Floats
from steelyard.metrics.estimate import Estimate, EstimateContext
from steelyard.metrics.findings import FLAGGED
from steelyard.metrics.instrument.crossing import CROSSING, POSITION, crossing_estimate
from steelyard.metrics.instrument.likelihood import NAMES, answer_rates
from steelyard.metrics.instrument.worth_estimates import WORTH, pair_worths
from steelyard.metrics.pairs.columns import Pairs
from steelyard.probes.probe import Design
from steelyard.probes.tradeoff import PROBE, Tradeoff
from steelyard.providers.planted.decision_model import Parameters

STRONG = Parameters(resolution=1.5, position_bias=0.4, lapse_rate=0.02)
WEAK = Parameters(resolution=0.5, position_bias=0.8, lapse_rate=0.05)
JUDGES = {"strong": STRONG, "weak": WEAK}
WORTHS = (0.0, 0.5, 1.5, 4.0)
POSITION_SPREAD, WORTH_SPREAD, RESOLUTION_SPREAD = 0.6, 0.3, 0.25
"""How clusters differ: standard deviations of bias, of worth in steps, and of the logarithm of resolution."""
CONTEXT = EstimateContext.for_protocol("judge", PROBE, "base", 7)


@dataclass(frozen=True, eq=False)
class Layout:
    """The pairs of a profile, in columns."""

    cluster: np.ndarray
    kind: np.ndarray
    area: np.ndarray
    delta: Floats
    clusters: tuple[str, ...]
    cues: tuple[str, ...]


@cache
def layout(profile: str) -> Layout:
    """The pairs of `tradeoff` in this profile, on their own checklists."""
    shown = {s.stimulus.id: s.stimulus for s in Tradeoff().showings(Design(7, profile), ("base",))}
    clusters = sorted({stimulus.cluster for stimulus in shown.values()})
    every = list(shown.values())
    return Layout(
        np.array([clusters.index(stimulus.cluster) for stimulus in every]),
        np.array([stimulus.kind for stimulus in every]),
        np.array([stimulus.stratum for stimulus in every]),
        np.array([float(stimulus.delta or 0.0) for stimulus in every]),
        tuple(clusters),
        tuple(dict.fromkeys(stimulus.kind for stimulus in every if stimulus.probe == PROBE)),
    )


def _part(plan: Layout, clusters: int | None, cues: Sequence[str] | None) -> Layout:
    """The layout with its pairs on fewer clusters, and without the other cues."""
    count, names = clusters or len(plan.clusters), plan.cues if cues is None else tuple(cues)
    kept = ~np.isin(plan.kind, [cue for cue in plan.cues if cue not in names])
    cluster = plan.cluster[kept] % count
    area = plan.area[kept] if clusters is None else np.full(len(cluster), "general")
    return Layout(cluster, plan.kind[kept], area, plan.delta[kept], plan.clusters[:count], names)


def draw(
    planted: Parameters,
    worth: float,
    chance: np.random.Generator,
    profile: str = "standard",
    *,
    spread: float = 1.0,
    clusters: int | None = None,
    cues: Sequence[str] | None = None,
    by_area: Callable[[str], float] = lambda area: 0.0,
) -> Pairs:
    """One run: every cue has this worth on average, and each cluster differs from the others.

    `spread` times as much as the module says; on the first `clusters` and of some `cues` alone where given.
    `by_area` is what a cue is worth more in an area.
    """
    plan = _part(layout(profile), clusters, cues)
    size, groups = len(plan.delta), len(plan.clusters)
    theta = np.array([getattr(planted, name.id) for name in NAMES])
    leaning = chance.normal(0, spread * POSITION_SPREAD, groups)[plan.cluster]
    slope = planted.resolution * np.exp(chance.normal(0, spread * RESOLUTION_SPREAD, groups))[plan.cluster]
    shift = np.zeros(size)
    for cue in plan.cues:
        mine = plan.kind == cue
        shift[mine] = worth + chance.normal(0, spread * WORTH_SPREAD, groups)[plan.cluster[mine]]
        shift[mine] += [by_area(area) for area in plan.area[mine].tolist()]
    surface = chance.normal(0, planted.surface_sensitivity, size)
    answers = []
    for order in (1, -1):
        drive = order * (slope * (plan.delta - shift) + surface) + leaning
        edges = answer_rates(theta[None], drive).cumsum(axis=-1)[:, :2]
        answers.append((chance.random(size)[:, None] > edges).sum(axis=1))
    return Pairs(
        pair=np.arange(size),
        replicate=np.zeros(size, dtype=np.int64),
        cluster=plan.cluster,
        kind=plan.kind,
        stratum=plan.area,
        delta=plan.delta,
        base_level=np.zeros(size),
        better=(plan.delta > 0).astype(np.int64),
        u_first=answers[0],
        v_first=answers[1],
        clusters=plan.clusters,
        names=tuple(map(str, range(size))),
    )


@dataclass
class WorthTally:
    """What the intervals of one judge did; a family is all cues of one run."""

    runs: int = 0
    flagged_families: int = 0
    undefined: int = 0
    worths: int = 0
    covered: int = 0
    crossings: int = 0
    crossings_covered: int = 0
    positions: int = 0
    positions_covered: int = 0

    @property
    def coverage(self) -> float:
        return self.covered / max(1, self.worths)

    @property
    def crossing_coverage(self) -> float:
        return self.crossings_covered / max(1, self.crossings)

    @property
    def position_coverage(self) -> float:
        return self.positions_covered / max(1, self.positions)

    @property
    def flagged(self) -> float:
        return self.flagged_families / max(1, self.runs)

    def add(self, found: Sequence[Estimate], worth: float, position: float) -> None:
        """Take in one run."""
        self.runs += 1
        of_cues = [e for e in found if e.metric == WORTH.id and e.group["cue"] != POSITION]
        self.flagged_families += any(e.status == FLAGGED for e in of_cues)
        self.undefined += sum(e.value is None for e in of_cues)
        hits = [_holds(e, worth) for e in of_cues if e.value is not None]
        self.worths, self.covered = self.worths + len(hits), self.covered + sum(hits)
        hits = [_holds(e, worth) for e in found if e.metric == CROSSING.id and e.value is not None]
        self.crossings, self.crossings_covered = (
            self.crossings + len(hits),
            self.crossings_covered + sum(hits),
        )
        hits = [_holds(e, position) for e in found if e.metric == WORTH.id and e.group["cue"] == POSITION]
        self.positions, self.positions_covered = (
            self.positions + len(hits),
            self.positions_covered + sum(hits),
        )


def _holds(estimate: Estimate, truth: float) -> bool:
    limits = estimate.interval
    if limits is None:
        return False
    above = limits.low is None or limits.low <= truth
    return above and (limits.high is None or truth <= limits.high)


def count(planted: Parameters, worth: float, runs: Iterable[int], profile: str = "standard") -> WorthTally:
    """Both figures of every cue in these runs, each of which has a random stream of its own."""
    tally = WorthTally()
    for run in runs:
        pairs = draw(planted, worth, _stream(planted, worth, run), profile)
        found = pair_worths(CONTEXT, pairs, layout(profile).cues)
        tally.add(found, worth, planted.position_bias / planted.resolution)
    return tally


def count_crossings(
    planted: Parameters, worth: float, runs: Iterable[int], profile: str = "standard"
) -> WorthTally:
    """The crossing points alone, which take no fit."""
    tally = WorthTally()
    for run in runs:
        pairs = draw(planted, worth, _stream(planted, worth, run), profile)
        cues = layout(profile).cues
        found = [
            crossing_estimate(CONTEXT.for_subgroup(cue=cue), pairs.where(pairs.kind == cue)) for cue in cues
        ]
        tally.add(found, worth, 0.0)
    return tally


def _stream(planted: Parameters, worth: float, run: int) -> np.random.Generator:
    return np.random.default_rng([run, int(100 * worth), int(100 * planted.resolution)])


def main() -> None:
    """Print one row for each judge and worth."""
    options = argparse.ArgumentParser(prog="calibration.worth", description=__doc__)
    options.add_argument("--runs", type=int, default=100)
    options.add_argument("--profile", default="standard")
    given = options.parse_args()
    print(
        "| judge | worth | runs | worth covered | crossing covered | slot 1 covered | undefined | flagged |"
    )
    print("| :-- | --: | --: | --: | --: | --: | --: | --: |")
    for name, planted in JUDGES.items():
        for worth in WORTHS:
            tally = count(planted, worth, range(given.runs), given.profile)
            cells = (tally.coverage, tally.crossing_coverage, tally.position_coverage)
            rates = " | ".join(f"{cell:.3f}" for cell in cells)
            lost = f"{tally.undefined}/{tally.undefined + tally.worths}"
            print(
                f"| {name} | {worth:g} | {tally.runs} | {rates} | {lost} | {tally.flagged:.3f} |", flush=True
            )


if __name__ == "__main__":
    main()
