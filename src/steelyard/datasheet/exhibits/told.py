"""What stands beside the texts of an exhibit, in words: which call it is, and how its reply was read."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from steelyard.core.text import pluralize
from steelyard.datasheet.exhibits.exhibit import Exhibit, ShownCall, ShownText

UNKNOWN = "(not recorded)"
"""Stands for texts and replies of verdicts that were made elsewhere."""


def absent(text: str | None) -> str | None:
    """What stands in place of a text that can not be seen; None where it can."""
    if text is None:
        return UNKNOWN
    if text.strip():
        return None
    return f"({pluralize(len(text), 'blank character')})" if text else "(empty)"


def named_texts(shown: Sequence[ShownText]) -> Iterator[tuple[str, str | None]]:
    """Every text with its name; None where it was not recorded."""
    for stimulus in shown:
        last = stimulus is shown[-1]
        alone = "response" if len(shown) == 1 else ("edited" if last else "unchanged")
        if stimulus.texts is None:
            yield ("texts" if len(shown) == 1 else alone), None
        else:
            names = [alone] if len(stimulus.texts) == 1 else ["text u", "text v"]
            yield from zip(names, stimulus.texts, strict=True)


def told_as(call: ShownCall, exhibit: Exhibit) -> str:
    """Which call it is: what stood where, which of two texts, and which repeat."""
    parts = [] if call.order is None else [f"{call.order[0]} in slot 1, {call.order[1]} in slot 2"]
    if len(exhibit.shown) > 1:
        parts.append("edited" if call.id == exhibit.shown[-1].id else "unchanged")
    if call.replicate:
        parts.append(f"repeat {call.replicate}")
    return ": ".join(["Call", ", ".join(parts)]) if parts else "Call"


def reading_of(call: ShownCall, exhibit: Exhibit) -> str:
    """What became of the reply."""
    by = f", by reader {exhibit.reader}" if exhibit.reader and call.verdict != "failed" else ""
    if call.reason is not None:
        tries = f" after {pluralize(call.attempts, 'attempt')}" if call.attempts else ""
        return f"{call.verdict}: {call.reason}{tries if call.verdict == 'failed' else by}"
    if call.winner is not None:
        return f"slot {call.verdict}, which is text {call.winner}{by}"
    return f"{call.verdict}{by}"
