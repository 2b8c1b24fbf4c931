"""Tables of recorded verdicts: msgspec decodes a line, and pydantic re-reads one only to word its error.

Calls go straight into columns. What many lines share (a judge, a protocol, an outcome, the subject that was
judged) is checked where it first occurs and looked up from then on.
"""

from __future__ import annotations

from abc import abstractmethod
from array import array
from collections.abc import Callable, Collection, Hashable, Iterable, Iterator, Sequence
from dataclasses import dataclass, fields
from functools import cached_property
from itertools import pairwise
from pathlib import Path
from typing import Any, Generic, Protocol, TypeVar

import numpy as np
from msgspec import UNSET, MsgspecError, structs
from msgspec.json import Decoder
from msgspec.structs import astuple

from steelyard.core.arrays import (
    DictionaryWriter,
    Ints,
    Part,
    encode,
    encode_values,
    fixed,
    in_order,
    sorted_members,
)
from steelyard.core.content_hash import ContentHasher
from steelyard.errors import DataError
from steelyard.importing.jsonl import (
    BASE,
    Body,
    LineFormat,
    Lines,
    Outcome,
    RecordedLine,
    Table,
    parse_object,
    text_lines,
)
from steelyard.verdicts.observations import coded
from steelyard.verdicts.readers import COLUMN, Confidence

HEAD = 6
"""Fields of a line that are of the call; those behind them are of its subject."""
WIDTH = 6
"""Numbers that are kept of a row."""


class RecordedSubject(Protocol):
    @property
    def name(self) -> Hashable:
        """What tells it from other subjects."""

    @property
    def sort_key(self) -> tuple[str, ...]:
        """Calls sort by it."""


Subject = TypeVar("Subject", bound=RecordedSubject)
Members = tuple[dict[str, list[str]], Ints]
"""Keys to their values in JSON, empty where a line lacks the key, and which of the values each call has."""


@dataclass(frozen=True, eq=False)
class RecordedTable(Generic[Subject]):
    """Checked calls in columns, sorted by judge, protocol, probe, subject, replicate and slot."""

    where: Callable[[int], str]
    """File and line of what was read under a number, for messages."""
    read: Ints
    """The number under which each row was read."""
    judges: tuple[str, ...]
    protocols: tuple[str, ...]
    probes: tuple[str, ...]
    """Sorted names; one, and empty, where they tell no calls apart."""
    subjects: tuple[Subject, ...]
    outcomes: tuple[Outcome, ...]
    judge: Ints
    protocol: Ints
    probe: Ints
    subject: Ints
    outcome: Ints
    replicate: Ints

    def __len__(self) -> int:
        return len(self.judge)

    @abstractmethod
    def members(self) -> Iterator[Members]:
        """What lines say between judge and protocol and the number of the repeat."""

    @cached_property
    def confidences(self) -> tuple[tuple[Confidence | None, ...], Ints]:
        """How sure judges were, and which of these each outcome has."""
        given = (sure for _, _, sure in self.outcomes)
        return coded([None if sure is None else Confidence(float(sure), COLUMN) for sure in given])

    def of_outcomes(self, code: Callable[[Outcome], int]) -> Ints:
        codes: Ints = np.array(list(map(code, self.outcomes)), dtype=np.int64)[self.outcome]
        return codes

    def lines(self) -> Iterator[str]:
        """Text of `observations.jsonl`, in parts; what is not known is left out."""
        parts = [fixed("{", len(self))]
        for columns, codes in self._members:
            known = [_members(f'"{key}": ', values, ", ") for key, values in columns.items()]
            parts.append((list(map("".join, zip(*known, strict=True))), codes))
        parts += [fixed('"replicate": ', len(self)), encode(self.replicate), fixed("}\n", len(self))]
        return DictionaryWriter(parts).chunks()

    @cached_property
    def hashes(self) -> tuple[str, dict[tuple[str, str], str]]:
        """Content hash of the list of all calls, and of those of each judge and protocol."""
        replicates, replicate = encode(self.replicate)
        parts: dict[str, Part] = {"replicate": (_members('"replicate":', replicates), replicate)}
        for columns, codes in self._members:
            for key, values in columns.items():
                parts[key] = _members(f'"{key}":', values), codes
        rows = len(self)
        lines = DictionaryWriter([fixed(",{", rows), *sorted_members(parts, "judge"), fixed("}", rows)])
        whole, each = ContentHasher(), {}
        for judge, protocol, part in self.conditions():
            condition = ContentHasher()
            for text in lines.chunks(part.start, part.stop):
                items = text.encode("ascii")
                condition.update(items)
                whole.update(items)
            each[judge, protocol] = condition.digest()
        return whole.digest(), each

    @property
    def _members(self) -> list[Members]:
        return [
            ({"judge": encode_values(self.judges)}, self.judge),
            ({"protocol": encode_values(self.protocols)}, self.protocol),
            *self.members(),
        ]

    def conditions(self) -> list[tuple[str, str, slice]]:
        starts = np.flatnonzero(np.diff(self.judge * len(self.protocols) + self.protocol)) + 1
        ends = [0, *starts.tolist(), len(self)] if len(self) else []
        return [
            (self.judges[self.judge[start]], self.protocols[self.protocol[start]], slice(start, end))
            for start, end in pairwise(ends)
        ]


