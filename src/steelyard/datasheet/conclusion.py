"""Findings about a judge, and the conclusion from them: a word, reasons, a remedy, the next step."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from steelyard.core.json_dataclasses import from_body, mapping, to_body

UNFIT = "unfit"
"""It is shown not to tell good from bad, or there are hardly any answers."""
CARE = "usable with care"
"""It tells good from bad, and a fault is shown."""
NO_FAULT = "no fault found at this size"
"""It tells good from bad, and nothing was flagged; what is undecided may still hide a fault."""
TOO_LITTLE = "too little data"
"""Whether the judge tells good from bad is not decided, whatever else is flagged."""

JSON_WORDS = {
    UNFIT: "unfit",
    CARE: "usable_with_care",
    NO_FAULT: "no_fault_found",
    TOO_LITTLE: "too_little_data",
}
WORDS = tuple(JSON_WORDS)
"""Every word, the gravest first."""


@dataclass(frozen=True)
class ConclusionReason:
    title: str
    """Title of the finding behind it, or of a plug-in; `Partial`, `Unknown`, `Undecided` for what is open."""
    sentence: str
    guide: str | None = None
    """Where the remedies stand: page and heading; None where nothing has to be cured."""
    brings: tuple[str, ...] = ()
    """Titles of other flagged findings that are expected of a judge with this fault."""


@dataclass(frozen=True, repr=False)
class Conclusion:
    judge: str
    word: str
    """One of `WORDS`."""
    facts: tuple[ConclusionReason, ...] = ()
    """What decides it, the gravest first; three at most."""
    so: str = ""
    """The remedy, or what may be concluded, in one sentence."""
    next: NextStep | None = None

    @property
    def command(self) -> str | None:
        return None if self.next is None else self.next.command

    @property
    def calls(self) -> int | None:
        return None if self.next is None else self.next.calls

    @property
    def dollars(self) -> float | None:
        """What these cost; None where no price is known."""
        return None if self.next is None else self.next.dollars

    def __repr__(self) -> str:
        return f"<Conclusion on {self.judge}: {self.word}>"

    def __str__(self) -> str:
        lines = [*(fact.sentence for fact in self.facts), *([f"so: {self.so}"] if self.so else [])]
        lines += [] if self.next is None else [f"next: {self.next.sentence}"]
        lines += [self.command] if self.command else []
        return "\n  ".join([f"{self.judge}: {self.word}", *lines])

    def to_json(self) -> dict[str, Any]:
        return {
            "judge": self.judge,
            "verdict": JSON_WORDS[self.word],
            "facts": to_body(self.facts),
            "remedy": self.so,
            "next": to_body(self.next),
            **{name: getattr(self, name) for name in ("command", "calls", "dollars")},
        }

    @classmethod
    def from_json(cls, body: Any, where: str = "") -> Conclusion:
        held = dict(mapping(body, where))
        spelled = held.pop("verdict", None)
        word = next((word for word, spelling in JSON_WORDS.items() if spelling == spelled), None)
        if word is None:
            expected = ", ".join(JSON_WORDS.values())
            raise ValueError(f"{where}.verdict: found {spelled!r}, expected one of {expected}")
        if isinstance(held.get("next"), str):
            held["next"] = next_step_body(held["next"], held)
        return from_body(cls, {**held, "word": word, "so": held.pop("remedy", "")}, where)


@dataclass(frozen=True)
class NextStep:
    purpose: str
    command: str | None = None
    """One line that a shell takes as it is; None where no command does it."""
    price: str = ""
    """`1,200 calls, about $0.12`; empty where calls are not known."""
    calls: int | None = None
    dollars: float | None = None
    """What these cost; None where no price is known."""

    @property
    def sentence(self) -> str:
        """Purpose and price, with a colon where the command follows on a line of its own."""
        told = f"{self.purpose} ({self.price})" if self.price else self.purpose
        return f"{told}:" if self.command else told

    def __str__(self) -> str:
        return f"{self.sentence}\n{self.command}" if self.command else self.sentence


def next_step_body(sentence: str, beside: Mapping[str, Any]) -> dict[str, Any] | None:
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


@dataclass(frozen=True)
class Finding:
    judge: str
    title: str
    status: str = field(metadata={"key": "word"})
    """`clear`, `flagged`, `inconclusive`, `measured` or `undefined`; `word` in `datasheet.json`."""
    sentence: str


def also_flagged(fact: ConclusionReason) -> str:
    """`; this also flags dark current and sensitivity`, or nothing."""
    if not fact.brings:
        return ""
    *others, last = (title.lower() for title in fact.brings)
    listed = f"{', '.join(others)} and {last}" if others else last
    return f"; this also flags {listed}"
