"""What the votes about a stimulus come to: votes that stand, one word for all, the stimulus after it."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace

from steelyard.review.runs import run_of, with_run
from steelyard.stimuli.expectation import Label
from steelyard.stimuli.stimulus import ACCEPTED, EDITED, PENDING, REJECTED, Stimulus
from steelyard.store.review_log import Vote

DEFERRED = "deferred"
"""A reviewer has looked and will look again."""
DISPUTED = "disputed"
"""Reviewers disagree, and nobody has settled it."""
UNDONE = "undone"
"""A vote that takes another back."""
DECIDED = (ACCEPTED, EDITED, REJECTED)
"""Words that end the wait of a stimulus."""
STATUSES = (PENDING, DEFERRED, DISPUTED, *DECIDED)
"""Every word there is for a stimulus under review."""


@dataclass(frozen=True)
class Standing:
    """What the votes about one stimulus come to."""

    status: str
    """One of `STATUSES`."""
    votes: Mapping[str, Vote]
    """Reviewer to the vote of theirs that stands."""
    ruling: Vote | None = None
    """The vote that counts; None while the stimulus waits."""
    newest: int = 0
    """Last entry of the log about the stimulus, whatever became of it."""

    @property
    def decided(self) -> bool:
        """True where the stimulus waits no longer."""
        return self.status in DECIDED


def standing_of(log: Sequence[Vote], base: str, required: int = 1) -> Standing:
    """What the votes on a stimulus of this hash come to, in the order of the log.

    With one reviewer required, the newest vote counts. With more, all of them must say the same, or one vote
    settles it.
    """
    newest = log[-1].id if log else 0
    valid = in_force(log, base)
    votes = {vote.reviewer: vote for vote in valid}
    cast = [vote for vote in votes.values() if vote.decision in DECIDED]
    if cast and required == 1:
        last = max(cast, key=lambda vote: vote.id)
        return Standing(last.decision, votes, last, newest)
    settled = [vote for vote in valid if vote.final and vote.decision in DECIDED]
    if settled:
        return Standing(settled[-1].decision, votes, settled[-1], newest)
    if len(cast) >= required:
        agreed = len({(vote.decision, vote.text, vote.label) for vote in cast}) == 1
        word, ruling = (cast[-1].decision, cast[-1]) if agreed else (DISPUTED, None)
        return Standing(word, votes, ruling, newest)
    deferred = any(vote.decision == DEFERRED for vote in votes.values())
    return Standing(DEFERRED if deferred else PENDING, votes, None, newest)


def in_force(log: Iterable[Vote], base: str) -> list[Vote]:
    """Votes on a stimulus of this hash that nobody took back."""
    about = [vote for vote in log if vote.base == base]
    undone = {vote.undoes for vote in about if vote.decision == UNDONE}
    return [vote for vote in about if vote.decision != UNDONE and vote.id not in undone]


def by_stimulus(log: Iterable[Vote]) -> dict[str, list[Vote]]:
    """Votes under the stimuli that they are about."""
    groups: dict[str, list[Vote]] = {}
    for vote in log:
        groups.setdefault(vote.stimulus, []).append(vote)
    return groups


def applied(made: Stimulus, ruling: Vote | None) -> Stimulus:
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
