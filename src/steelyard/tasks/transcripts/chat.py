"""Chat messages of several vendors (OpenAI, Anthropic, Inspect) as turns of a transcript."""

from __future__ import annotations

import json
import math
from collections.abc import Iterable, Mapping
from dataclasses import replace
from typing import Any, get_args

from steelyard.errors import DataError
from steelyard.tasks.transcripts.transcript import Block, BlockKind, Role, ToolCall, Turn


def json_value(value: Any) -> Any:
    """The same in plain JSON: NaN and infinities are nothing, sets are lists, other things their words."""
    if isinstance(value, bool) or value is None or isinstance(value, (str, int)):
        return value
    if isinstance(value, float):
        return value if math.isfinite(value) else None
    if isinstance(value, Mapping):
        return {str(key): json_value(inner) for key, inner in value.items()}
    if isinstance(value, (list, tuple)):
        return [json_value(inner) for inner in value]
    if isinstance(value, (set, frozenset)):
        return sorted((json_value(inner) for inner in value), key=str)
    return str(value)


_ROLES: dict[str, Role] = {
    **{role: role for role in get_args(Role)},
    "developer": "system",
    "function": "tool",
    "human": "user",
    "ai": "assistant",
}
_WORDS = {"text": "text", "input_text": "text", "output_text": "text", "refusal": "refusal"}
"""Kinds of blocks that are text, to the key that holds it."""
_THOUGHTS = {"reasoning": "reasoning", "thinking": "thinking", "redacted_thinking": "data"}
"""Kinds of blocks that are reasoning, to the key that holds it."""
_OTHERS: dict[str, BlockKind] = {
    **{kind: kind for kind in get_args(BlockKind) if kind not in ("text", "reasoning")},
    "image_url": "image",
    "input_audio": "audio",
    "file": "document",
}


def turns_of(cell: Any, where: str) -> tuple[Turn, ...]:
    if isinstance(cell, str):
        try:
            cell = json.loads(cell)
        except (ValueError, RecursionError) as error:
            reason = getattr(error, "msg", "nested too deep")
            raise DataError(
                f"{where}: not a list of messages in JSON ({reason}); correct the cell, or map another "
                "column."
            ) from error
    if isinstance(cell, Mapping) and isinstance(cell.get("messages"), list):
        cell = cell["messages"]
    if not isinstance(cell, (list, tuple)):
        raise DataError(
            f"{where}: found a {type(cell).__name__}, expected a list of messages with role and content; "
            "map another column."
        )
    turns = [
        turn
        for number, message in enumerate(cell, start=1)
        for turn in _turns(message, f"{where}, message {number}")
    ]
    if not turns:
        raise DataError(f"{where}: found no message, expected a transcript; remove the row.")
    return _named_results(turns)


def _turns(message: Any, where: str) -> Iterable[Turn]:
    """A message as one turn; results that stand inside a user's message are turns of their own."""
    if not isinstance(message, Mapping):
        raise DataError(
            f"{where}: found a {type(message).__name__}, expected an object with role and content."
        )
    role = _ROLES.get(str(message.get("role")))
    if role is None:
        known = ", ".join(get_args(Role))
        raise DataError(f"{where}: the role is {message.get('role')!r}, expected one of {known}; correct it.")
    blocks: list[Block] = []
    calls = [_call(call, n, where) for n, call in enumerate(_listed(message.get("tool_calls"), where), 1)]
    calls += [_call({"function": message["function_call"]}, 1, where)] if message.get("function_call") else []
    results: list[Turn] = []
    for part in _parts(message, where):
        kind = part.get("type", "text")
        if kind == "tool_result":
            said = tuple(_block(inner, where) for inner in _parts(part, where))
            failed = "the tool reported an error" if part.get("is_error") else None
            results.append(Turn("tool", said, call=_text(part.get("tool_use_id")), error=failed))
        elif kind == "tool_use" and "input" in part and role == "assistant":
            calls.append(_call({"id": part.get("id"), "function": part}, len(calls) + 1, where))
        else:
            blocks.append(_block(part, where))
    yield from results
    error = message.get("error")
    if isinstance(error, Mapping):
        error = error.get("message") or error.get("type")
    if blocks or calls or not results:
        yield Turn(
            role=role,
            blocks=tuple(blocks),
            calls=tuple(calls),
            call=_text(message.get("tool_call_id")) if role == "tool" else None,
            function=_text(message.get("function") or message.get("name")) if role == "tool" else None,
            error=_text(error),
            id=_text(message.get("id")),
            model=_text(message.get("model")),
        )


