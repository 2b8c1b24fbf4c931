"""Finds the answer in a reply that should hold one JSON object, and trusts nothing that is malformed."""

from __future__ import annotations

import json
import re
from typing import Any


class _Object(list[tuple[str, Any]]):
    """A JSON object with its duplicate keys."""


_OBJECT = re.compile(r'\{\s*"')
"""How an object begins, unlike a brace in prose or quoted code."""

# Models break lines inside a reason; what they mean is not in doubt.
_DECODER = json.JSONDecoder(object_pairs_hook=_Object, strict=False)


def find_answers(text: str, key: str) -> list[Any] | None:
    """Every value of `key` in the objects of a text, outermost objects only.

    A malformed object that mentions the key makes the whole reply unreadable (None): a judge that quotes a
    candidate's `{"winner": "2"}` without escaping it must not be read as having said so.
    """
    answers: list[Any] = []
    quoted, closings = f'"{key}"', _closings(text)
    last, position = text.rfind(quoted), text.find("{")
    while 0 <= position < last:
        body, end = _object_at(text, position)
        answers += [value for name, value in body if name == key]
        if end is None:
            end = closings.get(position)
            broken = end is not None or _OBJECT.match(text, position)
            if broken and text.find(quoted, position, end) >= 0:
                return None
        position = text.find("{", position + 1 if end is None else end)
    return answers


def find_object(text: str, key: str) -> dict[str, Any] | None:
    """The one outermost object of a text that has the key, as a mapping; None where there is not exactly one.

    A malformed object that mentions the key makes the whole text unreadable, as it does for `find_answers`.
    """
    if len(find_answers(text, key) or ()) != 1:
        return None
    position = text.find("{")
    while position >= 0:
        body, end = _object_at(text, position)
        if any(name == key for name, _ in body):
            return {name: _mapping(value) for name, value in body}
        position = text.find("{", position + 1 if end is None else end)
    return None


def _mapping(value: Any) -> Any:
    """Objects as mappings, whatever is in them; of a key that stands there twice the last counts."""
    if isinstance(value, _Object):
        return {name: _mapping(inner) for name, inner in value}
    return [_mapping(inner) for inner in value] if isinstance(value, list) else value


def _object_at(text: str, position: int) -> tuple[_Object, int | None]:
    if not _OBJECT.match(text, position):
        return _Object(), None
    try:
        return _DECODER.raw_decode(text, position)
    except (ValueError, RecursionError):
        return _Object(), None


def _closings(text: str) -> dict[int, int]:
    """For each opening brace the end of what it encloses, quotes disregarded."""
    opened: list[int] = []
    ends: dict[int, int] = {}
    for position, sign in enumerate(text):
        if sign == "{":
            opened.append(position)
        elif sign == "}" and opened:
            ends[opened.pop()] = position + 1
    return ends
