"""Reliability curves: how often a judge is right by how sure it is, one panel per judge."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial

from steelyard.datasheet.render.html.drawing import svg
from steelyard.datasheet.render.html.drawing.axis import QUARTERS, Axis, Scale, draw
from steelyard.datasheet.render.html.drawing.chart import (
    Chart,
    Panel,
    SeriesStyle,
    aria_label,
    data_cell,
    interval_ends,
    series_styles,
)
from steelyard.datasheet.sections.rows import Text
from steelyard.datasheet.sections.summary import Summary
from steelyard.datasheet.words import numbers
from steelyard.metrics.estimate import Estimate
from steelyard.metrics.run.confidence import PROBE, RIGHT_AT
from steelyard.verdicts.readers import TOKEN

WIDTH, HEIGHT = 250, 190
TITLE = "Reliability curves"
CAPTION = (
    "How often answers are right, by how sure the judge is, in bins of about equal size. On the diagonal its "
    "confidence is a chance of being right; below it the judge is surer than it is right. The bars of one "
    "curve hold together with 95 %. Hollow marks are probabilities of the answer's token."
)
HEADER = ("judge", "bin", "mean confidence", RIGHT_AT.label)


def reliability(summary: Summary) -> Chart | None:
    panels, rows = [], []
    styles = series_styles(summary)
    for judge in summary.measured:
        for signal in (None, TOKEN):
            curve = _curve(summary, judge.name, signal)
            if curve:
                told = [_row(summary, judge.name, each) for each in curve]
                panels.append(_panel(curve, judge.name, styles[judge.name], told, hollow=signal is not None))
                rows += told
    return Chart(TITLE, CAPTION, tuple(panels), HEADER, tuple(rows), wide=True) if panels else None


def _curve(summary: Summary, judge: str, signal: str | None) -> list[Estimate]:
    found = summary.datasheet.of(judge, RIGHT_AT.id, PROBE)
    return [each for each in found if each.group.get("signal") == signal and numbers.defined(each)]


def _stated(estimate: Estimate) -> float:
    return float(estimate.details["confidence"])


def _row(summary: Summary, judge: str, estimate: Estimate) -> tuple[Text, ...]:
    stated = numbers.decimal(_stated(estimate))
    return judge, f"{estimate.group['bin']:g}", stated, data_cell(summary, estimate)


def _panel(
    curve: Sequence[Estimate],
    judge: str,
    style: SeriesStyle,
    rows: Sequence[tuple[Text, ...]],
    *,
    hollow: bool,
) -> Panel:
    x, y = Scale(0, 1, WIDTH), Scale(0, 1, HEIGHT, upward=True)
    points = [(x(_stated(each)), y(each.value or 0.0)) for each in curve]
    drawn = [svg.draw_line([(x(0), y(0)), (x(1), y(1))], role="muted", width=1.2, dash=(4, 3))]
    for (at, _), each in zip(points, curve, strict=True):
        low, high = map(y, interval_ends(each))
        drawn.append(svg.error_bar((at, low), (at, high), style.role))
    if len(points) > 1:
        drawn.append(svg.draw_line(points, role=style.role, width=2))
    marker = partial(svg.draw_marker, style.shape, role=style.role, size=55, edge=1.5, outline=style.role)
    drawn += [marker(at=each, hollow=hollow) for each in points]
    drawing = draw(
        drawn,
        width=WIDTH,
        height=HEIGHT,
        title=f"{TITLE}: {judge}",
        label=aria_label(HEADER, rows),
        x=Axis(x, "confidence", QUARTERS),
        y=Axis(y, "right", QUARTERS),
    )
    return Panel(drawing, judge)
