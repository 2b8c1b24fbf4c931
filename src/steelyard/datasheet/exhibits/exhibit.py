"""An exhibit: what was shown to a judge, what it replied, how that was read and why it counts so."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from typing import Any

from steelyard.core.json_dataclasses import from_body


@dataclass(frozen=True)
class ShownText:
    """A stimulus as a reader of the exhibit sees it."""

    id: str
    """Name in `stimuli.jsonl`."""
    kind: str
    """Condition within the probe."""
    edit: str
    """What was done to the item, in words."""
    label: str | None
    """The reference: a score, `u` or `v`, `tie`; None where nobody has said."""
    request: str | None
    """What the texts answer; None where it was not recorded."""
    texts: tuple[str, ...] | None
    """The texts u and v, or the one response; None where they were not recorded."""


@dataclass(frozen=True)
class ShownCall:
    """One call of an exhibit."""

    id: str
    """Name of the stimulus."""
    order: str | None
    """`uv` or `vu`, which content stood in slot 1; None for a single text."""
    replicate: int
    """0, 1, …"""
    reply: str | None
    """The raw reply; None where there is none, or it was not recorded."""
    verdict: str
    """A slot or a score, `tie`, `abstain`, `unreadable` or `failed`."""
    winner: str | None
    """Content of a pair that won, `u` or `v`."""
    reason: str | None
    """Why there is no verdict."""
    attempts: int | None = None
    """How often a call that failed was made; None for others."""
    message: str | None = None
    """What the server or the network said to a call that failed."""


@dataclass(frozen=True)
class Exhibit:
    """Calls of one judge on one stimulus, with what they are held against."""

    judge: str
    """Name on the datasheet."""
    protocol: str
    """`base`, `strict`, …"""
    probe: str
    """Probe that asked for the stimulus."""
    outcome: str
    """`wrong`, `flip`, `positional`, `unreadable` or `failed`; empty where none was asked for."""
    why: str
    """Why the calls count as they do."""
    reader: str | None
    """How replies are read; None where that was not recorded."""
    shown: tuple[ShownText, ...]
    """The stimulus, and before it the unchanged item where that is compared."""
    calls: tuple[ShownCall, ...]
    """The calls, those on the unchanged item first."""
    left_out: int = 0
    """Further calls on the same stimulus, not shown."""
    reading: str = ""
    """Title of the reading that it stands behind; empty where none was asked for."""

    def to_json(self) -> dict[str, Any]:
        """A plain mapping, as it is read back."""
        body = asdict(self)
        body["shown"] = [
            {**shown, "texts": shown["texts"] and list(shown["texts"])} for shown in body["shown"]
        ]
        return {**body, "calls": list(body["calls"])}

    @classmethod
    def from_json(cls, body: Any, where: str = "") -> Exhibit:
        """The exhibit that was written."""
        return from_body(cls, body, where)
