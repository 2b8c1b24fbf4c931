"""A comparison as one HTML file that opens offline."""

from __future__ import annotations

from steelyard.datasheet.comparison import rows
from steelyard.datasheet.comparison.forest import forest
from steelyard.datasheet.comparison.sheet import ComparisonSheet
from steelyard.datasheet.render.html.document import document
from steelyard.datasheet.words.glossary import interval_meanings, metric_meanings


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
