"""A run of an agent: messages, tool calls, scores; its rendering for a judge; and the diff of two versions.

The same transcript always has the same rendering: numbered messages, full arguments and results.
"""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from difflib import SequenceMatcher
from functools import cached_property
from itertools import zip_longest
from typing import Any, Literal, TypeAlias

from steelyard.core.content_hash import canonical_json, content_hash

Role: TypeAlias = Literal["system", "user", "assistant", "tool"]
BlockKind: TypeAlias = Literal["text", "reasoning", "image", "audio", "video", "document", "data", "tool_use"]
"""Text and reasoning are words; every other kind keeps its body as it came."""


@dataclass(frozen=True)
class Block:
    kind: BlockKind
    text: str
    body: dict[str, Any] | None = None
    """What else the block holds, as it came; None where the words are all."""


@dataclass(frozen=True)
class ToolCall:
    id: str
    function: str
    arguments: dict[str, Any]
    fault: str | None = None


@dataclass(frozen=True)
class Turn:
    role: Role
    blocks: tuple[Block, ...] = ()
    calls: tuple[ToolCall, ...] = ()
    call: str | None = None
    """Id of the call that a tool message answers."""
    function: str | None = None
    error: str | None = None
    id: str | None = None
    model: str | None = None

    @property
    def text(self) -> str:
        """Its words, reasoning left out."""
        return "\n".join(block.text for block in self.blocks if block.kind == "text")

    @property
    def reasoning(self) -> str:
        return "\n".join(block.text for block in self.blocks if block.kind == "reasoning")

    def saying(self, text: str) -> Turn:
        """The same message with these words in the place of its own; reasoning and other blocks stay."""
        others = [block for block in self.blocks if block.kind != "text"]
        after = [block for block in others if block.kind != "reasoning"]
        before = [block for block in others if block.kind == "reasoning"]
        words = [Block("text", text)] if text else []
        return replace(self, blocks=(*before, *words, *after))

    def to_json(self) -> dict[str, Any]:
        return _present(
            role=self.role,
            content=[_present(type=b.kind, text=b.text, body=b.body) for b in self.blocks],
            tool_calls=[_present(**vars(call)) for call in self.calls] or None,
            tool_call_id=self.call,
            function=self.function,
            error=self.error,
            id=self.id,
            model=self.model,
        )

    @classmethod
    def from_json(cls, body: Mapping[str, Any]) -> Turn:
        """The inverse of `to_json`; `chat.turns_of` reads other chat forms."""
        return cls(
            role=body["role"],
            blocks=tuple(Block(block["type"], block["text"], block.get("body")) for block in body["content"]),
            calls=tuple(
                ToolCall(call["id"], call["function"], dict(call["arguments"]), call.get("fault"))
                for call in body.get("tool_calls", ())
            ),
            call=body.get("tool_call_id"),
            function=body.get("function"),
            error=body.get("error"),
            id=body.get("id"),
            model=body.get("model"),
        )


@dataclass(frozen=True)
class ScoreEntry:
    value: Any
    """What was given: a number, a text, true or false, a list or a mapping; None where it is unscored."""
    answer: str | None = None
    explanation: str | None = None
    author: str | None = None
    """Person who changed the score; None for the scorer's own value."""
    reason: str | None = None


@dataclass(frozen=True)
class RunScore:
    scorer: str
    history: tuple[ScoreEntry, ...]
    """Every value, the scorer's own first; never empty."""

    @property
    def current(self) -> ScoreEntry:
        return self.history[-1]


@dataclass(frozen=True)
class Removal:
    preprocessor: str
    counts: dict[str, int]


