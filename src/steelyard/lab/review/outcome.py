"""What the decisions about a stimulus come to: votes that stand, one word for all, the stimulus after it."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace

from steelyard.lab.review.runs import run_of, with_run
from steelyard.stimuli.expectation import Label
from steelyard.stimuli.stimulus import ACCEPTED, EDITED, PENDING, REJECTED, Stimulus
from steelyard.store.review_log import Decision

DEFERRED = "deferred"
"""A reviewer has looked and will look again."""
DISPUTED = "disputed"
"""Reviewers disagree, and nobody has settled it."""
UNDONE = "undone"
"""A decision that takes another back."""
DECIDED = (ACCEPTED, EDITED, REJECTED)
"""Words that end the wait of a stimulus."""
STATUSES = (PENDING, DEFERRED, DISPUTED, *DECIDED)
"""Every word there is for a stimulus under review."""


@dataclass(frozen=True)
class Outcome:
    """What the decisions about one stimulus come to."""

    status: str
    """One of `STATUSES`."""
    votes: Mapping[str, Decision]
    """Reviewer to the decision of theirs that stands."""
    ruling: Decision | None = None
    """The decision that counts; None while the stimulus waits."""
    newest: int = 0
    """Last entry of the log about the stimulus, whatever became of it."""

    @property
    def decided(self) -> bool:
        """True where the stimulus waits no longer."""
        return self.status in DECIDED


def outcome(decisions: Sequence[Decision], base: str, required: int = 1) -> Outcome:
    """The outcome of decisions about a stimulus of this hash, in the order of the log.

    With one reviewer required, the newest decision counts. With more, all of them must say the same, or one
    decision settles it.
    """
    newest = decisions[-1].id if decisions else 0
    standing = in_force(decisions, base)
    votes = {decision.reviewer: decision for decision in standing}
    cast = [vote for vote in votes.values() if vote.decision in DECIDED]
    if cast and required == 1:
        last = max(cast, key=lambda vote: vote.id)
        return Outcome(last.decision, votes, last, newest)
    settled = [decision for decision in standing if decision.final and decision.decision in DECIDED]
    if settled:
        return Outcome(settled[-1].decision, votes, settled[-1], newest)
    if len(cast) >= required:
        agreed = len({(vote.decision, vote.text, vote.label) for vote in cast}) == 1
        return Outcome(cast[-1].decision if agreed else DISPUTED, votes, cast[-1] if agreed else None, newest)
    deferred = any(vote.decision == DEFERRED for vote in votes.values())
    return Outcome(DEFERRED if deferred else PENDING, votes, None, newest)


def in_force(decisions: Iterable[Decision], base: str) -> list[Decision]:
    """Decisions about a stimulus of this hash that nobody took back."""
    about = [decision for decision in decisions if decision.base == base]
    undone = {decision.undoes for decision in about if decision.decision == UNDONE}
    return [d for d in about if d.decision != UNDONE and d.id not in undone]


def by_stimulus(decisions: Iterable[Decision]) -> dict[str, list[Decision]]:
    """Decisions under the stimuli that they are about."""
    groups: dict[str, list[Decision]] = {}
    for decision in decisions:
        groups.setdefault(decision.stimulus, []).append(decision)
    return groups


def applied(made: Stimulus, ruling: Decision | None) -> Stimulus:
    """The stimulus as a ruling leaves it; one that was under no review and is accepted stays as it was."""
    if ruling is None:
        return made
    word = ruling.decision
    if word == ACCEPTED and made.lineage.review is None:
        return made
    changed = replace(made, lineage=replace(made.lineage, review=word))
    if word != EDITED:
        return changed
    if made.transcript is not None and ruling.text is not None:
        changed = with_run(changed, run_of(ruling.text))
        return changed if ruling.label is None else replace(changed, expectation=Label(ruling.label))
    texts = made.texts if ruling.text is None else (ruling.text,)
    expectation = made.expectation if ruling.label is None else Label(ruling.label)
    return replace(changed, texts=texts, expectation=expectation)
