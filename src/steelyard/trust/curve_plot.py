"""The risk–coverage curve: error among the accepted by the share accepted, with its band."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from steelyard.datasheet.render.html.drawing import svg
from steelyard.datasheet.render.html.drawing.axis import Axis, Scale, draw
from steelyard.metrics.stats.confidence import CurvePoint
from steelyard.survey.report import KeyEntry

WIDTH, NARROW_WIDTH, HEIGHT = 520, 250, 260
ROLES = ("series-1", "series-2", "series-3", "series-4", "series-5", "series-6", "series-7", "series-8")
SHAPES = ("circle", "square", "triangle-up", "diamond")


@dataclass(frozen=True)
class Curve:
    name: str
    points: Sequence[CurvePoint]
    chosen: tuple[float, float] | None
    """Share accepted of the labelled verdicts, and their error, at the threshold."""


@dataclass(frozen=True)
class CurvePlot:
    title: str
    caption: str
    curves: Sequence[Curve]
    promised: float
    axis: str = "wrong among the accepted"

    @property
    def key(self) -> Sequence[KeyEntry]:
        signs = dict(zip(SHAPES, "●■▲◆", strict=True))
        return [
            *(KeyEntry(signs[_shape(n)], _role(n), curve.name) for n, curve in enumerate(self.curves)),
            KeyEntry("┄", "muted", f"the promised error, {self.promised:g}"),
        ]

    def draw(self, *, narrow: bool = False) -> str:
        width = NARROW_WIDTH if narrow else WIDTH
        highest = max((point.high for curve in self.curves for point in curve.points), default=1.0)
        x = Scale(0, 1, width)
        y = Scale(0, min(1.0, max(2 * self.promised, highest)), HEIGHT, upward=True)
        drawn = [
            svg.draw_line(
                [(0.0, y(self.promised)), (x(1), y(self.promised))], role="muted", width=1.2, dash=(4, 3)
            )
        ]
        for number, curve in enumerate(self.curves):
            drawn += _draw_curve(curve, number, len(self.curves), x, y)
        return draw(
            drawn,
            width=width,
            height=HEIGHT,
            title=self.title,
            label=self._description,
            x=Axis(x, "share of the verdicts accepted", (0, 0.2, 0.4, 0.6, 0.8, 1)),
            y=Axis(y, self.axis),
        )

    @property
    def _description(self) -> str:
        lines = []
        for curve in self.curves:
            said = [
                f"{p.share:.2f} accepted, {p.value:.3f} wrong [{p.low:.3f}, {p.high:.3f}]"
                for p in curve.points
            ]
            lines.append(f"{curve.name}: {'; '.join(said)}")
        return ". ".join(lines) + "."


def _role(number: int) -> str:
    return ROLES[number % len(ROLES)]


def _shape(number: int) -> str:
    return SHAPES[number % len(SHAPES)]


def _draw_curve(curve: Curve, number: int, curves: int, x: Scale, y: Scale) -> list[svg.SvgElement]:
    role = _role(number)
    aside = 5.0 * (number - (curves - 1) / 2)
    places = [(x(point.share) + aside, point) for point in curve.points]
    drawn = [
        svg.error_bar((at, y(min(y.high, point.low))), (at, y(min(y.high, point.high))), role)
        for at, point in places
    ]
    if len(places) > 1:
        line = [(at, y(min(y.high, point.value))) for at, point in places]
        drawn.append(svg.draw_line(line, role=role, width=2))
    drawn += [
        svg.draw_marker(_shape(number), (at, y(min(y.high, point.value))), role=role, size=45)
        for at, point in places
    ]
    if curve.chosen is not None:
        share, error = curve.chosen
        place = (x(share) + aside, y(min(y.high, error)))
        drawn.append(
            svg.draw_marker(_shape(number), place, role=role, size=180, hollow=True, edge=2, outline=role)
        )
    return drawn
