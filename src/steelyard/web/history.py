"""History of a judge over several runs: a chart for each figure of a verdict, and the runs that changed."""

from __future__ import annotations

import re
from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from functools import partial

from markupsafe import Markup
from starlette.requests import Request
from starlette.responses import Response

from steelyard.commands.compare import Verdicts
from steelyard.commands.history import (
    RUNS_A_YEAR,
    JudgeSeries,
    PairedTest,
    RunPoint,
    address,
    changed,
    kept_tests,
    paired_tests,
    pairs_needed,
    run_alpha,
    with_enough_pairs,
)
from steelyard.commands.viewed_run import ViewedRun
from steelyard.core.text import capital, pluralize, replace_lone_surrogates
from steelyard.datasheet import numbers
from steelyard.datasheet.comparison.rows import p_text
from steelyard.datasheet.conclusion import Conclusion
from steelyard.datasheet.estimate_index import EstimateIndex
from steelyard.datasheet.glossary import metric_named
from steelyard.datasheet.instrument_card import JudgeEntry
from steelyard.datasheet.questions.question import Decision, Test
from steelyard.datasheet.render.html.charts.trend import (
    CHANGED,
    REFERENCE,
    SAME,
    UNPAIRED,
    TrendEvent,
    TrendPoint,
    interval_text,
    trend_chart,
)
from steelyard.datasheet.render.html.drawing.chart import Chart, chart_svg
from steelyard.datasheet.sections.first_screen import Row
from steelyard.errors import SteelyardError
from steelyard.metrics.stats.intervals import ALPHA
from steelyard.web.calls import Links, csv_lines
from steelyard.web.pages import download, page
from steelyard.web.server import error_page

MOST_NAMED = 3
"""Figures of a change that its sentence says; all are marked."""
Paired = Callable[[RunPoint, RunPoint, Collection[str]], dict[str, PairedTest]]
"""From two runs of a judge and the addresses of figures to the tests of those that can be paired."""


@dataclass(frozen=True)
class Charted:
    """The first figure of a metric of a question, as the earliest run with it has it."""

    decision: Decision
    test: Test

    @property
    def figure(self) -> str:
        return address(self.test.estimate)

    @property
    def words(self) -> str:
        return self.test.name or self.decision.row_title

    @property
    def name(self) -> str:
        return capital(self.words)

    @property
    def id(self) -> str:
        """`failures-failed-rate`: the question and the metric, once where they have one name."""
        words = (self.decision.question.name.lower(), self.test.estimate.metric)
        return "-".join(dict.fromkeys(re.sub(r"[^a-z0-9]+", "-", word).strip("-") for word in words))


@dataclass(frozen=True)
class HistoryRow:
    point: RunPoint
    word: Conclusion | None
    figures: tuple[Row | None, ...]
    state: str
    """What the comparison with the reference says; of the whole run."""
    sentence: str
    moved: Collection[str] = ()
    """Addresses of the figures that changed."""
    reference: RunPoint | None = None
    tested: Collection[str] = ()
    """Addresses of the figures that were tested."""

    def has_moved(self, charted: Charted) -> bool:
        return charted.figure in self.moved

    def state_of(self, charted: Charted) -> str:
        """What the comparison says of one figure."""
        if self.state not in (SAME, CHANGED):
            return self.state
        return UNPAIRED if charted.figure not in self.tested else CHANGED if self.has_moved(charted) else SAME


