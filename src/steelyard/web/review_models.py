"""What the review page shows: the queue with its filters and progress, and the messages of an agent's run."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from typing import NamedTuple
from urllib.parse import urlencode

from starlette.datastructures import QueryParams

from steelyard.review.stimuli_file import before_edit, run_of
from steelyard.review.votes import DECIDED, DEFERRED, DISPUTED, ReviewItem, ReviewStatus
from steelyard.stimuli.stimulus import EDITED, PENDING, Label, Stimulus
from steelyard.store.review_log import Vote
from steelyard.tasks.transcripts.transcript import Turn
from steelyard.web.pages import LONG

NEAR, FAR = 0.8, 0.5
"""Cosines from which on a text is close to its original, and below which it is far from it."""
WAITING = "waiting"
REFUSED = "rejected by checks"


@dataclass(frozen=True)
class QueueFilters:
    """What is shown of the queue; an empty word lets everything pass."""

    probe: str = ""
    status: str = ""
    stratum: str = ""
    doubt: str = ""
    """`yes` where an attempt was rejected, `no` where none was."""
    likeness: str = ""
    text: str = ""

    @classmethod
    def of(cls, query: QueryParams) -> QueueFilters:
        return cls(**{name: query.get(name, "")[:200] for name in cls.__dataclass_fields__})

    @property
    def query(self) -> str:
        return urlencode({name: value for name, value in asdict(self).items() if value})

    def passes(self, row: QueueRow) -> bool:
        made = row.item.made
        alike = row.item.similarity if self.likeness else None  # it takes a while for thousands of texts
        near = alike is not None and (alike >= NEAR if self.likeness == "near" else alike < FAR)
        needle = self.text.casefold()
        return all(
            (
                not self.probe or made.probe == self.probe,
                not self.status or row.status == self.status or (self.status == WAITING and row.waiting),
                not self.stratum or made.stratum == self.stratum,
                not self.doubt or row.item.doubted == (self.doubt == "yes"),
                not self.likeness or near,
                not needle
                or any(needle in part.casefold() for part in (made.id, made.request, made.texts[0])),
            )
        )


class QueueRow(NamedTuple):
    item: ReviewItem
    review_status: ReviewStatus
    own: Vote | None = None
    """The vote of whoever looks at the queue."""

    @property
    def status(self) -> str:
        """Where others have still to vote, the own vote is what the queue shows."""
        if self.item.refused and self.review_status.status == PENDING:
            return REFUSED
        if self.review_status.status == PENDING and self.own is not None:
            return self.own.decision
        return self.review_status.status

    @property
    def waits_for_others(self) -> bool:
        return self.own is not None and self.own.decision in DECIDED and not self.review_status.decided

    @property
    def waiting(self) -> bool:
        return self.item.waits and self.status in (PENDING, DEFERRED, DISPUTED)


def seen_by(review_status: ReviewStatus, reviewer: str, *, blind: bool) -> ReviewStatus:
    """A review status as a reviewer may know it: in blind mode the own vote and nothing else."""
    if not blind:
        return review_status
    own = review_status.votes.get(reviewer)
    votes = {} if own is None else {reviewer: own}
    status = PENDING if own is None else own.decision
    final_vote = own if own is not None and own.decision in DECIDED else None
    return replace(
        review_status, status=status, votes=votes, final_vote=final_vote, newest=0 if own is None else own.id
    )


def rows_of(
    items: Mapping[str, ReviewItem], statuses: Mapping[str, ReviewStatus], reviewer: str, *, blind: bool
) -> list[QueueRow]:
    """The queue of a reviewer; a blind one is not shown what the checks rejected."""
    shown = {name: item for name, item in items.items() if not (blind and item.refused)}
    return [
        QueueRow(item, seen_by(statuses[name], reviewer, blind=blind), statuses[name].votes.get(reviewer))
        for name, item in shown.items()
    ]


@dataclass(frozen=True)
class QueueProgress:
    decided: int
    """By whoever looks, or by all."""
    settled: int
    """By as many reviewers as are required."""
    total: int
    counts: Mapping[str, int]

    @classmethod
    def of(cls, rows: Sequence[QueueRow]) -> QueueProgress:
        """The progress of a queue; what the checks rejected is no work."""
        known = [(row.status, row.review_status.decided, row.item.waits) for row in rows]
        work = [(status, by_all) for status, by_all, waits in known if waits or by_all]
        decided, settled = sum(status in DECIDED for status, _ in work), sum(by_all for _, by_all in work)
        return cls(decided, settled, len(work), dict(Counter(status for status, _, _ in known)))


def following(rows: Sequence[QueueRow], current: str | None) -> str | None:
    """The next row that waits, from the current one on and around; the first row where none waits."""
    names = [row.item.made.id for row in rows]
    start = names.index(current) if current in names else -1
    order = [(start + offset) % len(rows) for offset in range(1, len(rows) + 1)]
    return next((names[place] for place in order if rows[place].waiting), names[0] if names else None)


@dataclass(frozen=True)
class EditableCall:
    id: str
    function: str
    made: str
    now: str


@dataclass(frozen=True)
class EditableTurn:
    place: int
    role: str
    tool: str
    before: str
    """The words before any edit."""
    made: str
    """The words as the author left them."""
    now: str
    """The words as they stand on the page."""
    reasoning: str
    error: str
    calls: tuple[EditableCall, ...]
    edited: bool

    @property
    def folded(self) -> bool:
        """True where it stands behind a click: boilerplate, or long and unchanged."""
        return not self.edited and (self.role in ("system", "tool") or len(self.now) > LONG)


def editable_turns(
    made: Stimulus, final_vote: Vote | None, draft: Mapping[str, str] | None
) -> tuple[EditableTurn, ...]:
    if made.transcript is None:
        return ()
    edited = final_vote.text if final_vote is not None and final_vote.decision == EDITED else None
    run = run_of(edited) if edited else made.transcript
    typed = json.loads(draft["turns"]) if draft and draft.get("turns") else {}
    olds = before_edit(made).turns
    aligned = len(olds) == len(made.transcript.turns)
    return tuple(
        _editable_turn(
            place, olds[place] if aligned else own, own, run.turns[place], typed.get(str(place), {})
        )
        for place, own in enumerate(made.transcript.turns)
    )


def _editable_turn(place: int, old: Turn, own: Turn, now: Turn, typed: Mapping[str, object]) -> EditableTurn:
    said, given = typed.get("text"), typed.get("arguments")
    arguments = given if isinstance(given, dict) else {}
    calls = tuple(
        EditableCall(mine.id, mine.function, _json(mine.arguments), str(arguments.get(mine.id, current)))
        for mine, current in zip(own.calls, (_json(call.arguments) for call in now.calls), strict=False)
    )
    words = said if isinstance(said, str) else now.text
    edited = old != own or words != own.text or any(call.made != call.now for call in calls)
    return EditableTurn(
        place=place,
        role=own.role,
        tool=own.function or "",
        before=old.text,
        made=own.text,
        now=words,
        reasoning=own.reasoning,
        error=own.error or "",
        calls=calls,
        edited=edited,
    )


def draft_of(made: Stimulus, vote: Vote) -> dict[str, str]:
    """What was typed for a vote, as the draft that it was before."""
    typed: dict[str, object] = {}
    if made.transcript is not None and vote.text is not None:
        for place, (own, now) in enumerate(zip(made.transcript.turns, run_of(vote.text).turns, strict=False)):
            edit: dict[str, object] = {"text": now.text} if now.text != own.text else {}
            calls = {
                new.id: _json(new.arguments)
                for old, new in zip(own.calls, now.calls, strict=False)
                if old.arguments != new.arguments
            }
            edit |= {"arguments": calls} if calls else {}
            typed |= {str(place): edit} if edit else {}
    text = made.texts[0] if vote.text is None or made.transcript is not None else vote.text
    label = vote.label or (made.expectation.value if isinstance(made.expectation, Label) else "")
    turns = json.dumps(typed) if typed else ""
    return {"text": text, "label": label, "reason": vote.reason, "note": vote.note, "turns": turns}


def _json(arguments: Mapping[str, object]) -> str:
    return json.dumps(arguments, indent=1, ensure_ascii=False)
