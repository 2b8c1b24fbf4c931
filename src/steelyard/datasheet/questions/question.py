"""A question of a datasheet: its title, its tests, the clause that answers it, and what follows from a fault.

Everything that speaks of a judge reads these objects and nothing else: verdict, first screen, page, Markdown,
JSON, notebook, gate, history, the next step. To add a question, add one object to its file and name it in
`QUESTIONS`; a plug-in names it in `questions` of its probe.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field, replace
from enum import Enum
from math import inf, isfinite

import numpy as np

from steelyard.core.arrays import Mask
from steelyard.datasheet import numbers
from steelyard.datasheet.clause import Clause, say
from steelyard.datasheet.estimate_index import JudgeEstimates, MeritTest
from steelyard.datasheet.glossary import metric_named
from steelyard.datasheet.numbers import defined
from steelyard.datasheet.questions.causes import Advice, Cause
from steelyard.metrics.estimate import Estimate
from steelyard.metrics.findings import CLEAR, FLAGGED, INCONCLUSIVE, MARGIN
from steelyard.metrics.instrument.areas import AREA_WORTH
from steelyard.metrics.instrument.worth_estimates import ALLOWED, LENGTH_WORTH, WORTH
from steelyard.metrics.metric import HIGH, Metric
from steelyard.metrics.scores.edited_texts import INVARIANCE
from steelyard.metrics.stats.intervals import Span
from steelyard.verdicts.stimulus_columns import StimulusColumns

MEASURED, UNDEFINED = "measured", "undefined"
"""Status of a figure that has no limit, and of one that could not be measured."""


class State(Enum):
    """What people read beside a figure; JSON has the status words."""

    FINE = "fine"
    TOO_HIGH = "too high"
    TOO_LOW = "too low"
    UNDECIDED = "undecided"
    NOT_MEASURED = "not measured"


class Counts(Enum):
    MERIT = "merit"
    FAULT = "fault"
    NOTE = "note"


@dataclass(frozen=True)
class Test:
    """One figure with what it may be: printed interval, limit and state agree."""

    __test__ = False

    estimate: Estimate
    """With the status and, first, the interval that the state is read from."""
    allowed: Span | None = None
    """From where to where it may lie, infinite where one side is free; None where it has no limit."""
    name: str = ""
    margin: bool = False
    """True where a difference is tested against 0, and one within `allowed` counts as none."""

    @classmethod
    def of(cls, estimate: Estimate, name: str = "") -> Test:
        """The figure against the limit of its metric, or as a difference with the margin."""
        metric = metric_named(estimate.metric)
        limit = metric.limit_in(estimate.group, estimate.probe)
        name = name or metric.short
        allowed = limit.allowed if limit is not None else _OWN_LIMITS.get(metric.id)
        if allowed is None and metric.better == HIGH:
            allowed = (estimate.chance or 0.0, inf)
        if allowed is not None:
            return cls(as_decided(estimate), allowed, name)
        return cls(as_decided(estimate), (-MARGIN, MARGIN), name, margin=True)

    @classmethod
    def of_merit(cls, test: MeritTest, name: str) -> Test:
        """Its limit is that of chance, of a baseline or of large steps."""
        return cls(test.estimate, (test.limit, inf), name)

    @classmethod
    def without_limit(cls, estimate: Estimate, name: str = "") -> Test:
        return cls(estimate, None, name or metric_named(estimate.metric).short)

    @property
    def state(self) -> State | None:
        """None for a figure without a limit."""
        if not defined(self.estimate):
            return State.NOT_MEASURED
        if self.allowed is None or self.estimate.status is None:
            return None
        if self.estimate.status != FLAGGED:
            return State.FINE if self.estimate.status == CLEAR else State.UNDECIDED
        low, high = self.allowed
        middle = 0.0 if self.margin else (low + high) / 2 if isfinite(low) and isfinite(high) else None
        if middle is not None:
            return State.TOO_HIGH if (self.estimate.value or 0.0) > middle else State.TOO_LOW
        return State.TOO_HIGH if isfinite(high) else State.TOO_LOW

    @property
    def is_outside(self) -> bool:
        """Whether the whole interval lies beyond the limit."""
        interval, (low, high) = self.estimate.interval, self.allowed or (-inf, inf)
        if interval is None:
            return False
        least, most = interval.low, interval.high
        return (least is not None and least > high) or (most is not None and most < low)

    @property
    def limit(self) -> str:
        """`at most 0.10`, `at least 0.80`, `within ±0.10`; a difference that is shown lies beyond 0."""
        if self.allowed is None:
            return "no limit"
        low, high = self.allowed
        if self.margin and self.state in (State.TOO_HIGH, State.TOO_LOW):
            return "at most 0" if self.state is State.TOO_HIGH else "at least 0"
        if isfinite(low) and isfinite(high):
            return f"within ±{numbers.decimal(high)}"
        return f"at most {numbers.decimal(high)}" if isfinite(high) else f"at least {numbers.decimal(low)}"

    @property
    def drawn(self) -> Span:
        low, high = self.allowed or (-inf, inf)
        if self.margin and self.state in (State.TOO_HIGH, State.TOO_LOW):
            return (-inf, 0.0) if self.state is State.TOO_HIGH else (0.0, inf)
        return low, high

    @property
    def distance(self) -> float:
        """How far its interval reaches beyond the limit; negative where it lies within."""
        interval, (low, high) = self.estimate.interval, self.allowed or (-inf, inf)
        if interval is None:
            return 0.0
        over = (inf if interval.high is None else interval.high) - high
        return max(over, low - (-inf if interval.low is None else interval.low))


_OWN_LIMITS: dict[str, Span] = {
    **dict.fromkeys((WORTH.id, AREA_WORTH.id, LENGTH_WORTH.id), ALLOWED),
    INVARIANCE.id: (1 - MARGIN, inf),
}
"""Limits of metrics that declare none, for they hold where no other figure decides."""


def as_decided(estimate: Estimate) -> Estimate:
    """With the interval first that the state is read from."""
    return estimate if estimate.decides is None else replace(estimate, intervals=(estimate.decides,))


@dataclass(frozen=True)
class Decision:
    """The answer to a question for one judge."""

    judge: str
    question: Question
    status: str
    """`clear`, `flagged`, `inconclusive`, `measured` or `undefined`; `word` in `datasheet.json`."""
    clause: Clause
    tests: tuple[Test, ...] = ()
    protocol: str = "base"
    by_chance: bool = False
    """True where answers by chance would show as much: it has no row, and further calls decide nothing."""

    @property
    def title(self) -> str:
        """Title in `datasheet.json`: that of the question, with a protocol other than base."""
        name = self.question.name
        return name if self.protocol == "base" else f"{name}, {self.protocol}"

    @property
    def row_title(self) -> str:
        """The words of the first screen."""
        title = self.question.title
        return title if self.protocol == "base" else f"{title} under {self.protocol}"

    @property
    def printed_name(self) -> str:
        """The name of its row: that of the figure that decides."""
        named = [test.name for test in self.rows if test.name]
        return named[0] if named and self.protocol == "base" else self.row_title

    @property
    def counts(self) -> bool:
        """Whether it counts for the verdict; other prompts than base do not."""
        return self.question.counts is not Counts.NOTE and self.protocol == "base"

    @property
    def rows(self) -> tuple[Test, ...]:
        """The tests shown: all that lie outside, else the furthest over its limit, else the first."""
        outside = tuple(test for test in self.tests if test.state in (State.TOO_HIGH, State.TOO_LOW))
        if outside and self.status == FLAGGED:
            return outside
        undecided = [test for test in self.tests if test.state is State.UNDECIDED]
        return (max(undecided, key=lambda test: test.distance),) if undecided else self.tests[:1]

    @property
    def state(self) -> State | None:
        """The state in one word; None where nothing is compared with a limit."""
        if self.status in (MEASURED, UNDEFINED):
            return State.NOT_MEASURED if self.status == UNDEFINED else None
        if self.status != FLAGGED:
            return State.FINE if self.status == CLEAR else State.UNDECIDED
        return next((test.state for test in self.rows), None)


@dataclass(frozen=True)
class Answer:
    """What a question's function gives: the status, the words, the tests behind them."""

    status: str
    clause: Clause
    tests: tuple[Test, ...] = ()
    by_chance: bool = False


