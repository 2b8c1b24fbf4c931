"""The conclusion on a judge: a word, the facts behind it, what follows, the next step."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import Enum
from typing import Any

from steelyard.core.json_dataclasses import from_body
from steelyard.datasheet.clause import Clause
from steelyard.datasheet.questions.causes import Advice, Cause
from steelyard.datasheet.questions.question import Decision

UNFIT = "unfit"
"""It is shown not to tell good from bad, or there are hardly any answers."""
CARE = "usable with care"
"""It tells good from bad, and a fault is shown."""
NO_FAULT = "no fault found"
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
class Fact:
    title: str
    """Title of the fault or the question; `Partial`, `Unknown`, `Undecided` for what is open."""
    clause: Clause
    cause: Cause | None = None
    """None where nothing has to be changed."""
    brings: tuple[Decision, ...] = ()
    """Other flagged decisions that are expected of a judge with this fault."""
    decision: Decision | None = None
    """The question that these data cannot answer, where that is the fact."""


class Step(Enum):
    FINISH = "finish the run"
    ASK_AGAIN = "have the failed calls asked again"
    FIX_AND_REPEAT = "after the change, measure again"
    REMEDY = "measure it with its remedy"
    MORE_ROWS = "add rows"
    LARGER = "measure at a larger size"
    GATE = "compare it with limits"
    RECORD = "record more verdicts"


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
    step: str = Step.GATE.name
    """Name of a `Step`."""

    @property
    def sentence(self) -> str:
        """Purpose and price, with a colon where the command follows on a line of its own."""
        told = f"{self.purpose} ({self.price})" if self.price else self.purpose
        return f"{told}:" if self.command else told

    @classmethod
    def from_json(cls, body: Any, where: str = "") -> NextStep:
        """The step that was written; in older files it is a sentence."""
        return cls(body) if isinstance(body, str) else from_body(cls, body, where)


@dataclass(frozen=True)
class Conclusion:
    judge: str
    word: str
    """One of `WORDS`."""
    facts: tuple[Fact, ...] = ()
    """What decides it, the gravest first; three at most."""
    advice: Advice = Advice.NO_GROUND
    undecided: tuple[Decision, ...] = field(default=())
    """Decisions that count and are open, in reading order."""
    next: NextStep | None = None

    @property
    def causes(self) -> tuple[Cause, ...]:
        return tuple(fact.cause for fact in self.facts if fact.cause is not None)

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


def next_steps_in(verdicts: Any) -> Mapping[str, NextStep]:
    """The next step of each judge under `verdicts` in `datasheet.json`."""
    entries = verdicts if isinstance(verdicts, list) else []
    found = {entry.get("judge"): entry.get("next") for entry in entries if isinstance(entry, Mapping)}
    return {str(judge): NextStep.from_json(step, "verdicts.next") for judge, step in found.items() if step}