def _parts(message: Mapping[str, Any], where: str) -> list[Mapping[str, Any]]:
    beside = message.get("reasoning_content") or message.get("reasoning")
    thoughts: list[Mapping[str, Any]] = (
        [{"type": "reasoning", "reasoning": beside}] if isinstance(beside, str) and beside else []
    )
    content = _spelled(message.get("content"), message.get("role"))
    if content is None or content == "":
        return thoughts
    if isinstance(content, str):
        return [*thoughts, {"type": "text", "text": content}]
    parts = _listed(content, where)
    for part in parts:
        if not isinstance(part, (str, Mapping)):
            raise DataError(f"{where}: its content holds a {type(part).__name__}, expected text or blocks.")
    return [*thoughts, *({"type": "text", "text": p} if isinstance(p, str) else p for p in parts)]


def _spelled(content: Any, role: Any) -> Any:
    """What a tool returned as a value of its own, in JSON; everything else as it is."""
    if _ROLES.get(str(role)) != "tool":
        return content
    if isinstance(content, Mapping):
        return [content] if "type" in content else json.dumps(content, ensure_ascii=False)
    return json.dumps(content) if isinstance(content, (bool, int, float)) else content


def _block(part: Mapping[str, Any], where: str) -> Block:
    given = str(part.get("type", "text"))
    rest = {key: value for key, value in part.items() if key != "type" and value is not None}
    kind: BlockKind
    if given in _WORDS:
        kind, words = "text", rest.pop(_WORDS[given], "")
    elif given in _THOUGHTS:
        hidden = bool(rest.get("redacted")) or given == "redacted_thinking"
        kind, words = "reasoning", rest.get("summary", "") if hidden else rest.pop(_THOUGHTS[given], "")
    elif given in _OTHERS:
        kind, words = _OTHERS[given], ""
    else:
        known = ", ".join(sorted({*_WORDS, *_THOUGHTS, *_OTHERS, "tool_result"}))
        raise DataError(f"{where}: unknown block {given!r}, expected one of {known}; correct or remove it.")
    return Block(kind, str(words or ""), json_value(rest) if rest else None)


def _call(call: Any, number: int, where: str) -> ToolCall:
    if not isinstance(call, Mapping):
        raise DataError(f"{where}: tool call {number} is a {type(call).__name__}, expected an object.")
    inner = call.get("function")
    body: Mapping[str, Any] = inner if isinstance(inner, Mapping) else call
    name = body.get("name") if isinstance(inner, Mapping) else inner or call.get("name")
    if not name:
        raise DataError(f"{where}: tool call {number} names no function; add its name.")
    given: Any = next((body[key] for key in ("arguments", "input", "args") if body.get(key) is not None), {})
    arguments, fault = _arguments(given)
    stated = _text(call.get("parse_error"))
    return ToolCall(_text(call.get("id")) or f"call_{number}", str(name), arguments, stated or fault)


def _arguments(given: Any) -> tuple[dict[str, Any], str | None]:
    if isinstance(given, Mapping):
        return json_value(given), None
    try:
        body = json.loads(given) if given != "" else {}
    except (ValueError, TypeError, RecursionError):
        return {"arguments": str(given)}, "not valid JSON"
    return (json_value(body), None) if isinstance(body, dict) else ({"arguments": body}, "not a JSON object")


def _named_results(turns: list[Turn]) -> tuple[Turn, ...]:
    """Results that do not say their tool or call are given those of the calls that they answer."""
    named: list[Turn] = []
    names: dict[str, str] = {}
    waiting: list[ToolCall] = []
    for turn in turns:
        names |= {call.id: call.function for call in turn.calls}
        waiting = list(turn.calls) if turn.calls else waiting
        if turn.role == "tool":
            if turn.call is None and waiting:
                turn = replace(turn, call=waiting[0].id)
            waiting = [call for call in waiting if call.id != turn.call]
            if turn.function is None and turn.call is not None:
                turn = replace(turn, function=names.get(turn.call))
        named.append(turn)
    return tuple(named)


def _listed(value: Any, where: str) -> list[Any]:
    if value is None:
        return []
    if not isinstance(value, (list, tuple)):
        raise DataError(f"{where}: found a {type(value).__name__}, expected a list; correct it.")
    return list(value)


def _text(value: Any) -> str | None:
    return None if value is None or value == "" else str(value)
