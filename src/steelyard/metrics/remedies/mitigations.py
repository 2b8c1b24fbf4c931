"""Mitigated judges: the figures of each remedy beside those of the judge as measured, and its cost."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from typing import Any

import numpy as np

from steelyard.core.arrays import Floats, numbered
from steelyard.core.json_dataclasses import from_body
from steelyard.metrics.estimate import Estimate, Interval
from steelyard.metrics.estimate_context import NO_CALLS, EstimateContext
from steelyard.metrics.merit import merit_estimates
from steelyard.metrics.metric import Metric, ShownAs
from steelyard.metrics.remedies.jury_selection import NEEDS, SIZE, choose_jury_of_three, jury_of
from steelyard.metrics.remedies.remedy import AS_MEASURED, BASE, JURY, Remedy, remedies
from steelyard.metrics.remedies.targets import Change, TargetFigure, change, once, target_figures
from steelyard.metrics.run.cost import NO_PRICE, Dollars, unpriced
from steelyard.metrics.stats.cluster_mean import ClusterMean
from steelyard.metrics.stats.intervals import POSITIVE
from steelyard.verdicts.combined import as_base
from steelyard.verdicts.observations import Observations

COST_PER_VERDICT = Metric(
    "cost_per_verdict",
    "cost per verdict",
    "Dollars per verdict: those of a call times the calls that a verdict takes.",
    shown_as=ShownAs.DOLLARS,
    estimated=False,
)

Priced = tuple[Observations, Dollars | None]


def cost_per_verdict(context: EstimateContext, asked: Sequence[Priced], calls: int = 1) -> Estimate:
    """Dollars of one call to each of these judges, so many times; an interval where it is one judge."""
    for seen, price in asked:
        why = unpriced(seen, price) if len(seen) else NO_CALLS
        if price is None or why:
            return context.undefined(COST_PER_VERDICT, why or NO_PRICE, "verdict")
    means = [_mean(seen, price) for seen, price in asked if price is not None]
    limits = means[0].limits(0.975, POSITIVE) if len(means) == 1 else None
    return context.estimate(
        COST_PER_VERDICT,
        unit="verdict",
        value=calls * sum(mean.mean for mean in means),
        intervals=(Interval("t_cluster", calls * limits[0], calls * limits[1]),) if limits else (),
        n_calls=sum(len(seen) for seen, _ in asked),
        n_units=max(seen.units for seen, _ in asked),
        n_clusters=max(mean.units for mean in means),
    )


def _mean(seen: Observations, price: Dollars) -> ClusterMean:
    """Dollars per call, with clusters as the independent units."""
    used, number = numbered(seen.usage)
    each: Floats = np.array([price(seen.usages[place]) for place in used])[number]
    return ClusterMean.of(numbered(seen.shown.cluster[seen.stimulus])[1], each)


MOST = 0.5
"""Share of a figure's units on which a remedy must have a verdict."""


@dataclass(frozen=True)
class MitigatedFigure:
    estimate: Estimate
    """The figure; its group names the remedy."""
    change: Change | None = None
    """Against the judge as measured; None for that judge itself, and for costs."""

    def to_json(self) -> dict[str, Any]:
        return {
            "estimate": self.estimate.to_json(),
            "change": None if self.change is None else asdict(self.change),
        }

    @classmethod
    def from_json(cls, body: Any, where: str = "") -> MitigatedFigure:
        return from_body(cls, body, where)


@dataclass(frozen=True)
class MitigatedJudge:
    judge: str
    remedy: str
    """Its id; `uncured` for the judge as measured."""
    kind: str
    """`orders`, `majority`, `mean`, `protocol` or `uncured`."""
    title: str
    calls: int
    figures: tuple[MitigatedFigure, ...] = ()
    """In reading order; none where the calls on record do not tell."""
    note: str | None = None
    """Why there is no figure, and what it would take."""
    definition: str | None = None
    """The cured judge as a study file has it; None where it is the judge itself or another prompt."""

    def figure(self, metric: str, probe: str | None = None) -> MitigatedFigure | None:
        """The figure of a metric; the first of several probes where none is named."""
        mine = (each for each in self.figures if each.estimate.metric == metric)
        return next((each for each in mine if probe in (None, each.estimate.probe)), None)

    def to_json(self) -> dict[str, Any]:
        return {**vars(self), "figures": [figure.to_json() for figure in self.figures]}

    @classmethod
    def from_json(cls, body: Any, where: str = "") -> MitigatedJudge:
        return from_body(cls, body, where)


def mitigated_judges(
    judge: str,
    seen: Observations,
    price: Dollars | None,
    seed: int,
    *,
    priced: bool,
    baselines: Mapping[str, Observations] | None = None,
) -> list[MitigatedJudge]:
    """The judge as measured, then with each remedy; nothing where no figure was measured that one could move.

    `priced` is False where costs are no question, as for recorded verdicts.
    """
    bench = _RemedyEvaluator(judge, seen, price, seed, priced, baselines or {})
    return [bench.cured(AS_MEASURED), *map(bench.cured, remedies(seen))] if bench.figures else []


def merit_figures(
    judge: str, after: Observations, baselines: Mapping[str, Observations], seed: int, remedy: str
) -> list[MitigatedFigure]:
    """Whether a judge with a remedy tells good from bad, by each kind of evidence."""
    return [
        MitigatedFigure(replace(each, group={**each.group, "remedy": remedy}))
        for each in merit_estimates(judge, after, baselines, seed)
        if each.is_overall
    ]


