"""Rows of a file, whatever its format: filter, join, sample; cells as text, labels as answers of a scale."""

from __future__ import annotations

import json
import math
from collections.abc import Callable, Hashable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from difflib import get_close_matches
from itertools import islice
from shlex import quote
from typing import Annotated, Any, TypeAlias, TypeVar, overload

from pydantic import Field

from steelyard.core.content_hash import seed_for
from steelyard.core.text import pluralize
from steelyard.core.validation import Expected, StrictModel
from steelyard.errors import ConfigError, DataError
from steelyard.tasks.task import Pairwise, Scale, with_usual_words

LOST = ("unreadable", "failed", "error", "abstained", "none", "null", "nan", "n/a")
"""Words of a judge that gave no verdict; a failure is never a grade."""
SLOTS = {
    **dict.fromkeys(("1", "a", "first", "model_a", "system_a"), "1"),
    **dict.fromkeys(("2", "b", "second", "model_b", "system_b"), "2"),
    **dict.fromkeys(("tie", "tie_bothbad", "tie (bothbad)", "both_bad", "both", "draw"), "tie"),
}
"""Words for the better of two, in lower case."""


def is_missing(cell: Any) -> bool:
    return cell is None or cell == "" or (isinstance(cell, float) and math.isnan(cell))


def plain_text(cell: Any) -> str:
    """A scalar as people write it: 4.0 is `4`, true is `true`; text stays as it is."""
    if isinstance(cell, str):
        return cell
    if isinstance(cell, bool):
        return str(cell).lower()
    if isinstance(cell, float) and cell.is_integer():
        return str(int(cell))
    return str(cell)


def long_text(cell: Any, where: str) -> str:
    if isinstance(cell, (list, dict)):
        messages = messages_of(cell)
        if messages is None:
            raise DataError(
                f"{where}: found a {type(cell).__name__}, expected a text or a list of messages with role "
                "and content; map another column."
            )
        return "\n\n".join(f"{role}: {content}" for role, content in messages)
    if isinstance(cell, bytes):
        raise DataError(f"{where}: found bytes, expected a text; write the column as text.")
    return plain_text(cell)


def messages_of(cell: Any) -> list[tuple[str, str]] | None:
    if not isinstance(cell, list) or not cell:
        return None
    if not all(isinstance(message, dict) and {"role", "content"} <= message.keys() for message in cell):
        return None
    return [(str(message["role"]), str(message["content"])) for message in cell]


def rubric_text(cell: Any, where: str) -> str:
    points = list_of(cell)
    if not points:
        return long_text(cell, where)
    if not all(isinstance(point, str) for point in points):
        raise DataError(f"{where}: the rubric is a list of more than texts; write one text per point.")
    return "\n".join(f"{number}. {point.strip()}" for number, point in enumerate(points, start=1))


def list_of(cell: Any) -> list[Any] | None:
    """The list that a cell is, or that a text spells as JSON."""
    if isinstance(cell, str) and cell.lstrip().startswith("["):
        try:
            cell = json.loads(cell)
        except (ValueError, RecursionError):
            return None
    return list(cell) if isinstance(cell, (list, tuple)) else None


Labels: TypeAlias = Mapping[str | int | float | bool, str | int | float | bool]

SPELLINGS = {True: ("true", "yes", "on"), False: ("false", "no", "off")}
"""YAML reads an unquoted yes, on or true as a truth value, whichever was written."""

_LONGEST = 20
"""Digits of a whole number that may be a label."""


class LabelMap:
    def __init__(self, scale: Scale, labels: Labels | None = None) -> None:
        """Answers are written as on the scale, in its usual words (yes, `Response_2`, A) or in a map's."""
        self._answers = scale.answers
        slots = SLOTS if isinstance(scale, Pairwise) and not labels else {}
        self._slots = {word: slot for word, slot in slots.items() if slot in scale.answers}
        self._known = with_usual_words(scale, self._read_labels(labels or {}))

    def read(self, cell: Any, where: str, column: str) -> str | None:
        if is_missing(cell):
            return None
        answer = self._known.get(normal(cell)) or self._slots.get(normal(cell))
        if answer is None:
            known = list(self._known)
            expected = ", ".join(known if len(known) <= 12 else [*known[:3], "…", known[-1]])
            word = plain_text(cell)[:60]
            raise DataError(
                f"{where}: column {column!r} holds {word!r}, expected one of {expected}; correct the row, or "
                f"say what the word means with --values {quote(word.strip())}=ANSWER, or labels under data."
            )
        return answer

    def _read_labels(self, labels: Labels) -> dict[str, str]:
        known: dict[str, str] = {}
        for label, meaning in labels.items():
            answer = str(int(meaning)) if isinstance(meaning, bool) else normal(meaning)
            if answer not in self._answers:
                raise ConfigError(
                    f"labels: {label!r} means {meaning!r}, expected one of {', '.join(self._answers)}; "
                    "correct it."
                )
            for spelling in SPELLINGS[label] if isinstance(label, bool) else (normal(label),):
                known[spelling] = answer
        return known


