"""Votes of a judge and of people on the same rows, as the matrices that a ranking is made of."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass, replace
from statistics import fmean

import numpy as np

from steelyard.core.arrays import Floats, Mask
from steelyard.estimation.ranking import SystemScores
from steelyard.importing.ratings import Rating

HALF, LOSS = "half", "loss"


@dataclass(frozen=True, eq=False)
class Votes:
    judge: SystemScores
    people: SystemScores | None
    """Of the rows that people rated too."""
    labelled: Mask
    random_draw: bool
    strays: int
    """Rows that people rated and the judge did not."""

    @property
    def corrects(self) -> bool:
        """People's rows stand for all rows."""
        return self.people is not None and (self.random_draw or bool(self.labelled.all()))

    @property
    def shared(self) -> SystemScores:
        """The judge's scores, on labelled rows only of systems that people rated too."""
        assert self.people is not None
        values = self.judge.values.copy()
        values[self.labelled] = np.where(np.isnan(self.people.values), np.nan, values[self.labelled])
        return replace(self.judge, values=values)


def matched_votes(
    judged: Sequence[Rating], voted: Sequence[Rating], names: Sequence[str], ties: str, *, random_draw: bool
) -> Votes:
    by_judge, by_people = _matrix(judged, names, ties), _matrix(voted, names, ties)
    keys = sorted(by_judge)
    both = [key for key in keys if key in by_people]
    labelled = np.array([key in by_people for key in keys], dtype=np.bool_)
    people = _scores(by_people, both) if both else None
    strays = len(by_people) - len(both)
    return Votes(_scores(by_judge, keys), people, labelled, random_draw, strays)


Key = tuple[str, str]
"""Task, or the item where there is none, and the name of the row."""


def _matrix(rows: Sequence[Rating], names: Sequence[str], ties: str) -> dict[Key, Floats]:
    """Score of each system in each comparison or item; repeats and several people are averaged."""
    number = {name: place for place, name in enumerate(names)}
    found: defaultdict[Key, defaultdict[int, list[float]]] = defaultdict(lambda: defaultdict(list))
    for row in rows:
        value = row.value or 0.0
        if not row.versus:
            if row.system in number:
                found[row.task or row.item, row.item][number[row.system]].append(value)
        elif row.system in number and row.versus in number:
            cells = found[row.task or row.item, f"{row.item} {row.system} {row.versus}"]
            lost = ties == LOSS and value == 0.5
            cells[number[row.system]].append(0.0 if lost else value)
            cells[number[row.versus]].append(0.0 if lost else 1 - value)
    made = {}
    for key, cells in found.items():
        made[key] = np.full(len(names), np.nan)
        for place, values in cells.items():
            made[key][place] = fmean(values)
    return made


def _scores(matrix: dict[Key, Floats], keys: Sequence[Key]) -> SystemScores:
    tasks: dict[str, int] = {}
    cluster = [tasks.setdefault(task, len(tasks)) for task, _ in keys]
    values = np.stack([matrix[key] for key in keys]) if keys else np.zeros((0, 0))
    return SystemScores(values, np.array(cluster, dtype=np.int64))
