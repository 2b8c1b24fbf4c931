"""The first screen: the rows that carry a verdict, each a figure with its limit and its state."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from math import isfinite

from steelyard.core.text import capital, plural, pluralize
from steelyard.datasheet import numbers
from steelyard.datasheet.clause import Phrase
from steelyard.datasheet.conclusion import CARE, NO_FAULT, TOO_LITTLE, UNFIT, Conclusion
from steelyard.datasheet.estimate_index import MeritTest
from steelyard.datasheet.glossary import metric_named
from steelyard.datasheet.questions.causes import Advice
from steelyard.datasheet.questions.expected_answers import EXPECTED, kind_in_words
from steelyard.datasheet.questions.labels import ACCURACY, ERRORS
from steelyard.datasheet.questions.merit import SENSITIVITY
from steelyard.datasheet.questions.question import UNDEFINED, Counts, Decision, State, Test
from steelyard.datasheet.questions.questions import question_of
from steelyard.datasheet.questions.run import FAILURES
from steelyard.datasheet.sections.summary import Summary
from steelyard.metrics.estimate import Estimate
from steelyard.metrics.findings import CLEAR, FLAGGED, INCONCLUSIVE
from steelyard.metrics.proportions import MERIT
from steelyard.metrics.run.cost import COST_PER_CALL
from steelyard.metrics.scores.edited_texts import EDITED_RUNS

MOST = 6
"""Rows of one judge, unless it has more faults that are named or more probes that were asked for by name."""
FEW_NAMES = 2
"""Judges whose names a headline says; more are counted."""
MOST_COLUMNS = 6
"""Figures in a table of several judges, beside those that are named."""
_GRAVITY = (FLAGGED, INCONCLUSIVE, CLEAR)


@dataclass(frozen=True)
class Row:
    decision: Decision
    test: Test

    @property
    def name(self) -> str:
        return self.test.name or self.decision.row_title

    @property
    def estimate(self) -> Estimate:
        return self.test.estimate

    @property
    def state(self) -> State | None:
        return self.test.state

    @property
    def word(self) -> str:
        """The state; empty for a figure without a limit."""
        return "" if self.state is None else self.state.value

    @property
    def limit(self) -> str:
        return self.test.limit

    @property
    def interval(self) -> str:
        """The interval that the state is read from; no end is rounded to the limit."""
        return numbers.interval(self.estimate, edges=self.allowed)

    @property
    def count(self) -> str:
        """`62 of 120 calls`, or the calls where the figure is no share of them."""
        estimate, metric = self.estimate, metric_named(self.estimate.metric)
        if estimate.numerator is None or estimate.denominator is None or metric.signed:
            return pluralize(estimate.n_calls, "call")
        return numbers.times(estimate, estimate.unit)

    @property
    def allowed(self) -> tuple[float, float]:
        return self.test.drawn

    @property
    def domain(self) -> tuple[float, float]:
        """The scale on which the interval is drawn."""
        interval = self.estimate.interval
        ends = (self.estimate.value, *(() if interval is None else (interval.low, interval.high)))
        known = [abs(end) for end in (*ends, *self.allowed) if end is not None and isfinite(end)]
        furthest = max([1.0, *known])
        return (-furthest if metric_named(self.estimate.metric).signed else 0.0), furthest


@dataclass(frozen=True)
class JudgeRow:
    """One judge in the table of several: a row or None for each column."""

    judge: str
    verdict: Conclusion | None
    figures: tuple[Row | None, ...]
    per_thousand: float | None
    """Dollars for a thousand calls; None where they cost nothing, or nobody knows."""


def key_figures(summary: Summary, judge: str) -> list[Row]:
    """Merit first; every fault that is named and every probe that was asked for by name; then the gravest."""
    decisions = summary.findings(judge)
    every = [Row(d, test) for d in decisions if d.counts for test in _shown(d)]
    verdict = summary.verdict(judge)
    named = {question_of(cause) for cause in verdict.causes} if verdict is not None else set()
    due = [row for row in every if _is_merit(row) or (row.decision.question in named and _is_outside(row))]
    for row in _asked(summary, decisions):
        due += [row] if row not in due else []
    others = sorted((row for row in every if row not in due), key=_severity)
    chosen = [*due, *others[: max(0, MOST - len(due))]]
    order = {id(decision): place for place, decision in enumerate(decisions)}
    return sorted(chosen, key=lambda row: order[id(row.decision)])


def _shown(decision: Decision) -> Sequence[Test]:
    """The rows of a decision; of merit one for each kind of evidence."""
    tests = decision.tests[:2] if decision.question.counts is Counts.MERIT else decision.rows
    return [test for test in tests if test.state not in (None, State.NOT_MEASURED)]


def _is_merit(row: Row) -> bool:
    return row.decision.question.counts is Counts.MERIT


def _is_outside(row: Row) -> bool:
    return row.state in (State.TOO_HIGH, State.TOO_LOW)


def _asked(summary: Summary, decisions: Sequence[Decision]) -> Iterator[Row]:
    """A row for each probe that the user named, decided or not."""
    for probe in summary.datasheet.asked:
        own = [Row(d, test) for d in decisions for test in d.tests if test.estimate.probe == probe]
        mine = [Row(d, test) for d in decisions if probe in d.question.probes for test in d.rows]
        both = [row for row in own if probe in row.decision.question.probes]
        # The row of a question is the test that decides it, which the list of undecided ones names.
        deciding = [row for row in mine if row.estimate.probe == probe]
        base = [row for row in (*deciding, *both, *mine, *own) if row.decision.protocol == "base"]
        yield from sorted(base, key=lambda row: not row.decision.counts)[:1]


def _severity(row: Row) -> int:
    """Texts written for an answer, then what is flagged and how often the judge is right; lost calls last.

    Of several kinds of written texts or edited runs the first stands for all.
    """
    question, status = row.decision.question, row.decision.status
    if question is EXPECTED:
        return -1 if row.test is row.decision.rows[0] else len(_GRAVITY)
    if status == FLAGGED or question in (ACCURACY, SENSITIVITY):
        return 0
    return len(_GRAVITY) if question is FAILURES else _GRAVITY.index(status)


def judge_rows(summary: Summary) -> tuple[list[str], list[JudgeRow]]:
    """The titles of the columns, and every judge with its rows: what tells the judges apart first.

    A column holds one figure. Those of merit, of a fault that is named and of a probe that was asked for by
    name are always there; one that no judge has only where its question has no other.
    """
    cells: dict[tuple[str, str], dict[str, Row]] = {}
    weights: Counter[tuple[str, str]] = Counter()
    for judge in summary.measured:
        verdict = summary.verdict(judge.name)
        causes = {question_of(cause) for cause in verdict.causes} if verdict is not None else set()
        for decision in summary.findings(judge.name):
            asked = bool(set(summary.datasheet.asked) & set(decision.question.probes))
            if decision.protocol != "base" or not (decision.counts or asked):
                continue
            for row in (Row(decision, test) for test in (*decision.rows, *decision.tests)):
                known = cells.setdefault((decision.title, row.name), {})
                if row.state is not State.NOT_MEASURED:
                    known.setdefault(judge.name, row)
            for row in (Row(decision, test) for test in decision.rows):
                if asked or row.state not in (None, State.NOT_MEASURED):
                    named = asked or (decision.question in causes and _is_outside(row))
                    weight = 1000 if _is_merit(row) else 100 * named
                    weight += {FLAGGED: 10, INCONCLUSIVE: 1}.get(decision.status, 0)
                    weights[decision.title, row.name] += weight
    ranked = weights.most_common()
    first = {key for place, (key, weight) in enumerate(ranked) if weight >= 100 or place < MOST_COLUMNS}
    measured = {title for (title, _), known in cells.items() if known}
    columns = [key for key, known in cells.items() if key in first and (known or key[0] not in measured)]
    for column in columns:
        known = cells[column]
        for judge in summary.measured if known else ():
            found = figure_beside(summary, judge.name, next(iter(known.values())))
            if found is not None:
                known.setdefault(judge.name, found)
    rows = [
        JudgeRow(
            judge.name,
            summary.verdict(judge.name),
            tuple(cells[key].get(judge.name) for key in columns),
            _cost(summary, judge.name),
        )
        for judge in summary.measured
    ]
    return [name for _, name in columns], rows


def figure_beside(summary: Summary, judge: str, shown: Row) -> Row | None:
    """The figure of another judge's row, where this judge has it and another test decides."""
    estimate = shown.estimate
    found = summary.datasheet.look_up.find(judge, estimate.metric, estimate.probe, estimate.group)
    own = summary.finding(judge, shown.decision.title)
    if found is None or found.value is None or own is None or own.state is State.NOT_MEASURED:
        return None
    if own.question is FAILURES and estimate.metric not in {test.estimate.metric for test in own.tests}:
        return None  # no reply came that could be read
    if shown.test.allowed is None:
        return Row(own, Test.without_limit(found, shown.name))
    is_merit = found.metric == MERIT.id
    return Row(
        own, Test.of_merit(MeritTest.of(found), shown.name) if is_merit else Test.of(found, shown.name)
    )


