"""Scatter charts of all judges: metrology axes, slot or text, tie instructions, accuracy against cost."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import pairwise
from math import ceil, floor, log10

from steelyard.datasheet import numbers
from steelyard.datasheet.render.html.drawing.axis import Axis, Scale, draw
from steelyard.datasheet.render.html.drawing.chart import (
    SAME_QUALITY,
    Chart,
    Column,
    Panel,
    Series,
    SeriesStyle,
    all_judges,
    aria_label,
    data_cell,
    interval_ends,
    number_legend,
    pairs_only,
    scores_only,
    series,
)
from steelyard.datasheet.render.html.drawing.scatter import (
    LimitLines,
    RatePlane,
    ScatterPoint,
    arrow,
    arrow_boxes,
    draw_labels,
    scatter,
)
from steelyard.datasheet.render.html.drawing.svg import (
    Box,
    PixelPoint,
    SvgElement,
    colour,
    draw_line,
    draw_marker,
    draw_text,
    error_bar,
    tag,
)
from steelyard.datasheet.sections.sections import CRITERION, LADDER, VACUUM, Text
from steelyard.datasheet.sections.summary import Summary
from steelyard.metrics.estimate import Estimate
from steelyard.metrics.pairs.decomposition import POSITIONAL_FALSE_PREFERENCE, STABLE_CROSS_SENSITIVITY
from steelyard.metrics.pairs.equals import RAW_FALSE_PREFERENCE
from steelyard.metrics.pairs.ladder import TARGET_SENSITIVITY
from steelyard.metrics.pairs.signal_detection import CRITERION_SHIFT
from steelyard.metrics.pairs.slot import NET_SLOT_PREFERENCE
from steelyard.metrics.proportions import ACCURACY as ACCURACY_OF
from steelyard.metrics.proportions import DARK_CURRENT
from steelyard.metrics.run.cost import COST_PER_CALL, CostRow, pareto_front
from steelyard.metrics.run.cost import PROBE as COST_PROBE
from steelyard.metrics.run.volatility import ACCURACY_MEAN
from steelyard.metrics.run.volatility import PROBE as VOLATILITY
from steelyard.trials.builtin_prompts import GRADED

TARGET = TARGET_SENSITIVITY.name
RAW, STABLE, POSITIONAL, NET = (
    Column(metric.name, metric.id, LADDER, SAME_QUALITY)
    for metric in (
        *(RAW_FALSE_PREFERENCE, STABLE_CROSS_SENSITIVITY),
        *(POSITIONAL_FALSE_PREFERENCE, NET_SLOT_PREFERENCE),
    )
)
FIRST_STEP = Column(f"{TARGET}, 1 step", TARGET_SENSITIVITY.id, LADDER, {"delta": 1})
ALL_STEPS = Column(f"{TARGET}, all steps", TARGET_SENSITIVITY.id)
DARK = Column(DARK_CURRENT.name, DARK_CURRENT.id, VACUUM)
SMALLEST, LARGEST = 50.0, 420.0
"""Area of a marker at target sensitivity 0 and 1, in square pixels."""
AXES_CAPTION = (
    "Left is a quiet zero point, low is indifference to wording. A larger marker sees a difference of one "
    "quality step more often. Error bars are 95 % intervals, dashed lines are limits; baselines are grey. "
    "Square-root axes keep small shares apart."
)
POSITION_CAPTION = (
    "A judge that always names a winner lies on the arc; a fair coin lies at its middle. Towards the top the "
    "slot decides, towards the right the wording does, towards zero the judge says tie. Dashed lines are "
    "limits; square-root axes keep small shares apart."
)
SHIFT = f"{CRITERION_SHIFT.name}, same quality"
CRITERION_CAPTION = (
    "The best place is the upper left corner. An arrow runs from the base protocol to a stricter one: left "
    "is fewer false preferences, down is real differences lost in ties."
)
CURVE_CAPTION = (
    "The best place is the upper left corner. Arrows run from the most lenient tie instruction to the "
    "strictest; the filled mark is the base protocol. Error bars are 95 % intervals of each rate on its own: "
    "the shifts, which compare pair by pair, show whether two protocols differ."
)


@pairs_only
def axes_map(summary: Summary) -> Chart:
    return _judges_by_rates(summary, "Metrology axes", AXES_CAPTION, (DARK, STABLE, FIRST_STEP), sized=True)


@pairs_only
def position(summary: Summary) -> Chart:
    return _judges_by_rates(summary, "Slot or text", POSITION_CAPTION, (STABLE, POSITIONAL, NET), coin=True)


def _judges_by_rates(
    summary: Summary,
    title: str,
    caption: str,
    columns: tuple[Column, Column, Column],
    *,
    sized: bool = False,
    coin: bool = False,
) -> Chart:
    """Every judge at the rates of the first two columns; the third may set the size of its marker."""
    header = ("judge", *(column.name for column in columns))
    plane = RatePlane(columns[0].name, columns[1].name, root=True)
    judges = series(summary, all_judges(summary), columns, needed=0)
    rows, points, omitted = [each.row(summary) for each in judges], [], []
    for each in judges:
        x, y, third = each.figures
        if not numbers.defined(x) or not numbers.defined(y):
            omitted.append(each.omission(2))
            continue
        share = third.value if numbers.defined(third) and third.value is not None else 0.0
        size = SMALLEST + (LARGEST - SMALLEST) * share if sized else ScatterPoint.size
        points.append(ScatterPoint(each.style.tag, x, y, each.style, size, baseline=each.judge.baseline))
    limits = LimitLines.of(points)
    back, avoid = limits.elements(plane), limits.boxes(plane)
    if coin:
        x_coin, y_coin = plane.at((0.5, 0.5))
        back = [*_fair_coin(plane), *back]
        avoid = [Box(x_coin - 10, y_coin - 10, x_coin + 72, y_coin + 10), *avoid]
    label = aria_label(header, rows)
    svg = plane.draw([*back, *scatter(plane, points, avoid)], title=title, label=label)
    panels = (Panel(svg),) if points else ()
    return Chart(title, caption, panels, header, tuple(rows), number_legend(summary), tuple(omitted))


def _fair_coin(plane: RatePlane) -> list[SvgElement]:
    """The line on which every pair is decided in both orders, and the point of a fair coin on it."""
    arc = [plane.at((share / 50, 1 - share / 50)) for share in range(51)]
    x, y = plane.at((0.5, 0.5))
    ring = tag("circle", cx=x, cy=y, r=6.12, fill="transparent", stroke=colour("accent"), stroke_width=2.0)
    return [
        draw_line(arc, role="accent", width=1.2, dash=(4, 4)),
        SvgElement(ring, Box(x - 7, y - 7, x + 7, y + 7)),
        draw_text("fair coin", (x + 12, y), role="accent", size=12, align="left"),
    ]


PLANES = ((RAW, FIRST_STEP, f"{RAW.name}, same quality"), (DARK, ALL_STEPS, f"{DARK.name}, nothing to judge"))
"""Columns of an operating point, and the title of the first axis."""


@pairs_only
def criterion(summary: Summary) -> Chart:
    """Operating points, joined where a judge has more than one protocol."""
    columns = [column for x, y, _ in PLANES for column in (x, y)]
    # Protocols of each judge, from lenient to strict, others after them.
    judges = [sorted(series(summary, [j], columns, needed=2), key=_strictness) for j in all_judges(summary)]
    arms = [[each for each in mine if all(map(numbers.defined, each.figures[:2]))] for mine in judges]
    curve = any(len(mine) > 2 for mine in arms[: len(summary.measured)])
    planes = PLANES if curve else PLANES[:1]
    header = ("judge", *(column.name for column in columns[: 2 * len(planes)]), SHIFT)
    rows = tuple(
        (*each.row(summary)[: len(header) - 1], _shift(summary, each)) for mine in judges for each in mine
    )
    title, label = "Operating curve" if curve else "Criterion trade-off", aria_label(header, rows)
    panels = []
    for number, (x, y, x_title) in enumerate(planes):
        rates, curves = RatePlane(x_title, y.name), [list(_points(mine, 2 * number)) for mine in arms]
        if any(curves):
            panels.append(
                Panel(_drawing(rates, curves, title, label), f"{y.name} against {x.name}" if curve else "")
            )
    caption = CURVE_CAPTION if curve else CRITERION_CAPTION
    bases = [next(each for each in mine if each.protocol == "base") for mine in judges]
    omitted = tuple(base.omission(2) for base, mine in zip(bases, arms, strict=True) if not mine)
    legend = number_legend(summary)
    return Chart(title, caption, tuple(panels), header, rows, legend, omitted, wide=len(panels) > 1)


def _strictness(arm: Series) -> int:
    return GRADED.index(arm.protocol) if arm.protocol in GRADED else len(GRADED)


def _shift(summary: Summary, arm: Series) -> Text:
    if arm.protocol == "base":
        return "reference"
    column = Column(SHIFT, CRITERION_SHIFT.id, CRITERION, {"delta": 0})
    return data_cell(summary, column.find(summary, arm.judge.name, arm.protocol))


def _drawing(rates: RatePlane, curves: Sequence[Sequence[ScatterPoint]], title: str, label: str) -> str:
    segments = [ends for curve in curves for ends in _segments(curve) if ends[0].values != ends[1].values]
    arrows = [element for start, end in segments for element in arrow(rates, start, end)]
    avoid = [box for start, end in segments for box in arrow_boxes(rates, start, end)]
    points = [point for curve in curves for point in curve]
    return rates.draw([*arrows, *scatter(rates, points, avoid)], title=title, label=label)


def _segments(points: Sequence[ScatterPoint]) -> Iterator[tuple[ScatterPoint, ScatterPoint]]:
    """Neighbours along a curve; with own protocols, whose order is not known, each of them with base."""
    graded = [point for point in points if point.protocol in GRADED]
    yield from pairwise(graded)
    base = next((point for point in points if point.protocol == "base"), None)
    if base is not None:
        yield from ((base, point) for point in points if point.protocol not in GRADED)


def _points(arms: Sequence[Series], place: int) -> Iterator[ScatterPoint]:
    """The points of one judge by two columns, from this place on."""
    for arm in arms:
        x, y = arm.figures[place : place + 2]
        if numbers.defined(x) and numbers.defined(y):
            style, hollow, label = arm.style, arm.protocol != "base", arm.label
            if style.tag != style.label:
                label = style.tag
            elif len(arms) > 2 and hollow:  # on a curve the base point carries the judge's name
                label = arm.protocol
            baseline = arm.judge.baseline
            yield ScatterPoint(label, x, y, style, baseline=baseline, hollow=hollow, protocol=arm.protocol)


COST_WIDTH, COST_HEIGHT = 430, 340
COST_TITLE = "What accuracy costs"
COST_COLUMNS = (
    Column(ACCURACY_MEAN.label, ACCURACY_MEAN.id, VOLATILITY),
    Column(COST_PER_CALL.label, COST_PER_CALL.id, COST_PROBE),
)
OVER_PROBES = f"{ACCURACY_MEAN.label} over probes"
COST_HEADER = ("judge", OVER_PROBES, COST_PER_CALL.label, "on the front")
COST_CAPTION = (
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
        return Scale(self.low - (0.6 if self.free else 0.0), self.high, COST_WIDTH)

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
    judges = series(summary, summary.measured, COST_COLUMNS, needed=0)
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
    panels = (Panel(_cost_drawing(offers, front, rows)),) if offers else ()
    for offer in offers:
        for probe in offer.probes:
            cells = (data_cell(summary, figure) for figure in (probe.accuracy, probe.cost))
            rows.append((f"{offer.name}, {probe.name}", *cells, OF_A_PROBE))
    return Chart(
        COST_TITLE, COST_CAPTION, panels, COST_HEADER, tuple(rows), number_legend(summary), tuple(omitted)
    )


def _probes(summary: Summary, judge: Series) -> tuple[Offer, ...]:
    """Its probes that have both figures; nothing for a single one, which is the judge's own point."""
    found = []
    for cost in summary.datasheet.of(judge.name, COST_PER_CALL.id):
        accuracy = summary.datasheet.find(judge.name, ACCURACY_OF.id, cost.probe, protocol="base")
        if cost.probe != COST_PROBE and numbers.defined(cost) and numbers.defined(accuracy):
            found.append(Offer(cost.probe, accuracy, cost, judge.style))
    return tuple(found) if len(found) > 1 else ()


