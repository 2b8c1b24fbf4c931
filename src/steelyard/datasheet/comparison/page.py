"""A comparison as one HTML file that opens offline, with the differences drawn as a forest plot."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from math import ceil

from steelyard.datasheet.comparison import rows
from steelyard.datasheet.comparison.rows import label
from steelyard.datasheet.comparison.sheet import ComparisonSheet
from steelyard.datasheet.render.html.document import document
from steelyard.datasheet.render.html.drawing.forest_plot import IntervalRow, forest_plot
from steelyard.datasheet.words.glossary import interval_meanings, metric_meanings, metric_named
from steelyard.metrics.comparison.comparison import Comparison
from steelyard.metrics.instrument.worth_estimates import WORTH
from steelyard.metrics.metric import LOW, ZERO
from steelyard.metrics.stats.intervals import Span


@dataclass(frozen=True)
class DifferingAnswer:
    """What one judge said in a call."""

    answer: str
    reply: str
    address: str = ""
    """Where the call is shown; empty where nothing shows it."""
    word: str = ""
    """`right` or `wrong`; empty without a label."""


@dataclass(frozen=True)
class DifferingCall:
    """The same call to both judges, who answer it differently."""

    stimulus: str
    about: str
    """Probe, kind, order and repeat."""
    label: str | None
    sides: tuple[DifferingAnswer, DifferingAnswer]


@dataclass(frozen=True)
class DifferingCalls:
    shown: Sequence[DifferingCall]
    total: int
    every: str
    """Where all of them are."""


def render(
    comparison: ComparisonSheet,
    home: str = "",
    datasheets: Sequence[str] = (),
    differing: Callable[..., str] | None = None,
    calls: DifferingCalls | None = None,
) -> str:
    """One document; in a viewer with the addresses of all runs and of both datasheets.

    `differing` gives the address of the calls of a side to which the other answers otherwise, `calls` are
    some of them with both replies.
    """
    shown = comparison.escaped()
    return document(
        "comparison.html.j2",
        comparison=shown,
        home=home,
        datasheets=datasheets,
        differing=differing,
        calls=calls,
        show=rows,
        drawings=forests(shown.rows, shown.margin, *shown.names),
        styles=STYLES,
        few=any(row.flipped == "pairs" for row in shown.rows),
        metrics=metric_meanings(row.metric for row in shown.rows),
        methods=interval_meanings(each.method for row in shown.rows for each in row.intervals[:2]),
    )


STYLES = {
    rows.BETTER: ("series-2", "triangle-right", "B better"),
    rows.WORSE: ("series-1", "triangle-left", "A better"),
    rows.DIFFERENT: ("accent", "diamond", "different"),
    rows.ALIKE: ("muted", "circle", "alike"),
    rows.UNDECIDED: ("wait", "square", "undecided"),
}
"""Colour, marker and words of a state; the words stand beside every row."""
NAME_LETTERS = 24
"""Letters of a judge's name beside an end of the axis."""


@dataclass(frozen=True)
class Forest:
    title: str
    reading: str
    wide: str
    narrow: str
    """For a phone."""


def forests(figures: Sequence[Comparison], margin: float, first: str, second: str) -> list[Forest]:
    """The differences drawn: figures that have a better side, by who is better; then those that have none."""
    # Steps of quality have another scale than shares.
    known = [row for row in figures if row.difference is not None and row.metric != WORTH.id]
    ordered = sorted(rows.main_first(known), key=lambda row: list(STYLES).index(rows.state(row)))
    sided = [row for row in ordered if metric_named(row.metric).better]
    other = [row for row in ordered if not metric_named(row.metric).better]
    band = f"A line inside the band of ±{margin:g} rules out a difference that matters."
    left, names = "Left of the line A", (("A", first), ("B", second))
    plots = (
        ("Who is better, figure by figure", f"{left} is better, right of it B is.", sided, "better"),
        ("Where neither way is better", f"{left} shows more of it, right of it B.", other, "shows more"),
    )
    made = []
    for title, reading, drawn, words in plots:
        sides = tuple(f"{letter} {words}{_named(letter, name)}" for letter, name in names)
        if drawn:
            plot = _forest(drawn, margin, f"{first} and {second}: {title.lower()}", sides)
            made.append(Forest(title, f"{reading} {band}", *plot))
    return made


def _named(letter: str, name: str) -> str:
    """The name of a judge after its letter, unless it begins with that."""
    if name.startswith(f"{letter} ("):
        return ""
    return f": {name if len(name) <= NAME_LETTERS else name[: NAME_LETTERS - 1] + '…'}"


def _forest(
    drawn: Sequence[Comparison], margin: float, title: str, sides: tuple[str, ...]
) -> tuple[str, str]:
    placed = [_row(row) for row in drawn]
    reach = _axis_extent(placed, margin)
    description = "; ".join(f"{row.name}: {row.text}" for row in placed)
    plot = partial(
        forest_plot,
        placed,
        title=title,
        label=description + ".",
        axis_title="difference, in the unit of each figure",
        domain=(-reach, reach),
        ticks=None,
        signed=True,
        zero_line=True,
        margin=min(margin, reach),
        width=420,
        row_height=30,
        limit=0,
        sides=(sides[0], sides[1]),
    )
    return plot(), plot(narrow=True)


def _row(row: Comparison) -> IntervalRow:
    """The interval that the word is read from, the side of B to the right."""
    role, shape, words = STYLES[rows.state(row)]
    value, ends = oriented(row)
    before, after, _ = rows.figures(row)
    return IntervalRow(label(row), value, ends, role, shape, text=f"{before} → {after}  {words}")


def oriented(row: Comparison) -> tuple[float, Span]:
    """How much better B is, with its interval; B less A where neither way is better.

    Of a figure that is best at zero it is how much nearer B lies.
    """
    better, difference, (low, high) = metric_named(row.metric).better, row.difference or 0.0, row.decides
    first, second = row.first or 0.0, row.second or 0.0
    if better not in (LOW, ZERO) or (better == ZERO and first + second < 0):
        value, ends = difference, (low, high)
    else:
        value, ends = -difference, (-high, -low)
    if better != ZERO:
        return value, ends
    gain = abs(first) - abs(second)
    return gain, (ends[0] + gain - value, ends[1] + gain - value)


def _axis_extent(drawn: Sequence[IntervalRow], margin: float) -> float:
    """Half the width of the axis: symmetric, wide enough for every value; for every interval up to 1."""
    ends = [abs(end) for row in drawn for end in row.interval or () if end is not None]
    values = [abs(row.value or 0.0) for row in drawn]
    return max(min(1.0, ceil(10 * max(2 * margin, *ends)) / 10), ceil(10 * max(values)) / 10)
