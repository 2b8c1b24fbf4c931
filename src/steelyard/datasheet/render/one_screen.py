"""The datasheet on one screen of a terminal: a word for every judge and question, then the verdicts."""

from __future__ import annotations

from collections.abc import Sequence

from rich.console import Console
from rich.text import Text

from steelyard.datasheet.datasheet import Datasheet
from steelyard.datasheet.judge_entry import JudgeEntry
from steelyard.datasheet.render.printer import Opening
from steelyard.datasheet.sections.summary import Summary, even_groups, summarise

WORD = len("inconclusive") + 2
"""Columns that a word takes, with the space before the next."""
WITHOUT_LIMIT = "measured"
"""The word of a reading that has no limit to be held against: a row of it alone decides nothing."""


def render(datasheet: Datasheet, console: Console) -> None:
    _Brief(summarise(datasheet), console).show()


class _Brief(Opening):
    def __init__(self, summary: Summary, console: Console) -> None:
        super().__init__(summary, console)
        titles = summary.finding_titles()
        self.titles = [title for title in titles if not self._without_limit(title)]
        self.others = [title for title in titles if self._without_limit(title)]
        self.label = max((len(title) for title in titles), default=0) + 1

    def show(self) -> None:
        self.header(short=True)
        names = self._columns()
        if self.titles:
            for judges in even_groups(self.summary.measured, max(1, self._room // WORD)):
                self._matrix(judges, names)
        if self.others:
            self.line(f"Measured, without a limit: {', '.join(self.others)}.", "dim")
        self.verdicts()

    @property
    def _room(self) -> int:
        return self.console.width - self.label

    def _without_limit(self, title: str) -> bool:
        words = {finding.status for finding in self.summary.datasheet.findings if finding.title == title}
        return words == {WITHOUT_LIMIT}

    def _columns(self) -> dict[str, str]:
        """The head of each judge's column: its name, or a number where a name is wider than its column."""
        judges = self.summary.measured
        groups = even_groups(judges, max(1, self._room // WORD))
        most = max((len(group) for group in groups), default=1)
        if all(Text(judge.name).cell_len < max(WORD, self._room // most) for judge in judges):
            return {judge.name: judge.name for judge in judges}
        if len(judges) == 1:
            self.console.print()
            self.whole(self.text(judges[0].name, "bold"))
            return {judges[0].name: ""}
        self.console.print()
        for number, judge in enumerate(judges, start=1):
            self.whole(self.text(f"{number}  {judge.name}", "bold"))
        return {judge.name: str(number) for number, judge in enumerate(judges, start=1)}

    def _matrix(self, judges: Sequence[JudgeEntry], names: dict[str, str]) -> None:
        shown = [names[judge.name] for judge in judges]
        table = self.grid(shown, self.label, None)
        table.show_header = any(shown)
        for title in self.titles:
            table.add_row(self.text(title), *(self.word(judge.name, title) for judge in judges))
        if shown == [judge.name for judge in judges]:
            self.console.print()
        self.console.print(table)
