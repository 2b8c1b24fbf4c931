"""Words of a drawing: how wide they are about, and where their line stands."""

from __future__ import annotations

from steelyard.datasheet.render.html.drawing.labels import Box
from steelyard.datasheet.render.html.drawing.svg import Drawn, element, number, point, written

ANCHORS = {"left": "start", "center": "middle", "right": "end"}
"""Where a text stands about its place."""
_BASELINES = {"top": 0.79, "middle": 0.3, "bottom": -0.21, "alphabetic": 0.0}
"""From a place to the line that letters stand on, as a share of the font size."""
_NARROW, _WIDE = frozenset(" !'(),-./:;I[]fijlrt|"), frozenset("@MWmw—")
_WIDTHS = (0.36, 0.93, 0.63)
"""Of a narrow, a wide and any other letter, as shares of the font size, in the wider fonts of the page."""


def text_width(text: str, size: float) -> float:
    """About how many pixels a text takes."""
    narrow, wide, other = _WIDTHS
    return size * sum(narrow if c in _NARROW else wide if c in _WIDE else other for c in text)


def shortened(text: str, size: float, limit: float) -> str:
    """The text, cut with an ellipsis where it is wider than the limit; a limit of 0 is none."""
    if not limit or text_width(text, size) <= limit:
        return text
    kept = text
    while kept and text_width(kept + "…", size) > limit:
        kept = kept[:-1]
    return kept.rstrip() + "…"


def lettered(
    text: str,
    at: tuple[float, float],
    *,
    colour: str,
    size: float,
    align: str = "center",
    baseline: str = "middle",
    weight: str | int | None = None,
    opacity: float | None = None,
    upwards: bool = False,
) -> Drawn:
    """A line of text at a place; upwards it reads from below."""
    (x, y), down = at, _BASELINES[baseline] * size
    place = {"x": x, "y": y + down}
    turn = None
    if upwards:
        place, turn = {"x": 0, "y": down}, f"translate({point(x, y)}) rotate(-90)"
    markup = element(
        "text",
        written(text),
        **place,
        transform=turn,
        fill=colour,
        font_size=number(size),
        font_weight=None if weight is None else str(weight),
        text_anchor=ANCHORS[align],
        opacity=opacity,
    )
    width = text_width(text, size)
    before = {"left": 0.0, "center": width / 2, "right": width}[align]
    top, bottom = down - 0.8 * size, down + 0.25 * size
    if upwards:
        return Drawn(markup, Box(x + top, y + before - width, x + bottom, y + before))
    return Drawn(markup, Box(x - before, y + top, x - before + width, y + bottom))