def is_number(text: str) -> bool:
    try:
        return math.isfinite(float(text))
    except ValueError:
        return False


def normal(cell: Any) -> str:
    """One spelling per label: no spaces around it, lower case, whole numbers without a point."""
    text = plain_text(cell).strip().casefold()
    whole, _, rest = text.partition(".")
    digits = whole.removeprefix("-").removeprefix("+")
    if len(digits) < _LONGEST and digits.isascii() and digits.isdigit() and not rest.strip("0"):
        return str(int(whole))
    return text


@dataclass(frozen=True, slots=True)
class Lost:
    reason: str


@dataclass(frozen=True, slots=True)
class TableRecord:
    number: int
    """1 for the first row after the header; blank rows are not counted."""
    where: str
    """Where it stands in the file, in words: `row 3`, `line 12`."""
    values: Mapping[str, Any]


@dataclass(frozen=True, eq=False)
class CellRows(Sequence[TableRecord]):
    """Rows of cells under one header. A record is made when it is read: a dict for each takes much memory."""

    columns: tuple[str, ...]
    rows: list[tuple[Any, ...]]

    def __len__(self) -> int:
        return len(self.rows)

    def __iter__(self) -> Iterator[TableRecord]:
        for number, row in enumerate(self.rows, start=1):
            yield TableRecord(number, f"row {number}", dict(zip(self.columns, row, strict=True)))

    @overload
    def __getitem__(self, place: int) -> TableRecord: ...

    @overload
    def __getitem__(self, place: slice) -> list[TableRecord]: ...

    def __getitem__(self, place: int | slice) -> TableRecord | list[TableRecord]:
        numbers = range(len(self.rows))[place]
        if isinstance(numbers, range):
            return [self[number] for number in numbers]
        values = dict(zip(self.columns, self.rows[numbers], strict=True))
        return TableRecord(numbers + 1, f"row {numbers + 1}", values)


@dataclass(frozen=True)
class Table:
    """A file that was read: never empty."""

    name: str
    columns: tuple[str, ...]
    records: Sequence[TableRecord]
    parts: Mapping[str, str] = field(default_factory=dict)
    """Part to column, where the format itself says what its columns hold."""

    def require(self, column: str, role: str, step: str = "correct the map of columns") -> None:
        if column not in self.columns:
            folded = {name.strip().casefold(): name for name in self.columns}
            close = get_close_matches(column.strip().casefold(), folded, n=1)
            hint = f"did you mean {folded[close[0]]!r}? " if close else ""
            names = ", ".join(repr(name) for name in self.columns[:30])
            more = f" and {len(self.columns) - 30} more" if len(self.columns) > 30 else ""
            raise DataError(
                f"{self.name}: no column {column!r} for {role}; {hint}found: {names}{more}; {step}."
            )
        if self.columns.count(column) > 1:
            raise DataError(
                f"{self.name}: column {column!r}, used for {role}, stands there "
                f"{self.columns.count(column)} times; give each column a name of its own."
            )
        for record in self.records:
            cell = record.values.get(column)
            if isinstance(cell, Lost):
                raise DataError(
                    f"{self.name}, {record.where}: column {column!r}, used for {role}, holds {cell.reason} "
                    "without its value; save the file in a spreadsheet, or write the column as text."
                )


@dataclass(frozen=True)
class TableParts:
    """Cells of a table by the part that they play, in the column that a map names for it."""

    table: Table
    columns: Mapping[str, str]

    @classmethod
    def required(cls, table: Table, columns: Mapping[str, str]) -> TableParts:
        for part, column in columns.items():
            table.require(column, part)
        return cls(table, columns)

    def where(self, record: TableRecord) -> str:
        return f"{self.table.name}, {record.where}"

    def cell(self, record: TableRecord, part: str) -> Any:
        """None where the part has no column, or the cell is empty."""
        cell = record.values.get(self.columns[part]) if part in self.columns else None
        return None if is_missing(cell) else cell

    def odds(self, record: TableRecord) -> float | None:
        """The item's chance of being drawn for its label; None where it is not said."""
        text = self.text(record, "p_drawn")
        if not text:
            return None
        try:
            odds = float(text)
        except ValueError:
            odds = 0.0
        if not 0 < odds <= 1:
            raise DataError(
                f"{self.where(record)}: p_drawn is {text!r}, expected the item's chance of being "
                "drawn, above 0 and at most 1; correct it."
            )
        return odds

    def text(self, record: TableRecord, part: str) -> str:
        cell = self.cell(record, part)
        return cell.strip() if isinstance(cell, str) else "" if cell is None else plain_text(cell).strip()


