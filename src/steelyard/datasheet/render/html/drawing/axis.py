"""Scales from data to pixels, axes with grid, ticks, labels and title, and the plot that they frame."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import pairwise
from math import ceil, copysign, floor, log10, sqrt

from steelyard.datasheet.render.html.drawing import svg

QUARTERS = (0, 0.25, 0.5, 0.75, 1)
ROOT_TICKS = (0, 0.1, 0.25, 0.5, 0.75, 1)
TICK, TITLE_SIZE, TITLE_GAP = 4, 13, 8
"""Length of a tick, font size of a title, and pixels between labels and title."""
LETTER = 7.8
"""Width of a letter of a name at the left, in the widest font of the page."""
NAME_LIMIT = 190
"""Pixels of a name at the left before it is truncated."""


@dataclass(frozen=True)
class Scale:
    """Maps numbers to pixels, linearly or by their square root, which keeps small shares apart."""

    low: float
    high: float
    length: float
    """Pixels between the two."""
    upward: bool = False
    """True for a vertical scale, whose pixels count from the top."""
    root: bool = False
    label_size, label_gap, label_role = 12, TICK + 4, "muted"

    def __call__(self, value: float) -> float:
        numbers = (self.low, self.high, value)
        low, high, here = (copysign(sqrt(abs(x)), x) for x in numbers) if self.root else numbers
        share = (here - low) / (high - low) if high != low else 0.5
        return self.length * (1 - share if self.upward else share)


@dataclass(frozen=True)
class NameScale:
    """Maps names to pixels, each to the middle of its row (a categorical scale)."""

    names: tuple[str, ...]
    """From the top."""
    length: float
    upward, label_size, label_gap, label_role = True, 13, 10, "ink"

    def __call__(self, name: str) -> float:
        return (self.names.index(name) + 0.5) * self.length / len(self.names)


@dataclass(frozen=True)
class Axis:
    """A scale with its ticks, labels and title; names stand without a line."""

    scale: Scale | NameScale
    title: str | None = None
    ticks: Sequence[float] | None = None
    """Values to mark; None for about one round value in 40 pixels."""
    labels: Sequence[str] | None = None
    """One text per tick; None for the values."""
    grid: bool = True
    signed: bool = False
    limit: float = NAME_LIMIT
    """Pixels of a name before it is truncated; 0 for no limit."""

    @cached_property
    def marks(self) -> list[tuple[float, str]]:
        """Pixel and label of each tick; where numbers would touch, every second label is empty."""
        if isinstance(self.scale, NameScale):
            names = self.scale.names
            return [
                (self.scale(name), svg.truncate_text(name, self.scale.label_size, self.limit))
                for name in names
            ]
        low, high = sorted((self.scale.low, self.scale.high))
        ticks = round_values(low, high, ceil(self.scale.length / 40)) if self.ticks is None else self.ticks
        labels = tick_labels(ticks, signed=self.signed) if self.labels is None else self.labels
        if len(labels) != len(ticks):
            raise ValueError(f"labels of an axis: found {len(labels)}, expected {len(ticks)}, one per tick")
        named = [(self.scale(tick), label) for tick, label in zip(ticks, labels, strict=True)]
        kept = {place for place, _ in _without_overlap(named, self.scale.upward, self.scale.label_size)}
        return [(place, label if place in kept else "") for place, label in named]

    @property
    def _extent(self) -> float:
        """Pixels that ticks and labels take; names get the room of the widest font."""
        if isinstance(self.scale, NameScale):
            longest = LETTER * max(map(len, self.scale.names), default=0)
            return self.scale.label_gap + (min(longest, self.limit) if self.limit else longest)
        widest = max((svg.text_width(label, self.scale.label_size) for _, label in self.marks), default=0.0)
        return self.scale.label_gap + (widest if self.scale.upward else self.scale.label_size)

    def grid_lines(self, reach: float) -> list[svg.SvgElement]:
        if isinstance(self.scale, NameScale) or not self.grid:
            return []
        return [self._across(place, 0, reach, reach, "grid") for place, _ in self.marks]

    def frame(self, reach: float) -> list[svg.SvgElement]:
        length = self.scale.length
        room = svg.Box(0, reach, length, reach + self._extent)
        ends = [(0.0, reach + 0.5), (length, reach + 0.5)]
        if self.scale.upward:
            room, ends = svg.Box(-self._extent, 0, 0, length), [(0.5, 0.0), (0.5, length)]
        drawn = [svg.SvgElement("", room)]
        if isinstance(self.scale, Scale):
            drawn += [self._across(place, -TICK, 0, reach, "muted") for place, _ in self.marks]
            drawn.append(svg.draw_line(ends, role="muted"))
        drawn += [self._label(place, label, reach) for place, label in self.marks if label]
        return [*drawn, self._title(self.title, reach)] if self.title else drawn

    def _across(self, place: float, start: float, end: float, reach: float, role: str) -> svg.SvgElement:
        """A line at right angles to the axis, on whole pixels."""
        at = round(place) + 0.5
        if self.scale.upward:
            return svg.draw_line([(start, at), (end, at)], role=role)
        return svg.draw_line([(at, reach - end), (at, reach - start)], role=role)

    def _label(self, place: float, text: str, reach: float) -> svg.SvgElement:
        role, size, gap = self.scale.label_role, self.scale.label_size, self.scale.label_gap
        if self.scale.upward:
            return svg.draw_text(text, (-gap, place), role=role, size=size, align="right")
        return svg.draw_text(text, (place, reach + gap), role=role, size=size, baseline="top")

    def _title(self, text: str, reach: float) -> svg.SvgElement:
        away, middle = self._extent + TITLE_GAP, self.scale.length / 2
        if self.scale.upward:
            return svg.draw_text(text, (-away, middle), size=TITLE_SIZE, baseline="bottom", vertical=True)
        return svg.draw_text(text, (middle, reach + away), size=TITLE_SIZE, baseline="top")


def rate_axis(title: str | None, length: float, *, upward: bool = False, grid: bool = True) -> Axis:
    """An axis from 0 to 1 with quarters marked."""
    return Axis(Scale(0, 1, length, upward), title, QUARTERS, grid=grid)


def draw(
    elements: Sequence[svg.SvgElement],
    *,
    width: float,
    height: float,
    title: str,
    label: str,
    x: Axis | None = None,
    y: Axis | None = None,
) -> str:
    """The elements over their axes as SVG; `label` describes them to screen readers (aria-label)."""
    axes = [(axis, reach) for axis, reach in ((x, height), (y, width)) if axis is not None]
    grid = [line for axis, reach in axes for line in axis.grid_lines(reach)]
    frame = [part for axis, reach in axes for part in axis.frame(reach)]
    return svg.document([*grid, *frame, *elements], width=width, height=height, title=title, label=label)


def round_values(low: float, high: float, count: int) -> list[float]:
    """About so many round values from `low` to `high`, 1, 2 or 5 times a power of ten apart."""
    if not low < high:
        return [low]
    rough = (high - low) / count
    power = 10.0 ** floor(log10(rough))
    times = rough / power
    step = power * (10 if times >= sqrt(50) else 5 if times >= sqrt(10) else 2 if times >= sqrt(2) else 1)
    digits = max(0, -floor(log10(step)))
    first, last = ceil(round(low / step, 9)), floor(round(high / step, 9))
    return [round(number * step, digits) for number in range(first, last + 1)]


def tick_labels(values: Sequence[float], *, signed: bool = False) -> list[str]:
    """The values with as many decimals as they need; zero has no sign."""
    texts = (f"{value:{'+' if signed else ''},.6f}".rstrip("0").rstrip(".") for value in values)
    return [text.replace("-", "−") if re.search("[1-9]", text) else "0" for text in texts]


def _without_overlap(
    named: Sequence[tuple[float, str]], vertical: bool, size: float
) -> Sequence[tuple[float, str]]:
    """The labels, every second one left out until none touches the next."""
    room = [size if vertical else svg.text_width(text, size) for _, text in named]
    order = sorted(range(len(named)), key=lambda n: named[n][0])
    touching = any(
        named[after][0] - named[before][0] < (room[before] + room[after]) / 2 + TICK
        for before, after in pairwise(order)
    )
    return _without_overlap(named[::2], vertical, size) if touching and len(named) > 1 else named
