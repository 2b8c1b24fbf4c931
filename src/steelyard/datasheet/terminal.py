"""The datasheet on a terminal: judges as columns, the findings first, plain when there is no colour."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence

from rich import box
from rich.console import Console
from rich.table import Table
from rich.text import Text

from steelyard.datasheet import numbers
from steelyard.datasheet.datasheet import Datasheet, JudgeEntry
from steelyard.datasheet.summary import Row, Section, Summary, summarise
from steelyard.metrics.estimate import Estimate

STYLES = {"clear": "green", "flagged": "bold red", "underpowered": "yellow", "undefined": "magenta"}
MARKS = {"flagged": "!", "underpowered": "?"}
NARROW, WIDE, LABEL = 19, 27, 22
"""Columns that a figure needs without and with its counts beside it, and that the labels need."""

_CONTROL = re.compile(r"[\x00-\x1f\x7f-\x9f]+")


def render(datasheet: Datasheet, console: Console) -> None:
    """Print the datasheet."""
    _Page(summarise(datasheet), console).show()


class _Page:
    """One rendering: the summary, the console and the widths that follow from it."""

    def __init__(self, summary: Summary, console: Console) -> None:
        self.summary = summary
        self.console = console
        self.width = console.width
        self.plain = not (console.encoding or "utf-8").lower().startswith("utf")

    def show(self) -> None:
        self._header()
        for judges in _chunks(self.summary.measured, self._per_table()):
            self._print(self._table(judges, self.summary.sections, essential=True))
        self._sentences()
        if self.summary.baselines:
            self._baselines()
        self._legend()

    def _header(self) -> None:
        sheet = self.summary.datasheet
        self._line(f"Judge Datasheet: {sheet.name}", "bold")
        hash_ = sheet.stimulus_set.removeprefix("sha256:")[:12]
        calls = f" · {self.summary.calls:,} calls" if self.summary.calls else ""
        self._line(
            f"stimuli {hash_} · seed {sheet.seed} · {sheet.profile} profile · version {sheet.version}{calls}",
            "dim",
        )

    def _per_table(self) -> int:
        return max(1, (self.width - LABEL) // NARROW)

    def _table(
        self, judges: Sequence[JudgeEntry], sections: Sequence[Section], *, essential: bool, style: str = ""
    ) -> Table:
        column = (self.width - LABEL) // max(1, len(judges))
        table = Table(box=None, padding=(0, 1, 0, 0), style=style, header_style="bold", show_edge=False)
        table.add_column("", width=LABEL - 1, no_wrap=True, overflow="ellipsis")
        for judge in judges:
            table.add_column(self._text(judge.name), width=min(column, WIDE + 4) - 1, overflow="fold")
        if essential:
            self._words(table, judges)
        for section in sections:
            rows = [row for row in section.rows if row.essential] if essential else list(section.rows)
            if rows:
                table.add_row(self._text(section.title, "bold underline" if essential else ""))
                for row in rows:
                    self._row(table, row, judges, column)
                if essential:
                    self._basis(table, rows[0], judges)
        return table

    def _words(self, table: Table, judges: Sequence[JudgeEntry]) -> None:
        for title in self.summary.reading_titles():
            words = {r.judge: r.word for r in self.summary.datasheet.readings if r.title == title}
            cells = [words.get(judge.name, numbers.NOT_MEASURED) for judge in judges]
            table.add_row(self._text(title), *(self._text(word, STYLES.get(word, "dim")) for word in cells))

    def _row(self, table: Table, row: Row, judges: Sequence[JudgeEntry], column: int) -> None:
        label = self._text("  " + "  " * row.depth + row.label, "dim" if row.depth == 2 else "")
        table.add_row(label, *(self._cell(row.cells.get(judge.name), column) for judge in judges))

    def _cell(self, estimate: Estimate | None, column: int) -> Text:
        if estimate is None:
            return self._text(numbers.NOT_MEASURED, "dim")
        if numbers.undefined(estimate):
            return self._text(f"undefined ({self.summary.mark(estimate)})", STYLES["undefined"])
        mark = MARKS.get(estimate.finding or "", "")
        text = self._text(numbers.figure(estimate) + mark, STYLES.get(estimate.finding or "", ""))
        counts = numbers.counts(estimate)
        if counts:
            beside = len(text) + 1 + len(counts) < column
            text.append((" " if beside else "\n") + counts, "dim")
        return text

    def _basis(self, table: Table, row: Row, judges: Sequence[JudgeEntry]) -> None:
        cells = [row.cells.get(judge.name) for judge in judges]
        texts = [numbers.NOT_MEASURED if cell is None else numbers.short_basis(cell) for cell in cells]
        table.add_row(self._text("  calls/pairs/tasks", "dim"), *(self._text(text, "dim") for text in texts))

    def _sentences(self) -> None:
        for judge in self.summary.measured:
            for reading in self.summary.readings(judge.name):
                line = self._text(f"{judge.name}, {reading.title}: ")
                line.append_text(self._text(reading.word, STYLES.get(reading.word, "")))
                line.append_text(self._text(". " + reading.sentence))
                self._print(line)

    def _baselines(self) -> None:
        self._line("Baselines on the same stimuli", "dim bold")
        rows = tuple(row for section in self.summary.sections for row in section.rows if row.headline)
        section = Section("", "", rows)
        for judges in _chunks(self.summary.baselines, self._per_table()):
            self._print(self._table(judges, (section,), essential=False, style="dim"))

    def _legend(self) -> None:
        for letter, note in self.summary.lettered_notes():
            self._line(f"({letter}) undefined: {note}", STYLES["undefined"])
        self._line(
            "value [95 % interval] count/total; ! flagged, ? underpowered; deff = design effect", "dim"
        )

    def _text(self, content: str, style: str = "") -> Text:
        clean = _CONTROL.sub(" ", content)
        return Text(numbers.ascii_only(clean) if self.plain else clean, style)

    def _line(self, content: str, style: str = "") -> None:
        self._print(self._text(content, style))

    def _print(self, thing: Text | Table) -> None:
        self.console.print(thing, highlight=False, soft_wrap=False)


def _chunks(judges: Sequence[JudgeEntry], size: int) -> Iterator[Sequence[JudgeEntry]]:
    """Even groups of at most `size`."""
    groups = -(-len(judges) // size) if judges else 0
    for number in range(groups):
        yield judges[number * len(judges) // groups : (number + 1) * len(judges) // groups]
