"""One figure over runs: value and interval of each, what is allowed, changes that are shown, certificates."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from itertools import pairwise
from math import isfinite

import numpy as np

from steelyard.core.arrays import Floats
from steelyard.datasheet import numbers
from steelyard.datasheet.render.html.drawing import svg
from steelyard.datasheet.render.html.drawing.axis import Axis, Scale, draw
from steelyard.datasheet.render.html.drawing.chart import Chart, LegendEntry, Panel, aria_label
from steelyard.datasheet.render.html.drawing.scatter import draw_labels, line_boxes
from steelyard.metrics.stats.intervals import Span

REFERENCE, SAME, CHANGED, UNPAIRED = "reference", "no change shown", "changed", "not compared"
MARKS = {
    REFERENCE: ("ink", "square", "■"),
    SAME: ("series-1", "circle", "●"),
    CHANGED: ("bad", "diamond", "◆"),
    UNPAIRED: ("muted", "circle", "○"),
}
"""State to colour, shape of the marker and sign in the legend."""
WIDTH, HEIGHT, LEAST_GAP, EDGE = 270, 150, 18, 12
"""Pixels of the plot, between two runs at least, and beside the first and the last."""


@dataclass(frozen=True)
class TrendPoint:
    run: str
    at: datetime | None
    state: str
    value: float | None
    interval: tuple[float | None, float | None]
    text: str
    """Value, interval and state as the table has them."""


@dataclass(frozen=True)
class TrendEvent:
    """A date that is drawn as a line."""

    at: datetime
    text: str


def trend_chart(
    title: str,
    points: Sequence[TrendPoint],
    *,
    limit: str,
    domain: Span,
    allowed: Span,
    signed: bool = False,
    events: Sequence[TrendEvent] = (),
) -> Chart:
    """The figure over the runs, oldest first; time runs to the right, and runs keep a distance."""
    places = _places(points)
    y, (low, high) = Scale(*domain, HEIGHT, upward=True), domain
    drawn = _allowed(y, allowed)
    dates = _events(points, places, events)
    drawn += dates
    known = [(x, point) for x, point in zip(places, points, strict=True) if point.value is not None]
    line = [(x, y(_clip(y, point.value or 0.0))) for x, point in known]
    if len(known) > 1:
        drawn.append(svg.draw_line(line, role="muted", width=1.2))
    marks = [element for x, point in known for element in _mark(x, y, point)]
    drawn += marks
    first = [at for at, (_, point) in zip(line, known, strict=True) if point.state == CHANGED][:1]
    taken = [box for ends in pairwise(line) for box in line_boxes(*ends)]
    taken += [element.box for element in (*marks, *dates)]
    drawn += draw_labels([(*at, CHANGED) for at in first], [("bad", True)] * len(first), WIDTH, HEIGHT, taken)
    header = ("run", "date", "value and interval", "change")
    rows = tuple((p.run, "" if p.at is None else f"{p.at:%Y-%m-%d}", p.text, p.state) for p in points)
    axis = Axis(Scale(0, WIDTH, WIDTH), None, places, _dates(points), grid=False)
    picture = draw(
        drawn,
        width=WIDTH,
        height=HEIGHT,
        title=f"{title} over {len(points)} runs",
        label=aria_label(header, rows),
        x=axis,
        y=Axis(y, None, [low, (low + high) / 2, high], signed=signed),
    )
    used = dict.fromkeys(point.state for _, point in known)
    legend = tuple(LegendEntry(MARKS[each][0], each, MARKS[each][2]) for each in MARKS if each in used)
    return Chart(title, f"Allowed: {limit}." if limit else "", (Panel(picture),), header, rows, legend)


def _places(points: Sequence[TrendPoint]) -> list[float]:
    """Pixels of the runs: by time, and no two nearer than a marker needs."""
    room, count = WIDTH - 2 * EDGE, len(points)
    if count < 2:
        return [WIDTH / 2] * count
    least = min(LEAST_GAP, room / (count - 1))
    gaps = np.diff(_seconds(points))
    free = room - least * (count - 1)
    total = float(gaps.sum())
    shares = gaps / total if total > 0 else np.full(count - 1, 1 / (count - 1))
    steps: list[float] = (least + free * shares).tolist()
    return [EDGE + sum(steps[:number]) for number in range(count)]


def _seconds(points: Sequence[TrendPoint]) -> Floats:
    """Times of the runs; one without a date counts as the run before it."""
    known: list[float] = []
    for point in points:
        known.append(point.at.timestamp() if point.at is not None else known[-1] if known else 0.0)
    return np.maximum.accumulate(np.array(known))


def _allowed(y: Scale, allowed: Span) -> list[svg.SvgElement]:
    if not any(map(isfinite, allowed)):
        return []
    bottom, top = (y(_clip(y, end)) for end in allowed)
    band = svg.draw_rect(svg.Box(0, top, WIDTH, bottom), role="good", opacity=0.14)
    lines = [y(end) for end in allowed if isfinite(end) and y.low <= end <= y.high]
    return [band, *(svg.draw_line([(0, at), (WIDTH, at)], role="good", dash=(4, 3)) for at in lines)]


def _events(
    points: Sequence[TrendPoint], places: Sequence[float], events: Sequence[TrendEvent]
) -> list[svg.SvgElement]:
    """Dates within the runs, each with its words above the plot; words that would touch go up a line."""
    drawn: list[svg.SvgElement] = []
    taken: list[svg.Box] = []
    times = _seconds(points)
    for event in sorted(events, key=lambda event: event.at):
        x = float(np.interp(event.at.timestamp(), times, places))
        align = "left" if x < WIDTH / 3 else "right" if x > 2 * WIDTH / 3 else "center"
        for row in range(3):
            words = svg.draw_text(
                event.text, (x, -6 - 15 * row), role="muted", size=12, align=align, baseline="bottom"
            )
            if not any(words.box.overlap(other) for other in taken):
                break
        taken.append(words.box)
        drawn += [svg.draw_line([(x, -4), (x, HEIGHT)], role="muted", dash=(2, 3)), words]
    return drawn


def _mark(x: float, y: Scale, point: TrendPoint) -> list[svg.SvgElement]:
    role, shape, _ = MARKS[point.state]
    low, high = (
        y(_clip(y, edge if end is None else end))
        for end, edge in zip(point.interval, (y.low, y.high), strict=True)
    )
    at = y(_clip(y, point.value or 0.0))
    return [
        svg.error_bar((x, low), (x, high), role),
        svg.draw_marker(shape, (x, at), role=role, hollow=point.state == UNPAIRED, size=80, edge=1.6),
    ]


def _clip(y: Scale, value: float) -> float:
    return min(y.high, max(y.low, value))


def _dates(points: Sequence[TrendPoint]) -> list[str]:
    """Days of the runs, or hours where all are of one day; each once."""
    known = [point.at for point in points if point.at is not None]
    within = len({at.date() for at in known}) < 2
    named = [f"{at:%H:%M}" if within else f"{at.day} {at:%b}" for at in known]
    news = iter(["" if text == before else text for before, text in pairwise(["", *named])])
    return ["" if point.at is None else next(news) for point in points]


def interval_text(value: str, interval: str, state: str) -> str:
    return " ".join(part for part in (value, interval, state) if part) or numbers.NOT_MEASURED
