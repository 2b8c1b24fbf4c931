"""Which calls of a run somebody wants to see."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, fields


@dataclass(frozen=True)
class CallFilter:
    """Conditions that a call must meet; an empty one lets everything pass."""

    figure: str = ""
    """Name of a figure: the calls behind it."""
    judge: str = ""
    """Name of the judge."""
    probe: str = ""
    """Probe that shows the stimulus."""
    protocol: str = ""
    """`base`, `strict`, …"""
    kind: str = ""
    """Condition within the probe."""
    stratum: str = ""
    """Domain."""
    delta: str = ""
    """Quality step of a pair."""
    outcome: str = ""
    """`wrong`, `flip`, `positional`, `unreadable` or `failed`."""
    text: str = ""
    """Words that stimulus or reply contain."""

    @classmethod
    def of(cls, given: Mapping[str, str]) -> CallFilter:
        """The filter of an address; what it does not know is left alone."""
        return cls(**{field.name: given.get(field.name, "")[:300] for field in fields(cls)})

    def parts(self) -> Iterator[tuple[str, str]]:
        """Every condition that says something."""
        for field in fields(self):
            if value := getattr(self, field.name):
                yield field.name, value
