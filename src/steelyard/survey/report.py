"""What a survey command reports: one sentence, one plot that carries it, the numbers behind it, and JSON."""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, Protocol

from steelyard.core.text import percent
from steelyard.datasheet.render.html.drawing.axis import round_values
from steelyard.datasheet.render.html.drawing.forest_plot import IntervalRow, forest_plot
from steelyard.version import __version__

WIDTH, NAME, ROW = 420, 170, 34
PEOPLE, JUDGE, LABELS = "series-1", "series-2", "muted"


class WithLimits(Protocol):
    """A figure or a row that has a value and its interval."""

    @property
    def value(self) -> float: ...
    @property
    def low(self) -> float | None: ...
    @property
    def high(self) -> float | None: ...


def with_limits(figure: WithLimits, number: Callable[[float], str], undefined: str = "") -> str:
    """`0.512 [0.401, 0.623]`; what is undefined is said in the place of the limits. A unit stands once."""
    text = _with_minus(number(figure.value))
    if figure.low is None or figure.high is None:
        return f"{text}{undefined}"
    low, high = (_with_minus(number(end)).removesuffix(" %") for end in (figure.low, figure.high))
    return f"{text} [{low}, {high}]"


def _with_minus(number: str) -> str:
    """With the sign that charts and datasheets have, in the place of a hyphen."""
    return number.replace("-", "−")


def decimals(figure: WithLimits | None) -> str:
    return "" if figure is None else with_limits(figure, "{:.3f}".format)


def signed(figure: WithLimits | None) -> str:
    return "" if figure is None else with_limits(figure, "{:+.3f}".format)


def first_of(names: Sequence[str], count: int, more: str = " and {:,} more") -> str:
    """The first names in a row, and how many there are besides."""
    return ", ".join(names[:count]) + (more.format(len(names) - count) if len(names) > count else "")


@dataclass(frozen=True)
class KeyEntry:
    """One line of a plot's legend."""

    symbol: str
    role: str
    text: str


@dataclass(frozen=True)
class ReportTable:
    title: str
    header: Sequence[str]
    rows: Sequence[Sequence[str]]
    wrap: str | None = None
    """The one column that may wrap on a terminal; None: all but figures with their intervals."""
    on_page_only: bool = False


class Drawing(Protocol):
    """The one figure of a page."""

    @property
    def title(self) -> str: ...
    @property
    def caption(self) -> str: ...
    @property
    def key(self) -> Sequence[KeyEntry]: ...
    def draw(self, *, narrow: bool = False) -> str: ...


@dataclass(frozen=True)
class Plot:
    """Values with intervals, one row each."""

    title: str
    caption: str
    rows: Sequence[IntervalRow]
    axis: str
    domain: tuple[float, float]
    key: Sequence[KeyEntry] = ()
    label: str = ""
    """What the drawing is, for those who do not see it [the title]."""
    ticks: Sequence[float] | None = None
    signed: bool = False
    zero_line: bool = False
    margin: float | None = None

    def draw(self, *, narrow: bool = False) -> str:
        return forest_plot(
            self.rows,
            title=self.label or self.title,
            axis_title=self.axis,
            domain=self.domain,
            ticks=round_values(*self.domain, 4 if narrow else 6) if self.ticks is None else self.ticks,
            signed=self.signed,
            zero_line=self.zero_line,
            margin=self.margin,
            width=WIDTH,
            row_height=ROW,
            limit=NAME,
            narrow=narrow,
        )


def plot_domain(
    rows: Sequence[IntervalRow], *others: float, ends: tuple[float, float] | None = None
) -> tuple[float, float]:
    """From the lowest to the highest value with some room, within the ends of the scale."""
    every = [*others, *(end for row in rows for end in (row.value, *(row.interval or ())))]
    known = [value for value in every if value is not None]
    low, high = min(known), max(known)
    room = 0.15 * (high - low) or 0.05
    low, high = low - room, high + room
    return (low, high) if ends is None else (max(low, ends[0]), min(high, ends[1]))


def plot_row(
    name: str, figure: WithLimits, role: str, text: str, *, shape: str = "circle", scale: float = 1.0
) -> IntervalRow:
    ends = None if figure.low is None or figure.high is None else (scale * figure.low, scale * figure.high)
    value, hollow = scale * figure.value, shape == "diamond"
    return IntervalRow(name, value, ends, role, shape=shape, hollow=hollow, text=text)


def judge_row(name: str, value: float) -> IntervalRow:
    """The judge's own figure, which has no interval."""
    return IntervalRow(name, value, None, JUDGE, "diamond", hollow=True)


def interval_meaning(confidence: float) -> tuple[str, str]:
    level = percent(confidence)
    return f"{level} interval", f"In {level} of samples drawn like this one it holds the true value."


@dataclass(frozen=True)
class Report:
    kind: str
    """What it is: estimate, leaderboard, people, bridge, trust."""
    title: str
    lead: str
    facts: Sequence[tuple[str, str]]
    plot: Drawing
    tables: Sequence[ReportTable]
    notes: Sequence[str]
    meanings: Sequence[tuple[str, str]]
    """Terms of the page, each with its meaning."""
    body: dict[str, Any]
    paragraph: str = ""
    """Printed in the place of all else, where it was asked for."""

    @property
    def json_text(self) -> str:
        return json.dumps(self.body, indent=1) + "\n"

    def page(self) -> str:
        from steelyard.datasheet.render.html.document import document

        return document("score.html.j2", page=self, version=__version__)
