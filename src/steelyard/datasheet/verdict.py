"""A verdict on one judge: a word, the facts that decide it, what follows, and what to do next."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from steelyard.core.json_dataclasses import from_body, mapping
from steelyard.datasheet.next_step import NextStep, body_of_sentence

UNFIT = "unfit"
"""It is shown not to tell good from bad, or there are hardly any answers."""
CARE = "usable with care"
"""It tells good from bad, and a fault is shown."""
NO_FAULT = "no fault found at this size"
"""It tells good from bad, and nothing was flagged; what is undecided may still hide a fault."""
TOO_LITTLE = "too little data"
"""Whether the judge tells good from bad is not decided, whatever else is flagged."""

IN_FILES = {
    UNFIT: "unfit",
    CARE: "usable_with_care",
    NO_FAULT: "no_fault_found",
    TOO_LITTLE: "too_little_data",
}
"""How `datasheet.json` spells the words."""
WORDS = tuple(IN_FILES)
"""Every word, the gravest first."""


@dataclass(frozen=True)
class Fact:
    """One thing that decides a verdict."""

    title: str
    """Title of the reading behind it, or of a plug-in; `Partial`, `Unknown`, `Undecided` for what is open."""
    sentence: str
    """What was found, in plain words with figures."""
    guide: str | None = None
    """Where the remedies stand: page and heading; None where nothing has to be cured."""
    brings: tuple[str, ...] = ()
    """Titles of other flagged readings that are expected of a judge with this fault."""

    def to_json(self) -> dict[str, Any]:
        """One entry under `facts` of a verdict in `datasheet.json`."""
        return {**vars(self), "brings": list(self.brings)}

    @classmethod
    def from_json(cls, body: Any, where: str = "") -> Fact:
        """The fact that was written."""
        return from_body(cls, body, where)


@dataclass(frozen=True, repr=False)
class Verdict:
    """What may be said of a judge, and what to do about it."""

    judge: str
    """Name on the datasheet."""
    word: str
    """One of `WORDS`."""
    facts: tuple[Fact, ...] = ()
    """What decides it, the gravest first; three at most."""
    so: str = ""
    """The remedy, or what may be concluded, in one sentence."""
    next: NextStep | None = None
    """What to do next; None where nothing was worked out."""

    @property
    def command(self) -> str | None:
        """The command of the next step alone; None where no command does it."""
        return None if self.next is None else self.next.command

    @property
    def calls(self) -> int | None:
        """Calls that the command makes."""
        return None if self.next is None else self.next.calls

    @property
    def dollars(self) -> float | None:
        """What these cost; None where no price is known."""
        return None if self.next is None else self.next.dollars

    def __repr__(self) -> str:
        return f"<Verdict on {self.judge}: {self.word}>"

    def __str__(self) -> str:
        lines = [*(fact.sentence for fact in self.facts), *([f"so: {self.so}"] if self.so else [])]
        lines += [] if self.next is None else [f"next: {self.next.sentence}"]
        lines += [self.command] if self.command else []
        return "\n  ".join([f"{self.judge}: {self.word}", *lines])

    def to_json(self) -> dict[str, Any]:
        """One entry under `verdicts` in `datasheet.json`."""
        return {
            "judge": self.judge,
            "verdict": IN_FILES[self.word],
            "facts": [fact.to_json() for fact in self.facts],
            "remedy": self.so,
            "next": None if self.next is None else self.next.to_json(),
            **{name: getattr(self, name) for name in ("command", "calls", "dollars")},
        }

    @classmethod
    def from_json(cls, body: Any, where: str = "") -> Verdict:
        """The verdict that was written; a ValueError says what is none."""
        held = dict(mapping(body, where))
        spelled = held.pop("verdict", None)
        word = next((word for word, spelling in IN_FILES.items() if spelling == spelled), None)
        if word is None:
            expected = ", ".join(IN_FILES.values())
            raise ValueError(f"{where}.verdict: found {spelled!r}, expected one of {expected}")
        if isinstance(held.get("next"), str):
            held["next"] = body_of_sentence(held["next"], held)
        return from_body(cls, {**held, "word": word, "so": held.pop("remedy", "")}, where)
