"""The datasheet on a terminal: the whole of it, or one screen; judges as columns, plain without colour."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import replace
from textwrap import fill

from rich.console import Console
from rich.padding import Padding
from rich.table import Table
from rich.text import Text

from steelyard.core.text import capital
from steelyard.datasheet import numbers
from steelyard.datasheet.conclusion import Conclusion
from steelyard.datasheet.datasheet import Datasheet
from steelyard.datasheet.glossary import MARKS as STATUS_MARKS
from steelyard.datasheet.instrument_card import JudgeEntry
from steelyard.datasheet.questions.question import State
from steelyard.datasheet.render import clauses
from steelyard.datasheet.render.printer import ABSENT, STATES, STYLES, Opening, colour_of
from steelyard.datasheet.sections import first_screen
from steelyard.datasheet.sections.first_screen import Row
from steelyard.datasheet.sections.remedies import remedy_line
from steelyard.datasheet.sections.sections import FigureRow, Section
from steelyard.datasheet.sections.summary import Summary, even_groups, not_measured_text, summarise
from steelyard.datasheet.sections.tables import multi_judge_tables, single_judge_note
from steelyard.metrics.estimate import Estimate

MOST_ROWS = 20
LABEL, NARROW, WIDE = 23, 19, 29
"""Columns for the names of the rows, and for a judge: at least, and at most."""
ROOMY = 52
"""Columns in which the names of the rows have room for their terms."""
GAPS = 10
"""Columns before a row of one judge and between its name and its four cells."""
NAMES = 16
"""Columns that the names of these rows have at least: below, a limit takes two lines."""


def render(datasheet: Datasheet, console: Console) -> None:
    _TerminalReport(summarise(datasheet), console).show()


class _TerminalReport(Opening):
    def __init__(self, summary: Summary, console: Console) -> None:
        super().__init__(summary, console)
        self.reasons: set[str] = set()
        self.terms: dict[str, str] = {}
        """Plain names that stand here without their terms, and these."""
        self.per_table = max(1, (console.width - LABEL) // NARROW)

    def show(self) -> None:
        self.header()
        self.verdicts()
        for judges in even_groups(self.summary.measured, self.per_table):
            self._show_judges(judges)
        self._sentences()
        self._authored()
        self._baselines()
        self._multi_judge_tables()
        self._legend()

    def _show_judges(self, judges: Sequence[JudgeEntry]) -> None:
        table, label, column = self._grid(judges)
        for title, row_title in self.summary.finding_titles():
            table.add_row(self.text(row_title), *(self.word(judge.name, title) for judge in judges))
        for section in self.summary.sections:
            rows = [row for row in section.rows if row.essential]
            if rows:
                self._section(table, replace(section, rows=tuple(rows)), judges, label, column)
        self.console.print()
        self.console.print(table)

    def _grid(self, judges: Sequence[JudgeEntry], style: str = "") -> tuple[Table, int, int]:
        column = min(WIDE, (self.console.width - LABEL) // max(1, len(judges)))
        label = ROOMY if self.console.width - column * len(judges) >= ROOMY - 1 else LABEL
        names = [_broken(judge.name, column - 1) for judge in judges]
        table = self.grid(names, label - 1, max(1, column - 1), style)
        return table, label - 1, column - 1

    def _section(
        self, table: Table, section: Section, judges: Sequence[JudgeEntry], label: int, width: int
    ) -> None:
        table.add_row("")
        title = self.text(section.title, "bold")
        if not any(numbers.defined(row.cells.get(judge.name)) for row in section.rows for judge in judges):
            table.add_row(title, *(self._cell(section.basis(judge.name), LABEL) for judge in judges))
            return
        table.add_row(title)
        for row in section.rows:
            name = self.text(self._name(row, label, row.depth), "dim" if row.depth == 2 else "")
            table.add_row(name, *(self._cell(row.cells.get(judge.name), width) for judge in judges))
        basis = [numbers.short_basis(section.basis(judge.name)) for judge in judges]
        behind = f"  calls/{self.summary.datasheet.units}/clusters"
        table.add_row(self.text(behind, "dim"), *(self.text(text, "dim") for text in basis))

    def _name(self, row: FigureRow, width: int, depth: int = 0) -> str:
        """A row's name in the first column, without its term where that is narrow."""
        name, metric = row.name, row.metric
        if width < ROOMY - 1 and metric.plain and name == metric.name:
            name, self.terms[metric.plain] = metric.plain, metric.label
        first, rest = "  " * (depth + 1), "  " * (depth + 2)
        return fill(name, width, initial_indent=first, subsequent_indent=rest, break_on_hyphens=False)

    def _cell(self, estimate: Estimate | None, width: int) -> Text:
        if estimate is None:
            return self.text(numbers.NOT_MEASURED, "dim")
        if numbers.undefined(estimate):
            self.reasons.add(numbers.reason(estimate))
            return self.text(self.summary.undefined(estimate), ABSENT)
        word = self.summary.status(estimate)
        style, mark = STYLES.get(word, ""), STATUS_MARKS.get(word, "")
        value, interval = numbers.value(estimate) + mark, numbers.interval(estimate)
        parts = ((value, style), (interval, style), (numbers.counts(estimate), "dim"))
        return _packed([self.text(*part) for part in parts if part[0]], width)

    def _sentences(self) -> None:
        for judge in self.summary.measured:
            findings = self.summary.findings(judge.name)
            if findings:
                self.heading(judge.name + ("" if judge.model == judge.name else f" ({judge.made})"))
            for finding in findings:
                parts = [self.text(finding.row_title), self.text(f": {clauses.sentence(finding.clause)}")]
                if finding.state is not None:
                    state = self.text(clauses.state_text(finding), STATES[finding.state])
                    parts[1:1] = [self.text(", "), state]
                self.indented(Text.assemble(*parts))
            if remedy := remedy_line(self.summary.datasheet, judge.name):
                self.indented(remedy)

    def _authored(self) -> None:
        reports = self.summary.datasheet.authored
        if reports:
            self.heading("Written stimuli")
        for report in reports:
            self.indented(report.sentence())

    def _baselines(self) -> None:
        rows = self.summary.headlines
        for number, judges in enumerate(even_groups(self.summary.baselines, self.per_table) if rows else ()):
            self.console.print()
            if number == 0:
                self.line("Baselines, on the same stimuli", "dim bold")
            table, label, width = self._grid(judges, "dim")
            for row in rows:
                cells = [self._cell(row.cells.get(judge.name), width) for judge in judges]
                name = self.text(self._name(row, label), "dim")
                table.add_row(name, *(Text(cell.plain, "dim") for cell in cells))
            self.console.print(table)

    def _multi_judge_tables(self) -> None:
        for shown in multi_judge_tables(self.summary, short=True):
            self.heading(shown.title)
            self.line(shown.question, "dim")
            table = Table(box=None, padding=(0, 2, 0, 0), pad_edge=False, header_style="dim")
            for name in shown.header:
                table.add_column(self.text(name), overflow="fold")
            for row in shown.rows[:MOST_ROWS]:
                table.add_row(*(self.text(str(cell)) for cell in row))
            self.console.print(table)
            if len(shown.rows) > MOST_ROWS:
                self.line(f"{len(shown.rows) - MOST_ROWS} more in the Markdown and HTML reports", "dim")
        if single_judge_note(self.summary):
            self.console.print()
            self.line(single_judge_note(self.summary), "dim")

    def _legend(self) -> None:
        self.console.print()
        if missing := not_measured_text(self.summary.datasheet):
            self.line(missing)
        for reason, letter in self.summary.notes.items():
            if reason in self.reasons:
                self.line(f"({letter}) undefined: {reason}", ABSENT)
        if self.terms:
            named = (f"{plain} ({term})" for plain, term in self.terms.items())
            self.line(f"Terms: {', '.join(named)}.", "dim")
        self.line("value [95 % interval] count/total · ! beyond its limit · ? undecided", "dim")
        self.line("deff: design effect, the factor by which clusters change the variance", "dim")


