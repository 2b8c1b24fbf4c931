"""A request without its messages: what calls of one manner have in common is spelled once for all of them."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from steelyard.trials.presentation import Message

_MARK = "\x01message {}\x01"
"""Stands for the text of a message while a frame is made."""
_PLACE = re.compile(r'"\\u0001message (\d+)\\u0001"')
_STRAY = "\\u0001message"


@dataclass(frozen=True)
class Frame:
    """The JSON of a body, cut where the texts of its messages stand."""

    pieces: tuple[str, ...]
    """What stands around the texts; one more than there are places."""
    places: tuple[int, ...]
    """Which message stands at each cut."""

    def filled(self, messages: Sequence[Message]) -> bytes:
        """The body with these messages, as `json.dumps` spells it."""
        parts = [self.pieces[0]]
        for place, piece in zip(self.places, self.pieces[1:], strict=True):
            parts.append(messages[place].spelled)
            parts.append(piece)
        return "".join(parts).encode("ascii")


def framed(
    request: Callable[[tuple[Message, ...]], Mapping[str, Any]], messages: Sequence[Message]
) -> Frame | None:
    """The frame of the requests for such messages; None where a text does not stand by itself, once."""
    marked = tuple(Message(m.role, _MARK.format(place)) for place, m in enumerate(messages))
    *pieces, last = _PLACE.split(json.dumps(request(marked)))
    frame = Frame((*pieces[::2], last), tuple(int(place) for place in pieces[1::2]))
    each_once = sorted(frame.places) == list(range(len(messages)))
    return frame if each_once and not any(_STRAY in piece for piece in frame.pieces) else None
