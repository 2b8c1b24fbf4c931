"""Messages and scores as Inspect has them: the inverse of how its logs are read."""

from __future__ import annotations

from collections.abc import Collection
from typing import Any

from steelyard.errors import ConfigError
from steelyard.tasks.transcripts.transcript import Block, Turn
from steelyard.verdicts.call_answers import reason_of
from steelyard.verdicts.verdict import Abstained, Decided, Unreadable, Verdict

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


def score_of(verdict: Verdict, words: str | None, known: dict[str, Any]) -> Any:
    """A verdict with the words behind it; what Steelyard knows of the call stands under a key of its own."""
    from inspect_ai.scorer import Score

    if isinstance(verdict, Decided):
        value = verdict.value
        return Score(value=int(value), answer=value, explanation=words, metadata={MARK: known})
    reason = UNSCORED.get(type(verdict), "grader_failed")
    told = {MARK: {**known, "reason": reason_of(verdict)}}
    return Score(value=float("nan"), explanation=words, reason=reason, metadata=told)


def chat_messages(turns: Collection[Turn], edited: Collection[Turn] = ()) -> list[Any]:
    return [
        _message(turn, turn.id or f"message-{number}", {MARK: {"edited": True}} if turn in edited else None)
        for number, turn in enumerate(turns, start=1)
    ]


def _message(turn: Turn, name: str, metadata: dict[str, Any] | None) -> Any:
    from inspect_ai.model import ChatMessageAssistant, ChatMessageSystem, ChatMessageTool, ChatMessageUser
    from inspect_ai.tool import ToolCall, ToolCallError

    content: Any = [_block(block) for block in turn.blocks] or ""
    if len(turn.blocks) == 1 and turn.blocks[0].kind == "text" and turn.blocks[0].body is None:
        content = turn.blocks[0].text
    common: dict[str, Any] = {"id": name, "content": content, "metadata": metadata}
    if turn.role == "tool":
        error = None if turn.error is None else ToolCallError(type="unknown", message=turn.error)
        return ChatMessageTool(**common, tool_call_id=turn.call, function=turn.function, error=error)
    if turn.role == "assistant":
        calls = [
            ToolCall(id=call.id, function=call.function, arguments=call.arguments, parse_error=call.fault)
            for call in turn.calls
        ]
        return ChatMessageAssistant(**common, tool_calls=calls or None, model=turn.model)
    return {"system": ChatMessageSystem, "user": ChatMessageUser}[turn.role](**common)


def _block(block: Block) -> Any:
    from inspect_ai import model

    body = dict(block.body or {})
    if block.kind == "text":
        body, otherwise = {**body, "text": block.text}, model.ContentText(text=block.text)
    elif block.kind == "reasoning":
        words = {} if body.get("redacted") and "reasoning" in body else {"reasoning": block.text}
        body, otherwise = {**body, **words}, model.ContentReasoning(reasoning=block.text)
    else:
        otherwise = model.ContentText(text=f"[{block.kind.replace('_', ' ')}]")
    kind = getattr(model, "Content" + "".join(part.capitalize() for part in block.kind.split("_")), None)
    try:
        known = {} if kind is None else {key: body[key] for key in body if key in kind.model_fields}
        return otherwise if kind is None else kind(**known)
    except ValueError:
        return otherwise
