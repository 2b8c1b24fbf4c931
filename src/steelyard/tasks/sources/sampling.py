"""Stratified sample: a seeded draw of items, spread evenly over the strata."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Sequence
from itertools import islice
from typing import Annotated, TypeAlias, TypeVar

from pydantic import BaseModel, ConfigDict, Field

from steelyard.core.rng import seed_for
from steelyard.core.validation import Expected


class PerStratum(BaseModel):
    model_config = ConfigDict(extra="forbid", strict=True, frozen=True)

    per_stratum: int = Field(ge=1)


Sample: TypeAlias = int | PerStratum

SampleField: TypeAlias = Annotated[
    Annotated[int, Field(ge=1)] | PerStratum | None, Expected("a number from 1 on or {per_stratum: N}")
]

T = TypeVar("T")


def draw(
    things: Sequence[T],
    sample: Sample | None,
    seed: int,
    *,
    name: Callable[[T], str],
    stratum: Callable[[T], Hashable],
    is_preferred: Callable[[T], bool] = lambda _: False,
) -> list[T]:
    """Draw at most `sample` things, in the order in which they stand.

    Each thing has a rank that depends on the seed and its own name alone, so the same things are drawn
    whatever their order. A number in all is dealt out one to a stratum, round after round, so that the
    strata differ by one at most until the small ones are used up. In a stratum preferred things come first.
    """
    if sample is None:
        return list(things)
    rank = {name(thing): seed_for(seed, "sample", name(thing)) for thing in things}
    strata: dict[Hashable, list[T]] = {}
    for thing in sorted(things, key=lambda thing: (not is_preferred(thing), rank[name(thing)])):
        strata.setdefault(stratum(thing), []).append(thing)
    if isinstance(sample, PerStratum):
        chosen = [thing for group in strata.values() for thing in group[: sample.per_stratum]]
    else:
        longest = max(map(len, strata.values()), default=0)
        rounds = (group[n] for n in range(longest) for group in strata.values() if n < len(group))
        chosen = list(islice(rounds, sample))
    names = {name(thing) for thing in chosen}
    return [thing for thing in things if name(thing) in names]
