"""From a Vega-Lite specification to an SVG that follows the page's theme."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping, Sequence
from typing import Any
from xml.etree import ElementTree

VEGA_LITE = "5.21"
SVG = "http://www.w3.org/2000/svg"
Spec = dict[str, Any]
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

# Vega knows no CSS variables: each role travels as a colour that nothing else uses and gets its name back
# in the SVG.
_SENTINELS = {role: f"#0f0e{number:02x}" for number, role in enumerate(ROLES, start=16)}
_NAMES = {sentinel: f"var(--{role})" for role, sentinel in _SENTINELS.items()}
_DROPPED = ("class", "role", "aria-roledescription", "aria-hidden", "aria-label", "font-family")
_LONG_NUMBER = re.compile(r"-?\d+\.\d{3,}")


def colour(role: str) -> str:
    """The stand-in colour of a role."""
    return _SENTINELS[role]


def mark(kind: str, **options: Any) -> Spec:
    """A Vega-Lite mark."""
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
    import vl_convert

    spec = {"layer": list(layers), "width": width, "height": height, "background": None, "config": _config()}
    return _themed(vl_convert.vegalite_to_svg(json.dumps(spec), vl_version=VEGA_LITE), title, label)


def _config() -> Spec:
    ink, muted = colour("ink"), colour("muted")
    lines = {"gridColor": colour("grid"), "domainColor": muted, "tickColor": muted, "tickSize": 4}
    labels = {"labelColor": muted, "labelFontSize": 12, "labelPadding": 4, "labelFlush": False}
    titles = {"titleColor": ink, "titleFontSize": 13, "titleFontWeight": "normal", "titlePadding": 8}
    return {
        "aria": False,
        "padding": 4,
        "view": {"stroke": None},
        "axis": {**lines, **labels, **titles},
        "text": {"color": ink, "fontSize": 13, "baseline": "middle"},
        "rule": {"color": muted},
    }


def _themed(svg: str, title: str, label: str) -> str:
    root = ElementTree.fromstring(svg)
    for element in root.iter():
        for name, content in list(element.attrib.items()):
            if name in _DROPPED:
                del element.attrib[name]
            elif content in _NAMES:
                element.set(name, _NAMES[content])
            elif name in ("d", "transform"):
                element.set(name, _LONG_NUMBER.sub(lambda found: f"{float(found[0]):.2f}", content))
    _prune(root)
    root.set("role", "img")
    root.set("aria-label", label)
    named = ElementTree.Element(f"{{{SVG}}}title")
    named.text = title
    root.insert(0, named)
    ElementTree.register_namespace("", SVG)
    return ElementTree.tostring(root, encoding="unicode")


def _prune(element: ElementTree.Element) -> None:
    """Drop what draws nothing: hidden paths and empty groups."""
    for child in list(element):
        _prune(child)
        hidden = child.get("display") == "none" or child.get("d") in ("", "M0,0h0v0h0Z")
        if hidden or (child.tag == f"{{{SVG}}}g" and len(child) == 0):
            element.remove(child)
