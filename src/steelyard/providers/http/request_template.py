"""A JSON request without its messages: what calls of one request key have in common is encoded once."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from steelyard.trials.presentation import Message

_PLACEHOLDER = "\x01message {}\x01"
"""Stands for the text of a message while a template is made."""
_PLACEHOLDER_JSON = re.compile(r'"\\u0001message (\d+)\\u0001"')
_STRAY = "\\u0001message"


@dataclass(frozen=True)
class RequestTemplate:
    """The JSON of a body, cut where the texts of its messages stand."""

    pieces: tuple[str, ...]
    """What stands around the texts; one more than there are cuts."""
    indices: tuple[int, ...]
    """Which message stands at each cut."""

    def render(self, messages: Sequence[Message]) -> bytes:
        """The body with these messages, as `json.dumps` writes it."""
        parts = [self.pieces[0]]
        for index, piece in zip(self.indices, self.pieces[1:], strict=True):
            parts.append(messages[index].spelled)
            parts.append(piece)
        return "".join(parts).encode("ascii")


def request_template(
    request: Callable[[tuple[Message, ...]], Mapping[str, Any]], messages: Sequence[Message]
) -> RequestTemplate | None:
    """The template of the requests for such messages; None where a text does not stand by itself, once."""
    placeholders = tuple(Message(m.role, _PLACEHOLDER.format(index)) for index, m in enumerate(messages))
    *pieces, last = _PLACEHOLDER_JSON.split(json.dumps(request(placeholders)))
    template = RequestTemplate((*pieces[::2], last), tuple(int(index) for index in pieces[1::2]))
    each_once = sorted(template.indices) == list(range(len(messages)))
    return template if each_once and not any(_STRAY in piece for piece in template.pieces) else None
