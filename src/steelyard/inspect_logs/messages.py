"""Messages of a run as Inspect has them: the inverse of how its logs are read."""

from __future__ import annotations

from collections.abc import Collection
from typing import Any

from steelyard.errors import ConfigError
from steelyard.tasks.transcripts.transcript import Block, Turn
from steelyard.verdicts.verdict import Abstained, Unreadable

UNSCORED = {Abstained: "refusal", Unreadable: "invalid_response_format"}
"""What Inspect calls a score that is none; everything else is a grader that failed."""
MARK = "steelyard"


def require_inspect(wanted: str) -> None:
    try:
        import inspect_ai  # noqa: F401
    except ImportError as error:
        raise ConfigError(
            f"{wanted}: needs inspect_ai, which is not installed; run pip install inspect_ai."
        ) from error


def chat_messages(turns: Collection[Turn], edited: Collection[Turn] = ()) -> list[Any]:
    return [
        _message(turn, turn.id or f"message-{number}", {MARK: {"edited": True}} if turn in edited else None)
        for number, turn in enumerate(turns, start=1)
    ]


def _message(turn: Turn, name: str, metadata: dict[str, Any] | None) -> Any:
    from inspect_ai.model import ChatMessageAssistant, ChatMessageSystem, ChatMessageTool, ChatMessageUser

    plain = {"system": ChatMessageSystem, "user": ChatMessageUser}
    common: dict[str, Any] = {"id": name, "content": _content(turn), "metadata": metadata}
    if turn.role == "tool":
        return ChatMessageTool(
            **common, tool_call_id=turn.call, function=turn.function, error=_error(turn.error)
        )
    if turn.role == "assistant":
        return ChatMessageAssistant(**common, tool_calls=_calls(turn) or None, model=turn.model)
    return plain[turn.role](**common)


def _content(turn: Turn) -> Any:
    if not turn.blocks:
        return ""
    lone = turn.blocks[0]
    if len(turn.blocks) == 1 and lone.kind == "text" and lone.body is None:
        return lone.text
    return [_block(block) for block in turn.blocks]


def _block(block: Block) -> Any:
    from inspect_ai.model import ContentReasoning, ContentText

    body = dict(block.body or {})
    if block.kind == "text":
        return _fitting(ContentText, {**body, "text": block.text}) or ContentText(text=block.text)
    if block.kind == "reasoning":
        words = {} if body.get("redacted") and "reasoning" in body else {"reasoning": block.text}
        return _fitting(ContentReasoning, {**body, **words}) or ContentReasoning(reasoning=block.text)
    return _other(block) or ContentText(text=f"[{block.kind.replace('_', ' ')}]")


def _other(block: Block) -> Any:
    from inspect_ai import model

    kind = "".join(part.capitalize() for part in block.kind.split("_"))
    known = getattr(model, f"Content{kind}", None)
    return None if known is None else _fitting(known, dict(block.body or {}))


def _fitting(kind: Any, body: dict[str, Any]) -> Any:
    try:
        return kind(**{key: value for key, value in body.items() if key in kind.model_fields})
    except ValueError:
        return None


def _calls(turn: Turn) -> list[Any]:
    from inspect_ai.tool import ToolCall

    return [
        ToolCall(id=call.id, function=call.function, arguments=call.arguments, parse_error=call.fault)
        for call in turn.calls
    ]


def _error(message: str | None) -> Any:
    from inspect_ai.tool import ToolCallError

    return None if message is None else ToolCallError(type="unknown", message=message)
