"""A comparison as one HTML file that opens offline, with the differences drawn as a forest plot."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from math import ceil

from steelyard.datasheet.comparison import rows
from steelyard.datasheet.comparison.rows import label
from steelyard.datasheet.comparison.sheet import ComparisonSheet
from steelyard.datasheet.render.html.document import document
from steelyard.datasheet.render.html.drawing.forest_plot import IntervalRow, forest_plot
from steelyard.datasheet.words.glossary import interval_meanings, metric_meanings
from steelyard.metrics.comparison.comparison import Comparison
from steelyard.metrics.instrument.worth_estimates import WORTH


def render(
    comparison: ComparisonSheet,
    home: str = "",
    datasheets: Sequence[str] = (),
    differing: Callable[..., str] | None = None,
) -> str:
    """One document; in a viewer with the addresses of all runs and of both datasheets.

    `differing` gives the address of the calls of a side to which the other answers otherwise.
    """
    shown = comparison.escaped()
    return document(
        "comparison.html.j2",
        comparison=shown,
        home=home,
        datasheets=datasheets,
        differing=differing,
        show=rows,
        drawing=forest(shown.rows, shown.margin, *shown.names),
        few=any(row.flipped == "pairs" for row in shown.rows),
        metrics=metric_meanings(row.metric for row in shown.rows),
        methods=interval_meanings(each.method for row in shown.rows for each in row.intervals[:2]),
    )


STYLES = {
    rows.BETTER: ("good", "triangle-up"),
    rows.WORSE: ("bad", "triangle-down"),
    rows.DIFFERENT: ("accent", "diamond"),
    rows.ALIKE: ("muted", "circle"),
    rows.UNDECIDED: ("wait", "square"),
}
"""Colour and marker of a state; the state itself stands beside every row."""


def forest(figures: Sequence[Comparison], margin: float, first: str, second: str) -> str:
    """The plot as SVG, what differs first; empty where no row has a difference."""
    # Steps of quality have another scale than shares.
    known = [row for row in figures if row.difference is not None and row.metric != WORTH.id]
    drawn = sorted(rows.main_first(known), key=lambda row: list(STYLES).index(rows.state(row)))
    if not drawn:
        return ""
    reach = _axis_extent(drawn, margin)
    values = {label(row): f"{rows.figures(row)[-1]} {rows.state(row)}" for row in drawn}
    description = "; ".join(f"{name}: {value}" for name, value in values.items())
    return forest_plot(
        [_row(row, values[label(row)]) for row in drawn],
        title=f"{second} less {first}",
        label=description + ".",
        axis_title="B − A",
        domain=(-reach, reach),
        ticks=None,
        signed=True,
        zero_line=True,
        margin=min(margin, reach),
        width=460,
        row_height=30,
        limit=0,
    )


def _row(row: Comparison, text: str) -> IntervalRow:
    """The interval that the word is read from."""
    role, shape = STYLES[rows.state(row)]
    return IntervalRow(label(row), row.difference, row.decides, role, shape, text=text)


def _axis_extent(drawn: Sequence[Comparison], margin: float) -> float:
    """Half the width of the axis: symmetric, wide enough for every value; for every interval up to 1."""
    ends = [abs(end) for row in drawn for end in row.decides]
    values = [abs(row.difference or 0.0) for row in drawn]
    return max(min(1.0, ceil(10 * max(2 * margin, *ends)) / 10), ceil(10 * max(values)) / 10)
