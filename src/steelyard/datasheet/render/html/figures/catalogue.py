"""Every figure of the page, in reading order."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import partial

from steelyard.datasheet.render.html.drawing.figure import Figure
from steelyard.datasheet.render.html.figures.axes_map import axes_map
from steelyard.datasheet.render.html.figures.correlated import correlated
from steelyard.datasheet.render.html.figures.cost_curve import cost_curve
from steelyard.datasheet.render.html.figures.criterion import criterion
from steelyard.datasheet.render.html.figures.decomposition import decomposition
from steelyard.datasheet.render.html.figures.heatmap import heatmap
from steelyard.datasheet.render.html.figures.instrument import instrument
from steelyard.datasheet.render.html.figures.position import position
from steelyard.datasheet.render.html.figures.psychometric import psychometric
from steelyard.datasheet.sections.sections import CRITERION, LADDER, VACUUM
from steelyard.datasheet.sections.summary import Summary
from steelyard.metrics.faults import Fault, Faults

Maker = Callable[[Summary], Figure | None]


PAIRS: Mapping[str, Maker] = {
    "axes": axes_map,
    "position": position,
    "psychometric": psychometric,
    "decomposition": decomposition,
    "criterion": criterion,
    "instrument": instrument,
}
"""Figures of judges of pairs."""
SCORES: Mapping[str, Maker] = {
    "accuracy": partial(heatmap, metric="accuracy"),
    "invariance": partial(heatmap, metric="invariance"),
    "cost": cost_curve,
    "correlated": correlated,
}
"""Figures of judges of single texts: by probe, by price, and by the errors they share."""


def figures(summary: Summary, faults: Faults | None = None) -> tuple[Figure, ...]:
    """The figures of the study's level; none of pairs where no pairwise probe was run."""
    guard = Faults() if faults is None else faults
    sheet = summary.datasheet
    if sheet.level == "pairwise" and not any(
        estimate.probe in (VACUUM, LADDER, CRITERION) for estimate in sheet.estimates
    ):
        return ()
    makers = PAIRS if sheet.level == "pairwise" else SCORES
    made = (
        guard.guarded("", f"figure {name}", partial(make, summary), partial(_undrawn, name))
        for name, make in makers.items()
    )
    return tuple(figure for figure in made if figure is not None)


def _undrawn(name: str, fault: Fault) -> Figure:
    """The place of a figure that could not be drawn."""
    return Figure(name, name.capitalize(), fault.note, (), (), ())
