"""What the review page shows: the queue with its filters and progress, and the messages of an agent's run."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from urllib.parse import urlencode

from starlette.datastructures import QueryParams

from steelyard.review.stimuli_file import before_edit, run_of
from steelyard.review.votes import DECIDED, DEFERRED, DISPUTED, ReviewItem, ReviewStatus
from steelyard.stimuli.stimulus import EDITED, PENDING, Stimulus
from steelyard.store.review_log import Vote
from steelyard.tasks.transcripts.transcript import Turn

NEAR, FAR = 0.8, 0.5
"""Cosines from which on a text is close to its original, and below which it is far from it."""
WAITING = "waiting"
"""Filter: whatever is not decided."""
REFUSED = "rejected by checks"
"""Status of a text that the checks rejected and nobody has looked at."""


@dataclass(frozen=True)
class QueueFilters:
    """What is shown of the queue; an empty word lets everything pass."""

    probe: str = ""
    """Name of a probe."""
    status: str = ""
    """A status, or `waiting`."""
    stratum: str = ""
    """Name of a stratum."""
    doubt: str = ""
    """`yes` where an attempt was rejected, `no` where none was."""
    likeness: str = ""
    """`near` the original, `far` from it."""
    text: str = ""
    """Words that the text, its request or its name contains."""

    @classmethod
    def of(cls, query: QueryParams) -> QueueFilters:
        """The filters of an address."""
        return cls(**{name: query.get(name, "")[:200] for name in cls.__dataclass_fields__})

    @property
    def query(self) -> str:
        """The filters as part of an address."""
        return urlencode({name: value for name, value in asdict(self).items() if value})

    def passes(self, row: QueueRow) -> bool:
        """Whether a row is shown."""
        made = row.item.made
        wanted = [
            not self.probe or made.probe == self.probe,
            not self.status or row.status == self.status or (self.status == WAITING and row.waiting),
            not self.stratum or made.stratum == self.stratum,
            not self.doubt or row.item.doubted == (self.doubt == "yes"),
            not self.likeness or _like(row.item, self.likeness),
            not self.text or any(self.text.casefold() in part.casefold() for part in row.searched),
        ]
        return all(wanted)


@dataclass(frozen=True)
class QueueRow:
    """A stimulus in the queue, as one reviewer sees it."""

    item: ReviewItem
    """The stimulus."""
    review_status: ReviewStatus
    """What was decided, as far as the reviewer may know."""

    @property
    def status(self) -> str:
        """One word for where it stands."""
        if self.item.refused and self.review_status.status == PENDING:
            return REFUSED
        return self.review_status.status

    @property
    def waiting(self) -> bool:
        """True where somebody still has to decide."""
        return self.item.waits and self.status in (PENDING, DEFERRED, DISPUTED)

    @property
    def searched(self) -> Sequence[str]:
        """Texts that a search looks into."""
        made = self.item.made
        return made.id, made.request, made.texts[0]


def _like(item: ReviewItem, wanted: str) -> bool:
    alike = item.similarity
    if alike is None:
        return False
    return alike >= NEAR if wanted == "near" else alike < FAR


def seen_by(review_status: ReviewStatus, reviewer: str, *, blind: bool) -> ReviewStatus:
    """A review status as a reviewer may know it: in blind mode the own vote and nothing else."""
    if not blind:
        return review_status
    own = review_status.votes.get(reviewer)
    votes = {} if own is None else {reviewer: own}
    status = PENDING if own is None else own.decision
    final_vote = own if own is not None and own.decision in DECIDED else None
    return replace(
        review_status,
        status=status,
        votes=votes,
        final_vote=final_vote,
        newest=0 if own is None else own.id,
    )


def rows_of(
    items: Mapping[str, ReviewItem], statuses: Mapping[str, ReviewStatus], reviewer: str, *, blind: bool
) -> list[QueueRow]:
    """The queue of a reviewer; a blind one is not shown what the checks rejected."""
    shown = {name: item for name, item in items.items() if not (blind and item.refused)}
    return [QueueRow(item, seen_by(statuses[name], reviewer, blind=blind)) for name, item in shown.items()]


@dataclass(frozen=True)
class QueueProgress:
    """How far a reviewer is."""

    decided: int
    """Texts that wait no longer."""
    total: int
    """Texts that are or were to be decided."""
    counts: Mapping[str, int]
    """Status to the number of texts."""

    @classmethod
    def of(cls, rows: Sequence[QueueRow]) -> QueueProgress:
        """The progress of a queue; what the checks rejected is no work."""
        counts: dict[str, int] = {}
        for row in rows:
            counts[row.status] = counts.get(row.status, 0) + 1
        total = [row for row in rows if row.item.waits or row.review_status.decided]
        return cls(sum(row.review_status.decided for row in total), len(total), counts)


def following(rows: Sequence[QueueRow], current: str | None, step: int = 1) -> str | None:
    """The next row that waits, from the current one on and around; the first row where none waits."""
    names = [row.item.made.id for row in rows]
    start = names.index(current) if current in names else -1 if step > 0 else 0
    order = [(start + step * offset) % len(rows) for offset in range(1, len(rows) + 1)] if rows else []
    return next((names[place] for place in order if rows[place].waiting), names[0] if names else None)


LONG = 600
"""Signs from which on a message that nobody edited is folded away."""


@dataclass(frozen=True)
class EditableCall:
    """A tool call with its arguments to edit."""

    id: str
    """Names the call."""
    function: str
    """The tool."""
    made: str
    """Arguments as the author left them."""
    now: str
    """Arguments as they stand on the page."""


@dataclass(frozen=True)
class EditableTurn:
    """One message on the page."""

    place: int
    """From 0."""
    role: str
    """Who speaks."""
    tool: str
    """The tool that a result is of."""
    before: str
    """The words before any edit."""
    made: str
    """The words as the author left them."""
    now: str
    """The words as they stand on the page."""
    reasoning: str
    """What the agent thought, read only."""
    error: str
    """What went wrong with a tool."""
    calls: tuple[EditableCall, ...]
    """Tools that it calls."""
    edited: bool
    """True where author or reviewer changed it."""

    @property
    def folded(self) -> bool:
        """True where it stands behind a click: boilerplate, or long and unchanged."""
        boilerplate = self.role in ("system", "tool") or len(self.now) > LONG
        return not self.edited and boilerplate

    @property
    def own(self) -> bool:
        """True for a message of the agent's."""
        return self.role == "assistant"


