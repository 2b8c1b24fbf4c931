"""What every report on a terminal begins with: name, facts of the run, words by judge and question."""

from __future__ import annotations

from collections.abc import Sequence

from rich.console import Console
from rich.table import Table
from rich.text import Text

from steelyard.core.identity import short_hash
from steelyard.core.plurals import counted
from steelyard.datasheet.render.printer import STYLES, Printer
from steelyard.datasheet.render.verdict_lines import print_verdict
from steelyard.datasheet.sections.remedies import remedy_brief
from steelyard.datasheet.sections.summary import Summary
from steelyard.datasheet.words import numbers


class Opening(Printer):
    """A report on a terminal: its selection of figures, and its first lines."""

    def __init__(self, summary: Summary, console: Console) -> None:
        super().__init__(console)
        self.summary = summary

    def header(self, *, short: bool = False) -> None:
        """Name, facts of the run, and what labels are where a judge gave them; a short name fits one line."""
        sheet, summary = self.summary.datasheet, self.summary
        if sheet.partial:
            self.line(sheet.partial_told, STYLES["inconclusive"])
        title = f"{sheet.kind}: {sheet.title}"
        if short and Text(title).cell_len > self.console.width:
            title = f"{sheet.kind}: {counted(len(summary.measured), 'judge')}"
        self.line(title, "bold")
        calls = counted(summary.calls, "call") if summary.calls else "calls not recorded"
        facts = [sheet.name, f"{sheet.profile} profile", calls, f"seed {sheet.seed}"]
        if not short:
            facts[-1:] = [f"stimuli {short_hash(sheet.stimulus_set)}", facts[-1], sheet.version]
        self.line(" · ".join(facts), "dim")
        if sheet.reference_told:
            self.line(f"Reference: {sheet.reference_told}.")
        if looks := sheet.facts.looks_told:
            self.line(f"Looks: {looks}")
        if missing := sheet.facts.missing_labels:
            self.line(f"Labels: {missing}.")

    def verdicts(self) -> None:
        """The verdict on each judge that has one."""
        for judge in self.summary.measured:
            verdict = self.summary.verdict(judge.name)
            if verdict is not None:
                print_verdict(self, verdict, remedy_brief(self.summary.datasheet, verdict.judge))

    def word(self, judge: str, title: str) -> Text:
        """The word of one reading, in its colour."""
        reading = self.summary.reading(judge, title)
        word = numbers.NOT_MEASURED if reading is None else reading.word
        return self.text(word, STYLES.get(word, "dim" if reading is None else ""))

    def grid(self, names: Sequence[str], label: int, column: int | None, style: str = "") -> Table:
        """A table of labels and a column for each name, as wide as its content where no width is given."""
        table = Table(box=None, padding=(0, 1, 0, 0), pad_edge=False, header_style=f"bold {style}".strip())
        table.add_column("", width=label, overflow="fold")
        for name in names:
            table.add_column(self.text(name), width=column, overflow="fold", style=style)
        return table