@dataclass(frozen=True)
class History:
    series: JudgeSeries
    charted: tuple[Charted, ...]
    rows: tuple[HistoryRow, ...]
    """Newest first."""
    charts: tuple[Chart, ...]
    rule: str
    """How changes are tested, in sentences."""

    def _having(self, state: str) -> list[HistoryRow]:
        return [row for row in reversed(self.rows) if row.state == state]

    @property
    def is_changed(self) -> bool:
        return bool(self._having(CHANGED))

    @property
    def title(self) -> str:
        return f"{self.series.title}: {self.conclusion}"

    @property
    def conclusion(self) -> str:
        """`5 runs, changed in 2 of 4 since w4; 1 could not be compared`."""
        runs, moved, same = pluralize(len(self.rows), "run"), self._having(CHANGED), self._having(SAME)
        unpaired, compared = self._having(UNPAIRED), len(moved) + len(same)
        if len(self.rows) == 1:
            return f"{runs}, nothing to compare"
        parts = [f"{len(unpaired)} could not be compared"] if unpaired else []
        if moved:
            first = moved[0].point.folder
            parts = [f"changed in {len(moved)} of {compared} compared, first in {first}", *parts]
        elif compared:
            parts = ["no change shown", *parts]
        return f"{runs}, {'; '.join(parts)}"


def charted_of(series: JudgeSeries) -> list[Charted]:
    """What can be charted: figures of the questions that count for the verdict, in reading order.

    They are those of the earliest run that has them, so that no later answer chooses.
    """
    found: dict[str, dict[str, Charted]] = {}
    for point in series.points:
        for decision in point.sheet.findings:
            if decision.judge == point.judge.name and decision.counts:
                for test in decision.tests:
                    metrics = found.setdefault(decision.title, {})
                    metrics.setdefault(test.estimate.metric, Charted(decision, test))
    return [charted for metrics in found.values() for charted in metrics.values()]


def history(series: JudgeSeries, chosen: Collection[str], runs_a_year: int, paired: Paired) -> History:
    """The series with charts of the figures chosen by id, or of all where none is."""
    every = charted_of(series)
    charted = [each for each in every if each.id in chosen] or every
    figures = [each.figure for each in every]

    def tested(before: RunPoint, after: RunPoint) -> dict[str, PairedTest]:
        found = paired(before, after, figures)
        return {each.figure: found[each.figure] for each in charted if each.figure in found}

    times = [point.finished for point in series.points[1:]]
    known = [at for at in times if at is not None]
    alpha = run_alpha(max(runs_a_year, len(times) - len(known)), known)
    rows = [_row(series, place, charted, alpha, tested) for place in range(len(series.points))]
    drawn = tuple(_chart(each, place, rows) for place, each in enumerate(charted)) if len(rows) > 1 else ()
    rule = _rule(alpha, runs_a_year, charted, rows, series)
    return History(series, tuple(charted), tuple(reversed(rows)), drawn, rule)


def _rule(
    alpha: float, stated: int, charted: Sequence[Charted], rows: Sequence[HistoryRow], series: JudgeSeries
) -> str:
    runs = f"{stated} runs a year, as stated"
    if round(ALPHA / alpha) > stated:
        runs = f"{round(ALPHA / alpha)} runs a year, as they were ({stated} were stated)"
    certified = any(point.is_certified for point in series.points[:-1])
    against = "the run of its certificate" if certified else "the first run, for no run has a certificate"
    tested = {figure for row in rows for figure in row.tested}
    never = [each.words for each in charted if tested and each.figure not in tested]
    counted = pluralize(len(charted) - len(never), "figure")
    family = f"the {counted} charted" if not never else f"the {counted} charted that can be compared"
    beside = f"Without a test, and never marked: {'; '.join(never)}. " if never else ""
    return (
        f"Each run is compared with {against}, text by text. The error of {ALPHA:g} a year is spread evenly "
        f"over {runs}: {alpha:.2g} for a run, by Holm over {family}. {beside}"
        "Of a judge that never changes, one year in twenty shows a mark at most."
    )


