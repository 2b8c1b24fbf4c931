"""Functions as judges of the texts that `record.folders` writes, each of which ends with its mark."""

from __future__ import annotations

import re
from zlib import crc32

from steelyard.errors import Unreadable


def _mark(text: str) -> int:
    found = re.findall(r"mark (\d)", text.lower())
    return int(found[-1]) if found else 0


def _chance(*texts: str) -> float:
    """A number from 0 to 1 that is drawn from what is asked."""
    return crc32("/".join(texts).encode()) / 2**32


def _lose(chance: float, share: float) -> None:
    if chance < share / 2:
        raise ValueError("no answer")
    if chance < share:
        raise Unreadable("garbled")


def better(request: str, first: str, second: str) -> int:
    """The text with the higher mark in nine of ten pairs."""
    return 1 if (_mark(first) > _mark(second)) == (_chance(request) > 0.1) else 2


def losing(request: str, first: str, second: str) -> int:
    """The same, a fifth of the calls lost."""
    _lose(_chance(request, first), 0.2)
    return better(request, first, second)


def longer(request: str, first: str, second: str) -> int:
    return 1 if len(first) > len(second) else 2


def generous(request: str, response: str) -> int:
    """A level above the mark, in a scale to 5."""
    return min(5, _mark(response) + 1)


def marker(request: str, response: str) -> int:
    """The mark; a quarter of the calls lost."""
    _lose(_chance(request, response), 0.25)
    return _mark(response)


def by_topic(request: str, response: str) -> int:
    """The mark, but half of the answers are wrong in one stratum."""
    return 1 - _mark(response) if "refunds" in request and _chance(request) < 0.5 else _mark(response)


def six_of_sixty(request: str, response: str) -> int:
    """The mark, but wrong in each tenth row of either label."""
    number = int(re.findall(r"\d+", request)[0])
    return 1 - _mark(response) if number % 20 in (0, 1) else _mark(response)
