"""The figures of cured judges, beside those of the judge as measured."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass, replace
from typing import Any

from steelyard.core.json_dataclasses import from_body
from steelyard.metrics.estimate import Estimate
from steelyard.metrics.estimate_context import EstimateContext
from steelyard.metrics.merit import merit_estimates
from steelyard.metrics.remedies.change import Change, change
from steelyard.metrics.remedies.cost import cost_per_verdict
from steelyard.metrics.remedies.figures import Figure, figures_of, once
from steelyard.metrics.remedies.remedy import AS_MEASURED, Remedy, remedies
from steelyard.metrics.run.cost import Dollars
from steelyard.verdicts.observations import Observations

MOST = 0.5
"""Share of a figure's units on which a remedy must have a verdict."""


@dataclass(frozen=True)
class CuredFigure:
    """One figure of a cured judge."""

    estimate: Estimate
    """The figure; its group names the remedy."""
    change: Change | None = None
    """Against the judge as measured; None for that judge itself, and for costs."""

    def to_json(self) -> dict[str, Any]:
        """One entry under `figures` of a remedy."""
        return {
            "estimate": self.estimate.to_json(),
            "change": None if self.change is None else asdict(self.change),
        }

    @classmethod
    def from_json(cls, body: Any, where: str = "") -> CuredFigure:
        """The figure that was written."""
        return from_body(cls, body, where)


@dataclass(frozen=True)
class Cured:
    """A judge with one remedy."""

    judge: str
    """Name on the datasheet."""
    remedy: str
    """Its id; `uncured` for the judge as measured."""
    kind: str
    """`orders`, `majority`, `mean`, `protocol` or `uncured`."""
    title: str
    """What is done."""
    calls: int
    """Calls per verdict."""
    figures: tuple[CuredFigure, ...] = ()
    """In reading order; none where the calls on record do not tell."""
    note: str | None = None
    """Why there is no figure, and what it would take."""
    definition: str | None = None
    """The cured judge as a study file has it; None where it is the judge itself or another prompt."""

    def figure(self, metric: str, probe: str | None = None) -> CuredFigure | None:
        """The figure of a metric; the first of several probes where none is named."""
        mine = (each for each in self.figures if each.estimate.metric == metric)
        return next((each for each in mine if probe in (None, each.estimate.probe)), None)

    def to_json(self) -> dict[str, Any]:
        """One entry under `remedies` in `datasheet.json`."""
        return {**vars(self), "figures": [figure.to_json() for figure in self.figures]}

    @classmethod
    def from_json(cls, body: Any, where: str = "") -> Cured:
        """The cured judge that was written."""
        return from_body(cls, body, where)


def cured_judges(
    judge: str,
    seen: Observations,
    price: Dollars | None,
    seed: int,
    *,
    priced: bool,
    baselines: Mapping[str, Observations] | None = None,
) -> list[Cured]:
    """The judge as measured, then with each remedy; nothing where no figure was measured that one could move.

    `priced` is False where costs are no question, as for recorded verdicts.
    """
    bench = _Bench(judge, seen, price, seed, priced, baselines or {})
    return [bench.cured(AS_MEASURED), *map(bench.cured, remedies(seen))] if bench.figures else []


def merit_figures(
    judge: str, after: Observations, baselines: Mapping[str, Observations], seed: int, remedy: str
) -> list[CuredFigure]:
    """Whether a judge with a remedy tells good from bad, by each kind of evidence."""
    return [
        CuredFigure(replace(each, group={**each.group, "remedy": remedy}))
        for each in merit_estimates(judge, after, baselines, seed)
        if each.is_overall
    ]


class _Bench:
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
        self.figures = tuple(figures_of(self.base))
        self._units = {id(figure): figure.units(figure.columns(self.base)) for figure in self.figures}
        self._measured = {
            id(figure): figure.estimate(self._context(figure, AS_MEASURED), figure.columns(self.base))
            for figure in self.figures
        }

    def cured(self, remedy: Remedy) -> Cured:
        """Every figure that the remedy has calls for."""
        named = remedy.definition(self.judge)
        head = Cured(self.judge, remedy.id, remedy.kind, remedy.title, remedy.calls, definition=named)
        after = self.base if remedy is AS_MEASURED else remedy.derive(self.seen)
        spread = remedy.derive(self.seen, spread=True) if remedy.repeats > 1 else after
        made = [self._figure(remedy, figure, after, spread) for figure in self.figures]
        figures = [figure for figure in made if figure is not None]
        if not figures:
            return replace(head, note=f"needs {remedy.lacks(self.seen)}")
        costs = [CuredFigure(self._cost(remedy))] if self.priced else []
        merits = merit_figures(self.judge, after, self.baselines, self.seed, remedy.id)
        return replace(head, figures=(*figures, *merits, *costs))

    def _figure(
        self, remedy: Remedy, figure: Figure, after: Observations, spread: Observations
    ) -> CuredFigure | None:
        if remedy is AS_MEASURED:
            return CuredFigure(self._measured[id(figure)])
        rows = figure.columns(after)
        if not self._tells(figure, rows):
            return None
        estimate = figure.estimate(
            self._context(figure, remedy), once(rows, figure) if remedy.symmetric else rows
        )
        return CuredFigure(estimate, change(figure, self.base, spread, self._measured[id(figure)]))

    def _context(self, figure: Figure, remedy: Remedy) -> EstimateContext:
        group = {**figure.group, "protocol": "base", "remedy": remedy.id}
        return EstimateContext(self.judge, figure.probe, group, self.seed)

    def _tells(self, figure: Figure, rows: Any) -> bool:
        """The remedy has verdicts on most of the figure's units; those of one kind alone would mislead."""
        return figure.units(rows) > MOST * self._units[id(figure)]

    def _cost(self, remedy: Remedy) -> Estimate:
        context = EstimateContext(self.judge, "cost", {"protocol": "base", "remedy": remedy.id}, self.seed)
        return cost_per_verdict(
            context, [(self.seen.filter(protocol=remedy.protocol), self.price)], remedy.calls
        )
