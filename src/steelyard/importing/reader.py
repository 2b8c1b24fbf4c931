"""The reader of recorded verdicts: msgspec decodes a line, and pydantic re-reads one only to word its error.

Calls go straight into columns. What many lines share (a judge, a protocol, an outcome, the subject that was
judged) is checked where it first occurs and looked up from then on.
"""

from __future__ import annotations

from array import array
from collections.abc import Callable, Collection, Hashable, Iterator, Sequence
from dataclasses import dataclass, fields
from itertools import pairwise
from pathlib import Path
from typing import Annotated, Any, Generic, Protocol, Self, TypeVar, Union, get_args, get_type_hints

import numpy as np
from msgspec import UNSET, Meta, MsgspecError, Struct, UnsetType, structs
from msgspec.structs import astuple
from pydantic import BaseModel, ConfigDict, Field, create_model, model_validator

from steelyard.core.arrays import Ints, in_order
from steelyard.errors import DataError
from steelyard.importing.jsonl import Body, Lines, Name, parse_object, text_lines

BASE = "base"
HEAD = 5
"""Fields of a line that are of the call; those behind them are of its subject."""
WIDTH = 6
"""Numbers that are kept of a row."""


class RecordedLine(Struct, kw_only=True, forbid_unknown_fields=True):
    """What every line holds: a call; two fields of its outcome and those of its subject follow."""

    judge: Name
    protocol: Name | UnsetType = UNSET
    replicate: Annotated[int, Meta(ge=0, le=1_000_000), Field(ge=0, le=1_000_000)] | UnsetType = UNSET


def line_model(line: type[RecordedLine], disagreement: Callable[[Any], str | None]) -> type[BaseModel]:
    """The fields of a line as a pydantic model, which words what is wrong with one.

    `disagreement` is the sentence about fields that do not agree with each other.
    """

    class Line(BaseModel):
        model_config = ConfigDict(extra="forbid", strict=True)

        @model_validator(mode="after")
        def _agree(self) -> Self:
            if fault := disagreement(self):
                raise ValueError(fault)
            return self

    members: dict[str, Any] = {}
    hints = get_type_hints(line, include_extras=True)
    for field in sorted(structs.fields(line), key=lambda field: not field.required):
        parts = get_args(hints[field.name]) if UnsetType in get_args(hints[field.name]) else ()
        kind = Union[tuple(part for part in parts if part is not UnsetType)] if parts else hints[field.name]  # noqa: UP007
        default = {"protocol": BASE, "replicate": 0}.get(field.name)
        members[field.name] = kind, (... if field.required else default)
    return create_model(line.__name__, __base__=Line, **members)


class RecordedSubject(Protocol):
    @property
    def name(self) -> Hashable:
        """What tells it from other subjects."""

    @property
    def sort_key(self) -> tuple[str, ...]:
        """Calls sort by it."""


Subject = TypeVar("Subject", bound=RecordedSubject)
Outcome = tuple[Any, Any]
"""Slot of the first text and answer, or score and why there is none."""


class LineFormat(Protocol[Subject]):
    decode: Callable[[str], RecordedLine]

    def parse(self, where: str, body: Body) -> Iterator[RecordedLine]:
        """The calls of a line, or what is wrong with it in a sentence."""

    def agrees(self, line: Any) -> bool:
        """Whether the fields of a line agree with each other; those that are left out are None."""

    def subject(self, line: Any) -> Subject:
        """What was judged."""

    def probe(self, line: Any) -> str:
        """The probe that the call was made for, where that tells one call from another."""

    def slot(self, outcome: Outcome) -> int:
        """What else tells calls on one subject apart."""

    def repeated(self, judge: str, subject: Subject, where: str) -> str:
        """The sentence about a call that was made already."""

    def conflict(self, subject: Subject, field: str, value: object, first: object, where: str) -> str:
        """The sentence about a subject of which two lines say two things."""


@dataclass(frozen=True, eq=False)
class RecordedCalls(Generic[Subject]):
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


def read_recorded_calls(
    form: LineFormat[Subject], paths: Sequence[Path], lines: Lines | None = None
) -> RecordedCalls[Subject]:
    """All calls of the files; `lines` gives the lines of files that are no JSONL, as objects."""
    reader = _Reader(form)
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
    return reader.calls()


class _Reader(Generic[Subject]):
    def __init__(self, form: LineFormat[Subject]) -> None:
        self._form = form
        self._judges: dict[str, int] = {}
        self._protocols: dict[str, int] = {}
        self._probes: dict[str, int] = {}
        self._outcomes: dict[Outcome, int] = {}
        self._subjects: list[Subject] = []
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
        decode, extend = self._form.decode, self._rows.extend
        judges, protocols = self._judges, self._said_protocols
        outcomes, subjects = self._said_outcomes, self._said_subjects
        for number, text in enumerate(text_lines(path), start=1):
            try:
                values = astuple(decode(text))
                judge, replicate = judges[values[0]], values[2]
                protocol, protocol_keys = protocols[values[1]]
                outcome, outcome_keys = outcomes[values[3:6]]
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
            decoded = self._form.decode(text)
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
        protocol, outcome = self._said_protocols[values[1]][0], self._said_outcomes[values[3:6]][0]
        subject = self._said_subjects[values[HEAD:]][0]
        self._rows.extend((self._judges[line.judge], protocol, outcome, subject, values[2] or 0, number))
        if conflict is not None:
            raise DataError(f"{self._where(len(self._rows) // WIDTH - 1)}: {conflict}")

    def _learn(self, line: Any, values: tuple[Any, ...]) -> str | None:
        """Number what occurs for the first time; the sentence about what contradicts earlier lines."""
        form, protocol = self._form, line.protocol or BASE
        _number(self._judges, line.judge)
        self._said_protocols[values[1]] = _number(self._protocols, protocol), values[1] is not UNSET
        said = values[3:6]
        if said not in self._said_outcomes:
            number = _number(self._outcomes, astuple(line)[3:HEAD])
            self._said_outcomes[said] = number, _count_set(values[3:HEAD])
        if values[HEAD:] in self._said_subjects:
            return None
        subject = form.subject(line)
        number = _number(self._by_name, subject.name)
        if number == len(self._subjects):
            self._subjects.append(subject)
            self._first_rows.append(len(self._rows) // WIDTH)
        self._said_subjects[values[HEAD:]] = len(self._subject_of), _count_set(values[HEAD:])
        self._subject_of.append(number)
        self._probe_of.append(_number(self._probes, form.probe(line)))
        known = self._subjects[number]
        if known == subject:
            return None
        name, first, value = next(
            (f.name, getattr(known, f.name), getattr(subject, f.name))
            for f in fields(subject)  # type: ignore[arg-type]
            if getattr(known, f.name) != getattr(subject, f.name)
        )
        return form.conflict(subject, name, value, first, self._where(self._first_rows[number]))

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
        words = self._form.repeated(
            list(self._judges)[judge[row]], self._subjects[subject[row]], self._where(int(first[row]))
        )
        raise DataError(f"{self._where(row)}: {words}")

    def calls(self) -> RecordedCalls[Subject]:
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
        return RecordedCalls(self._where, rows, *names, *(column[rows] for column in columns))


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
