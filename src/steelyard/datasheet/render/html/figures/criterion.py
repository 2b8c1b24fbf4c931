"""Figure: what tie instructions buy and cost. False preference against sensitivity, lenient to strict."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import pairwise

from steelyard.datasheet.judge_entry import JudgeEntry
from steelyard.datasheet.render.html.drawing.axes import HEIGHT, WIDTH, Axes, Point
from steelyard.datasheet.render.html.drawing.chart import draw
from steelyard.datasheet.render.html.drawing.figure import (
    SAME_QUALITY,
    Figure,
    Look,
    Panel,
    arm_name,
    cell,
    crowd_key,
    everyone,
    looks,
    of_pairs,
    protocols,
    spoken,
    why_not,
)
from steelyard.datasheet.render.html.drawing.scatter import along, arrow, scatter
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
    "strictest; the filled mark is the base protocol. Crossbars are 95 % intervals of each rate on its own: "
    "whether two arms differ is told by the shifts, which compare them pair by pair."
)


@dataclass(frozen=True)
class Plane:
    """One drawing: two rates of every arm."""

    x: str
    """Column of the horizontal rate."""
    y: str
    """Column of the vertical rate."""
    across: str
    """Title of the horizontal axis."""


PLANES = (
    Plane(RAW, FIRST_STEP, f"{RAW}, same quality"),
    Plane(DARK, ALL_STEPS, f"{DARK}, nothing to judge"),
)


@of_pairs
def criterion(summary: Summary) -> Figure:
    """Operating points, joined where a judge has more than one protocol."""
    curve = any(len(arms(summary, judge)) > 2 for judge in summary.measured)
    planes = PLANES if curve else PLANES[:1]
    columns = [name for plane in planes for name in (plane.x, plane.y)]
    header = ("judge", *columns, SHIFT)
    rows = tuple(row for judge in everyone(summary) for row in _rows(summary, judge, columns))
    title = CURVE_TITLE if curve else TITLE
    drawn = [_drawing(summary, plane, title, spoken(header, rows)) for plane in planes]
    panels = tuple(
        Panel(svg, f"{plane.y} against {plane.x}" if curve else "")
        for plane, svg in zip(planes, drawn, strict=True)
        if svg
    )
    caption = CURVE_CAPTION if curve else CAPTION
    omitted = tuple(_omitted(summary, planes[0]))
    return Figure(title, caption, panels, header, rows, crowd_key(summary), omitted, wide=len(panels) > 1)


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
    look = looks(summary)
    axes = Axes.named(plane.across, plane.y)
    drawn = [list(_points(summary, judge, look[judge.name], plane)) for judge in everyone(summary)]
    points = [point for mine in drawn for point in mine]
    if not points:
        return ""
    joined = [ends for mine in drawn for ends in _joined(mine) if ends[0].at != ends[1].at]
    arrows = [spec for start, end in joined for spec in arrow(axes, start, end)]
    room = [box for start, end in joined for box in along(axes, start, end)]
    layers = [*arrows, *scatter(axes, points, room)]
    return draw(layers, width=WIDTH, height=HEIGHT, title=title, label=label)


def _joined(points: Sequence[Point]) -> Iterator[tuple[Point, Point]]:
    """Neighbours along a curve; with own protocols, whose order is not known, each arm with base."""
    graded = [point for point in points if point.arm in GRADED]
    yield from pairwise(graded)
    base = next((point for point in points if point.arm == "base"), None)
    if base is not None:
        yield from ((base, point) for point in points if point.arm not in GRADED)


def _points(summary: Summary, judge: JudgeEntry, look: Look, plane: Plane) -> Iterator[Point]:
    names = arms(summary, judge)
    for protocol in names:
        x, y = _two(summary, judge, protocol, plane)
        if numbers.defined(x) and numbers.defined(y):
            label = _label(look, protocol, curve=len(names) > 2)
            hollow = protocol != "base"
            yield Point(label, x, y, look, quiet=judge.baseline, hollow=hollow, arm=protocol)


def _label(look: Look, protocol: str, *, curve: bool) -> str:
    """On a curve the base point carries the judge's name and the others the protocol's."""
    if look.tag != look.label:
        return look.tag
    return protocol if curve and protocol != "base" else look.arm(protocol)


def _omitted(summary: Summary, plane: Plane) -> Iterator[str]:
    for judge in everyone(summary):
        if not arms(summary, judge):
            named = zip((plane.x, plane.y), _two(summary, judge, "base", plane), strict=True)
            yield why_not(judge.name, named)


def _rows(summary: Summary, judge: JudgeEntry, columns: Sequence[str]) -> Iterator[tuple[str, ...]]:
    order = [name for name in GRADED if name in judge.protocols or name == "base"]
    for protocol in (*order, *(name for name in judge.protocols if name not in GRADED)):
        estimates = [_estimate(summary, judge, protocol, column) for column in columns]
        cells = [cell(summary, estimate) for estimate in estimates]
        if protocol == "base":
            yield (judge.name, *cells, "reference")
        elif any(estimate is not None for estimate in estimates[:2]):
            shift = summary.datasheet.find(
                judge.name, CRITERION_SHIFT.id, "criterion", protocol=protocol, delta=0
            )
            yield (arm_name(judge, protocol), *cells, cell(summary, shift))
