"""Figure: is the preference for the slot or for the text? Positional against stable pairs."""

from __future__ import annotations

from functools import partial

from steelyard.datasheet.render.html.drawing.chart import Spec, colour, mark
from steelyard.datasheet.render.html.drawing.figure import SAME_QUALITY, Figure, of_pairs
from steelyard.datasheet.render.html.drawing.labels import Box
from steelyard.datasheet.render.html.drawing.scatter import HEIGHT, WIDTH, Axes, Crowd, scatter
from steelyard.datasheet.sections.summary import Summary
from steelyard.metrics.estimate import Estimate
from steelyard.metrics.pairs.decomposition import POSITIONAL_FALSE_PREFERENCE, STABLE_CROSS_SENSITIVITY
from steelyard.metrics.pairs.slot import NET_SLOT_PREFERENCE

TITLE = "Slot or text"
HEADER = ("judge", "stable", "positional", NET_SLOT_PREFERENCE.label)
CAPTION = (
    "A judge that always commits lies on the diagonal; a fair coin lies at its middle. Towards the top the "
    "slot decides, towards the right the wording does, towards zero the judge says tie."
)
COIN = Box(WIDTH / 2 - 10, HEIGHT / 2 - 10, WIDTH / 2 + 72, HEIGHT / 2 + 10)
"""Room that the fair coin and its name take."""


@of_pairs
def position(summary: Summary) -> Figure:
    """Every judge by its stable and its positional share of same-quality pairs."""
    crowd = Crowd.of(summary, HEADER, partial(_three, summary))
    axes = Axes.named("stable: same text wins both orders", "positional: same slot wins both orders")
    return crowd.figure(TITLE, CAPTION, [*_fair_coin(axes), *scatter(axes, crowd.points, [COIN])])


def _three(summary: Summary, judge: str) -> list[Estimate | None]:
    metrics = (STABLE_CROSS_SENSITIVITY.id, POSITIONAL_FALSE_PREFERENCE.id, NET_SLOT_PREFERENCE.id)
    find = summary.datasheet.find
    return [find(judge, metric, "ladder", protocol="base", **SAME_QUALITY) for metric in metrics]


def _fair_coin(axes: Axes) -> list[Spec]:
    """The line on which every pair is decided in both orders, and the point of a fair coin on it."""
    accent = colour("accent")
    ring = mark("point", shape="circle", size=150, fill="transparent", stroke=accent, strokeWidth=2)
    return [
        axes.line((0, 1), (1, 0), mark("rule", color=accent, strokeWidth=1.2, strokeDash=[4, 4])),
        axes.spot((0.5, 0.5), {**ring, "opacity": 1}),
        axes.words((0.5, 0.5), "fair coin", mark("text", align="left", dx=12, color=accent, fontSize=12)),
    ]
