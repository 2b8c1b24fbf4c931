"""A sentence about a judge."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from typing import Any

from steelyard.core.json_dataclasses import from_body


@dataclass(frozen=True)
class Reading:
    """A sentence about a judge that the tests behind it allow."""

    judge: str
    """Name on the datasheet."""
    title: str
    """What was asked: `Zero point`, `Position`, …"""
    word: str
    """`clear`, `flagged`, `inconclusive` or `undefined`."""
    sentence: str
    """What was found, with figures."""

    def to_json(self) -> dict[str, Any]:
        """One entry under `readings` in `datasheet.json`."""
        return asdict(self)

    @classmethod
    def from_json(cls, body: Any, where: str = "") -> Reading:
        """The reading that was written."""
        return from_body(cls, body, where)
