"""Verdicts as people keep them, as recorded calls: tables by a map of columns, and exports of tools."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from steelyard.core.text import pluralize
from steelyard.core.validation import parse_map
from steelyard.errors import ConfigError, DataError
from steelyard.importing.inspect_scores import UNCHANGED, InspectScores, holds_log
from steelyard.importing.jsonl import Body, RecordedSource, count_words, holds_lines
from steelyard.importing.rating_exports import export_of
from steelyard.importing.rating_reader import label_ratings, read_flattened, read_ratings
from steelyard.importing.ratings import HUMAN, JUDGE, RatingColumns, parse_parts, parse_values, value_of
from steelyard.importing.recorded_columns import LENGTHS, find_recorded_columns, parse_recorded_columns
from steelyard.tasks.sources.found_columns import PREFERENCE, flattened, names_better
from steelyard.tasks.sources.read import read_table
from steelyard.tasks.sources.table import (
    LOST,
    SLOTS,
    Table,
    TableParts,
    TableRecord,
    Where,
    normal,
    plain_text,
)
from steelyard.tasks.task import parse_scale

_WHOLE = (
    "a whole number from 0 on; write or export pass or fail, or give the file to `steelyard estimate`, which "
    "reads scores of any size"
)
NATURAL = {"probe": "position", "kind": "natural"}
BETTER = {"1": "u", "2": "v", "tie": "tie"}
"""The text that is better, by its number; the first text is u."""


@dataclass(frozen=True)
class MappedTable(RecordedSource):
    columns: Mapping[str, str]
    judge: str | None = None
    """The judge of rows that name none; that of the file unless given."""
    judges: Sequence[str] = ()
    """Columns of several judges, each read in the place of the column of verdicts."""
    scale: str | None = None
    """`binary` or a range such as `1-6`; taken from the scores unless given."""
    values: Mapping[str, float] = field(default_factory=dict)
    where: Where = field(default_factory=dict)
    mapping: str = ""
    labels: Mapping[str, set[int | None]] | None = None
    """What people said of each item, where a second file has it."""
    remarks: tuple[str, ...] = ()

    def found_in(self, path: Path) -> MappedTable:
        """With the columns of a file that its names tell."""
        judges = self.judges or ([self.judge] if self.judge else [])
        finder = find_recorded_columns(self._read(path), self.columns, judges, self.values)
        found = replace(self, columns=finder.columns, mapping=finder.line(judges=self.judges))
        words = PREFERENCE if found._preference and "first" not in found.columns else {}
        return replace(found, values={**words, **self.values})

    @property
    def _preference(self) -> bool:
        """Whether the texts are called chosen and rejected."""
        return names_better(self.columns.get("text_1"), self.columns.get("text_2"))

    def with_labels(self, path: Path, labels: Path, own: Mapping[str, str]) -> MappedTable:
        """With people's labels of a second file in the place of a column; `own` maps its columns."""
        if not self.scores or "item" not in self.columns:
            lack = "a column of ids" if self.scores else "verdicts on single texts"
            raise ConfigError(
                f"--labels: needs {lack}, found none in {path}; map it with --columns item=COLUMN."
            )
        item = self.columns["item"]
        table = label_ratings(labels, RatingColumns({"item": item}, values=self.values), own)
        said: defaultdict[str, set[int | None]] = defaultdict(set)
        for row in table.ratings:
            said[row.item].add(_verdict(row.value, f"{labels}, item {row.item!r}"))
        known = {plain_text(record.values.get(item)).strip() for record in self._read(path).records}
        strange = [name for name in said if name not in known]
        if len(strange) == len(said):
            found = f"{strange[0]!r}" if strange else "no label"
            raise DataError(
                f"{labels}: found {found}, expected ids of column {item!r} of {path}; name columns, as in "
                "--label-columns item=COLUMN,value=COLUMN."
            )
        remarks = []
        if strange:
            remarks += [f"{pluralize(len(strange), 'label')} of {labels} left out: {path} has no such item."]
        columns = dict(self.columns)
        if (column := columns.pop("expected", None)) is not None:
            remarks += [f"{path}: column {column!r} is left out, for the labels are those of {labels}."]
        return replace(self, columns=columns, labels=said, remarks=tuple(remarks))

    def _read(self, path: Path) -> Table:
        return read_flattened(path, self.where)

    @property
    def scores(self) -> bool:
        return "score" in self.columns

    @property
    def verdict(self) -> str:
        """The part that the verdict plays."""
        return "score" if self.scores else "answer"

    def lines(self, path: Path) -> Iterator[tuple[str, Body]]:
        if self.scale is not None:
            parse_scale(self.scale)
        table, verdict = self._read(path), self.verdict
        for judge in self.judges or (None,):
            columns = self.columns if judge is None else {**self.columns, verdict: judge}
            yield from self._lines(TableParts.required(table, columns), judge or self.judge or path.stem)

    def _lines(self, parts: TableParts, judge: str) -> Iterator[tuple[str, Body]]:
        repeats: Counter[tuple[object, ...]] = Counter()
        for record in parts.table.records:
            body = self._scored(parts, record) if self.scores else self._compared(parts, record)
            body["judge"] = parts.text(record, "judge") or judge
            for part in ("task", "stratum", "protocol"):
                if text := parts.text(record, part):
                    body[part] = text
            if (sure := _sureness(parts, record)) is not None:
                body["confidence"] = sure
            key = tuple(body.get(part) for part in ("judge", "protocol", "item", "pair", "first"))
            number = _whole(parts, record, "replicate", {})
            body["replicate"] = repeats[key] if number is None else number
            repeats[key] += 1
            yield parts.where(record), body

    def _scored(self, parts: TableParts, record: TableRecord) -> Body:
        score = _whole(parts, record, "score", self.values)
        verdict: Body = {"score": score} if score is not None else {"score": None, "outcome": "unreadable"}
        scale = {} if self.scale is None else {"scale": self.scale}
        item = parts.text(record, "item") or str(record.number)
        words = _length(parts, record, "words")
        length = {} if words is None else {"words": words}
        if self.labels is None:
            expected = _whole(parts, record, "expected", self.values)
        else:  # people who differ give no reference
            expected = next(iter(said)) if len(said := self.labels.get(item, set())) == 1 else None
        return {**UNCHANGED, **verdict, **scale, **length, "item": item, "expected": expected}

    def _compared(self, parts: TableParts, record: TableRecord) -> Body:
        named = "better" not in self.columns and self._preference
        better = "1" if named else self._slot(parts, record, "better")
        lengths = [_length(parts, record, part) for part in ("words_1", "words_2")]
        known = {} if None in lengths else dict(zip(("words_u", "words_v"), lengths, strict=True))
        return {
            **NATURAL,
            **known,
            "pair": parts.text(record, "pair") or str(record.number),
            "first": BETTER[self._slot(parts, record, "first") or "1"],
            "answer": self._slot(parts, record, "answer") or "unreadable",
            "better": None if better is None else BETTER[better],
        }

    def _slot(self, parts: TableParts, record: TableRecord, part: str) -> str | None:
        cell = parts.cell(record, part)
        if cell is None or normal(cell) in LOST:
            return None
        word = normal(cell)
        known = SLOTS if part == "answer" else {**SLOTS, "u": "1", "v": "2"}
        slot = f"{self.values[word]:g}" if word in self.values else known.get(word)
        if slot not in BETTER or (part == "first" and slot == "tie"):
            raise _strange(parts, record, part, "1 or 2" if part == "first" else "1, 2 or tie")
        return slot


