"""SVG primitives in pixels: text, line, rectangle, marker and error bar, and the document that holds them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from html import escape
from math import ceil, sqrt

PixelPoint = tuple[float, float]
"""Pixels from the left and from the top."""
MARGIN = 4
ROLES = (
    *("ink", "muted", "grid", "paper", "accent"),
    *(f"series-{number}" for number in range(1, 9)),
    *("stable", "slot-1", "slot-2", "one-sided", "other", "none"),
    *("good", "bad", "wait", "share"),
)
"""Colours by role; the style sheet gives each a value in the light and in the dark theme."""
_INVALID_XML = dict.fromkeys([*range(9), 11, 12, *range(14, 32), 0xFFFE, 0xFFFF])
_ANCHORS = {"left": "start", "center": "middle", "right": "end"}
_BASELINES = {"top": 0.79, "middle": 0.3, "bottom": -0.21}
"""From a point to the baseline of its text, as a share of the font size."""
_NARROW, _WIDE = frozenset(" !'(),-./:;I[]fijlrt|"), frozenset("@MWmw—")
_LETTER_WIDTHS = (0.36, 0.93, 0.63)
"""Of a narrow, a wide and any other letter, as shares of the font size, in the wider fonts of the page."""
_TALL = sqrt(3) / 2
_SHAPES: dict[str, tuple[PixelPoint, ...]] = {
    "square": ((-1, -1), (1, -1), (1, 1), (-1, 1)),
    "diamond": ((-1, 0), (0, -1), (1, 0), (0, 1)),
    "triangle-up": ((0, -_TALL), (-1, _TALL), (1, _TALL)),
    "triangle-down": ((0, _TALL), (-1, -_TALL), (1, -_TALL)),
    "triangle-right": ((_TALL, 0), (-_TALL, -1), (-_TALL, 1)),
    "triangle-left": ((-_TALL, 0), (_TALL, -1), (_TALL, 1)),
    "arrowhead": ((0, -1.1), (0.6, 0.8), (0, 0.4), (-0.6, 0.8)),
    "cross": (
        *((-1, -0.4), (-0.4, -0.4), (-0.4, -1), (0.4, -1), (0.4, -0.4), (1, -0.4)),
        *((1, 0.4), (0.4, 0.4), (0.4, 1), (-0.4, 1), (-0.4, 0.4), (-1, 0.4)),
    ),
}
"""Corners of a marker whose half width is 1."""


@dataclass(frozen=True)
class Box:
    left: float
    top: float
    right: float
    bottom: float

    def overlap(self, other: Box) -> float:
        width = min(self.right, other.right) - max(self.left, other.left)
        height = min(self.bottom, other.bottom) - max(self.top, other.top)
        return max(0.0, width) * max(0.0, height)


@dataclass(frozen=True)
class SvgElement:
    """One element and the box that it occupies, so that the document can grow with it."""

    markup: str
    box: Box


def colour(role: str) -> str:
    """The colour of a role, which follows the theme of the page."""
    if role not in ROLES:
        raise KeyError(f"colour: found {role!r}, expected one of {', '.join(ROLES)}")
    return f"var(--{role})"


def document(elements: Sequence[SvgElement], *, width: float, height: float, title: str, label: str) -> str:
    """An SVG element with a title and an aria-label, as large as everything drawn on it."""
    boxes = [Box(0, 0, width, height), *(each.box for each in elements)]
    left, top = MARGIN - min(box.left for box in boxes), MARGIN - min(box.top for box in boxes)
    across = ceil(left + max(box.right for box in boxes) + MARGIN)
    down = ceil(top + max(box.bottom for box in boxes) + MARGIN)
    plot = tag("g", "".join(each.markup for each in elements), transform=f"translate({point(left, top)})")
    return tag(
        "svg",
        tag("title", escape_text(title)) + plot,
        xmlns="http://www.w3.org/2000/svg",
        width=str(across),
        height=str(down),
        viewBox=f"0 0 {across} {down}",
        # What leads somewhere is no picture to those who hear it.
        role="group" if "<a " in plot else "img",
        aria_label=label,
    )


def tag(name: str, content: str = "", **attributes: str | float | None) -> str:
    """An XML element; attributes that are None are omitted, and an underscore becomes a hyphen."""
    written = "".join(
        f' {key.replace("_", "-")}="{escape_text(value) if isinstance(value, str) else number(value)}"'
        for key, value in attributes.items()
        if value is not None
    )
    return f"<{name}{written}>{content}</{name}>" if content else f"<{name}{written}/>"


def escape_text(text: str) -> str:
    """A text without the characters that XML forbids, escaped."""
    return escape(text.translate(_INVALID_XML))


def number(value: float) -> str:
    """At most two decimals."""
    text = f"{value:.2f}".rstrip("0").rstrip(".")
    return "0" if text == "-0" else text


def point(x: float, y: float) -> str:
    return f"{number(x)},{number(y)}"


def text_width(text: str, size: float) -> float:
    narrow, wide, other = _LETTER_WIDTHS
    return size * sum(narrow if c in _NARROW else wide if c in _WIDE else other for c in text)


def truncate_text(text: str, size: float, limit: float) -> str:
    """The text, cut with an ellipsis where it is wider than the limit; a limit of 0 is none."""
    if not limit or text_width(text, size) <= limit:
        return text
    kept = text
    while kept and text_width(kept + "…", size) > limit:
        kept = kept[:-1]
    return kept.rstrip() + "…"


def draw_text(
    text: str,
    at: PixelPoint,
    *,
    role: str = "ink",
    size: float = 13,
    align: str = "center",
    baseline: str = "middle",
    weight: int | None = None,
    vertical: bool = False,
) -> SvgElement:
    """A line of text at a point; a vertical one reads from the bottom up."""
    (x, y), down = at, _BASELINES[baseline] * size
    markup = tag(
        "text",
        escape_text(text),
        x=0 if vertical else x,
        y=down if vertical else y + down,
        transform=f"translate({point(x, y)}) rotate(-90)" if vertical else None,
        fill=colour(role),
        font_size=number(size),
        font_weight=None if weight is None else str(weight),
        text_anchor=_ANCHORS[align],
    )
    width = text_width(text, size)
    before = {"left": 0.0, "center": width / 2, "right": width}[align]
    top, bottom = down - 0.8 * size, down + 0.25 * size
    if vertical:
        return SvgElement(markup, Box(x + top, y + before - width, x + bottom, y + before))
    return SvgElement(markup, Box(x - before, y + top, x - before + width, y + bottom))


def draw_line(
    points: Sequence[PixelPoint],
    *,
    role: str,
    width: float = 1,
    dash: Sequence[int] = (),
    round_ends: bool = False,
    opacity: float | None = None,
) -> SvgElement:
    """A line through two or more points."""
    across, down = [x for x, _ in points], [y for _, y in points]
    markup = tag(
        "path",
        d="M" + "L".join(point(*each) for each in points),
        fill="none",
        stroke=colour(role),
        stroke_width=float(width),
        stroke_dasharray=" ".join(map(str, dash)) or None,
        stroke_linecap="round" if round_ends else None,
        opacity=opacity,
    )
    return SvgElement(markup, Box(min(across), min(down), max(across), max(down)))


def error_bar(start: PixelPoint, end: PixelPoint, role: str, *, width: float = 1.5) -> SvgElement:
    """The interval of a value, drawn behind its marker (an error bar without caps)."""
    return draw_line([start, end], role=role, width=width, opacity=0.55)


def draw_rect(
    box: Box,
    *,
    role: str | None,
    opacity: float | None = None,
    fill_opacity: float | None = None,
    stroke: str | None = None,
    stroke_width: float = 1,
    radius: float | None = None,
) -> SvgElement:
    """A rectangle; without a role it is only its stroke."""
    markup = tag(
        "rect",
        x=box.left,
        y=box.top,
        width=box.right - box.left,
        height=box.bottom - box.top,
        rx=radius,
        fill="transparent" if role is None else colour(role),
        fill_opacity=fill_opacity,
        stroke=None if stroke is None else colour(stroke),
        stroke_width=None if stroke is None else stroke_width,
        opacity=opacity,
    )
    half = 0.0 if stroke is None else stroke_width / 2
    return SvgElement(markup, Box(box.left - half, box.top - half, box.right + half, box.bottom + half))


def draw_marker(
    shape: str,
    at: PixelPoint,
    *,
    role: str,
    size: float = 80,
    hollow: bool = False,
    edge: float = 1.2,
    outline: str = "paper",
    angle: float | None = None,
) -> SvgElement:
    """A data point, filled with an outline or hollow; `size` is its area in square pixels."""
    (x, y), half = at, sqrt(size) / 2
    inner, outer = ("paper", role) if hollow else (role, outline)
    fill, stroke, wide = colour(inner), colour(outer), half + edge / 2
    box = Box(x - wide, y - wide, x + wide, y + wide)
    if shape == "circle":
        circle = tag("circle", cx=x, cy=y, r=half, fill=fill, stroke=stroke, stroke_width=edge)
        return SvgElement(circle, box)
    if shape not in _SHAPES:
        expected = ", ".join(("circle", *_SHAPES))
        raise ValueError(f"shape of a marker: found {shape!r}, expected one of {expected}")
    corners = "L".join(point(across * half, down * half) for across, down in _SHAPES[shape])
    place = f"translate({point(x, y)})" + (f" rotate({angle:.1f})" if angle else "")
    path = tag("path", transform=place, d=f"M{corners}Z", fill=fill, stroke=stroke, stroke_width=edge)
    return SvgElement(path, box)
