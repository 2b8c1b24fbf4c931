"""History of a judge over several runs: a chart for each question, and the runs that show a change."""

from __future__ import annotations

import re
from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime

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
)
from steelyard.commands.viewed_run import ViewedRun
from steelyard.core.text import pluralize, replace_lone_surrogates
from steelyard.datasheet.comparison.rows import p_value
from steelyard.datasheet.conclusion import Conclusion
from steelyard.datasheet.estimate_index import EstimateIndex
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
from steelyard.datasheet.words import numbers
from steelyard.datasheet.words.glossary import metric_named
from steelyard.datasheet.words.text import capital
from steelyard.errors import SteelyardError
from steelyard.metrics.stats.intervals import ALPHA, Span
from steelyard.web.calls import Links, csv_lines
from steelyard.web.pages import download, page
from steelyard.web.server import error_page

MOST_NAMED = 3
"""Figures of a change that its sentence says; all are marked."""
Paired = Callable[[RunPoint, RunPoint, Collection[str]], dict[str, PairedTest]]
"""From two runs of a judge and the addresses of figures to the tests of those that can be paired."""


@dataclass(frozen=True)
class Charted:
    """The figure that stands for a question: the first of its tests, as the earliest run with one has it."""

    decision: Decision
    figure: str
    """Its address."""
    name: str

    @property
    def id(self) -> str:
        return re.sub(r"[^a-z0-9]+", "-", self.decision.question.name.lower()).strip("-") or "figure"


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

    def has_moved(self, question: Charted) -> bool:
        return question.figure in self.moved


@dataclass(frozen=True)
class History:
    series: JudgeSeries
    questions: tuple[Charted, ...]
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


def questions_of(series: JudgeSeries) -> list[Charted]:
    """What can be charted: the questions that count for the verdict, in reading order.

    They and their figures are those of the earliest run that asks them, so that no later answer chooses.
    """
    found: dict[str, Charted] = {}
    for point in series.points:
        for decision in point.sheet.findings:
            if decision.judge == point.judge.name and decision.counts and decision.tests:
                test = decision.tests[0]
                name = capital(test.name or decision.row_title)
                charted = Charted(decision, address(test.estimate), name)
                found.setdefault(decision.title, charted)
    return list(found.values())


def history(series: JudgeSeries, chosen: Collection[str], runs_a_year: int, paired: Paired) -> History:
    """The series with charts of the questions chosen by id, or of all where none is."""
    every = questions_of(series)
    questions = [each for each in every if each.id in chosen] or every
    figures = [each.figure for each in every]

    def tested(before: RunPoint, after: RunPoint) -> dict[str, PairedTest]:
        found = paired(before, after, figures)
        return {each.figure: found[each.figure] for each in questions if each.figure in found}

    times = [point.finished for point in series.points[1:]]
    known = [at for at in times if at is not None]
    alpha = run_alpha(max(runs_a_year, len(times) - len(known)), known)
    rows = [_row(series, place, questions, alpha, tested) for place in range(len(series.points))]
    drawn = tuple(_chart(each, place, rows) for place, each in enumerate(questions)) if len(rows) > 1 else ()
    rule = _rule(alpha, runs_a_year, len(questions), series)
    return History(series, tuple(questions), tuple(reversed(rows)), drawn, rule)


def _rule(alpha: float, stated: int, questions: int, series: JudgeSeries) -> str:
    runs = f"{stated} runs a year, as stated"
    if round(ALPHA / alpha) > stated:
        runs = f"{round(ALPHA / alpha)} runs a year, as they were ({stated} were stated)"
    certified = any(point.is_certified for point in series.points[:-1])
    against = "the run of its certificate" if certified else "the first run, for no run has a certificate"
    return (
        f"Each run is compared with {against}, text by text. The error of {ALPHA:g} a year is spread evenly "
        f"over {runs}: {alpha:.2g} for a run, by Holm over the {pluralize(questions, 'question')} charted. "
        "Of a judge that never changes, one year in twenty shows a mark at most."
    )


def _row(
    series: JudgeSeries,
    place: int,
    questions: Sequence[Charted],
    alpha: float,
    paired: Callable[[RunPoint, RunPoint], dict[str, PairedTest]],
) -> HistoryRow:
    point, reference = series.points[place], series.reference(place)
    word = next((each for each in point.sheet.verdicts if each.judge == point.judge.name), None)
    index = EstimateIndex(point.sheet.estimates)
    figures = tuple(_figure(each, point, index) for each in questions)
    if reference is None:
        first = "The run of the certificate" if point.is_certified else "The first run"
        told = f"{first}: later ones are compared with it" if len(series.points) > 1 else "The only run"
        return HistoryRow(point, word, figures, REFERENCE, f"{told}.")
    before = series.points[reference]
    try:
        tests = paired(before, point)
    except SteelyardError as error:
        why = str(error).replace(str(before.path), before.folder).replace(str(point.path), point.folder)
        return HistoryRow(point, word, figures, UNPAIRED, f"Cannot be compared: {why}", (), before)
    if not tests:
        none = f"Cannot be compared: no figure charted has an answer of {before.folder} and of this run."
        return HistoryRow(point, word, figures, UNPAIRED, none, (), before)
    most, needed = max(test.n_pairs for test in tests.values()), pairs_needed(len(tests), alpha)
    if most < needed:
        few = (
            f"Cannot be compared with {before.folder} at this error: both answer {most} pairs or items, and "
            f"{needed} are needed to show any change; measure more, or state fewer runs a year."
        )
        return HistoryRow(point, word, figures, UNPAIRED, few, (), before)
    moved = changed(tests, alpha)
    if not moved:
        least = p_value(min(test.p for test in tests.values()))
        sentence = f"No change is shown since {before.folder} (least {least})."
        return HistoryRow(point, word, figures, SAME, sentence, (), before)
    named = [
        _moved(each, tests[each.figure], moved[each.figure]) for each in questions if each.figure in moved
    ]
    more = f"; {pluralize(len(named) - MOST_NAMED, 'more question')}" if len(named) > MOST_NAMED else ""
    sentence = f"Changed since {before.folder}: {'; '.join(named[:MOST_NAMED])}{more}."
    return HistoryRow(point, word, figures, CHANGED, sentence, frozenset(moved), before)