def _whole(parts: TableParts, record: TableRecord, part: str, values: Mapping[str, float]) -> int | None:
    cell = parts.cell(record, part)
    if cell is None:
        return None
    value = value_of(cell, parts.where(record), parts.columns[part], values)
    if value is not None and not (value >= 0 and value.is_integer()):
        cell = plain_text(cell)[:60]
        raise DataError(
            f"{parts.where(record)}: column {parts.columns[part]!r} holds {cell!r}, expected {_WHOLE}."
        )
    return None if value is None else int(value)


def _sureness(parts: TableParts, record: TableRecord) -> float | None:
    """How sure the judge was, as a share or in percent; None for an empty cell."""
    cell = parts.cell(record, "confidence")
    if cell is None:
        return None
    try:
        number = float(normal(cell).removesuffix("%"))
    except ValueError:
        number = -1.0
    if not 0 <= number <= 100:
        raise _strange(parts, record, "confidence", "a number from 0 to 1, or percent")
    return number


def _length(parts: TableParts, record: TableRecord, part: str) -> int | None:
    """The length that a column gives, or the words of the text in one; None for an empty cell."""
    if (cell := parts.cell(record, part)) is not None:
        number = normal(cell)
        if not number.isdigit() or not number.isascii():
            raise _strange(parts, record, part, f"a whole number (map texts as {LENGTHS[part]})")
        return int(number)
    text = parts.text(record, LENGTHS[part]) if LENGTHS[part] in parts.columns else None
    return count_words(text) if text else None


def _strange(parts: TableParts, record: TableRecord, part: str, expected: str) -> DataError:
    content = plain_text(parts.cell(record, part))[:60]
    return DataError(
        f"{parts.where(record)}: column {parts.columns[part]!r} holds {content!r}, expected {expected}; "
        "correct the row, or say what the word means with --values WORD=NUMBER."
    )


