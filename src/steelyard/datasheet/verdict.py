"""A verdict on one judge: a word, the facts that decide it, what follows, and what to do next."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from steelyard.json_body import from_body, mapping

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
    next: str = ""
    """What to do next, with its price; the command stands in it word for word."""
    command: str | None = None
    """The command alone; None where no command does it."""
    calls: int | None = None
    """Calls that the command makes."""
    dollars: float | None = None
    """What these cost; None where no price is known."""

    def __repr__(self) -> str:
        return f"<Verdict on {self.judge}: {self.word}>"

    def __str__(self) -> str:
        follows = (("so: ", self.so), ("next: ", self.next))
        lines = [*(fact.sentence for fact in self.facts), *(f"{how}{what}" for how, what in follows if what)]
        return "\n  ".join([f"{self.judge}: {self.word}", *lines])

    def to_json(self) -> dict[str, Any]:
        """One entry under `verdicts` in `datasheet.json`."""
        return {
            "judge": self.judge,
            "verdict": IN_FILES[self.word],
            "facts": [fact.to_json() for fact in self.facts],
            "remedy": self.so,
            **{name: getattr(self, name) for name in ("next", "command", "calls", "dollars")},
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
        return from_body(cls, {**held, "word": word, "so": held.pop("remedy", "")}, where)