def _row(
    series: JudgeSeries,
    place: int,
    charted: Sequence[Charted],
    alpha: float,
    paired: Callable[[RunPoint, RunPoint], dict[str, PairedTest]],
) -> HistoryRow:
    point, reference = series.points[place], series.reference(place)
    word = next((each for each in point.sheet.verdicts if each.judge == point.judge.name), None)
    index = EstimateIndex(point.sheet.estimates)
    row = partial(HistoryRow, point, word, tuple(_figure(each, point, index) for each in charted))
    if reference is None:
        first = "The run of the certificate" if point.is_certified else "The first run"
        told = f"{first}: later ones are compared with it" if len(series.points) > 1 else "The only run"
        return row(REFERENCE, f"{told}.")
    before = series.points[reference]
    try:
        found = paired(before, point)
    except SteelyardError as error:
        why = str(error).replace(str(before.path), before.folder).replace(str(point.path), point.folder)
        return row(UNPAIRED, f"Cannot be compared: {why}", (), before)
    if not found:
        none = f"Cannot be compared: no figure charted has an answer of {before.folder} and of this run."
        return row(UNPAIRED, none, (), before)
    tests = with_enough_pairs(found, alpha)
    if not tests:
        most = max(test.n_pairs for test in found.values())
        few = (
            f"Cannot be compared with {before.folder} at this error: both answer {most} pairs or items of a "
            f"figure at most, and {pairs_needed(1, alpha)} are needed to show that it changed; measure more, "
            "or state fewer runs a year."
        )
        return row(UNPAIRED, few, (), before)
    few_pairs = [each.words for each in charted if each.figure in found.keys() - tests.keys()]
    beside = f" Too few pairs or items to compare: {'; '.join(few_pairs)}." if few_pairs else ""
    moved = changed(tests, alpha)
    if not moved:
        least = p_text(min(test.p for test in tests.values()))
        sentence = f"No change is shown since {before.folder} (least {least}).{beside}"
        return row(SAME, sentence, (), before, tests.keys())
    named = [_moved(each, tests[each.figure], moved[each.figure]) for each in charted if each.figure in moved]
    more = f"; {pluralize(len(named) - MOST_NAMED, 'more figure')}" if len(named) > MOST_NAMED else ""
    sentence = f"Changed since {before.folder}: {'; '.join(named[:MOST_NAMED])}{more}.{beside}"
    return row(CHANGED, sentence, moved.keys(), before, tests.keys())


def _moved(charted: Charted, test: PairedTest, p: float) -> str:
    """`reacts to nothing 0.30 → 0.97 (p = 0.0001 by Holm, 60 pairs)`."""
    signed = metric_named(charted.test.estimate.metric).signed
    ends = (numbers.decimal(end, signed=signed) for end in (test.first, test.second))
    unit = "pair" if charted.test.estimate.unit in ("pair", "call") else "unit"
    return f"{charted.words} {' → '.join(ends)} ({p_text(p)} by Holm, {pluralize(test.n_pairs, unit)})"


def _figure(charted: Charted, point: RunPoint, index: EstimateIndex) -> Row | None:
    """The figure of a run with its limit; None where the run does not have it."""
    mine = [each for each in point.sheet.findings if each.judge == point.judge.name]
    for decision in mine:
        for test in decision.tests:
            if address(test.estimate) == charted.figure:
                return Row(decision, test)
    found = (each for each in index.of_judge(point.judge.name) if address(each) == charted.figure)
    return next((Row(charted.decision, Test.of(estimate)) for estimate in found), None)


def _chart(charted: Charted, place: int, rows: Sequence[HistoryRow]) -> Chart:
    points, shown = [], []
    for row in rows:
        figure, text = row.figures[place], numbers.NOT_MEASURED
        value = None if figure is None else figure.estimate.value
        interval = None if figure is None else figure.estimate.interval
        if figure is not None and value is not None:
            text = interval_text(numbers.value(figure.estimate), figure.interval, figure.word)
            shown.append(figure.domain)
        ends = (value, value) if interval is None else (interval.low, interval.high)
        run, state = row.point, row.state_of(charted)
        points.append(TrendPoint(run.folder, run.finished, state, value, ends, text))
    test, domains = charted.test, shown or [(0.0, 1.0)]
    return trend_chart(
        charted.name,
        points,
        limit="" if test.allowed is None else Test(test.estimate, test.allowed, margin=False).limit,
        domain=(min(low for low, _ in domains), max(high for _, high in domains)),
        allowed=test.allowed or (float("-inf"), float("inf")),
        signed=metric_named(test.estimate.metric).signed,
        events=_events(rows),
    )


