"""Replies with reasons, made for this test: what each gives, and what its reason was written to end with.

`AS_WRITTEN` are fifty in the manner of judges, which the finished rules read once. `CONTRADICTING`, `OTHERS`,
`FURTHER` and `TRAPS` helped to make the rules; half of them are traps, with a number or a word of the scale
that is no answer.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import NamedTuple


class Reasoned(NamedTuple):
    scale: str
    reason: str
    given: str
    ends: str | None
    """The answer that the last sentence gives, as its author meant it; None where it gives none."""


def _replies(name: str) -> tuple[Reasoned, ...]:
    lines = Path(__file__).with_suffix(".jsonl").read_text(encoding="utf-8").splitlines()
    return tuple(Reasoned(**body) for body in map(json.loads, lines) if body.pop("set") == name)


AS_WRITTEN = _replies("as_written")
CONTRADICTING = _replies("contradicting")
OTHERS = _replies("others")
FURTHER = _replies("further")
TRAPS = _replies("traps")