def _cost(summary: Summary, judge: str) -> float | None:
    costs = [e for e in summary.datasheet.of(judge, COST_PER_CALL.id) if e.value and e.probe == "run"]
    costs = costs or [e for e in summary.datasheet.of(judge, COST_PER_CALL.id) if e.value]
    return 1000 * (costs[0].value or 0.0) if costs else None


def headline(summary: Summary) -> str:
    """What several judges amount to: `No fault found in 1 of 4 judges: gpt-4o`."""
    by_word: dict[str, list[Conclusion]] = {}
    for verdict in summary.datasheet.verdicts:
        silent = verdict.advice is Advice.NO_SERVER
        by_word.setdefault("" if silent else verdict.word, []).append(verdict)
    total = len(summary.measured)
    tail = _others(by_word.get(UNFIT, []), "unfit") + _others(by_word.get("", []), "without an answer")
    for word, told in (
        (NO_FAULT, "no fault found{3} in {0} of {1} judges"),
        (CARE, "none of {1} judges is without fault; {0} {2} usable with care"),
        (TOO_LITTLE, "too little data on {0} of {1} judges"),
        (UNFIT, "{0} of {1} judges unfit"),
        ("", "no answer from {0} of {1} judges"),
    ):
        if found := by_word.get(word):
            names = [verdict.judge for verdict in found]
            so_far = " so far" if any(verdict.undecided for verdict in found) else ""
            text = told.format(len(names), total, plural(len(names), "is", "are"), so_far)
            few = f": {', '.join(names)}" if len(names) <= FEW_NAMES and len(names) < total else ""
            rest = {UNFIT: _others(by_word.get("", []), "without an answer"), "": ""}.get(word, tail)
            return capital(text + few) + rest
    return pluralize(total, "judge")


