"""Remedies: other judges that can be made of a judge's calls on record."""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from steelyard.core.text import pluralize
from steelyard.trials.builtin_prompts import GRADED
from steelyard.verdicts.combined import any_both_orders, as_base, both_orders, of_repeats
from steelyard.verdicts.observations import Observations
from steelyard.verdicts.vote import Rule, average, plurality

SIZES = (3, 5)
"""Repeats that a majority or a mean is made of."""
UNCURED, ORDERS, MAJORITY, MEAN, PROTOCOL = "uncured", "orders", "majority", "mean", "protocol"
JURY = "jury"
"""Kinds of remedies."""
BASE = "base"


@dataclass(frozen=True)
class Remedy:
    """One way to get a verdict from several calls, or from another prompt."""

    kind: str
    """`orders`, `majority`, `mean`, `protocol`, or `uncured`."""
    id: str
    title: str
    protocol: str = BASE
    """Protocol whose calls it is made of."""
    repeats: int = 1
    """Repeats of one call behind a verdict."""
    rule: Rule = plurality
    symmetric: bool = False
    """Both orders are asked, and differ in a tie: their verdicts are one by construction."""

    @property
    def calls(self) -> int:
        return self.repeats * (2 if self.symmetric else 1)

    def definition(self, judge: str) -> str | None:
        """The cured judge as a study file has it; None where a prompt makes it, which has no such form."""
        member = json.dumps(judge, ensure_ascii=False)
        if self.repeats > 1:
            kind = MEAN if self.kind == MEAN else MAJORITY
            member = f"{{{kind}: {self.repeats}, of: {member}}}"
        if self.symmetric:
            member = f"{{consensus: orders, of: {member}}}"
        return member if self.calls > 1 and self.protocol == BASE else None

    def lacks(self, seen: Observations) -> str:
        """What is not on record, and how to get it; all that it takes where nothing is missing altogether."""
        calls = as_base(seen, self.protocol)
        if not len(calls):
            return f"calls under the {self.protocol} protocol (probe criterion)"
        again = pluralize(self.repeats, "repeat")
        needs = {
            "pairs shown in both orders": self.symmetric and not any_both_orders(calls),
            f"{again} of each call (--replicates {self.repeats})": not _often(calls, self.repeats),
        }
        return " and ".join(need for need, missing in needs.items() if missing) or "more calls"

    def derive(self, seen: Observations, *, spread: bool = False) -> Observations:
        """The verdicts of the cured judge, under `base`.

        `spread` gives a verdict to each call behind it, so that it can be paired with them.
        """
        calls = as_base(seen, self.protocol)
        if self.repeats > 1:
            calls = of_repeats(calls, self.repeats, self.rule, spread=spread)
        return both_orders(calls) if self.symmetric else calls


AS_MEASURED = Remedy(UNCURED, UNCURED, "as measured")


def remedies(seen: Observations) -> Iterator[Remedy]:
    """Every remedy that fits what the judge was shown; whether it can be computed is another question."""
    if seen.pointwise:
        yield from map(_repeated, SIZES)
        yield from map(_averaged, SIZES) if _ordinal(seen) else ()
        return
    yield Remedy(ORDERS, ORDERS, "both orders, a tie where they differ", symmetric=True)
    for protocol in _stricter(seen):
        told = f"{protocol} instruction"
        yield Remedy(PROTOCOL, f"{PROTOCOL}_{protocol}", told, protocol)
        yield Remedy(ORDERS, f"{ORDERS}_{protocol}", f"{told}, both orders", protocol, symmetric=True)
    for size in SIZES:
        yield _repeated(size)
        title = f"majority of {size} in both orders"
        yield Remedy(ORDERS, f"{ORDERS}_{MAJORITY}_{size}", title, repeats=size, symmetric=True)


def _often(calls: Observations, size: int) -> bool:
    """More than half of what was asked was asked so often."""
    asked = np.bincount(calls.replicate, minlength=size)
    return bool(asked[size - 1] * 2 > asked[0])


def _repeated(size: int) -> Remedy:
    return Remedy(MAJORITY, f"{MAJORITY}_{size}", f"majority of {size}", repeats=size)


def _averaged(size: int) -> Remedy:
    return Remedy(MEAN, f"{MEAN}_{size}", f"mean of {size}, rounded", repeats=size, rule=average)


def _stricter(seen: Observations) -> list[str]:
    """Protocols on record that ask for more before a winner is named; unknown ones are taken to."""
    lenient = GRADED[: GRADED.index(BASE) + 1]
    measured = sorted(name for name in seen.protocols_seen if name not in lenient)
    graded = len(seen.filter("ladder")) or len(seen.filter("vacuum"))
    return measured or (["strict"] if graded else [])


def _ordinal(seen: Observations) -> bool:
    """Some calls were answered with more than yes or no."""
    return bool(np.any(seen.shown.ends[seen.stimulus, 1] > 1))
