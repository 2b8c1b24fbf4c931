"""Figure: what a stricter prompt buys and costs. False preference against sensitivity, base to strict."""

from __future__ import annotations

from math import atan2, degrees

from steelyard.datasheet.datasheet import JudgeEntry
from steelyard.datasheet.html.chart import Spec, colour, draw
from steelyard.datasheet.html.figure import Figure, Look, Panel, cell, everyone, looks, shown, why_not
from steelyard.datasheet.html.scatter import HEIGHT, WIDTH, Point, layers, rate_axis
from steelyard.datasheet.summary import Summary
from steelyard.metrics.estimate import Estimate

X_TITLE, Y_TITLE = "raw false preference, same quality", "target sensitivity, 1 step"


def criterion(summary: Summary) -> Figure:
    """Operating points, joined where a judge has more than one protocol."""
    look = looks(summary)
    points: list[Point] = []
    arrows: list[Spec] = []
    rows: list[tuple[str, ...]] = []
    omitted: list[str] = []
    for judge in everyone(summary):
        arms = [point for protocol in judge.protocols or {"base": ""}
                if (point := _point(summary, judge, protocol, look[judge.name])) is not None]  # fmt: skip
        rows += _rows(summary, judge)
        if not arms:
            false, target = _two(summary, judge.name, "base")
            omitted.append(
                why_not(judge.name, [("raw false preference", false), ("target sensitivity", target)])
            )
        points += arms
        arrows += [_arrow(arms[0], arm) for arm in arms[1:] if arm.at != arms[0].at]
    spec = {"layer": [*arrows, *layers(points, X_TITLE, Y_TITLE)]}
    return Figure(
        id="criterion",
        title="Criterion trade-off",
        caption="The best place is the upper left corner. An arrow runs from the base protocol to a stricter one: left is "
        "fewer false preferences, down is real differences lost in ties.",
        panels=(Panel(draw(spec, width=WIDTH, height=HEIGHT)),) if points else (),
        label="Raw false preference and target sensitivity at one step. "
        + "; ".join(f"{row[0]}: {row[1]} and {row[2]}" for row in rows),
        header=(
            "judge",
            "raw false preference",
            "target sensitivity, 1 step",
            "criterion shift, same quality",
        ),
        rows=tuple(rows),
        omitted=tuple(omitted),
    )


def _two(summary: Summary, judge: str, protocol: str) -> tuple[Estimate | None, Estimate | None]:
    find = summary.datasheet.find
    same: dict[str, str | float] = {"protocol": protocol, "delta": 0, "kind": "same_subset"}
    false = find(judge, "raw_false_preference", "ladder", **same)
    return false, find(judge, "target_sensitivity", "ladder", protocol=protocol, delta=1)


def _point(summary: Summary, judge: JudgeEntry, protocol: str, look: Look) -> Point | None:
    false, target = _two(summary, judge.name, protocol)
    if not shown(false, target) or false is None or target is None:
        return None
    name = judge.name if protocol == "base" else f"{judge.name}, {protocol}"
    return Point(name, false, target, look, quiet=judge.baseline, filled=protocol == "base")


def _rows(summary: Summary, judge: JudgeEntry) -> list[tuple[str, ...]]:
    rows = []
    for protocol in judge.protocols or {"base": ""}:
        false, target = _two(summary, judge.name, protocol)
        shift = summary.datasheet.find(judge.name, "criterion_shift", "criterion", delta=0)
        if protocol == "base":
            rows.append((judge.name, cell(false), cell(target), "reference"))
        elif false is not None or target is not None:
            rows.append((f"{judge.name}, {protocol}", cell(false), cell(target), cell(shift)))
    return rows


def _arrow(start: Point, end: Point) -> Spec:
    """A line between two operating points with a head in its middle."""
    (x, y), (x2, y2) = start.at, end.at
    axes = {"x": rate_axis("x", X_TITLE), "y": rate_axis("y", Y_TITLE)}
    turn = degrees(atan2((x2 - x) * WIDTH, (y2 - y) * HEIGHT))
    role = colour(start.look.role)
    line = {
        "data": {"values": [{"x": x, "y": y, "x2": x2, "y2": y2}]},
        "mark": {"type": "rule", "color": role, "strokeWidth": 1.8},
        "encoding": {**axes, "x2": {"field": "x2"}, "y2": {"field": "y2"}},
    }
    head = {
        "data": {"values": [{"x": (x + x2) / 2, "y": (y + y2) / 2}]},
        "mark": {"type": "point", "shape": "triangle-up", "angle": turn, "size": 90, "fill": role, "stroke": role,
                 "opacity": 1},
        "encoding": axes,
    }  # fmt: skip
    return {"layer": [line, head]}
