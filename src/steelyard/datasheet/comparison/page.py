"""A comparison as one HTML file that opens offline, with the differences drawn as a forest plot."""

from __future__ import annotations

from collections.abc import Sequence
from math import ceil

from steelyard.datasheet.comparison import rows
from steelyard.datasheet.comparison.rows import interval, label
from steelyard.datasheet.comparison.sheet import ComparisonSheet
from steelyard.datasheet.render.html.document import document
from steelyard.datasheet.render.html.drawing.chart import colour, draw, layer, mark
from steelyard.datasheet.render.html.drawing.spec import Spec
from steelyard.datasheet.render.html.drawing.tiles import LETTER
from steelyard.datasheet.words import numbers
from steelyard.datasheet.words.glossary import interval_meanings, metric_meanings
from steelyard.metrics.comparison.comparison import Comparison


def render(comparison: ComparisonSheet) -> str:
    """One HTML document, the same for the same comparison."""
    shown = comparison.shown()
    return document(
        "comparison.html.j2",
        comparison=shown,
        show=rows,
        drawing=forest(shown.rows, shown.margin, *shown.names),
        few=any(row.flipped == "pairs" for row in shown.rows),
        metrics=metric_meanings(row.metric for row in shown.rows),
        methods=interval_meanings(each.method for row in shown.rows for each in row.intervals),
    )


WIDTH, LINE = 460, 30
"""Width of the plot and height of a line, in pixels."""
PADDING = 10
"""Pixels between the names and the plot."""
ROLES = {"clear": "good", "flagged": "bad", "inconclusive": "wait"}
SIGNS = {"clear": "circle", "flagged": "diamond", "inconclusive": "square"}


def forest(rows: Sequence[Comparison], margin: float, first: str, second: str) -> str:
    """The plot as SVG; empty where no row has a difference."""
    drawn = [row for row in rows if row.difference is not None and row.intervals]
    if not drawn:
        return ""
    names = [label(row) for row in drawn]
    reach = _reach(drawn, margin)
    layers = [
        _band(margin, reach),
        _zero(),
        *_intervals(drawn, reach),
        _points(drawn),
        _numbers(drawn, reach),
    ]
    place: Spec = {
        "type": "quantitative",
        "scale": {"domain": [-reach, reach], "nice": False},
        "axis": {"title": "B − A", "grid": True, "format": "+.2~f"},
    }
    for drawn_layer in layers:
        encoding = drawn_layer["encoding"]
        if "x" in encoding:
            encoding["x"] = {**place, **encoding["x"]}
        if encoding.get("y", {}).get("field"):
            encoding["y"] = {**_lines(names), **encoding["y"]}
    description = "; ".join(
        f"{label(row)}: {numbers.decimal(row.difference or 0.0, signed=True)} {interval(row)}, {row.finding}"
        for row in drawn
    )
    title = f"{second} less {first}"
    return draw(layers, width=WIDTH, height=LINE * len(drawn), title=title, label=description + ".")


def _reach(rows: Sequence[Comparison], margin: float) -> float:
    """Half the width of the axis: symmetric, wide enough for every value; for every interval up to 1."""
    ends = [
        abs(end) for row in rows for end in (row.intervals[0].low, row.intervals[0].high) if end is not None
    ]
    values = [abs(row.difference or 0.0) for row in rows]
    return max(min(1.0, ceil(10 * max(2 * margin, *ends)) / 10), ceil(10 * max(values)) / 10)


def _lines(names: Sequence[str]) -> Spec:
    axis: Spec = {"title": None, "grid": False, "ticks": False, "domain": False, "labelLimit": 0}
    # The page's font is wider than the one that the drawing was laid out with.
    axis["minExtent"] = LETTER * max(map(len, names)) + PADDING
    axis |= {"labelColor": colour("ink"), "labelFontSize": 13, "labelPadding": PADDING}
    return {"type": "nominal", "sort": list(names), "axis": axis}


def _band(margin: float, reach: float) -> Spec:
    """The margin within which a difference counts as none."""
    ends = [{"low": -min(margin, reach), "high": min(margin, reach)}]
    drawn = mark("rect", color=colour("accent"), opacity=0.12)
    return layer(ends, drawn, x={"field": "low"}, x2={"field": "high"})


def _zero() -> Spec:
    return layer([{"at": 0}], mark("rule", color=colour("muted"), strokeWidth=1.2), x={"field": "at"})


def _intervals(rows: Sequence[Comparison], reach: float) -> list[Spec]:
    """The 95 % interval that the word is read from thin, the 90 % interval thick."""
    layers = []
    for number, thickness in ((0, 1.6), (1, 5)):
        for word, role in ROLES.items():
            ends = [
                {
                    "name": label(row),
                    "low": max(-reach, row.intervals[number].low or 0.0),
                    "high": min(reach, row.intervals[number].high or 0.0),
                }
                for row in rows
                if row.finding == word
            ]
            if ends:
                drawn = mark("rule", color=colour(role), strokeWidth=thickness, strokeCap="round")
                layers.append(
                    layer(ends, drawn, x={"field": "low"}, x2={"field": "high"}, y={"field": "name"})
                )
    return layers


def _points(rows: Sequence[Comparison]) -> Spec:
    at = [{"name": label(row), "at": row.difference, "word": row.finding} for row in rows]
    words = list(ROLES)
    shape = {
        "field": "word",
        "type": "nominal",
        "legend": None,
        "scale": {"domain": words, "range": [SIGNS[word] for word in words]},
    }
    fill = {
        "field": "word",
        "type": "nominal",
        "legend": None,
        "scale": {"domain": words, "range": [colour(ROLES[word]) for word in words]},
    }
    drawn = mark("point", filled=True, size=95, opacity=1, stroke=colour("paper"), strokeWidth=1.2)
    return layer(at, drawn, x={"field": "at"}, y={"field": "name"}, shape=shape, fill=fill)


def _numbers(rows: Sequence[Comparison], reach: float) -> Spec:
    """Value and interval in a column at the right."""
    texts = [
        {
            "name": label(row),
            "edge": reach,
            "text": f"{numbers.decimal(row.difference or 0.0, signed=True)} {interval(row)}",
        }
        for row in rows
    ]
    drawn = mark("text", align="left", dx=14, fontSize=12, color=colour("ink"))
    return layer(
        texts, drawn, x={"field": "edge"}, y={"field": "name"}, text={"field": "text", "type": "nominal"}
    )
