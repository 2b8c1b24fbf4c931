"""A comparison as text, one screen of a terminal or in full, and as a page that opens offline."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from math import ceil

from rich.console import Console
from rich.table import Table

from steelyard.datasheet.comparison import rows
from steelyard.datasheet.comparison.rows import label
from steelyard.datasheet.comparison.sheet import HOW_TO_READ, ComparisonSheet
from steelyard.datasheet.glossary import interval_meanings, metric_meanings, metric_named
from steelyard.datasheet.numbers import NOT_MEASURED
from steelyard.datasheet.render.html.document import document
from steelyard.datasheet.render.html.drawing.forest_plot import IntervalRow, forest_plot
from steelyard.datasheet.render.markdown import code_block, escape, table
from steelyard.datasheet.render.printer import STYLES, Printer
from steelyard.metrics.comparison.comparison import Comparison
from steelyard.metrics.instrument.worth_estimates import WORTH
from steelyard.metrics.metric import LOW, ZERO
from steelyard.metrics.stats.intervals import Span

COLOURS = {
    rows.BETTER: STYLES["clear"],
    rows.WORSE: STYLES["flagged"],
    rows.DIFFERENT: "bold",
    rows.ALIKE: "",
    rows.UNDECIDED: STYLES["inconclusive"],
    NOT_MEASURED: STYLES["undefined"],
}
WIDE = 96
"""Columns of a console that has room for the tests beside the figures."""


def print_comparison(comparison: ComparisonSheet, console: Console, *, full: bool = False) -> None:
    _ComparisonReport(comparison.escaped(), console).show(full=full)


class _ComparisonReport(Printer):
    def __init__(self, sheet: ComparisonSheet, console: Console) -> None:
        super().__init__(console)
        self.sheet = sheet

    def show(self, *, full: bool) -> None:
        answer = self.sheet.answered
        self.line(answer.headline, "bold")
        for name, side in (("A", self.sheet.first), ("B", self.sheet.second)):
            line = self.text(f"{name}  ", "bold")
            line.append_text(self.text(f"{side.judge}{side.model_suffix}"))
            line.append_text(self.text(f"  {side.folder}", "dim"))
            self.line(line)
            for said in filter(None, (side.reference_sentence, side.partial)):
                self.line(f"   {said}", STYLES["inconclusive"] if said == side.partial else "")
        if said := self.sheet.namesakes():
            self.line(said)
        if shown := answer.shown:
            self.console.print()
            self.console.print(self._table(shown))
        for said in answer.remarks():
            self.line(said)
        self.console.print()
        for said in answer.lists(self.console.width):
            self.line(said)
        for said in self.sheet.not_paired(self.console.width):
            self.line(said, "dim")
        if answer.rows:
            step, command = self.sheet.next_step
            self.line(f"Next: {step}{':' if command else '.'}", "bold")
            if command:
                self.whole(f"  {command}")
        if full:
            self._full()
        else:
            self.line("All figures: --full", "dim")

    def _full(self) -> None:
        self.console.print()
        self.console.print(self._table(self.sheet.asked_of_both, tests=self.console.width >= WIDE))
        self.console.print()
        for said in (*self.sheet.left_out(), self.sheet.sentence(), HOW_TO_READ):
            self.line(said)

    def _table(self, shown: Sequence[Comparison], *, tests: bool = False) -> Table:
        table = Table(box=None, padding=(0, 1, 0, 0), pad_edge=False, header_style="bold")
        table.add_column("", overflow="fold")
        for name in ("A", "B", self.text("B − A").plain):
            table.add_column(name, justify="left" if "B " in name else "right", no_wrap=True)
        for name in ("q", "detects", "units/\nclusters") if tests else ():
            table.add_column(name, justify="right", no_wrap=True)
        table.add_column("B is", no_wrap=True)
        for row in shown:
            word = rows.state(row)
            style = COLOURS[word]
            first, second, difference = rows.figures(row)
            numbers = [self.text(first), self.text(second), self.text(difference, style)]
            numbers += [self.text(cell, "dim") for cell in rows.tests(row)] if tests else []
            table.add_row(self.text(rows.label(row)), *numbers, self.text(word, style))
        return table


COLUMNS = ("figure", "A", "B", "B − A", "B is")


def markdown(comparison: ComparisonSheet) -> str:
    return "\n\n".join(_blocks(comparison.escaped())) + "\n"


def _blocks(sheet: ComparisonSheet) -> Iterator[str]:
    answer = sheet.answered
    yield f"# {escape(sheet.title)}"
    yield f"**{escape(answer.headline)}**"
    for letter, side in (("A", sheet.first), ("B", sheet.second)):
        facts = (
            f"{letter}: {side.judge}{side.model_suffix}, {side.folder}",
            side.reference_sentence,
            side.partial,
        )
        yield escape(" · ".join(filter(None, facts)))
    yield from filter(None, [escape(sheet.namesakes())])
    if answer.shown:
        yield table(COLUMNS, _rows(answer.shown))
    yield from map(escape, (*answer.remarks(), *answer.lists(), *sheet.not_paired()))
    if answer.rows:
        step, command = sheet.next_step
        yield f"**Next:** {escape(step)}{':' if command else '.'}"
        yield from [code_block(command, "sh")] if command else []
    yield "<details><summary>All figures and tests</summary>"
    yield table((*COLUMNS, "q", "detects", "units/clusters"), _rows(sheet.asked_of_both, full=True))
    yield from map(escape, (*sheet.left_out(), sheet.sentence(), HOW_TO_READ))
    yield "</details>"


def _rows(shown: Iterable[Comparison], *, full: bool = False) -> Iterator[list[str]]:
    for row in shown:
        cells = [rows.name(row), *rows.figures(row), rows.state(row), *(rows.tests(row) if full else ())]
        yield [escape(cell) for cell in cells]


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


def page(
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
        styles=CHART_STYLES,
        few=any(row.flipped == "pairs" for row in shown.rows),
        metrics=metric_meanings(row.metric for row in shown.rows),
        methods=interval_meanings(each.method for row in shown.rows for each in row.intervals[:2]),
    )


CHART_STYLES = {
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
    ordered = sorted(rows.main_first(known), key=lambda row: list(CHART_STYLES).index(rows.state(row)))
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
    role, shape, words = CHART_STYLES[rows.state(row)]
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
