"""SVG as text: elements, and a sheet that grows with what is drawn on it."""

from __future__ import annotations

from dataclasses import dataclass, field
from html import escape
from math import ceil

from steelyard.datasheet.render.html.drawing.labels import Box

MARGIN = 4
"""Pixels around a drawing."""
_NO_TEXT = dict.fromkeys([*range(9), 11, 12, *range(14, 32), 0xFFFE, 0xFFFF])
"""Characters that no SVG may hold."""


@dataclass(frozen=True)
class Drawn:
    """One element and the room that it takes."""

    markup: str
    """The element."""
    box: Box
    """Its room in pixels, from the upper left corner of the plot."""


@dataclass
class Sheet:
    """A plot and everything around it."""

    width: float
    """Width of the plot, in pixels."""
    height: float
    """Height of the plot, in pixels."""
    drawn: list[Drawn] = field(default_factory=list)
    """Elements, from the back to the front."""

    def add(self, *drawn: Drawn) -> None:
        """Draw over what is there."""
        self.drawn += drawn

    def document(self, title: str, label: str) -> str:
        """The sheet as an SVG element, as large as all that stands on it."""
        boxes = [Box(0, 0, self.width, self.height), *(drawn.box for drawn in self.drawn)]
        left, top = (MARGIN - min(edges) for edges in ([b.left for b in boxes], [b.top for b in boxes]))
        width = ceil(left + max(box.right for box in boxes) + MARGIN)
        height = ceil(top + max(box.bottom for box in boxes) + MARGIN)
        plot = element(
            "g", "".join(drawn.markup for drawn in self.drawn), transform=f"translate({point(left, top)})"
        )
        return element(
            "svg",
            element("title", written(title)) + plot,
            xmlns="http://www.w3.org/2000/svg",
            width=str(width),
            height=str(height),
            viewBox=f"0 0 {width} {height}",
            role="img",
            aria_label=label,
        )


def element(tag: str, content: str = "", **attributes: str | float | None) -> str:
    """An element; attributes that are None are left out, and an underscore is a hyphen."""
    said = "".join(
        f' {name.replace("_", "-")}="{written(value) if isinstance(value, str) else number(value)}"'
        for name, value in attributes.items()
        if value is not None
    )
    return f"<{tag}{said}>{content}</{tag}>" if content else f"<{tag}{said}/>"


def written(text: str) -> str:
    """A text as it may stand in SVG."""
    return escape(text.translate(_NO_TEXT))


def number(value: float) -> str:
    """At most two decimals."""
    text = f"{value:.2f}".rstrip("0").rstrip(".")
    return "0" if text == "-0" else text


def point(x: float, y: float) -> str:
    """A place."""
    return f"{number(x)},{number(y)}"
