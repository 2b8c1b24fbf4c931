"""What a leaderboard says: systems with their ranks, what tells two of them apart, and the same as JSON."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from steelyard.core.json_dataclasses import to_body

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

    def to_json(self) -> dict[str, Any]:
        return vars(self) | {"is_apart": self.is_apart}


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


@dataclass(frozen=True, kw_only=True)
class Leaderboard:
    """In the order of its JSON."""

    source: str
    judge: str
    people: tuple[str, ...]
    pairwise: bool
    ties: str
    figure: str
    """`strength` (Bradley–Terry), `win_rate` or `mean_score`."""
    confidence: float
    independence: str
    """Why rows are taken as independent; empty where tasks say which belong together."""
    scale_assumed: str
    """What is assumed of the scale of scores where nothing states it; empty where it is known."""
    rows: int
    labels: int
    judge_alone: RankTable
    people_alone: RankTable | None
    corrected: RankTable | None
    strengths: RankTable | None
    """Beside win rates: strengths by the same votes as `main`."""
    slot_share: float | None
    """Share of decided comparisons that the judge gave to the first slot."""
    baseline: str | None
    own_family: tuple[str, ...]
    """Systems of the judge's own model family."""
    family_source: str
    remarks: tuple[str, ...]
    separate: tuple[str, str] | None
    """Systems that the user wants to tell apart; not in the JSON."""

    @property
    def by_strength(self) -> bool:
        return self.figure == "strength"

    @property
    def voted(self) -> RankTable | None:
        """The table that says most of those with people's votes."""
        return self.corrected or self.people_alone

    @property
    def main(self) -> RankTable:
        return self.voted or self.judge_alone

    @property
    def unsupported(self) -> list[str]:
        """Systems whose place by the judge lies outside the ranks that people's votes allow."""
        if self.voted is None:
            return []
        rows = [(row, self.voted.of(row.system)) for row in self.judge_alone.systems]
        return [row.system for row, other in rows if not other.best <= row.place <= other.worst]

    def to_json(self) -> dict[str, Any]:
        body: dict[str, Any] = {"schema": SCHEMA}
        for name, value in vars(self).items():
            if name == "slot_share":
                body["unsupported"] = self.unsupported
            body[name] = to_body(value)
        del body["separate"]
        return body
