"""The next command with a table: by guesses of what its columns hold, called so, or after it was imported.

After an import: estimate what people would say, or label rows.
"""

from __future__ import annotations

import shlex
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path

from steelyard.core.field_names import known
from steelyard.core.text import pluralize
from steelyard.errors import DataError
from steelyard.estimation.designs import LabelDesign
from steelyard.importing.mapped_columns import MappedTable
from steelyard.importing.ratings import RatingColumns, parse_parts
from steelyard.importing.recorded_columns import EXPECTED, SCORE, find_recorded_columns
from steelyard.importing.scores import ScoreTable
from steelyard.providers.provider_info import DoctorCheck
from steelyard.survey.judged_items import FEWEST_LABELS, Subject, check_labels, frame_of, judged_items
from steelyard.survey.rating_files import load_ratings
from steelyard.tasks.data_config import ITEM_PARTS
from steelyard.tasks.sources.found_columns import (
    FILLED,
    PREFERENCE,
    VERDICT,
    ColumnFinder,
    flattened,
    is_preference,
)
from steelyard.tasks.sources.read import read_table
from steelyard.tasks.sources.table import LOST, normal

_MOST_GROUPS = 30
_LONG = 60
"""Characters from which on the cells of a column are texts."""


@dataclass(frozen=True)
class TableGuess:
    checks: list[DoctorCheck]
    command: str | None
    """One that works as it is; None where no column can be a judge's verdict."""
    lacking: str = ""
    """Why there is no command, or what else the table may be for, in a sentence."""

    @property
    def lines(self) -> list[str]:
        lead = "If a column is a judge's verdict, by these guesses:" if self.lacking else "By these guesses:"
        return [*([self.lacking] if self.lacking else []), *([lead, self.command] if self.command else [])]


def guess_table(path: Path, values: Mapping[str, float], option: str | None) -> TableGuess:
    """Of a table whose columns nobody named; `option` is the map of values as it was given."""
    table = flattened(read_table(path))
    preference = PREFERENCE if is_preference(table.columns) else {}
    finder = ColumnFinder(table, {}, {**preference, **values})
    finder.check_header()
    checks = [DoctorCheck(f"column {name}", *_guess(finder, name)) for name in finder.table.columns]
    columns = _verdict_map(finder, values)
    if columns is None:
        return TableGuess(checks, None, _lack(finder))
    words = ["--values", option] if option else []
    mapped = ["--columns", ",".join(f"{part}={name}" for part, name in columns.items())]
    line = ["steelyard", "import", str(path), *mapped, *words, "--out", f"{path.stem}-sheet"]
    is_named = bool(finder.candidates(SCORE)) or not finder.has_one_text
    return TableGuess(checks, shlex.join(line), "" if is_named else _to_measure(finder, "is named as"))


def _verdict_map(finder: ColumnFinder, values: Mapping[str, float]) -> Mapping[str, str] | None:
    """The map of `import`: by names where they are certain; else by cells, the fuller column the judge's."""
    table = finder.table
    likely = [name for name in finder.candidates(SCORE) if finder.is_readable(name)]
    likely = likely or finder.verdict_columns()
    likely.sort(key=lambda name: -len(finder.cells(name)))
    labels = [name for name in finder.candidates(EXPECTED) if finder.is_readable(name)]
    given = {"score": likely[0]} if likely else {}
    others = [name for name in [*labels, *finder.verdict_columns()] if name not in given.values()]
    given |= {"expected": others[0]} if likely and others else {}
    try:
        if not likely:
            return None
        if is_preference(table.columns) or finder.names_slots(likely[0]):
            given = {{"score": "answer", "expected": "better"}[part]: name for part, name in given.items()}
        return find_recorded_columns(table, given, (), values).columns
    except DataError:
        return given  # two columns may be one part: what was guessed is left to the user


def _guess(finder: ColumnFinder, column: str) -> tuple[str, str]:
    """The state of a column, and what it may hold."""
    cells = finder.cells(column)
    if not cells:
        return "absent", "empty"
    words = sorted({normal(cell) for cell in cells} - {*LOST})
    shown = ", ".join(map(repr, words[:4])) + (", …" if len(words) > 4 else "")
    named = known(column)
    likely = column in finder.verdict_columns()
    if likely or (finder.holds(column, VERDICT) and named in ("label", "verdict", "score")):
        unknown = "" if finder.is_readable(column) else ", words without a value"
        noun = {"label": "labels", None: "verdicts or labels"}.get(named, "a judge's verdicts")
        return "ok" if not unknown else "absent", f"a guess: {noun} ({shown}{unknown})"
    if named is not None:
        return "ok", f"a guess: {named}, by its name"
    if finder.holds(column, FILLED) and finder.is_unique(column):
        long = any(len(str(cell)) > _LONG for cell in cells)
        return "ok", f"a guess: {'texts' if long else 'an id, or texts'}, no two alike"
    if len(words) <= _MOST_GROUPS:
        return "ok", f"a guess: groups of rows ({pluralize(len(words), 'name')}: {shown})"
    return "ok", "a guess: texts"


