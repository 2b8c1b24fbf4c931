"""The marks of a layer: rectangles, rules, lines, points and texts, a row of data each."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from math import sqrt
from typing import Any

from steelyard.datasheet.render.html.drawing.labels import Box
from steelyard.datasheet.render.html.drawing.lettering import ANCHORS, lettered
from steelyard.datasheet.render.html.drawing.scale import Scale
from steelyard.datasheet.render.html.drawing.spec import Spec, known
from steelyard.datasheet.render.html.drawing.svg import Drawn, element, point

CHANNELS = ("x", "y", "x2", "y2", "text", "color", "fill", "stroke", "shape", "order")
"""What data can decide of a mark."""
ENCODING = ("field", "value", "type", "scale", "axis", "sort", "legend")
"""What a channel may say; there are no legends, so that one is only ever None."""
_STROKE = ("color", "stroke", "strokeWidth", "strokeDash", "strokeCap", "opacity")
OPTIONS = {
    "rect": ("fill", "fillOpacity", "cornerRadius", *_STROKE),
    "rule": _STROKE,
    "line": _STROKE,
    "point": ("shape", "size", "angle", "filled", "fill", *_STROKE),
    "text": (
        *("align", "baseline", "dx", "dy", "x", "y", "fontSize", "fontWeight"),
        "color",
        "fill",
        "opacity",
    ),
}
"""Kinds of marks, and what each may say of itself."""
_COLOURS = {"text": "var(--ink)", "rule": "var(--muted)"}
_TALL = sqrt(3) / 2
_SHAPES: dict[str, tuple[tuple[float, float], ...]] = {
    "square": ((-1, -1), (1, -1), (1, 1), (-1, 1)),
    "diamond": ((-1, 0), (0, -1), (1, 0), (0, 1)),
    "triangle-up": ((0, -_TALL), (-1, _TALL), (1, _TALL)),
    "triangle-down": ((0, _TALL), (-1, -_TALL), (1, -_TALL)),
    "triangle-right": ((_TALL, 0), (-_TALL, -1), (-_TALL, 1)),
    "triangle-left": ((-_TALL, 0), (_TALL, -1), (_TALL, 1)),
    "cross": (
        *((-1, -0.4), (-0.4, -0.4), (-0.4, -1), (0.4, -1), (0.4, -0.4), (1, -0.4)),
        *((1, 0.4), (0.4, 0.4), (0.4, 1), (-0.4, 1), (-0.4, 0.4), (-1, 0.4)),
    ),
}
"""Corners of a shape, half of whose width is 1."""


@dataclass(frozen=True)
class Layer:
    """Rows of data, and how each is drawn."""

    rows: list[Mapping[str, Any]]
    """The data."""
    mark: Spec
    """Kind and options of the marks."""
    encoding: dict[str, Spec]
    """Channel to the field that decides it."""
    scales: dict[str, Scale | None]
    """Of `x` and `y`."""
    ends: dict[str, float]
    """Width and height of the plot, by channel."""

    def drawn(self) -> Iterator[Drawn]:
        """The marks in order of the rows."""
        return _KINDS[self.mark["type"]](self)

    def option(self, channel: str, row: Mapping[str, Any]) -> Any:
        """What the data decide, else what the mark says; None where neither does."""
        encoding = self.encoding.get(channel)
        if encoding is None:
            return self.mark.get(channel)
        if "value" in encoding:
            return encoding["value"]
        value, scale = row.get(encoding["field"]), encoding.get("scale")
        if not scale:
            return value
        return dict(zip(scale["domain"], scale["range"], strict=True)).get(value)

    def colour(self, row: Mapping[str, Any]) -> Any:
        """The colour of a mark that says neither fill nor stroke."""
        return self.option("color", row) or _COLOURS.get(self.mark["type"], "var(--accent)")

    def pixel(self, channel: str, row: Mapping[str, Any]) -> float | None:
        """Where a row lies; None where it does not say."""
        encoding, scale = self.encoding.get(channel, {}), self.scales[channel[0]]
        return None if scale is None or "field" not in encoding else scale.place(row.get(encoding["field"]))

    def span(self, channel: str, row: Mapping[str, Any]) -> tuple[float, float] | None:
        """From one end to the other: the whole plot where the channel is not used; None without a value."""
        if channel not in self.encoding:
            return 0.0, self.ends[channel]
        start = self.pixel(channel, row)
        end = self.pixel(f"{channel}2", row) if f"{channel}2" in self.encoding else start
        return None if start is None or end is None else (start, end)

    def stroke(self, row: Mapping[str, Any], width: float, colour: str | None = None) -> Spec:
        """The attributes of a line."""
        dash = self.mark.get("strokeDash") or ()
        return {
            "stroke": self.option("stroke", row) or colour,
            "stroke_width": float(self.mark.get("strokeWidth", width)),
            "stroke_dasharray": " ".join(map(str, dash)) or None,
            "stroke_linecap": self.mark.get("strokeCap"),
            "opacity": self.mark.get("opacity"),
        }


def layer_of(spec: Spec, scales: dict[str, Scale | None], ends: dict[str, float]) -> Layer:
    """A layer, refused where it says something that is not drawn here."""
    known("layer", spec, ("data", "mark", "encoding"))
    mark = spec["mark"]
    known("mark", [str(mark.get("type"))], OPTIONS)
    known(f"mark {mark['type']}", mark, ("type", *OPTIONS[mark["type"]]))
    known(f"channels of a {mark['type']}", spec["encoding"], CHANNELS)
    for channel, encoding in spec["encoding"].items():
        known(f"channel {channel}", encoding, ENCODING)
    return Layer(list(spec["data"]["values"]), mark, spec["encoding"], scales, ends)


def _rects(layer: Layer) -> Iterator[Drawn]:
    for row in layer.rows:
        across, down = layer.span("x", row), layer.span("y", row)
        if across is None or down is None:
            continue
        (left, right), (top, bottom) = sorted(across), sorted(down)
        stroke = layer.stroke(row, 1)
        edge = stroke if stroke["stroke"] else {"opacity": stroke["opacity"]}
        markup = element(
            "rect",
            x=left,
            y=top,
            width=right - left,
            height=bottom - top,
            rx=layer.mark.get("cornerRadius"),
            fill=layer.option("fill", row) or layer.colour(row),
            fill_opacity=layer.mark.get("fillOpacity"),
            **edge,
        )
        half = stroke["stroke_width"] / 2 if stroke["stroke"] else 0.0
        yield Drawn(markup, Box(left - half, top - half, right + half, bottom + half))


def _rules(layer: Layer) -> Iterator[Drawn]:
    if {"x", "y"} <= layer.encoding.keys() and not {"x2", "y2"} & layer.encoding.keys():
        raise ValueError(
            "channels of a rule: found x and y alone, expected x2 or y2 too, or one of them alone"
        )
    for row in layer.rows:
        across, down = layer.span("x", row), layer.span("y", row)
        if across is None or down is None:
            continue
        (x, x2), (y, y2) = across, down
        stroke = layer.stroke(row, 1, layer.colour(row))
        box = Box(min(x, x2), min(y, y2), max(x, x2), max(y, y2))
        yield Drawn(element("path", d=f"M{point(x, y)}L{point(x2, y2)}", **stroke), box)


def _lines(layer: Layer) -> Iterator[Drawn]:
    """One line through all rows: by `order`, else from left to right."""
    order = str(layer.encoding.get("order", layer.encoding.get("x", {})).get("field"))
    placed = [(row, layer.pixel("x", row), layer.pixel("y", row)) for row in layer.rows]
    known_places = [(row, x, y) for row, x, y in placed if x is not None and y is not None]
    if not known_places:
        return
    ordered = sorted(known_places, key=lambda each: each[0].get(order) or 0)
    path = "M" + "L".join(point(x, y) for _, x, y in ordered)
    across, down = [x for _, x, _ in ordered], [y for _, _, y in ordered]
    first = ordered[0][0]
    stroke = layer.stroke(first, 2, layer.colour(first))
    yield Drawn(
        element("path", d=path, fill="none", **stroke), Box(min(across), min(down), max(across), max(down))
    )


def _points(layer: Layer) -> Iterator[Drawn]:
    half = sqrt(layer.mark.get("size", 30)) / 2
    filled = layer.mark.get("filled", False)
    for row in layer.rows:
        x, y = layer.pixel("x", row), layer.pixel("y", row)
        if x is None or y is None:
            continue
        colour = layer.colour(row)
        stroke = layer.stroke(row, 2, None if filled else colour)
        edge = stroke if stroke["stroke"] else {"opacity": stroke["opacity"]}
        fill = layer.option("fill", row) or (colour if filled else "none")
        shape = layer.option("shape", row) or "circle"
        markup = _shaped(shape, (x, y), half, layer.mark.get("angle"), {"fill": fill, **edge})
        wide = half + stroke["stroke_width"] / 2
        yield Drawn(markup, Box(x - wide, y - wide, x + wide, y + wide))


def _shaped(shape: str, at: tuple[float, float], half: float, angle: float | None, look: Spec) -> str:
    """A circle, a shape by its name, or a path whose half is 1."""
    if shape == "circle":
        return element("circle", cx=at[0], cy=at[1], r=half, **look)
    turn = "" if not angle else f" rotate({angle:.1f})"
    place = f"translate({point(*at)}){turn}"
    if shape in _SHAPES:
        corners = "L".join(point(x * half, y * half) for x, y in _SHAPES[shape])
        return element("path", transform=place, d=f"M{corners}Z", **look)
    if not shape.startswith("M"):
        expected = ", ".join(("circle", *_SHAPES))
        raise ValueError(
            f"shape of a point: found {shape!r}, expected a path that begins with M or one of {expected}"
        )
    width = look.pop("stroke_width", None)
    return element(
        "path",
        transform=f"{place} scale({half:.2f})",
        d=shape,
        **look,
        stroke_width=None if width is None else f"{width / half:.3f}",
    )


def _texts(layer: Layer) -> Iterator[Drawn]:
    mark = layer.mark
    known("align of a text", [mark.get("align", "center")], ANCHORS)
    for row in layer.rows:
        x = mark["x"] if "x" in mark else layer.pixel("x", row)
        y = mark["y"] if "y" in mark else layer.pixel("y", row)
        text = layer.option("text", row)
        if x is None or y is None or text in (None, ""):
            continue
        yield lettered(
            str(text),
            (x + mark.get("dx", 0), y + mark.get("dy", 0)),
            colour=layer.option("fill", row) or layer.colour(row),
            size=mark.get("fontSize", 13),
            align=mark.get("align", "center"),
            baseline=mark.get("baseline", "middle"),
            weight=mark.get("fontWeight"),
            opacity=mark.get("opacity"),
        )


_KINDS: dict[str, Callable[[Layer], Iterator[Drawn]]] = {
    "rect": _rects,
    "rule": _rules,
    "line": _lines,
    "point": _points,
    "text": _texts,
}
