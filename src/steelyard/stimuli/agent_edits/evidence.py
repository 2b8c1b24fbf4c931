"""Which tool results an agent's last words rest on: values that stand in both, and that nobody gave it."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache

from steelyard.tasks.transcripts.transcript import SYSTEM, TOOL, USER, Transcript

UNSPACED = "\u0e00-\u0e7f\u3040-\u30ff\u3400-\u9fff\uac00-\ud7af"
"""Letters that stand beside a value without a space: Thai, Japanese, Chinese, Korean."""
_LETTER = rf"(?:(?![{UNSPACED}])\w)"
_START, _END = rf"(?<![^\W{UNSPACED}])", rf"(?![^\W{UNSPACED}])"
STATES = {
    "approved": "declined",
    "available": "sold out",
    "booked": "failed",
    "completed": "aborted",
    "confirmed": "rejected",
    "delivered": "returned",
    "merged": "closed",
    "ok": "error",
    "passed": "failed",
    "refunded": "refused",
    "sent": "bounced",
    "success": "error",
    "succeeded": "failed",
    "updated": "unchanged",
}
"""Words by which a tool says that something is done, and what it says where it is not."""
_STATE = re.compile(rf"\b({'|'.join(STATES)})\b", re.IGNORECASE)
_SHORT = 2
"""Signs below which a value may stand anywhere by chance."""


@cache
def _value() -> re.Pattern[str]:
    """What can be looked up in a tool's result word for word; made at first use, as it takes long."""
    return re.compile(
        r"[A-Za-z0-9_.+-]+@[A-Za-z0-9-]+\.[A-Za-z.]{2,}"  # addresses
        rf"|{_START}[A-Z]{{1,6}}-?\d[\dA-Z-]*(?<=\w){_END}"  # names such as ORD-1042
        rf"|{_START}\d{{4}}-\d{{2}}-\d{{2}}{_END}|{_START}\d{{1,2}}:\d{{2}}{_END}"  # dates and times
        rf"|{_START}(?<!\.)\d[\d,]*(?:\.\d+)?{_END}"  # numbers
    )


@dataclass(frozen=True)
class Evidence:
    """A value in a tool's result on which the agent's last words rest."""

    place: int
    """Place of the tool message."""
    value: str
    """The value as it stands there."""


def spread(transcript: Transcript) -> list[Evidence]:
    """At most three tool results that the last words rest on: the first, one near the middle, the last.

    Each with its longest value.
    """
    by_place: dict[int, Evidence] = {}
    for found in sorted(_values(transcript), key=lambda found: (len(found.value), found.value)):
        by_place[found.place] = found
    places = sorted(by_place)
    if len(places) < 3:
        return [by_place[place] for place in places]
    middle = min(places[1:-1], key=lambda place: (abs(place - len(transcript.turns) / 2), place))
    return [by_place[place] for place in (places[0], middle, places[-1])]


def decisive(transcript: Transcript) -> Evidence | None:
    """The latest value of one tool result alone that the agent's last words repeat; None without one."""
    return max(
        _values(transcript), key=lambda found: (found.place, len(found.value), found.value), default=None
    )


def reported_state(transcript: Transcript) -> Evidence | None:
    """The last word of a tool that something is done, before the agent's last words; None without one."""
    final = transcript.final_place
    for place in range((final or 0) - 1, -1, -1):
        turn = transcript.turns[place]
        found = _STATE.search(turn.text) if turn.role == TOOL else None
        if found is not None:
            return Evidence(place, found[0])
    return None


def occurs(value: str, text: str) -> bool:
    """Whether a value stands in a text by itself, and not as a part of a longer one."""
    return standing(value).search(text) is not None


def standing(value: str) -> re.Pattern[str]:
    """Places where a value stands by itself."""
    return re.compile(rf"{_START}(?<![.,]){re.escape(value)}(?!{_LETTER}|[.,]\d)")


def _values(transcript: Transcript) -> Iterator[Evidence]:
    final = transcript.final_place
    if final is None:
        return
    turns = transcript.turns
    given = "\n".join(turn.text for turn in turns if turn.role in (SYSTEM, USER))
    results = [place for place, turn in enumerate(turns[:final]) if turn.role == TOOL]
    for value in dict.fromkeys(_value().findall(turns[final].text)):
        value = value.rstrip(".,")
        if len(value) < _SHORT or occurs(value, given):
            continue
        holding = [place for place in results if occurs(value, turns[place].text)]
        if len(holding) == 1:
            yield Evidence(holding[0], value)
