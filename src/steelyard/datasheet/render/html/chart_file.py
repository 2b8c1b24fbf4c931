"""A chart as an SVG file of its own: drawings, titles and legend, in the light colours."""

from __future__ import annotations

import re
from functools import cache
from html import escape
from importlib.resources import files

from steelyard.datasheet.render.html.drawing.chart import Chart, LegendEntry, Panel

MARGIN, HEADING, LINE = 16, 34, 22
"""Pixels around everything, for the title, and for a line of text."""
WORD = 7.2
"""Pixels of a letter of the legend, about."""
_COLOUR = re.compile(r"--([\w-]+):\s*(?:light-dark\(\s*([^,]+),[^)]*\)|([^;]+));")
_SIZE = re.compile(r'<svg\b[^>]*?\bwidth="([\d.]+)"[^>]*?\bheight="([\d.]+)"')
_ROLE = re.compile(r"var\(--([\w-]+)\)")


def chart_svg(chart: Chart) -> str:
    parts, width, top = [], 0.0, float(MARGIN + HEADING)
    for panel in chart.panels:
        across, down = _size(panel)
        if panel.title:
            parts.append(_text(MARGIN, top + 14, panel.title, weight=600))
            top += LINE
        parts.append(panel.svg.replace("<svg ", f'<svg x="{MARGIN}" y="{top:g}" ', 1))
        width, top = max(width, across), top + down + MARGIN
    width = max(width, len(chart.title) * 1.4 * WORD)
    for line in _lines(chart.legend, width):
        parts.append(_legend_line(line, top))
        top += LINE
    body = "\n".join([_text(MARGIN, MARGIN + 16, chart.title, size=18, weight=600), *parts])
    across, down = width + 2 * MARGIN, top + MARGIN
    return _coloured(
        f'<svg xmlns="http://www.w3.org/2000/svg" width="{across:g}" height="{down:g}" '
        f'viewBox="0 0 {across:g} {down:g}" font-family="system-ui, sans-serif">\n'
        f"<title>{escape(chart.title)}</title>\n"
        f'<rect width="100%" height="100%" fill="var(--paper)"/>\n{body}\n</svg>\n'
    )


def _size(panel: Panel) -> tuple[float, float]:
    sizes = _SIZE.search(panel.svg)
    return (float(sizes[1]), float(sizes[2])) if sizes else (0.0, 0.0)


def _text(x: float, y: float, words: str, *, size: int = 14, weight: int = 400, role: str = "ink") -> str:
    return (
        f'<text x="{x:g}" y="{y:g}" font-size="{size}" font-weight="{weight}" fill="var(--{role})">'
        f"{escape(words)}</text>"
    )


def _lines(legend: tuple[LegendEntry, ...], width: float) -> list[list[tuple[float, LegendEntry]]]:
    """The entries of a legend with their places, as many in a line as there is room for."""
    lines: list[list[tuple[float, LegendEntry]]] = []
    x = width
    for entry in legend:
        wide = 28 + WORD * len(entry.text + entry.sign)
        if not lines or x + wide > width:
            lines.append([])
            x = 0.0
        lines[-1].append((x, entry))
        x += wide
    return lines


def _legend_line(line: list[tuple[float, LegendEntry]], top: float) -> str:
    parts = []
    for x, entry in line:
        left = MARGIN + x
        if entry.sign:
            parts.append(_text(left, top + 14, entry.sign, role=entry.role))
        else:
            parts.append(
                f'<rect x="{left:g}" y="{top + 4:g}" width="11" height="11" fill="var(--{entry.role})"/>'
            )
        parts.append(_text(left + 8 + WORD * max(1, len(entry.sign)), top + 14, entry.text))
    return "\n".join(parts)


def _coloured(text: str) -> str:
    """The roles of the style sheet as their light colours; a role that it has not is drawn in ink."""
    roles = _roles()
    return _ROLE.sub(lambda role: roles.get(role[1], roles["ink"]), text)


@cache
def _roles() -> dict[str, str]:
    style = (files("steelyard.datasheet.render.html") / "style.css").read_text(encoding="utf-8")
    return {name: (light or plain).strip() for name, light, plain in _COLOUR.findall(style)}
