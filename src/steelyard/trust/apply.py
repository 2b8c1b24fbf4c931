"""`trust apply`: a decision for every row of a table."""

from __future__ import annotations

import csv
import io
from collections import Counter
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import numpy as np

from steelyard.core.files import atomic_write_text
from steelyard.core.text import percent, pluralize
from steelyard.datasheet.words.text import escape_formula
from steelyard.errors import ConfigError
from steelyard.trust.bindings import run_fingerprints
from steelyard.trust.options import ApplyOptions, VerdictOptions
from steelyard.trust.run_verdicts import KINDS, read_run
from steelyard.trust.trust_file import TrustFile, read_trust
from steelyard.trust.verdict_table import OWN, TableColumns, VerdictTable, read_verdict_table

ACCEPT, ASK, ESCALATE = "accept", "ask", "escalate"
COLUMNS = ("trust", "trust_answer", "trust_judge", "trust_reason")
UNSURE, NO_ANSWER, NO_SIGNAL = "no judge is sure", "no judge gave an answer", "no signal of confidence"


@dataclass(frozen=True)
class Decision:
    decision: str
    answer: str | None = None
    judge: str | None = None
    """Who answered, or is to be asked."""
    reason: str = ""


def decide(trust: TrustFile, table: VerdictTable) -> list[Decision]:
    """Each row by the judges in their order; one that accepts nothing is not waited for."""
    decisions: list[Decision | None] = [None] * len(table.items)
    reasons = [NO_ANSWER] * len(table.items)
    for stage in trust.stages:
        if stage.threshold is None:
            continue
        judge = table.judges[stage.judge]
        values = judge.signals[stage.signal.name].values
        for row, answer in enumerate(judge.answers):
            if decisions[row] is not None:
                continue
            if not judge.asked[row]:
                decisions[row] = Decision(ASK, None, stage.judge, "not asked yet")
            elif answer is None:
                continue
            elif np.isnan(values[row]):
                reasons[row] = NO_SIGNAL
            elif values[row] >= stage.threshold:
                decisions[row] = Decision(ACCEPT, answer, stage.judge)
            else:
                reasons[row] = UNSURE
    return [made or Decision(ESCALATE, None, None, why) for made, why in zip(decisions, reasons, strict=True)]


def read_for_trust(
    trust: TrustFile, where: str, file: Path, how: VerdictOptions, people: str | None = None
) -> VerdictTable:
    """The table or run with the columns that the promise needs; a run's judges must be the fitted ones."""
    stages = [stage for stage in trust.stages if stage.threshold is not None]
    signals = {stage.judge: [stage.signal.name] for stage in stages}
    kinds = {stage.signal.kind for stage in stages}
    if file.is_dir():
        if kinds - set(KINDS):
            raise ConfigError(
                f"{file}: found a run folder, expected a table, since {where} was fitted on columns; name a "
                "table."
            )
        table = read_run(file, list(signals), signals)
        prints = run_fingerprints(file, list(signals))
        for stage in stages:
            trust.require_judge(stage, prints.get(stage.judge, "none"), where)
        return table
    if kinds - {OWN} and not kinds & {OWN}:
        raise ConfigError(
            f"{file}: found a table, expected a run folder, since {where} was fitted on the calls of a run; "
            "name one."
        )
    reading = replace(how, scale=how.scale or trust.scale, values=how.values or trust.values)
    return read_verdict_table(file, TableColumns(signals, people, trust.answers), reading)


@dataclass(frozen=True)
class ApplyCounts:
    rows: int
    accepted: dict[str, int]
    asked: dict[str, int]
    escalated: dict[str, int]

    @classmethod
    def of(cls, decisions: list[Decision]) -> ApplyCounts:
        accepted = Counter(each.judge or "" for each in decisions if each.decision == ACCEPT)
        asked = Counter(each.judge or "" for each in decisions if each.decision == ASK)
        escalated = Counter(each.reason for each in decisions if each.decision == ESCALATE)
        return cls(len(decisions), dict(accepted), dict(asked), dict(escalated))

    def to_json(self) -> dict[str, Any]:
        return vars(self)

    def lines(self) -> list[str]:
        taken = sum(self.accepted.values())
        said = [
            f"Accepted: {taken:,} of {pluralize(self.rows, 'row')} ({percent(round(taken / self.rows, 3))})."
        ]
        said += [f"To ask: {judge} on {pluralize(count, 'row')}." for judge, count in self.asked.items()]
        if self.escalated:
            why = "; ".join(f"{reason}: {count:,}" for reason, count in self.escalated.items())
            said.append(f"For people: {pluralize(sum(self.escalated.values()), 'row')} ({why}).")
        return said


def apply_trust(options: ApplyOptions) -> tuple[ApplyCounts, Path]:
    trust = read_trust(options.trust)
    trust.require_valid(str(options.trust), datetime.now(UTC))
    table = read_for_trust(trust, str(options.trust), options.file, options.reading)
    clash = [name for name in COLUMNS if table.records and name in table.records[0]]
    decisions = decide(trust, table)
    out = options.out or options.file.with_name(f"{options.file.stem or options.file.name}-trust.csv")
    if out.resolve() == options.file.resolve():
        raise ConfigError(f"--out: {out} is the table that is read, expected another file; name one.")
    atomic_write_text(out, _csv(table, decisions, dropped=clash))
    return ApplyCounts.of(decisions), out


def _csv(table: VerdictTable, decisions: list[Decision], dropped: list[str]) -> str:
    """The rows as they are, and the decision beside each; columns of an earlier decision are replaced."""
    names = [
        name for name in dict.fromkeys(name for row in table.records for name in row) if name not in dropped
    ]
    text = io.StringIO()
    writer = csv.writer(text, lineterminator="\n")
    writer.writerow((*names, *COLUMNS))
    for row, made in zip(table.records, decisions, strict=True):
        cells = [row.get(name) for name in names]
        own = (made.decision, made.answer, made.judge, made.reason)
        writer.writerow([_cell(cell) for cell in (*cells, *own)])
    return text.getvalue()


def _cell(cell: Any) -> str:
    return "" if cell is None else escape_formula(cell) if isinstance(cell, str) else str(cell)
