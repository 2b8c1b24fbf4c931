"""Verdicts with their signals of confidence and people's labels, from a table or a run folder."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from math import isfinite
from pathlib import Path
from typing import Any

import numpy as np

from steelyard.core.arrays import Floats, Ints, Mask
from steelyard.core.content_hash import content_hash, seed_for
from steelyard.core.text import pluralize
from steelyard.core.validation import parse_map
from steelyard.errors import ConfigError, DataError
from steelyard.importing.ratings import parse_parts, task_numbers
from steelyard.tasks.sources.read import read_table
from steelyard.tasks.sources.table import (
    LOST,
    SLOTS,
    Table,
    TableParts,
    TableRecord,
    filter_rows,
    is_missing,
    normal,
    plain_text,
)
from steelyard.tasks.task import BINARY_WORDS, Pairwise, answer_words, parse_scale
from steelyard.trust.options import VerdictOptions
from steelyard.verdicts.call_answers import JURY, ORDERS_AGREE, REPEATS

NAMES = frozenset(("item", "task"))
"""Parts by which rows belong together."""
OWN = "column"
"""Kind of a signal that a column of a table holds."""


@dataclass(frozen=True, eq=False)
class Signal:
    name: str
    values: Floats
    """Higher is surer; NaN where there is none."""
    kind: str = OWN
    calls: int | None = None
    """Calls that a verdict with this signal takes; None where only the user knows it."""
    jury: Mapping[str, int] = field(default_factory=dict)
    """Other judges that the signal takes, and how often each is asked."""

    @property
    def is_share(self) -> bool:
        known = self.values[~np.isnan(self.values)]
        return bool(len(known)) and float(known.min()) >= 0 and float(known.max()) <= 1

    @property
    def is_chance(self) -> bool:
        """Whether it may be read as a chance of being right; agreement is none."""
        return self.is_share and self.kind not in (REPEATS, ORDERS_AGREE, JURY)


@dataclass(frozen=True, eq=False)
class JudgeVerdicts:
    answers: tuple[str | None, ...]
    """None where the judge gave no answer."""
    asked: Mask
    """False where nothing is recorded, not even a failure."""
    signals: Mapping[str, Signal]

    @property
    def answered(self) -> Mask:
        return np.array([answer is not None for answer in self.answers], dtype=np.bool_)


@dataclass(frozen=True, eq=False)
class VerdictTable:
    name: str
    items: tuple[str, ...]
    tasks: tuple[str, ...]
    labels: tuple[str | None, ...]
    judges: Mapping[str, JudgeVerdicts]
    records: Sequence[Mapping[str, Any]] = ()
    """The rows as they stand in the file."""
    set_aside: int = 0
    """Labels that do not count, since their items were drawn at higher odds than others."""
    columns: Mapping[str, str] = field(default_factory=dict)
    """Columns of items and tasks, and of the parts of a long table."""

    @property
    def has_names(self) -> bool:
        """Whether a column names items or tasks, so that rows of one of them are known."""
        return not NAMES.isdisjoint(self.columns)

    @property
    def clusters(self) -> Ints:
        """Rows of one task belong together; of those without a task, rows of one item do."""
        pairs = zip(self.tasks, self.items, strict=True)
        return task_numbers(f"task {task}" if task else f"item {item}" for task, item in pairs)

    @property
    def labelled(self) -> Mask:
        return np.array([label is not None for label in self.labels], dtype=np.bool_)

    @property
    def label_hash(self) -> str:
        named = zip(self.items, self.labels, strict=True)
        return content_hash(sorted([item, label] for item, label in named if label is not None))

    @property
    def known_answers(self) -> list[str]:
        """All answers that judges and people gave."""
        given = {answer for judge in self.judges.values() for answer in judge.answers} | set(self.labels)
        return sorted(answer for answer in given if answer is not None)

    def wrong(self, judge: str, only: str | None = None) -> Mask:
        """Answers that differ from the label; with `only`, those among them that give this answer."""
        return np.array(
            [
                answer is not None and answer != label and only in (None, answer)
                for answer, label in zip(self.judges[judge].answers, self.labels, strict=True)
            ],
            dtype=np.bool_,
        )


PARTS = ("item", "task", "p_drawn", "rater", "value", "confidence")
"""The last three are of long tables, which have a row for each rater of an item."""


class AnswerWords:
    """One spelling of each answer: that of the scale, where one is named."""

    def __init__(self, values: str | None, scale: str | None) -> None:
        given = parse_map(values or "", "--values", "WORD=ANSWER", "good=1,bad=0")
        self._words = {normal(word): normal(answer) for word, answer in given.items()}
        parsed = None if scale is None else parse_scale(scale)
        self.answers = None if parsed is None else parsed.answers
        pair = isinstance(parsed, Pairwise)
        self._usual = SLOTS if pair else BINARY_WORDS if parsed is None else answer_words(parsed)

    def spell(self, cell: Any) -> str:
        text = normal(cell)
        return self._words.get(text, self._usual.get(text, text))

    def read(self, cell: Any, where: str, column: str) -> str:
        answer = self.spell(cell)
        if self.answers is not None and answer not in self.answers:
            raise DataError(
                f"{where}: column {column!r} holds {plain_text(cell)[:60]!r}, expected one of "
                f"{', '.join(self.answers)}; correct the row, or say what the word means with --values."
            )
        return answer


@dataclass(frozen=True)
class TableColumns:
    """Which columns are judges' answers, their signals, and people's labels."""

    signals: Mapping[str, Sequence[str]]
    """Columns of the signals of each judge, by the column of its answers."""
    people: str | None = None
    answers: Sequence[str] | None = None
    """All answers that judges and people gave when the thresholds were fitted."""
    seed: int = 7
    """By it labels are chosen where items were drawn at uneven odds."""
    fitted: Mapping[str, str] = field(default_factory=dict)
    """Columns by part where the promise was fitted."""


def read_verdict_table(path: Path, wanted: TableColumns, how: VerdictOptions) -> VerdictTable:
    parts = parse_parts(how.columns, known=PARTS)
    table = read_table(path)
    if how.where:
        table = filter_rows(table, parse_map(how.where, "--where", "COLUMN=VALUE", "split=test"))
    parts = _columns_here(table, wanted, parts)
    if "rater" in parts:
        table = widened(table, parts)
    words = AnswerWords(how.values, how.scale)
    judges = {judge: _judge(table, judge, columns, words) for judge, columns in wanted.signals.items()}
    labels: tuple[str | None, ...] = (None,) * len(table.records)
    if wanted.people is not None:
        table.require(wanted.people, "people")
        labels = tuple(
            None
            if _is_empty(cell := record.values.get(wanted.people))
            else words.read(cell, f"{table.name}, {record.where}", wanted.people)
            for record in table.records
        )
        if words.answers is None:
            _refuse_unknown(table, wanted, labels, judges)
    here = TableParts(
        table, {part: parts.get(part, part) for part in PARTS if parts.get(part, part) in table.columns}
    )
    given = len(labels) - labels.count(None)
    if wanted.people is not None and "p_drawn" in here.columns:
        labels = evenly_drawn(here, labels, wanted.seed)
    items = tuple(here.text(record, "item") or str(record.number) for record in table.records)
    tasks = tuple(here.text(record, "task") for record in table.records)
    records = [record.values for record in table.records]
    set_aside = given - (len(labels) - labels.count(None))
    lasting = NAMES | (parts.keys() - {"p_drawn"})  # later audits have a draw of their own
    columns = {part: column for part, column in {**here.columns, **parts}.items() if part in lasting}
    return VerdictTable(table.name, items, tasks, labels, judges, records, set_aside, columns)


def _columns_here(table: Table, wanted: TableColumns, given: Mapping[str, str]) -> dict[str, str]:
    """Columns by part: those of the fit that the table has, and those given now, which go before them.

    Labels are counted by items and tasks, so that these columns of the fit must be there.
    """
    parts = dict(given)
    for part, column in wanted.fitted.items():
        if column in table.columns:
            parts.setdefault(part, column)
        elif part in NAMES - parts.keys() and wanted.people is not None:
            step = f"rows of one {part} are one audit, so name its column with --columns {part}=COLUMN"
            table.require(column, f"{part}, as in the fit", step)
    for part, column in parts.items():
        table.require(column, part)
    return parts


def widened(table: Table, parts: Mapping[str, str]) -> Table:
    """One row for each item: a column of each rater's values, and its confidence as `RATER confidence`."""
    absent = [part for part in ("item", "value") if part not in parts]
    if absent:
        raise ConfigError(
            f"--columns: rater is mapped without {absent[0]}, expected item and value of a long table; add "
            f"{absent[0]}=COLUMN."
        )
    here = TableParts(table, parts)
    rows: dict[str, dict[str, Any]] = {}
    kept = [parts[part] for part in ("item", "task", "p_drawn") if part in parts]
    names: dict[str, None] = dict.fromkeys(kept)
    for record in table.records:
        item, rater = here.text(record, "item"), here.text(record, "rater")
        row = rows.setdefault(item, {})
        if rater in row:
            raise DataError(
                f"{here.where(record)}: {rater!r} rates item {item!r} a second time, expected one row for "
                "each rater of an item; remove one, or keep one run with --where."
            )
        row |= {name: record.values.get(name) for name in kept if not is_missing(record.values.get(name))}
        row[rater] = record.values.get(parts["value"])
        if "confidence" in parts:
            row[f"{rater} confidence"] = record.values.get(parts["confidence"])
        names |= dict.fromkeys(row)
    made = [TableRecord(n, f"item {item!r}", row) for n, (item, row) in enumerate(rows.items(), start=1)]
    return Table(table.name, tuple(names), made)