@dataclass(frozen=True)
class NotMeasured:
    """A question that was asked and that the data do not answer."""

    reason: str
    tests: tuple[Test, ...] = ()


Asked = Callable[[JudgeEstimates, str], Answer | NotMeasured | None]
"""From the figures of a judge and a protocol; None where nobody asked."""


@dataclass(frozen=True)
class Fault:
    """What it means that a question is answered beyond its limit: the first that applies is told."""

    cause: Cause
    remedy: Advice
    brings: tuple[Cause, ...] = ()
    """Other causes whose questions are flagged with it and expected of it."""
    when: Callable[[JudgeEstimates], bool] | None = None
    clause: Callable[[JudgeEstimates], Clause | None] | None = None
    """What is said of it, where that is not the clause of the question."""
    instead: Advice | None = None
    """What follows where the calls speak against the remedy, or it is applied already."""
    remedies: tuple[str, ...] = ()
    """Kinds of remedies for it, declared before the data: the best of many would be flattered."""
    others: tuple[tuple[str, Advice], ...] = ()
    """Other kinds of remedies than the first, with what follows where one of them is recommended."""


@dataclass(frozen=True)
class ExampleFilter:
    """Which calls stand behind a fault."""

    outcome: str
    among: Callable[[StimulusColumns], Mask]
    unlike: str | None = None
    """Examples of this outcome belong to another question."""
    narrow: Callable[[StimulusColumns, Sequence[Estimate]], Mask] | None = None
    """From all stimuli and the flagged figures to the stimuli that these are about."""


