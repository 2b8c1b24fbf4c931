"""What differs between two versions of a run, message by message: for reviewers, and for figures by place."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from difflib import SequenceMatcher
from itertools import zip_longest
from typing import Any

from steelyard.core.content_hash import canonical_json
from steelyard.tasks.transcripts.transcript import Transcript, Turn, message


@dataclass(frozen=True)
class TurnChange:
    place: int
    """Where it stood in the run before the edit, from 0; an added message stands before the one named."""
    of: int
    before: Turn | None
    """The message as it was; None where it was added."""
    after: Turn | None
    """The message as it is; None where it was removed."""

    @property
    def depth(self) -> float:
        """How deep in the run it stands: 0 at its beginning, 1 at its end."""
        return min(1.0, self.place / (self.of - 1)) if self.of > 1 else 0.0

    @property
    def words(self) -> int:
        before, after = (_words(turn) for turn in (self.before, self.after))
        blocks = SequenceMatcher(a=before, b=after, autojunk=False).get_opcodes()
        return sum(max(i2 - i1, j2 - j1) for tag, i1, i2, j1, j2 in blocks if tag != "equal")

    def to_json(self) -> dict[str, Any]:
        turns = {"before": self.before, "after": self.after}
        shown = {key: turn.to_json() for key, turn in turns.items() if turn is not None}
        return {"place": self.place, "of": self.of, **shown}

    @classmethod
    def from_json(cls, body: Mapping[str, Any]) -> TurnChange:
        before, after = (Turn.from_json(body[key]) if key in body else None for key in ("before", "after"))
        return cls(body["place"], body["of"], before, after)


def changes(before: Transcript, after: Transcript) -> tuple[TurnChange, ...]:
    return tuple(_changes(before.turns, after.turns))


def unedited(after: Transcript, found: Iterable[TurnChange]) -> Transcript:
    """The run before these changes: the inverse of `changes`."""
    listed = list(found)
    replaced = {change.place: change.before for change in listed if change.before is not None}
    removed = {change.place for change in listed if change.after is None}
    added = Counter(change.place for change in listed if change.before is None)
    turns: list[Turn] = []
    here = 0
    for place in range(listed[0].of if listed else len(after.turns)):
        here += added[place]
        before = replaced.get(place)
        turns.append(after.turns[here] if before is None else before)
        here += place not in removed
    return replace(after, turns=tuple(turns))


def changed_words(found: Iterable[TurnChange]) -> int:
    return sum(change.words for change in found)


def _changes(before: tuple[Turn, ...], after: tuple[Turn, ...]) -> Iterator[TurnChange]:
    keys = [[canonical_json(turn.to_json()) for turn in turns] for turns in (before, after)]
    for tag, i1, i2, j1, j2 in SequenceMatcher(a=keys[0], b=keys[1], autojunk=False).get_opcodes():
        if tag == "equal":
            continue
        for step, (old, new) in enumerate(zip_longest(before[i1:i2], after[j1:j2])):
            yield TurnChange(min(i1 + step, i2) if old is None else i1 + step, len(before), old, new)


def _words(turn: Turn | None) -> list[str]:
    return [] if turn is None else message(0, turn).split()