def shared_step(summary: Summary) -> Conclusion | None:
    """The verdict whose next step counts for several judges: that of the most promising one.

    A judge that is unfit is changed before it is measured again, and its step counts where all are unfit.
    """
    order = (NO_FAULT, CARE, TOO_LITTLE, UNFIT)
    known = [verdict for verdict in summary.datasheet.verdicts if verdict.next is not None]
    return min(known, key=lambda verdict: order.index(verdict.word), default=None)


def beside_verdict(summary: Summary, judge: str) -> list[Phrase]:
    """What a judge of pass and fail does with either label, and texts or runs that were asked for by name.

    Of these how often they get their answer, and what would decide where that is open, unless the verdict
    says so.
    """
    mine = {d.question.name: d for d in summary.findings(judge) if d.protocol == "base"}
    errors, expected, verdict = mine.get(ERRORS.name), mine.get(EXPECTED.name), summary.verdict(judge)
    said = [errors.clause.whole] if errors is not None and errors.status != UNDEFINED else []
    told = verdict is not None and any(fact.title == EXPECTED.name for fact in verdict.facts)
    if expected is not None and not told:
        of_agents = any(test.estimate.probe in EDITED_RUNS for test in expected.tests)
        asked = (t.estimate for t in expected.tests if t.estimate.probe in summary.datasheet.asked)
        said += [kind_in_words(estimate, of_agents=of_agents) for estimate in asked if estimate.status]
    return said


def _others(verdicts: Sequence[Conclusion], word: str) -> str:
    """A worse word, which a better one must not hide: `; planted/first is unfit`."""
    names = [verdict.judge for verdict in verdicts]
    if not names:
        return ""
    who = ", ".join(names) if len(names) <= FEW_NAMES else f"{len(names)} others"
    return f"; {who} {plural(len(names), 'is', 'are')} {word}"
