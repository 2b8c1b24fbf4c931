"""Every figure of the page, in reading order."""

from __future__ import annotations

from steelyard.datasheet.html.axes_map import axes_map
from steelyard.datasheet.html.criterion import criterion
from steelyard.datasheet.html.decomposition import decomposition
from steelyard.datasheet.html.figure import Figure
from steelyard.datasheet.html.instrument import instrument
from steelyard.datasheet.html.position import position
from steelyard.datasheet.html.psychometric import psychometric
from steelyard.datasheet.sections import PAIRWISE
from steelyard.datasheet.summary import Summary


def figures(summary: Summary) -> tuple[Figure, ...]:
    """The figures of the pairwise probes; none where none of those probes was run."""
    sheet = summary.datasheet
    if sheet.level != "pairwise" or not any(estimate.probe in PAIRWISE for estimate in sheet.estimates):
        return ()
    fitted = instrument(summary)
    makers = (axes_map, position, psychometric, decomposition, criterion)
    return (*(make(summary) for make in makers), *([fitted] if fitted else []))
