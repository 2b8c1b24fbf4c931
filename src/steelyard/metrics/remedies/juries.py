"""Juries of three as a remedy: the judges of a run on the showings that all of them were asked."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence

import numpy as np

from steelyard.metrics.estimate_context import EstimateContext
from steelyard.metrics.remedies.change import change
from steelyard.metrics.remedies.cost import cost_per_verdict
from steelyard.metrics.remedies.cured import Cured, CuredFigure, merit_figures
from steelyard.metrics.remedies.figures import figures_of
from steelyard.metrics.remedies.remedy import BASE, JURY
from steelyard.metrics.remedies.trio import NEEDS, SIZE, choose_trio, jury_of
from steelyard.metrics.run.cost import Dollars
from steelyard.verdicts.combined import as_base
from steelyard.verdicts.observations import Observations


def jury_remedies(
    seen: Observations, judges: Sequence[str], prices: Mapping[str, Dollars | None] | None, seed: int
) -> list[Cured]:
    """The jury beside each of these judges; where there is none, what it would take."""
    heard = [seen.judges.index(name) for name in judges if name in seen.judges]
    base = as_base(seen.filter(calls=np.isin(seen.judge, heard)), BASE)
    trio = choose_trio(base, judges, seed)
    if isinstance(trio, str):
        return [Cured(name, JURY, JURY, "jury of three", SIZE, note=trio) for name in judges]
    voted = jury_of(trio.calls, trio.members)
    title = _title(trio.members) + ("" if trio.choosing is None else ", on clusters that did not choose it")
    rows = []
    for name in judges:
        figures = _figures(name, trio.calls.of_judge(name), voted, seed)
        if figures and prices is not None:
            context = _context(name, "cost", {}, seed)
            asked = [(base.of_judge(member), prices.get(member)) for member in trio.members]
            figures.append(CuredFigure(cost_per_verdict(context, asked)))
        note = None if figures else NEEDS
        rows.append(Cured(name, JURY, JURY, title, SIZE, tuple(figures), note, _definition(trio.members)))
    return rows


def _figures(judge: str, before: Observations, voted: Observations, seed: int) -> list[CuredFigure]:
    """The figures of the jury, each beside the same calls of one judge."""
    figures = []
    for figure in figures_of(voted):
        context = _context(judge, figure.probe, figure.group, seed)
        alone, together = (figure.estimate(context, figure.columns(seen)) for seen in (before, voted))
        figures.append(CuredFigure(together, change(figure, before, voted, alone)))
    return figures + merit_figures(judge, voted, {}, seed, JURY) if figures else []


def _context(judge: str, probe: str, group: Mapping[str, str | float], seed: int) -> EstimateContext:
    return EstimateContext(judge, probe, {**group, "protocol": BASE, "remedy": JURY}, seed)


def _definition(members: Sequence[str]) -> str:
    """The jury as a study file has it."""
    return f"{{jury: {json.dumps(list(members), ensure_ascii=False)}}}"


def _title(members: Sequence[str]) -> str:
    return f"jury of {', '.join(members[:-1])} and {members[-1]}"
