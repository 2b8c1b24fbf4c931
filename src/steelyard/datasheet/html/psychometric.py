"""Figure: psychometric curves, one panel per judge, with the baselines behind each."""

from __future__ import annotations

from collections.abc import Sequence

from steelyard.datasheet import numbers
from steelyard.datasheet.datasheet import JudgeEntry
from steelyard.datasheet.html.chart import Spec, colour, draw
from steelyard.datasheet.html.figure import Figure, Look, Panel, cell, everyone, limits, looks, why_not
from steelyard.datasheet.html.labels import short, spread
from steelyard.datasheet.summary import Summary
from steelyard.metrics.estimate import Estimate

WIDTH, HEIGHT = 250, 190
Curve = list[tuple[float, Estimate]]
"""Quality step and target sensitivity, in order of the step; defined figures only."""


def psychometric(summary: Summary) -> Figure:
    """Target sensitivity against quality step."""
    look = looks(summary)
    panels: list[Panel] = []
    omitted: list[str] = []
    for judge in summary.measured:
        curves = {
            protocol: _curve(summary, judge.name, protocol) for protocol in judge.protocols or {"base": ""}
        }
        if any(curves.values()):
            spec = _spec(summary, _own(curves, look[judge.name]))
            panels.append(Panel(draw(spec, width=WIDTH, height=HEIGHT), judge.name))
        else:
            omitted.append(why_not(judge.name, [("target sensitivity", _any(summary, judge.name))]))
    if summary.baselines:
        spec = _spec(summary, _baseline_names(summary))
        panels.append(Panel(draw(spec, width=WIDTH, height=HEIGHT), "Baselines"))
    steps = _steps(summary)
    rows = tuple(_row(summary, judge, protocol, steps) for judge, protocol in _arms(summary))
    return Figure(
        id="psychometric",
        title="Psychometric curves",
        caption="How often the better text is chosen, by quality difference. The line at 0.75 defines the threshold; "
        "bars are 95 % intervals; thin grey lines are the baselines.",
        panels=tuple(panels),
        label="Target sensitivity by quality step. "
        + "; ".join(f"{row[0]}: {', '.join(row[1:-1])}" for row in rows),
        header=("judge", *(f"Δ{numbers.steps(step)}" for step in steps), "75 % threshold"),
        rows=rows,
        omitted=tuple(omitted),
        wide=True,
    )


def _arms(summary: Summary) -> list[tuple[JudgeEntry, str]]:
    arms = [
        (judge, protocol) for judge in everyone(summary) for protocol in (judge.protocols or {"base": ""})
    ]
    return [arm for arm in arms if arm[1] == "base" or _curve(summary, arm[0].name, arm[1])]


def _row(summary: Summary, judge: JudgeEntry, protocol: str, steps: Sequence[float]) -> tuple[str, ...]:
    find = summary.datasheet.find
    name = judge.name if protocol == "base" else f"{judge.name}, {protocol}"
    cells = [
        find(judge.name, "target_sensitivity", "ladder", protocol=protocol, delta=step) for step in steps
    ]
    return (
        name,
        *(cell(one) for one in cells),
        cell(find(judge.name, "delta75", "ladder", protocol=protocol)),
    )


def _steps(summary: Summary) -> list[float]:
    found = {
        float(estimate.group["delta"])
        for judge in everyone(summary)
        for estimate in summary.datasheet.of(judge.name, "target_sensitivity", "ladder")
        if "delta" in estimate.group
    }
    return sorted(found)


def _any(summary: Summary, judge: str) -> Estimate | None:
    return next(summary.datasheet.of(judge, "target_sensitivity", "ladder"), None)


def _curve(summary: Summary, judge: str, protocol: str) -> Curve:
    found = [
        (float(estimate.group["delta"]), estimate)
        for estimate in summary.datasheet.of(judge, "target_sensitivity", "ladder")
        if set(estimate.group) == {"protocol", "delta"} and estimate.group["protocol"] == protocol
    ]
    return sorted((one for one in found if one[1].value is not None), key=lambda one: one[0])


