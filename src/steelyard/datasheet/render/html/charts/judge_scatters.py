"""Scatter charts of all judges: the metrology axes, and whether a preference is for the slot or the text."""

from __future__ import annotations

from functools import partial

from steelyard.datasheet.render.html.drawing.chart import SAME_QUALITY, Chart, pairs_only
from steelyard.datasheet.render.html.drawing.scatter import JudgeScatter, LimitLines, RatePlane, scatter
from steelyard.datasheet.render.html.drawing.svg import (
    Box,
    SvgElement,
    colour,
    draw_line,
    draw_text,
    tag,
)
from steelyard.datasheet.sections.summary import Summary
from steelyard.datasheet.words import numbers
from steelyard.datasheet.words.glossary import metric_named
from steelyard.metrics.common import DARK_CURRENT
from steelyard.metrics.estimate import Estimate
from steelyard.metrics.pairs.decomposition import POSITIONAL_FALSE_PREFERENCE, STABLE_CROSS_SENSITIVITY
from steelyard.metrics.pairs.sensitivity import TARGET_SENSITIVITY
from steelyard.metrics.pairs.slot import NET_SLOT_PREFERENCE

SMALLEST, LARGEST = 50.0, 420.0
"""Area of a marker at target sensitivity 0 and 1, in square pixels."""
AXES_TITLE = "Metrology axes"
DARK, STABLE, TARGET = (
    metric_named(metric).name
    for metric in (DARK_CURRENT.id, STABLE_CROSS_SENSITIVITY.id, TARGET_SENSITIVITY.id)
)
AXES_HEADER = ("judge", DARK, STABLE, f"{TARGET}, 1 step")
AXES_CAPTION = (
    "Left is a quiet zero point, low is indifference to wording. A larger marker sees a difference of one "
    "quality step more often. Error bars are 95 % intervals, dashed lines are limits; baselines are grey. "
    "Square-root axes keep small shares apart."
)
POSITION_TITLE = "Slot or text"
POSITION_METRICS = (STABLE_CROSS_SENSITIVITY, POSITIONAL_FALSE_PREFERENCE, NET_SLOT_PREFERENCE)
POSITION_HEADER = ("judge", *(metric.name for metric in POSITION_METRICS))
POSITION_CAPTION = (
    "A judge that always names a winner lies on the arc; a fair coin lies at its middle. Towards the top the "
    "slot decides, towards the right the wording does, towards zero the judge says tie. Dashed lines are "
    "limits; square-root axes keep small shares apart."
)


@pairs_only
def axes_map(summary: Summary) -> Chart:
    judges = JudgeScatter.of(summary, AXES_HEADER, partial(_axes, summary), _area)
    plane, limits = RatePlane(DARK, STABLE, root=True), LimitLines.of(judges.points)
    drawn = [*limits.elements(plane), *scatter(plane, judges.points, limits.boxes(plane))]
    return judges.chart(AXES_TITLE, AXES_CAPTION, plane, drawn)


def _axes(summary: Summary, judge: str) -> tuple[Estimate | None, Estimate | None, Estimate | None]:
    find = summary.datasheet.find
    return (
        find(judge, DARK_CURRENT.id, "vacuum", protocol="base"),
        find(judge, STABLE_CROSS_SENSITIVITY.id, "ladder", protocol="base", **SAME_QUALITY),
        find(judge, TARGET_SENSITIVITY.id, "ladder", protocol="base", delta=1),
    )


def _area(target: Estimate | None) -> float:
    sensitivity = target.value if numbers.defined(target) and target.value is not None else 0.0
    return SMALLEST + (LARGEST - SMALLEST) * sensitivity


@pairs_only
def position(summary: Summary) -> Chart:
    judges = JudgeScatter.of(summary, POSITION_HEADER, partial(_shares, summary))
    plane = RatePlane(POSITION_HEADER[1], POSITION_HEADER[2], root=True)
    limits = LimitLines.of(judges.points)
    x, y = plane.at((0.5, 0.5))
    avoid = [Box(x - 10, y - 10, x + 72, y + 10), *limits.boxes(plane)]
    drawn = [*_fair_coin(plane), *limits.elements(plane), *scatter(plane, judges.points, avoid)]
    return judges.chart(POSITION_TITLE, POSITION_CAPTION, plane, drawn)


def _shares(summary: Summary, judge: str) -> list[Estimate | None]:
    find = summary.datasheet.find
    return [find(judge, metric.id, "ladder", protocol="base", **SAME_QUALITY) for metric in POSITION_METRICS]


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
