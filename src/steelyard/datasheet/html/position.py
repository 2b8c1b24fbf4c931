"""Figure: is the preference for the slot or for the text? Positional against stable pairs."""

from __future__ import annotations

from steelyard.datasheet.html.chart import Spec, colour, draw
from steelyard.datasheet.html.figure import Figure, Panel, cell, everyone, looks, shown, why_not
from steelyard.datasheet.html.labels import Box
from steelyard.datasheet.html.scatter import HEIGHT, WIDTH, Point, layers, rate_axis
from steelyard.datasheet.summary import Summary

X_TITLE, Y_TITLE = "stable: same text wins both orders", "positional: same slot wins both orders"


def position(summary: Summary) -> Figure:
    """Every judge by its stable and its positional share of same-quality pairs."""
    look = looks(summary)
    points: list[Point] = []
    rows: list[tuple[str, ...]] = []
    omitted: list[str] = []
    same: dict[str, str | float] = {"protocol": "base", "delta": 0, "kind": "same_subset"}
    for judge in everyone(summary):
        stable = summary.datasheet.find(judge.name, "stable_cross_sensitivity", "ladder", **same)
        slot = summary.datasheet.find(judge.name, "positional_false_preference", "ladder", **same)
        net = summary.datasheet.find(judge.name, "net_slot_preference", "ladder", **same)
        rows.append((judge.name, cell(stable), cell(slot), cell(net)))
        if shown(stable, slot) and stable is not None and slot is not None:
            points.append(Point(judge.name, stable, slot, look[judge.name], quiet=judge.baseline))
        else:
            omitted.append(why_not(judge.name, [("stable", stable), ("positional", slot)]))
    chance = Box(WIDTH / 2 - 10, HEIGHT / 2 - 10, WIDTH / 2 + 76, HEIGHT / 2 + 10)
    spec = {"layer": [*_coin(), *layers(points, X_TITLE, Y_TITLE, [chance])]}
    return Figure(
        id="position",
        title="Slot or text",
        caption="A judge that always commits lies on the diagonal; a fair coin lies at its middle. Towards the top the "
        "slot decides, towards the right the wording does, towards the corner at zero it says tie.",
        panels=(Panel(draw(spec, width=WIDTH, height=HEIGHT)),) if points else (),
        label="Stable and positional shares of same-quality pairs. "
        + "; ".join(f"{row[0]}: {row[1]} and {row[2]}" for row in rows),
        header=("judge", "stable", "positional", "net slot preference"),
        rows=tuple(rows),
        omitted=tuple(omitted),
    )


def _coin() -> list[Spec]:
    """The line on which every pair is decided in both orders, and the point of a fair coin on it."""
    x, y = rate_axis("x", X_TITLE), rate_axis("y", Y_TITLE)
    line = {
        "data": {"values": [{"x": 0, "y": 1, "x2": 1, "y2": 0}]},
        "mark": {"type": "rule", "color": colour("accent"), "strokeWidth": 1.2, "strokeDash": [4, 4]},
        "encoding": {"x": x, "y": y, "x2": {"field": "x2"}, "y2": {"field": "y2"}},
    }
    ring = {
        "data": {"values": [{"x": 0.5, "y": 0.5}]},
        "mark": {"type": "point", "shape": "circle", "size": 150, "filled": False, "stroke": colour("accent"),
                 "strokeWidth": 2, "opacity": 1},
        "encoding": {"x": x, "y": y},
    }  # fmt: skip
    name = {
        "data": {"values": [{"x": 0.5, "y": 0.5, "text": "fair coin"}]},
        "mark": {"type": "text", "align": "left", "dx": 12, "color": colour("accent"), "fontSize": 12,
                 "baseline": "middle"},
        "encoding": {"x": x, "y": y, "text": {"field": "text", "type": "nominal"}},
    }  # fmt: skip
    return [line, ring, name]
