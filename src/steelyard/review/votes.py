"""Votes on written stimuli: the review status they come to, and the stimuli after they are applied.

The log holds every vote; `stimuli.jsonl` holds what they come to. What somebody changes in the file by
hand is taken into the log as a vote of its own, so that neither loses what the other knows. Once a study
is frozen, only a finished version of the review takes the place of the stimuli that were measured.
"""

from __future__ import annotations

import re
import time
from collections.abc import Collection, Iterable, Mapping, Sequence
from contextlib import closing
from dataclasses import asdict, dataclass, replace
from functools import cached_property

from steelyard.review.stimuli_file import (
    all_accepted,
    read_manual_edits,
    run_of,
    run_text,
    under_review,
    with_run,
    write_stimuli,
)
from steelyard.run_folder.run_folder import RunFolder
from steelyard.stimuli.authored_checks import Rejection, local_vector
from steelyard.stimuli.stimulus import ACCEPTED, EDITED, PENDING, REJECTED, Label, Stimulus, StimulusSet
from steelyard.store.authoring import AuthoredStimulus
from steelyard.store.review_log import Choice, ReviewedSet, ReviewLog, Vote
from steelyard.study.study_copy import StudyCopy
from steelyard.tasks.task import Task, parse_scale

DEFERRED = "deferred"
"""A reviewer has looked and will look again."""
DISPUTED = "disputed"
"""Reviewers disagree, and nobody has settled it."""
UNDONE = "undone"
DECIDED = (ACCEPTED, EDITED, REJECTED)


@dataclass(frozen=True)
class ReviewStatus:
    status: str
    votes: Mapping[str, Vote]
    final_vote: Vote | None = None
    newest: int = 0
    """Last entry of the log about the stimulus, whatever became of it."""

    @property
    def decided(self) -> bool:
        return self.status in DECIDED


def review_status(log: Sequence[Vote], base: str, required: int = 1) -> ReviewStatus:
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
        return ReviewStatus(last.decision, votes, last, newest)
    settled = [vote for vote in valid if vote.final and vote.decision in DECIDED]
    if settled:
        return ReviewStatus(settled[-1].decision, votes, settled[-1], newest)
    if len(cast) >= required:
        agreed = len({(vote.decision, vote.text, vote.label) for vote in cast}) == 1
        word, final_vote = (cast[-1].decision, cast[-1]) if agreed else (DISPUTED, None)
        return ReviewStatus(word, votes, final_vote, newest)
    deferred = any(vote.decision == DEFERRED for vote in votes.values())
    return ReviewStatus(DEFERRED if deferred else PENDING, votes, None, newest)


def in_force(log: Iterable[Vote], base: str) -> list[Vote]:
    """Votes on a stimulus of this hash that nobody took back."""
    about = [vote for vote in log if vote.base == base]
    undone = {vote.undoes for vote in about if vote.decision == UNDONE}
    return [vote for vote in about if vote.decision != UNDONE and vote.id not in undone]


def by_stimulus(log: Iterable[Vote]) -> dict[str, list[Vote]]:
    groups: dict[str, list[Vote]] = {}
    for vote in log:
        groups.setdefault(vote.stimulus, []).append(vote)
    return groups


def apply_vote(made: Stimulus, final_vote: Vote | None) -> Stimulus:
    """The stimulus after the final vote; one under no review that is accepted stays as it was."""
    if final_vote is None:
        return made
    word = final_vote.decision
    if word == ACCEPTED and made.lineage.review is None:
        return made
    changed = replace(made, lineage=replace(made.lineage, review=word))
    if word != EDITED:
        return changed
    if made.transcript is not None and final_vote.text is not None:
        changed = with_run(changed, run_of(final_vote.text))
        return changed if final_vote.label is None else replace(changed, expectation=Label(final_vote.label))
    texts = made.texts if final_vote.text is None else (final_vote.text,)
    expectation = made.expectation if final_vote.label is None else Label(final_vote.label)
    return replace(changed, texts=texts, expectation=expectation)


BY_HAND = "stimuli.jsonl"
UNSEEN = "--accept-all"
REQUIRED = "reviewers"


BY_MEASURE = "measure"
TASK, REVIEWED = "task", "review"
TEMPLATES = "templates"
PROMPTS = "prompts"
STUDY = "study"


def base_of(made: Stimulus) -> str:
    """Hash of what a vote is about: the stimulus, whatever anybody thinks of it."""
    return replace(made, lineage=replace(made.lineage, review=None)).hash


def open_log(folder: RunFolder) -> closing[ReviewLog]:
    return closing(ReviewLog(folder.reviews))


def required_of(log: ReviewLog) -> int:
    return int(log.get_meta(REQUIRED) or 1)


def apply_review(
    folder: RunFolder, made: Sequence[Stimulus], known: Collection[str], *, keep: bool = False
) -> tuple[tuple[Stimulus, ...], int]:
    """The stimuli as people decided, in the file and in the log; `keep` takes the file's into the log.

    With them the last entry of the log that is in it: others may vote meanwhile.
    """
    by_hand = read_manual_edits(made, folder.stimuli, known)
    if not folder.reviews.exists():
        return by_hand, 0
    with open_log(folder) as log:
        if folder.study.exists():
            until = log.position[0]
            return _versioned(log, made, by_hand), until
        _, edited = import_manual_edits(log, made, by_hand, keep=keep)
        until = log.position[0]
        current = apply_votes(log, made, until)
        decided = tuple(
            h if not keep and h.id in edited else c for h, c in zip(by_hand, current, strict=True)
        )
        return decided, until


