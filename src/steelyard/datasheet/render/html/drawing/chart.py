"""The words in which a drawing is described, and the drawing of it as an SVG that follows the page's theme.

A drawing is a list of layers: rows of data, a mark, and for each channel the field that decides it. The words
are those of Vega-Lite, as many of them as the figures need; others are refused.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from steelyard.datasheet.render.html.drawing.axis import axis_of
from steelyard.datasheet.render.html.drawing.marks import layer_of
from steelyard.datasheet.render.html.drawing.scale import scale_of
from steelyard.datasheet.render.html.drawing.spec import Spec
from steelyard.datasheet.render.html.drawing.svg import Sheet

TEXT: Spec = {"field": "text", "type": "nominal"}
"""Text channel of every label."""
QUARTERS = (0, 0.25, 0.5, 0.75, 1)

ROLES = (
    *("ink", "muted", "grid", "paper", "accent"),
    *(f"series-{number}" for number in range(1, 9)),
    *("stable", "slot-1", "slot-2", "one-sided", "other", "none"),
    *("good", "bad", "wait", "share"),
)
"""Colours by role; the style sheet gives each a value in the light and in the dark theme."""


def colour(role: str) -> str:
    """The colour of a role."""
    if role not in ROLES:
        raise KeyError(f"colour: found {role!r}, expected one of {', '.join(ROLES)}")
    return f"var(--{role})"


def mark(kind: str, **options: Any) -> Spec:
    """A mark: `rect`, `rule`, `line`, `point` or `text`, and how it looks."""
    return {"type": kind, **options}


def layer(rows: Sequence[Mapping[str, Any]], drawn: Spec, **encoding: Spec) -> Spec:
    """One layer with data of its own."""
    return {"data": {"values": list(rows)}, "mark": drawn, "encoding": encoding}


def rate_axis(field: str, title: str | None, *, grid: bool = True) -> Spec:
    """A rate from 0 to 1 with quarters marked."""
    axis = {"title": title, "values": QUARTERS, "format": ".2~f", "grid": grid}
    return {"field": field, "type": "quantitative", "scale": {"domain": [0, 1], "nice": False}, "axis": axis}


ROOTS = (0, 0.1, 0.25, 0.5, 0.75, 1)
"""Marks of a square-root axis."""


def root_axis(field: str, title: str) -> Spec:
    """A rate from 0 to 1 on a square-root axis, so that small shares stay apart."""
    axis = {"title": title, "values": ROOTS, "format": ".2~f", "grid": True}
    scale = {"type": "sqrt", "domain": [0, 1], "nice": False}
    return {"field": field, "type": "quantitative", "scale": scale, "axis": axis}


def draw(layers: Sequence[Spec], *, width: int, height: int, title: str, label: str) -> str:
    """The layers as an SVG element that carries its title and, for those who cannot see it, its content."""
    ends = {"x": float(width), "y": float(height)}
    scales = {channel: scale_of(channel, layers, end) for channel, end in ends.items()}
    across = {"x": ends["y"], "y": ends["x"]}
    axes = [axis for channel in ends if (axis := axis_of(channel, layers, scales[channel], across[channel]))]
    sheet = Sheet(width, height)
    for axis in axes:
        sheet.add(*axis.grid())
    for axis in axes:
        sheet.add(*axis.frame())
    for spec in layers:
        sheet.add(*layer_of(spec, scales, ends).drawn())
    return sheet.document(title, label)
