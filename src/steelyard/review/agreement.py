"""How far reviewers agree: Cohen's κ of each two, Krippendorff's α of all, on votes and on labels."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations

import numpy as np

from steelyard.metrics.stats.agreement import alpha, kappa, unit_coincidences
from steelyard.review.bench_item import BenchItem
from steelyard.review.standing import DECIDED, Standing
from steelyard.store.review_log import Vote

Ratings = Mapping[str, Mapping[str, str]]
"""Stimulus to reviewer to what they said."""


@dataclass(frozen=True)
class PairAgreement:
    """Two reviewers on what both have looked at."""

    first: str
    """One of them."""
    second: str
    """The other."""
    both: int
    """Stimuli that both have decided about."""
    same: int
    """Those on which they say the same."""
    kappa: float | None
    """Cohen's κ; None where chance alone would agree on everything, or there is nothing to compare."""


@dataclass(frozen=True)
class Agreement:
    """What reviewers agree on, of one question."""

    question: str
    """`decision` or `label`."""
    shared: int
    """Stimuli that two or more have looked at."""
    alpha: float | None
    """Krippendorff's α, nominal; None where it is undefined."""
    pairs: tuple[PairAgreement, ...]
    """Each two, by name."""

    @property
    def sentence(self) -> str:
        """All of it in a line."""
        told = "undefined" if self.alpha is None else f"{self.alpha:.2f}"
        pairs = "; ".join(
            f"{p.first} and {p.second} {p.same} of {p.both}"
            + (f", κ {p.kappa:.2f}" if p.kappa is not None else "")
            for p in self.pairs
        )
        return f"Agreement on the {self.question} of {self.shared} shared texts: α {told} ({pairs})."


def agreement_of(items: Mapping[str, BenchItem], standings: Mapping[str, Standing]) -> list[Agreement]:
    """Agreement on votes and, where labels were given, on labels; empty where nobody shares a text."""
    votes = {name: _cast(standings[name]) for name in items}
    decisions = {name: {who: vote.decision for who, vote in cast.items()} for name, cast in votes.items()}
    labels = {
        name: {
            who: vote.label or item.label or ""
            for who, vote in votes[name].items()
            if vote.decision != "rejected"
        }
        for name, item in items.items()
        if item.label is not None
    }
    both = [agreement("decision", decisions), agreement("label", labels)]
    return [each for each in both if each.shared]


def agreement(question: str, ratings: Ratings) -> Agreement:
    """How far raters agree on one question."""
    shared = {name: said for name, said in ratings.items() if len(said) > 1}
    words = sorted({word for said in shared.values() for word in said.values()})
    raters = sorted({who for said in shared.values() for who in said})
    pairs = [_pair(first, second, shared, words) for first, second in combinations(raters, 2)]
    return Agreement(question, len(shared), _alpha(shared, words), tuple(p for p in pairs if p.both))


def _cast(standing: Standing) -> dict[str, Vote]:
    return {who: vote for who, vote in standing.votes.items() if vote.decision in DECIDED and not vote.final}


def _pair(first: str, second: str, shared: Ratings, words: Sequence[str]) -> PairAgreement:
    table = np.zeros((len(words), len(words)))
    for said in shared.values():
        if first in said and second in said:
            table[words.index(said[first]), words.index(said[second])] += 1
    both, same = int(table.sum()), int(np.trace(table))
    value = float(kappa(table, np.arange(len(words), dtype=float))) if both else float("nan")
    return PairAgreement(first, second, both, same, None if np.isnan(value) else value)


def _alpha(shared: Ratings, words: Sequence[str]) -> float | None:
    if not shared:
        return None
    counts = np.array(
        [[list(said.values()).count(word) for word in words] for said in shared.values()], dtype=float
    )
    value = float(alpha(unit_coincidences(counts).sum(0), np.arange(len(words), dtype=float)))
    return None if np.isnan(value) else value