def _events(rows: Sequence[HistoryRow]) -> list[TrendEvent]:
    """When certificates were issued, and when they expired while runs were made."""
    times = [row.point.finished for row in rows if row.point.finished is not None]
    events = []
    for row in rows:
        point, certificate = row.point, row.point.certificate
        if certificate is None or not point.is_certified or point.finished is None:
            continue
        events.append(TrendEvent(point.finished, f"certificate {_day(certificate.issued)}"))
        if certificate.expires is not None and certificate.expires <= max(times):
            events.append(TrendEvent(certificate.expires, f"expired {_day(certificate.expires)}"))
    return events


def _day(moment: datetime) -> str:
    return f"{moment.day} {moment:%b %Y}"


class HistoryPages:
    def __init__(
        self,
        runs: Sequence[ViewedRun],
        links: Callable[[int], Links],
        series: Callable[[], Sequence[JudgeSeries]],
        side: Callable[[str], tuple[Verdicts, JudgeEntry]],
        *,
        still: bool,
    ) -> None:
        """`series` are those of the runs as they are now, `side` the verdicts of a judge of one."""
        self.runs, self._links, self._series, self._side, self._still = runs, links, series, side, still
        self._tests: dict[tuple[str | int, ...], dict[str, PairedTest]] = {}

    def _histories(self, request: Request) -> tuple[list[History], set[str], int]:
        """Every series with the figures and the runs a year that were asked for."""
        chosen, stated = set(request.query_params.getlist("figure")), request.query_params.get("runs", "")
        runs = int(stated) if stated.isdecimal() and 0 < len(stated) < 7 and int(stated) else RUNS_A_YEAR
        return [history(each, chosen, runs, self._paired) for each in self._series()], chosen, runs

    def history(self, request: Request) -> Response:
        made, chosen, runs = self._histories(request)
        every = [each for one in made for each in charted_of(one.series)]
        return page(
            request,
            "view_history.html.j2",
            histories=made,
            figures={each.id: each.name for each in every},
            chosen=chosen,
            runs_a_year=runs,
            query=f"?{request.url.query}" if request.url.query else "",
            run_count=len(self.runs),
            links_of=self._links,
            now=datetime.now(UTC),
            svg=Markup,
            still=self._still,
        )

    def file(self, request: Request) -> Response:
        """The chart of one figure as a drawing, or its data."""
        made, _, _ = self._histories(request)
        number, name = request.path_params["number"], request.path_params["name"]
        drawn = made[number] if number < len(made) else None
        ids = [each.id for each in drawn.charted] if drawn is not None and drawn.charts else []
        stem, _, kind = name.rpartition(".")
        if drawn is None or stem not in ids or kind not in ("svg", "csv"):
            return error_page(404, "There is no such chart in the history.")
        chart = drawn.charts[ids.index(stem)]
        if kind == "csv":
            return download(name, csv_lines(chart.header, chart.rows), "text/csv; charset=utf-8")
        return download(name, [replace_lone_surrogates(chart_svg(chart))], "image/svg+xml")

    def _paired(self, before: RunPoint, after: RunPoint, wanted: Collection[str]) -> dict[str, PairedTest]:
        """The tests of two runs, made once for their datasheets."""
        runs = [self.runs[point.number] for point in (before, after)]
        written = tuple(run.published.written if run.published else 0 for run in runs)
        key: tuple[str | int, ...] = (before.side, after.side, *written, *sorted(wanted))
        if key not in self._tests:

            def make() -> dict[str, PairedTest]:
                return paired_tests(*self._side(before.side), *self._side(after.side), wanted)

            self._tests[key] = kept_tests((before.path, after.path), after.judge.name, wanted, make)
        return self._tests[key]
