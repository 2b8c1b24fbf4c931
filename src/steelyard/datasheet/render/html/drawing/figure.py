"""A figure of the page: drawings, a key, and the data behind them."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from functools import wraps

from steelyard.datasheet.datasheet import Datasheet
from steelyard.datasheet.judge_entry import JudgeEntry
from steelyard.datasheet.sections.sections import CRITERION, LADDER, VACUUM
from steelyard.datasheet.sections.summary import Summary
from steelyard.datasheet.words import numbers
from steelyard.datasheet.words.text import short_names
from steelyard.metrics.estimate import Estimate

SHAPES = (
    *("circle", "square", "triangle-up", "diamond"),
    *("cross", "triangle-down", "triangle-right", "triangle-left"),
)
SIGNS = "●■▲◆✚▼▶◀"
"""The shapes as characters, for a key in text."""
CROWD = 6
"""Judges that are labelled by name in a scatter; more are numbered, with a key."""
SERIES = 8
"""Colours before they repeat; shapes are then paired with other colours."""
SAME_QUALITY: dict[str, str | float] = {"delta": 0, "kind": "same_subset"}
"""Condition of the pairs that are equally good."""


@dataclass(frozen=True)
class Key:
    """One entry of a key."""

    role: str
    """Colour role."""
    text: str
    """What it stands for."""
    sign: str = ""
    """Characters in that colour; empty for a patch of colour."""


@dataclass(frozen=True)
class Panel:
    """One drawing."""

    svg: str
    """Markup of the drawing."""
    title: str = ""
    """Heading above it; empty for a figure of one panel."""


@dataclass(frozen=True)
class Figure:
    """Drawings with their words and their data."""

    title: str
    """What is plotted."""
    caption: str
    """How to read it."""
    panels: tuple[Panel, ...]
    """Drawings, in reading order."""
    header: tuple[str, ...]
    """Column names of the data table."""
    rows: tuple[tuple[str, ...], ...]
    """Data table."""
    key: tuple[Key, ...] = ()
    """What colours and signs stand for, where labels do not say it."""
    omitted: tuple[str, ...] = ()
    """Judges that could not be drawn, and why."""
    wide: bool = False
    """True where the figure takes the whole width of the page."""
    id: str = ""
    """Anchor on the page; it is the name that the figure is registered under."""


Maker = Callable[[Summary], Figure | None]
"""Draws a figure of a datasheet; None where there is nothing for it."""


def of_pairs(make: Maker) -> Maker:
    """A figure of pairs of known quality: None on sheets without a probe of them."""
    return _where(_shows_pairs, make)


def of_scores(make: Maker) -> Maker:
    """A figure of single texts: None on sheets of pairs."""
    return _where(lambda sheet: sheet.form == "pointwise", make)


def _where(fits: Callable[[Datasheet], bool], make: Maker) -> Maker:
    @wraps(make)
    def made(summary: Summary) -> Figure | None:
        return make(summary) if fits(summary.datasheet) else None

    return made


def _shows_pairs(sheet: Datasheet) -> bool:
    return sheet.form == "pairwise" and any(
        estimate.probe in (VACUUM, LADDER, CRITERION) for estimate in sheet.estimates
    )


@dataclass(frozen=True)
class Look:
    """How one judge is drawn: colour and shape, so that either alone tells it apart."""

    role: str
    """Colour role."""
    shape: str
    """Shape of its mark."""
    label: str
    """Name, short enough for a figure."""
    tag: str
    """Label in a scatter: the name, or a number where there are many."""

    def arm(self, protocol: str) -> str:
        """The name, and the protocol where it is not the base one."""
        return self.label if protocol == "base" else f"{self.label}, {protocol}"


def looks(summary: Summary) -> dict[str, Look]:
    """A look for each judge; baselines are grey."""
    labels = short_names([judge.name for judge in everyone(summary)])
    styles: dict[str, Look] = {}
    for number, judge in enumerate(summary.measured):
        label = labels[judge.name]
        tag = str(number + 1) if len(summary.measured) > CROWD else label
        styles[judge.name] = Look(f"series-{number % SERIES + 1}", SHAPES[_shape(number)], label, tag)
    for judge in summary.baselines:
        styles[judge.name] = Look("muted", "circle", labels[judge.name], labels[judge.name])
    return styles


def crowd_key(summary: Summary) -> tuple[Key, ...]:
    """The numbers of a crowded scatter; empty where judges are labelled by name."""
    if len(summary.measured) <= CROWD:
        return ()
    return tuple(
        Key(f"series-{number % SERIES + 1}", judge.name, f"{SIGNS[_shape(number)]} {number + 1}")
        for number, judge in enumerate(summary.measured)
    )


def _shape(number: int) -> int:
    """Shapes move on by one when the colours repeat."""
    return (number + number // SERIES) % len(SHAPES)


def everyone(summary: Summary) -> tuple[JudgeEntry, ...]:
    """Measured judges, then baselines."""
    return (*summary.measured, *summary.baselines)


def protocols(judge: JudgeEntry) -> tuple[str, ...]:
    """The judge's protocols, base first."""
    return ("base", *(name for name in judge.protocols if name != "base"))


def arm_name(judge: JudgeEntry, protocol: str) -> str:
    """The judge, and the protocol where it is not the base one."""
    return judge.name if protocol == "base" else f"{judge.name}, {protocol}"


def why_not(judge: str, named: Iterable[tuple[str, Estimate | None]]) -> str:
    """The sentence that says why a judge is not drawn."""
    for what, estimate in named:
        if estimate is None:
            return f"{judge}: {what} was not measured"
        if numbers.undefined(estimate):
            return f"{judge}: {what} is undefined ({numbers.reason(estimate)})"
    return f"{judge}: nothing to draw"


def limits(estimate: Estimate) -> tuple[float, float]:
    """Ends of the recommended interval, the value itself where an end is open or missing."""
    at = estimate.value or 0.0
    interval = estimate.interval
    low = at if interval is None or interval.low is None else interval.low
    high = at if interval is None or interval.high is None else interval.high
    return low, high


def cell(summary: Summary, estimate: Estimate | None) -> str:
    """A figure with its counts, for a data table; an interval is never broken over two lines."""
    if not numbers.defined(estimate):
        return summary.absence(estimate)
    unbroken = numbers.interval(estimate).replace(" ", "\N{NO-BREAK SPACE}")
    return " ".join(part for part in (numbers.value(estimate), unbroken, numbers.counts(estimate)) if part)


def spoken(header: tuple[str, ...], rows: Iterable[tuple[str, ...]]) -> str:
    """Data rows as a sentence."""
    lines = [
        f"{row[0]}: " + ", ".join(f"{name} {cell}" for name, cell in zip(header[1:], row[1:], strict=True))
        for row in rows
    ]
    return "; ".join(lines) + "."