@dataclass(frozen=True)
class Transcript:
    id: str
    turns: tuple[Turn, ...]
    """Messages in their order, as they are shown; never empty."""
    epoch: int = 1
    """Which run of the sample: epochs run the agent again, they are no repeats of a judge."""
    scores: tuple[RunScore, ...] = ()
    metadata: dict[str, Any] = field(default_factory=dict)
    model: str | None = None
    task: str | None = None
    raw: tuple[Turn, ...] = ()
    """Messages as they came, where preprocessors removed something."""
    removals: tuple[Removal, ...] = ()

    @cached_property
    def hash(self) -> str:
        """Content hash of everything above; what is absent does not enter."""
        return content_hash(self.to_json())

    @property
    def request(self) -> str:
        return next((turn.text for turn in self.turns if turn.role == "user"), "")

    @property
    def assistant_places(self) -> tuple[int, ...]:
        return tuple(place for place, turn in enumerate(self.turns) if turn.role == "assistant")

    @property
    def final_place(self) -> int | None:
        """Place of the last message in which the agent says something; None where it never does."""
        spoken = [place for place in self.assistant_places if self.turns[place].text.strip()]
        return spoken[-1] if spoken else None

    @property
    def calls(self) -> Iterator[ToolCall]:
        return (call for turn in self.turns for call in turn.calls)

    def with_turns(self, turns: Mapping[int, Turn]) -> Transcript:
        return replace(self, turns=tuple(turns.get(place, turn) for place, turn in enumerate(self.turns)))

    def to_json(self) -> dict[str, Any]:
        scores = {
            s.scorer: [{"value": e.value} | _present(**vars(e)) for e in s.history] for s in self.scores
        }
        return _present(
            id=self.id,
            messages=[turn.to_json() for turn in self.turns],
            epoch=None if self.epoch == 1 else self.epoch,
            scores=scores or None,
            metadata=self.metadata or None,
            model=self.model or None,
            task=self.task or None,
            raw=[turn.to_json() for turn in self.raw] or None,
            removals=[{"preprocessor": r.preprocessor, **r.counts} for r in self.removals] or None,
        )

    @classmethod
    def from_json(cls, body: Mapping[str, Any]) -> Transcript:
        return cls(
            id=body["id"],
            turns=tuple(map(Turn.from_json, body["messages"])),
            epoch=body.get("epoch", 1),
            scores=tuple(
                RunScore(name, tuple(ScoreEntry(**entry) for entry in entries))
                for name, entries in sorted(body.get("scores", {}).items())
            ),
            metadata=dict(body.get("metadata", {})),
            model=body.get("model"),
            task=body.get("task"),
            raw=tuple(map(Turn.from_json, body.get("raw", ()))),
            removals=tuple(
                Removal(r["preprocessor"], {key: count for key, count in r.items() if key != "preprocessor"})
                for r in body.get("removals", ())
            ),
        )


def _present(**fields: Any) -> dict[str, Any]:
    return {key: value for key, value in fields.items() if value is not None}


def render_transcript(transcript: Transcript) -> str:
    return "\n\n".join(message(number, turn) for number, turn in enumerate(transcript.turns, start=1))


def message(number: int, turn: Turn, arguments: int | None = None) -> str:
    """One numbered message; arguments of calls in at most so many characters, where a number is given."""
    parts = [*map(render_block, turn.blocks), *(_call(call, arguments) for call in turn.calls)]
    if turn.error is not None:
        parts.append(f"[error] {turn.error}")
    head = turn.role.upper()
    if turn.role == "tool":
        tool = f" {turn.function}" if turn.function else ""
        head = f"TOOL RESULT{tool}" + (f" (call {turn.call})" if turn.call else "")
    return "\n".join([f"[{number:03d}] {head}", *(parts or ["(says nothing)"])])


def render_block(block: Block) -> str:
    if block.kind == "text":
        return block.text
    if block.kind == "reasoning":
        return f"[reasoning] {block.text}" if block.text.strip() else "[reasoning that can not be read]"
    body = block.body or {}
    name = next((body[key] for key in ("name", "filename", "title", "document") if body.get(key)), "")
    return f"[{block.kind.replace('_', ' ')}{f' {str(name)[:80]}' if name else ''}]"


def clip_text(text: str, characters: int) -> str:
    missing = len(text) - characters
    if missing <= 0:
        return text
    head = characters - characters // 2
    tail = text[len(text) - characters // 2 :] if characters // 2 else ""
    return f"{text[:head]}[… {missing:,} characters cut …]{tail}"


def _call(call: ToolCall, most: int | None = None) -> str:
    whole = json.dumps(call.arguments, ensure_ascii=False)
    arguments = whole if most is None else clip_text(whole, most)
    fault = f" [arguments: {call.fault}]" if call.fault else ""
    return f"[tool call {call.id}] {call.function} {arguments}{fault}"


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
        before, after = (
            [] if turn is None else message(0, turn).split() for turn in (self.before, self.after)
        )
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
    found: list[TurnChange] = []
    keys = [[canonical_json(turn.to_json()) for turn in run.turns] for run in (before, after)]
    for tag, i1, i2, j1, j2 in SequenceMatcher(a=keys[0], b=keys[1], autojunk=False).get_opcodes():
        if tag == "equal":
            continue
        for step, (old, new) in enumerate(zip_longest(before.turns[i1:i2], after.turns[j1:j2])):
            place = min(i1 + step, i2) if old is None else i1 + step
            found.append(TurnChange(place, len(before.turns), old, new))
    return tuple(found)


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