class _RemedyEvaluator:
    """One judge, and what its remedies are held against."""

    def __init__(
        self,
        judge: str,
        seen: Observations,
        price: Dollars | None,
        seed: int,
        priced: bool,
        baselines: Mapping[str, Observations],
    ) -> None:
        self.judge = judge
        self.seen = seen
        self.price = price
        self.priced = priced
        self.baselines = baselines
        self.seed = seed
        self.base = seen.filter(protocol="base")
        self.figures = tuple(target_figures(self.base))
        self._units = {id(figure): figure.units(figure.columns(self.base)) for figure in self.figures}
        self._measured = {
            id(figure): figure.estimate(self._context(figure, AS_MEASURED), figure.columns(self.base))
            for figure in self.figures
        }

    def cured(self, remedy: Remedy) -> MitigatedJudge:
        named = remedy.definition(self.judge)
        head = MitigatedJudge(
            self.judge, remedy.id, remedy.kind, remedy.title, remedy.calls, definition=named
        )
        after = self.base if remedy is AS_MEASURED else remedy.derive(self.seen)
        spread = remedy.derive(self.seen, spread=True) if remedy.repeats > 1 else after
        made = [self._figure(remedy, figure, after, spread) for figure in self.figures]
        figures = [figure for figure in made if figure is not None]
        if not figures:
            return replace(head, note=f"needs {remedy.lacks(self.seen)}")
        costs = [MitigatedFigure(self._cost(remedy))] if self.priced else []
        merits = merit_figures(self.judge, after, self.baselines, self.seed, remedy.id)
        return replace(head, figures=(*figures, *merits, *costs))

    def _figure(
        self, remedy: Remedy, figure: TargetFigure, after: Observations, spread: Observations
    ) -> MitigatedFigure | None:
        if remedy is AS_MEASURED:
            return MitigatedFigure(self._measured[id(figure)])
        rows = figure.columns(after)
        if not self._tells(figure, rows):
            return None
        estimate = figure.estimate(
            self._context(figure, remedy), once(rows, figure) if remedy.symmetric else rows
        )
        return MitigatedFigure(estimate, change(figure, self.base, spread, self._measured[id(figure)]))

    def _context(self, figure: TargetFigure, remedy: Remedy) -> EstimateContext:
        group = {**figure.group, "protocol": "base", "remedy": remedy.id}
        return EstimateContext(self.judge, figure.probe, group, self.seed)

    def _tells(self, figure: TargetFigure, rows: Any) -> bool:
        """The remedy has verdicts on most of the figure's units; those of one kind alone would mislead."""
        return figure.units(rows) > MOST * self._units[id(figure)]

    def _cost(self, remedy: Remedy) -> Estimate:
        context = EstimateContext(self.judge, "cost", {"protocol": "base", "remedy": remedy.id}, self.seed)
        return cost_per_verdict(
            context, [(self.seen.filter(protocol=remedy.protocol), self.price)], remedy.calls
        )


def jury_remedies(
    seen: Observations, judges: Sequence[str], prices: Mapping[str, Dollars | None] | None, seed: int
) -> list[MitigatedJudge]:
    """The jury beside each of these judges; where there is none, what it would take."""
    heard = [seen.judges.index(name) for name in judges if name in seen.judges]
    base = as_base(seen.filter(calls=np.isin(seen.judge, heard)), BASE)
    trio = choose_jury_of_three(base, judges, seed)
    if isinstance(trio, str):
        return [MitigatedJudge(name, JURY, JURY, "jury of three", SIZE, note=trio) for name in judges]
    voted = jury_of(trio.calls, trio.members)
    title = _title(trio.members) + ("" if trio.choosing is None else ", on clusters that did not choose it")
    rows = []
    for name in judges:
        figures = _figures(name, trio.calls.of_judge(name), voted, seed)
        if figures and prices is not None:
            context = _context(name, "cost", {}, seed)
            asked = [(base.of_judge(member), prices.get(member)) for member in trio.members]
            figures.append(MitigatedFigure(cost_per_verdict(context, asked)))
        note = None if figures else NEEDS
        rows.append(
            MitigatedJudge(name, JURY, JURY, title, SIZE, tuple(figures), note, _definition(trio.members))
        )
    return rows


def _figures(judge: str, before: Observations, voted: Observations, seed: int) -> list[MitigatedFigure]:
    figures = []
    for figure in target_figures(voted):
        context = _context(judge, figure.probe, figure.group, seed)
        alone, together = (figure.estimate(context, figure.columns(seen)) for seen in (before, voted))
        figures.append(MitigatedFigure(together, change(figure, before, voted, alone)))
    return figures + merit_figures(judge, voted, {}, seed, JURY) if figures else []


def _context(judge: str, probe: str, group: Mapping[str, str | float], seed: int) -> EstimateContext:
    return EstimateContext(judge, probe, {**group, "protocol": BASE, "remedy": JURY}, seed)


def _definition(members: Sequence[str]) -> str:
    return f"{{jury: {json.dumps(list(members), ensure_ascii=False)}}}"


def _title(members: Sequence[str]) -> str:
    return f"jury of {', '.join(members[:-1])} and {members[-1]}"
