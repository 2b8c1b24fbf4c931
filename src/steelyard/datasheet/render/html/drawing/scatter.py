"""A scatter figure: two rates per judge with whiskers, direct labels, arrows between operating points."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from math import atan2, degrees, hypot

from steelyard.datasheet.render.html.drawing.axes import HEIGHT, WIDTH, Axes, Point
from steelyard.datasheet.render.html.drawing.chart import colour, draw, mark
from steelyard.datasheet.render.html.drawing.figure import (
    Figure,
    Panel,
    cell,
    crowd_key,
    everyone,
    limits,
    looks,
    spoken,
    why_not,
)
from steelyard.datasheet.render.html.drawing.labels import Box, Label, place
from steelyard.datasheet.render.html.drawing.spec import Spec
from steelyard.datasheet.sections.summary import Summary
from steelyard.datasheet.words import numbers
from steelyard.metrics.estimate import Estimate

ARROWHEAD = "M0,-1.1L0.6,0.8L0,0.4L-0.6,0.8Z"
"""Points up; an equilateral triangle would not tell which of its corners leads."""


def scatter(axes: Axes, points: Sequence[Point], avoid: Sequence[Box] = ()) -> list[Spec]:
    """Whiskers below, marks above, labels last."""
    whiskers = [line for point in points if not point.quiet for line in _whiskers(axes, point)]
    return [*whiskers, *(_mark(axes, point) for point in points), *_labels(axes, points, avoid)]


def arrow(axes: Axes, start: Point, end: Point) -> list[Spec]:
    """A line between two operating points with a head in its middle."""
    (x, y), (x2, y2) = axes.pixel(start.at), axes.pixel(end.at)
    role = colour(start.look.role)
    # A mark is turned clockwise from north, in pixels.
    turn = degrees(atan2(x2 - x, y - y2))
    head = mark("point", shape=ARROWHEAD, angle=turn, size=120, fill=role, stroke=role, opacity=1)
    return [
        axes.line(start.at, end.at, mark("rule", color=role, strokeWidth=1.8)),
        axes.spot(axes.rates((x + x2) / 2, (y + y2) / 2), head),
    ]


def along(axes: Axes, start: Point, end: Point) -> list[Box]:
    """The room that the line between two points takes, in small boxes."""
    (x, y), (x2, y2) = axes.pixel(start.at), axes.pixel(end.at)
    parts = max(2, round(hypot(x2 - x, y2 - y) / 8))
    places = [(x + (x2 - x) * n / parts, y + (y2 - y) * n / parts) for n in range(1, parts)]
    return [Box(across - 3, down - 3, across + 3, down + 3) for across, down in places]


def _whiskers(axes: Axes, point: Point) -> list[Spec]:
    (x, y), (x_low, x_high), (y_low, y_high) = point.at, limits(point.x), limits(point.y)
    drawn = mark("rule", color=colour(point.look.role), strokeWidth=1.5, opacity=0.55)
    return [axes.line((x_low, y), (x_high, y), drawn), axes.line((x, y_low), (x, y_high), drawn)]


def _reach(axes: Axes, point: Point) -> list[Box]:
    """The room that the whiskers take."""
    x, y = axes.pixel(point.at)
    (x_low, x_high), (y_low, y_high) = limits(point.x), limits(point.y)
    (left, bottom), (right, top) = axes.pixel((x_low, y_low)), axes.pixel((x_high, y_high))
    return [Box(left, y - 2, right, y + 2), Box(x - 2, top, x + 2, bottom)]


def _mark(axes: Axes, point: Point) -> Spec:
    role, paper = colour(point.look.role), colour("paper")
    fill, stroke, width = (paper, role, 2.0) if point.hollow else (role, paper, 1.2)
    size = 34 if point.quiet else point.size
    drawn = mark("point", shape=point.look.shape, size=size, fill=fill, stroke=stroke, strokeWidth=width)
    return axes.spot(point.at, {**drawn, "opacity": 1})


def _labels(axes: Axes, points: Sequence[Point], avoid: Sequence[Box]) -> list[Spec]:
    pixels = [(*axes.pixel(point.at), point.label) for point in points]
    whiskers = [box for point in points if not point.quiet for box in _reach(axes, point)]
    placed = place(pixels, width=WIDTH, height=HEIGHT, avoid=[*avoid, *whiskers])
    layers: list[Spec] = []
    for point, label in zip(points, placed, strict=True):
        if label.far:
            leader = mark("rule", color=colour("muted"), strokeWidth=0.8)
            layers.append(axes.line(point.at, axes.rates(label.x, label.y), leader))
        layers.append(axes.words(axes.rates(label.x, label.y), label.text, _lettering(point, label)))
    return layers


def _lettering(point: Point, label: Label) -> Spec:
    if point.quiet:
        return mark("text", align=label.align, color=colour("muted"), fontSize=12)
    return mark("text", align=label.align, color=colour(point.look.role), fontWeight=600)


@dataclass(frozen=True)
class Crowd:
    """Judges by two of their figures, with the data behind the marks."""

    summary: Summary
    """Whose judges they are."""
    header: tuple[str, ...]
    """Column names: the judge, what is drawn across, what is drawn up, and others."""
    points: list[Point]
    """Judges that have both figures."""
    rows: tuple[tuple[str, ...], ...]
    """The data table."""
    omitted: tuple[str, ...]
    """Judges that lack one, and why."""

    @classmethod
    def of(
        cls,
        summary: Summary,
        header: tuple[str, ...],
        find: Callable[[str], Sequence[Estimate | None]],
        size: Callable[[Estimate | None], float] = lambda _: Point.size,
    ) -> Crowd:
        """Every judge at the first two figures that are found of it; the last one may size its mark."""
        look, points, rows, omitted = looks(summary), [], [], []
        for judge in everyone(summary):
            figures = find(judge.name)
            x, y = figures[:2]
            rows.append((judge.name, *(cell(summary, estimate) for estimate in figures)))
            if numbers.defined(x) and numbers.defined(y):
                mine = look[judge.name]
                points.append(Point(mine.tag, x, y, mine, size(figures[-1]), quiet=judge.baseline))
            else:
                omitted.append(why_not(judge.name, zip(header[1:3], (x, y), strict=True)))
        return cls(summary, header, points, tuple(rows), tuple(omitted))

    def figure(self, title: str, caption: str, layers: Sequence[Spec]) -> Figure:
        """The figure with these layers; without a judge to draw, its words and data alone."""
        description = spoken(self.header, self.rows)
        drawn = (
            draw(layers, width=WIDTH, height=HEIGHT, title=title, label=description) if self.points else ""
        )
        panels = (Panel(drawn),) if drawn else ()
        key = crowd_key(self.summary)
        return Figure(title, caption, panels, self.header, self.rows, key, self.omitted)
