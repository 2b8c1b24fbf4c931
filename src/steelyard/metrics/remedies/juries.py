"""Juries of three as a remedy: the judges of a run on the showings that all of them were asked.

Three judges make one jury, which nothing has chosen. Of more judges the best trio is chosen on one half of
the clusters and told on the other, since on its own half it looks better than it is.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations

import numpy as np

from steelyard.arrays import distinct
from steelyard.identity import rng_for
from steelyard.metrics.heading import Heading
from steelyard.metrics.remedies.change import change
from steelyard.metrics.remedies.cost import cost_per_verdict
from steelyard.metrics.remedies.cured import Cured, CuredFigure
from steelyard.metrics.remedies.figures import Figure, figures_of
from steelyard.metrics.remedies.remedy import BASE, JURY
from steelyard.metrics.run.cost import Dollars
from steelyard.verdicts.combined import as_base, of_judges
from steelyard.verdicts.observations import Observations
from steelyard.verdicts.vote import plurality

SIZE = 3
MOST_JUDGES = 8
"""Judges among whose trios the best is looked for."""
NEEDS = "needs three judges in one run, on the same stimuli"
TOO_MANY = f"needs a choice among at most {MOST_JUDGES} judges; measure a jury that you name"
NO_CHOICE = "needs labels and two or more clusters, to choose three of more judges on one half"


@dataclass(frozen=True)
class Trio:
    """Three judges, and where they are told."""

    members: tuple[str, ...]
    """By name."""
    title: str
    """What they are called in tables."""
    calls: Observations
    """What they and the others were asked there."""

    @property
    def definition(self) -> str:
        """The jury as a study file has it."""
        return f"{{jury: {json.dumps(list(self.members), ensure_ascii=False)}}}"


def jury_remedies(
    seen: Observations, judges: Sequence[str], prices: Mapping[str, Dollars | None] | None, seed: int
) -> list[Cured]:
    """The jury beside each of these judges; where there is none, what it would take."""
    heard = [seen.judges.index(name) for name in judges if name in seen.judges]
    base = as_base(seen.where(np.isin(seen.judge, heard)), BASE)
    trio = _trio(base, tuple(judges), seed)
    if isinstance(trio, str):
        return [Cured(name, JURY, JURY, "jury of three", SIZE, note=trio) for name in judges]
    voted = of_judges(trio.calls, trio.members, plurality, JURY)
    rows = []
    for name in judges:
        figures = _figures(name, trio.calls.of_judge(name), voted, seed)
        if figures and prices is not None:
            heading = _heading(name, "cost", {}, seed)
            asked = [(base.of_judge(member), prices.get(member)) for member in trio.members]
            figures.append(CuredFigure(cost_per_verdict(heading, asked)))
        note = None if figures else NEEDS
        rows.append(Cured(name, JURY, JURY, trio.title, SIZE, tuple(figures), note, trio.definition))
    return rows


def _figures(judge: str, before: Observations, voted: Observations, seed: int) -> list[CuredFigure]:
    """The figures of the jury, each beside the same calls of one judge."""
    figures = []
    for figure in figures_of(voted):
        heading = _heading(judge, figure.probe, figure.group, seed)
        alone, together = (figure.estimate(heading, figure.columns(seen)) for seen in (before, voted))
        figures.append(CuredFigure(together, change(figure, before, voted, alone)))
    return figures


def _heading(judge: str, probe: str, group: Mapping[str, str | float], seed: int) -> Heading:
    return Heading(judge, probe, {**group, "protocol": BASE, "remedy": JURY}, seed)


def _trio(base: Observations, judges: tuple[str, ...], seed: int) -> Trio | str:
    """All three judges, the best trio of many, or why there is none."""
    heard = tuple(name for name in judges if len(base.of_judge(name)))
    if len(heard) < SIZE:
        return NEEDS
    if len(heard) == SIZE:
        return Trio(heard, _title(heard), base)
    if len(heard) > MOST_JUDGES:
        return TOO_MANY
    aim = next((figure for figure in figures_of(base) if figure.metric.labelled), None)
    split = None if aim is None else _halves(base, aim, seed)
    if aim is None or split is None:
        return NO_CHOICE
    choosing, telling = split
    best = max(combinations(heard, SIZE), key=lambda members: _right(choosing, aim, members))
    return Trio(best, f"{_title(best)}, on clusters that did not choose it", telling)


def _right(calls: Observations, aim: Figure, members: tuple[str, ...]) -> float:
    """Showings on which the jury is right; not the share, by which one that hardly speaks would win."""
    seen = aim.calls(aim.columns(of_judges(calls, members, plurality, JURY)))
    return float(seen.value[seen.counts].sum())


def _halves(base: Observations, aim: Figure, seed: int) -> tuple[Observations, Observations] | None:
    """The calls of a random half of the clusters that the aim is measured on, and of all others."""
    clusters = distinct(base.shown.cluster[base.among(aim.probe).stimulus]).tolist()
    if len(clusters) < 2:
        return None
    rng_for(seed, "jury remedy").shuffle(clusters)
    chosen = np.isin(base.shown.cluster, clusters[: len(clusters) // 2])
    return base.showing(chosen), base.showing(~chosen)


def _title(members: Sequence[str]) -> str:
    return f"jury of {', '.join(members[:-1])} and {members[-1]}"
