"""The face for those who draw: what a figure of the page is made of. The rooms behind it are free to move.

A figure is a function from a `Summary` to a `Figure`, or to None where a datasheet has nothing for it,
registered under the entry-point group `steelyard.figures`.
"""

from __future__ import annotations

from steelyard.datasheet.render.html.drawing.chart import colour, draw, layer, mark, rate_axis
from steelyard.datasheet.render.html.drawing.figure import (
    Figure,
    Key,
    Look,
    Panel,
    cell,
    crowd_key,
    everyone,
    limits,
    looks,
    of_pairs,
    of_scores,
    spoken,
    why_not,
)
from steelyard.datasheet.render.html.figures.heatmap import heatmap
from steelyard.datasheet.sections.summary import Summary
from steelyard.datasheet.words.numbers import defined

__all__ = [
    "Figure",
    "Key",
    "Look",
    "Panel",
    "Summary",
    "cell",
    "colour",
    "crowd_key",
    "defined",
    "draw",
    "everyone",
    "heatmap",
    "layer",
    "limits",
    "looks",
    "mark",
    "of_pairs",
    "of_scores",
    "rate_axis",
    "spoken",
    "why_not",
]
