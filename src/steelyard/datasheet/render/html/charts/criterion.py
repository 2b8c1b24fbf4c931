"""Criterion chart: what tie instructions buy and cost; false preference against sensitivity."""

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
    RatePlane,
    ScatterPoint,
    arrow,
    arrow_boxes,
    scatter,
)
from steelyard.datasheet.sections.summary import Summary
from steelyard.datasheet.words import numbers
from steelyard.datasheet.words.glossary import metric_named
from steelyard.metrics.common import DARK_CURRENT
from steelyard.metrics.estimate import Estimate
from steelyard.metrics.pairs.criterion import CRITERION_SHIFT
from steelyard.metrics.pairs.equals import RAW_FALSE_PREFERENCE
from steelyard.metrics.pairs.sensitivity import TARGET_SENSITIVITY
from steelyard.trials.builtin_prompts import GRADED

TITLE, CURVE_TITLE = "Criterion trade-off", "Operating curve"
RAW, DARK, TARGET = (
    metric_named(metric).name for metric in (RAW_FALSE_PREFERENCE.id, DARK_CURRENT.id, TARGET_SENSITIVITY.id)
)
FIRST_STEP, ALL_STEPS = f"{TARGET}, 1 step", f"{TARGET}, all steps"
COLUMNS: dict[str, tuple[str, str, dict[str, str | float]]] = {
    RAW: (RAW_FALSE_PREFERENCE.id, "ladder", SAME_QUALITY),
    FIRST_STEP: (TARGET_SENSITIVITY.id, "ladder", {"delta": 1}),
    DARK: (DARK_CURRENT.id, "vacuum", {}),
    ALL_STEPS: (TARGET_SENSITIVITY.id, "ladder", {}),
}
"""Column to metric, probe and condition, in pairs of what is drawn across and up."""
SHIFT = f"{metric_named('criterion_shift').name}, same quality"
CAPTION = (
    "The best place is the upper left corner. An arrow runs from the base protocol to a stricter one: left "
    "is fewer false preferences, down is real differences lost in ties."
)
CURVE_CAPTION = (
    "The best place is the upper left corner. Arrows run from the most lenient tie instruction to the "
    "strictest; the filled mark is the base protocol. Error bars are 95 % intervals of each rate on its own: "
    "the shifts, which compare pair by pair, show whether two protocols differ."
)


@dataclass(frozen=True)
class Plane:
    x: str
    y: str
    across: str


PLANES = (
    Plane(RAW, FIRST_STEP, f"{RAW}, same quality"),
    Plane(DARK, ALL_STEPS, f"{DARK}, nothing to judge"),
)


@pairs_only
def criterion(summary: Summary) -> Chart:
    curve = any(len(arms(summary, judge)) > 2 for judge in summary.measured)
    planes = PLANES if curve else PLANES[:1]
    columns = [name for plane in planes for name in (plane.x, plane.y)]
    header = ("judge", *columns, SHIFT)
    rows = tuple(row for judge in all_judges(summary) for row in _rows(summary, judge, columns))
    title = CURVE_TITLE if curve else TITLE
    drawings = [_drawing(summary, plane, title, aria_label(header, rows)) for plane in planes]
    panels = tuple(
        Panel(svg, f"{plane.y} against {plane.x}" if curve else "")
        for plane, svg in zip(planes, drawings, strict=True)
        if svg
    )
    caption = CURVE_CAPTION if curve else CAPTION
    omitted = tuple(_omitted(summary, planes[0]))
    return Chart(title, caption, panels, header, rows, number_legend(summary), omitted, wide=len(panels) > 1)


def arms(summary: Summary, judge: JudgeEntry) -> tuple[str, ...]:
    """Protocols of a judge that have an operating point, from lenient to strict, others after them."""
    names = [p for p in protocols(judge) if all(map(numbers.defined, _two(summary, judge, p, PLANES[0])))]
    return tuple(sorted(names, key=lambda name: GRADED.index(name) if name in GRADED else len(GRADED)))


def _estimate(summary: Summary, judge: JudgeEntry, protocol: str, column: str) -> Estimate | None:
    metric, probe, group = COLUMNS[column]
    return summary.datasheet.find(judge.name, metric, probe, protocol=protocol, **group)


def _two(
    summary: Summary, judge: JudgeEntry, protocol: str, plane: Plane
) -> tuple[Estimate | None, Estimate | None]:
    return tuple(_estimate(summary, judge, protocol, column) for column in (plane.x, plane.y))  # type: ignore[return-value]


def _drawing(summary: Summary, plane: Plane, title: str, label: str) -> str:
    styles = series_styles(summary)
    rates = RatePlane(plane.across, plane.y)
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
        x, y = _two(summary, judge, protocol, plane)
        if numbers.defined(x) and numbers.defined(y):
            yield ScatterPoint(
                _label(style, protocol, curve=len(names) > 2),
                x,
                y,
                style,
                baseline=judge.baseline,
                hollow=protocol != "base",
                protocol=protocol,
            )


def _label(style: SeriesStyle, protocol: str, *, curve: bool) -> str:
    """On a curve the base point carries the judge's name and the others the protocol's."""
    if style.tag != style.label:
        return style.tag
    return protocol if curve and protocol != "base" else style.with_protocol(protocol)


def _omitted(summary: Summary, plane: Plane) -> Iterator[str]:
    for judge in all_judges(summary):
        if not arms(summary, judge):
            named = zip((plane.x, plane.y), _two(summary, judge, "base", plane), strict=True)
            yield omission_note(judge.name, named)


def _rows(summary: Summary, judge: JudgeEntry, columns: Sequence[str]) -> Iterator[tuple[str, ...]]:
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
