"""Layers that the three scatter figures share: whiskers, points, direct labels, rates on both axes."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from steelyard.datasheet.html.chart import Spec, colour
from steelyard.datasheet.html.figure import Look, limits
from steelyard.datasheet.html.labels import Box, Label, place, short
from steelyard.metrics.estimate import Estimate

WIDTH, HEIGHT = 430, 380


@dataclass(frozen=True)
class Point:
    """One mark: two rates with their intervals."""

    name: str
    """What the label says."""
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
    filled: bool = True
    """False for the arm before a change."""

    @property
    def at(self) -> tuple[float, float]:
        """The two values."""
        return self.x.value or 0.0, self.y.value or 0.0


def rate_axis(field: str, title: str) -> dict[str, Any]:
    """A rate from 0 to 1."""
    return {
        "field": field, "type": "quantitative", "scale": {"domain": [0, 1], "nice": False},
        "axis": {"title": title, "values": [0, 0.25, 0.5, 0.75, 1], "format": ".2~f"},
    }  # fmt: skip


def layers(points: Sequence[Point], x_title: str, y_title: str, avoid: Sequence[Box] = ()) -> list[Spec]:
    """Whiskers below, marks above, labels last."""
    x, y = rate_axis("x", x_title), rate_axis("y", y_title)
    return [
        *_whiskers(points, x, y),
        *(_mark(point, x, y) for point in points),
        *_labels(points, x, y, avoid),
    ]


def _whiskers(points: Sequence[Point], x: Spec, y: Spec) -> list[Spec]:
    result: list[Spec] = []
    for point in (point for point in points if not point.quiet):
        (at_x, at_y), (x_low, x_high), (y_low, y_high) = point.at, limits(point.x), limits(point.y)
        mark = {"type": "rule", "color": colour(point.look.role), "strokeWidth": 1.5, "opacity": 0.55}
        across = {"data": {"values": [{"x": x_low, "x2": x_high, "y": at_y}]}, "mark": mark,
                  "encoding": {"x": x, "x2": {"field": "x2"}, "y": y}}  # fmt: skip
        along = {"data": {"values": [{"x": at_x, "y": y_low, "y2": y_high}]}, "mark": mark,
                 "encoding": {"x": x, "y": y, "y2": {"field": "y2"}}}  # fmt: skip
        result += [across, along]
    return result


def _mark(point: Point, x: Spec, y: Spec) -> Spec:
    at_x, at_y = point.at
    role = colour(point.look.role)
    return {
        "data": {"values": [{"x": at_x, "y": at_y}]},
        "mark": {
            "type": "point", "shape": point.look.shape, "size": 30 if point.quiet else point.size, "opacity": 1,
            "fill": role if point.filled else colour("paper"), "stroke": colour("paper") if point.filled else role,
            "strokeWidth": 1.2 if point.filled else 2,
        },
        "encoding": {"x": x, "y": y},
    }  # fmt: skip


def _labels(points: Sequence[Point], x: Spec, y: Spec, avoid: Sequence[Box]) -> list[Spec]:
    pixels = [(px * WIDTH, (1 - py) * HEIGHT, short(point.name)) for point in points for px, py in [point.at]]
    placed = place(pixels, width=WIDTH, height=HEIGHT, avoid=avoid)
    result: list[Spec] = []
    for point, pixel, label in zip(points, pixels, placed, strict=True):
        if label.far:
            result.append(_leader(pixel, label, x, y))
        result.append(_text(point, label, x, y))
    return result


def _leader(pixel: tuple[float, float, str], label: Label, x: Spec, y: Spec) -> Spec:
    start, end = _data(pixel[0], pixel[1]), _data(label.x, label.y)
    row = {"x": start[0], "y": start[1], "x2": end[0], "y2": end[1]}
    return {
        "data": {"values": [row]},
        "mark": {"type": "rule", "color": colour("muted"), "strokeWidth": 0.8},
        "encoding": {"x": x, "y": y, "x2": {"field": "x2"}, "y2": {"field": "y2"}},
    }


def _text(point: Point, label: Label, x: Spec, y: Spec) -> Spec:
    at_x, at_y = _data(label.x, label.y)
    return {
        "data": {"values": [{"x": at_x, "y": at_y, "text": label.text}]},
        "mark": {
            "type": "text", "align": label.align, "baseline": "middle", "clip": False,
            "color": colour("muted" if point.quiet else "ink"), "fontSize": 12 if point.quiet else 13,
            "fontWeight": "normal" if point.quiet else 600,
        },
        "encoding": {"x": x, "y": y, "text": {"field": "text", "type": "nominal"}},
    }  # fmt: skip


def _data(x: float, y: float) -> tuple[float, float]:
    return x / WIDTH, 1 - y / HEIGHT
