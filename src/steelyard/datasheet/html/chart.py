"""From a Vega-Lite specification to an SVG that follows the page's theme."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from typing import Any
from xml.etree import ElementTree

VEGA_LITE = "5.21"
SVG = "http://www.w3.org/2000/svg"
Spec = dict[str, Any]

ROLES = (
    "ink", "muted", "grid", "paper", "accent",
    "series-1", "series-2", "series-3", "series-4", "series-5", "series-6", "series-7", "series-8",
    "stable", "slot-1", "slot-2", "one-sided", "other", "none",
)  # fmt: skip
"""Colours by role; the style sheet gives each a value in the light and in the dark theme."""

# Vega knows no CSS variables: each role travels as a colour that nothing else uses and is named again in the SVG.
_SENTINELS = {role: f"#0f0e{number:02x}" for number, role in enumerate(ROLES, start=16)}
_NAMES = {sentinel: f"var(--{role})" for role, sentinel in _SENTINELS.items()}
_DROPPED = ("class", "role", "aria-roledescription", "aria-hidden", "aria-label", "font-family")
_LONG_NUMBER = re.compile(r"-?\d+\.\d{3,}")


def colour(role: str) -> str:
    """The stand-in colour of a role."""
    return _SENTINELS[role]


def draw(spec: Mapping[str, Any], *, width: int, height: int) -> str:
    """An SVG element for one plot; decorative for readers of the page, which carries the label and the table."""
    import vl_convert

    full = {**spec, "width": width, "height": height, "background": None, "config": _config()}
    return _themed(vl_convert.vegalite_to_svg(json.dumps(full), vl_version=VEGA_LITE))


def _config() -> Spec:
    ink, muted, grid = colour("ink"), colour("muted"), colour("grid")
    return {
        "aria": False,
        "padding": 4,
        "view": {"stroke": None},
        "axis": {
            "labelColor": muted, "titleColor": ink, "gridColor": grid, "domainColor": muted, "tickColor": muted,
            "labelFontSize": 12, "titleFontSize": 13, "titleFontWeight": "normal", "titlePadding": 8,
            "labelPadding": 4, "tickSize": 4, "labelFlush": False,
        },
        "text": {"color": ink, "fontSize": 13},
        "rule": {"color": muted},
    }  # fmt: skip


def _themed(svg: str) -> str:
    root = ElementTree.fromstring(svg)
    for element in root.iter():
        for name, content in list(element.attrib.items()):
            if name in _DROPPED:
                del element.attrib[name]
            elif content in _NAMES:
                element.set(name, _NAMES[content])
            elif name in ("d", "transform"):
                element.set(name, _LONG_NUMBER.sub(lambda m: f"{float(m[0]):.2f}", content))
    root.set("aria-hidden", "true")
    root.set("focusable", "false")
    _prune(root)
    ElementTree.register_namespace("", SVG)
    return ElementTree.tostring(root, encoding="unicode")


def _prune(element: ElementTree.Element) -> None:
    """Drop what draws nothing: hidden paths and empty groups."""
    for child in list(element):
        _prune(child)
        hidden = child.get("display") == "none" or child.get("d") in ("", "M0,0h0v0h0Z")
        if hidden or (child.tag == f"{{{SVG}}}g" and len(child) == 0):
            element.remove(child)