def _cost_drawing(offers: Sequence[Offer], front: Sequence[str], rows: Sequence[tuple[Text, ...]]) -> str:
    dots = [probe for offer in offers for probe in offer.probes]
    x = DollarScale.of([each.place[0] for each in (*offers, *dots)])
    y_axis, y = _accuracy_axis(offers)
    points = {offer.name: (x(offer.place[0]), y(offer.place[1])) for offer in offers}
    steps = _steps([points[name] for name in front])
    placed = [(offer, offer.style, points[offer.name]) for offer in offers]
    bars = [
        error_bar((across, y(low)), (across, y(high)), style.role)
        for offer, style, (across, _) in placed
        for low, high in [interval_ends(offer.accuracy)]
    ]
    probes = [
        draw_marker("circle", (x(dollars), y(accuracy)), role=probe.style.role, size=22, edge=0.6)
        for probe in dots
        for dollars, accuracy in [probe.place]
    ]
    markers = [
        draw_marker(style.shape, at, role=style.role, size=110, hollow=offer.name not in front, edge=1.8)
        for offer, style, at in placed
    ]
    anchors = [(*at, style.tag) for _, style, at in placed]
    styles = [(style.role, True) for _, style, _ in placed]
    avoid = [Box(bar.box.left - 2, bar.box.top, bar.box.right + 2, bar.box.bottom) for bar in bars]
    labels = draw_labels(anchors, styles, COST_WIDTH, COST_HEIGHT, avoid)
    line = [draw_line(steps, role="accent", width=1.8, dash=(5, 4))] if steps else []
    elements, label = [*line, *probes, *bars, *markers, *labels], aria_label(COST_HEADER, rows)
    return draw(
        elements, width=COST_WIDTH, height=COST_HEIGHT, title=COST_TITLE, label=label, x=x.axis, y=y_axis
    )


def _accuracy_axis(offers: Sequence[Offer]) -> tuple[Axis, Scale]:
    """From the quarter below every interval and probe to 1; fewer ticks where the axis is long."""
    ends = [interval_ends(offer.accuracy)[0] for offer in offers]
    least = min([*ends, *(probe.place[1] for offer in offers for probe in offer.probes)])
    low = min(0.75, floor(4 * least) / 4)
    every = 5 if low < 0.5 else 2 if low < 0.75 else 1
    scale = Scale(low, 1, COST_HEIGHT, upward=True)
    return Axis(scale, OVER_PROBES, [n / 20 for n in range(round(20 * low), 21, every)]), scale


def _steps(front: Sequence[PixelPoint]) -> list[PixelPoint]:
    """The best accuracy that each amount buys: level up to the next judge, then up."""
    places: list[PixelPoint] = []
    for x, y in front:
        if places:
            places.append((x, places[-1][1]))
        places.append((x, y))
    return [*places, (float(COST_WIDTH), places[-1][1])] if places else []
