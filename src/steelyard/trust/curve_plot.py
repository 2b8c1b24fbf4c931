"""The risk–coverage curve: error among the accepted by the share accepted, with its band."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial

from steelyard.datasheet.render.html.drawing import svg
from steelyard.datasheet.render.html.drawing.axis import Axis, Scale, draw
from steelyard.metrics.stats.confidence import CurvePoint
from steelyard.survey.report import KeyEntry

WIDTH, NARROW_WIDTH, HEIGHT = 520, 250, 260
SIGNS = (("circle", "●"), ("square", "■"), ("triangle-up", "▲"), ("diamond", "◆"))
COLOURS = 8


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

    @property
    def key(self) -> Sequence[KeyEntry]:
        named = [
            KeyEntry(SIGNS[n % len(SIGNS)][1], _role(n), curve.name) for n, curve in enumerate(self.curves)
        ]
        return [*named, KeyEntry("┄", "muted", f"the promised error, {self.promised:g}")]

    def draw(self, *, narrow: bool = False) -> str:
        width = NARROW_WIDTH if narrow else WIDTH
        highest = max((point.high for curve in self.curves for point in curve.points), default=1.0)
        x = Scale(0, 1, width)
        y = Scale(0, min(1.0, max(2 * self.promised, highest)), HEIGHT, upward=True)
        promised = [(0.0, y(self.promised)), (x(1), y(self.promised))]
        drawn = [svg.draw_line(promised, role="muted", width=1.2, dash=(4, 3))]
        for number, curve in enumerate(self.curves):
            drawn += _draw_curve(curve, number, 5.0 * (number - (len(self.curves) - 1) / 2), x, y)
        return draw(
            drawn,
            width=width,
            height=HEIGHT,
            title=self.title,
            label=self._description,
            x=Axis(x, "share of the verdicts accepted", (0, 0.2, 0.4, 0.6, 0.8, 1)),
            y=Axis(y, "wrong among the accepted"),
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
    return f"series-{number % COLOURS + 1}"


def _draw_curve(curve: Curve, number: int, aside: float, x: Scale, y: Scale) -> list[svg.SvgElement]:
    """Marks with their bars, moved aside so that those of several curves do not hide each other."""

    def place(share: float, error: float) -> tuple[float, float]:
        return x(share) + aside, y(min(y.high, error))

    role = _role(number)
    mark = partial(svg.draw_marker, SIGNS[number % len(SIGNS)][0], role=role)
    points = [place(point.share, point.value) for point in curve.points]
    drawn = [svg.error_bar(place(p.share, p.low), place(p.share, p.high), role) for p in curve.points]
    if len(points) > 1:
        drawn.append(svg.draw_line(points, role=role, width=2))
    drawn += [mark(at=point, size=45) for point in points]
    if curve.chosen is not None:
        drawn.append(mark(at=place(*curve.chosen), size=180, hollow=True, edge=2, outline=role))
    return drawn
