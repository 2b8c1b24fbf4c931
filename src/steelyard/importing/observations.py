"""From recorded calls to observations: the calls are checked against each other, nothing is guessed."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import fields
from functools import cache, lru_cache

from steelyard.errors import DataError
from steelyard.importing.call import Call, Pair
from steelyard.stimuli.expectation import Expectation, NoPreference, Prefers, Unknown
from steelyard.stimuli.stimulus import RECORDED, Lineage, Stimulus


def checked(calls: Iterable[Call]) -> tuple[Call, ...]:
    """Sorted calls; refuses a call that stands there twice, and a pair told in two ways."""
    seen: dict[tuple[str, str, str, int, str], Call] = {}
    pairs: dict[str, Call] = {}
    for call in calls:
        twin = seen.setdefault(call.key, call)
        if twin is not call:
            raise DataError(
                f"{call.where}: judge {call.judge!r} answered pair {call.pair.pair!r} in this order already "
                f"({twin.where}), expected each call once; number repeats with 'replicate', or remove one."
            )
        first = pairs.setdefault(call.pair.pair, call)
        if first.pair != call.pair:
            raise DataError(f"{call.where}: {_difference(first, call)}")
    return tuple(seen[key] for key in sorted(seen))


def _difference(first: Call, call: Call) -> str:
    name = next(f.name for f in fields(Pair) if getattr(first.pair, f.name) != getattr(call.pair, f.name))
    return (
        f"pair {call.pair.pair!r} has {name} {getattr(call.pair, name)!r}, expected "
        f"{getattr(first.pair, name)!r} as in {first.where}; name the pairs apart, or correct one."
    )


def stimulus_of(pair: Pair) -> Stimulus:
    """The pair as far as it is known; its texts are not."""
    return Stimulus(
        id=pair.pair,
        probe=pair.probe,
        kind=pair.kind,
        cluster=pair.task or pair.pair,
        stratum=pair.stratum or "recorded",
        request="",
        texts=("", ""),
        expectation=_expectation(pair.better, natural=pair.probe == "position"),
        lineage=_lineage(pair.task or pair.pair),
        delta=pair.delta,
        base_level=pair.base_level,
    )


@lru_cache(maxsize=1024)
def _lineage(parent: str) -> Lineage:
    return Lineage(parent=parent, edit="recorded elsewhere", author=RECORDED)


@cache
def _expectation(better: str | None, *, natural: bool) -> Expectation:
    if better in ("u", "v"):
        return Prefers(better)
    return Unknown() if natural and better is None else NoPreference()
