"""Areas of the catalogue: is a judge that tells good from bad wrong more often than right in some of them?

With five tasks to an area no interval that is corrected for their number lies below one half. The areas are
dealt anew to the tasks instead, and the lowest of each deal is compared with the lowest seen; an area that
differs is taken out, and the next is tested among the others. An area that differs counts where its merit
lies below one half: simulated, a judge that is reversed in two areas of twelve has both named in every
standard run. The test is exact and of one side: where areas are alike, one is named in at most 1 of 40 runs,
however near the floor the judge is.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

import numpy as np

from steelyard.core.arrays import Floats, Ints, Mask, numbered
from steelyard.metrics.basis import LABELLED
from steelyard.metrics.estimate import Estimate, EstimateContext
from steelyard.metrics.findings import FLAGGED, agreeing, decided_by
from steelyard.metrics.metric import HIGH, Metric
from steelyard.metrics.pairs.choices import CHANCE_OF_PAIRS, Choices
from steelyard.metrics.pairs.columns import Pairs
from steelyard.metrics.stats.intervals import ALPHA

AREA_MERIT = Metric(
    "area_merit",
    "merit in an area",
    "Merit on the tasks of one area of the catalogue; too low where the area differs from the others by a "
    "permutation of tasks, step by step, and the better text loses more often than it wins.",
    plain="tells good from bad in an area",
    direction=HIGH,
    behind="wrong",
    basis=LABELLED,
)
FEWEST_TASKS = 3
"""Tasks to an area, in the mean, from which on areas are compared: a quick run has fewer, and names none."""
ONE_SIDED = ALPHA / 2
"""Error of the test: that an area is lower is asked of one side."""
DEALS = 1_999


def area_estimates(context: EstimateContext, pairs: Pairs, alpha: float = ALPHA) -> list[Estimate]:
    """Merit in each area, flagged where the judge is reversed there; none where tasks are few."""
    names = sorted(set(pairs.stratum.tolist()))
    if len(names) < 2 or pairs.n_clusters < FEWEST_TASKS * len(names):
        return []
    found = low_areas(*_tasks(pairs, names), context.bootstrap_seed(AREA_MERIT.id))
    estimates = []
    for number, name in enumerate(names):
        here = context.for_subgroup(stratum=name)
        choices = Choices.of(pairs.where(pairs.stratum == name), alpha)
        if not choices.defined:
            estimates.append(here.undefined(AREA_MERIT, choices.reason, "call", choices.excluded))
            continue
        estimate = replace(choices.estimate(here), metric=AREA_MERIT.id)
        if number in found:
            allowed = CHANCE_OF_PAIRS, 1.0
            span = agreeing(choices.limits, FLAGGED, estimate.value or 0.0, allowed)
            note = f"lower than the other areas, p = {found[number]:.2g} by a permutation of tasks"
            estimate = decided_by(replace(estimate, p_corrected=found[number], note=note), FLAGGED, span)
        estimates.append(estimate)
    return estimates


def outside(pairs: Pairs, areas: list[Estimate]) -> Pairs:
    """The pairs outside the areas in which the judge is reversed."""
    low = [str(estimate.group["stratum"]) for estimate in areas if estimate.status == FLAGGED]
    return pairs.where(~np.isin(pairs.stratum, low))


def _tasks(pairs: Pairs, names: list[str]) -> tuple[Floats, Ints, Ints]:
    """Points, calls and area of each task."""
    _, task = numbered(pairs.cluster)
    seen = pairs.readable
    points: Floats = np.bincount(task, weights=(pairs.points * seen).sum(axis=1)).astype(np.float64)
    calls = np.bincount(task, weights=seen.sum(axis=1)).astype(np.int64)
    area = np.zeros(len(calls), dtype=np.int64)
    area[task] = np.searchsorted(names, pairs.stratum)
    return points, calls, area


def low_areas(points: Floats, calls: Ints, area: Ints, seed: int) -> Mapping[int, float]:
    """Areas that differ from the others and lie below one half, each with the p of its step."""
    chance = np.random.default_rng(seed)
    found: dict[int, float] = {}
    left: Mask = calls > 0
    while True:
        here = area[left]
        means = _means(points[left], calls[left], here[None])[0]
        if np.count_nonzero(~np.isnan(means)) < 2:
            return found
        lowest = int(np.nanargmin(means))
        if means[lowest] >= CHANCE_OF_PAIRS:
            return found
        deals = chance.permuted(np.tile(here, (DEALS, 1)), axis=1)
        least = np.nanmin(_means(points[left], calls[left], deals), axis=1)
        p = (1 + int(np.count_nonzero(least <= means[lowest] + 1e-12))) / (1 + DEALS)
        # A later step is never surer than an earlier one.
        p = max(p, *found.values(), 0.0)
        if p > ONE_SIDED:
            return found
        found[lowest] = p
        left = left & (area != lowest)


def _means(points: Floats, calls: Ints, deals: Ints) -> Floats:
    """The mean of each area in each deal of areas to tasks; NaN for one without tasks."""
    areas = int(deals.max(initial=0)) + 1
    place = (deals + areas * np.arange(len(deals))[:, None]).ravel()
    sums, sizes = (
        np.bincount(place, np.tile(each, len(deals)), len(deals) * areas).reshape(len(deals), areas)
        for each in (points, calls)
    )
    with np.errstate(invalid="ignore"):
        return np.asarray(sums / sizes)
