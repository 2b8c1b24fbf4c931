"""Cost curve: accuracy against dollars by judge and probe, with the Pareto front of unbeaten judges."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from math import ceil, floor, log10

from steelyard.datasheet.render.html.drawing.axis import Axis, Scale, draw
from steelyard.datasheet.render.html.drawing.chart import (
    Chart,
    Panel,
    SeriesStyle,
    aria_label,
    data_cell,
    interval_ends,
    number_legend,
    omission_note,
    scores_only,
    series_styles,
)
from steelyard.datasheet.render.html.drawing.scatter import draw_labels
from steelyard.datasheet.render.html.drawing.svg import Box, PixelPoint, draw_line, draw_marker, error_bar
from steelyard.datasheet.sections.rows import Text
from steelyard.datasheet.sections.summary import Summary
from steelyard.datasheet.words import numbers
from steelyard.metrics.common import ACCURACY as ACCURACY_OF
from steelyard.metrics.estimate import Estimate
from steelyard.metrics.run.cost import COST_PER_CALL, CostRow, pareto_front
from steelyard.metrics.run.cost import PROBE as COST_PROBE
from steelyard.metrics.run.volatility import ACCURACY_MEAN

WIDTH, HEIGHT = 430, 340
TITLE = "What accuracy costs"
ACCURACY, COST = ACCURACY_MEAN.label, COST_PER_CALL.label
OVER_PROBES = f"{ACCURACY} over probes"
HEADER = ("judge", OVER_PROBES, COST, "on the front")
CAPTION = (
    "Mean accuracy over probes against dollars per 1,000 calls, on a logarithmic axis; error bars are "
    "95 % intervals. The line is the best accuracy that each amount buys. A hollow marker is a judge that "
    "another beats at no higher price, by values; their intervals may overlap. Small dots are "
    "the probes of each judge, without intervals."
)
THOUSAND = 1000
OF_A_PROBE = "a probe"


@dataclass(frozen=True)
class ProbeCost:
    """A probe of a judge: a dot of the chart and a row of its table."""

    probe: str
    accuracy: Estimate
    cost: Estimate
    """Dollars per call."""

    @property
    def place(self) -> tuple[float, float]:
        """Dollars per 1,000 calls, and accuracy."""
        return THOUSAND * (self.cost.value or 0.0), self.accuracy.value or 0.0


@dataclass(frozen=True)
class Offer:
    name: str
    accuracy: Estimate
    cost: Estimate
    """Dollars per call."""
    style: SeriesStyle
    probes: tuple[ProbeCost, ...] = ()

    @property
    def dollars(self) -> float:
        """Dollars per 1,000 calls."""
        return THOUSAND * (self.cost.value or 0.0)


@dataclass(frozen=True)
class DollarScale:
    """Dollars by powers of ten; what costs nothing stands left of the cheapest."""

    low: int
    """Exponent of the left end."""
    high: int
    """Exponent of the right end."""
    free: bool

    @classmethod
    def of(cls, dollars: Sequence[float]) -> DollarScale:
        paid = [log10(amount) for amount in dollars if amount > 0]
        low, high = (floor(min(paid)), ceil(max(paid))) if paid else (0, 1)
        return cls(low, max(high, low + 1), len(paid) < len(dollars))

    @property
    def scale(self) -> Scale:
        return Scale(self.low - (0.6 if self.free else 0.0), self.high, WIDTH)

    def __call__(self, dollars: float) -> float:
        return self.scale(log10(dollars) if dollars > 0 else self.low - 0.4)

    @property
    def axis(self) -> Axis:
        """Powers of ten in dollars, and the place of what is free."""
        powers = range(self.low, self.high + 1)
        ticks = [*([self.low - 0.4] if self.free else []), *powers]
        amounts = (f"${10.0**power:,.{max(0, -power)}f}" for power in powers)
        labels = [*(["free"] if self.free else []), *amounts]
        return Axis(self.scale, "dollars per 1,000 calls", ticks, labels)


@scores_only
def cost_curve(summary: Summary) -> Chart | None:
    """Judges by price and accuracy; None for fewer than two, or where all are known to cost nothing."""
    styles, offers, rows, omitted = series_styles(summary), [], [], []
    named = [(judge.name, *_two(summary, judge.name)) for judge in summary.measured]
    free = all(cost is not None and cost.value == 0 for _, _, cost in named)
    if free or sum(accuracy is not None for _, accuracy, _ in named) < 2:
        return None
    for name, accuracy, cost in named:
        if numbers.defined(accuracy) and numbers.defined(cost):
            offers.append(Offer(name, accuracy, cost, styles[name], _probes(summary, name)))
        else:
            omitted.append(omission_note(name, [(ACCURACY, accuracy), (COST, cost)]))
    front = [row.name for row in pareto_front(_row(offer) for offer in offers)]
    for name, accuracy, cost in named:
        priced = any(offer.name == name for offer in offers)
        answer = ("yes" if name in front else "no") if priced else numbers.NOT_MEASURED
        rows.append((name, data_cell(summary, accuracy), data_cell(summary, cost), answer))
    svg = _drawing(offers, front, rows) if offers else ""
    panels = (Panel(svg),) if svg else ()
    rows += [
        (
            f"{offer.name}, {made.probe}",
            data_cell(summary, made.accuracy),
            data_cell(summary, made.cost),
            OF_A_PROBE,
        )
        for offer in offers
        for made in offer.probes
    ]
    return Chart(TITLE, CAPTION, panels, HEADER, tuple(rows), number_legend(summary), tuple(omitted))


def _two(summary: Summary, judge: str) -> tuple[Estimate | None, Estimate | None]:
    find = summary.datasheet.find
    return (
        find(judge, ACCURACY_MEAN.id, "volatility", protocol="base"),
        find(judge, COST_PER_CALL.id, COST_PROBE, protocol="base"),
    )


def _probes(summary: Summary, judge: str) -> tuple[ProbeCost, ...]:
    """Its probes that have both figures; nothing for a single one, which is the judge's own point."""
    found = []
    for estimate in summary.datasheet.estimates:
        if (estimate.judge, estimate.metric) == (judge, COST_PER_CALL.id) and estimate.probe != COST_PROBE:
            accuracy = summary.datasheet.find(judge, ACCURACY_OF.id, estimate.probe, protocol="base")
            if numbers.defined(estimate) and numbers.defined(accuracy):
                found.append(ProbeCost(estimate.probe, accuracy, estimate))
    return tuple(found) if len(found) > 1 else ()