def _lack(finder: ColumnFinder) -> str:
    odd = list(_words_without_value(finder))
    if odd:
        column, words = odd[0]
        example = ",".join(f"{word}=NUMBER" for word in words)
        meaning = f"say what its words mean with --values {shlex.quote(example)}"
        return f"Column {column!r} may hold verdicts; {meaning}."
    return _to_measure(finder, "can be")


def _to_measure(finder: ColumnFinder, verb: str) -> str:
    return (
        f"No column {verb} a judge's verdict; to measure a judge on these texts: steelyard measure --data "
        f"{shlex.quote(finder.table.name)} {_texts(finder)}--prompt FILE -j MODEL"
    )


def _texts(finder: ColumnFinder) -> str:
    """The map of `measure`, where names do not tell it: what is open is left to the user."""
    found = ColumnFinder(finder.table, {})
    try:
        found.take(*ITEM_PARTS)
    except DataError:
        return ""  # `measure` says which columns could be one part
    if {"response", "response_1"} & found.columns.keys() or is_preference(finder.table.columns):
        return ""
    return (
        f"{found.paste({part.name: 'COLUMN' for part in ITEM_PARTS[1:3] if part.name not in found.columns})} "
    )


def _words_without_value(finder: ColumnFinder) -> Iterator[tuple[str, list[str]]]:
    """Of columns that are verdicts by their names, or hold the same words, as verdicts and labels do."""
    held = {
        name: sorted({normal(cell) for cell in finder.cells(name)} - {*LOST}) for name in finder.table.columns
    }
    for column, words in held.items():
        likely = known(column) in ("verdict", "score") or [*held.values()].count(words) > 1
        if likely and 1 < len(words) <= 12 and not finder.is_readable(column):
            yield column, words[:6]


SHARED_PARTS = ("item", "score", "expected", "task", "stratum")
"""Parts that `import` and the commands of ratings both know."""
_USUAL_DRAW = 100
_OF_EACH_VERDICT = 10


@dataclass(frozen=True)
class TableReading:
    """The options with which a table was read, for another command to read it alike."""

    path: Path
    source: MappedTable
    values: str | None = None
    where: str | None = None
    labels: Path | None = None
    label_columns: str | None = None

    @property
    def columns(self) -> str:
        mapped = self.source.columns
        return ",".join(f"{part}={mapped[part]}" for part in SHARED_PARTS if part in mapped)

    def command(self, name: str, *rest: str, labels: bool = False) -> str:
        given = {"--columns": self.columns, "--values": self.values, "--where": self.where}
        if labels:
            file = str(self.labels) if self.labels else None
            given |= {"--labels": file, "--label-columns": self.label_columns}
        words = [word for option, value in given.items() if value for word in (option, value)]
        return shlex.join(["steelyard", *name.split(), str(self.path), *words, *rest])


def next_after_import(reading: TableReading, calls: ScoreTable) -> list[str]:
    """A sentence and a command that works on the file; nothing where every row is labelled."""
    labelled = sum(text.expected is not None for text in calls.subjects)
    rest = len(calls.subjects) - labelled
    if not rest or "judge" in reading.source.columns or reading.source.judges:
        return []
    if labelled >= FEWEST_LABELS and _looks_random(reading):
        return [
            f"Next, if people labelled these {pluralize(labelled, 'row')} and they were drawn at random, "
            f"what people would say of all {len(calls.subjects):,}:",
            reading.command("estimate", "--design", "random", labels=True),
        ]
    if reading.labels is not None:
        return []  # a draw would not know which rows have a label
    if "text" not in reading.source.columns:
        return [
            f"Next: {pluralize(rest, 'row')} without a label; add a column with the texts, such as answer, "
            "so that `steelyard labels draw` can write a sheet for people."
        ]
    size = min(rest, max(_USUAL_DRAW, _OF_EACH_VERDICT * len({outcome[0] for outcome in calls.outcomes})))
    return [
        f"Next: draw rows for people to label, of {rest:,} without a label:",
        reading.command("labels draw", "-n", str(size), "--out", f"{reading.path.stem}-labels"),
    ]


def _looks_random(reading: TableReading) -> bool:
    """Whether `estimate` would take the labels for a random draw of the rows."""
    try:
        how = RatingColumns.parse(reading.columns, values=reading.values, where=reading.where)
        own = parse_parts(reading.label_columns, "--label-columns")
        items, _ = judged_items(load_ratings(reading.path, how, reading.labels, own), Subject())
        check_labels("", frame_of(items).frame, LabelDesign.RANDOM, "")
    except DataError:
        return False
    return True
