"""The variable of a prompt that somebody meant who wrote another name."""

from __future__ import annotations

import re
from collections.abc import Collection, Mapping
from difflib import get_close_matches

_SLOTS = {
    **dict.fromkeys(("a", "1", "first"), "first"),
    **dict.fromkeys(("b", "2", "second"), "second"),
}
"""Words that number a candidate: `answer_a`, `response2`."""

_MEANINGS = (
    (("reference",), "expected gold golden ideal truth target correct context"),
    (("low",), "min minimum lowest"),
    (("high",), "max maximum highest"),
    (("rubric",), "criteria criterion guidelines"),
    (("request",), "question input query prompt problem user"),
    (
        ("response", "first"),
        "answer answers output outputs completion generation prediction reply candidate candidates "
        "submission response responses model assistant text first second",
    ),
    (("transcript", "request"), "conversation dialogue messages trace trajectory"),
    (("instruction",), "instructions task"),
)
"""Variables, of which the first that the scale has is meant, and words for them; narrower ones come first."""

_TYPING_ERROR = 0.75
"""Likeness from which a name is taken for a typing error: `requst`, and not `score` for `correct`."""


def nearest_name(name: str, known: Collection[str], columns: Mapping[str, str]) -> str | None:
    """The variable that a name stands for; `columns` says which part of an item a column of the data is."""
    name = columns.get(name, name)
    words = re.findall(r"[a-z]+|\d+", re.sub(r"(?<=[a-z])(?=[A-Z])", "_", name).lower())
    meant = [_SLOTS[word] for word in words if word in _SLOTS] + words
    meant += [one for variables, said in _MEANINGS if set(said.split()) & set(words) for one in variables]
    close = {word: variables for variables, said in _MEANINGS for word in said.split()}
    close |= {one: (one,) for one in known}
    for word in get_close_matches(name.lower(), close, n=3, cutoff=_TYPING_ERROR):
        meant += close[word]
    return next((one for one in meant if one in known), None)
