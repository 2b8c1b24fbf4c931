"""From the log of votes to the stimuli that are judged, and from hand to log.

The log holds every vote; `stimuli.jsonl` holds what they come to. What somebody changes in the file by
hand is taken into the log as a vote of its own, so that neither loses what the other knows. Once a study
is frozen, only a finished version of the review takes the place of the stimuli that were measured.
"""

from __future__ import annotations

import time
from collections.abc import Collection, Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import replace

from steelyard.review.runs import run_text
from steelyard.review.standing import UNDONE, applied, by_stimulus, in_force, standing_of
from steelyard.review.stimuli_file import all_accepted, reviewed
from steelyard.run_folder.run_folder import RunFolder
from steelyard.stimuli.expectation import Label
from steelyard.stimuli.stimulus import ACCEPTED, PENDING, Stimulus
from steelyard.stimuli.stimulus_set import StimulusSet
from steelyard.store.review_log import Choice, ReviewedSet, ReviewLog, Vote

BY_HAND = "stimuli.jsonl"
"""Reviewer of what was changed in the file by hand."""
UNSEEN = "--accept-all"
"""Reviewer of what was accepted unseen."""
REQUIRED = "reviewers"
"""Setting: how many reviewers a stimulus needs."""


def base_of(made: Stimulus) -> str:
    """Hash of what a vote is about: the stimulus, whatever anybody thinks of it."""
    return replace(made, lineage=replace(made.lineage, review=None)).hash


@contextmanager
def open_log(folder: RunFolder) -> Iterator[ReviewLog]:
    """The log of a folder, closed at the end."""
    log = ReviewLog(folder.reviews)
    try:
        yield log
    finally:
        log.close()


def required_of(log: ReviewLog) -> int:
    """How many reviewers a stimulus needs."""
    return int(log.noted(REQUIRED) or 1)


def as_decided(
    folder: RunFolder, made: Sequence[Stimulus], known: Collection[str], *, keep: bool = False
) -> tuple[Stimulus, ...]:
    """The stimuli as people decided, in the file and in the log; `keep` takes the file's into the log."""
    return decided_until(folder, made, known, keep=keep)[0]


def decided_until(
    folder: RunFolder, made: Sequence[Stimulus], known: Collection[str], *, keep: bool = False
) -> tuple[tuple[Stimulus, ...], int]:
    """The same, and the last entry of the log that is in it: others may vote meanwhile."""
    by_hand = reviewed(made, folder.stimuli, known)
    if not folder.reviews.exists():
        return by_hand, 0
    with open_log(folder) as log:
        if folder.study.exists():
            until = log.position[0]
            return _versioned(log, made, by_hand), until
        _, edited = take_over(log, made, by_hand, keep=keep)
        until = log.position[0]
        current = projected(log, made, until)
        decided = tuple(
            h if not keep and h.id in edited else c for h, c in zip(by_hand, current, strict=True)
        )
        return decided, until


def accept_rest(folder: RunFolder, stimuli: Sequence[Stimulus]) -> tuple[Stimulus, ...]:
    """Accept what waits, unseen; the log says so where there is one."""
    if folder.reviews.exists():
        with open_log(folder) as log:
            for waiting in stimuli:
                if waiting.lineage.review == PENDING:
                    log.append(Choice(waiting.id, base_of(waiting), UNSEEN, ACCEPTED, final=True))
    return all_accepted(stimuli)


def projected(log: ReviewLog, made: Iterable[Stimulus], until: int | None = None) -> tuple[Stimulus, ...]:
    """The stimuli as the log leaves them, or left them with its entry `until`."""
    required = required_of(log)
    decisions = by_stimulus(d for d in log.votes() if until is None or d.id <= until)
    return tuple(
        applied(each, standing_of(decisions.get(each.id, ()), base_of(each), required).ruling)
        for each in made
    )


def take_over(
    log: ReviewLog, made: Sequence[Stimulus], by_hand: Sequence[Stimulus], *, keep: bool
) -> tuple[int, set[str]]:
    """Take what was changed in the file into the log; return how many entries, and which stimuli."""
    decisions, published, required = by_stimulus(log.votes()), log.published(), required_of(log)
    edited, count = set(), 0
    for own, held in zip(made, by_hand, strict=True):
        mine = decisions.get(own.id, [])
        if held in _states(own, mine, published.get(own.id, 0), required):
            continue
        edited.add(own.id)
        for choice in _by_hand(own, held, mine) if keep else ():
            log.append(choice)
            count += 1
    return count, edited


def _states(own: Stimulus, mine: Sequence[Vote], published: int, required: int) -> list[Stimulus]:
    """What the log may have written into the file: its state then, and every state since."""
    ends = [0 if not published else sum(d.id <= published for d in mine)]
    ends += range(ends[0] + 1, len(mine) + 1)
    return [applied(own, standing_of(mine[:end], base_of(own), required).ruling) for end in ends]


def _by_hand(own: Stimulus, held: Stimulus, mine: Sequence[Vote]) -> list[Choice]:
    word, base = held.lineage.review, base_of(own)
    if word == own.lineage.review and held.texts == own.texts:
        return [
            Choice(own.id, base, vote.reviewer, UNDONE, reason=f"set back in {BY_HAND}", undoes=vote.id)
            for vote in in_force(mine, base)
        ]
    text = held.texts[0] if held.texts != own.texts else None
    if text is not None and held.transcript is not None:
        text = run_text(held.transcript)
    relabelled = held.expectation != own.expectation and isinstance(held.expectation, Label)
    label = held.expectation.value if relabelled and isinstance(held.expectation, Label) else None
    return [Choice(own.id, base, BY_HAND, word or ACCEPTED, text, label, final=True)]


def record_published(log: ReviewLog, made: Iterable[Stimulus], until: int) -> None:
    """The file holds what the log said of these stimuli with its entry `until`, not what came since."""
    decisions = by_stimulus(vote for vote in log.votes() if vote.id <= until)
    log.publish({each.id: decisions[each.id][-1].id for each in made if each.id in decisions})


def members_of(stimuli: Iterable[Stimulus]) -> dict[str, list[str]]:
    """What a version keeps of each stimulus: its status and its hash."""
    return {each.id: [each.lineage.review or "", each.hash] for each in stimuli}


def freeze_version(log: ReviewLog, stimuli: Sequence[Stimulus], reviewer: str) -> ReviewedSet:
    """The stimuli as a version of their own; the one before where nothing has changed since."""
    sets = log.sets()
    members = members_of(stimuli)
    if sets and dict(sets[-1].members) == members:
        return sets[-1]
    fresh = ReviewedSet(
        version=len(sets) + 1,
        hash=StimulusSet.of(stimuli).judged.hash,
        parent=sets[-1].hash if sets else None,
        newest=log.position[0],
        reviewer=reviewer,
        members=members,
        at=time.time(),
    )
    log.add_set(fresh)
    return fresh


def _versioned(log: ReviewLog, made: Sequence[Stimulus], by_hand: Sequence[Stimulus]) -> tuple[Stimulus, ...]:
    """The newest version in the place of the one that lies in the file; the file where it is no version."""
    sets = log.sets()
    held = members_of(by_hand)
    if not any(all(held.get(name) == list(part) for name, part in kept.members.items()) for kept in sets):
        return tuple(by_hand)
    last = sets[-1]
    then = {each.id: each for each in projected(log, made, last.newest)}
    live = {each.id: each for each in projected(log, made)}
    return tuple((then if each.id in last.members else live)[each.id] for each in made)
