"""All judges of all runs in one table: what is shown of each, and which of them pass a filter, in order."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime

from steelyard.commands.history import JudgeCertificate, certificate_of
from steelyard.commands.view.viewed_run import ViewedRun
from steelyard.datasheet.conclusion import CARE, NO_FAULT, TOO_LITTLE, UNFIT, Conclusion
from steelyard.datasheet.datasheet import Datasheet
from steelyard.datasheet.judge_entry import JudgeEntry
from steelyard.datasheet.questions.question import Counts
from steelyard.datasheet.sections.first_screen import Row
from steelyard.datasheet.sections.summary import cost_summary
from steelyard.metrics.proportions import UNREADABLE_RATE
from steelyard.metrics.run.losses import PROBE as RUN
from steelyard.web.view.calls import Links

KEY_FIGURES = 3
NO_CERTIFICATE = "none"
VERDICTS = (NO_FAULT, CARE, TOO_LITTLE, UNFIT)

Opened = tuple[ViewedRun, Links, Datasheet | None, str]
"""A run with its links, its datasheet and what keeps that from being read."""


@dataclass(frozen=True)
class OverviewRow:
    run: ViewedRun
    links: Links
    sheet: Datasheet | None
    fault: str
    judge: JudgeEntry | None = None
    figures: tuple[Row | None, ...] = ()
    certificate: JudgeCertificate | None = None
    is_first: bool = True
    """Whether it is the first of its run, which shows the progress."""

    @property
    def side(self) -> str:
        return f"{self.links.run}:{self.judge.name}" if self.judge else ""

    @property
    def name(self) -> str:
        return self.judge.name if self.judge else self.run.path.name

    @property
    def verdict(self) -> Conclusion | None:
        mine = (each for each in self.sheet.verdicts if each.judge == self.name) if self.sheet else iter(())
        return next(mine, None)

    @property
    def calls(self) -> int | None:
        """Calls of the judge; of the whole run where the datasheet does not say."""
        if self.sheet is None:
            return None
        own = [e.n_calls for e in self.sheet.of(self.name, UNREADABLE_RATE.id, RUN) if not e.group]
        return max(own, default=self.sheet.facts.calls or None)

    @property
    def _is_alone(self) -> bool:
        return self.sheet is not None and sum(not judge.baseline for judge in self.sheet.judges) == 1

    @property
    def dollars(self) -> float | None:
        """What its calls cost; None where nobody knows, or only that of several judges together."""
        spent = None if self.sheet is None else self.sheet.facts.dollars
        return spent if self._is_alone or spent == 0 else None

    @property
    def price(self) -> str:
        if self.sheet is None or self.judge is None:
            return "–"
        spent = cost_summary(self.sheet.facts)
        spent = spent.removeprefix("price ")
        return f"{spent} for all judges" if spent and not self._is_alone else spent or "free"

    @property
    def finished(self) -> str:
        return (self.sheet.facts.finished or "") if self.sheet else ""

    def certificate_state(self, now: datetime) -> str:
        return self.certificate.state(now) if self.certificate else NO_CERTIFICATE

    @property
    def words(self) -> str:
        """What a search looks through."""
        sheet, verdict = self.sheet, self.verdict
        known = (sheet.name, sheet.profile, sheet.partial or "") if sheet else ("no datasheet",)
        parts = (self.name, self.run.path.name, *known, verdict.word if verdict else "", self.fault)
        return " ".join(parts).casefold()


def overview_rows(opened: Iterable[Opened]) -> tuple[list[str], list[OverviewRow]]:
    """The names of the key figures, and a row for each judge of each run, baselines left out."""
    rows: list[OverviewRow] = []
    for run, links, sheet, fault in opened:
        judges = [judge for judge in sheet.judges if not judge.baseline] if sheet else []
        for number, judge in enumerate(judges):
            assert sheet is not None
            own = certificate_of(run.path, sheet, judge)
            rows.append(OverviewRow(run, links, sheet, fault, judge, (), own, is_first=not number))
        if not judges:
            rows.append(OverviewRow(run, links, sheet, fault))
    cells = [_figures(row) for row in rows]
    counts = Counter(key for each in cells for key in each)
    merits = {
        key for each in cells for key, row in each.items() if row.decision.question.counts is Counts.MERIT
    }
    ranked = sorted(counts, key=lambda key: (key not in merits, -counts[key], list(counts).index(key)))
    columns = ranked[:KEY_FIGURES]
    filled = [
        replace(row, figures=tuple(mine.get(key) for key in columns))
        for row, mine in zip(rows, cells, strict=True)
    ]
    names = [next(each[key].decision.question.title for each in cells if key in each) for key in columns]
    return names, filled


def _figures(row: OverviewRow) -> dict[str, Row]:
    """The answers that count for the verdict of a judge, by the title of the question."""
    if row.sheet is None or row.judge is None:
        return {}
    mine = [each for each in row.sheet.findings if each.judge == row.judge.name and each.counts and each.rows]
    return {decision.title: Row(decision, decision.rows[0]) for decision in mine}


def choose(rows: Iterable[OverviewRow], wanted: Mapping[str, str], now: datetime) -> list[OverviewRow]:
    """The rows that pass every condition, sorted; `-` before a column puts the largest first."""
    words = wanted.get("find", "").casefold().split()
    kept = [
        row
        for row in rows
        if all(word in row.words for word in words)
        and wanted.get("verdict") in (None, "", row.verdict.word if row.verdict else None)
        and wanted.get("study") in (None, "", row.sheet.name if row.sheet else None)
        and wanted.get("certificate") in (None, "", row.certificate_state(now))
    ]
    sort = wanted.get("sort", "")
    key = _sort_key(sort.removeprefix("-"), now)
    if key is None:
        return kept
    known = [row for row in kept if key(row) is not None]
    ordered = sorted(known, key=lambda row: _comparable(key(row)), reverse=sort.startswith("-"))
    return [*ordered, *(row for row in kept if key(row) is None)]


def _comparable(value: str | float | None) -> tuple[float, str]:
    return (0.0, value.casefold()) if isinstance(value, str) else (value or 0.0, "")


def _sort_key(column: str, now: datetime) -> Callable[[OverviewRow], str | float | None] | None:
    keys: dict[str, Callable[[OverviewRow], str | float | None]] = {
        "judge": lambda row: row.name,
        "verdict": lambda row: VERDICTS.index(row.verdict.word) if row.verdict else None,
        "calls": lambda row: row.calls,
        "price": lambda row: row.dollars,
        "date": lambda row: row.finished or None,
        "certificate": lambda row: row.certificate_state(now) if row.certificate else None,
        "study": lambda row: row.sheet.name if row.sheet else None,
    }
    if column.startswith("figure") and column[6:].isdecimal():
        place = int(column[6:])
        return lambda row: (
            figure.estimate.value
            if place < len(row.figures) and (figure := row.figures[place]) is not None
            else None
        )
    return keys.get(column)


@dataclass(frozen=True)
class TogetherRow:
    """One question over several judges."""

    title: str
    figures: tuple[Row | None, ...]


def together(rows: Sequence[OverviewRow]) -> list[TogetherRow]:
    """Every question that counts for one of the judges, in reading order of the first that has it."""
    cells = [_figures(row) for row in rows]
    titles = dict.fromkeys(key for each in cells for key in each)
    return [
        TogetherRow(
            next(each[key].decision.row_title for each in cells if key in each),
            tuple(each.get(key) for each in cells),
        )
        for key in titles
    ]
