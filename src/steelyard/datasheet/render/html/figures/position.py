"""Figure: is the preference for the slot or for the text? Positional against stable pairs."""

from __future__ import annotations

from functools import partial

from steelyard.datasheet.render.html.drawing.axes import Axes, Bounds
from steelyard.datasheet.render.html.drawing.chart import colour, layer, mark
from steelyard.datasheet.render.html.drawing.figure import SAME_QUALITY, Figure, of_pairs
from steelyard.datasheet.render.html.drawing.labels import Box
from steelyard.datasheet.render.html.drawing.scatter import Crowd, scatter
from steelyard.datasheet.render.html.drawing.spec import Spec
from steelyard.datasheet.sections.summary import Summary
from steelyard.metrics.estimate import Estimate
from steelyard.metrics.pairs.decomposition import POSITIONAL_FALSE_PREFERENCE, STABLE_CROSS_SENSITIVITY
from steelyard.metrics.pairs.slot import NET_SLOT_PREFERENCE

TITLE = "Slot or text"
METRICS = (STABLE_CROSS_SENSITIVITY, POSITIONAL_FALSE_PREFERENCE, NET_SLOT_PREFERENCE)
HEADER = ("judge", *(metric.name for metric in METRICS))
CAPTION = (
    "A judge that always commits lies on the arc; a fair coin lies at its middle. Towards the top the "
    "slot decides, towards the right the wording does, towards zero the judge says tie. Dashed lines are "
    "limits; square-root axes keep small shares apart."
)


@of_pairs
def position(summary: Summary) -> Figure:
    """Every judge by its stable and its positional share of same-quality pairs."""
    crowd = Crowd.of(summary, HEADER, partial(_three, summary))
    axes = Axes.of_roots(*HEADER[1:3])
    bounds = Bounds.of([point.x for point in crowd.points], [point.y for point in crowd.points])
    drawn = [*_fair_coin(axes), *bounds.layers(axes)]
    return crowd.figure(
        TITLE, CAPTION, [*drawn, *scatter(axes, crowd.points, [_coin(axes), *bounds.room(axes)])]
    )


def _three(summary: Summary, judge: str) -> list[Estimate | None]:
    find = summary.datasheet.find
    return [find(judge, metric.id, "ladder", protocol="base", **SAME_QUALITY) for metric in METRICS]


def _coin(axes: Axes) -> Box:
    """Room that the fair coin and its name take."""
    across, down = axes.pixel((0.5, 0.5))
    return Box(across - 10, down - 10, across + 72, down + 10)


def _fair_coin(axes: Axes) -> list[Spec]:
    """The line on which every pair is decided in both orders, and the point of a fair coin on it."""
    accent = colour("accent")
    ring = mark("point", shape="circle", size=150, fill="transparent", stroke=accent, strokeWidth=2)
    committed = [{"x": share / 50, "y": 1 - share / 50} for share in range(51)]
    arc = mark("line", color=accent, strokeWidth=1.2, strokeDash=[4, 4])
    return [
        layer(committed, arc, x=axes.x, y=axes.y, order={"field": "x", "type": "quantitative"}),
        axes.spot((0.5, 0.5), {**ring, "opacity": 1}),
        axes.words((0.5, 0.5), "fair coin", mark("text", align="left", dx=12, color=accent, fontSize=12)),
    ]
