"""All judges of all runs in one table, filtered and in order; two of them side by side, with their calls."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from pathlib import Path
from urllib.parse import urlencode

import numpy as np
from starlette.requests import Request
from starlette.responses import HTMLResponse, Response

from steelyard.commands.call_index import CallFilter, differing_rows
from steelyard.commands.compare import Verdicts, compare_judges, load_verdicts
from steelyard.commands.history import JudgeCertificate, certificate_of
from steelyard.commands.viewed_run import CallDetail, LoadedRun, ViewedRun, details
from steelyard.core.text import escape_keeping_lines, pluralize, replace_lone_surrogates
from steelyard.datasheet.comparison import report as comparison_report
from steelyard.datasheet.comparison.report import DifferingAnswer, DifferingCall, DifferingCalls
from steelyard.datasheet.comparison.sheet import ComparisonSheet
from steelyard.datasheet.conclusion import CARE, NO_FAULT, TOO_LITTLE, UNFIT, Conclusion
from steelyard.datasheet.datasheet import Datasheet
from steelyard.datasheet.glossary import probe_title
from steelyard.datasheet.instrument_card import JudgeEntry
from steelyard.datasheet.questions.question import Counts
from steelyard.datasheet.render.html.document import page_policy
from steelyard.datasheet.sections.first_screen import Row, figure_beside
from steelyard.datasheet.sections.summary import cost_summary, summarise
from steelyard.errors import ConfigError, UsageError
from steelyard.metrics.proportions import UNREADABLE_RATE
from steelyard.metrics.run.losses import PROBE as RUN
from steelyard.stimuli.stimulus import reference_label
from steelyard.web.calls import Links
from steelyard.web.pages import page, page_number
from steelyard.web.server import error_page

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

    def beside(self, shown: Row) -> Row | None:
        """The figure that decides for another judge, where none of this judge's does."""
        if self.sheet is None or self.judge is None:
            return None
        return figure_beside(summarise(self.sheet), self.judge.name, shown)

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


def together(rows: Sequence[OverviewRow]) -> list[tuple[str, list[Row | None]]]:
    """Every question that counts for one of the judges, in reading order of the first that has it."""
    cells = [_figures(row) for row in rows]
    first = {key: next(each[key] for each in cells if key in each) for each in cells for key in each}
    return [
        (
            shown.decision.row_title,
            [own.get(key) or row.beside(shown) for row, own in zip(rows, cells, strict=True)],
        )
        for key, shown in first.items()
    ]


SIDES = ("first", "second")
SIDE_BY_SIDE = 8
"""Calls that a comparison shows with both replies; a page of their own has all."""
EXCERPT = 400
"""Letters of a reply beside the other."""
RIGHT = {"A": "A right, B not", "B": "B right, A not", "none": "neither right"}
"""Filter by who is right to its words."""


@dataclass(frozen=True)
class ComparedSide:
    run: ViewedRun
    loaded: LoadedRun
    links: Links
    judge: str


@dataclass(frozen=True)
class DifferingPairs:
    first: ComparedSide
    second: ComparedSide
    rows: Sequence[tuple[int, int]]

    @classmethod
    def of(cls, first: ComparedSide, second: ComparedSide) -> DifferingPairs:
        rows = differing_rows(first.loaded.index, first.judge, second.loaded.index, second.judge)
        return cls(first, second, rows)

    @property
    def probes(self) -> list[str]:
        calls = self.first.loaded.index.calls
        found = {str(calls.shown.probe[int(calls.stimulus[row])]) for row, _ in self.rows}
        return sorted(found)

    def having(self, probe: str, right: str) -> DifferingPairs:
        """Those of a probe, and those in which one judge or neither is right; an empty one lets all pass."""
        one, other = self.first.loaded.index, self.second.loaded.index
        asked = one.mask(CallFilter(probe=probe)) if probe else np.ones(len(one.calls), dtype=np.bool_)
        kept = []
        for row, found in self.rows:
            wrong = bool(one.answers.wrong[row]), bool(other.answers.wrong[found])
            held = one.answers.has_reference[row] and other.answers.has_reference[found]
            who = {(False, True): "A", (True, False): "B", (True, True): "none"}.get(wrong, "")
            if asked[row] and (not right or (held and who == right)):
                kept.append((row, found))
        return DifferingPairs(self.first, self.second, kept)

    def shown(self, start: int, stop: int) -> list[DifferingCall]:
        part = self.rows[start:stop]
        sides = (self.first, self.second)
        found = (
            details(side.run, side.loaded, [pair[number] for pair in part], explained=False)
            for number, side in enumerate(sides)
        )
        calls = []
        for pair, both in zip(part, zip(*found, strict=True), strict=True):
            answers = [_answer(*each) for each in zip(sides, pair, both, strict=True)]
            calls.append(_call(answers, both[0]))
        return calls


def _call(answers: Sequence[DifferingAnswer], detail: CallDetail) -> DifferingCall:
    seen = detail.observation
    shown = seen.stimulus
    order = f", order {seen.order}" if len(shown.texts) == 2 else ""
    protocol = "" if seen.protocol == "base" else f", {seen.protocol}"
    about = f"{probe_title(shown.probe)}, {shown.kind}{protocol}{order}, repeat {seen.replicate}"
    label = reference_label(shown.expectation)
    told = None if label is None else escape_keeping_lines(label)
    return DifferingCall(escape_keeping_lines(shown.id), about, told, (answers[0], answers[1]))