def evenly_drawn(here: TableParts, labels: tuple[str | None, ...], seed: int) -> tuple[str | None, ...]:
    """Labels as if all items had been drawn at the same odds: each is kept with probability least/own odds.

    A promise on accepted answers needs a random draw; a draw by verdict has more of some answers.
    """
    odds = []
    for record, label in zip(here.table.records, labels, strict=True):
        odds.append(None if label is None else here.odds(record))
        if label is not None and odds[-1] is None:
            raise DataError(
                f"{here.where(record)}: p_drawn is empty, expected the item's chance of being drawn, as of "
                "every label; write it."
            )
    known = [each for each in odds if each is not None]
    least, rng = min(known, default=1.0), np.random.default_rng(seed_for(seed, "odds"))
    draws = rng.random(len(odds))
    return tuple(
        label if own is not None and draw * own < least else None
        for label, own, draw in zip(labels, odds, draws.tolist(), strict=True)
    )


def _is_empty(cell: Any) -> bool:
    return is_missing(cell) or (isinstance(cell, str) and not cell.strip())


def _judge(table: Table, judge: str, columns: Sequence[str], words: AnswerWords) -> JudgeVerdicts:
    table.require(judge, "the judge")
    cells = [record.values.get(judge) for record in table.records]
    answers = tuple(
        None
        if _is_empty(cell) or words.spell(cell) in LOST
        else words.read(cell, f"{table.name}, {record.where}", judge)
        for record, cell in zip(table.records, cells, strict=True)
    )
    asked = np.array([not _is_empty(cell) for cell in cells], dtype=np.bool_)
    signals = {}
    for name in columns:
        table.require(name, "the signal")
        values = [_number(table, record, name) for record in table.records]
        signals[name] = Signal(name, np.array(values, dtype=np.float64))
    return JudgeVerdicts(answers, asked, signals)