def _spec(summary: Summary, front: list[Spec]) -> Spec:
    steps = _steps(summary) or [1.0]
    # The last half step is room for the names at the end of the curves.
    x = {"field": "x", "type": "quantitative", "scale": {"domain": [steps[0] - 0.25, steps[-1] + 0.9], "nice": False},
         "axis": {"title": "quality steps apart", "values": steps, "format": "~f", "grid": False}}  # fmt: skip
    y = {"field": "y", "type": "quantitative", "scale": {"domain": [0, 1], "nice": False},
         "axis": {"title": None, "values": [0, 0.25, 0.5, 0.75, 1], "format": ".2~f"}}  # fmt: skip
    back = [_line(_curve(summary, judge.name, "base"), "muted", 0.8, []) for judge in summary.baselines]
    line75 = {
        "data": {"values": [{"y": 0.75}]},
        "mark": {"type": "rule", "color": colour("accent"), "strokeWidth": 1.2},
    }
    layers = [*back, line75, *front]
    for layer in layers:
        layer["encoding"] = {**layer.get("encoding", {}), "y": y} | ({"x": x} if layer is not line75 else {})
    return {"layer": layers}


def _own(curves: dict[str, Curve], look: Look) -> list[Spec]:
    layers: list[Spec] = []
    ends = [(protocol, curve) for protocol, curve in curves.items() if curve]
    for number, (_, curve) in enumerate(ends):
        layers += _arm(curve, look, number)
    if len(ends) > 1:
        layers += _end_names([(protocol, _label_point(curve)) for protocol, curve in ends], look.role)
    return layers


def _label_point(curve: Curve) -> tuple[float, float]:
    step, estimate = curve[0]
    return step, estimate.value or 0.0


def _arm(curve: Curve, look: Look, number: int) -> list[Spec]:
    role = colour(look.role)
    shift = 0.09 * number
    bars = [{"x": step + shift, "y": limits(e)[0], "y2": limits(e)[1]} for step, e in curve]
    dots = [{"x": step + shift, "y": e.value} for step, e in curve]
    hollow = number > 0
    return [
        _line(curve, look.role, 2.0, [5, 3] if hollow else [], shift),
        {"data": {"values": bars}, "mark": {"type": "rule", "color": role, "strokeWidth": 1.2, "opacity": 0.6},
         "encoding": {"y2": {"field": "y2"}}},
        {"data": {"values": dots},
         "mark": {"type": "point", "shape": look.shape, "size": 55, "opacity": 1, "strokeWidth": 1.5,
                  "fill": colour("paper") if hollow else role, "stroke": role}},
    ]  # fmt: skip


def _line(curve: Curve, role: str, width: float, dash: list[int], shift: float = 0.0) -> Spec:
    values = [{"x": step + shift, "y": estimate.value} for step, estimate in curve]
    mark = {"type": "line", "color": colour(role), "strokeWidth": width, "strokeDash": dash}
    return {"data": {"values": values}, "mark": mark}


def _end_names(named: list[tuple[str, tuple[float, float]]], role: str) -> list[Spec]:
    """Names written below the first point of each curve, moved apart."""
    heights = spread([(1 - y) * HEIGHT + 16 for _, (_, y) in named], low=10, high=HEIGHT - 6)
    values = [
        {"x": x + 0.12, "y": 1 - height / HEIGHT, "text": name}
        for (name, (x, _)), height in zip(named, heights, strict=True)
    ]
    return [_names(values, role, bold=True)]


def _baseline_names(summary: Summary) -> list[Spec]:
    """Names at the end of each grey curve."""
    curves = [(judge.name, _curve(summary, judge.name, "base")) for judge in summary.baselines]
    ends = [(name, curve[-1][0], curve[-1][1].value or 0.0) for name, curve in curves if curve]
    heights = spread([(1 - y) * HEIGHT for _, _, y in ends], low=4, high=HEIGHT - 4)
    values = [
        {"x": x + 0.1, "y": 1 - height / HEIGHT, "text": short(name)}
        for (name, x, _), height in zip(ends, heights, strict=True)
    ]
    return [_names(values, "muted", bold=False)]


def _names(values: list[dict[str, object]], role: str, *, bold: bool) -> Spec:
    return {
        "data": {"values": values},
        "mark": {"type": "text", "align": "left", "baseline": "middle", "color": colour(role), "fontSize": 12,
                 "fontWeight": 600 if bold else "normal"},
        "encoding": {"text": {"field": "text", "type": "nominal"}},
    }  # fmt: skip
