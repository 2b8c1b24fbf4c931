"""The axes of a scatter figure: two rates, and how far each reaches."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from math import copysign, sqrt

from steelyard.datasheet.render.html.drawing.chart import TEXT, colour, layer, mark, rate_axis, root_axis
from steelyard.datasheet.render.html.drawing.figure import (
    Look,
)
from steelyard.datasheet.render.html.drawing.labels import Box
from steelyard.datasheet.render.html.drawing.spec import Spec
from steelyard.datasheet.words.glossary import metric_named
from steelyard.metrics.estimate import Estimate

WIDTH, HEIGHT = 430, 380
"""Pixels of the plane."""


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
            lettering = {**text, "align": "left", "baseline": "top", "dx": 4, "dy": 2}
            layers.append(axes.line((self.x, 0), (self.x, 1), drawn))
            layers.append(axes.words((self.x, 1), f"limit {self.x:g}", lettering))
        if self.y is not None:
            lettering = {**text, "align": "right", "baseline": "bottom", "dx": -2, "dy": -2}
            layers.append(axes.line((0, self.y), (1, self.y), drawn))
            layers.append(axes.words((1, self.y), f"limit {self.y:g}", lettering))
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
