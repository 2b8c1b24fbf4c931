"""A comparison as one HTML file that opens offline."""

from __future__ import annotations

from steelyard.datasheet.comparison import sheet as sheet
from steelyard.datasheet.comparison.forest import forest
from steelyard.datasheet.comparison.sheet import ComparisonSheet
from steelyard.datasheet.render.html.document import document
from steelyard.datasheet.words.glossary import INTERVALS, metric_named


def render(comparison: ComparisonSheet) -> str:
    """One HTML document, the same for the same comparison."""
    shown = comparison.shown()
    names = dict.fromkeys(row.metric for row in shown.rows)
    methods = dict.fromkeys(interval.method for row in shown.rows for interval in row.intervals)
    return document(
        "comparison.html.j2",
        comparison=shown,
        show=sheet,
        drawing=forest(shown.rows, shown.margin, shown.first.judge, shown.second.judge),
        few=any(row.flipped == "pairs" for row in shown.rows),
        metrics=[
            (metric_named(name).label, metric_named(name).meaning)
            for name in names
            if metric_named(name).meaning
        ],
        methods=[(name, INTERVALS[name]) for name in methods],
    )
