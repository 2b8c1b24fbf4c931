"""Every figure of the page, in reading order."""

from __future__ import annotations

from steelyard.datasheet.html.axes_map import axes_map
from steelyard.datasheet.html.correlated import correlated
from steelyard.datasheet.html.cost_curve import cost_curve
from steelyard.datasheet.html.criterion import criterion
from steelyard.datasheet.html.decomposition import decomposition
from steelyard.datasheet.html.figure import Figure
from steelyard.datasheet.html.heatmap import heatmap
from steelyard.datasheet.html.instrument import instrument
from steelyard.datasheet.html.position import position
from steelyard.datasheet.html.psychometric import psychometric
from steelyard.datasheet.sections import PAIRWISE
from steelyard.datasheet.summary import Summary


def figures(summary: Summary) -> tuple[Figure, ...]:
    """The figures of the study's level; none of pairs where no pairwise probe was run."""
    sheet = summary.datasheet
    if sheet.level != "pairwise":
        return _scores(summary)
    if not any(estimate.probe in PAIRWISE for estimate in sheet.estimates):
        return ()
    fitted = instrument(summary)
    makers = (axes_map, position, psychometric, decomposition, criterion)
    return (*(make(summary) for make in makers), *([fitted] if fitted else []))


def _scores(summary: Summary) -> tuple[Figure, ...]:
    """Judges of single texts: by probe, by price, and by the errors they share."""
    made = (
        heatmap(summary, "accuracy"),
        heatmap(summary, "invariance"),
        cost_curve(summary),
        correlated(summary),
    )
    return tuple(figure for figure in made if figure is not None)
