"""The public names for charts of plug-ins: a chart is a function from a `Summary` to SVG.

Register the function under the entry-point group `steelyard.charts`. It returns the SVG of one drawing,
a `Chart` with panels, legend and data table, or None where a datasheet has nothing to draw.
"""

from __future__ import annotations

from steelyard.datasheet.numbers import defined
from steelyard.datasheet.render.html.charts.heatmaps import heatmap
from steelyard.datasheet.render.html.drawing.axis import Axis, NameScale, Scale, draw, rate_axis
from steelyard.datasheet.render.html.drawing.chart import (
    Chart,
    LegendEntry,
    Panel,
    SeriesStyle,
    all_judges,
    aria_label,
    data_cell,
    interval_ends,
    omission_note,
    pairs_only,
    scores_only,
    series_styles,
)
from steelyard.datasheet.render.html.drawing.forest_plot import IntervalRow, forest_plot, interval_row
from steelyard.datasheet.render.html.drawing.svg import (
    colour,
    draw_line,
    draw_marker,
    draw_rect,
    draw_text,
    error_bar,
)
from steelyard.datasheet.sections.summary import Summary

__all__ = [
    "Axis",
    "Chart",
    "IntervalRow",
    "LegendEntry",
    "NameScale",
    "Panel",
    "Scale",
    "SeriesStyle",
    "Summary",
    "all_judges",
    "aria_label",
    "colour",
    "data_cell",
    "defined",
    "draw",
    "draw_line",
    "draw_marker",
    "draw_rect",
    "draw_text",
    "error_bar",
    "forest_plot",
    "heatmap",
    "interval_ends",
    "interval_row",
    "omission_note",
    "pairs_only",
    "rate_axis",
    "scores_only",
    "series_styles",
]
