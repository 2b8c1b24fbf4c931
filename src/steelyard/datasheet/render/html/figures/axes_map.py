"""Figure: the metrology axes. Zero point against cross-sensitivity; larger marks see one step better."""

from __future__ import annotations

from steelyard.datasheet.render.html.drawing.chart import draw
from steelyard.datasheet.render.html.drawing.figure import (
    SAME_QUALITY,
    Figure,
    Panel,
    cell,
    crowd_key,
    everyone,
    looks,
    of_pairs,
    spoken,
    why_not,
)
from steelyard.datasheet.render.html.drawing.scatter import HEIGHT, WIDTH, Axes, Point, scatter
from steelyard.datasheet.sections.summary import Summary
from steelyard.datasheet.words import numbers
from steelyard.datasheet.words.glossary import metric_named
from steelyard.metrics.estimate import Estimate

SMALLEST, LARGEST = 50.0, 420.0
"""Area of a mark at target sensitivity 0 and 1, in square pixels."""
TITLE = "Metrology axes"
DARK, STABLE, TARGET = (
    metric_named(metric).label
    for metric in ("dark_current", "stable_cross_sensitivity", "target_sensitivity")
)
HEADER = ("judge", DARK, STABLE, f"{TARGET}, 1 step")
CAPTION = (
    "Left is a quiet zero point, low is indifference to wording. A larger mark sees a difference of one "
    "quality step more often. Whiskers are 95 % intervals; baselines are grey."
)


@of_pairs
def axes_map(summary: Summary) -> Figure:
    """Every judge at its dark current and stable cross-sensitivity."""
    look = looks(summary)
    points: list[Point] = []
    rows: list[tuple[str, ...]] = []
    omitted: list[str] = []
    for judge in everyone(summary):
        dark, stable, target = _three(summary, judge.name)
        rows.append((judge.name, cell(summary, dark), cell(summary, stable), cell(summary, target)))
        if numbers.defined(dark) and numbers.defined(stable):
            mine = look[judge.name]
            points.append(Point(mine.tag, dark, stable, mine, _area(target), quiet=judge.baseline))
        else:
            omitted.append(why_not(judge.name, [(DARK, dark), (STABLE, stable)]))
    layers = scatter(Axes.named(DARK, STABLE), points)
    svg = draw(layers, width=WIDTH, height=HEIGHT, title=TITLE, label=spoken(HEADER, rows)) if points else ""
    panels = (Panel(svg),) if svg else ()
    key = crowd_key(summary)
    return Figure(TITLE, CAPTION, panels, HEADER, tuple(rows), key, tuple(omitted))


def _three(summary: Summary, judge: str) -> tuple[Estimate | None, Estimate | None, Estimate | None]:
    find = summary.datasheet.find
    return (
        find(judge, "dark_current", "vacuum", protocol="base"),
        find(judge, "stable_cross_sensitivity", "ladder", protocol="base", **SAME_QUALITY),
        find(judge, "target_sensitivity", "ladder", protocol="base", delta=1),
    )


def _area(target: Estimate | None) -> float:
    seen = target.value if numbers.defined(target) and target.value is not None else 0.0
    return SMALLEST + (LARGEST - SMALLEST) * seen