def _number(table: Table, record: TableRecord, column: str) -> float:
    cell = record.values.get(column)
    if cell is None or (isinstance(cell, str) and not cell.strip()):
        return float("nan")
    try:
        number = float(cell)
    except (TypeError, ValueError):
        number = float("nan")
    if not isfinite(number):
        raise DataError(
            f"{table.name}, {record.where}: column {column!r} holds {plain_text(cell)[:60]!r}, expected a "
            "number that is higher where the judge is surer; correct it, or leave the cell empty where there "
            "is none."
        )
    return number


def _refuse_unknown(
    table: Table, wanted: TableColumns, labels: Sequence[str | None], judges: Mapping[str, JudgeVerdicts]
) -> None:
    """A label that no judge ever gives is most often another spelling, and would make every answer wrong."""
    given = sorted({answer for judge in judges.values() for answer in judge.answers if answer is not None})
    known = wanted.answers or given
    for record, label in zip(table.records, labels, strict=True):
        if label is not None and label not in known:
            raise DataError(
                f"{table.name}, {record.where}: column {wanted.people!r} holds {label!r}, expected an answer "
                f"that a judge gives ({', '.join(known[:8]) or 'none found'}); say what the word means with "
                "--values, or name all answers with --scale."
            )


def by_judge(option: str, form: str, given: Sequence[str], judges: Sequence[str]) -> list[tuple[str, str]]:
    """Judges with what an option says of them; without `JUDGE=` it is of the only one."""
    made = []
    for text in given:
        judge, sign, said = text.partition("=")
        if not sign or judge not in judges:
            if len(judges) != 1:
                raise ConfigError(
                    f"{option}: found {text!r} beside {pluralize(len(judges), 'judge')}, expected {form} "
                    f"with one of {', '.join(judges)}; write whose it is."
                )
            judge, said = judges[0], text
        made.append((judge, said))
    return made


def signals_by_judge(judges: Sequence[str], given: Sequence[str]) -> dict[str, list[str]]:
    """Signals as the command line writes them."""
    made: dict[str, list[str]] = {judge: [] for judge in judges}
    for judge, name in by_judge("--signal", "JUDGE=SIGNAL", given, judges):
        made[judge].append(name)
    for judge, names in made.items():
        if not names:
            raise ConfigError(
                f"--signal: none found for judge {judge!r}, expected what tells how sure it is; name a "
                f"column, as in --signal {judge}=confidence."
            )
    return made
