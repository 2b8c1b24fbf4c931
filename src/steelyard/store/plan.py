"""The plan of a run: rows of its file, written before the first trial."""

from __future__ import annotations

import json
import sqlite3
from array import array
from collections.abc import Iterable, Iterator
from dataclasses import dataclass

import numpy as np

from steelyard.core.arrays import Digests, Ints, compact
from steelyard.core.content_hash import column, digests_of, hash_of
from steelyard.store.rows import Numbering, chunks, rows_of
from steelyard.trials.trial import ORDERS


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
        for key, question, replicate, use in zip(*(each.tolist() for each in columns), strict=True):
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
    return any(rows_of(connection, "planned", "SELECT 1 FROM planned LIMIT 1"))


def read_plan(connection: sqlite3.Connection) -> PlannedTrials:
    """Every planned trial, in the order of the plan."""
    questions, uses = Numbering[tuple[str, str, str, str]](), Numbering[str]()
    # Each column grows in one piece: small pieces of a million rows would leave holes between them.
    key, question, replicate, use = bytearray(), array("q"), array("q"), array("q")
    rows = connection.execute(
        "SELECT trial, judge, protocol, stimulus, presented, replicate, probes FROM planned ORDER BY position"
    )
    for trial, judge, protocol, stimulus, order, repeat, probes in chunks(rows):
        key += digests_of(trial).tobytes()
        question.extend(map(questions.__getitem__, zip(judge, protocol, stimulus, order, strict=True)))
        replicate.extend(repeat)
        use.extend(map(uses.__getitem__, probes))
    if not {order for *_, order in questions} <= set(ORDERS):
        raise ValueError("a planned trial without an order")
    return PlannedTrials(
        tuple(questions),
        tuple(tuple(json.loads(probes)) for probes in uses),
        column(key),
        *(compact(np.frombuffer(numbers, dtype=np.int64)) for numbers in (question, replicate, use)),
    )
