"""What a sequential run found about one judge, and the log of its looks."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from steelyard.core.atomic_write import write_text
from steelyard.errors import ConfigError
from steelyard.metrics.stats.confidence_sequence import ALPHA, refuted, sequence_limits
from steelyard.sequential.decision_rule import DecisionRule

SCHEMA = "steelyard.decision/1"


@dataclass(frozen=True)
class Look:
    """The state of the sequence when it was looked at."""

    units: int
    """Pairs with all their verdicts."""
    excluded: int
    """Pairs that lack a verdict; they are no part of the sum."""
    calls: int
    """Calls made for all pairs drawn so far."""
    total: float
    """Sum over the pairs of the mean over their calls."""
    low: float
    """Lower limit of the sequence."""
    high: float
    """Upper limit of the sequence."""

    @classmethod
    def at(cls, units: int, excluded: int, calls: int, total: float) -> Look:
        """The look with its interval."""
        low, high = sequence_limits(total, units)
        return cls(units, excluded, calls, total, low, high)

    def side(self, limit: float) -> str | None:
        """`above` or `below` the limit; None while the limit is not refuted."""
        return side(self.total, self.units, limit)


def side(total: float, units: int, limit: float) -> str | None:
    """Where the mean lies for certain, with the error of the sequence."""
    if not units or not refuted(total, units, limit):
        return None
    return "above" if total > limit * units else "below"


@dataclass(frozen=True)
class Decision:
    """One rule, one judge."""

    judge: str
    """Name of the judge."""
    fingerprint: str
    """Of its base protocol."""
    rule: DecisionRule
    """What was to be decided."""
    cap: int
    """Pairs that may be drawn, at most."""
    looks: tuple[Look, ...]
    """Every look, in order."""

    @property
    def last(self) -> Look:
        """The latest look."""
        return self.looks[-1] if self.looks else Look.at(0, 0, 0, 0.0)

    @property
    def verdict(self) -> str:
        """`above`, `below`, `inconclusive` (cap reached) or `unfinished`."""
        side = self.last.side(self.rule.limit)
        if side is None and self.last.units + self.last.excluded >= self.cap:
            return "inconclusive"
        return side or "unfinished"

    @property
    def holds(self) -> bool | None:
        """Whether the rule holds; None where nothing is decided."""
        decided = self.verdict in ("above", "below")
        return self.rule.holds(self.verdict) if decided else None

    @property
    def sure(self) -> bool:
        """True where the verdict is the same whatever the excluded pairs would have shown."""
        last, limit = self.last, self.rule.limit
        drawn = last.units + last.excluded
        extremes = {side(last.total, drawn, limit), side(last.total + last.excluded, drawn, limit)}
        return extremes == {last.side(limit)}

    def to_json(self) -> dict[str, Any]:
        """A plain mapping."""
        last = self.last
        return {
            "rule": str(self.rule),
            "judge": self.judge,
            "fingerprint": self.fingerprint,
            "verdict": self.verdict,
            "holds": self.holds,
            "cap": self.cap,
            "units": last.units,
            "excluded": last.excluded,
            "calls": last.calls,
            "total": last.total,
            "interval": {
                "method": "beta_binomial_sequence",
                "level": 1 - ALPHA,
                "low": last.low,
                "high": last.high,
            },
            "same_if_excluded_counted": self.sure,
            "looks": [asdict(look) for look in self.looks],
        }


def write_decisions(path: Path, decisions: Sequence[Decision]) -> None:
    """Put decisions into the log; those on other rules and judges stay."""
    made = [decision.to_json() for decision in decisions]
    fresh = {(body["rule"], body["judge"]) for body in made}
    kept = [body for body in read_decisions(path) if (body["rule"], body["judge"]) not in fresh]
    ordered = sorted([*kept, *made], key=lambda body: (body["rule"], body["judge"]))
    write_text(path, json.dumps({"schema": SCHEMA, "decisions": ordered}, indent=1) + "\n")


def read_decisions(path: Path) -> list[dict[str, Any]]:
    """The decisions of a log; none where there is no log."""
    try:
        body = json.loads(path.read_text(encoding="utf-8"))
        if body["schema"] != SCHEMA:
            raise ValueError(f"schema is {body['schema']!r}")
        return [_read_entry(entry) for entry in body["decisions"]]
    except FileNotFoundError:
        return []
    except (OSError, ValueError, KeyError, TypeError) as error:
        raise ConfigError(f"{path}: not a log of decisions ({error}); restore or remove the file.") from error


def _read_entry(entry: dict[str, Any]) -> dict[str, Any]:
    """An entry of the log; earlier versions wrote `underpowered` for `inconclusive`."""
    verdict = entry.get("verdict")
    return {
        **entry,
        "rule": str(entry["rule"]),
        "judge": str(entry["judge"]),
        **({"verdict": "inconclusive"} if verdict == "underpowered" else {}),
    }
