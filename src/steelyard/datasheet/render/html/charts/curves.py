"""Curves, one panel per judge: the better text chosen by quality, and answers right by how sure it is."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property, partial

from steelyard.datasheet import numbers
from steelyard.datasheet.instrument_card import JudgeEntry
from steelyard.datasheet.render.html.drawing import svg
from steelyard.datasheet.render.html.drawing.axis import QUARTERS, Axis, Scale, draw
from steelyard.datasheet.render.html.drawing.chart import (
    Chart,
    Column,
    Panel,
    Series,
    SeriesStyle,
    all_judges,
    aria_label,
    data_cell,
    interval_ends,
    marking,
    omission_note,
    pairs_only,
    series,
    series_styles,
)
from steelyard.datasheet.render.html.drawing.scatter import spread_labels
from steelyard.datasheet.sections.sections import LADDER, Text
from steelyard.datasheet.sections.summary import Summary
from steelyard.metrics.estimate import Estimate
from steelyard.metrics.pairs.ladder import DELTA75, TARGET_SENSITIVITY
from steelyard.metrics.run.confidence import PROBE, RIGHT_AT
from steelyard.verdicts.readers import TOKEN

WIDTH, HEIGHT = 250, 190
TITLE = "Psychometric curves"
CAPTION = (
    "How often the better text is chosen, by quality difference. The line at 0.75 defines the threshold; "
    "bars are 95 % intervals. Thin grey lines are the baselines; dashed lines are another protocol."
)


@pairs_only
def psychometric(summary: Summary) -> Chart:
    return _Curves(summary).chart()


@dataclass(frozen=True)
class _Curves:
    """Target sensitivity by quality step: the last column of the table is the threshold."""

    summary: Summary

    @cached_property
    def steps(self) -> list[float]:
        of, judges = self.summary.datasheet.of, all_judges(self.summary)
        groups = [e.group for judge in judges for e in of(judge.name, TARGET_SENSITIVITY.id, LADDER)]
        return sorted({float(group["delta"]) for group in groups if "delta" in group})

    @cached_property
    def columns(self) -> list[Column]:
        target = TARGET_SENSITIVITY.id
        by_step = [Column(f"Δ{numbers.steps(step)}", target, group={"delta": step}) for step in self.steps]
        return [*by_step, Column(DELTA75.name, DELTA75.id)]

    @property
    def header(self) -> tuple[str, ...]:
        return ("judge", *(column.name for column in self.columns))

    @cached_property
    def series(self) -> list[Series]:
        return series(self.summary, all_judges(self.summary), self.columns, needed=-1)

    def curves(self, judge: str) -> list[Series]:
        """The protocols under which a judge has a point."""
        return [each for each in self.series if each.judge.name == judge and self.points(each)]

    @cached_property
    def baselines(self) -> list[Series]:
        names = [judge.name for judge in self.summary.baselines]
        return [curve for name in names for curve in self.curves(name) if curve.protocol == "base"]

    def points(self, curve: Series) -> list[tuple[float, Estimate]]:
        """Step and figure, where it is defined."""
        named = zip(self.steps, curve.figures, strict=False)
        return [(step, estimate) for step, estimate in named if numbers.defined(estimate)]

    def pixels(self, curve: Series, shift: float = 0.0) -> list[svg.PixelPoint]:
        """Pixels of the values, moved to the right by so many steps."""
        return [(self.x(step + shift), self.y(e.value or 0.0)) for step, e in self.points(curve)]

    @cached_property
    def x(self) -> Scale:
        """With room for the names of protocols on the left, in every panel, and of baselines on the right."""
        low, high = self.steps[0] - 0.25, self.steps[-1] + 0.25 * (self.steps[-1] - self.steps[0] + 1)
        curves = [self.curves(judge.name) for judge in self.summary.measured]
        names = [curve.protocol for several in curves if len(several) > 1 for curve in several]
        room = min(0.45, (7 * max(map(len, names)) + 6) / WIDTH) if names else 0.0
        return Scale(low - (high - low) * room / (1 - room), high, WIDTH)

    @cached_property
    def y(self) -> Scale:
        return Scale(0, 1, HEIGHT, upward=True)

    def chart(self) -> Chart:
        panels, omitted = [], []
        for judge in self.summary.measured:
            curves = self.curves(judge.name)
            if curves:
                front = [part for number, curve in enumerate(curves) for part in self._curve(curve, number)]
                names = self._start_names(curves) if len(curves) > 1 else []
                panels.append(self._panel([*front, *names], judge.name, [judge], judge.name))
            else:
                seen = self.summary.datasheet.of(judge.name, TARGET_SENSITIVITY.id, LADDER)
                first = (TARGET_SENSITIVITY.name, seen[0] if seen else None)
                omitted.append(omission_note(judge.name, [first]))
        if panels and self.summary.baselines:
            names = self._end_names(self.baselines)
            panels.append(self._panel(names, "baselines", self.summary.baselines, "Baselines"))
        rows = tuple(each.row(self.summary) for each in self.series)
        return Chart(TITLE, CAPTION, tuple(panels), self.header, rows, omitted=tuple(omitted), wide=True)

    def _panel(
        self, front: Sequence[svg.SvgElement], name: str, judges: Sequence[JudgeEntry], heading: str
    ) -> Panel:
        threshold = self.y(0.75)
        back = [svg.draw_line([(0, threshold), (WIDTH, threshold)], role="accent", width=1.2)]
        back += [svg.draw_line(self.pixels(curve), role="muted", width=0.8) for curve in self.baselines]
        rows = (each.row(self.summary) for judge in judges for each in self.series if each.judge is judge)
        drawing = draw(
            [*back, *front],
            width=WIDTH,
            height=HEIGHT,
            title=f"{TITLE}: {name}",
            label=aria_label(self.header, rows),
            x=Axis(self.x, "quality steps apart", self.steps, grid=False),
            y=Axis(self.y, ticks=QUARTERS),
        )
        return Panel(drawing, heading)

    def _curve(self, curve: Series, number: int) -> list[svg.SvgElement]:
        """A curve with error bars and markers; later ones are hollow, dashed and a little to the right."""
        role, points = curve.style.role, self.pixels(curve, 0.09 * number)
        ends = [map(self.y, interval_ends(estimate)) for _, estimate in self.points(curve)]
        marker = partial(svg.draw_marker, curve.style.shape, role=role, size=55, edge=1.5, outline=role)
        return [
            svg.draw_line(points, role=role, width=2, dash=(5, 3) if number else ()),
            *(
                svg.error_bar((x, low), (x, high), role)
                for (x, _), (low, high) in zip(points, ends, strict=True)
            ),
            *(
                marking(marker(at=point, hollow=number > 0), estimate)
                for point, (_, estimate) in zip(points, self.points(curve), strict=True)
            ),
        ]

    def _start_names(self, curves: Sequence[Series]) -> list[svg.SvgElement]:
        starts = [self.pixels(curve, -0.15)[0] for curve in curves]
        heights = spread_labels([y for _, y in starts], low=6, high=HEIGHT - 8)
        return [
            svg.draw_text(curve.protocol, (x, height), role=curve.style.role, align="right", weight=600)
            for curve, (x, _), height in zip(curves, starts, heights, strict=True)
        ]

    def _end_names(self, curves: Sequence[Series]) -> list[svg.SvgElement]:
        ends = [self.pixels(curve, 0.1)[-1] for curve in curves]
        heights = spread_labels([y for _, y in ends], low=4, high=HEIGHT - 9)
        return [
            svg.draw_text(curve.label, (x, height), role="muted", size=12, align="left")
            for curve, (x, _), height in zip(curves, ends, heights, strict=True)
        ]


RELIABILITY_CAPTION = (
    "How often answers are right, by how sure the judge is, in bins of about equal size. On the diagonal its "
    "confidence is a chance of being right; below it the judge is surer than it is right. The bars of one "
    "curve hold together with 95 %. Hollow marks are probabilities of the answer's token."
)
RELIABILITY_HEADER = ("judge", "bin", "mean confidence", RIGHT_AT.label)


def reliability(summary: Summary) -> Chart | None:
    panels, rows = [], []
    styles = series_styles(summary)
    for judge in summary.measured:
        for signal in (None, TOKEN):
            curve = _bins(summary, judge.name, signal)
            if curve:
                told = [_bin_row(summary, judge.name, each) for each in curve]
                style = styles[judge.name]
                panels.append(_reliability_panel(curve, judge.name, style, told, hollow=signal is not None))
                rows += told
    words = ("Reliability curves", RELIABILITY_CAPTION)
    return Chart(*words, tuple(panels), RELIABILITY_HEADER, tuple(rows), wide=True) if panels else None


def _bins(summary: Summary, judge: str, signal: str | None) -> list[Estimate]:
    found = summary.datasheet.of(judge, RIGHT_AT.id, PROBE)
    return [each for each in found if each.group.get("signal") == signal and numbers.defined(each)]


def _stated(estimate: Estimate) -> float:
    return float(estimate.details["confidence"])


def _bin_row(summary: Summary, judge: str, estimate: Estimate) -> tuple[Text, ...]:
    stated = numbers.decimal(_stated(estimate))
    return judge, f"{estimate.group['bin']:g}", stated, data_cell(summary, estimate)


def _reliability_panel(
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
        title=f"Reliability curves: {judge}",
        label=aria_label(RELIABILITY_HEADER, rows),
        x=Axis(x, "confidence", QUARTERS),
        y=Axis(y, "right", QUARTERS),
    )
    return Panel(drawing, judge)
