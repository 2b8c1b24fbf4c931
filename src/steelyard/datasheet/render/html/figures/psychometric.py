"""Figure: psychometric curves, one panel per judge, with the baselines behind each."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from steelyard.datasheet.judge_entry import JudgeEntry
from steelyard.datasheet.render.html.drawing.chart import TEXT, colour, draw, layer, mark, rate_axis
from steelyard.datasheet.render.html.drawing.figure import (
    Figure,
    Look,
    Panel,
    arm_name,
    cell,
    everyone,
    limits,
    looks,
    of_pairs,
    protocols,
    spoken,
    why_not,
)
from steelyard.datasheet.render.html.drawing.labels import spread
from steelyard.datasheet.render.html.drawing.spec import Spec
from steelyard.datasheet.sections.summary import Summary
from steelyard.datasheet.words import numbers
from steelyard.metrics.estimate import Estimate
from steelyard.metrics.pairs.sensitivity import TARGET_SENSITIVITY
from steelyard.metrics.pairs.threshold import DELTA75

WIDTH, HEIGHT = 250, 190
TITLE = "Psychometric curves"
CAPTION = (
    "How often the better text is chosen, by quality difference. The line at 0.75 defines the threshold; "
    "bars are 95 % intervals. Thin grey lines are the baselines; dashed lines are another protocol."
)


@dataclass(frozen=True)
class Curve:
    """Target sensitivity by quality step under one protocol; defined figures only."""

    name: str
    """Judge for a baseline, protocol for a measured judge."""
    steps: tuple[tuple[float, Estimate], ...]
    """Quality step and figure, in order of the step."""

    @property
    def rows(self) -> list[dict[str, float]]:
        """Points with the ends of their intervals."""
        return [
            {"x": step, "y": estimate.value or 0.0, "low": limits(estimate)[0], "high": limits(estimate)[1]}
            for step, estimate in self.steps
        ]


@of_pairs
def psychometric(summary: Summary) -> Figure:
    """Target sensitivity against quality step."""
    steps = _steps(summary)
    header = ("judge", *(f"Δ{numbers.steps(step)}" for step in steps), DELTA75.name)
    rows = tuple(row for judge in everyone(summary) for row in _rows(summary, judge, steps))
    drawn = [(judge, _curves(summary, judge)) for judge in summary.measured]
    panels = [_judge_panel(summary, judge, curves, header) for judge, curves in drawn if curves]
    if panels and summary.baselines:
        panels.append(_baseline_panel(summary, header))
    omitted = [why_not(judge.name, [_first(summary, judge)]) for judge, curves in drawn if not curves]
    return Figure(TITLE, CAPTION, tuple(panels), header, rows, omitted=tuple(omitted), wide=True)


def _judge_panel(
    summary: Summary, judge: JudgeEntry, curves: Sequence[Curve], header: tuple[str, ...]
) -> Panel:
    look = looks(summary)[judge.name]
    front = [spec for number, curve in enumerate(curves) for spec in _drawn(curve, look, number)]
    names = [_start_names(curves, look)] if len(curves) > 1 else []
    label = spoken(header, _rows(summary, judge, _steps(summary)))
    layers = _on_axes(summary, [*front, *names])
    title = f"{TITLE}: {judge.name}"
    return Panel(draw(layers, width=WIDTH, height=HEIGHT, title=title, label=label), judge.name)


def _baseline_panel(summary: Summary, header: tuple[str, ...]) -> Panel:
    steps = _steps(summary)
    label = spoken(header, (row for judge in summary.baselines for row in _rows(summary, judge, steps)))
    layers = _on_axes(summary, [_end_names(_baseline_curves(summary))])
    title = f"{TITLE}: baselines"
    return Panel(draw(layers, width=WIDTH, height=HEIGHT, title=title, label=label), "Baselines")


def _rows(summary: Summary, judge: JudgeEntry, steps: Sequence[float]) -> Iterator[tuple[str, ...]]:
    find = summary.datasheet.find
    for protocol in protocols(judge):
        seen = [find(judge.name, TARGET_SENSITIVITY.id, "ladder", protocol=protocol, delta=s) for s in steps]
        if protocol == "base" or any(estimate is not None for estimate in seen):
            threshold = find(judge.name, DELTA75.id, "ladder", protocol=protocol)
            yield (
                arm_name(judge, protocol),
                *(cell(summary, estimate) for estimate in seen),
                cell(summary, threshold),
            )


def _steps(summary: Summary) -> list[float]:
    groups = [
        estimate.group
        for judge in everyone(summary)
        for estimate in summary.datasheet.of(judge.name, TARGET_SENSITIVITY.id, "ladder")
    ]
    return sorted({float(group["delta"]) for group in groups if "delta" in group})


def _first(summary: Summary, judge: JudgeEntry) -> tuple[str, Estimate | None]:
    seen = summary.datasheet.of(judge.name, TARGET_SENSITIVITY.id, "ladder")
    return TARGET_SENSITIVITY.name, seen[0] if seen else None


def _curves(summary: Summary, judge: JudgeEntry) -> list[Curve]:
    curves = [_curve(summary, judge.name, protocol, protocol) for protocol in protocols(judge)]
    return [curve for curve in curves if curve.steps]


def _baseline_curves(summary: Summary) -> list[Curve]:
    look = looks(summary)
    curves = [_curve(summary, j.name, "base", look[j.name].label) for j in summary.baselines]
    return [curve for curve in curves if curve.steps]


def _curve(summary: Summary, judge: str, protocol: str, name: str) -> Curve:
    steps = [
        (float(estimate.group["delta"]), estimate)
        for estimate in summary.datasheet.of(judge, TARGET_SENSITIVITY.id, "ladder")
        if set(estimate.group) == {"protocol", "delta"} and estimate.group["protocol"] == protocol
    ]
    kept = [pair for pair in steps if numbers.defined(pair[1])]
    return Curve(name, tuple(sorted(kept, key=lambda pair: pair[0])))


def _on_axes(summary: Summary, front: Sequence[Spec]) -> list[Spec]:
    """The layers over the baselines and the 75 % line, on axes that leave room for names on both sides."""
    steps = _steps(summary)
    low, high = steps[0] - 0.25, steps[-1] + 0.25 * (steps[-1] - steps[0] + 1)
    room = _room(summary)
    axis = {"title": "quality steps apart", "values": steps, "format": ".2~f", "grid": False}
    scale = {"domain": [low - (high - low) * room / (1 - room), high], "nice": False}
    x: Spec = {"field": "x", "type": "quantitative", "scale": scale, "axis": axis}
    y = rate_axis("y", None)
    grey = mark("line", color=colour("muted"), strokeWidth=0.8)
    back = [layer(curve.rows, grey) for curve in _baseline_curves(summary)]
    line = layer([{"y": 0.75}], mark("rule", color=colour("accent"), strokeWidth=1.2), y=y)
    placed = [{**spec, "encoding": {"x": x, "y": y, **spec["encoding"]}} for spec in [*back, *front]]
    return [line, *placed]


def _room(summary: Summary) -> float:
    """Share of the width that names of protocols take on the left; the same in every panel."""
    curves = [_curves(summary, judge) for judge in summary.measured]
    names = [curve.name for several in curves if len(several) > 1 for curve in several]
    return min(0.45, (7 * max(map(len, names)) + 6) / WIDTH) if names else 0.0


def _drawn(curve: Curve, look: Look, number: int) -> list[Spec]:
    """A curve with intervals and marks; later ones are hollow, dashed and a little to the right."""
    role = colour(look.role)
    rows = [{**row, "x": row["x"] + 0.09 * number} for row in curve.rows]
    dash, fill = ([5, 3], colour("paper")) if number else ([], role)
    bars = [{**row, "y": row["low"]} for row in rows]
    dots = mark("point", shape=look.shape, size=55, strokeWidth=1.5, fill=fill, stroke=role, opacity=1)
    return [
        layer(rows, mark("line", color=role, strokeWidth=2, strokeDash=dash)),
        layer(bars, mark("rule", color=role, strokeWidth=1.2, opacity=0.6), y2={"field": "high"}),
        layer(rows, dots),
    ]


def _start_names(curves: Sequence[Curve], look: Look) -> Spec:
    """Names to the left of the first point of each curve, moved apart."""
    starts = [curve.rows[0] for curve in curves]
    heights = spread([(1 - row["y"]) * HEIGHT for row in starts], low=6, high=HEIGHT - 8)
    rows = [
        {"x": row["x"] - 0.15, "y": 1 - height / HEIGHT, "text": curve.name}
        for curve, row, height in zip(curves, starts, heights, strict=True)
    ]
    return layer(rows, mark("text", align="right", color=colour(look.role), fontWeight=600), text=TEXT)


def _end_names(curves: Sequence[Curve]) -> Spec:
    """Names beside the last point of each curve, moved apart."""
    ends = [curve.rows[-1] for curve in curves]
    heights = spread([(1 - row["y"]) * HEIGHT for row in ends], low=4, high=HEIGHT - 9)
    rows = [
        {"x": row["x"] + 0.1, "y": 1 - height / HEIGHT, "text": curve.name}
        for curve, row, height in zip(curves, ends, heights, strict=True)
    ]
    return layer(rows, mark("text", align="left", color=colour("muted"), fontSize=12), text=TEXT)