def _packed(parts: Iterable[Text], width: int) -> Text:
    """Parts side by side while they fit, else on the next line; no part is broken."""
    packed, used = Text(), 0
    for part in parts:
        size = part.cell_len
        if used and used + 1 + size > width:
            packed.append("\n")
            used = 0
        elif used:
            packed.append(" ")
            used += 1
        packed.append_text(part)
        used += size
    return packed


def _broken(name: str, width: int) -> str:
    """A name that is too wide breaks after its provider rather than anywhere."""
    provider, slash, model = name.partition("/")
    return f"{provider}/\n{model}" if slash and model and len(name) > width else name


VALUE = 8
"""Columns that a value with its mark takes, with the space before the next."""


def render_brief(datasheet: Datasheet, console: Console) -> None:
    """Print the datasheet in about 25 lines: word, reason, key figures, what to do."""
    _Brief(summarise(datasheet), console).show()


class _Brief(Opening):
    def show(self) -> None:
        judges = self.summary.measured
        self.header(short=True)
        if len(judges) == 1:
            self._one(judges[0].name)
        else:
            self._several()
        sheet = self.summary.datasheet
        last = clauses.undecided_text(sheet.verdicts), not_measured_text(sheet, self.console.width)
        if any(last):
            self.console.print()
            for line in filter(None, last):
                self.line(line, "dim")

    def _one(self, judge: str) -> None:
        verdict = self.summary.verdict(judge)
        self.console.print()
        self._heading(judge, verdict)
        if verdict is not None and (why := clauses.lead(verdict)):
            self.line(why)
        if beside := first_screen.beside_verdict(self.summary, judge):
            self.line(" ".join(f"{capital(clauses.text(each))}." for each in beside))
        self._figures(first_screen.key_figures(self.summary, judge))
        if verdict is None:
            return
        self.console.print()
        for line in clauses.advice(self.summary.datasheet, verdict):
            self.line(line)
        self._next(verdict)

    def _heading(self, name: str, verdict: Conclusion | None) -> None:
        heading = self.text(name, "bold")
        if verdict is not None:
            word = self.text(clauses.headword(verdict), colour_of(verdict))
            heading.append_text(self.text(": ", "bold")).append_text(word)
        self.whole(heading)

    def _figures(self, rows: Sequence[Row]) -> None:
        table = Table(box=None, padding=(0, 2, 0, 0), pad_edge=False, show_header=False)
        table.add_column(overflow="fold")
        for _ in range(4):
            table.add_column(overflow="fold", no_wrap=self.console.width >= ROOMY)
        cells = [(numbers.value(row.estimate), row.interval, row.limit, row.word) for row in rows]
        room = self._room(cells)
        if room < NAMES:
            cells = [(value, ci, "\n".join(limit.rsplit(" ", 1)), word) for value, ci, limit, word in cells]
            room = self._room(cells)
        for row, (*figures, word) in zip(rows, cells, strict=True):
            style = "" if row.state is None else STATES[row.state]
            name = fill(row.name, max(VALUE, room), subsequent_indent="  ", break_on_hyphens=False)
            table.add_row(self.text(name), *map(self.text, figures), self.text(word, style))
        if rows:
            self.console.print()
            self.console.print(Padding(table, (0, 0, 0, 2)))

    def _room(self, cells: Sequence[Sequence[str]]) -> int:
        """Columns that cells leave to the names of their rows."""
        lines = [
            [len(line) for cell in column for line in cell.split("\n")] for column in zip(*cells, strict=True)
        ]
        return self.console.width - GAPS - sum(map(max, lines))

    def _next(self, verdict: Conclusion) -> None:
        if verdict.next is not None:
            who = clauses.next_of(verdict) if len(self.summary.measured) > 1 else ""
            self.line(f"Next{who}: {verdict.next.sentence}")
        if verdict.command:
            self.whole(verdict.command)

    def _several(self) -> None:
        columns, rows = first_screen.judge_rows(self.summary)
        self.console.print()
        for number, row in enumerate(rows, start=1):
            self._heading(f"{number}  {row.judge}", row.verdict)
            if row.verdict is not None:
                self.indented(f"{clauses.lead(row.verdict)} {row.verdict.advice.value}".strip())
        label = min(max(map(len, columns), default=0) + 1, self.console.width // 2)
        numbered = list(enumerate(rows, start=1))
        most = max(1, (self.console.width - label) // VALUE)
        for start in range(0, len(rows), most):
            group = numbered[start : start + most]
            table = self.grid([str(number) for number, _ in group], label, VALUE - 1)
            for place, name in enumerate(columns):
                table.add_row(self.text(name), *(self._value(row.figures[place]) for _, row in group))
            self.console.print()
            self.console.print(table)
        if columns:
            self.line("↑ too high · ↓ too low · ? undecided · – not measured", "dim")
        if step := first_screen.shared_step(self.summary):
            self.console.print()
            self._next(step)

    def _value(self, row: Row | None) -> Text:
        if row is None:
            return self.text("–", "dim")
        mark, style = ("", "") if row.state is None else (MARKS[row.state], STATES[row.state])
        return self.text(numbers.value(row.estimate) + mark, style)


MARKS = {State.FINE: "", State.TOO_HIGH: "↑", State.TOO_LOW: "↓", State.UNDECIDED: "?"}
