"""What the reports on a terminal share: lines, status words in colour, the opening, the conclusions."""

from __future__ import annotations

from collections.abc import Sequence

from rich.console import Console
from rich.padding import Padding
from rich.table import Table
from rich.text import Text

from steelyard.core.content_hash import short_hash
from steelyard.core.text import pluralize
from steelyard.datasheet.conclusion import CARE, NO_FAULT, TOO_LITTLE, UNFIT, Conclusion, also_flagged
from steelyard.datasheet.sections.key_figures import headline
from steelyard.datasheet.sections.remedies import remedy_brief
from steelyard.datasheet.sections.summary import Summary, cost_summary
from steelyard.datasheet.words import numbers
from steelyard.datasheet.words.text import ascii_only

STYLES = {"clear": "green", "flagged": "bold red", "inconclusive": "yellow", "undefined": "magenta"}


class Printer:
    def __init__(self, console: Console) -> None:
        self.console = console
        self.plain = not (console.encoding or "utf-8").lower().startswith("utf")

    def text(self, content: str, style: str = "") -> Text:
        return Text(ascii_only(content) if self.plain else content, style)

    def line(self, content: str | Text = "", style: str = "") -> None:
        """One paragraph, without rich's colours for numbers."""
        shown = content if isinstance(content, Text) else self.text(content, style)
        self.console.print(shown, highlight=False)

    def whole(self, content: str | Text) -> None:
        """One line that is never broken, so that what it holds can be copied."""
        shown = content if isinstance(content, Text) else self.text(content)
        self.console.print(shown, highlight=False, soft_wrap=True)

    def indented(self, content: str | Text) -> None:
        shown = content if isinstance(content, Text) else self.text(content)
        self.console.print(Padding(shown, (0, 0, 0, 2)), highlight=False)


COLOURS = {
    UNFIT: STYLES["flagged"],
    CARE: STYLES["inconclusive"],
    NO_FAULT: STYLES["clear"],
    TOO_LITTLE: STYLES["undefined"],
}


def print_verdict(printer: Printer, verdict: Conclusion, remedy: str = "") -> None:
    printer.console.print()
    heading = printer.text(f"{verdict.judge}: ", "bold")
    heading.append_text(printer.text(verdict.word, COLOURS.get(verdict.word, "")))
    printer.line(heading)
    for fact in verdict.facts:
        printer.indented(printer.text(f"{fact.sentence}{also_flagged(fact)}"))
    for opening, text in (
        ("so: ", verdict.so),
        ("remedy: ", remedy),
        ("next: ", "" if verdict.next is None else verdict.next.sentence),
    ):
        if text:
            line = printer.text(opening, "bold")
            line.append_text(printer.text(text))
            printer.indented(line)
    if verdict.command:
        printer.whole(f"  {verdict.command}")


class Opening(Printer):
    def __init__(self, summary: Summary, console: Console) -> None:
        super().__init__(console)
        self.summary = summary

    def header(self, *, short: bool = False) -> None:
        """Name, facts of the run, and what labels are where a judge gave them."""
        sheet, summary = self.summary.datasheet, self.summary
        if sheet.partial:
            self.line(sheet.partial_sentence, STYLES["inconclusive"])
        calls = pluralize(summary.calls, "call") if summary.calls else "calls not recorded"
        facts = [sheet.name, f"{sheet.profile} profile", calls]
        if short:
            facts += filter(None, [cost_summary(sheet.facts)])
            if len(summary.measured) == 1:
                facts.insert(0, sheet.kind)
            else:
                self.line(f"{sheet.kind}: {headline(summary)}", "bold")
        else:
            self.line(f"{sheet.kind}: {sheet.title}", "bold")
            facts += [f"stimuli {short_hash(sheet.stimulus_set)}", f"seed {sheet.seed}", sheet.version]
        self.line(" · ".join(facts), "dim")
        if sheet.reference_sentence:
            self.line(f"Reference: {sheet.reference_sentence}.")
        if looks := sheet.facts.looks_sentence:
            self.line(f"Looks: {looks}")
        if missing := sheet.facts.missing_labels:
            self.line(f"Labels: {missing}.")

    def verdicts(self) -> None:
        for judge in self.summary.measured:
            verdict = self.summary.verdict(judge.name)
            if verdict is not None:
                print_verdict(self, verdict, remedy_brief(self.summary.datasheet, verdict.judge))

    def word(self, judge: str, title: str) -> Text:
        finding = self.summary.finding(judge, title)
        word = numbers.NOT_MEASURED if finding is None else finding.status
        return self.text(word, STYLES.get(word, "dim" if finding is None else ""))

    def grid(self, names: Sequence[str], label: int, column: int | None, style: str = "") -> Table:
        """A table of labels and a column for each name, as wide as its content where no width is given."""
        table = Table(box=None, padding=(0, 1, 0, 0), pad_edge=False, header_style=f"bold {style}".strip())
        table.add_column("", width=label, overflow="fold")
        for name in names:
            table.add_column(self.text(name), width=column, overflow="fold", style=style)
        return table