def read_recorded(form: LineFormat[Table], paths: Sequence[Path], lines: Lines | None = None) -> Table:
    """All calls of the files; `lines` gives the lines of files that are no JSONL, as objects."""
    reader = _RecordReader(form)
    try:
        for path in paths:
            if lines is None:
                reader.read_file(path)
            else:
                for where, body in lines(path):
                    reader.read_body(where, body)
    except DataError:
        reader.refuse_repeats()  # of two faults the one that stands first is told
        raise
    reader.refuse_repeats()
    return reader.table()


class _RecordReader(Generic[Table]):
    def __init__(self, form: LineFormat[Table]) -> None:
        self._form, self._decode = form, Decoder(form.call).decode
        self._judges: dict[str, int] = {}
        self._protocols: dict[str, int] = {}
        self._probes: dict[str, int] = {}
        self._outcomes: dict[Outcome, int] = {}
        self._subjects: list[Any] = []
        self._by_name: dict[Hashable, int] = {}
        self._first_rows: list[int] = []
        # What a line says in the words of its file, to the number of it and to the keys that it took.
        self._said_protocols: dict[Any, _Said] = {}
        self._said_outcomes: dict[tuple[Any, ...], _Said] = {}
        self._said_subjects: dict[tuple[Any, ...], _Said] = {}
        self._subject_of: list[int] = []
        self._probe_of: list[int] = []
        self._rows = array("q")
        self._files: list[tuple[int, Path]] = []
        self._places: dict[int, str] = {}

    @property
    def _columns(self) -> Ints:
        """Judge, protocol, outcome, subject as it was said, replicate and line number of each row."""
        return np.array(self._rows, dtype=np.int64).reshape(-1, WIDTH).T

    def read_file(self, path: Path) -> None:
        self._files.append((len(self._rows) // WIDTH, path))
        decode, extend = self._decode, self._rows.extend
        judges, protocols = self._judges, self._said_protocols
        outcomes, subjects = self._said_outcomes, self._said_subjects
        for number, text in enumerate(text_lines(path), start=1):
            try:
                values = astuple(decode(text))
                judge, replicate = judges[values[0]], values[2]
                protocol, protocol_keys = protocols[values[1]]
                outcome, outcome_keys = outcomes[values[3:7]]
                subject, subject_keys = subjects[values[HEAD:]]
            except (MsgspecError, KeyError):
                self._read_line(text, number)
                continue
            keys = 1 + protocol_keys + outcome_keys + subject_keys + (replicate is not UNSET)
            # A line has a colon for each key. One with more may have a key twice, which msgspec lets pass.
            if text.count(":") != keys:
                parse_object(f"{path}, line {number}", text)
            extend((judge, protocol, outcome, subject, replicate or 0, number))

    def _read_line(self, text: str, number: int) -> None:
        """A line that holds something for the first time, or something wrong."""
        if not text.strip():
            return
        where = f"{self._files[-1][1]}, line {number}"
        try:
            decoded = self._decode(text)
            line = decoded if self._form.agrees(_filled(decoded)) else None
        except MsgspecError:
            line = None
        if line is not None and text.count(":") == _count_set(astuple(line)):
            self._add(line, number)
            return
        body = parse_object(where, text.removesuffix("\n"))
        for call in self._form.parse(where, body) if line is None else iter([line]):
            self._add(call, number)

    def read_body(self, where: str, body: Body) -> None:
        for line in self._form.parse(where, body):
            self._places[len(self._rows) // WIDTH] = where
            self._add(line)

    def _add(self, line: RecordedLine, number: int = 0) -> None:
        values = astuple(line)
        conflict = self._learn(_filled(line), values)
        protocol, outcome = self._said_protocols[values[1]][0], self._said_outcomes[values[3:7]][0]
        subject = self._said_subjects[values[HEAD:]][0]
        self._rows.extend((self._judges[line.judge], protocol, outcome, subject, values[2] or 0, number))
        if conflict is not None:
            raise DataError(f"{self._where(len(self._rows) // WIDTH - 1)}: {conflict}")

    def _learn(self, line: Any, values: tuple[Any, ...]) -> str | None:
        """Number what occurs for the first time; the sentence about what contradicts earlier lines."""
        protocol = line.protocol or BASE
        _number(self._judges, line.judge)
        self._said_protocols[values[1]] = _number(self._protocols, protocol), values[1] is not UNSET
        said = values[3:7]
        if said not in self._said_outcomes:
            number = _number(self._outcomes, astuple(line)[3:HEAD])
            self._said_outcomes[said] = number, _count_set(values[3:HEAD])
        if values[HEAD:] in self._said_subjects:
            return None
        subject = self._form.subject(line)
        number = _number(self._by_name, subject.name)
        if number == len(self._subjects):
            self._subjects.append(subject)
            self._first_rows.append(len(self._rows) // WIDTH)
        self._said_subjects[values[HEAD:]] = len(self._subject_of), _count_set(values[HEAD:])
        self._subject_of.append(number)
        self._probe_of.append(_number(self._probes, line.probe if self._form.by_probe else ""))
        known = self._subjects[number]
        if known == subject:
            return None
        name, first, value = next(
            (f.name, getattr(known, f.name), getattr(subject, f.name))
            for f in fields(subject)
            if getattr(known, f.name) != getattr(subject, f.name)
        )
        noun, where = self._form.noun, self._where(self._first_rows[number])
        return (
            f"{noun} {getattr(subject, noun)!r} has {name} {value!r} here, expected {first!r} as in {where}; "
            f"name the {noun}s apart, or correct one."
        )

    def _where(self, row: int) -> str:
        if row in self._places:
            return self._places[row]
        path = next(path for start, path in reversed(self._files) if start <= row)
        return f"{path}, line {self._rows[row * WIDTH + WIDTH - 1]}"

    def refuse_repeats(self) -> None:
        """A call may be told under several probes, if always with the same outcome, but not twice."""
        judge, protocol, outcome, said, replicate, _ = self._columns
        if not len(judge):
            return
        subject, probe = np.array(self._subject_of)[said], np.array(self._probe_of)[said]
        slot = np.array(list(map(self._form.slot, self._outcomes)))[outcome]
        trial = [judge, protocol, subject, replicate, slot]
        first = first_rows(trial)
        told = first if len(self._probes) == 1 else first_rows([*trial, probe])
        wrong = (told != np.arange(len(judge))) | (outcome != outcome[first])
        if not wrong.any():
            return
        row = int(np.argmax(wrong))
        name = getattr(self._subjects[subject[row]], self._form.noun)
        words = self._form.repeated.format(name=name, where=self._where(int(first[row])))
        raise DataError(f"{self._where(row)}: judge {list(self._judges)[judge[row]]!r} {words}")

    def table(self) -> Table:
        judge, protocol, outcome, said, replicate, _ = self._columns
        subject, probe = np.array(self._subject_of)[said], np.array(self._probe_of)[said]
        judges, judge = _sorted(self._judges, judge)
        protocols, protocol = _sorted(self._protocols, protocol)
        probes, probe = _sorted(self._probes, probe)
        keys = [subject.sort_key for subject in self._subjects]
        order = sorted(range(len(keys)), key=keys.__getitem__)
        place = np.empty(len(order), dtype=np.int64)
        place[order] = np.arange(len(order))
        alike = np.array([a == b for a, b in pairwise(keys[number] for number in order)], dtype=np.bool_)
        # Subjects that sort alike share a rank, so that their calls sort by replicate.
        rank = np.concatenate([[0], np.cumsum(~alike)])[place][subject]
        slot = np.array(list(map(self._form.slot, self._outcomes)))[outcome]
        rows = in_order((judge, protocol, probe, rank, replicate, slot))
        columns = (judge, protocol, probe, place[subject], outcome, replicate)
        subjects = tuple(self._subjects[number] for number in order)
        names = judges, protocols, probes, subjects, tuple(self._outcomes)
        return self._form.table(self._where, rows, *names, *(column[rows] for column in columns))


_Said = tuple[int, int]
"""Number of a value, and how many keys of the line said it."""


def _number(numbers: dict[Any, int], value: Any) -> int:
    return numbers.setdefault(value, len(numbers))


def _count_set(values: Collection[object]) -> int:
    return sum(value is not UNSET for value in values)


def _filled(line: RecordedLine) -> RecordedLine:
    """The line with None for each field that is left out."""
    values = zip(line.__struct_fields__, astuple(line), strict=True)
    return structs.replace(line, **{name: None for name, value in values if value is UNSET})


def first_rows(columns: Sequence[Ints]) -> Ints:
    order = in_order(columns)
    new = np.ones(len(order), dtype=np.bool_)
    new[1:] = np.any([column[order][1:] != column[order][:-1] for column in columns], axis=0)
    first = np.empty(len(order), dtype=np.int64)
    first[order] = order[np.flatnonzero(new)][np.cumsum(new) - 1]
    return first


def _sorted(numbers: dict[str, int], column: Ints) -> tuple[tuple[str, ...], Ints]:
    names = sorted(numbers)
    place = np.empty(len(names), dtype=np.int64)
    place[[numbers[name] for name in names]] = np.arange(len(names))
    return tuple(names), place[column]


def _members(key: str, values: Iterable[str], end: str = "") -> list[str]:
    return [f"{key}{value}{end}" if value else "" for value in values]
