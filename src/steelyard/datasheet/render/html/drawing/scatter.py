"""A scatter plot of judges: two rates with error bars, limits, arrows, and labels that cover nothing."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import chain
from math import atan2, degrees, hypot, inf
from statistics import fmean

from steelyard.datasheet.glossary import metric_named
from steelyard.datasheet.render.html.drawing import svg
from steelyard.datasheet.render.html.drawing.axis import QUARTERS, ROOT_TICKS, Axis, Scale, draw
from steelyard.datasheet.render.html.drawing.chart import SeriesStyle, interval_ends, marking
from steelyard.datasheet.render.html.drawing.svg import Box
from steelyard.metrics.estimate import Estimate

LETTER, LINE = 8.0, 16.0
"""Width of a letter and height of a line, in pixels, at the figure's font size."""
LIFTS = (
    0.0,
    *(side * lines for lines in (0.7, 1.2, 2.0, 3.0, 4.0, 5.0, 6.0, 7.0, 8.0, 9.0) for side in (-1, 1)),
)
"""How far a label may move up or down, in lines, nearest first."""


@dataclass(frozen=True)
class PlacedLabel:
    text: str
    x: float
    y: float
    """Middle of the line in pixels, from the top."""
    align: str
    far: bool
    """True where a thin line should lead back to the point."""


def place_labels(
    points: Sequence[tuple[float, float, str]],
    *,
    width: float,
    height: float,
    radius: float = 9.0,
    avoid: Sequence[Box] = (),
) -> list[PlacedLabel]:
    """Labels for points in pixels, each at the candidate that covers least; equal input, equal places."""
    marks = [Box(x - radius, y - radius, x + radius, y + radius) for x, y, _ in points]
    # Hiding a mark or another label is worse than crossing a whisker.
    taken = [*avoid, *marks, *marks, *marks]
    frame = Box(0, -LINE, width + 12, height + 4)
    labels: list[PlacedLabel] = []
    for x, y, text in points:
        label, box = _best(_candidates(x, y, text, radius), taken, frame)
        taken += [box, box, box]
        labels.append(label)
    return labels


def _best(
    candidates: Iterator[tuple[PlacedLabel, Box]], taken: Sequence[Box], frame: Box
) -> tuple[PlacedLabel, Box]:
    """The first of those that cover least; one that covers nothing ends the search."""
    best, least = next(candidates), inf
    for candidate in chain([best], candidates):
        box = candidate[1]
        outside = (box.right - box.left) * (box.bottom - box.top) - box.overlap(frame)
        cost = round(sum(box.overlap(other) for other in taken) + 3 * outside, 3)
        if cost < least:
            best, least = candidate, cost
        if not least:
            break
    return best


def _candidates(x: float, y: float, text: str, radius: float) -> Iterator[tuple[PlacedLabel, Box]]:
    size, gap = LETTER * len(text), radius + 3
    for lift in LIFTS:
        middle = y + lift * LINE
        for align, anchor, left in (
            ("left", x + gap, x + gap),
            ("right", x - gap, x - gap - size),
            ("center", x, x - size / 2),
        ):
            if align == "center" and abs(lift) < 1:
                continue
            box = Box(left, middle - LINE / 2, left + size, middle + LINE / 2)
            yield PlacedLabel(text, anchor, middle, align, far=abs(lift) > 1.3), box


def spread_labels(heights: Sequence[float], *, gap: float = LINE, low: float, high: float) -> list[float]:
    """Heights moved apart, so that lines of text written at them do not overlap; order is kept.

    All move as little as they can, in the sum of squares; where there is no room, the gaps are even.
    """
    order = sorted(range(len(heights)), key=lambda n: (heights[n], n))
    gap = min(gap, (high - low) / max(1, len(heights) - 1))
    # Less the gaps before it, a line may stand as high as the one before: neighbours that do not are pooled.
    pools: list[list[float]] = []
    for position, number in enumerate(order):
        pools.append([heights[number] - position * gap])
        while len(pools) > 1 and fmean(pools[-1]) < fmean(pools[-2]):
            pools[-2:] = [[*pools[-2], *pools[-1]]]
    top = high - (len(heights) - 1) * gap
    level = [min(top, max(low, fmean(pool))) for pool in pools for _ in pool]
    result = list(heights)
    for position, number in enumerate(order):
        result[number] = level[position] + position * gap
    return result


WIDTH, HEIGHT = 430, 380


@dataclass(frozen=True)
class ScatterPoint:
    label: str
    x: Estimate
    y: Estimate
    style: SeriesStyle
    size: float = 110.0
    """Area of the marker in square pixels."""
    baseline: bool = False
    """True for baselines: small, grey, no error bars."""
    hollow: bool = False
    protocol: str = "base"

    @property
    def values(self) -> tuple[float, float]:
        return self.x.value or 0.0, self.y.value or 0.0


@dataclass(frozen=True)
class RatePlane:
    """Two rates from 0 to 1, linear or on square-root axes, which keep small shares apart."""

    x_title: str
    y_title: str
    root: bool = False

    @cached_property
    def x(self) -> Scale:
        return Scale(0, 1, WIDTH, root=self.root)

    @cached_property
    def y(self) -> Scale:
        return Scale(0, 1, HEIGHT, upward=True, root=self.root)

    def at(self, values: tuple[float, float]) -> svg.PixelPoint:
        return self.x(values[0]), self.y(values[1])

    def draw(self, elements: Sequence[svg.SvgElement], *, title: str, label: str) -> str:
        ticks = ROOT_TICKS if self.root else QUARTERS
        axes = {"x": Axis(self.x, self.x_title, ticks), "y": Axis(self.y, self.y_title, ticks)}
        return draw(elements, width=WIDTH, height=HEIGHT, title=title, label=label, **axes)


