"""The plan of a run: rows of its file, written before the first trial."""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Hashable, Iterable, Iterator
from dataclasses import dataclass
from typing import Any, TypeVar

import numpy as np

from steelyard.core.arrays import Digests, Ints
from steelyard.core.content_hash import NO_DIGESTS, digests_in, digests_of, hash_of
from steelyard.store.rows import NO_NUMBERS, Numbering, has_table

STEP = 16_384

Value = TypeVar("Value", bound=Hashable)


@dataclass(frozen=True, slots=True)
class PlannedTrial:
    trial: str
    judge: str
    protocol: str
    stimulus: str
    order: str
    replicate: int
    probes: tuple[str, ...]


@dataclass(frozen=True, eq=False)
class PlannedTrials:
    questions: tuple[tuple[str, str, str, str], ...]
    """Judge, protocol, hash of the stimulus and order, which `question` is an index into."""
    uses: tuple[tuple[str, ...], ...]
    key: Digests
    question: Ints
    replicate: Ints
    use: Ints

    def __len__(self) -> int:
        return len(self.key)

    def __iter__(self) -> Iterator[PlannedTrial]:
        columns = (self.key, self.question, self.replicate, self.use)
        for key, question, replicate, use in zip(*(column.tolist() for column in columns), strict=True):
            judge, protocol, stimulus, order = self.questions[question]
            probes = self.uses[use]
            yield PlannedTrial(hash_of(key), judge, protocol, stimulus, order, replicate, probes)

    @property
    def stimuli(self) -> set[str]:
        return {stimulus for _, _, stimulus, _ in self.questions}


def replace_plan(connection: sqlite3.Connection, plan: Iterable[PlannedTrial]) -> None:
    rows = (
        (t.trial, t.judge, t.protocol, t.stimulus, t.order, t.replicate, json.dumps(t.probes)) for t in plan
    )
    connection.execute("DELETE FROM planned")
    connection.executemany("INSERT INTO planned VALUES (NULL, ?, ?, ?, ?, ?, ?, ?)", rows)


def has_plan(connection: sqlite3.Connection) -> bool:
    return has_table(connection, "planned") and bool(
        connection.execute("SELECT 1 FROM planned LIMIT 1").fetchone()
    )


def read_plan(connection: sqlite3.Connection) -> PlannedTrials:
    """Every planned trial, in the order of the plan.

    Repeats of a question stand together, and differ in key, order and repeat alone: what they share is read
    where it changes.
    """
    starts, shared = _changes(connection)
    orders = Numbering[str]()
    parts = list(_parts(connection, orders))
    position, key, replicate, order = map(list, zip(*parts, strict=True)) if parts else ([], [], [], [])
    run = np.searchsorted(starts, np.concatenate([NO_NUMBERS, *position]), "right") - 1
    asked, number = _distinct([each[:3] for each in shared])
    uses, use = _distinct([tuple(json.loads(probes)) for *_, probes in shared])
    names, question = _renumbered(number[run] * len(orders) + np.concatenate([NO_NUMBERS, *order]))
    spelled = list(orders)
    return PlannedTrials(
        tuple((*asked[name // len(spelled)], spelled[name % len(spelled)]) for name in names),
        uses,
        np.concatenate([NO_DIGESTS, *key]),
        question,
        np.concatenate([NO_NUMBERS, *replicate]),
        use[run],
    )


def _changes(connection: sqlite3.Connection) -> tuple[Ints, list[tuple[str, str, str, str]]]:
    rows = connection.execute(
        "SELECT a.position, a.judge, a.protocol, a.stimulus, a.probes FROM planned AS a"
        " LEFT JOIN planned AS b ON b.position = a.position - 1"
        " WHERE a.judge IS NOT b.judge OR a.protocol IS NOT b.protocol"
        " OR a.stimulus IS NOT b.stimulus OR a.probes IS NOT b.probes ORDER BY a.position"
    ).fetchall()
    return np.array([position for position, *_ in rows], dtype=np.int64), [tuple(row[1:]) for row in rows]


def _parts(
    connection: sqlite3.Connection, orders: Numbering[str]
) -> Iterator[tuple[Ints, Digests, Ints, Ints]]:
    """Position, key, repeat and order of some rows at a time: a text of each, which SQLite joins quickest."""
    above = "SELECT min(position) FROM planned WHERE position > ?"
    start: int | None = connection.execute("SELECT min(position) FROM planned").fetchone()[0]
    while start is not None:
        some = start, start + STEP - 1
        count, keys, replicates, shown = connection.execute(
            "SELECT count(*), group_concat(trial, ''), group_concat(replicate), group_concat(presented)"
            " FROM planned WHERE position BETWEEN ? AND ?",
            some,
        ).fetchone()
        position = np.arange(start, start + STEP)
        if count != STEP:
            position = np.array(_column(connection, "position", some), dtype=np.int64)
        key = digests_in(keys, count)
        if key is None:
            key = digests_of(_column(connection, "trial", some))
        replicate = np.array(list(map(int, replicates.split(","))), dtype=np.int64)
        order = orders.of(shown.split(","))
        if not len(replicate) == len(order) == count:
            raise ValueError("a planned trial without order or repeat")
        yield position, key, replicate, order
        (start,) = connection.execute(above, some[1:]).fetchone()


def _column(connection: sqlite3.Connection, name: str, some: tuple[int, int]) -> list[Any]:
    rows = connection.execute(
        f"SELECT {name} FROM planned WHERE position BETWEEN ? AND ? ORDER BY position", some
    )
    return [value for (value,) in rows]


def _renumbered(codes: Ints) -> tuple[list[int], Ints]:
    values, first, again = np.unique(codes, return_index=True, return_inverse=True)
    turn = np.argsort(first)
    return values[turn].tolist(), np.argsort(turn)[again.reshape(-1)]


def _distinct(values: list[Value]) -> tuple[tuple[Value, ...], Ints]:
    known = Numbering[Value]()
    numbers = known.of(values)
    return tuple(known), numbers
