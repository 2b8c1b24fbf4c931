"""Review progress in counts, and how far reviewers agree (kappa, alpha)."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from itertools import combinations
from typing import Any

import numpy as np

from steelyard.core.text import plural, pluralize
from steelyard.metrics.stats.agreement import alpha, kappa, unit_coincidences
from steelyard.review.session import ReviewSession
from steelyard.review.votes import DECIDED, ReviewItem, ReviewStatus, apply_votes, members_of
from steelyard.store.review_log import ReviewedSet

Ratings = Mapping[str, Mapping[str, str]]


@dataclass(frozen=True)
class PairAgreement:
    first: str
    second: str
    both: int
    same: int
    kappa: float | None
    """Cohen's κ; None where chance alone would agree on everything, or there is nothing to compare."""


@dataclass(frozen=True)
class Agreement:
    question: str
    shared: int
    alpha: float | None
    """Krippendorff's α, nominal; None where it is undefined."""
    pairs: tuple[PairAgreement, ...]

    @property
    def sentence(self) -> str:
        value = "undefined" if self.alpha is None else f"{self.alpha:.2f}"
        pairs = "; ".join(
            f"{p.first} and {p.second} {p.same} of {p.both}"
            + (f", κ {p.kappa:.2f}" if p.kappa is not None else "")
            for p in self.pairs
        )
        return f"Agreement on the {self.question} of {self.shared} shared texts: α {value} ({pairs})."


def review_agreement(
    items: Mapping[str, ReviewItem], statuses: Mapping[str, ReviewStatus]
) -> list[Agreement]:
    votes = {
        name: {w: v for w, v in statuses[name].votes.items() if v.decision in DECIDED and not v.final}
        for name in items
    }
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
    shared = {name: said for name, said in ratings.items() if len(said) > 1}
    words = sorted({word for said in shared.values() for word in said.values()})
    raters = sorted({who for said in shared.values() for who in said})
    pairs = [_pair(first, second, shared, words) for first, second in combinations(raters, 2)]
    return Agreement(question, len(shared), _alpha(shared, words), tuple(p for p in pairs if p.both))


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


def _by_name(noun: str, counts: Mapping[str, int]) -> list[str]:
    by = ", ".join(f"{who} {count:,}" for who, count in counts.items())
    return [f"{plural(len(counts), noun)}: {by}"] if counts else []


@dataclass(frozen=True)
class ReviewProgress:
    decided: int
    total: int
    counts: Mapping[str, int]
    reviewers: Mapping[str, int]
    """Reviewer to the number of texts that a vote of theirs stands for."""
    agreement: Sequence[Agreement]
    version: ReviewedSet | None
    pending: int = 0
    """Texts that were decided otherwise since then; a run that was measured goes by the version."""

    @property
    def waiting(self) -> int:
        return self.total - self.decided

    @property
    def sentence(self) -> str:
        words = ", ".join(f"{count:,} {word}" for word, count in self.counts.items())
        parts = [
            f"{self.decided:,} of {pluralize(self.total, 'text')} decided" + (f" ({words})" if words else "")
        ]
        parts += _by_name("reviewer", self.reviewers)
        if self.version is not None:
            parts.append(f"version {self.version.version} finished by {self.version.reviewer}")
        if self.pending:
            texts = f"{pluralize(self.pending, 'text')} {plural(self.pending, 'was', 'were')}"
            parts.append(f"{texts} decided otherwise since; that counts after --finish")
        return " ".join(["; ".join(parts) + ".", *(each.sentence for each in self.agreement)])

    def to_json(self) -> dict[str, Any]:
        last = self.version
        return {
            "decided": self.decided,
            "total": self.total,
            "waiting": self.waiting,
            "counts": dict(self.counts),
            "reviewers": dict(self.reviewers),
            "agreement": [asdict(each) for each in self.agreement],
            "version": None if last is None else {"number": last.version, "hash": last.hash},
            "pending": self.pending,
        }


@dataclass(frozen=True)
class LabellingProgress:
    labelled: int
    """Items that nobody has to answer any more, and that have a label; `skipped` have none."""
    skipped: int
    total: int
    annotators: Mapping[str, int]
    """Annotator to the number of their labels."""
    opened: str | None
    """When the test part was opened: no label may be added since then."""
    agreement: Agreement | None

    @property
    def waiting(self) -> int:
        return 0 if self.opened is not None else self.total - self.labelled - self.skipped

    @property
    def sentence(self) -> str:
        skipped = f", {self.skipped:,} skipped" if self.skipped else ""
        parts = [f"{self.labelled:,} of {pluralize(self.total, 'item')} labelled{skipped}"]
        parts += _by_name("annotator", self.annotators)
        if self.opened is not None:
            parts.append(f"opened at {self.opened}")
        agreed = [] if self.agreement is None else [self.agreement.sentence]
        return " ".join(["; ".join(parts) + ".", *agreed])

    def to_json(self) -> dict[str, Any]:
        return {**asdict(self), "waiting": self.waiting}


def review_progress(session: ReviewSession) -> ReviewProgress:
    items = session.items()
    statuses = session.statuses(items)
    work = {name: o for name, o in statuses.items() if items[name].waits or o.decided}
    voters = Counter(who for each in statuses.values() for who in each.votes)
    sets, pending = session.log.sets(), 0
    if sets and session.folder.study.exists():
        current = members_of(apply_votes(session.log, [item.made for item in items.values()]))
        pending = sum(sets[-1].members.get(name) != part for name, part in current.items())
    return ReviewProgress(
        decided=sum(each.decided for each in work.values()),
        total=len(work),
        counts=dict(sorted(Counter(each.status for each in work.values()).items())),
        reviewers=dict(sorted(voters.items())),
        agreement=review_agreement(items, statuses),
        version=sets[-1] if sets else None,
        pending=pending,
    )