def of_flagged(
    column: str, name: Callable[[Estimate], object], *metrics: str
) -> Callable[[StimulusColumns, Sequence[Estimate]], Mask]:
    """The stimuli that flagged figures of these metrics are about, by a column that holds their names."""

    def chosen(shown: StimulusColumns, flagged: Sequence[Estimate]) -> Mask:
        named = {str(name(estimate)) for estimate in flagged if estimate.metric in metrics}
        return np.isin(getattr(shown, column), sorted(named))

    return chosen


PAIRS, TEXTS = "pairwise", "pointwise"
"""Forms of a run, as a datasheet names them."""


@dataclass(frozen=True)
class Way:
    """What answers a question that a run does not: a column or an option, for runs of a form and origin."""

    words: str
    form: str | None = None
    """`PAIRS` or `TEXTS`; None for both."""
    recorded: bool = False
    """True for verdicts that were recorded elsewhere, False for measured ones."""
    own_data: bool | None = None
    """Whether the texts are the user's; None where that makes no difference."""
    unless: str = ""
    """A metric whose figure shows that the column is there: then something else is missing."""


@dataclass(frozen=True)
class Question:
    name: str
    """Title in `datasheet.json`, and of the heading in the guide on remedies."""
    title: str
    """The words of the first screen."""
    ask: Asked
    counts: Counts = Counts.NOTE
    metrics: tuple[str, ...] = ()
    """Metrics that feed it: any of them names it in a policy."""
    faults: tuple[Fault, ...] = ()
    examples: ExampleFilter | None = None
    remedies: tuple[str, ...] = ()
    """Kinds of remedies for whatever is found."""
    protocols: Metric | None = None
    """The metric whose protocols other than base it is asked of as well."""
    base: bool = True
    """False where it is asked of other protocols alone."""
    probes: tuple[str, ...] = field(default=())
    """Probes that it is the question of: who asks for one by name finds a row of it."""
    ways: tuple[Way, ...] = ()
    """What would measure it, where a run does not: the first that fits the run is told."""

    def decisions(self, figures: JudgeEstimates) -> list[Decision]:
        protocols = ["base"] if self.base else []
        if self.protocols is not None:
            protocols += [each for each in figures.protocols(self.protocols.id) if each != "base"]
        answers = ((protocol, self.ask(figures, protocol)) for protocol in protocols)
        return [self._decision(figures.judge, a, protocol) for protocol, a in answers if a is not None]

    def _decision(self, judge: str, answer: Answer | NotMeasured, protocol: str) -> Decision:
        if isinstance(answer, NotMeasured):
            clause = Clause(say(answer.reason), about_judge=False)
            return Decision(judge, self, UNDEFINED, clause, answer.tests, protocol)
        return Decision(judge, self, protocol=protocol, **vars(answer))

    def __repr__(self) -> str:
        return f"<Question {self.name}>"


def unmeasured(*estimates: Estimate | None) -> NotMeasured | None:
    """What is said where no figure has a value; nothing where none was asked for."""
    asked = [estimate for estimate in estimates if estimate is not None]
    if not asked:
        return None
    return NotMeasured(asked[0].note or "not measured", tuple(map(Test.without_limit, asked)))


def worst(statuses: Iterable[str | None]) -> str:
    """The status of several figures together: flagged where one is, clear where all are."""
    return min((status or INCONCLUSIVE for status in statuses), key=(FLAGGED, INCONCLUSIVE, CLEAR).index)


def limit_of(metric: Metric) -> float:
    if metric.limit is None:
        raise ValueError(f"{metric.id} has no limit")
    return metric.limit.value


def by_status(estimate: Estimate, flagged: str, clear: str, undecided: str, other: str = "") -> str:
    """The words for a figure by what was found of it."""
    words = {FLAGGED: flagged, CLEAR: clear, INCONCLUSIVE: undecided}
    return words.get(estimate.status or "", other or undecided)
