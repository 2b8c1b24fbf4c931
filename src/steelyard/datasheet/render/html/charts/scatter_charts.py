"""Scatter charts of all judges: metrology axes, slot or text, and what tie instructions buy and cost."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import pairwise

from steelyard.datasheet.judge_entry import JudgeEntry
from steelyard.datasheet.render.html.drawing.chart import (
    SAME_QUALITY,
    Chart,
    Panel,
    SeriesStyle,
    all_judges,
    aria_label,
    data_cell,
    number_legend,
    omission_note,
    pairs_only,
    protocol_name,
    protocols,
    series_styles,
)
from steelyard.datasheet.render.html.drawing.scatter import (
    LimitLines,
    RatePlane,
    ScatterPoint,
    arrow,
    arrow_boxes,
    scatter,
)
from steelyard.datasheet.render.html.drawing.svg import (
    Box,
    SvgElement,
    colour,
    draw_line,
    draw_text,
    tag,
)
from steelyard.datasheet.sections.rows import Text
from steelyard.datasheet.sections.summary import Summary
from steelyard.datasheet.words import numbers
from steelyard.metrics.common import DARK_CURRENT
from steelyard.metrics.estimate import Estimate
from steelyard.metrics.pairs.criterion import CRITERION_SHIFT
from steelyard.metrics.pairs.decomposition import POSITIONAL_FALSE_PREFERENCE, STABLE_CROSS_SENSITIVITY
from steelyard.metrics.pairs.equals import RAW_FALSE_PREFERENCE
from steelyard.metrics.pairs.sensitivity import TARGET_SENSITIVITY
from steelyard.metrics.pairs.slot import NET_SLOT_PREFERENCE
from steelyard.trials.builtin_prompts import GRADED

RAW, DARK, STABLE, POSITIONAL, NET, TARGET = (
    metric.name
    for metric in (
        *(RAW_FALSE_PREFERENCE, DARK_CURRENT, STABLE_CROSS_SENSITIVITY),
        *(POSITIONAL_FALSE_PREFERENCE, NET_SLOT_PREFERENCE, TARGET_SENSITIVITY),
    )
)
FIRST_STEP, ALL_STEPS = f"{TARGET}, 1 step", f"{TARGET}, all steps"
COLUMNS: dict[str, tuple[str, str, dict[str, str | float]]] = {
    RAW: (RAW_FALSE_PREFERENCE.id, "ladder", SAME_QUALITY),
    STABLE: (STABLE_CROSS_SENSITIVITY.id, "ladder", SAME_QUALITY),
    POSITIONAL: (POSITIONAL_FALSE_PREFERENCE.id, "ladder", SAME_QUALITY),
    NET: (NET_SLOT_PREFERENCE.id, "ladder", SAME_QUALITY),
    FIRST_STEP: (TARGET_SENSITIVITY.id, "ladder", {"delta": 1}),
    DARK: (DARK_CURRENT.id, "vacuum", {}),
    ALL_STEPS: (TARGET_SENSITIVITY.id, "ladder", {}),
}
"""Column to metric, probe and condition."""
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


def _estimate(summary: Summary, judge: JudgeEntry, protocol: str, column: str) -> Estimate | None:
    metric, probe, group = COLUMNS[column]
    return summary.datasheet.find(judge.name, metric, probe, protocol=protocol, **group)


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
    columns: tuple[str, str, str],
    *,
    sized: bool = False,
    coin: bool = False,
) -> Chart:
    """Every judge at the rates of the first two columns; the third may set the size of its marker."""
    header = ("judge", *columns)
    styles, plane = series_styles(summary), RatePlane(*columns[:2], root=True)
    points, rows, omitted = [], [], []
    for judge in all_judges(summary):
        x, y, third = (_estimate(summary, judge, "base", column) for column in columns)
        rows.append((judge.name, *(data_cell(summary, estimate) for estimate in (x, y, third))))
        if not numbers.defined(x) or not numbers.defined(y):
            omitted.append(omission_note(judge.name, [(columns[0], x), (columns[1], y)]))
            continue
        share = third.value if numbers.defined(third) and third.value is not None else 0.0
        size = SMALLEST + (LARGEST - SMALLEST) * share if sized else ScatterPoint.size
        style = styles[judge.name]
        points.append(ScatterPoint(style.tag, x, y, style, size, baseline=judge.baseline))
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


@dataclass(frozen=True)
class Plane:
    x: str
    y: str
    x_title: str


PLANES = (
    Plane(RAW, FIRST_STEP, f"{RAW}, same quality"),
    Plane(DARK, ALL_STEPS, f"{DARK}, nothing to judge"),
)


@pairs_only
def criterion(summary: Summary) -> Chart:
    """Operating points, joined where a judge has more than one protocol."""
    curve = any(len(arms(summary, judge)) > 2 for judge in summary.measured)
    planes = PLANES if curve else PLANES[:1]
    columns = [name for plane in planes for name in (plane.x, plane.y)]
    header = ("judge", *columns, SHIFT)
    rows = tuple(row for judge in all_judges(summary) for row in _rows(summary, judge, columns))
    title = "Operating curve" if curve else "Criterion trade-off"
    drawings = [_drawing(summary, plane, title, aria_label(header, rows)) for plane in planes]
    panels = tuple(
        Panel(svg, f"{plane.y} against {plane.x}" if curve else "")
        for plane, svg in zip(planes, drawings, strict=True)
        if svg
    )
    caption = CURVE_CAPTION if curve else CRITERION_CAPTION
    omitted = tuple(
        omission_note(judge.name, [(name, _estimate(summary, judge, "base", name)) for name in columns[:2]])
        for judge in all_judges(summary)
        if not arms(summary, judge)
    )
    return Chart(title, caption, panels, header, rows, number_legend(summary), omitted, wide=len(panels) > 1)


def arms(summary: Summary, judge: JudgeEntry) -> tuple[str, ...]:
    """Protocols of a judge that have an operating point, from lenient to strict, others after them."""
    names = [
        name
        for name in protocols(judge)
        if all(numbers.defined(_estimate(summary, judge, name, rate)) for rate in (RAW, FIRST_STEP))
    ]
    return tuple(sorted(names, key=lambda name: GRADED.index(name) if name in GRADED else len(GRADED)))


def _drawing(summary: Summary, plane: Plane, title: str, label: str) -> str:
    styles = series_styles(summary)
    rates = RatePlane(plane.x_title, plane.y)
    curves = [list(_points(summary, judge, styles[judge.name], plane)) for judge in all_judges(summary)]
    points = [point for curve in curves for point in curve]
    if not points:
        return ""
    segments = [ends for curve in curves for ends in _segments(curve) if ends[0].values != ends[1].values]
    arrows = [element for start, end in segments for element in arrow(rates, start, end)]
    avoid = [box for start, end in segments for box in arrow_boxes(rates, start, end)]
    return rates.draw([*arrows, *scatter(rates, points, avoid)], title=title, label=label)


def _segments(points: Sequence[ScatterPoint]) -> Iterator[tuple[ScatterPoint, ScatterPoint]]:
    """Neighbours along a curve; with own protocols, whose order is not known, each of them with base."""
    graded = [point for point in points if point.protocol in GRADED]
    yield from pairwise(graded)
    base = next((point for point in points if point.protocol == "base"), None)
    if base is not None:
        yield from ((base, point) for point in points if point.protocol not in GRADED)


def _points(summary: Summary, judge: JudgeEntry, style: SeriesStyle, plane: Plane) -> Iterator[ScatterPoint]:
    names = arms(summary, judge)
    for protocol in names:
        x, y = (_estimate(summary, judge, protocol, rate) for rate in (plane.x, plane.y))
        if numbers.defined(x) and numbers.defined(y):
            hollow = protocol != "base"
            label = style.with_protocol(protocol)
            if style.tag != style.label:
                label = style.tag
            elif len(names) > 2 and hollow:  # on a curve the base point carries the judge's name
                label = protocol
            yield ScatterPoint(label, x, y, style, baseline=judge.baseline, hollow=hollow, protocol=protocol)


def _rows(summary: Summary, judge: JudgeEntry, columns: Sequence[str]) -> Iterator[tuple[Text, ...]]:
    order = [name for name in GRADED if name in judge.protocols or name == "base"]
    for protocol in (*order, *(name for name in judge.protocols if name not in GRADED)):
        estimates = [_estimate(summary, judge, protocol, column) for column in columns]
        cells = [data_cell(summary, estimate) for estimate in estimates]
        if protocol == "base":
            yield (judge.name, *cells, "reference")
        elif any(estimate is not None for estimate in estimates[:2]):
            shift = summary.datasheet.find(
                judge.name, CRITERION_SHIFT.id, "criterion", protocol=protocol, delta=0
            )
            yield (protocol_name(judge, protocol), *cells, data_cell(summary, shift))
