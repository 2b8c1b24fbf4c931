"""A comparison on a terminal: one line per figure, then what was left out and what the words mean."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import groupby

from rich.console import Console
from rich.table import Table
from rich.text import Text

from steelyard.datasheet.comparison.rows import condition, dropped, interval, label, probability
from steelyard.datasheet.comparison.sheet import ComparisonSheet
from steelyard.datasheet.render.printer import STYLES, Printer
from steelyard.datasheet.words import numbers
from steelyard.datasheet.words.glossary import MARKS, metric_named
from steelyard.metrics.comparison.comparison import BEYOND, Comparison
from steelyard.metrics.findings import CLEAR
from steelyard.metrics.stats.significance import PAIRS

_COLUMNS = (
    (120, ("p", "q", "detects", "units/clusters")),
    (96, ("q", "detects", "units/clusters")),
    (80, ("q", "detects")),
    (72, ("q",)),
    (0, ()),
)
"""Width of the console, and the columns that it has room for between interval and finding."""


def render(comparison: ComparisonSheet, console: Console) -> None:
    _ComparisonReport(comparison.escaped(), console).show()


class _ComparisonReport(Printer):
    def __init__(self, sheet: ComparisonSheet, console: Console) -> None:
        super().__init__(console)
        self.sheet = sheet
        self.tests = next(names for width, names in _COLUMNS if console.width >= width)

    def show(self) -> None:
        self._header()
        self.console.print()
        for number, sentence in enumerate(self.sheet.answer()):
            self.line(sentence, "" if number else "bold")
        self.console.print()
        self.console.print(self._table())
        self._left_out()
        self.console.print()
        self.line(self.sheet.sentence(), "bold")
        self._legend()

    def _header(self) -> None:
        self.line("Comparison on shared stimuli", "bold")
        for name, side in (("A", self.sheet.first), ("B", self.sheet.second)):
            line = self.text(f"{name}  ", "bold")
            line.append_text(self.text(f"{side.judge}{side.model_suffix}"))
            line.append_text(self.text(f"  {side.folder}", "dim"))
            self.line(line)
            if side.reference:
                self.line(f"   {side.reference_sentence}")
            if side.partial:
                self.line(f"   {side.partial}", STYLES["inconclusive"])
        if said := self.sheet.namesakes():
            self.line(said)
        facts = (f"stimuli matched by {self.sheet.matched}", f"margin {self.sheet.margin:g}")
        self.line(" · ".join((*facts, self.sheet.version)), "dim")

    def _table(self) -> Table:
        table = Table(box=None, padding=(0, 1, 0, 0), pad_edge=False, header_style="bold")
        table.add_column("", overflow="fold")
        for name in ("A", "B", self.text("B − A").plain):
            table.add_column(name, justify="right", no_wrap=True)
        table.add_column("95 % interval", no_wrap=True)
        for name in self.tests:
            table.add_column(name.replace("/", "/\n"), justify="right", no_wrap=True)
        table.add_column("finding", no_wrap=True)
        for name, row in self._rows_with_names():
            table.add_row(self.text(name), *(self._cells(row) if row else ()))
        return table

    def _rows_with_names(self) -> Iterator[tuple[str, Comparison | None]]:
        """Rows with their names; those of one metric below its name, which has no figure itself."""
        for metric, together in groupby(self.sheet.asked_of_both, lambda row: row.metric):
            rows = list(together)
            if len(rows) == 1:
                yield label(rows[0]), rows[0]
                continue
            yield metric_named(metric).short, None
            yield from (("  " + (condition(row) or "all"), row) for row in rows)

    def _cells(self, row: Comparison) -> list[Text]:
        if row.difference is None or row.first is None or row.second is None:
            blank = [Text("")] * (4 + len(self.tests))
            return [*blank, self.text("undefined", STYLES["undefined"])]
        style = STYLES.get(row.status or "", "")
        tests = {
            "p": probability(row.p),
            "q": probability(row.q),
            "detects": numbers.decimal(row.minimum_detectable or 0.0),
            "units/clusters": f"{row.n_shared}/{row.n_clusters}",
        }
        signed = metric_named(row.metric).signed
        return [
            *(self.text(numbers.decimal(share, signed=signed)) for share in (row.first, row.second)),
            self.text(numbers.decimal(row.difference, signed=True), style),
            self.text(interval(row), style),
            *(self.text(tests[name], "dim") for name in self.tests),
            self.text(MARKS.get(row.status or "", " ") + " " + _status_words(row), style),
        ]

    def _left_out(self) -> None:
        """What was dropped and why; figures with the same losses on one line."""
        losses: dict[str, list[str]] = {}
        for row in self.sheet.asked_of_both:
            if dropped(row):
                losses.setdefault(dropped(row), []).append(label(row))
        if losses or self.sheet.asked_of_one():
            self.console.print()
            self.line("Left out: no verdict from both judges", "bold")
        for loss, names in losses.items():
            shown = ", ".join(names[:3]) + (f" and {len(names) - 3} more" if len(names) > 3 else "")
            self.indented(f"{loss}: {shown}")
        for line in self.sheet.asked_of_one():
            self.indented(line)

    def _legend(self) -> None:
        if any(row.flipped == PAIRS for row in self.sheet.defined):
            self.line("fewer than 6 clusters: p and q speak of these clusters only", STYLES["inconclusive"])
        margin = f"{self.sheet.margin:g}"
        self.line(
            f"clear: within ±{margin} · ! flagged: q ≤ 0.05, corrected for all figures · ? neither", "dim"
        )
        if "detects" in self.tests:
            self.line("detects: the difference that q would show in four comparisons of five", "dim")


def _status_words(row: Comparison) -> str:
    if row.status == CLEAR and row.differs:
        return f"{CLEAR}, differs"
    return f"{row.status}, {BEYOND}" if row.against_margin == BEYOND else row.status or ""
