"""What to do next about a judge: for what purpose, by which command, at what price."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass
from typing import Any

from steelyard.core.json_dataclasses import from_body


@dataclass(frozen=True)
class NextStep:
    """One step, and the command that takes it."""

    purpose: str
    """What to do."""
    command: str | None = None
    """One line that a shell takes as it is; None where no command does it."""
    price: str = ""
    """`1,200 calls, about $0.12`; empty where calls are not known."""
    calls: int | None = None
    """Calls that the command makes."""
    dollars: float | None = None
    """What these cost; None where no price is known."""

    @property
    def sentence(self) -> str:
        """Purpose and price, with a colon where the command follows on a line of its own."""
        told = f"{self.purpose} ({self.price})" if self.price else self.purpose
        return f"{told}:" if self.command else told

    def __str__(self) -> str:
        return f"{self.sentence}\n{self.command}" if self.command else self.sentence

    def to_json(self) -> dict[str, Any]:
        """The entry under `next` of a verdict in `datasheet.json`."""
        return asdict(self)

    @classmethod
    def from_json(cls, body: Any, where: str = "") -> NextStep:
        """The step that was written."""
        return from_body(cls, body, where)


def body_of_sentence(sentence: str, beside: Mapping[str, Any]) -> dict[str, Any] | None:
    """The entry under `next` for a file that has one sentence there, `PURPOSE: COMMAND (PRICE)`.

    Command, calls and dollars stand beside it there.
    """
    command = beside.get("command")
    known = isinstance(command, str) and bool(command)
    purpose, found, price = sentence.partition(str(command)) if known else (sentence, "", "")
    return (
        {
            "purpose": purpose.removesuffix(": ") if found else purpose,
            "price": price.strip(" ()"),
            **{name: beside.get(name) for name in ("command", "calls", "dollars")},
        }
        if purpose
        else None
    )
