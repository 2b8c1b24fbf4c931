"""Figure: the metrology axes. Zero point against cross-sensitivity; larger marks see one step better."""

from __future__ import annotations

from functools import partial

from steelyard.datasheet.render.html.drawing.axes import Axes, Bounds
from steelyard.datasheet.render.html.drawing.figure import SAME_QUALITY, Figure, of_pairs
from steelyard.datasheet.render.html.drawing.scatter import Crowd, scatter
from steelyard.datasheet.sections.summary import Summary
from steelyard.datasheet.words import numbers
from steelyard.datasheet.words.glossary import metric_named
from steelyard.metrics.common import DARK_CURRENT
from steelyard.metrics.estimate import Estimate
from steelyard.metrics.pairs.decomposition import STABLE_CROSS_SENSITIVITY
from steelyard.metrics.pairs.sensitivity import TARGET_SENSITIVITY

SMALLEST, LARGEST = 50.0, 420.0
"""Area of a mark at target sensitivity 0 and 1, in square pixels."""
TITLE = "Metrology axes"
DARK, STABLE, TARGET = (
    metric_named(metric).name
    for metric in (DARK_CURRENT.id, STABLE_CROSS_SENSITIVITY.id, TARGET_SENSITIVITY.id)
)
HEADER = ("judge", DARK, STABLE, f"{TARGET}, 1 step")
CAPTION = (
    "Left is a quiet zero point, low is indifference to wording. A larger mark sees a difference of one "
    "quality step more often. Whiskers are 95 % intervals, dashed lines are limits; baselines are grey. "
    "Square-root axes keep small shares apart."
)


@of_pairs
def axes_map(summary: Summary) -> Figure:
    """Every judge at its dark current and stable cross-sensitivity."""
    crowd = Crowd.of(summary, HEADER, partial(_three, summary), _area)
    bounds = Bounds.of([point.x for point in crowd.points], [point.y for point in crowd.points])
    axes = Axes.of_roots(DARK, STABLE)
    drawn = [*bounds.layers(axes), *scatter(axes, crowd.points, bounds.room(axes))]
    return crowd.figure(TITLE, CAPTION, drawn)


def _three(summary: Summary, judge: str) -> tuple[Estimate | None, Estimate | None, Estimate | None]:
    find = summary.datasheet.find
    return (
        find(judge, DARK_CURRENT.id, "vacuum", protocol="base"),
        find(judge, STABLE_CROSS_SENSITIVITY.id, "ladder", protocol="base", **SAME_QUALITY),
        find(judge, TARGET_SENSITIVITY.id, "ladder", protocol="base", delta=1),
    )


def _area(target: Estimate | None) -> float:
    seen = target.value if numbers.defined(target) and target.value is not None else 0.0
    return SMALLEST + (LARGEST - SMALLEST) * seen
