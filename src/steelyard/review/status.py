"""How far a review is, for people and for scripts."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Any

from steelyard.core.text import plural, pluralize
from steelyard.review.agreement import Agreement, agreement_of
from steelyard.review.bench import Bench
from steelyard.review.projection import members_of, projected
from steelyard.store.review_log import ReviewedSet


@dataclass(frozen=True)
class Status:
    """A review in counts."""

    decided: int
    """Texts that wait no longer."""
    total: int
    """Texts that are or were to be decided."""
    counts: Mapping[str, int]
    """Status to the number of texts."""
    reviewers: Mapping[str, int]
    """Reviewer to the number of texts that a vote of theirs stands for."""
    agreement: Sequence[Agreement]
    """How far reviewers agree, where two or more looked at the same texts."""
    version: ReviewedSet | None
    """The newest version that was finished."""
    pending: int = 0
    """Texts that were decided otherwise since then; a run that was measured goes by the version."""

    @property
    def waiting(self) -> int:
        """Texts that nobody has decided about."""
        return self.total - self.decided

    @property
    def sentence(self) -> str:
        """All of it in a line."""
        words = ", ".join(f"{count} {word}" for word, count in self.counts.items())
        parts = [
            f"{self.decided} of {pluralize(self.total, 'text')} decided" + (f" ({words})" if words else "")
        ]
        if self.reviewers:
            by = ", ".join(f"{who} {count}" for who, count in self.reviewers.items())
            parts.append(f"{plural(len(self.reviewers), 'reviewer')}: {by}")
        if self.version is not None:
            parts.append(f"version {self.version.version} finished by {self.version.reviewer}")
        if self.pending:
            texts = f"{pluralize(self.pending, 'text')} {plural(self.pending, 'was', 'were')}"
            parts.append(f"{texts} decided otherwise since; that counts after --finish")
        return " ".join(["; ".join(parts) + ".", *(each.sentence for each in self.agreement)])

    def to_json(self) -> dict[str, Any]:
        """A plain mapping."""
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


def status_of(bench: Bench) -> Status:
    """How far the review of a bench is; what the checks rejected is no work."""
    items = bench.items()
    standings = bench.standings(items)
    work = {name: o for name, o in standings.items() if items[name].waits or o.decided}
    voters = Counter(who for each in standings.values() for who in each.votes)
    sets = bench.log.sets()
    return Status(
        decided=sum(each.decided for each in work.values()),
        total=len(work),
        counts=dict(sorted(Counter(each.status for each in work.values()).items())),
        reviewers=dict(sorted(voters.items())),
        agreement=agreement_of(items, standings),
        version=sets[-1] if sets else None,
        pending=_pending(bench, sets[-1]) if sets and bench.folder.study.exists() else 0,
    )


def _pending(bench: Bench, version: ReviewedSet) -> int:
    made = projected(bench.log, [item.made for item in bench.items().values()])
    return sum(version.members.get(name) != part for name, part in members_of(made).items())
