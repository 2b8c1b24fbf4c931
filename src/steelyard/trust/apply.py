"""`trust apply`: a decision for every row of a table."""

from __future__ import annotations

import csv
import io
from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from itertools import chain
from pathlib import Path
from typing import Any

import numpy as np

from steelyard.core.files import atomic_write_text
from steelyard.core.text import escape_formula, percent, pluralize
from steelyard.errors import ConfigError, DataError
from steelyard.metrics.stats.clusters import Tally, wilson_cluster
from steelyard.metrics.stats.intervals import difference, wilson
from steelyard.tasks.task import parse_scale
from steelyard.trust.options import ApplyOptions, VerdictOptions
from steelyard.trust.run_verdicts import KINDS, PERCENT, read_run
from steelyard.trust.trust_file import (
    NO_ANSWER,
    TrustedStage,
    TrustFile,
    read_trust,
    run_fingerprints,
    run_question,
)
from steelyard.trust.verdict_table import OWN, Signal, TableColumns, VerdictTable, read_verdict_table

ACCEPT, ASK, ESCALATE = "accept", "ask", "escalate"
MOST_SHIFT = 0.1
"""By how much another share may be accepted than at the fit before it is said."""
COLUMNS = ("trust", "trust_answer", "trust_judge", "trust_reason")


@dataclass(frozen=True)
class TrustDecision:
    decision: str
    answer: str | None = None
    judge: str | None = None
    """Who answered, or is to be asked."""
    reason: str = ""


def decide(trust: TrustFile, table: VerdictTable) -> list[TrustDecision]:
    """Each row by the judges in their order; one that accepts nothing is not waited for."""
    decisions: list[TrustDecision | None] = [None] * len(table.items)
    reasons = [NO_ANSWER] * len(table.items)
    for stage in trust.used:
        judge = table.judges[stage.judge]
        values = judge.signals[stage.signal.name].values.tolist()
        for row, (answer, signal) in enumerate(zip(judge.answers, values, strict=True)):
            if decisions[row] is not None:
                continue
            if not judge.asked[row]:
                decisions[row] = TrustDecision(ASK, None, stage.judge, "not asked yet")
            elif (why := trust.why_not(stage, answer, signal)) is None:
                decisions[row] = TrustDecision(ACCEPT, answer, stage.judge)
            elif why != NO_ANSWER:
                reasons[row] = why
    return [
        made or TrustDecision(ESCALATE, None, None, why) for made, why in zip(decisions, reasons, strict=True)
    ]


def read_for_trust(
    trust: TrustFile, where: str, file: Path, how: VerdictOptions, people: str | None = None
) -> VerdictTable:
    """The table or run with the columns that the promise needs; a run's judges must be the fitted ones."""
    signals = {stage.judge: [stage.signal.name] for stage in trust.used}
    kinds = {stage.signal.kind for stage in trust.used}
    if file.is_dir():
        if kinds - set(KINDS):
            raise ConfigError(
                f"{file}: found a run folder, expected a table, since {where} was fitted on columns; name a "
                "table."
            )
        trust.require_tied(where)
        asked = [one.judge for one in trust.judges]
        scale, question = run_question(file, asked)
        trust.require_scale(scale, where)
        trust.require_question(question, where)
        table = read_run(file, list(signals), signals)
        for stage in trust.used:
            _require_same_calls(stage, table.judges[stage.judge].signals[stage.signal.name], file, where)
        prints = run_fingerprints(file, asked)
        for each in trust.judges:
            trust.require_judge(each, prints.get(each.judge, "none"), where)
        return table
    if kinds - {OWN} and not kinds & {OWN}:
        raise ConfigError(
            f"{file}: no run folder found, expected a run folder, since {where} was fitted on the calls of a "
            "run; name one."
        )
    trust.require_scale(None if how.scale is None else parse_scale(how.scale), where)
    reading = replace(how, scale=how.scale or trust.scale, values=how.values or trust.values)
    wanted = TableColumns(signals, people, trust.answers, fitted=trust.columns)
    table = read_verdict_table(file, wanted, reading)
    for stage in trust.used:
        _require_same_range(stage, table)
    return table


def _require_same_calls(stage: TrustedStage, found: Signal, file: Path, where: str) -> None:
    """A share of five calls is another signal than one of three, and so is that of another jury."""
    fitted = stage.signal
    jury = {member.judge: member.calls for member in fitted.jury}
    if (found.kind, found.calls, found.jury) != (fitted.kind, fitted.calls, jury):
        here = _calls_words(found.kind, found.calls, found.jury)
        raise ConfigError(
            f"{file}: signal {fitted.name} of judge {stage.judge!r} takes {here}, expected "
            f"{_calls_words(fitted.kind, fitted.calls, jury)} as in {where}; measure with the same judges "
            "and repeats, or fit the thresholds anew."
        )


