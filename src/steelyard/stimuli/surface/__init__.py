"""Deterministic edits of a text, as pure functions; None means that this text cannot be edited so."""

from steelyard.stimuli.surface.claims import INJECTIONS, authority, bandwagon, injection
from steelyard.stimuli.surface.layout import blank_lines, indentation, space_clusters
from steelyard.stimuli.surface.markdown import add_markdown, markdown, strip_markdown
from steelyard.stimuli.surface.rubric_order import rubric_order
from steelyard.stimuli.surface.score_range import position, range_table, rescale, rewrite_range
from steelyard.stimuli.surface.typos import typos

__all__ = [
    "INJECTIONS",
    "add_markdown",
    "authority",
    "bandwagon",
    "blank_lines",
    "indentation",
    "injection",
    "markdown",
    "position",
    "range_table",
    "rescale",
    "rewrite_range",
    "rubric_order",
    "space_clusters",
    "strip_markdown",
    "typos",
]