@dataclass(frozen=True)
class LimitLines:
    """The limits of the two rates on a datasheet; None for a rate without one."""

    x: float | None
    y: float | None

    @classmethod
    def of(cls, points: Sequence[ScatterPoint]) -> LimitLines:
        return cls(_limit([point.x for point in points]), _limit([point.y for point in points]))

    def elements(self, plane: RatePlane) -> list[svg.SvgElement]:
        drawn: list[svg.SvgElement] = []
        if self.x is not None:
            x = plane.x(self.x)
            drawn.append(svg.draw_line([(x, HEIGHT), (x, 0)], role="ink", dash=(2, 3)))
            drawn.append(
                svg.draw_text(f"limit {self.x:g}", (x + 4, 2), size=11, align="left", baseline="top")
            )
        if self.y is not None:
            y, text = plane.y(self.y), f"limit {self.y:g}"
            drawn.append(svg.draw_line([(0, y), (WIDTH, y)], role="ink", dash=(2, 3)))
            drawn.append(svg.draw_text(text, (WIDTH - 2, y - 2), size=11, align="right", baseline="bottom"))
        return drawn

    def boxes(self, plane: RatePlane) -> list[svg.Box]:
        """The room of their texts, which labels avoid."""
        boxes = []
        if self.x is not None:
            boxes.append(svg.Box(plane.x(self.x), 0, plane.x(self.x) + 60, 16))
        if self.y is not None:
            boxes.append(svg.Box(WIDTH - 60, plane.y(self.y) - 16, WIDTH, plane.y(self.y)))
        return boxes


def _limit(estimates: Sequence[Estimate]) -> float | None:
    limits = (metric_named(each.metric).limit_in(each.group, each.probe) for each in estimates)
    return next((limit.value for limit in limits if limit is not None), None)


def scatter(
    plane: RatePlane, points: Sequence[ScatterPoint], avoid: Sequence[svg.Box] = ()
) -> list[svg.SvgElement]:
    """Error bars below, markers above, labels last."""
    bars = [bar for point in points if not point.baseline for bar in _error_bars(plane, point)]
    markers = [
        marking(
            svg.draw_marker(
                point.style.shape,
                plane.at(point.values),
                role=point.style.role,
                size=34 if point.baseline else point.size,
                hollow=point.hollow,
                edge=2.0 if point.hollow else 1.2,
            ),
            point.x,
        )
        for point in points
    ]
    anchors = [(*plane.at(point.values), point.label) for point in points]
    styles = [("muted" if point.baseline else point.style.role, not point.baseline) for point in points]
    return [*bars, *markers, *draw_labels(anchors, styles, WIDTH, HEIGHT, [*avoid, *_bar_boxes(bars)])]


def draw_labels(
    anchors: Sequence[tuple[float, float, str]],
    styles: Sequence[tuple[str, bool]],
    width: float,
    height: float,
    avoid: Sequence[svg.Box],
) -> list[svg.SvgElement]:
    """Labels beside their points, in the colour role of each and bold or not; a thin line to a far one."""
    drawn: list[svg.SvgElement] = []
    placed = place_labels(anchors, width=width, height=height, avoid=avoid)
    for (x, y, text), (role, bold), label in zip(anchors, styles, placed, strict=True):
        if label.far:
            drawn.append(svg.draw_line([(x, y), (label.x, label.y)], role="muted", width=0.8))
        size, weight = (13, 600) if bold else (12, None)
        drawn.append(
            svg.draw_text(text, (label.x, label.y), role=role, size=size, weight=weight, align=label.align)
        )
    return drawn


def arrow(plane: RatePlane, start: ScatterPoint, end: ScatterPoint) -> list[svg.SvgElement]:
    (x, y), (x2, y2) = plane.at(start.values), plane.at(end.values)
    role = start.style.role
    # The head points up; it is rotated clockwise, in pixels.
    angle = degrees(atan2(x2 - x, y - y2))
    middle = ((x + x2) / 2, (y + y2) / 2)
    return [
        svg.draw_line([(x, y), (x2, y2)], role=role, width=1.8),
        svg.draw_marker("arrowhead", middle, role=role, size=120, edge=2, outline=role, angle=angle),
    ]


def arrow_boxes(plane: RatePlane, start: ScatterPoint, end: ScatterPoint) -> list[svg.Box]:
    return line_boxes(plane.at(start.values), plane.at(end.values))


def line_boxes(start: svg.PixelPoint, end: svg.PixelPoint) -> list[svg.Box]:
    """The room of the line between two points, in small boxes."""
    (x, y), (x2, y2) = start, end
    parts = max(2, round(hypot(x2 - x, y2 - y) / 8))
    places = [(x + (x2 - x) * n / parts, y + (y2 - y) * n / parts) for n in range(1, parts)]
    return [svg.Box(across - 3, down - 3, across + 3, down + 3) for across, down in places]


def _error_bars(plane: RatePlane, point: ScatterPoint) -> list[svg.SvgElement]:
    x, y = plane.at(point.values)
    left, right = map(plane.x, interval_ends(point.x))
    bottom, top = map(plane.y, interval_ends(point.y))
    role = point.style.role
    return [svg.error_bar((left, y), (right, y), role), svg.error_bar((x, bottom), (x, top), role)]


def _bar_boxes(bars: Sequence[svg.SvgElement]) -> list[svg.Box]:
    """The room of error bars, four pixels wide."""
    return [
        svg.Box(box.left, box.top - 2, box.right, box.bottom + 2)
        if box.top == box.bottom
        else svg.Box(box.left - 2, box.top, box.right + 2, box.bottom)
        for box in (bar.box for bar in bars)
    ]
