"""What a leaderboard says: systems with their ranks, what tells two of them apart, and the same as JSON."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from steelyard.estimation.frame import CONFIDENCE

SCHEMA = "steelyard.leaderboard/1"
GIVEN, BY_NAME = "given", "by name"
"""How the systems of the judge's own family are known."""


@dataclass(frozen=True)
class RankedSystem:
    system: str
    rows: int
    """Comparisons or items that it took part in."""
    value: float
    low: float | None
    """None where all rows of all systems are one score, so that no interval is defined; `high` likewise."""
    high: float | None
    place: int
    best: int
    """Best rank that the data allow; `worst` likewise."""
    worst: int
    first: float
    """P(first)."""
    tier: int
    difference: tuple[float, float | None, float | None] | None = None
    """From the baseline, with its limits, which are undefined where the two differ alike on every row; None
    without a baseline."""
    weight: float | None = None
    """λ: weight of the judge in a corrected figure."""


@dataclass(frozen=True)
class Separation:
    """What it takes to tell two systems apart, if their figures stay."""

    better: str
    worse: str
    gap: float
    reach: float
    """Gap from which on they are apart: half its interval if they were named, else by the rule of ranks."""
    votes: int | None
    """Votes of people in all; None where the ranking has none, or where votes on all rows would not do."""
    rows: int | None
    """Rows in all, if people vote on all of them, or by the judge alone; None where the figures are equal."""

    @property
    def is_apart(self) -> bool:
        return self.gap > self.reach


@dataclass(frozen=True)
class RankTable:
    """One ranking: by the judge alone, by people alone, or corrected."""

    systems: tuple[RankedSystem, ...]
    """From the first place to the last."""
    flips: tuple[float, ...]
    """P(a system and the next one are the other way round)."""
    separation: Separation
    """Of the two systems that were named, else of the first two."""

    def of(self, system: str) -> RankedSystem:
        return next(row for row in self.systems if row.system == system)

    def to_json(self) -> dict[str, Any]:
        return {
            "systems": [vars(row) for row in self.systems],
            "flips": list(self.flips),
            "separation": vars(self.separation) | {"is_apart": self.separation.is_apart},
        }


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
    confidence: float = CONFIDENCE
    by_strength: bool = False
    """Figures are Bradley–Terry strengths instead of win rates."""
    strengths: RankTable | None = None
    """Beside win rates: strengths by the same votes as `main`."""
    independence: str = ""
    """Why rows are taken as independent; empty where tasks say which belong together."""
    own_family: tuple[str, ...] = ()
    """Systems of the judge's own model family."""
    family_source: str = BY_NAME
    separate: tuple[str, str] | None = None
    """Systems that the user wants to tell apart."""

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
            "strengths": self.strengths,
        }
        return {
            "schema": SCHEMA,
            "source": self.name,
            "judge": self.judge,
            "people": list(self.people),
            "pairwise": self.pairwise,
            "ties": self.ties,
            "figure": "strength" if self.by_strength else "win_rate" if self.pairwise else "mean_score",
            "confidence": self.confidence,
            "independence": self.independence,
            "rows": self.rows,
            "labels": self.labels,
            **{name: None if table is None else table.to_json() for name, table in tables.items()},
            "unsupported": self.unsupported,
            "slot_share": self.slot_share,
            "baseline": self.baseline,
            "own_family": list(self.own_family),
            "family_source": self.family_source,
            "remarks": list(self.remarks),
        }
