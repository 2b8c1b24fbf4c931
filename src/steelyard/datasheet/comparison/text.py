"""A comparison as text: the answer in one screen of a terminal, or in Markdown; in full every figure."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence

from rich.console import Console
from rich.table import Table

from steelyard.datasheet.comparison import rows
from steelyard.datasheet.comparison.sheet import HOW_TO_READ, ComparisonSheet
from steelyard.datasheet.render.markdown import code_block, escape, table
from steelyard.datasheet.render.printer import STYLES, Printer
from steelyard.datasheet.words.numbers import NOT_MEASURED
from steelyard.metrics.comparison.comparison import Comparison

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