def _row(offer: Offer) -> CostRow:
    return CostRow(offer.name, offer.dollars, offer.accuracy.value or 0.0)


def _drawing(offers: Sequence[Offer], front: Sequence[str], rows: Sequence[tuple[Text, ...]]) -> str:
    dots = [(made.place, offer.style.role) for offer in offers for made in offer.probes]
    x = DollarScale.of([*(offer.dollars for offer in offers), *(dollars for (dollars, _), _ in dots)])
    y_axis, y = _accuracy_axis(offers)
    points = {offer.name: (x(offer.dollars), y(offer.accuracy.value or 0.0)) for offer in offers}
    steps = _steps([points[name] for name in front])
    bars = [
        error_bar((points[offer.name][0], y(low)), (points[offer.name][0], y(high)), offer.style.role)
        for offer in offers
        for low, high in [interval_ends(offer.accuracy)]
    ]
    probes = [
        draw_marker("circle", (x(dollars), y(accuracy)), role=role, size=22, edge=0.6)
        for (dollars, accuracy), role in dots
    ]
    markers = [
        draw_marker(
            offer.style.shape,
            points[offer.name],
            role=offer.style.role,
            size=110,
            hollow=offer.name not in front,
            edge=1.8,
        )
        for offer in offers
    ]
    anchors = [(*points[offer.name], offer.style.tag) for offer in offers]
    styles = [(offer.style.role, True) for offer in offers]
    avoid = [Box(bar.box.left - 2, bar.box.top, bar.box.right + 2, bar.box.bottom) for bar in bars]
    labels = draw_labels(anchors, styles, WIDTH, HEIGHT, avoid)
    line = [draw_line(steps, role="accent", width=1.8, dash=(5, 4))] if steps else []
    return draw(
        [*line, *probes, *bars, *markers, *labels],
        width=WIDTH,
        height=HEIGHT,
        title=TITLE,
        label=aria_label(HEADER, rows),
        x=x.axis,
        y=y_axis,
    )


def _accuracy_axis(offers: Sequence[Offer]) -> tuple[Axis, Scale]:
    """From the quarter below every interval and probe to 1; fewer ticks where the axis is long."""
    ends = [interval_ends(offer.accuracy)[0] for offer in offers]
    least = min([*ends, *(made.place[1] for offer in offers for made in offer.probes)])
    low = min(0.75, floor(4 * least) / 4)
    every = 5 if low < 0.5 else 2 if low < 0.75 else 1
    scale = Scale(low, 1, HEIGHT, upward=True)
    return Axis(scale, OVER_PROBES, [n / 20 for n in range(round(20 * low), 21, every)]), scale


def _steps(front: Sequence[PixelPoint]) -> list[PixelPoint]:
    """The best accuracy that each amount buys: level up to the next judge, then up."""
    places: list[PixelPoint] = []
    for x, y in front:
        if places:
            places.append((x, places[-1][1]))
        places.append((x, y))
    return [*places, (float(WIDTH), places[-1][1])] if places else []
