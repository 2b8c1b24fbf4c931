"""The plan of a run: rows of its file, written before the first trial."""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Hashable, Iterable, Iterator
from dataclasses import dataclass
from typing import TypeVar

import numpy as np

from steelyard.arrays import Digests, Ints
from steelyard.digests import NO_DIGESTS, digests_of, hash_of
from steelyard.store.chunks import NO_NUMBERS, Numbers, chunks

BETWEEN = "\x1f"
"""What parts names that are read together."""

Value = TypeVar("Value", bound=Hashable)


@dataclass(frozen=True, slots=True)
class PlannedTrial:
    """A trial of the plan, whether or not it was tried."""

    trial: str
    """Key of the trial."""
    judge: str
    """Name of the judge."""
    protocol: str
    """`base`, `strict`, …"""
    stimulus: str
    """Hash of the stimulus."""
    order: str
    """`uv` or `vu`."""
    replicate: int
    """0, 1, …"""
    probes: tuple[str, ...]
    """Probes that use it."""


@dataclass(frozen=True, eq=False)
class PlannedTrials:
    """Every planned trial in columns, in the order of the plan."""

    questions: tuple[tuple[str, str, str, str], ...]
    """Judge, protocol, hash of the stimulus and order, which `question` is an index into."""
    uses: tuple[tuple[str, ...], ...]
    """Probes, which `use` is an index into."""
    key: Digests
    """Key of each trial."""
    question: Ints
    """What is asked, and how."""
    replicate: Ints
    """0, 1, …"""
    use: Ints
    """Probes that use it."""

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
        """Hashes of the stimuli."""
        return {stimulus for _, _, stimulus, _ in self.questions}


def replace_plan(connection: sqlite3.Connection, plan: Iterable[PlannedTrial]) -> None:
    """Keep this plan in place of the one that is there."""
    rows = (
        (t.trial, t.judge, t.protocol, t.stimulus, t.order, t.replicate, json.dumps(t.probes)) for t in plan
    )
    connection.execute("DELETE FROM planned")
    connection.executemany("INSERT INTO planned VALUES (NULL, ?, ?, ?, ?, ?, ?, ?)", rows)


def has_plan(connection: sqlite3.Connection) -> bool:
    """False for a run file of a version that kept no plan."""
    table = connection.execute("SELECT 1 FROM sqlite_master WHERE name = 'planned'").fetchone()
    return bool(table and connection.execute("SELECT 1 FROM planned LIMIT 1").fetchone())


def read_plan(connection: sqlite3.Connection) -> PlannedTrials:
    """Every planned trial, in the order of the plan."""
    # One text for all that repeats share: a row of few values is read in half the time.
    rows = connection.execute(
        "SELECT trial, replicate,"
        " judge || ?1 || protocol || ?1 || stimulus || ?1 || presented || ?1 || probes"
        " FROM planned ORDER BY position",
        (BETWEEN,),
    )
    known = Numbers[str]()
    parts = [
        (digests_of(key), np.array(replicate, dtype=np.int64), known.of(shared))
        for key, replicate, shared in chunks(rows)
    ]
    key, replicate, number = (list(column) for column in zip(*parts, strict=True)) if parts else ([], [], [])
    shared = [text.rsplit(BETWEEN, 4) for text in known]
    questions, question = _distinct([(judge, way, what, order) for judge, way, what, order, _ in shared])
    uses, use = _distinct([tuple(json.loads(probes)) for *_, probes in shared])
    row = np.concatenate([NO_NUMBERS, *number])
    return PlannedTrials(
        questions,
        uses,
        np.concatenate([NO_DIGESTS, *key]),
        question[row],
        np.concatenate([NO_NUMBERS, *replicate]),
        use[row],
    )


def _distinct(values: list[Value]) -> tuple[tuple[Value, ...], Ints]:
    """Each value once, and the number of each."""
    known = Numbers[Value]()
    numbers = known.of(values)
    return tuple(known), numbers
