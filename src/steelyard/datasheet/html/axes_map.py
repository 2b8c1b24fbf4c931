"""Figure: the metrology axes. Zero point against stable cross-sensitivity, larger marks see one step better."""

from __future__ import annotations

from steelyard.datasheet.html.chart import draw
from steelyard.datasheet.html.figure import Figure, Panel, cell, everyone, looks, shown, why_not
from steelyard.datasheet.html.scatter import HEIGHT, WIDTH, Point, layers
from steelyard.datasheet.summary import Summary
from steelyard.metrics.estimate import Estimate

SMALLEST, LARGEST = 50.0, 420.0
"""Area of a mark at target sensitivity 0 and 1, in square pixels."""


def axes_map(summary: Summary) -> Figure:
    """Every judge at its dark current and stable cross-sensitivity."""
    points: list[Point] = []
    rows: list[tuple[str, ...]] = []
    omitted: list[str] = []
    look = looks(summary)
    for judge in everyone(summary):
        dark, stable, target = _three(summary, judge.name)
        rows.append((judge.name, cell(dark), cell(stable), cell(target)))
        if shown(dark, stable) and dark is not None and stable is not None:
            size = _area(target)
            points.append(Point(judge.name, dark, stable, look[judge.name], size, quiet=judge.baseline))
        else:
            omitted.append(
                why_not(judge.name, [("dark current", dark), ("stable cross-sensitivity", stable)])
            )
    spec = {"layer": layers(points, "dark current", "stable cross-sensitivity")}
    return Figure(
        id="axes",
        title="Metrology axes",
        caption="Left is a quiet zero point, low is indifference to wording. A larger mark sees a difference of one "
        "quality step more often. Whiskers are 95 % intervals; baselines are grey.",
        panels=(Panel(draw(spec, width=WIDTH, height=HEIGHT)),) if points else (),
        label="Dark current and stable cross-sensitivity. "
        + "; ".join(f"{row[0]}: {row[1]} and {row[2]}" for row in rows),
        header=("judge", "dark current", "stable cross-sensitivity", "target sensitivity, 1 step"),
        rows=tuple(rows),
        omitted=tuple(omitted),
    )


def _three(summary: Summary, judge: str) -> tuple[Estimate | None, Estimate | None, Estimate | None]:
    find = summary.datasheet.find
    same: dict[str, str | float] = {"protocol": "base", "delta": 0, "kind": "same_subset"}
    return (
        find(judge, "dark_current", "vacuum", protocol="base"),
        find(judge, "stable_cross_sensitivity", "ladder", **same),
        find(judge, "target_sensitivity", "ladder", protocol="base", delta=1),
    )


def _area(target: Estimate | None) -> float:
    if target is None or target.value is None:
        return SMALLEST
    return SMALLEST + (LARGEST - SMALLEST) * target.value
