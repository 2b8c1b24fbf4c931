"""The axis of a channel: grid, line, ticks, labels and title."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import pairwise

from steelyard.datasheet.render.html.drawing.labels import Box
from steelyard.datasheet.render.html.drawing.lettering import lettered, shortened, text_width
from steelyard.datasheet.render.html.drawing.scale import Names, Scale, value_labels
from steelyard.datasheet.render.html.drawing.spec import Spec, known
from steelyard.datasheet.render.html.drawing.svg import Drawn, element, number

KEYS = (
    *("title", "values", "labels", "format", "tickCount", "grid", "ticks", "domain"),
    *("labelColor", "labelFontSize", "labelPadding", "labelLimit", "minExtent"),
)
"""What an axis may say of itself."""
INK, MUTED, GRID = "var(--ink)", "var(--muted)", "var(--grid)"
TICK, TITLE, APART = 4, 13, 8
"""Length of a tick, size of a title, and pixels between labels and title."""
LIMIT = 180
"""Pixels of a label before it is cut, unless the axis says otherwise."""


@dataclass(frozen=True)
class Axis:
    """The axis below or at the left of a plot."""

    scale: Scale
    """Where its values lie."""
    said: Spec
    """What the drawing says of it."""
    upright: bool
    """True for the vertical one."""
    reach: float
    """Pixels that its grid lines cross."""

    @cached_property
    def marks(self) -> list[tuple[float, str]]:
        """Pixel and text of each mark; where numbers would touch, every second one is left out."""
        values, texts = self._values()
        limit = self.said.get("labelLimit", LIMIT) if self.upright else 0
        places = [self.scale.place(value) for value in values]
        named = [
            (place, shortened(text, self.size, limit))
            for place, text in zip(places, texts, strict=True)
            if place is not None
        ]
        if isinstance(self.scale, Names):
            return named
        shown = {place for place, _ in _apart(named, self.upright, self.size)}
        return [(place, text if place in shown else "") for place, text in named]

    def _values(self) -> tuple[Sequence[object], Sequence[str]]:
        if isinstance(self.scale, Names):
            return self.scale.names, [str(name) for name in self.scale.names]
        values = self.said.get("values")
        values = self.scale.ticks(self.said.get("tickCount")) if values is None else values
        labels = self.said.get("labels") or value_labels(values, self.said.get("format"))
        if len(labels) != len(values):
            raise ValueError(
                f"labels of an axis: found {len(labels)}, expected {len(values)}, one for each value"
            )
        return values, labels

    @property
    def size(self) -> float:
        """Font size of the labels."""
        return float(self.said.get("labelFontSize", 12))

    @property
    def gap(self) -> float:
        """Pixels between plot and labels."""
        return float((TICK if self.said.get("ticks", True) else 0) + self.said.get("labelPadding", 4))

    @property
    def extent(self) -> float:
        """Pixels that ticks and labels take."""
        longest = max((text_width(text, self.size) for _, text in self.marks), default=0.0)
        room = self.gap + (longest if self.upright else self.size)
        return max(room, float(self.said.get("minExtent", 0)))

    def grid(self) -> list[Drawn]:
        """Lines across the plot."""
        if not self.said.get("grid", not isinstance(self.scale, Names)):
            return []
        return [self._line(place, 0, self.reach, GRID) for place, _ in self.marks]

    def frame(self) -> list[Drawn]:
        """The line of the axis with ticks, labels and title."""
        drawn = [Drawn("", self._room())]
        if self.said.get("ticks", True):
            drawn += [self._line(place, -TICK, 0, MUTED) for place, _ in self.marks]
        if self.said.get("domain", True):
            drawn.append(self._domain())
        drawn += [self._label(place, text) for place, text in self.marks if text]
        title = self.said.get("title")
        return [*drawn, self._title(str(title))] if title else drawn

    def _room(self) -> Box:
        """What ticks and labels take, at the least."""
        if self.upright:
            return Box(-self.extent, 0, 0, self.scale.length)
        return Box(0, self.reach, self.scale.length, self.reach + self.extent)

    def _line(self, place: float, start: float, end: float, colour: str) -> Drawn:
        """A line at right angles to the axis, on whole pixels."""
        at = round(place) + 0.5
        if self.upright:
            return _stroke(f"M{number(start)},{number(at)}H{number(end)}", Box(start, at, end, at), colour)
        top, bottom = self.reach - end, self.reach - start
        return _stroke(f"M{number(at)},{number(top)}V{number(bottom)}", Box(at, top, at, bottom), colour)

    def _domain(self) -> Drawn:
        length, at = self.scale.length, self.reach + 0.5
        if self.upright:
            return _stroke(f"M0.5,0V{number(length)}", Box(0, 0, 0, length), MUTED)
        return _stroke(f"M0,{number(at)}H{number(length)}", Box(0, at, length, at), MUTED)

    def _label(self, place: float, text: str) -> Drawn:
        colour = self.said.get("labelColor", MUTED)
        if self.upright:
            return lettered(text, (-self.gap, place), colour=colour, size=self.size, align="right")
        return lettered(text, (place, self.reach + self.gap), colour=colour, size=self.size, baseline="top")

    def _title(self, text: str) -> Drawn:
        away, middle = self.extent + APART, self.scale.length / 2
        if self.upright:
            at = (-away, middle)
            return lettered(text, at, colour=INK, size=TITLE, baseline="bottom", upwards=True)
        return lettered(text, (middle, self.reach + away), colour=INK, size=TITLE, baseline="top")


def axis_of(channel: str, layers: Sequence[Spec], scale: Scale | None, reach: float) -> Axis | None:
    """The axis that the layers share on `x` or `y`: the first that one of them describes; None for none."""
    used = [each["encoding"][channel] for each in layers if channel in each["encoding"]]
    if scale is None or not used:
        return None
    said = next(
        (encoding["axis"] for encoding in used if "axis" in encoding), {"title": used[0].get("field")}
    )
    if said is None:
        return None
    known(f"axis of {channel}", said, KEYS)
    return Axis(scale, said, channel == "y", reach)


def _stroke(path: str, box: Box, colour: str) -> Drawn:
    return Drawn(element("path", d=path, stroke=colour), box)


def _apart(named: Sequence[tuple[float, str]], upright: bool, size: float) -> Sequence[tuple[float, str]]:
    """The labels, every second one left out until none touches the next."""
    room = [size if upright else text_width(text, size) for _, text in named]
    order = sorted(range(len(named)), key=lambda n: named[n][0])
    touching = any(
        named[after][0] - named[before][0] < (room[before] + room[after]) / 2 + TICK
        for before, after in pairwise(order)
    )
    return _apart(named[::2], upright, size) if touching and len(named) > 1 else named
