"""A scatter figure: two rates per judge with whiskers, direct labels, arrows between operating points."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from math import atan2, copysign, degrees, hypot, sqrt

from steelyard.datasheet.render.html.drawing.chart import (
    TEXT,
    Spec,
    colour,
    draw,
    layer,
    mark,
    rate_axis,
    root_axis,
)
from steelyard.datasheet.render.html.drawing.figure import (
    Figure,
    Look,
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
from steelyard.datasheet.sections.summary import Summary
from steelyard.datasheet.words import numbers
from steelyard.datasheet.words.glossary import metric_named
from steelyard.metrics.estimate import Estimate

WIDTH, HEIGHT = 430, 380
ARROWHEAD = "M0,-1.1L0.6,0.8L0,0.4L-0.6,0.8Z"
"""Points up; an equilateral triangle would not tell which of its corners leads."""


@dataclass(frozen=True)
class Point:
    """One mark: two rates with their intervals."""

    label: str
    """What is written beside it."""
    x: Estimate
    """Rate on the horizontal axis."""
    y: Estimate
    """Rate on the vertical axis."""
    look: Look
    """Colour and shape."""
    size: float = 110.0
    """Area of the mark in square pixels."""
    quiet: bool = False
    """True for baselines: small, grey, no whiskers."""
    hollow: bool = False
    """True for an arm other than base."""
    arm: str = "base"
    """Protocol whose rates these are."""

    @property
    def at(self) -> tuple[float, float]:
        """The two values."""
        return self.x.value or 0.0, self.y.value or 0.0


@dataclass(frozen=True)
class Axes:
    """The two channels that every layer of a scatter shares."""

    x: Spec
    """Horizontal rate."""
    y: Spec
    """Vertical rate."""

    roots: bool = False
    """True where both are square-root axes, on which small shares stay apart."""

    @classmethod
    def named(cls, x: str, y: str) -> Axes:
        """Rates from 0 to 1 under these titles."""
        return cls(rate_axis("x", x), rate_axis("y", y))

    @classmethod
    def of_roots(cls, x: str, y: str) -> Axes:
        """The same on square-root axes."""
        return cls(root_axis("x", x), root_axis("y", y), roots=True)

    def pixel(self, at: tuple[float, float]) -> tuple[float, float]:
        """Where two rates lie, from the upper left corner."""
        x, y = (sqrt(at[0]), sqrt(at[1])) if self.roots else at
        return x * WIDTH, (1 - y) * HEIGHT

    def rates(self, across: float, down: float) -> tuple[float, float]:
        """The two rates at a place; beyond the axes they go on with their sign."""
        x, y = across / WIDTH, 1 - down / HEIGHT
        return (copysign(x * x, x), copysign(y * y, y)) if self.roots else (x, y)

    def line(self, start: tuple[float, float], end: tuple[float, float], drawn: Spec) -> Spec:
        """A straight line between two places."""
        row = {"x": start[0], "y": start[1], "x2": end[0], "y2": end[1]}
        return layer([row], drawn, x=self.x, y=self.y, x2={"field": "x2"}, y2={"field": "y2"})

    def spot(self, at: tuple[float, float], drawn: Spec) -> Spec:
        """A mark at one place."""
        return layer([{"x": at[0], "y": at[1]}], drawn, x=self.x, y=self.y)

    def words(self, at: tuple[float, float], text: str, drawn: Spec) -> Spec:
        """A text at one place."""
        return layer([{"x": at[0], "y": at[1], "text": text}], drawn, x=self.x, y=self.y, text=TEXT)


@dataclass(frozen=True)
class Bounds:
    """The limits that a datasheet holds the two rates against; None where it holds one against none."""

    x: float | None
    """Of the horizontal rate."""
    y: float | None
    """Of the vertical rate."""

    @classmethod
    def of(cls, x: Sequence[Estimate | None], y: Sequence[Estimate | None]) -> Bounds:
        """The limits of the first estimates that have one."""
        return cls(_limit(x), _limit(y))

    def layers(self, axes: Axes) -> list[Spec]:
        """A dashed line for each limit, with its value."""
        drawn = mark("rule", color=colour("ink"), strokeWidth=1, strokeDash=[2, 3])
        text = mark("text", color=colour("ink"), fontSize=11)
        layers: list[Spec] = []
        if self.x is not None:
            told = {**text, "align": "left", "baseline": "top", "dx": 4, "dy": 2}
            layers.append(axes.line((self.x, 0), (self.x, 1), drawn))
            layers.append(axes.words((self.x, 1), f"limit {self.x:g}", told))
        if self.y is not None:
            told = {**text, "align": "right", "baseline": "bottom", "dx": -2, "dy": -2}
            layers.append(axes.line((0, self.y), (1, self.y), drawn))
            layers.append(axes.words((1, self.y), f"limit {self.y:g}", told))
        return layers

    def room(self, axes: Axes) -> list[Box]:
        """The room that their words take."""
        boxes = []
        if self.x is not None:
            across, _ = axes.pixel((self.x, 1))
            boxes.append(Box(across, 0, across + 60, 16))
        if self.y is not None:
            _, down = axes.pixel((1, self.y))
            boxes.append(Box(WIDTH - 60, down - 16, WIDTH, down))
        return boxes


def _limit(estimates: Sequence[Estimate | None]) -> float | None:
    held = (
        metric_named(each.metric).limit_in(each.group, each.probe) for each in estimates if each is not None
    )
    return next((limit.value for limit in held if limit is not None), None)


def scatter(axes: Axes, points: Sequence[Point], avoid: Sequence[Box] = ()) -> list[Spec]:
    """Whiskers below, marks above, labels last."""
    whiskers = [line for point in points if not point.quiet for line in _whiskers(axes, point)]
    return [*whiskers, *(_mark(axes, point) for point in points), *_labels(axes, points, avoid)]


def arrow(axes: Axes, start: Point, end: Point) -> list[Spec]:
    """A line between two operating points with a head in its middle."""
    (x, y), (x2, y2) = axes.pixel(start.at), axes.pixel(end.at)
    role = colour(start.look.role)
    # Vega turns clockwise from north, in pixels.
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
            found = find(judge.name)
            x, y = found[:2]
            rows.append((judge.name, *(cell(summary, estimate) for estimate in found)))
            if numbers.defined(x) and numbers.defined(y):
                mine = look[judge.name]
                points.append(Point(mine.tag, x, y, mine, size(found[-1]), quiet=judge.baseline))
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