def table_of(name: str, columns: tuple[str, ...], records: Sequence[TableRecord]) -> Table:
    if not records:
        content = "only a header" if columns else "no rows"
        raise DataError(f"{name}: {content} found, expected one row per item; add rows or name another file.")
    return Table(name, columns, records)


def table_of_objects(name: str, bodies: list[tuple[str, dict[str, Any]]]) -> Table:
    columns = tuple(dict.fromkeys(key for _, body in bodies for key in body))
    records = [TableRecord(number, where, body) for number, (where, body) in enumerate(bodies, start=1)]
    return table_of(name, columns, records)


Value: TypeAlias = str | int | float | bool
Where: TypeAlias = Mapping[str, Value | list[Value]]


def filter_rows(table: Table, where: Where) -> Table:
    """The rows that fit; values are compared as labels are, so `4.0`, `4` and `"4"` are the same."""
    wanted: dict[str, set[str]] = {}
    for column, values in where.items():
        table.require(column, "where")
        wanted[column] = {normal(value) for value in (values if isinstance(values, list) else [values])}
    records = []
    for record in table.records:
        cells = {column: record.values.get(column) for column in wanted}
        if all(normal("" if cell is None else cell) in wanted[column] for column, cell in cells.items()):
            records.append(record)
    if not records:
        condition = ", ".join(f"{column}: {value!r}" for column, value in where.items())
        raise DataError(
            f"{table.name}: none of {pluralize(len(table.records), 'row')} fits where {{{condition}}}; "
            "correct the condition."
        )
    return replace(table, records=tuple(records))


def join_tables(prompts: Table, responses: Table, key: str) -> Table:
    """One row per response, with the cells of its prompt beside it.

    A response without a prompt is refused. A prompt without a response has nothing to be judged and is left
    out. Where both files have a column of one name, the prompt's counts.
    """
    prompts.require(key, "the key of both files")
    responses.require(key, "the key of both files")
    by_key = _by_key(prompts, key)
    records = []
    for number, record in enumerate(responses.records, start=1):
        name = _join_key(responses, record, key)
        if name not in by_key:
            raise DataError(
                f"{responses.name}, {record.where}: no row of {prompts.name} has {key} {name!r}; "
                "correct the key or remove the row."
            )
        values = {**record.values, **by_key[name].values}
        records.append(TableRecord(number, f"{record.where} of {responses.name}", values))
    columns = (*prompts.columns, *(name for name in responses.columns if name not in prompts.columns))
    return table_of(prompts.name, columns, records)


def _by_key(table: Table, key: str) -> dict[str, TableRecord]:
    by_key: dict[str, TableRecord] = {}
    for record in table.records:
        name = _join_key(table, record, key)
        if name in by_key:
            raise DataError(
                f"{table.name}: {by_key[name].where} and {record.where} have the same {key} {name!r}, "
                "expected one row per prompt; remove one."
            )
        by_key[name] = record
    return by_key


def _join_key(table: Table, record: TableRecord, key: str) -> str:
    cell = record.values.get(key)
    if is_missing(cell):
        raise DataError(f"{table.name}, {record.where}: {key} is empty, expected a key; fill it.")
    return plain_text(cell)


class PerStratum(StrictModel):
    per_stratum: int = Field(ge=1)


Sample: TypeAlias = int | PerStratum

SampleField: TypeAlias = Annotated[
    Annotated[int, Field(ge=1)] | PerStratum | None, Expected("a number from 1 on or {per_stratum: N}")
]

T = TypeVar("T")


def draw(
    things: Sequence[T],
    sample: Sample | None,
    seed: int,
    *,
    name: Callable[[T], str],
    stratum: Callable[[T], Hashable],
    is_preferred: Callable[[T], bool] = lambda _: False,
) -> list[T]:
    """Draw at most `sample` things, in the order in which they stand.

    Each thing has a rank that depends on the seed and its own name alone, so the same things are drawn
    whatever their order. A number in all is dealt out one to a stratum, round after round, so that the
    strata differ by one at most until the small ones are used up. In a stratum preferred things come first.
    """
    if sample is None:
        return list(things)
    rank = {name(thing): seed_for(seed, "sample", name(thing)) for thing in things}
    strata: dict[Hashable, list[T]] = {}
    for thing in sorted(things, key=lambda thing: (not is_preferred(thing), rank[name(thing)])):
        strata.setdefault(stratum(thing), []).append(thing)
    if isinstance(sample, PerStratum):
        chosen = [thing for group in strata.values() for thing in group[: sample.per_stratum]]
    else:
        longest = max(map(len, strata.values()), default=0)
        rounds = (group[n] for n in range(longest) for group in strata.values() if n < len(group))
        chosen = list(islice(rounds, sample))
    names = {name(thing) for thing in chosen}
    return [thing for thing in things if name(thing) in names]
