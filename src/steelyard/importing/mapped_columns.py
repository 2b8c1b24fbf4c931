"""Verdicts as people keep them, as recorded calls: tables by a map of columns, and exports of tools."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, ClassVar

from steelyard.core.text import pluralize
from steelyard.core.validation import parse_map
from steelyard.errors import ConfigError, DataError
from steelyard.importing.inspect_scores import UNCHANGED, InspectScores, holds_log
from steelyard.importing.jsonl import Body, RecordedSource, holds_lines
from steelyard.importing.rating_exports import export_of
from steelyard.importing.rating_reader import label_ratings, read_ratings
from steelyard.importing.ratings import HUMAN, JUDGE, RatingColumns, parse_parts, parse_values, value_of
from steelyard.tasks.scale import parse_scale
from steelyard.tasks.sources.found_columns import (
    FILLED,
    NAMES_OF_PEOPLE,
    TEXT,
    VERDICT,
    ColumnFinder,
    ColumnPart,
    flattened,
)
from steelyard.tasks.sources.read import read_table
from steelyard.tasks.sources.table import (
    LOST,
    SLOTS,
    Table,
    TableParts,
    TableRecord,
    Where,
    filter_rows,
    normal,
    plain_text,
)

LENGTHS = {"words": "text", "words_1": "text_1", "words_2": "text_2"}
"""Parts that hold the length of a text, and those that hold the text itself, whose words are counted."""
SCORED = ("item", "score", "expected", "scale", "words", "text")
"""Without an item rows are numbered, and a repeat is not known as one."""
COMPARED = ("pair", "answer", "first", "better", "words_1", "words_2", "text_1", "text_2")
"""`answer` is the slot that won: 1, 2 or tie; A and B are understood. `first` is the number of the text that
stood in slot 1, text 1 unless given; `better` that of the text that people found better, or tie."""
BY_CONTENT = {
    f"{part}_{text}": f"{part}_{n}" for part in ("words", "text") for n, text in (("1", "u"), ("2", "v"))
}
"""Parts as lines of recorded verdicts name them, of texts u and v."""
COMMON = ("judge", "task", "stratum", "protocol", "replicate", "confidence")
"""Without a judge the file is of one judge; without a replicate repeats are numbered as they come."""
NATURAL = {"probe": "position", "kind": "natural"}
BETTER = {"1": "u", "2": "v", "tie": "tie"}
"""The text that is better, by its number; the first text is u."""


def parse_recorded_columns(text: str | None) -> dict[str, str]:
    """The map as the command line writes it: `item=id,score=verdict,expected=human`."""
    known = [part for part in (*SCORED, *COMPARED, *COMMON) if part != "scale"]
    given = parse_parts(text, "columns", [*known, *BY_CONTENT], "item=id,score=verdict,expected=human")
    columns = {BY_CONTENT.get(part, part): column for part, column in given.items()}
    scored, compared = columns.keys() & set(SCORED), columns.keys() & set(COMPARED)
    if scored and compared:
        raise ConfigError(
            f"columns: found {sorted(scored)[0]} of scores and {sorted(compared)[0]} of pairs, expected "
            "parts of one; import them apart."
        )
    for words, text in LENGTHS.items():
        if {words, text} <= columns.keys():
            raise ConfigError(f"columns: found {words} and {text}, expected one of them; remove one.")
    lengths = [number for number in "12" if columns.keys() & {f"words_{number}", f"text_{number}"}]
    if len(lengths) == 1:
        other = "2" if lengths == ["1"] else "1"
        raise ConfigError(
            f"columns: the length of text {lengths[0]} alone is mapped, expected both; add words_{other} or "
            f"text_{other}."
        )
    return columns


_VERDICT = ("verdict", "score")
_ITEM = ColumnPart("item", "the id", ("id",), FILLED)
SCORE = ColumnPart("score", "the judge's verdict", _VERDICT, VERDICT)
EXPECTED = ColumnPart("expected", "the reference", ("label", *NAMES_OF_PEOPLE), VERDICT)
_TEXT = ColumnPart("text", "the text", ("response",), TEXT)
_PAIR = ColumnPart("pair", "the id", ("id",), FILLED)
_ANSWER = ColumnPart("answer", "the judge's verdict", _VERDICT, VERDICT)
_BETTER = ColumnPart("better", "the reference", ("label", *NAMES_OF_PEOPLE), VERDICT)
_TEXTS = tuple(ColumnPart(f"text_{n}", f"text {n}", (f"response_{n}",), TEXT) for n in "12")
_OTHERS = tuple(
    ColumnPart(part, f"the {part}", ("judge",) if part == "judge" else (), FILLED) for part in COMMON
)


def find_recorded_columns(
    table: Table, given: Mapping[str, str], judge: str | None, values: Mapping[str, float]
) -> ColumnFinder:
    """The map with what names tell: verdicts on single texts, or on pairs where they name one of two."""
    finder = ColumnFinder(table, given, values)
    own = judge if judge in table.columns and not given.keys() & {"score", "answer", "judge"} else None
    likely = [own] if own else finder.candidates(SCORE)
    compared = bool(given.keys() & {*COMPARED}) or (
        not given.keys() & {*SCORED} and any(map(finder.names_slots, likely))
    )
    if own:
        finder.assign("answer" if compared else "score", own)
    finder.take(*((_PAIR, _ANSWER, _BETTER) if compared else (_ITEM, SCORE, EXPECTED)))
    lengths = _TEXTS if compared else (_TEXT,)
    finder.take(*_OTHERS, *(part for part in lengths if part.name.replace("text", "words") not in given))
    for part in _TEXTS:  # the length of one text alone tells nothing
        if compared and not {"text_1", "text_2"} <= finder.columns.keys() and part.name in finder.found:
            del finder.columns[part.name], finder.found[part.name]
    finder.group_rows_by("pair" if compared else "item", "task", "judge", "protocol", "replicate", "first")
    needed = (_ANSWER, _PAIR) if compared else (SCORE, _ITEM)
    if needed[0].name not in finder.columns:
        if finder.names_slots(finder.guess(SCORE) or ""):
            finder, needed = ColumnFinder(table, given, values), (_ANSWER, _PAIR)
            finder.take(_PAIR, *_TEXTS)
        raise finder.missing(*needed)
    return finder


@dataclass(frozen=True)
class MappedTable:
    columns: Mapping[str, str]
    judge: str | None = None
    """The judge of rows that name none; that of the file unless given."""
    scale: str | None = None
    """`binary` or a range such as `1-6`; taken from the scores unless given."""
    values: Mapping[str, float] = field(default_factory=dict)
    where: Where = field(default_factory=dict)
    mapping: str = ""
    """Which columns were taken by their names, in a line."""
    labels: Mapping[str, set[int | None]] | None = None
    """What people said of each item, where a second file has it."""
    remarks: tuple[str, ...] = ()
    baselines: ClassVar[tuple[str, ...]] = ()

    def found_in(self, path: Path) -> MappedTable:
        """With the columns of a file that its names tell."""
        finder = find_recorded_columns(self._read(path), self.columns, self.judge, self.values)
        return replace(self, columns=finder.columns, mapping=finder.line())

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
        table = flattened(read_table(path))
        return filter_rows(table, self.where) if self.where else table

    @property
    def scores(self) -> bool:
        return "score" in self.columns

    def lines(self, path: Path) -> Iterator[tuple[str, Body]]:
        if self.scale is not None:
            parse_scale(self.scale)
        parts = TableParts.required(self._read(path), self.columns)
        repeats: Counter[tuple[object, ...]] = Counter()
        for record in parts.table.records:
            body = self._scored(parts, record) if self.scores else self._compared(parts, record)
            body["judge"] = parts.text(record, "judge") or self.judge or path.stem
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
        better = self._slot(parts, record, "better")
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
        raise _strange(parts, record, part, "a whole number from 0 on, or a word such as pass or fail")
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
    return len(text.split()) if text else None


def _strange(parts: TableParts, record: TableRecord, part: str, expected: str) -> DataError:
    content = plain_text(parts.cell(record, part))[:60]
    return DataError(
        f"{parts.where(record)}: column {parts.columns[part]!r} holds {content!r}, expected {expected}; "
        "correct the row, or say what the word means with --values WORD=NUMBER."
    )


@dataclass(frozen=True)
class RatedScores:
    """Ratings of a table or tool: each of a judge is a call, what people said of the same its reference."""

    judge: str | None = None
    """The judge to read; all that the tool says are judges without it."""
    scale: str | None = None
    how: RatingColumns = field(default_factory=RatingColumns)
    remarks: list[str] = field(default_factory=list)
    mapping: ClassVar[str] = ""
    baselines: ClassVar[tuple[str, ...]] = ()
    scores: bool = True

    def lines(self, path: Path) -> Iterator[tuple[str, Body]]:
        named = (self.judge,) if self.judge else ()
        table = read_ratings(path, replace(self.how, judges=named, verdicts=True))
        self.remarks.extend(table.remarks)
        labels: defaultdict[tuple[str, ...], set[float | None]] = defaultdict(set)
        for row in table.ratings:
            if row.kind == HUMAN:
                labels[row.item, row.system, row.criterion].add(row.value)
        found = [row for row in table.ratings if row.kind == JUDGE and self.judge in (None, row.rater)]
        if not found:
            known = ", ".join(table.raters(JUDGE)) or "none"
            raise DataError(
                f"{path}: no judge {self.judge or ''!r} found (judges: {known}), expected ratings of one; "
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
    judge: str | None = None,
    scale: str | None = None,
    values: str | None = None,
    where: str | None = None,
    labels: Path | None = None,
    label_columns: str | None = None,
) -> RecordedSource | None:
    """How files are read that are tables, logs or exports of tools; None for lines of recorded verdicts."""
    source = _source(files, columns, judge, scale, values, where)
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
    files: Sequence[Path],
    columns: str | None,
    judge: str | None,
    scale: str | None,
    values: str | None,
    where: str | None,
) -> RecordedSource | None:
    mapped, numbers = parse_recorded_columns(columns), parse_values(values)
    keep: dict[str, Any] = parse_map(where or "", "--where", "COLUMN=VALUE", "split=test")
    logs = list(map(holds_log, files))
    if (any(logs) and not mapped) or (all(logs) and InspectScores.fits(mapped)):
        return InspectScores(judge, scale, mapped, numbers)
    if not mapped and all(map(export_of, files)):
        return RatedScores(judge, scale, RatingColumns(values=numbers, where=keep))
    given = {"columns": columns, "judge": judge, "scale": scale, "values": values, "where": where}
    option = next((name for name, value in given.items() if value is not None), None)
    if any(map(holds_lines, files)) and not mapped:
        if option is not None:
            raise ConfigError(
                f"--{option}: works only with tables, logs and exports, and {files[0]} holds lines of "
                "recorded verdicts; remove it."
            )
        return None
    if not mapped and {"rater", "kind"} <= {*read_table(files[0]).columns}:
        return RatedScores(judge, scale, RatingColumns(values=numbers, where=keep))
    table = MappedTable(mapped, judge, scale, numbers, keep).found_in(files[0])
    verdict = table.columns["score" if table.scores else "answer"]
    for file in files[1:]:
        if verdict not in (found := flattened(read_table(file)).columns):
            raise DataError(
                f"{file}: no column {verdict!r}, which holds the verdicts of {files[0]}; found: "
                f"{', '.join(map(repr, found))}; import it apart, or as --labels where it holds labels."
            )
    return table


def _verdict(value: float | None, where: str) -> int | None:
    if value is not None and not (value >= 0 and value.is_integer()):
        raise DataError(
            f"{where}: found {value:g}, expected a whole number from 0 on; export pass or fail, or give the "
            "file to `steelyard estimate`, which reads scores of any size."
        )
    return None if value is None else int(value)