def _answer(side: ComparedSide, row: int, detail: CallDetail) -> DifferingAnswer:
    index, seen = side.loaded.index, detail.observation
    stored = detail.stored
    text = stored.reply.reply.text if stored is not None and stored.reply is not None else "not recorded"
    excerpt = text if len(text) <= EXCERPT else text[:EXCERPT] + "…"
    word = "" if not index.answers.has_reference[row] else "wrong" if index.answers.wrong[row] else "right"
    address = side.links.call(detail.id, seen.stimulus.id)
    return DifferingAnswer(str(index.answer_words[row]), escape_keeping_lines(excerpt), address, word)


class ComparisonPages:
    def __init__(
        self, runs: Sequence[ViewedRun], links: Callable[[int], Links], page_size: int, *, still: bool
    ) -> None:
        self.runs, self._links, self._page_size, self._still = runs, links, page_size, still
        self._verdicts: dict[Path, tuple[int, Verdicts]] = {}

    def side(self, text: str) -> tuple[Verdicts, JudgeEntry]:
        """The verdicts of the run that `0:judge` names, read once for a datasheet, and the judge."""
        number, _, judge = text.partition(":")
        if not number.isdecimal() or int(number) >= len(self.runs):
            raise ConfigError("Choose two judges on the overview to compare them.")
        run = self.runs[int(number)]
        written = run.published.written if run.published else 0
        if not written or self._verdicts.get(run.path, (0,))[0] != written:
            self._verdicts[run.path] = written, load_verdicts(run.path)
        verdicts = self._verdicts[run.path][1]
        return verdicts, verdicts.pick(judge or None)

    def _compared(self, first: str, second: str) -> ComparisonSheet:
        sheet = compare_judges(*self.side(first), *self.side(second))
        names = [Path(side.folder).name for side in (sheet.first, sheet.second)]
        if names[0] == names[1] and sheet.first.folder != sheet.second.folder and not self._still:
            return sheet  # pages that others get never tell where a folder lies
        sides = [replace(side, folder=n) for side, n in zip((sheet.first, sheet.second), names, strict=True)]
        return replace(sheet, first=sides[0], second=sides[1])

    def compare(self, request: Request) -> Response:
        try:
            sides = _two_sides(request)
            sheet = self._compared(*sides)
        except UsageError as error:
            return error_page(400, str(error))
        pairs = self._differing(*sides)
        links = [pairs.first.links, pairs.second.links]

        def differing(side: int, **more: str) -> str:
            judge = (sheet.first, sheet.second)[side].judge
            return links[side].calls(CallFilter(judge=judge, differs=sides[1 - side], **more))

        every = (
            differing(0) if self._still else f"/differing?{urlencode(dict(zip(SIDES, sides, strict=True)))}"
        )
        text = comparison_report.page(
            sheet,
            home="/",
            datasheets=[each.sheet() for each in links],
            differing=differing,
            calls=DifferingCalls(pairs.shown(0, SIDE_BY_SIDE), len(pairs.rows), every),
        )
        return HTMLResponse(replace_lone_surrogates(text), headers={"content-security-policy": page_policy()})

    def differing(self, request: Request) -> Response:
        """Every call that two judges answer differently, with both replies."""
        try:
            sides = _two_sides(request)
            every = self._differing(*sides)
        except UsageError as error:
            return error_page(400, str(error))
        probe, right = (request.query_params.get(name, "")[:300] for name in ("probe", "right"))
        chosen = every.having(probe, right)
        number, last = page_number(request, len(chosen.rows), self._page_size)
        asked = {**dict(zip(SIDES, sides, strict=True)), "probe": probe, "right": right}
        return page(
            request,
            "view_differing.html.j2",
            calls=chosen.shown((number - 1) * self._page_size, number * self._page_size),
            names=[f"{side.judge} ({side.run.path.name})" for side in (every.first, every.second)],
            sides=sides,
            total=len(chosen.rows),
            among=len(every.rows),
            probes=every.probes,
            probe=probe,
            right=right,
            right_words=RIGHT,
            number=number,
            last=last,
            address=f"/differing?{urlencode(asked)}",
            still=self._still,
        )

    def _differing(self, first: str, second: str) -> DifferingPairs:
        sides = []
        for text in (first, second):
            _, judge = self.side(text)
            number = int(text.partition(":")[0])
            run = self.runs[number]
            sides.append(ComparedSide(run, run.load(), self._links(number), judge.name))
        return DifferingPairs.of(*sides)


def _two_sides(request: Request) -> tuple[str, str]:
    """Two judges as the overview ticks them or as links name them."""
    ticked = request.query_params.getlist("side")
    sides = ticked or [request.query_params.get(side, "") for side in SIDES]
    if len(sides) != 2:
        raise ConfigError(f"Found {pluralize(len(sides), 'judge')}, expected two: go back and tick two.")
    return sides[0], sides[1]
