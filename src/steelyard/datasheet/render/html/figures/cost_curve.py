"""Figure: what accuracy costs. Mean accuracy against dollars, with the judges that no other beats."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from math import ceil, floor, log10

from steelyard.datasheet.render.html.drawing.chart import TEXT, colour, draw, layer, mark, rate_axis
from steelyard.datasheet.render.html.drawing.figure import (
    Figure,
    Look,
    Panel,
    cell,
    crowd_key,
    limits,
    looks,
    of_scores,
    spoken,
    why_not,
)
from steelyard.datasheet.render.html.drawing.labels import Box, place
from steelyard.datasheet.render.html.drawing.spec import Spec
from steelyard.datasheet.sections.summary import Summary
from steelyard.datasheet.words import numbers
from steelyard.metrics.estimate import Estimate
from steelyard.metrics.run.cost import COST_PER_CALL, CostRow, pareto_front
from steelyard.metrics.run.volatility import ACCURACY_MEAN

WIDTH, HEIGHT = 430, 340
TITLE = "What accuracy costs"
ACCURACY, COST = ACCURACY_MEAN.label, COST_PER_CALL.label
OVER_PROBES = f"{ACCURACY} over probes"
HEADER = ("judge", OVER_PROBES, COST, "on the front")
CAPTION = (
    "Mean accuracy over probes against dollars per 1,000 calls, on a logarithmic axis; whiskers are 95 % "
    "intervals. The line is the best accuracy that each amount buys. A hollow mark is a judge that another "
    "beats at no higher price, by values; their intervals may overlap."
)
THOUSAND = 1000


@dataclass(frozen=True)
class Offer:
    """What one judge gives for its price."""

    name: str
    """Name on the datasheet."""
    accuracy: Estimate
    """Mean accuracy over probes."""
    cost: Estimate
    """Dollars per call."""
    look: Look
    """Colour and shape."""

    @property
    def dollars(self) -> float:
        """Dollars per 1,000 calls."""
        return THOUSAND * (self.cost.value or 0.0)


@dataclass(frozen=True)
class Axes:
    """Accuracy against dollars as powers of ten; what costs nothing stands left of the cheapest."""

    low: int
    """Exponent of the left end."""
    high: int
    """Exponent of the right end."""
    free: bool
    """True where a judge costs nothing."""
    floor: float
    """Lower end of the accuracies: the quarter below every interval."""

    @classmethod
    def of(cls, offers: Sequence[Offer]) -> Axes:
        """Whole powers of ten and whole quarters around every offer."""
        paid = [log10(offer.dollars) for offer in offers if offer.dollars > 0]
        low, high = (floor(min(paid)), ceil(max(paid))) if paid else (0, 1)
        least = min(limits(offer.accuracy)[0] for offer in offers)
        return cls(low, max(high, low + 1), len(paid) < len(offers), min(0.75, floor(4 * least) / 4))

    @property
    def start(self) -> float:
        """Left end of the axis."""
        return self.low - (0.6 if self.free else 0.0)

    def at(self, dollars: float) -> float:
        """Place of an amount."""
        return log10(dollars) if dollars > 0 else self.low - 0.4

    def pixel(self, at: float, accuracy: float) -> tuple[float, float]:
        """A place in pixels, from the upper left corner."""
        across = (at - self.start) / (self.high - self.start)
        return across * WIDTH, (1 - accuracy) / (1 - self.floor) * HEIGHT

    def place(self, x: float, y: float) -> tuple[float, float]:
        """The place of a pixel."""
        return self.start + x / WIDTH * (self.high - self.start), 1 - y / HEIGHT * (1 - self.floor)

    def channels(self) -> dict[str, Spec]:
        """The two channels that every layer shares."""
        y = rate_axis("y", OVER_PROBES)
        y["scale"]["domain"] = [self.floor, 1]
        y["axis"]["values"] = [quarter / 20 for quarter in range(round(20 * self.floor), 21, self._every())]
        return {"x": self._dollars(), "y": y}

    def _every(self) -> int:
        """Twentieths between two marks: fewer where the axis is long."""
        return 5 if self.floor < 0.5 else 2 if self.floor < 0.75 else 1

    def _dollars(self) -> Spec:
        powers = range(self.low, self.high + 1)
        marks = [*([self.at(0)] if self.free else []), *powers]
        labels = [
            *(["free"] if self.free else []),
            *(f"${10.0**power:,.{max(0, -power)}f}" for power in powers),
        ]
        axis = {"title": "dollars per 1,000 calls", "values": marks, "grid": True, "labels": labels}
        scale = {"domain": [self.start, self.high], "nice": False}
        return {"field": "x", "type": "quantitative", "scale": scale, "axis": axis}


@of_scores
def cost_curve(summary: Summary) -> Figure | None:
    """Judges by price and accuracy; None for fewer than two, or where all are known to cost nothing."""
    look, offers, rows, omitted = looks(summary), [], [], []
    named = [(judge.name, *_two(summary, judge.name)) for judge in summary.measured]
    free = all(cost is not None and cost.value == 0 for _, _, cost in named)
    if free or sum(accuracy is not None for _, accuracy, _ in named) < 2:
        return None
    for name, accuracy, cost in named:
        if numbers.defined(accuracy) and numbers.defined(cost):
            offers.append(Offer(name, accuracy, cost, look[name]))
        else:
            omitted.append(why_not(name, [(ACCURACY, accuracy), (COST, cost)]))
    front = [row.name for row in pareto_front(_row(offer) for offer in offers)]
    for name, accuracy, cost in named:
        priced = any(offer.name == name for offer in offers)
        answer = ("yes" if name in front else "no") if priced else numbers.NOT_MEASURED
        rows.append((name, cell(summary, accuracy), cell(summary, cost), answer))
    svg = _drawing(offers, front, rows) if offers else ""
    panels = (Panel(svg),) if svg else ()
    key = crowd_key(summary)
    return Figure(TITLE, CAPTION, panels, HEADER, tuple(rows), key, tuple(omitted))


def _two(summary: Summary, judge: str) -> tuple[Estimate | None, Estimate | None]:
    find = summary.datasheet.find
    return (
        find(judge, ACCURACY_MEAN.id, "volatility", protocol="base"),
        find(judge, COST_PER_CALL.id, "cost", protocol="base"),
    )


def _row(offer: Offer) -> CostRow:
    return CostRow(offer.name, offer.dollars, offer.accuracy.value or 0.0)


def _drawing(offers: Sequence[Offer], front: Sequence[str], rows: Sequence[tuple[str, ...]]) -> str:
    axes = Axes.of(offers)
    points = {offer.name: (axes.at(offer.dollars), offer.accuracy.value or 0.0) for offer in offers}
    steps = _steps([points[name] for name in front], axes.high)
    line = mark("line", color=colour("accent"), strokeWidth=1.8, strokeDash=[5, 4])
    layers = [
        layer(steps, line, order={"field": "order", "type": "quantitative"}),
        *(spec for offer in offers for spec in _offer(offer, points[offer.name], offer.name in front)),
        *_labels(offers, axes, points),
    ]
    for drawn in layers:
        drawn["encoding"] = {**axes.channels(), **drawn["encoding"]}
    return draw(layers, width=WIDTH, height=HEIGHT, title=TITLE, label=spoken(HEADER, rows))


def _steps(front: Sequence[tuple[float, float]], end: float) -> list[Spec]:
    """The best accuracy that each amount buys: level up to the next judge, then up."""
    places: list[tuple[float, float]] = []
    for number, (at, accuracy) in enumerate(front):
        if number:
            places.append((at, front[number - 1][1]))
        places.append((at, accuracy))
    if front:
        places.append((end, front[-1][1]))
    return [{"x": at, "y": accuracy, "order": number} for number, (at, accuracy) in enumerate(places)]


def _offer(offer: Offer, point: tuple[float, float], ahead: bool) -> list[Spec]:
    """Interval of the accuracy and the mark; hollow where another judge is no dearer and better."""
    role, paper = colour(offer.look.role), colour("paper")
    low, high = limits(offer.accuracy)
    fill, stroke = (role, paper) if ahead else (paper, role)
    whisker = mark("rule", color=role, strokeWidth=1.5, opacity=0.55)
    dot = mark("point", shape=offer.look.shape, size=110, fill=fill, stroke=stroke, strokeWidth=1.8)
    return [
        layer([{"x": point[0], "y": low, "y2": high}], whisker, y2={"field": "y2"}),
        layer([{"x": point[0], "y": point[1]}], {**dot, "opacity": 1}),
    ]


def _labels(offers: Sequence[Offer], axes: Axes, points: dict[str, tuple[float, float]]) -> list[Spec]:
    pixels = [(*axes.pixel(*points[offer.name]), offer.look.tag) for offer in offers]
    whiskers = [_room(offer, axes, points[offer.name][0]) for offer in offers]
    placed = place(pixels, width=WIDTH, height=HEIGHT, avoid=whiskers)
    layers: list[Spec] = []
    for offer, label in zip(offers, placed, strict=True):
        drawn = mark("text", align=label.align, color=colour(offer.look.role), fontWeight=600)
        x, y = axes.place(label.x, label.y)
        if label.far:
            across, up = points[offer.name]
            leader = mark("rule", color=colour("muted"), strokeWidth=0.8)
            ends = {"x": across, "y": up, "x2": x, "y2": y}
            layers.append(layer([ends], leader, x2={"field": "x2"}, y2={"field": "y2"}))
        layers.append(layer([{"x": x, "y": y, "text": label.text}], drawn, text=TEXT))
    return layers


def _room(offer: Offer, axes: Axes, at: float) -> Box:
    """The room that a whisker takes."""
    low, high = limits(offer.accuracy)
    (across, bottom), (_, top) = axes.pixel(at, low), axes.pixel(at, high)
    return Box(across - 2, top, across + 2, bottom)