def _moved(question: Charted, test: PairedTest, p: float) -> str:
    """`reacts to nothing 0.30 → 0.97 (p = 0.0001 by Holm, 60 pairs)`."""
    signed = metric_named(question.decision.tests[0].estimate.metric).signed
    ends = (numbers.decimal(end, signed=signed) for end in (test.first, test.second))
    name = question.name[:1].lower() + question.name[1:]
    unit = "pair" if question.decision.tests[0].estimate.unit in ("pair", "call") else "unit"
    return f"{name} {' → '.join(ends)} ({p_value(p)} by Holm, {pluralize(test.n_pairs, unit)})"


def _figure(question: Charted, point: RunPoint, index: EstimateIndex) -> Row | None:
    """The figure of a run with its limit; None where the run does not have it."""
    mine = [each for each in point.sheet.findings if each.judge == point.judge.name]
    for decision in mine:
        for test in decision.tests:
            if address(test.estimate) == question.figure:
                return Row(decision, test)
    found = (each for each in index.of_judge(point.judge.name) if address(each) == question.figure)
    return next((Row(question.decision, Test.of(estimate)) for estimate in found), None)


def _chart(question: Charted, place: int, rows: Sequence[HistoryRow]) -> Chart:
    points, shown = [], []
    for row in rows:
        figure = row.figures[place]
        state = row.state if row.state != CHANGED or row.has_moved(question) else SAME
        known = figure is not None and figure.estimate.value is not None
        interval = figure.estimate.interval if figure is not None else None
        text = (
            interval_text(numbers.value(figure.estimate), figure.interval, figure.word)
            if figure is not None and known
            else numbers.NOT_MEASURED
        )
        ends = (None, None) if interval is None else (interval.low, interval.high)
        value = figure.estimate.value if figure is not None else None
        if interval is None:
            ends = (value, value)
        points.append(TrendPoint(row.point.folder, row.point.finished, state, value, ends, text))
        shown += [figure] if figure is not None and known else []
    test = question.decision.tests[0]
    return trend_chart(
        question.name,
        points,
        limit="" if test.allowed is None else Test(test.estimate, test.allowed, margin=False).limit,
        domain=_domain(shown),
        allowed=test.allowed or (float("-inf"), float("inf")),
        signed=metric_named(test.estimate.metric).signed,
        events=_events(rows),
    )


def _domain(figures: Sequence[Row]) -> Span:
    ends = [figure.domain for figure in figures] or [(0.0, 1.0)]
    return min(low for low, _ in ends), max(high for _, high in ends)


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
        side: Callable[[str], tuple[Verdicts, str | None]],
        *,
        still: bool,
    ) -> None:
        """`series` are those of the runs as they are now, `side` the verdicts of a judge of one."""
        self.runs, self._links, self._series, self._side, self._still = runs, links, series, side, still
        self._tests: dict[tuple[str | int, ...], dict[str, PairedTest]] = {}

    def _histories(self, request: Request) -> tuple[list[History], set[str], int]:
        """Every series with the questions and the runs a year that were asked for."""
        chosen, stated = set(request.query_params.getlist("question")), request.query_params.get("runs", "")
        runs = int(stated) if stated.isdecimal() and 0 < len(stated) < 7 and int(stated) else RUNS_A_YEAR
        return [history(each, chosen, runs, self._paired) for each in self._series()], chosen, runs

    def history(self, request: Request) -> Response:
        made, chosen, runs = self._histories(request)
        every = [each for one in made for each in questions_of(one.series)]
        return page(
            request,
            "view_history.html.j2",
            histories=made,
            questions={each.id: each.name for each in every},
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
        """The chart of one question as a drawing, or its data."""
        made, _, _ = self._histories(request)
        number, name = request.path_params["number"], request.path_params["name"]
        drawn = made[number] if number < len(made) else None
        ids = [each.id for each in drawn.questions] if drawn is not None and drawn.charts else []
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
                (old, first), (new, second) = self._side(before.side), self._side(after.side)
                return paired_tests(old, old.pick(first), new, new.pick(second), wanted)

            self._tests[key] = kept_tests((before.path, after.path), after.judge.name, wanted, make)
        return self._tests[key]
