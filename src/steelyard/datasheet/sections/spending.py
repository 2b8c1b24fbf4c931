"""What a run has cost, in words."""

from __future__ import annotations

from steelyard.core.text import pluralize
from steelyard.datasheet.run_facts import RunFacts, Writing
from steelyard.datasheet.words.numbers import dollars


def spending(facts: RunFacts) -> str:
    """`$0.024, 128 of 144 calls in batches; $0.0012 for 12 calls that …`; empty where all was free."""
    return "; ".join(part for part in (_judging(facts), _writing(facts.authoring)) if part)


def _judging(facts: RunFacts) -> str:
    if not facts.calls or facts.dollars == 0:
        return ""
    amount = _amount(facts.dollars, bool(facts.uncounted))
    if not facts.batched_calls:
        return amount
    return f"{amount}, {facts.batched_calls:,} of {pluralize(facts.calls, 'call')} in batches"


def _writing(writing: Writing | None) -> str:
    if writing is None or not writing.calls or writing.dollars == 0:
        return ""
    return f"{_amount(writing.dollars)} for {pluralize(writing.calls, 'call')} that wrote and confirmed texts"


def _amount(paid: float | None, estimated: bool = False) -> str:
    """Dollars; some were estimated where no server counted tokens."""
    if paid is None:
        return "price not known"
    return f"{'about ' if estimated else ''}{dollars(paid)}"
