"""`leaderboard`: which places survive the judge's errors and another sample of items."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise
from math import ceil
from statistics import fmean
from typing import Any

import numpy as np

from steelyard.commands.judged_items import TUNE, Subject, choose, choose_judge, choose_people
from steelyard.core.arrays import Floats, Mask
from steelyard.core.text import pluralize
from steelyard.errors import DataError
from steelyard.estimation.ranking import (
    Ranking,
    SystemScores,
    better,
    corrected_ranking,
    first_chances,
    flip_chance,
    plain_ranking,
    rank_sets,
    tiers,
)
from steelyard.importing.ratings import Rating, RatingsTable
from steelyard.metrics.stats.intervals import Z

SCHEMA = "steelyard.leaderboard/1"
FEWEST_ROWS = 10
"""Rows of a system below which its error is not known well enough for a rank."""
HALF, LOSS = "half", "loss"


@dataclass(frozen=True)
class RankedSystem:
    system: str
    rows: int
    """Comparisons or items that it took part in."""
    value: float
    low: float
    high: float
    place: int
    best: int
    """Best rank that the data allow; `worst` likewise."""
    worst: int
    first: float
    """P(first)."""
    tier: int
    difference: tuple[float, float, float] | None = None
    """From the baseline, with its limits; None without a baseline."""


@dataclass(frozen=True)
class RankTable:
    """One ranking: by the judge alone, by people alone, or corrected."""

    systems: tuple[RankedSystem, ...]
    """From the first place to the last."""
    flips: tuple[float, ...]
    """P(a system and the next one are the other way round)."""
    weight: float | None
    separating_rows: int | None
    """Rows that would tell the first two apart, if their figures stayed; None where they are apart."""

    def of(self, system: str) -> RankedSystem:
        return next(row for row in self.systems if row.system == system)

    def to_json(self) -> dict[str, Any]:
        return {**vars(self), "systems": [vars(row) for row in self.systems], "flips": list(self.flips)}


@dataclass(frozen=True)
class Leaderboard:
    name: str
    judge: str
    people: tuple[str, ...]
    pairwise: bool
    ties: str
    rows: int
    labels: int
    judge_alone: RankTable
    people_alone: RankTable | None
    corrected: RankTable | None
    slot_share: float | None
    """Share of decided comparisons that the judge gave to the first slot."""
    baseline: str | None = None
    remarks: tuple[str, ...] = ()

    @property
    def main(self) -> RankTable:
        return self.corrected or self.people_alone or self.judge_alone

    @property
    def unsupported(self) -> list[str]:
        """Systems whose place by the judge lies outside the ranks that people's votes allow."""
        table = self.corrected or self.people_alone
        if table is None:
            return []
        rows = [(row, table.of(row.system)) for row in self.judge_alone.systems]
        return [row.system for row, other in rows if not other.best <= row.place <= other.worst]

    def to_json(self) -> dict[str, Any]:
        tables = {
            "judge_alone": self.judge_alone,
            "people_alone": self.people_alone,
            "corrected": self.corrected,
        }
        return {
            "schema": SCHEMA,
            "source": self.name,
            "judge": self.judge,
            "people": list(self.people),
            "pairwise": self.pairwise,
            "ties": self.ties,
            "rows": self.rows,
            "labels": self.labels,
            **{name: None if table is None else table.to_json() for name, table in tables.items()},
            "unsupported": self.unsupported,
            "slot_share": self.slot_share,
            "baseline": self.baseline,
            "remarks": list(self.remarks),
        }


def leaderboard(
    table: RatingsTable,
    subject: Subject,
    *,
    random_draw: bool = False,
    ties: str = HALF,
    systems: Sequence[str] = (),
    baseline: str | None = None,
    seed: int = 7,
) -> Leaderboard:
    judge, people = choose_judge(table, subject.judge), choose_people(table, subject.people)
    criterion = choose("criterion", "--criterion", subject.criterion, table.criteria, table.name)
    names = _systems(table, systems)
    base = None if baseline is None else choose("system", "--baseline", baseline, names, table.name)
    rows = [row for row in table.ratings if row.criterion == criterion and row.value is not None]
    tuned = {row.item for row in rows if row.split == TUNE}
    rows = [row for row in rows if row.item not in tuned]
    random_draw = random_draw or _recorded_draw(table.name, rows)
    by_judge = _matrix([row for row in rows if row.rater == judge], names, ties)
    by_people = _matrix([row for row in rows if row.rater in people and row.rater != judge], names, ties)
    keys = sorted(by_judge)
    scores = _scores(by_judge, keys)
    _refuse_few(table.name, scores, names, f"judge {judge!r}")
    remarks = []
    if tuned:
        remarks.append(f"{pluralize(len(tuned), 'item')} left out: the judge was tuned on them.")
    voted = people_table = fixed = None
    both = [key for key in keys if key in by_people]
    if both:
        voted = _scores(by_people, both)
        _refuse_few(table.name, voted, names, "people")
        people_table = _table(plain_ranking(voted), voted, names, base, seed)
        if random_draw or len(both) == len(keys):
            labelled = np.array([key in by_people for key in keys], dtype=np.bool_)
            ranking = corrected_ranking(_masked(scores, voted, labelled), voted, labelled)
            fixed = _table(ranking, scores, names, base, seed, labels=voted.rows)
        else:
            remarks.append(
                f"Not corrected: people rated {pluralize(len(both), 'row')} of {len(keys):,}; say --design "
                "random if these were drawn at random."
            )
    return Leaderboard(
        name=table.name,
        judge=judge,
        people=tuple(sorted(people)) if both else (),
        pairwise=table.is_pairwise,
        ties=ties,
        rows=len(keys),
        labels=len(both),
        judge_alone=_table(plain_ranking(scores), scores, names, base, seed),
        people_alone=people_table,
        corrected=fixed,
        slot_share=_slot_share([row for row in rows if row.rater == judge]) if table.is_pairwise else None,
        baseline=base,
        remarks=tuple(remarks),
    )


