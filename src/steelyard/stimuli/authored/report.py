"""What was asked of authors, what they made, and why the rest was rejected: counts and sentences."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from steelyard.core.json_dataclasses import from_body, mapping
from steelyard.core.text import pluralize

BY_A_PERSON = "by a person"
"""Reason of a rejection that no check made."""


@dataclass(frozen=True)
class Bucket:
    level: str
    filled: int
    """Texts that were confirmed at it; those kept at it that were written for another are among them."""
    wanted: int


@dataclass(frozen=True)
class ProbeReport:
    probe: str
    asked: int
    usable: int
    pending: int
    rejected: Mapping[str, int]
    """Reason to the number of texts that came to nothing, `by a person` included."""
    turned_down: Mapping[str, int]
    """Reason to the number of tries that were rejected, mended ones included."""
    buckets: tuple[Bucket, ...] = ()
    by_validator: int = 0
    """Runs among the usable ones that nobody labelled: their reference is the validator's opinion."""
    edited: int = 0
    """Texts among the usable ones that reviewers changed."""
    reviewed: int = 0
    """Texts among the usable ones that reviewers accepted or changed."""

    @property
    def even(self) -> bool:
        return len({bucket.filled for bucket in self.buckets}) <= 1

    @property
    def reasons(self) -> str:
        return _format_counts(self.rejected)

    def to_json(self) -> dict[str, Any]:
        body: dict[str, Any] = {
            "probe": self.probe,
            "asked": self.asked,
            "usable": self.usable,
            "rejected": dict(self.rejected),
            "turned_down": dict(self.turned_down),
        }
        if self.pending:
            body["pending"] = self.pending
        if self.by_validator:
            body["by_validator"] = self.by_validator
        if self.edited or self.reviewed:
            body |= {"edited": self.edited, "reviewed": self.reviewed}
        if self.buckets:
            body["levels"] = {b.level: {"filled": b.filled, "wanted": b.wanted} for b in self.buckets}
        return body

    @classmethod
    def from_json(cls, body: Any, where: str = "") -> ProbeReport:
        known = mapping(body, where)
        place = f"{where}.levels"
        levels = mapping(known.get("levels", {}), place)
        buckets = [{**mapping(levels[name], f"{place}.{name}"), "level": name} for name in levels]
        return from_body(
            cls,
            {"pending": 0, "by_validator": 0, "edited": 0, "reviewed": 0, **known, "buckets": buckets},
            where,
        )

    def sentence(self) -> str:
        parts = [f"{self.asked} asked", f"{self.usable} usable"]
        if self.by_validator:
            parts.append(f"{self.by_validator} of them with the validator's opinion as their only reference")
        if self.review:
            parts.append(self.review)
        if self.pending:
            parts.append(f"{self.pending} waiting for review")
        if self.rejected:
            parts.append(f"{sum(self.rejected.values())} rejected ({self.reasons})")
        if self.turned_down:
            tries = pluralize(sum(self.turned_down.values()), "attempt")
            parts.append(f"{tries} rejected ({_format_counts(self.turned_down)})")
        sentence = f"{self.probe}: {', '.join(parts)}"
        return f"{sentence}; {self.levels}." if self.buckets else f"{sentence}."

    @property
    def review(self) -> str:
        """How many texts reviewers changed; older folders do not say of how many that they looked at."""
        looked = f"{self.reviewed} texts" if self.reviewed else "them"
        return f"{self.edited} of {looked} changed by reviewers" if self.edited or self.reviewed else ""

    @property
    def levels(self) -> str:
        if not self.buckets:
            return ""
        if not any(bucket.filled for bucket in self.buckets):
            return f"none of the {pluralize(len(self.buckets), 'level')} has a text"
        missing = sum(max(0, bucket.wanted - bucket.filled) for bucket in self.buckets)
        extra = sum(max(0, bucket.filled - bucket.wanted) for bucket in self.buckets)
        if extra:
            filled = ", ".join(f"{b.level}: {b.filled} for {b.wanted}" for b in self.buckets)
            return f"levels filled unevenly ({filled}), {missing} fewer than asked, {extra} more"
        filled = ", ".join(f"{b.level}: {b.filled} of {b.wanted}" for b in self.buckets)
        if self.even and not missing:
            return f"levels filled evenly ({filled})"
        spread = "evenly" if self.even else "unevenly"
        return f"levels filled {spread} ({filled}), {missing} could not be filled"


def _format_counts(counts: Mapping[str, int]) -> str:
    return ", ".join(f"{reason} {count}" for reason, count in counts.items())
