"""The dot-and-interval plot (forest plot): one row per name with marker, error bar and reference line.

All charts that draw one value with its interval per row use it; `interval_bar` is the same for a table cell.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from math import isfinite
from textwrap import wrap

from markupsafe import Markup

from steelyard.datasheet import numbers
from steelyard.datasheet.glossary import metric_named
from steelyard.datasheet.render.html.drawing import svg
from steelyard.datasheet.render.html.drawing.axis import Axis, NameScale, Scale, draw
from steelyard.datasheet.render.html.drawing.chart import interval_ends, marking
from steelyard.datasheet.sections.first_screen import Row
from steelyard.metrics.estimate import Estimate

FIFTHS = (0, 0.2, 0.4, 0.6, 0.8, 1)
PHONE, LETTERS, LINE = 300, 42, 16
"""Of a narrow plot: its pixels, letters of a line above an interval, and the height of the line."""
OVER, UNDER = 10, 18
"""Pixels of such a row over its interval and under it."""


@dataclass(frozen=True)
class IntervalRow:
    """One row of the plot."""

    name: str
    value: float | None
    """Place of the marker; None for a bound, which has no marker."""
    interval: tuple[float | None, float | None] | None
    """Ends of the error bar, None for an open end; None for no error bar."""
    role: str
    shape: str = "circle"
    hollow: bool = False
    inner: tuple[float, float] | None = None
    """Ends of a narrower interval, drawn thick."""
    text: str = ""
    """What stands at the right of the row."""
    estimate: Estimate | None = None
    """The figure that the marker stands for, where it is one of a datasheet."""


def interval_row(
    estimate: Estimate, name: str, role: str, *, shape: str = "circle", hollow: bool = False
) -> IntervalRow:
    """The row of a defined estimate."""
    ends = None if estimate.interval is None else (estimate.interval.low, estimate.interval.high)
    value = estimate.value if estimate.censored is None else None
    return IntervalRow(name, value, ends, role, shape, hollow, estimate=estimate)


def forest_plot(
    rows: Sequence[IntervalRow],
    *,
    title: str,
    label: str = "",
    names: Sequence[str] | None = None,
    axis_title: str | None = None,
    domain: tuple[float, float] = (0, 1),
    ticks: Sequence[float] | None = FIFTHS,
    signed: bool = False,
    reference: float | None = None,
    zero_line: bool = False,
    margin: float | None = None,
    width: int = 260,
    row_height: int = 26,
    limit: int = 160,
    sides: tuple[str, str] | None = None,
    narrow: bool = False,
) -> str:
    """The rows as SVG; `names` keeps a place for each name, `reference` is a dashed line, `margin` a band.

    `sides` says above the plot what lies to the left and to the right of zero. A `narrow` plot is for phones:
    it has a width of its own, and names and texts stand above the intervals.

    Without a `label` screen readers are told the values and intervals of the rows.
    """
    lines = tuple(dict.fromkeys(row.name for row in rows) if names is None else names)
    above = {name: _lines_above(name, rows) for name in lines} if narrow else {}
    if narrow:
        width, row_height = PHONE, LINE * max(map(len, above.values()), default=0) + OVER + UNDER
    drop = row_height / 2 - UNDER if narrow else 0.0
    height = row_height * len(lines)
    x, y = Scale(*domain, width), NameScale(lines, height)
    drawn: list[svg.SvgElement] = []
    if margin is not None:
        drawn.append(svg.draw_rect(svg.Box(x(-margin), 0, x(margin), height), role="accent", opacity=0.12))
    if zero_line:
        drawn.append(svg.draw_line([(x(0), 0), (x(0), height)], role="muted", width=1.2))
    if reference is not None:
        ends = [(x(reference), 0.0), (x(reference), float(height))]
        drawn.append(svg.draw_line(ends, role="muted", width=1.2, dash=(4, 3)))
    for row in rows:
        drawn += _row(row, x, y(row.name) + drop)
        if row.text and not narrow:
            drawn.append(svg.draw_text(row.text, (x.length + 14, y(row.name)), size=12, align="left"))
    for name, heads in above.items():
        for number, (text, weight) in enumerate(heads):
            place = (0.0, y(name) + drop - OVER - LINE * (len(heads) - number - 0.5))
            drawn.append(svg.draw_text(text, place, size=12, align="left", weight=weight))
    if sides is not None:
        outer = (((0.0, -8.0 - LINE), "left"), ((x.length, -8.0), "right"))
        inner = (((x(0) - 8, -8.0), "right"), ((x(0) + 8, -8.0), "left"))
        texts = (f"◀ {sides[0]}", f"{sides[1]} ▶")
        for text, (place, align) in zip(texts, outer if narrow else inner, strict=True):
            drawn.append(svg.draw_text(text, place, size=12, align=align, baseline="bottom", weight=600))
    return draw(
        drawn,
        width=width,
        height=height,
        title=title,
        label=label or _describe(rows, axis_title or ""),
        x=Axis(x, axis_title, ticks, signed=signed),
        y=None if narrow else Axis(y, limit=limit),
    )


def _lines_above(name: str, rows: Sequence[IntervalRow]) -> list[tuple[str, int]]:
    """What stands above the intervals of a name, each line with its weight."""
    texts = [(name, 600), *((row.text, 400) for row in rows if row.name == name)]
    return [(line, weight) for text, weight in texts for line in wrap(text, LETTERS)]


def _row(row: IntervalRow, x: Scale, y: float) -> list[svg.SvgElement]:
    drawn: list[svg.SvgElement] = []
    for ends, width in ((row.interval, 1.8), (row.inner, 5)):
        if ends is not None:
            low, high = (_clip(x, edge, end) for edge, end in zip((x.low, x.high), ends, strict=True))
            drawn.append(svg.draw_line([(low, y), (high, y)], role=row.role, width=width, round_ends=True))
    edges = ((x.low, "triangle-left"), (x.high, "triangle-right"))
    for end, (edge, shape) in zip(row.interval or (), edges, strict=False):
        if end is None:
            drawn.append(svg.draw_marker(shape, (x(edge), y), role=row.role, size=70, outline=row.role))
    if row.value is not None:
        place = (x(row.value), y)
        marker = svg.draw_marker(
            row.shape, place, role=row.role, size=70, hollow=row.hollow, edge=1.8, outline=row.role
        )
        drawn.append(marking(marker, row.estimate))
    return drawn


def _clip(x: Scale, edge: float, end: float | None) -> float:
    """The pixel of an end within the plot; an open end lies at its edge."""
    return x(edge if end is None else min(x.high, max(x.low, end)))


def _describe(rows: Sequence[IntervalRow], quantity: str) -> str:
    lines = []
    for row in rows:
        value = "" if row.value is None else numbers.decimal(row.value)
        ends = ["open" if end is None else numbers.decimal(end) for end in row.interval or ()]
        parts = (quantity, value, f"[{', '.join(ends)}]" if ends else "")
        lines.append(f"{row.name}: " + " ".join(part for part in parts if part))
    return "; ".join(lines) + "."


def interval_bar(estimate: Estimate, word: str = "") -> Markup:
    """A track from 0 to 1 with interval, point and limit for a table cell, in the colour of the status word.

    Empty for a figure that is no rate.
    """
    at, metric = estimate.value, metric_named(estimate.metric)
    if at is None or estimate.numerator is None or metric.signed or not 0 <= at <= 1:
        return Markup("")
    low, high = (min(1.0, max(0.0, end)) for end in interval_ends(estimate))
    limit, edge = metric.limit_in(estimate.group, estimate.probe), Markup("")
    if limit is not None and word and 0 <= limit.value <= 1:
        edge = Markup('<path class="limit" d="M{:.1f} 0V8"/>').format(100 * limit.value)
    return Markup(
        '<svg class="bar {}" viewBox="-3 0 106 8" aria-hidden="true" focusable="false">'
        '<path class="track" d="M0 4H100"/><path class="span" d="M{:.1f} 4H{:.1f}"/>{}'
        '<circle cx="{:.1f}" cy="4" r="3"/></svg>'
    ).format(word, 100 * low, 100 * high, edge, 100 * at)


def limit_scale(figure: Row, width: int = 190) -> Markup:
    """Interval and value of a key figure on its scale; the allowed part is shaded, the limit dashed."""
    value, allowed = figure.estimate.value, figure.allowed
    if value is None:
        return Markup("")
    x = Scale(*figure.domain, width)
    interval = figure.estimate.interval
    ends = (value, value) if interval is None else (interval.low, interval.high)
    low, high = (_clip(x, edge, end) for edge, end in zip((x.low, x.high), ends, strict=True))
    start, stop = (x(min(x.high, max(x.low, end))) for end in allowed)
    stop = stop if any(map(isfinite, allowed)) else start
    edges = [x(end) for end in allowed if isfinite(end)]
    dashes = Markup("").join(Markup('<path class="limit" d="M{:.1f} 0V22"/>').format(edge) for edge in edges)
    label = f"{numbers.value(figure.estimate)} {figure.interval}, {figure.limit}: {figure.word}"
    return Markup(
        '<svg class="scale {}" viewBox="-6 0 {} 22" width="{}" height="22" role="img" aria-label="{}">'
        '<rect class="allowed" x="{:.1f}" y="3" width="{:.1f}" height="16"/>{}'
        '<path class="track" d="M0 11H{}"/><path class="span" d="M{:.1f} 11H{:.1f}"/>'
        '<circle cx="{:.1f}" cy="11" r="4.5"/></svg>'
    ).format(
        figure.estimate.status or "", width + 12, width + 12, label, start, stop - start, dashes, width,
        low, high, x(value),
    )  # fmt: skip
