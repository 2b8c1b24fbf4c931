"""Every figure of the page by name, in reading order; a package of its own adds one through an entry point.

A figure is a function from the summary of a datasheet to a `Figure`, or to None where the sheet has nothing
for it. A plug-in package declares::

    [project.entry-points."steelyard.figures"]
    my_figure = "my_package.my_figure:my_figure"
"""

from __future__ import annotations

from dataclasses import replace
from functools import partial

from steelyard.core.registry import Registry
from steelyard.core.text import pluralize
from steelyard.datasheet.render.html.drawing.figure import Figure, Panel
from steelyard.datasheet.sections.summary import Summary
from steelyard.datasheet.words.text import capital
from steelyard.errors import SteelyardError
from steelyard.metrics.faults import Fault, Faults

_HERE = "steelyard.datasheet.render.html.figures"
FIGURES: Registry[Figure | None] = Registry(
    "figure",
    {
        "axes": f"{_HERE}.axes_map:axes_map",
        "position": f"{_HERE}.position:position",
        "psychometric": f"{_HERE}.psychometric:psychometric",
        "decomposition": f"{_HERE}.decomposition:decomposition",
        "criterion": f"{_HERE}.criterion:criterion",
        "instrument": f"{_HERE}.instrument:instrument",
        "heat-accuracy": f"{_HERE}.heatmap:accuracy",
        "heat-invariance": f"{_HERE}.heatmap:invariance",
        "runs": f"{_HERE}.runs:runs",
        "strata": f"{_HERE}.strata:strata",
        "cost": f"{_HERE}.cost_curve:cost_curve",
        "correlated": f"{_HERE}.correlated:correlated",
    },
)


def figures(summary: Summary, faults: Faults | None = None) -> tuple[Figure, ...]:
    """The figures that this datasheet has something for; one that can not be drawn is a fault."""
    guard = Faults() if faults is None else faults
    drawn = (
        guard.guarded("", f"figure {name}", partial(_drawn, name, summary), partial(_undrawn, name))
        for name in FIGURES.in_order()
    )
    return tuple(figure for figure in drawn if figure is not None)


def _drawn(name: str, summary: Summary) -> Figure | None:
    """The figure of a name, which is also its anchor."""
    try:
        figure = FIGURES.factory(name)(summary)
    except SteelyardError as error:  # a refusal, which would end the command: here it is a fault like another
        raise RuntimeError(str(error)) from error
    return None if figure is None else _checked(figure, name)


def _checked(figure: Figure, name: str) -> Figure:
    """The figure in the form that the page expects, whatever sequences it was made of."""
    if not isinstance(figure, Figure):
        raise TypeError(f"found {type(figure).__name__}, expected a Figure or None")
    rows = tuple(tuple(map(str, row)) for row in figure.rows)
    for row in rows:
        if len(row) != len(figure.header):
            size = pluralize(len(row), "cell")
            raise ValueError(f"found {size} in a row, expected {len(figure.header)} as in the header")
    if not all(isinstance(panel, Panel) for panel in figure.panels):
        raise TypeError("found something else among the panels, expected each to be a Panel")
    return replace(figure, rows=rows, id=name)


def _undrawn(name: str, fault: Fault) -> Figure:
    """The place of a figure that could not be drawn."""
    title = capital(name.replace("_", " ").replace("-", " "))
    return Figure(title, fault.note, (), (), (), id=name)