def _calls_words(kind: str, calls: int | None, jury: Mapping[str, int]) -> str:
    members = [f"{count} of {name}" for name, count in jury.items()]
    return ", ".join([pluralize(calls or 1, "call"), *members]) + (" in percent" if kind == PERCENT else "")


def _require_same_range(stage: TrustedStage, table: VerdictTable) -> None:
    values = table.judges[stage.judge].signals[stage.signal.name].values
    odd = [row for row in np.flatnonzero(~np.isnan(values)) if not stage.signal.admits(values[row])]
    if odd:
        raise DataError(
            f"{table.name}, item {table.items[odd[0]]!r}: column {stage.signal.name!r} holds "
            f"{values[odd[0]]:g}, expected a number from 0 to 1 as where the threshold was fitted; write it "
            "on that scale, or fit anew."
        )


@dataclass(frozen=True)
class ApplyCounts:
    rows: int
    accepted: dict[str, int]
    asked: dict[str, int]
    escalated: dict[str, int]
    accepted_at_fit: float
    """Share of the verdicts on which the promise was fitted."""
    is_like_fit: bool
    """Whether about as many are accepted here, as far as can be told."""

    @classmethod
    def of(cls, decisions: list[TrustDecision], trust: TrustFile, table: VerdictTable) -> ApplyCounts:
        """Answers by judge, people's rows by reason."""
        made = [(each.decision, each.judge or each.reason) for each in decisions]
        accepted, asked, left = (
            dict(Counter(by for kind, by in made if kind == one)) for one in (ACCEPT, ASK, ESCALATE)
        )
        then = min(trust.accepted, trust.verdicts), trust.verdicts
        rows = table.clusters
        taken = np.bincount(rows, [kind == ACCEPT for kind, _ in made]).astype(np.int64)
        tally = Tally(taken, np.bincount(rows), len(made), len(set(table.items)))
        low, high = difference(tally.k / tally.n, wilson_cluster(tally), then[0] / then[1], wilson(*then))
        is_like = bool(asked) or (low <= MOST_SHIFT and high >= -MOST_SHIFT)
        return cls(len(made), accepted, asked, left, then[0] / then[1], is_like)

    def lines(self) -> list[str]:
        taken = sum(self.accepted.values())
        said = [
            f"Accepted: {taken:,} of {pluralize(self.rows, 'row')} ({percent(round(taken / self.rows, 3))})."
        ]
        said += [f"To ask: {judge} on {pluralize(count, 'row')}." for judge, count in self.asked.items()]
        if self.escalated:
            why = "; ".join(f"{reason}: {count:,}" for reason, count in self.escalated.items())
            said.append(f"For people: {pluralize(sum(self.escalated.values()), 'row')} ({why}).")
        if not self.is_like_fit:
            said.append(
                f"Where the promise was fitted, {percent(round(self.accepted_at_fit, 3))} were accepted: "
                "these verdicts are unlike those, and the promise may not hold for them. Let people answer a "
                "random part of the accepted rows, and run `steelyard trust check`."
            )
        return said


def apply_trust(options: ApplyOptions) -> tuple[ApplyCounts, Path]:
    trust = read_trust(options.trust)
    trust.require_valid(str(options.trust), datetime.now(UTC))
    table = read_for_trust(trust, str(options.trust), options.file, options.reading)
    decisions = decide(trust, table)
    out = options.out or options.file.with_name(f"{options.file.stem or options.file.name}-trust.csv")
    if out.resolve() == options.file.resolve():
        raise ConfigError(f"--out: {out} is the table that is read, expected another file; name one.")
    atomic_write_text(out, _csv(table, decisions))
    return ApplyCounts.of(decisions, trust, table), out


def _csv(table: VerdictTable, decisions: list[TrustDecision]) -> str:
    """The rows as they are, and the decision beside each; columns of an earlier decision are replaced."""
    names = [name for name in dict.fromkeys(chain.from_iterable(table.records)) if name not in COLUMNS]
    text = io.StringIO()
    writer = csv.writer(text, lineterminator="\n")
    writer.writerow(map(_cell, (*names, *COLUMNS)))
    for row, made in zip(table.records, decisions, strict=True):
        own = (made.decision, made.answer, made.judge, made.reason)
        writer.writerow(map(_cell, (*map(row.get, names), *own)))
    return text.getvalue()


def _cell(cell: Any) -> str:
    return "" if cell is None else escape_formula(cell) if isinstance(cell, str) else str(cell)
