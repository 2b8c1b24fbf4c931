"""One recorded call: what was shown in which order, and what the judge answered."""

from __future__ import annotations

from dataclasses import dataclass, fields
from typing import Any

from steelyard.verdicts.verdict import Abstained, Decided, Failed, Tie, Unreadable, Verdict

REASON = "as recorded"
"""Reason of a recorded call without a verdict: the file does not say more."""

VERDICTS: dict[str, Verdict] = {
    "1": Decided("1"),
    "2": Decided("2"),
    "tie": Tie(),
    "abstain": Abstained(),
    "unreadable": Unreadable(REASON),
    "failed": Failed(REASON),
}


@dataclass(frozen=True)
class Pair:
    """What a file says of a canonical pair; every call on it must say the same."""

    probe: str
    """`vacuum`, `ladder` or `position`."""
    pair: str
    """Name of the pair."""
    kind: str
    """Condition within the probe."""
    task: str | None = None
    """Cluster, by the file's own key; None where the file names none, so that each pair stands for itself."""
    stratum: str | None = None
    """Part of the data the pair belongs to, where the file says so."""
    delta: float | None = None
    """Quality difference, where there is a ladder."""
    base_level: float | None = None
    """Quality of the worse text, where there is a ladder."""
    better: str | None = None
    """`u`, `v`; `tie` where people found neither better; None where nothing better is known."""


@dataclass(frozen=True)
class Call:
    """One line of `observations.jsonl`."""

    judge: str
    """Name on the datasheet."""
    protocol: str
    """`base`, `strict`, or the name of another prompt of the judge."""
    pair: Pair
    """What was shown."""
    first: str
    """Content in slot 1, `u` or `v`."""
    answer: str
    """A key of `VERDICTS`."""
    replicate: int
    """0, 1, …"""
    where: str
    """File and line, for messages."""

    @property
    def key(self) -> tuple[str, str, str, int, str]:
        """What no two calls share; calls sort by it."""
        return self.judge, self.protocol, self.pair.pair, self.replicate, self.first

    @property
    def order(self) -> str:
        """`uv` or `vu`."""
        return "uv" if self.first == "u" else "vu"

    def to_json(self) -> dict[str, Any]:
        """The call in the project's own format; what is not known is left out."""
        known = {f.name: getattr(self.pair, f.name) for f in fields(Pair)}
        return {
            "judge": self.judge,
            "protocol": self.protocol,
            **{name: value for name, value in known.items() if value is not None},
            "first": self.first,
            "answer": self.answer,
            "replicate": self.replicate,
        }