def apply_votes(log: ReviewLog, made: Iterable[Stimulus], until: int | None = None) -> tuple[Stimulus, ...]:
    required = required_of(log)
    decisions = by_stimulus(d for d in log.votes() if until is None or d.id <= until)
    return tuple(
        apply_vote(each, review_status(decisions.get(each.id, ()), base_of(each), required).final_vote)
        for each in made
    )


def import_manual_edits(
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
    if not mine:
        return [own]
    ends = [0 if not published else sum(d.id <= published for d in mine)]
    ends += range(ends[0] + 1, len(mine) + 1)
    return [apply_vote(own, review_status(mine[:end], base_of(own), required).final_vote) for end in ends]


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


def members_of(stimuli: Iterable[Stimulus]) -> dict[str, list[str]]:
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
    then = {each.id: each for each in apply_votes(log, made, last.newest)}
    live = {each.id: each for each in apply_votes(log, made)}
    return tuple((then if each.id in last.members else live)[each.id] for each in made)


def task_words(task: Task) -> dict[str, str]:
    return {"instruction": task.instruction, "rubric": task.rubric}


def start_review(
    folder: RunFolder,
    task: Task,
    templates: Mapping[str, str] | None = None,
    prompts: Mapping[str, str] | None = None,
    study: StudyCopy | None = None,
) -> None:
    """Say before the first text that people will look, what the judges are asked, and what the authors.

    `prompts` are the words among the templates that a study file may hold itself, `study` is that file.
    """
    with open_log(folder) as log:
        log.set_meta(TASK, task_words(task))
        log.set_meta(TEMPLATES, dict(templates or {}))
        log.set_meta(PROMPTS, dict(prompts or {}))
        log.set_meta(STUDY, None if study is None else asdict(study))
        log.set_meta(REVIEWED, True)


def add_arrival(folder: RunFolder, originals: Mapping[str, Stimulus], text: AuthoredStimulus) -> None:
    with open_log(folder) as log:
        log.arrive({text.stimulus.id: text.arrival(originals[text.stimulus.lineage.parent])})


def write_decisions(
    folder: RunFolder,
    made: Sequence[Stimulus],
    known: Collection[str],
    beside: Iterable[Stimulus] = (),
    *,
    unseen: bool = False,
    finished_by: str | None = None,
) -> tuple[Stimulus, ...]:
    """The stimuli as people decided, written into the folder; the caller holds its lock.

    `finished_by` freezes a version of what was decided, once nothing waits.
    """
    decided, until = apply_review(folder, made, known, keep=True)
    if unseen and folder.reviews.exists():
        with open_log(folder) as log:
            for each in decided:
                if each.lineage.review == PENDING:
                    log.append(Choice(each.id, base_of(each), UNSEEN, ACCEPTED, final=True))
    decided = all_accepted(decided) if unseen else decided
    write_stimuli(folder.stimuli, [*beside, *decided])
    if folder.reviews.exists():
        with open_log(folder) as log:
            # The file holds what the log said with its entry `until`, not what came since.
            votes = by_stimulus(vote for vote in log.votes() if vote.id <= until)
            log.publish({each.id: votes[each.id][-1].id for each in made if each.id in votes})
            waiting = any(each.lineage.review == PENDING for each in decided)
            if finished_by and decided and not waiting:
                freeze_version(log, decided, finished_by)
    return decided


@dataclass(frozen=True)
class ReviewItem:
    made: Stimulus
    """As it was made, waiting where the study waits for people."""
    original: Stimulus | None
    tries: tuple[Rejection, ...]
    waits: bool

    @classmethod
    def of(cls, written: AuthoredStimulus, original: Stimulus | None, *, waits: bool) -> ReviewItem:
        (made,) = under_review([written.stimulus]) if waits else (written.stimulus,)
        return cls(made, original, written.tries, waits and not written.rejected)

    @cached_property
    def base(self) -> str:
        return base_of(self.made)

    @property
    def label(self) -> str | None:
        return self.made.expectation.value if isinstance(self.made.expectation, Label) else None

    @property
    def answers(self) -> tuple[str, ...]:
        return parse_scale(self.made.scale or "").answers if self.label is not None else ()

    @property
    def refused(self) -> bool:
        return self.made.lineage.review == REJECTED

    @property
    def doubted(self) -> bool:
        """True where a check or the validator turned a try down, or the text is kept at another score."""
        return bool(self.tries) or "kept at" in (self.made.lineage.validation or "")

    @cached_property
    def similarity(self) -> float | None:
        """Cosine of the text and its original, by runs of signs; None where the original is not known."""
        if self.original is None:
            return None
        return float(local_vector(self.made.texts[0]) @ local_vector(self.original.texts[0]))


def in_order(name: str) -> list[tuple[int, str]]:
    """A key by which names are read: `item-2` before `item-10`."""
    parts = re.split(r"(\d+)", name)
    return [(int(part), "") if part.isdecimal() else (-1, part) for part in parts]
