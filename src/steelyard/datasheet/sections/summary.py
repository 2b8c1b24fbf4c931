"""What a report shows first: one selection of figures and readings, shared by every renderer."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import pairwise

from steelyard.core.text import pluralize
from steelyard.datasheet.conclusion import Conclusion, Finding, NextStep
from steelyard.datasheet.datasheet import Datasheet
from steelyard.datasheet.judge_entry import JudgeEntry
from steelyard.datasheet.run_facts import RunFacts, Writing
from steelyard.datasheet.sections.rows import FigureRow, Section
from steelyard.datasheet.sections.sections import sections
from steelyard.datasheet.words import numbers
from steelyard.datasheet.words.numbers import dollars
from steelyard.datasheet.words.text import escape_control_chars
from steelyard.metrics.common import FAILED_RATE, UNREADABLE_RATE
from steelyard.metrics.estimate import Estimate
from steelyard.metrics.remedies.mitigations import MitigatedJudge
from steelyard.metrics.run.losses import PROBE as RUN

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
        """The word of a figure; empty for baselines, which are held against no limit."""
        measured = any(judge.name == estimate.judge for judge in self.measured)
        return (estimate.status or "") if measured else ""

    def notes_in(self, cells: Iterable[str]) -> dict[str, str]:
        shown = set(cells)
        return {reason: letter for reason, letter in self.notes.items() if f"undefined ({letter})" in shown}

    def findings(self, judge: str) -> tuple[Finding, ...]:
        return tuple(finding for finding in self.datasheet.findings if finding.judge == judge)

    def finding_titles(self) -> tuple[str, ...]:
        return tuple(dict.fromkeys(finding.title for finding in self.datasheet.findings))

    @property
    def measured_questions(self) -> str:
        """`dark current, position, length`: what some judge has an answer to, each question once."""
        answered = (finding.title for finding in self.datasheet.findings if finding.status != "undefined")
        return ", ".join(dict.fromkeys(title.partition(",")[0].lower() for title in answered))

    def finding(self, judge: str, title: str) -> Finding | None:
        return next((finding for finding in self.findings(judge) if finding.title == title), None)

    def verdict(self, judge: str) -> Conclusion | None:
        return next((verdict for verdict in self.datasheet.verdicts if verdict.judge == judge), None)

    @property
    def headlines(self) -> tuple[FigureRow, ...]:
        return tuple(row for section in self.sections for row in section.rows if row.headline)

    @property
    def calls(self) -> int:
        """Calls of the measured judges, as far as the rates of calls without a verdict tell.

        Judges made of others rest on calls that they share, and the run has pluralize those.
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
        notes={reason: _letter(number) for number, reason in enumerate(reasons)},
    )


def _calls(datasheet: Datasheet, judge: str) -> int:
    """Calls of the whole run, else those of each probe and protocol, each pluralize once."""
    whole = [e.n_calls for metric in _MISSING for e in datasheet.of(judge, metric, RUN) if not e.group]
    if whole:
        return max(whole)
    most: dict[tuple[str, str], int] = {}
    for metric in _MISSING:
        for estimate in datasheet.of(judge, metric):
            arm = (estimate.probe, str(estimate.group.get("protocol", "")))
            most[arm] = max(most.get(arm, 0), estimate.n_calls)
    return sum(most.values())


def _letter(number: int) -> str:
    return "abcdefghijklmnopqrstuvwxyz"[number % 26] * (number // 26 + 1)


def _visible(datasheet: Datasheet) -> Datasheet:
    """The same datasheet with every text made visible; names stay equal wherever they were equal."""
    return replace(
        datasheet,
        name=escape_control_chars(datasheet.name),
        profile=escape_control_chars(datasheet.profile),
        version=escape_control_chars(datasheet.version),
        stimulus_set=escape_control_chars(datasheet.stimulus_set),
        reference=None if datasheet.reference is None else escape_control_chars(datasheet.reference),
        judges=tuple(
            replace(
                judge,
                name=escape_control_chars(judge.name),
                model=escape_control_chars(judge.model),
                members=tuple(map(escape_control_chars, judge.members)),
            )
            for judge in datasheet.judges
        ),
        estimates=tuple(_visible_estimate(estimate) for estimate in datasheet.estimates),
        panel=tuple(_visible_estimate(estimate) for estimate in datasheet.panel),
        remedies=tuple(_visible_remedy(cured) for cured in datasheet.remedies),
        findings=tuple(
            replace(
                finding,
                judge=escape_control_chars(finding.judge),
                title=escape_control_chars(finding.title),
                status=escape_control_chars(finding.status),
                sentence=escape_control_chars(finding.sentence),
            )
            for finding in datasheet.findings
        ),
        verdicts=tuple(_visible_verdict(verdict) for verdict in datasheet.verdicts),
    )


def _visible_verdict(verdict: Conclusion) -> Conclusion:
    facts = (replace(fact, sentence=escape_control_chars(fact.sentence)) for fact in verdict.facts)
    return replace(
        verdict,
        judge=escape_control_chars(verdict.judge),
        facts=tuple(facts),
        so=escape_control_chars(verdict.so),
        next=None if verdict.next is None else _visible_step(verdict.next),
    )


def _visible_step(step: NextStep) -> NextStep:
    command = None if step.command is None else escape_control_chars(step.command)
    return replace(
        step,
        purpose=escape_control_chars(step.purpose),
        command=command,
        price=escape_control_chars(step.price),
    )


def _visible_remedy(cured: MitigatedJudge) -> MitigatedJudge:
    figures = (replace(each, estimate=_visible_estimate(each.estimate)) for each in cured.figures)
    return replace(
        cured,
        judge=escape_control_chars(cured.judge),
        title=escape_control_chars(cured.title),
        figures=tuple(figures),
    )


def _visible_estimate(estimate: Estimate) -> Estimate:
    texts = (estimate.judge, estimate.note, estimate.rival, *estimate.group.values())
    if not any(isinstance(text, str) and text != escape_control_chars(text) for text in texts):
        return estimate
    return replace(
        estimate,
        judge=escape_control_chars(estimate.judge),
        note=None if estimate.note is None else escape_control_chars(estimate.note),
        rival=None if estimate.rival is None else escape_control_chars(estimate.rival),
        group={
            key: escape_control_chars(v) if isinstance(v, str) else v for key, v in estimate.group.items()
        },
    )


def cost_summary(facts: RunFacts) -> str:
    """`$0.024, 128 of 144 calls in batches; $0.0012 for 12 calls that …`; empty where all was free."""
    return "; ".join(part for part in (_judging(facts), _writing(facts.authoring)) if part)


def _judging(facts: RunFacts) -> str:
    if not facts.calls or facts.dollars == 0:
        return ""
    amount = _amount(facts.dollars, bool(facts.uncounted))
    if not facts.batched_calls:
        return amount
    return f"{amount}, {facts.batched_calls:,} of {pluralize(facts.calls, 'call')} in batches"


def _writing(writing: Writing | None) -> str:
    if writing is None or not writing.calls or writing.dollars == 0:
        return ""
    return f"{_amount(writing.dollars)} for {pluralize(writing.calls, 'call')} that wrote and confirmed texts"


def _amount(paid: float | None, estimated: bool = False) -> str:
    """Dollars; some were estimated where no server pluralize tokens."""
    if paid is None:
        return "price not known"
    return f"{'about ' if estimated else ''}{dollars(paid)}"
