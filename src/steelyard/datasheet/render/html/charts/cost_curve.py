"""Cost curve: accuracy against dollars by judge and probe, with the Pareto front of unbeaten judges."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from math import ceil, floor, log10

from steelyard.datasheet.render.html.drawing.axis import Axis, Scale, draw
from steelyard.datasheet.render.html.drawing.chart import (
    Chart,
    Column,
    Panel,
    Series,
    SeriesStyle,
    aria_label,
    data_cell,
    interval_ends,
    number_legend,
    scores_only,
    series,
)
from steelyard.datasheet.render.html.drawing.scatter import draw_labels
from steelyard.datasheet.render.html.drawing.svg import Box, PixelPoint, draw_line, draw_marker, error_bar
from steelyard.datasheet.sections.rows import Text
from steelyard.datasheet.sections.summary import Summary
from steelyard.datasheet.words import numbers
from steelyard.metrics.estimate import Estimate
from steelyard.metrics.proportions import ACCURACY as ACCURACY_OF
from steelyard.metrics.run.cost import COST_PER_CALL, CostRow, pareto_front
from steelyard.metrics.run.cost import PROBE as COST_PROBE
from steelyard.metrics.run.volatility import ACCURACY_MEAN
from steelyard.metrics.run.volatility import PROBE as VOLATILITY

WIDTH, HEIGHT = 430, 340
TITLE = "What accuracy costs"
COLUMNS = (
    Column(ACCURACY_MEAN.label, ACCURACY_MEAN.id, VOLATILITY),
    Column(COST_PER_CALL.label, COST_PER_CALL.id, COST_PROBE),
)
OVER_PROBES = f"{ACCURACY_MEAN.label} over probes"
HEADER = ("judge", OVER_PROBES, COST_PER_CALL.label, "on the front")
CAPTION = (
    "Mean accuracy over probes against dollars per 1,000 calls, on a logarithmic axis; error bars are "
    "95 % intervals. The line is the best accuracy that each amount buys. A hollow marker is a judge that "
    "another beats at no higher price, by values; their intervals may overlap. Small dots are "
    "the probes of each judge, without intervals."
)
OF_A_PROBE = "a probe"


@dataclass(frozen=True)
class Offer:
    """What a judge, or one probe of it, gets right and what it costs."""

    name: str
    accuracy: Estimate
    cost: Estimate
    """Dollars per call."""
    style: SeriesStyle
    probes: tuple[Offer, ...] = ()

    @property
    def place(self) -> tuple[float, float]:
        """Dollars per 1,000 calls, and accuracy."""
        return 1000 * (self.cost.value or 0.0), self.accuracy.value or 0.0


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
    judges = series(summary, summary.measured, COLUMNS, needed=0)
    free = all(cost is not None and cost.value == 0 for _, cost in (each.figures for each in judges))
    if free or sum(each.figures[0] is not None for each in judges) < 2:
        return None
    offers, omitted = [], []
    for each in judges:
        accuracy, cost = each.figures
        if numbers.defined(accuracy) and numbers.defined(cost):
            offers.append(Offer(each.name, accuracy, cost, each.style, _probes(summary, each)))
        else:
            omitted.append(each.omission())
    front = [row.name for row in pareto_front(CostRow(offer.name, *offer.place) for offer in offers)]
    priced = {offer.name: "yes" if offer.name in front else "no" for offer in offers}
    rows = [(*each.row(summary), priced.get(each.name, numbers.NOT_MEASURED)) for each in judges]
    panels = (Panel(_drawing(offers, front, rows)),) if offers else ()
    for offer in offers:
        for probe in offer.probes:
            cells = (data_cell(summary, figure) for figure in (probe.accuracy, probe.cost))
            rows.append((f"{offer.name}, {probe.name}", *cells, OF_A_PROBE))
    return Chart(TITLE, CAPTION, panels, HEADER, tuple(rows), number_legend(summary), tuple(omitted))


def _probes(summary: Summary, judge: Series) -> tuple[Offer, ...]:
    """Its probes that have both figures; nothing for a single one, which is the judge's own point."""
    found = []
    for cost in summary.datasheet.of(judge.name, COST_PER_CALL.id):
        accuracy = summary.datasheet.find(judge.name, ACCURACY_OF.id, cost.probe, protocol="base")
        if cost.probe != COST_PROBE and numbers.defined(cost) and numbers.defined(accuracy):
            found.append(Offer(cost.probe, accuracy, cost, judge.style))
    return tuple(found) if len(found) > 1 else ()


def _drawing(offers: Sequence[Offer], front: Sequence[str], rows: Sequence[tuple[Text, ...]]) -> str:
    dots = [probe for offer in offers for probe in offer.probes]
    x = DollarScale.of([each.place[0] for each in (*offers, *dots)])
    y_axis, y = _accuracy_axis(offers)
    points = {offer.name: (x(offer.place[0]), y(offer.place[1])) for offer in offers}
    steps = _steps([points[name] for name in front])
    bars = [
        error_bar((points[offer.name][0], y(low)), (points[offer.name][0], y(high)), offer.style.role)
        for offer in offers
        for low, high in [interval_ends(offer.accuracy)]
    ]
    probes = [
        draw_marker("circle", (x(dollars), y(accuracy)), role=probe.style.role, size=22, edge=0.6)
        for probe in dots
        for dollars, accuracy in [probe.place]
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
    elements, label = [*line, *probes, *bars, *markers, *labels], aria_label(HEADER, rows)
    return draw(elements, width=WIDTH, height=HEIGHT, title=TITLE, label=label, x=x.axis, y=y_axis)


def _accuracy_axis(offers: Sequence[Offer]) -> tuple[Axis, Scale]:
    """From the quarter below every interval and probe to 1; fewer ticks where the axis is long."""
    ends = [interval_ends(offer.accuracy)[0] for offer in offers]
    least = min([*ends, *(probe.place[1] for offer in offers for probe in offer.probes)])
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
