"""What a report shows first, one selection shared by every renderer; what was not measured."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import pairwise, takewhile
from string import ascii_lowercase
from typing import TypeVar

from steelyard.core.text import escape_control_chars, escape_fields, fitted, pluralize
from steelyard.datasheet import numbers
from steelyard.datasheet.conclusion import Conclusion
from steelyard.datasheet.datasheet import Datasheet
from steelyard.datasheet.glossary import MARKS
from steelyard.datasheet.instrument_card import RECORDED, JudgeEntry
from steelyard.datasheet.questions.question import UNDEFINED, Decision, Way
from steelyard.datasheet.questions.questions import QUESTIONS
from steelyard.datasheet.questions.robustness import ROBUSTNESS
from steelyard.datasheet.run_facts import RunFacts
from steelyard.datasheet.sections.sections import FigureRow, Section, Text, sections
from steelyard.metrics.estimate import Estimate
from steelyard.metrics.proportions import FAILED_RATE, UNREADABLE_RATE
from steelyard.metrics.remedies.mitigations import MitigatedJudge
from steelyard.metrics.run.agent_runs import PROBE as RUNS
from steelyard.metrics.run.losses import PROBE as RUN

T = TypeVar("T")
_MISSING = (FAILED_RATE.id, UNREADABLE_RATE.id)


@dataclass(frozen=True)
class Summary:
    """The selection, with the reasons for undefined figures as lettered notes."""

    datasheet: Datasheet
    measured: tuple[JudgeEntry, ...]
    baselines: tuple[JudgeEntry, ...]
    sections: tuple[Section, ...]
    notes: Mapping[str, str] = field(default_factory=dict)
    """Reason to letter, in order of first appearance."""

    def undefined(self, estimate: Estimate) -> str:
        """`undefined (a)`, where the letter is that of a note, or the reason itself where no note has it."""
        letter = self.notes.get(numbers.reason(estimate))
        return f"undefined ({letter})" if letter else f"undefined: {numbers.reason(estimate)}"

    def absence(self, estimate: Estimate | None) -> str:
        """What stands in the place of a figure without a value."""
        return numbers.NOT_MEASURED if estimate is None else self.undefined(estimate)

    def status(self, estimate: Estimate) -> str:
        """The word of a figure; empty for baselines, which have no limit, and where no call was lost."""
        measured = any(judge.name == estimate.judge for judge in self.measured)
        if estimate.metric in _MISSING and not estimate.numerator:
            return ""
        return (estimate.status or "") if measured else ""

    def notes_in(self, cells: Iterable[Text]) -> dict[str, str]:
        shown = set(map(str, cells))
        return {reason: letter for reason, letter in self.notes.items() if f"undefined ({letter})" in shown}

    def findings(self, judge: str) -> tuple[Decision, ...]:
        return tuple(decision for decision in self.datasheet.findings if decision.judge == judge)

    def finding_titles(self) -> tuple[tuple[str, str], ...]:
        """Title in the file and row title of every question that was asked of a judge."""
        return tuple(dict.fromkeys((each.title, each.row_title) for each in self.datasheet.findings))

    def finding(self, judge: str, title: str) -> Decision | None:
        return next((decision for decision in self.findings(judge) if decision.title == title), None)

    def verdict(self, judge: str) -> Conclusion | None:
        return next((verdict for verdict in self.datasheet.verdicts if verdict.judge == judge), None)

    @property
    def headlines(self) -> tuple[FigureRow, ...]:
        return tuple(row for section in self.sections for row in section.rows if row.headline)

    @property
    def calls(self) -> int:
        """Calls of the measured judges, as far as the rates of calls without a verdict tell.

        Judges made of others share their calls, and the run has counted those.
        """
        made = [judge for judge in self.measured if judge.members]
        if made and isinstance(calls := self.datasheet.run.get("calls"), int):
            return calls
        return sum(_calls(self.datasheet, judge.name) for judge in self.measured)


def even_groups(judges: Sequence[JudgeEntry], most: int) -> list[Sequence[JudgeEntry]]:
    """Judges in groups of about the same size, for tables and drawings that have room for so many."""
    groups = -(-len(judges) // most)
    ends = [number * len(judges) // groups for number in range(groups + 1)] if groups else []
    return [judges[start:end] for start, end in pairwise(ends)]


def summarise(datasheet: Datasheet) -> Summary:
    """Select, order and name the figures of a datasheet."""
    datasheet = _visible(datasheet)
    chosen = sections(datasheet)
    cells = [cell for section in chosen for row in section.rows for cell in row.cells.values()]
    reasons = dict.fromkeys(numbers.reason(cell) for cell in cells if numbers.undefined(cell))
    return Summary(
        datasheet=datasheet,
        measured=tuple(judge for judge in datasheet.judges if not judge.baseline),
        baselines=tuple(judge for judge in datasheet.judges if judge.baseline),
        sections=chosen,
        notes={reason: ascii_lowercase[n % 26] * (n // 26 + 1) for n, reason in enumerate(reasons)},
    )


def _calls(datasheet: Datasheet, judge: str) -> int:
    """Calls of the whole run, else those of each probe and protocol, each counted once."""
    whole = [e.n_calls for metric in _MISSING for e in datasheet.of(judge, metric, RUN) if not e.group]
    if whole:
        return max(whole)
    most: dict[tuple[str, str], int] = {}
    for metric in _MISSING:
        for estimate in datasheet.of(judge, metric):
            arm = (estimate.probe, str(estimate.group.get("protocol", "")))
            most[arm] = max(most.get(arm, 0), estimate.n_calls)
    return sum(most.values())


def _visible(datasheet: Datasheet) -> Datasheet:
    """The same datasheet with every text made visible; names stay equal wherever they were equal."""
    return replace(
        escape_fields(datasheet, "name", "profile", "version", "stimulus_set", "reference"),
        judges=tuple(
            replace(
                escape_fields(judge, "name", "model"), members=tuple(map(escape_control_chars, judge.members))
            )
            for judge in datasheet.judges
        ),
        estimates=tuple(map(_visible_estimate, datasheet.estimates)),
        panel=tuple(map(_visible_estimate, datasheet.panel)),
        remedies=tuple(map(_visible_remedy, datasheet.remedies)),
        findings=tuple(escape_fields(decision, "judge") for decision in datasheet.findings),
        verdicts=tuple(
            replace(
                escape_fields(verdict, "judge"),
                next=verdict.next and escape_fields(verdict.next, "purpose", "command", "price"),
            )
            for verdict in datasheet.verdicts
        ),
    )


def _visible_remedy(remedy: MitigatedJudge) -> MitigatedJudge:
    figures = (replace(each, estimate=_visible_estimate(each.estimate)) for each in remedy.figures)
    return replace(escape_fields(remedy, "judge", "title"), figures=tuple(figures))


def _visible_estimate(estimate: Estimate) -> Estimate:
    details, group = estimate.details, estimate.group
    texts = (estimate.judge, estimate.note, *details.values(), *group.values())
    if not any(isinstance(text, str) and text != escape_control_chars(text) for text in texts):
        return estimate
    shown = escape_fields(estimate, "judge", "note")
    return replace(shown, group=_visible_values(group), details=_visible_values(details))


def _visible_values(values: Mapping[str, T]) -> dict[str, T | str]:
    return {k: escape_control_chars(v) if isinstance(v, str) else v for k, v in values.items()}


def cost_summary(facts: RunFacts) -> str:
    """`$0.024, 128 of 144 calls in batches; $0.0012 for 12 calls that …`; empty where all was free."""
    parts = []
    if facts.calls and facts.dollars != 0:
        calls = f"{facts.batched_calls:,} of {pluralize(facts.calls, 'call')}"
        batches = f", {calls} in batches" if facts.batched_calls else ""
        # Dollars are estimated where no server counted the tokens.
        about = "about " if facts.uncounted and facts.dollars is not None else ""
        twice = facts.repeated
        repeats = (
            f", {_amount(twice.dollars)} of it for {pluralize(twice.calls, 'call')} whose reply was lost"
            if twice is not None and twice.dollars
            else ""
        )
        parts.append(f"{about}{_amount(facts.dollars)}{batches}{repeats}")
    writing = facts.authoring
    if writing is not None and writing.calls and writing.dollars != 0:
        calls = pluralize(writing.calls, "call")
        parts.append(f"{_amount(writing.dollars)} for {calls} that wrote and confirmed texts")
    return "; ".join(parts)


def _amount(dollars: float | None) -> str:
    return "price not known" if dollars is None else numbers.dollars(dollars)


@dataclass(frozen=True)
class CollapsibleSection:
    """A section of the page: rows that some judge has, and one line on those that nobody has."""

    section: Section
    """With the rows in which at least one judge under test has a figure."""
    words: Mapping[str, int]
    """Words that are told beside figures, with how many figures have them."""
    absent: Mapping[str, tuple[str, ...]]
    """Reason to the labels of the rows that no judge under test has a figure in."""


def collapsible_sections(summary: Summary) -> tuple[CollapsibleSection, ...]:
    return tuple(_collapsible(summary, section) for section in summary.sections)


def _collapsible(summary: Summary, section: Section) -> CollapsibleSection:
    judges = [judge.name for judge in summary.measured]
    rows: list[FigureRow] = []
    absent: dict[str, list[str]] = {}
    for number, row in enumerate(section.rows):
        cells = [row.cells[judge] for judge in judges if judge in row.cells]
        if _has_figure(section.rows, number, judges):
            rows.append(row)
        else:  # where judges differ in the reason, the first is given
            reason = numbers.reason(cells[0]) if cells else numbers.NOT_MEASURED
            absent.setdefault(reason, []).append(row.name)
    shown = [row.cells[judge] for row in rows for judge in judges if judge in row.cells]
    words = Counter(summary.status(cell) for cell in shown if numbers.defined(cell))
    return CollapsibleSection(
        replace(section, rows=tuple(rows)),
        {word: words[word] for word in MARKS if words[word]},
        {reason: tuple(labels) for reason, labels in absent.items()},
    )


def _has_figure(rows: Sequence[FigureRow], number: int, judges: Sequence[str]) -> bool:
    """Whether some judge has a figure in a row, or in a part of it further down."""
    parts = takewhile(lambda row: row.depth > rows[number].depth, rows[number + 1 :])
    return any(numbers.defined(row.cells.get(judge)) for row in (rows[number], *parts) for judge in judges)


def not_measured(sheet: Datasheet) -> list[tuple[str, str]]:
    """Titles of questions that no judge of the sheet has an answer to, each with what would give one."""
    answered = {d.question.name for d in sheet.findings if d.status != UNDEFINED}
    of_agents = any(estimate.probe == RUNS for estimate in sheet.estimates)
    ways = ((question, next((w for w in question.ways if _fits(w, sheet)), None)) for question in QUESTIONS)
    return [
        (question.title, way.words)
        for question, way in ways
        # Runs of agents have edits of their own, which the question on runs is about.
        if way and question.name not in answered and not (of_agents and question is ROBUSTNESS)
    ]


def _fits(way: Way, sheet: Datasheet) -> bool:
    recorded = any(judge.model == RECORDED for judge in sheet.judges if not judge.baseline)
    if any(estimate.metric == way.unless and estimate.value is not None for estimate in sheet.estimates):
        return False
    of_form, of_data = way.form in (None, sheet.form), way.own_data in (None, sheet.own_data)
    return way.recorded == recorded and of_form and of_data


def not_measured_text(sheet: Datasheet, width: int | None = None) -> str:
    """`Not measured: goes by length (column words, or text); …`; empty where nothing is left out.

    With a width, as many as one line has room for, and how many more there are.
    """
    found = [f"{title} ({words})" for title, words in not_measured(sheet)]
    return fitted("Not measured", found, len(found), width)