def _recorded_draw(where: str, rows: Sequence[Rating]) -> bool:
    """Whether recorded odds are those of a random draw; other draws do not carry a correction of ranks."""
    odds = [row.p_drawn for row in rows if row.p_drawn is not None]
    if len(odds) < len(rows) or not odds:
        return False
    if max(odds) - min(odds) > 1e-9:
        raise DataError(
            f"{where}: odds from {min(odds):.3g} to {max(odds):.3g} found, expected the same for every row, "
            "since ranks are corrected by a random draw alone; make one with `steelyard labels draw --design "
            "random`."
        )
    return True


def _systems(table: RatingsTable, wanted: Sequence[str]) -> list[str]:
    known = table.systems
    names = [choose("system", "--system", name, known, table.name) for name in wanted] or sorted(known)
    if len(names) < 2:
        raise DataError(
            f"{table.name}: {pluralize(len(names), 'system')} found, expected at least two to rank; write a "
            "column system, or system_a and system_b for comparisons."
        )
    return names


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


def _masked(judge: SystemScores, people: SystemScores, labelled: Mask) -> SystemScores:
    """The judge's scores, on labelled rows only of systems that people rated too."""
    values = judge.values.copy()
    values[labelled] = np.where(np.isnan(people.values), np.nan, values[labelled])
    return SystemScores(values, judge.cluster)


def _refuse_few(where: str, scores: SystemScores, names: Sequence[str], rater: str) -> None:
    counts = (~np.isnan(scores.values)).sum(axis=0) if scores.rows else np.zeros(len(names))
    for name, count in zip(names, counts.tolist(), strict=True):
        if count < FEWEST_ROWS:
            raise DataError(
                f"{where}: {name!r} has {pluralize(int(count), 'row')} rated by {rater}, expected at least "
                f"{FEWEST_ROWS} of every system; add some, or name the systems to rank with --system."
            )


def _table(
    ranking: Ranking,
    scores: SystemScores,
    names: Sequence[str],
    baseline: str | None,
    seed: int,
    labels: int | None = None,
) -> RankTable:
    shown = better(ranking, seed)
    sets, chances, numbers = rank_sets(shown), first_chances(ranking, seed), tiers(ranking, shown)
    counts = (~np.isnan(scores.values)).sum(axis=0)
    order = np.argsort(-ranking.figures, kind="stable").tolist()
    rows = [
        RankedSystem(
            system=names[m],
            rows=int(counts[m]),
            value=float(ranking.figures[m]),
            low=float(ranking.figures[m] - Z * ranking.errors[m]),
            high=float(ranking.figures[m] + Z * ranking.errors[m]),
            place=place,
            best=sets[m][0],
            worst=sets[m][1],
            first=float(chances[m]),
            tier=numbers[m],
            difference=None if baseline is None else _difference(ranking, m, names.index(baseline)),
        )
        for place, m in enumerate(order, start=1)
    ]
    flips = [flip_chance(ranking, one, other) for one, other in pairwise(order)]
    top, second = order[:2]
    needed = None
    if not shown[top, second]:
        cov = ranking.covariance
        spread = float(cov[top, top] + cov[second, second] - 2 * cov[top, second])
        gap = float(ranking.figures[top] - ranking.figures[second])
        made = scores.rows if labels is None else labels
        needed = ceil(made * Z * Z * spread / gap**2) if gap > 0 else None
    return RankTable(tuple(rows), tuple(flips), ranking.weight, needed)


def _difference(ranking: Ranking, one: int, other: int) -> tuple[float, float, float]:
    """Paired difference of two systems: the errors that they share cancel."""
    value = float(ranking.figures[one] - ranking.figures[other])
    reach = Z * ranking.difference_error(one, other)
    return value, value - reach, value + reach


def _slot_share(rows: Sequence[Rating]) -> float | None:
    decided = [row.value for row in rows if row.value in (0.0, 1.0)]
    return fmean(value or 0.0 for value in decided) if decided else None