def editable_turns(
    made: Stimulus, final_vote: Vote | None, draft: Mapping[str, str] | None
) -> tuple[EditableTurn, ...]:
    """The messages of a run as they stand; empty for a stimulus that is no run."""
    if made.transcript is None:
        return ()
    changed = final_vote is not None and final_vote.decision == EDITED and final_vote.text is not None
    run = (
        run_of(final_vote.text) if changed and final_vote is not None and final_vote.text else made.transcript
    )
    typed = json.loads(draft["turns"]) if draft and draft.get("turns") else {}
    olds = before_edit(made).turns
    aligned = len(olds) == len(made.transcript.turns)
    return tuple(
        _shown(place, olds[place] if aligned else own, own, run.turns[place], typed.get(str(place), {}))
        for place, own in enumerate(made.transcript.turns)
    )


def _shown(place: int, old: Turn, own: Turn, now: Turn, typed: Mapping[str, object]) -> EditableTurn:
    said = typed.get("text")
    given = typed.get("arguments")
    told = given if isinstance(given, dict) else {}
    calls = tuple(
        EditableCall(
            mine.id, mine.function, _json(mine.arguments), str(told.get(mine.id, _json(current.arguments)))
        )
        for mine, current in zip(own.calls, now.calls, strict=False)
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


def _json(arguments: Mapping[str, object]) -> str:
    return json.dumps(arguments, indent=1, ensure_ascii=False)
