"""A transcript as a judge reads it: numbered messages, full arguments and results.

The same transcript always has the same rendering.
"""

from __future__ import annotations

import json

from steelyard.tasks.transcripts.transcript import REASONING, TEXT, TOOL, Block, ToolCall, Transcript, Turn

_NO_WORDS = "(says nothing)"


def rendered(transcript: Transcript) -> str:
    """The whole transcript, message by message."""
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
    """What a block without words is, by the name it gives itself."""
    body = block.body or {}
    name = next((body[key] for key in ("name", "filename", "title", "document") if body.get(key)), "")
    return f" {str(name)[:80]}" if name else ""


def clipped(text: str, characters: int) -> str:
    """A text whose middle is cut where it has more characters, with a note of how many are missing."""
    missing = len(text) - characters
    if missing <= 0:
        return text
    head = characters - characters // 2
    tail = text[len(text) - characters // 2 :] if characters // 2 else ""
    return f"{text[:head]}[… {missing:,} characters cut …]{tail}"


def _call(call: ToolCall, most: int | None = None) -> str:
    whole = json.dumps(call.arguments, ensure_ascii=False)
    arguments = whole if most is None else clipped(whole, most)
    fault = f" [arguments: {call.fault}]" if call.fault else ""
    return f"[tool call {call.id}] {call.function} {arguments}{fault}"