@dataclass(frozen=True)
class RatedScores(RecordedSource):
    """Ratings of a table or tool: each of a judge is a call, what people said of the same its reference."""

    judges: Sequence[str] = ()
    """The judges to read; all that the tool says are judges without them."""
    scale: str | None = None
    how: RatingColumns = field(default_factory=RatingColumns)
    remarks: list[str] = field(default_factory=list)

    def lines(self, path: Path) -> Iterator[tuple[str, Body]]:
        table = read_ratings(path, replace(self.how, judges=self.judges, verdicts=True))
        self.remarks.extend(table.remarks)
        labels: defaultdict[tuple[str, ...], set[float | None]] = defaultdict(set)
        for row in table.ratings:
            if row.kind == HUMAN:
                labels[row.item, row.system, row.criterion].add(row.value)
        given = table.raters(JUDGE)
        found = [row for row in table.ratings if row.kind == JUDGE and row.rater in (self.judges or given)]
        absent = [name for name in self.judges if name not in given]
        if absent or not found:
            known = ", ".join(given) or "none"
            raise DataError(
                f"{path}: no judge {(absent or [''])[0]!r} found (judges: {known}), expected ratings of one; "
                "correct --judge, or export ratings of a model."
            )
        criteria = {(row.rater, row.criterion) for row in found}
        several = Counter(rater for rater, _ in criteria)
        for row in found:
            where = f"{path}, item {row.item!r} of {row.rater}"
            said = labels[row.item, row.system, row.criterion]  # people who differ give no reference
            score = _verdict(row.value, where)
            apart = [row.system] if len(table.systems) > 1 else []
            apart += [row.criterion] if len({criterion for _, criterion in criteria}) > 1 else []
            body: Body = {
                **UNCHANGED,
                "judge": f"{row.rater}, {row.criterion}" if several[row.rater] > 1 else row.rater,
                "item": ", ".join([row.item, *apart]),
                "task": row.task or row.item,
                "replicate": int(row.run or 0),
                "score": score,
                **({"outcome": "unreadable"} if score is None else {}),
                **({} if self.scale is None else {"scale": self.scale}),
                "expected": _verdict(next(iter(said)) if len(said) == 1 else None, where),
            }
            yield where, body


def source_of(
    files: Sequence[Path],
    columns: str | None = None,
    judges: Sequence[str] = (),
    scale: str | None = None,
    values: str | None = None,
    where: str | None = None,
    labels: Path | None = None,
    label_columns: str | None = None,
) -> RecordedSource | None:
    """How files are read that are tables, logs or exports of tools; None for lines of recorded verdicts."""
    given = {"columns": columns, "judge": next(iter(judges), None), "scale": scale, "values": values}
    source = _source(files, judges, given | {"where": where})
    own = parse_parts(label_columns, "--label-columns")
    if labels is None:
        if own:
            raise ConfigError("--label-columns: works only with --labels FILE; name the file, or remove it.")
        return source
    if not isinstance(source, MappedTable) or len(files) > 1 or "expected" in parse_recorded_columns(columns):
        raise ConfigError(
            "--labels: works only with one table of verdicts whose labels no column holds; remove it."
        )
    return source.with_labels(files[0], labels, own)


def _source(
    files: Sequence[Path], judges: Sequence[str], given: Mapping[str, str | None]
) -> RecordedSource | None:
    mapped, numbers = parse_recorded_columns(given["columns"]), parse_values(given["values"])
    keep: dict[str, Any] = parse_map(given["where"] or "", "--where", "COLUMN=VALUE", "split=test")
    single, scale = given["judge"], given["scale"]
    logs = list(map(holds_log, files))
    if (any(logs) and not mapped) or (all(logs) and InspectScores.fits(mapped)):
        if len(judges) > 1:
            raise ConfigError(
                f"--judge: found {len(judges)} names, expected one scorer of a log, or none for all of them."
            )
        return InspectScores(single, scale, mapped, numbers)
    if not mapped and all(map(export_of, files)):
        return RatedScores(judges, scale, RatingColumns(values=numbers, where=keep))
    option = next((name for name, value in given.items() if value is not None), None)
    if any(map(holds_lines, files)) and not mapped:
        if option is not None:
            raise ConfigError(
                f"--{option}: works only with tables, logs and exports, and {files[0]} holds lines of "
                "recorded verdicts; remove it."
            )
        return None
    if not mapped and {"rater", "kind"} <= {*read_table(files[0]).columns}:
        return RatedScores(judges, scale, RatingColumns(values=numbers, where=keep))
    table = MappedTable(mapped, scale=scale, values=numbers, where=keep)
    table = replace(table, judges=judges) if len(judges) > 1 else replace(table, judge=single)
    table = table.found_in(files[0])
    verdict = table.columns[table.verdict]
    for file in files[1:]:
        if verdict not in (found := flattened(read_table(file)).columns):
            raise DataError(
                f"{file}: no column {verdict!r}, which holds the verdicts of {files[0]}; found: "
                f"{', '.join(map(repr, found))}; import it apart, or as --labels where it holds labels."
            )
    return table


def _verdict(value: float | None, where: str) -> int | None:
    if value is not None and not (value >= 0 and value.is_integer()):
        raise DataError(f"{where}: found {value:g}, expected {_WHOLE}.")
    return None if value is None else int(value)
