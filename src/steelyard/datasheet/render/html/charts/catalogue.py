"""Every chart of the page by name, in reading order; a plug-in package adds one through an entry point.

A chart is a function from the summary of a datasheet to a `Chart`, to the SVG of one drawing, or to None
where there is nothing to draw. A plug-in package declares::

    [project.entry-points."steelyard.charts"]
    my_chart = "my_package.my_chart:my_chart"
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from functools import partial
from inspect import getdoc
from xml.etree import ElementTree

from steelyard.core.registry import Registry
from steelyard.core.text import capital, pluralize
from steelyard.datasheet.render.html.drawing.chart import Chart, Panel
from steelyard.datasheet.sections.sections import Cell
from steelyard.datasheet.sections.summary import Summary
from steelyard.errors import SteelyardError
from steelyard.metrics.faults import Faults, FigureFault

_HERE = "steelyard.datasheet.render.html.charts"
_SVG = "{http://www.w3.org/2000/svg}"
CHARTS: Registry[Chart | str | None] = Registry(
    "chart",
    {
        "axes": f"{_HERE}.scatter_charts:axes_map",
        "position": f"{_HERE}.scatter_charts:position",
        "psychometric": f"{_HERE}.curves:psychometric",
        "decomposition": f"{_HERE}.interval_charts:decomposition",
        "criterion": f"{_HERE}.scatter_charts:criterion",
        "instrument": f"{_HERE}.interval_charts:instrument",
        "worth": f"{_HERE}.interval_charts:worth",
        "heat-accuracy": f"{_HERE}.heatmaps:accuracy",
        "heat-invariance": f"{_HERE}.heatmaps:invariance",
        "reliability": f"{_HERE}.curves:reliability",
        "runs": f"{_HERE}.interval_charts:runs",
        "strata": f"{_HERE}.interval_charts:strata",
        "cost": f"{_HERE}.scatter_charts:cost_curve",
        "correlated": f"{_HERE}.heatmaps:correlated",
    },
)


def charts(summary: Summary, faults: Faults | None = None) -> tuple[Chart, ...]:
    """The charts that this datasheet has data for; a chart that raises is recorded as a fault."""
    guard = Faults() if faults is None else faults
    results = (
        guard.guarded("", f"chart {name}", partial(_chart, name, summary), partial(_placeholder, name))
        for name in CHARTS.in_order()
    )
    return tuple(chart for chart in results if chart is not None)


def _chart(name: str, summary: Summary) -> Chart | None:
    function = CHARTS.factory(name)
    try:
        result = function(summary)
    except SteelyardError as error:  # would end the command: here it is a fault like another
        raise RuntimeError(str(error)) from error
    if result is None:
        return None
    return _check(_from_svg(result, name, function) if isinstance(result, str) else result, name)


def _from_svg(svg: str, name: str, function: Callable[..., object]) -> Chart:
    """A drawing as a chart: its title is that of the SVG, its caption the function's docstring."""
    try:
        root = ElementTree.fromstring(svg)
    except ElementTree.ParseError as error:
        raise ValueError(f"found a text that is no SVG ({error}), expected an svg element") from error
    if root.tag != f"{_SVG}svg":
        raise ValueError(f"found the element {root.tag!r}, expected svg with its namespace")
    title = root.findtext(f"{_SVG}title") or _title(name)
    return Chart(title, " ".join((getdoc(function) or "").split()), (Panel(svg),))


def _check(chart: Chart, name: str) -> Chart:
    """The chart in the form that the page expects, whatever sequences it was made of."""
    if not isinstance(chart, Chart):
        raise TypeError(f"found {type(chart).__name__}, expected SVG text, a Chart or None")
    rows = tuple(
        tuple(cell if isinstance(cell, (str, Cell)) else str(cell) for cell in row) for row in chart.rows
    )
    for row in rows:
        if len(row) != len(chart.header):
            size = pluralize(len(row), "cell")
            raise ValueError(f"found {size} in a row, expected {len(chart.header)} as in the header")
    if not all(isinstance(panel, Panel) for panel in chart.panels):
        raise TypeError("found something else among the panels, expected each to be a Panel")
    return replace(chart, rows=rows, id=name)


def _placeholder(name: str, fault: FigureFault) -> Chart:
    return Chart(_title(name), fault.note, (), id=name)


def _title(name: str) -> str:
    return capital(name.replace("_", " ").replace("-", " "))
