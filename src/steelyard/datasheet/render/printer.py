"""What the reports on a terminal share: lines, status words in colour, the opening, the conclusions."""

from __future__ import annotations

from collections.abc import Sequence

from rich.console import Console
from rich.padding import Padding
from rich.table import Table
from rich.text import Text

from steelyard.core.content_hash import short_hash
from steelyard.core.text import ascii_only, pluralize
from steelyard.datasheet.conclusion import CARE, NO_FAULT, TOO_LITTLE, UNFIT, Conclusion
from steelyard.datasheet.glossary import STATE_CLASSES
from steelyard.datasheet.questions.question import State
from steelyard.datasheet.render import clauses
from steelyard.datasheet.sections.first_screen import headline
from steelyard.datasheet.sections.summary import Summary, cost_summary

FINE, OUTSIDE, OPEN, ABSENT = "green", "bold red", "yellow", "magenta"
STYLES = {"clear": FINE, "flagged": OUTSIDE, "inconclusive": OPEN, "undefined": ABSENT}
"""Colours by the words of JSON."""
STATES = {state: STYLES[STATE_CLASSES[state.value]] for state in State}


class Printer:
    def __init__(self, console: Console) -> None:
        self.console = console
        self.plain = not (console.encoding or "utf-8").lower().startswith("utf")

    def text(self, content: str | Text, style: str = "") -> Text:
        if isinstance(content, Text):
            return content
        return Text(ascii_only(content) if self.plain else content, style)

    def line(self, content: str | Text = "", style: str = "") -> None:
        """One paragraph, without rich's colours for numbers."""
        self.console.print(self.text(content, style), highlight=False)

    def heading(self, content: str) -> None:
        self.console.print()
        self.line(content, "bold")

    def whole(self, content: str | Text) -> None:
        """One line that is never broken, so that what it holds can be copied."""
        self.console.print(self.text(content), highlight=False, soft_wrap=True)

    def indented(self, content: str | Text) -> None:
        self.console.print(Padding(self.text(content), (0, 0, 0, 2)), highlight=False)


def colour_of(verdict: Conclusion) -> str:
    """Green is for a judge without a fault and with nothing undecided."""
    colours = {UNFIT: OUTSIDE, CARE: OPEN, NO_FAULT: OPEN, TOO_LITTLE: ABSENT}
    return FINE if clauses.is_settled(verdict) else colours[verdict.word]


class Opening(Printer):
    def __init__(self, summary: Summary, console: Console) -> None:
        super().__init__(console)
        self.summary = summary

    def header(self, *, short: bool = False) -> None:
        """Name, facts of the run, and what labels are where a judge gave them."""
        sheet, summary = self.summary.datasheet, self.summary
        if sheet.partial:
            self.line(sheet.partial_sentence, OPEN)
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
        if asked := sheet.facts.materials_sentence:
            self.line(asked, "dim")
        for opening, words in sheet.remarks.items():
            self.line(f"{opening}: {words.removesuffix('.')}.")

    def verdicts(self) -> None:
        for verdict in filter(None, (self.summary.verdict(judge.name) for judge in self.summary.measured)):
            self.console.print()
            heading = self.text(f"{verdict.judge}: ", "bold")
            self.line(heading.append_text(self.text(clauses.headword(verdict), colour_of(verdict))))
            for fact in verdict.facts:
                self.indented(clauses.text(clauses.fact_phrase(fact)))
            for opening, words in clauses.what_follows(self.summary.datasheet, verdict):
                self.indented(self.text(f"{opening}: ", "bold").append_text(self.text(words)))
            if verdict.command:
                self.whole(f"  {verdict.command}")

    def word(self, judge: str, title: str) -> Text:
        decision = self.summary.finding(judge, title)
        state = None if decision is None else decision.state
        style = "dim" if state is None else STATES[state]
        return self.text(clauses.state_text(decision) or "no limit", style)

    def grid(self, names: Sequence[str], label: int, column: int | None, style: str = "") -> Table:
        """A table of labels and a column for each name, as wide as its content where no width is given."""
        table = Table(box=None, padding=(0, 1, 0, 0), pad_edge=False, header_style=f"bold {style}".strip())
        table.add_column("", width=label, overflow="fold")
        for name in names:
            table.add_column(self.text(name), width=column, overflow="fold", style=style)
        return table
