"""A run of an agent: messages, tool calls, scores; and its rendering as a judge reads it.

The same transcript always has the same rendering: numbered messages, full arguments and results.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any

from steelyard.core.content_hash import content_hash

SYSTEM, USER, ASSISTANT, TOOL = ROLES = ("system", "user", "assistant", "tool")
TEXT, REASONING = "text", "reasoning"
"""Blocks that are words; every other kind keeps its body as it came."""
OTHER_BLOCKS = ("image", "audio", "video", "document", "data", "tool_use")


@dataclass(frozen=True)
class Block:
    kind: str
    """`text`, `reasoning` or one of `OTHER_BLOCKS`."""
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
    role: str
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
        return "\n".join(block.text for block in self.blocks if block.kind == TEXT)

    @property
    def reasoning(self) -> str:
        return "\n".join(block.text for block in self.blocks if block.kind == REASONING)

    def saying(self, text: str) -> Turn:
        """The same message with these words in the place of its own; reasoning and other blocks stay."""
        others = [block for block in self.blocks if block.kind != TEXT]
        after = [block for block in others if block.kind != REASONING]
        before = [block for block in others if block.kind == REASONING]
        words = [Block(TEXT, text)] if text else []
        return replace(self, blocks=(*before, *words, *after))

    def to_json(self) -> dict[str, Any]:
        body: dict[str, Any] = {"role": self.role, "content": [_block_json(block) for block in self.blocks]}
        if self.calls:
            body["tool_calls"] = [_call_json(call) for call in self.calls]
        rest = {
            "tool_call_id": self.call,
            "function": self.function,
            "error": self.error,
            "id": self.id,
            "model": self.model,
        }
        return {**body, **{key: value for key, value in rest.items() if value is not None}}

    @classmethod
    def from_json(cls, body: Mapping[str, Any]) -> Turn:
        """The inverse of `to_json`; other chat forms are `chat.turn_of`'s to read."""
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
    """What the scorer took for the run's answer."""
    explanation: str | None = None
    author: str | None = None
    """Person who changed the score; None for the scorer's own value."""
    reason: str | None = None
    """Why it was changed, or why it is unscored."""


@dataclass(frozen=True)
class RunScore:
    scorer: str
    history: tuple[ScoreEntry, ...]
    """Every value, the scorer's own first; never empty."""

    @property
    def original(self) -> ScoreEntry:
        return self.history[0]

    @property
    def current(self) -> ScoreEntry:
        return self.history[-1]


@dataclass(frozen=True)
class Removal:
    preprocessor: str
    counts: dict[str, int]
    """What was removed, to how many; empty where there was nothing."""


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
        return next((turn.text for turn in self.turns if turn.role == USER), "")

    @property
    def assistant_places(self) -> tuple[int, ...]:
        return tuple(place for place, turn in enumerate(self.turns) if turn.role == ASSISTANT)

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
        body: dict[str, Any] = {"id": self.id, "messages": [turn.to_json() for turn in self.turns]}
        if self.epoch != 1:
            body["epoch"] = self.epoch
        if self.scores:
            body["scores"] = {score.scorer: [_entry_json(e) for e in score.history] for score in self.scores}
        for key, value in (("metadata", self.metadata), ("model", self.model), ("task", self.task)):
            if value:
                body[key] = value
        if self.raw:
            body["raw"] = [turn.to_json() for turn in self.raw]
        if self.removals:
            body["removals"] = [{"preprocessor": r.preprocessor, **r.counts} for r in self.removals]
        return body

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
            removals=tuple(map(_removal, body.get("removals", ()))),
        )


def _block_json(block: Block) -> dict[str, Any]:
    body = {"type": block.kind, "text": block.text}
    return body if block.body is None else {**body, "body": block.body}


def _call_json(call: ToolCall) -> dict[str, Any]:
    body = {"id": call.id, "function": call.function, "arguments": call.arguments}
    return body if call.fault is None else {**body, "fault": call.fault}


def _entry_json(entry: ScoreEntry) -> dict[str, Any]:
    rest = {
        "answer": entry.answer,
        "explanation": entry.explanation,
        "author": entry.author,
        "reason": entry.reason,
    }
    return {"value": entry.value, **{key: value for key, value in rest.items() if value is not None}}


def _removal(body: Mapping[str, Any]) -> Removal:
    counts = {key: value for key, value in body.items() if key != "preprocessor"}
    return Removal(body["preprocessor"], counts)


_NO_WORDS = "(says nothing)"


def render_transcript(transcript: Transcript) -> str:
    return "\n\n".join(message(number, turn) for number, turn in enumerate(transcript.turns, start=1))


def message(number: int, turn: Turn, arguments: int | None = None) -> str:
    """One numbered message; arguments of calls in at most so many characters, where a number is given."""
    parts = [*map(_block, turn.blocks), *(_call(call, arguments) for call in turn.calls)]
    if turn.error is not None:
        parts.append(f"[error] {turn.error}")
    return "\n".join([f"[{number:03d}] {_head(turn)}", *(parts or [_NO_WORDS])])


def _head(turn: Turn) -> str:
    if turn.role != TOOL:
        return turn.role.upper()
    tool = f" {turn.function}" if turn.function else ""
    return f"TOOL RESULT{tool}" + (f" (call {turn.call})" if turn.call else "")


def _block(block: Block) -> str:
    if block.kind == TEXT:
        return block.text
    if block.kind == REASONING:
        return f"[reasoning] {block.text}" if block.text.strip() else "[reasoning that can not be read]"
    return f"[{block.kind.replace('_', ' ')}{_described(block)}]"


def _described(block: Block) -> str:
    body = block.body or {}
    name = next((body[key] for key in ("name", "filename", "title", "document") if body.get(key)), "")
    return f" {str(name)[:80]}" if name else ""


def clip_text(text: str, characters: int) -> str:
    """A text whose middle is cut where it has more characters, with a note of how many are missing."""
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
