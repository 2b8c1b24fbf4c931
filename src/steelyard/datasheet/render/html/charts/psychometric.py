"""Psychometric curves, one panel per judge, with the baselines behind each."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from steelyard.datasheet.judge_entry import JudgeEntry
from steelyard.datasheet.render.html.drawing.axis import Axis, Scale, draw, rate_axis
from steelyard.datasheet.render.html.drawing.chart import (
    Chart,
    Panel,
    SeriesStyle,
    all_judges,
    aria_label,
    data_cell,
    interval_ends,
    omission_note,
    pairs_only,
    protocol_name,
    protocols,
    series_styles,
)
from steelyard.datasheet.render.html.drawing.labels import spread_labels
from steelyard.datasheet.render.html.drawing.svg import (
    PixelPoint,
    SvgElement,
    draw_line,
    draw_marker,
    draw_text,
    error_bar,
)
from steelyard.datasheet.sections.rows import Text
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
class PsychometricCurve:
    """Target sensitivity by quality step under one protocol; defined figures only."""

    name: str
    """Judge for a baseline, protocol for a measured judge."""
    steps: tuple[tuple[float, Estimate], ...]

    def points(self, axes: tuple[Axis, Axis], shift: float = 0.0) -> list[PixelPoint]:
        """Pixels of the values, moved to the right by so many steps."""
        x, y = _scales(axes)
        return [(x(step + shift), y(estimate.value or 0.0)) for step, estimate in self.steps]


@pairs_only
def psychometric(summary: Summary) -> Chart:
    steps = _steps(summary)
    header = ("judge", *(f"Δ{numbers.steps(step)}" for step in steps), DELTA75.name)
    rows = tuple(row for judge in all_judges(summary) for row in _rows(summary, judge, steps))
    curves_of = [(judge, _curves(summary, judge)) for judge in summary.measured]
    panels = [_judge_panel(summary, judge, curves, header) for judge, curves in curves_of if curves]
    if panels and summary.baselines:
        panels.append(_baseline_panel(summary, header))
    omitted = [
        omission_note(judge.name, [_first(summary, judge)]) for judge, curves in curves_of if not curves
    ]
    return Chart(TITLE, CAPTION, tuple(panels), header, rows, omitted=tuple(omitted), wide=True)


def _judge_panel(
    summary: Summary, judge: JudgeEntry, curves: Sequence[PsychometricCurve], header: tuple[str, ...]
) -> Panel:
    style, axes = series_styles(summary)[judge.name], _axes(summary)
    front = [
        part for number, curve in enumerate(curves) for part in _curve_elements(curve, style, number, axes)
    ]
    names = _start_names(curves, style, axes) if len(curves) > 1 else []
    label = aria_label(header, _rows(summary, judge, _steps(summary)))
    return _panel(summary, axes, [*front, *names], judge.name, label, judge.name)


def _baseline_panel(summary: Summary, header: tuple[str, ...]) -> Panel:
    axes, steps = _axes(summary), _steps(summary)
    label = aria_label(header, (row for judge in summary.baselines for row in _rows(summary, judge, steps)))
    return _panel(summary, axes, _end_names(_baseline_curves(summary), axes), "baselines", label, "Baselines")


def _panel(
    summary: Summary,
    axes: tuple[Axis, Axis],
    front: Sequence[SvgElement],
    name: str,
    label: str,
    heading: str,
) -> Panel:
    threshold = _scales(axes)[1](0.75)
    back = [draw_line([(0, threshold), (WIDTH, threshold)], role="accent", width=1.2)]
    back += [draw_line(c.points(axes), role="muted", width=0.8) for c in _baseline_curves(summary)]
    svg = draw(
        [*back, *front],
        width=WIDTH,
        height=HEIGHT,
        title=f"{TITLE}: {name}",
        label=label,
        x=axes[0],
        y=axes[1],
    )
    return Panel(svg, heading)


def _rows(summary: Summary, judge: JudgeEntry, steps: Sequence[float]) -> Iterator[tuple[Text, ...]]:
    find = summary.datasheet.find
    for protocol in protocols(judge):
        seen = [find(judge.name, TARGET_SENSITIVITY.id, "ladder", protocol=protocol, delta=s) for s in steps]
        if protocol == "base" or any(estimate is not None for estimate in seen):
            threshold = find(judge.name, DELTA75.id, "ladder", protocol=protocol)
            yield (
                protocol_name(judge, protocol),
                *(data_cell(summary, estimate) for estimate in seen),
                data_cell(summary, threshold),
            )


def _steps(summary: Summary) -> list[float]:
    groups = [
        estimate.group
        for judge in all_judges(summary)
        for estimate in summary.datasheet.of(judge.name, TARGET_SENSITIVITY.id, "ladder")
    ]
    return sorted({float(group["delta"]) for group in groups if "delta" in group})


def _first(summary: Summary, judge: JudgeEntry) -> tuple[str, Estimate | None]:
    seen = summary.datasheet.of(judge.name, TARGET_SENSITIVITY.id, "ladder")
    return TARGET_SENSITIVITY.name, seen[0] if seen else None


def _curves(summary: Summary, judge: JudgeEntry) -> list[PsychometricCurve]:
    curves = [_curve(summary, judge.name, protocol, protocol) for protocol in protocols(judge)]
    return [curve for curve in curves if curve.steps]


def _baseline_curves(summary: Summary) -> list[PsychometricCurve]:
    styles = series_styles(summary)
    curves = [_curve(summary, j.name, "base", styles[j.name].label) for j in summary.baselines]
    return [curve for curve in curves if curve.steps]


def _curve(summary: Summary, judge: str, protocol: str, name: str) -> PsychometricCurve:
    steps = [
        (float(estimate.group["delta"]), estimate)
        for estimate in summary.datasheet.of(judge, TARGET_SENSITIVITY.id, "ladder")
        if set(estimate.group) == {"protocol", "delta"} and estimate.group["protocol"] == protocol
    ]
    defined = [pair for pair in steps if numbers.defined(pair[1])]
    return PsychometricCurve(name, tuple(sorted(defined, key=lambda pair: pair[0])))


def _axes(summary: Summary) -> tuple[Axis, Axis]:
    """Axes with room for the names of protocols on the left and of baselines on the right."""
    steps = _steps(summary)
    low, high = steps[0] - 0.25, steps[-1] + 0.25 * (steps[-1] - steps[0] + 1)
    room = _name_room(summary)
    scale = Scale(low - (high - low) * room / (1 - room), high, WIDTH)
    return Axis(scale, "quality steps apart", steps, grid=False), rate_axis(None, HEIGHT, upward=True)


def _scales(axes: tuple[Axis, Axis]) -> tuple[Scale, Scale]:
    x, y = (axis.scale for axis in axes)
    assert isinstance(x, Scale)
    assert isinstance(y, Scale)
    return x, y


def _name_room(summary: Summary) -> float:
    """Share of the width that names of protocols take on the left; the same in every panel."""
    curves = [_curves(summary, judge) for judge in summary.measured]
    names = [curve.name for several in curves if len(several) > 1 for curve in several]
    return min(0.45, (7 * max(map(len, names)) + 6) / WIDTH) if names else 0.0


def _curve_elements(
    curve: PsychometricCurve, style: SeriesStyle, number: int, axes: tuple[Axis, Axis]
) -> list[SvgElement]:
    """A curve with error bars and markers; later ones are hollow, dashed and a little to the right."""
    y = _scales(axes)[1]
    points = curve.points(axes, 0.09 * number)
    ends = [map(y, interval_ends(estimate)) for _, estimate in curve.steps]
    return [
        draw_line(points, role=style.role, width=2, dash=(5, 3) if number else ()),
        *(
            error_bar((x, low), (x, high), style.role)
            for (x, _), (low, high) in zip(points, ends, strict=True)
        ),
        *(
            draw_marker(
                style.shape, point, role=style.role, size=55, hollow=number > 0, edge=1.5, outline=style.role
            )
            for point in points
        ),
    ]


def _start_names(
    curves: Sequence[PsychometricCurve], style: SeriesStyle, axes: tuple[Axis, Axis]
) -> list[SvgElement]:
    starts = [curve.points(axes, -0.15)[0] for curve in curves]
    heights = spread_labels([y for _, y in starts], low=6, high=HEIGHT - 8)
    return [
        draw_text(curve.name, (x, height), role=style.role, align="right", weight=600)
        for curve, (x, _), height in zip(curves, starts, heights, strict=True)
    ]


def _end_names(curves: Sequence[PsychometricCurve], axes: tuple[Axis, Axis]) -> list[SvgElement]:
    ends = [curve.points(axes, 0.1)[-1] for curve in curves]
    heights = spread_labels([y for _, y in ends], low=4, high=HEIGHT - 9)
    return [
        draw_text(curve.name, (x, height), role="muted", size=12, align="left")
        for curve, (x, _), height in zip(curves, ends, heights, strict=True)
    ]
