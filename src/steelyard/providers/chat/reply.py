"""A chat-completions reply, taken apart with nothing taken for granted."""

from __future__ import annotations

import json
from typing import Any

from steelyard.errors import TransientError
from steelyard.providers.http.error_body import (
    clean_text,
    excerpt,
    finite_number,
    first_token_logprobs,
    token_count,
)
from steelyard.providers.http.http_client import malformed_response
from steelyard.trials.reply import Reply, Usage

PROTOCOL = "chat-completions"

_OPENED, _CLOSED = "<think>", "</think>"
"""Marks around thoughts, as open models write them."""

_THOUGHTS = frozenset(("reasoning", "reasoning_text", "summary_text", "thinking"))
"""Parts of a content in several that are no answer."""
_FINISH = {
    "length": "length",
    "max_tokens": "length",
    "model_length": "length",
    "content_filter": "filter",
    "refusal": "refusal",
}
_BROKEN_OFF = frozenset(("error", "abort", "insufficient_system_resource"))
"""Reasons of an end that is the server's fault: what it had written by then is no answer."""

_DEAREST_CALL = 10_000.0
"""Dollars; a larger bill for one call is a mistake of the server."""


def read_reply(body: dict[str, Any], where: str) -> Reply:
    """The reply in a parsed body; latency and effective parameters are the caller's to add."""
    try:
        return _read(body, where)
    except (ArithmeticError, AttributeError, LookupError, RecursionError, TypeError, ValueError) as error:
        raise _malformed(where, f"a body of unexpected shape ({type(error).__name__})") from error


def read_embedding(body: dict[str, Any], where: str) -> Reply:
    data = body.get("data")
    first = data[0] if isinstance(data, list) and data and isinstance(data[0], dict) else {}
    numbers = first.get("embedding")
    vector = [finite_number(number) for number in numbers] if isinstance(numbers, list) else []
    scores = tuple(number for number in vector if number is not None)
    if not scores or len(scores) < len(vector):
        raise _malformed(where, f"no embedding in {excerpt(json.dumps(body))!r}")
    served = body.get("model")
    return Reply(
        "",
        scores=scores,
        usage=_usage(body.get("usage")),
        served_model=clean_text(served) if isinstance(served, str) else None,
    )


def _malformed(where: str, finding: str) -> TransientError:
    return malformed_response(where, finding, PROTOCOL)


def _read(body: dict[str, Any], where: str) -> Reply:
    choices = body.get("choices")
    choice = _first(choices) if isinstance(choices, list) and choices else None
    message = choice.get("message", _unsaid(choice)) if isinstance(choice, dict) else None
    if not isinstance(choice, dict) or not isinstance(message, dict):
        raise _malformed(where, f"no choices in {excerpt(json.dumps(body))!r}")
    if choice.get("finish_reason") in _BROKEN_OFF:
        raise TransientError("server_error", f"{where}: the server broke off with an error; try again.")
    refusal = message.get("refusal")
    text = _spoken(_content(message.get("content"), where))
    if isinstance(refusal, str) and refusal:
        return _reply(text or refusal, "refusal", choice, body)
    return _reply(text, _FINISH.get(str(choice.get("finish_reason")), "stop"), choice, body)


def _unsaid(choice: dict[str, Any]) -> dict[str, Any] | None:
    """In place of a message that the server's filter has taken away altogether."""
    return {} if _FINISH.get(str(choice.get("finish_reason"))) == "filter" else None


def _spoken(text: str) -> str:
    """The answer after thoughts that a server leaves in the text; unfinished ones stay, and are no answer.

    A template that ends with the opening mark leaves it out of the reply; there the closing one ends a line.
    """
    thoughts, closed, answer = text.lstrip().partition(_CLOSED)
    prefilled = _OPENED not in thoughts and answer.startswith("\n")
    return answer if closed and (prefilled or thoughts.startswith(_OPENED)) else text


def _first(choices: list[Any]) -> Any:
    """The choice with index 0, wherever it stands; the one that stands first where none has it."""
    numbered = (c for c in choices if isinstance(c, dict) and type(c.get("index")) is int and c["index"] == 0)
    return next(numbered, choices[0])


def _reply(text: str, finish: str, choice: dict[str, Any], body: dict[str, Any]) -> Reply:
    served = body.get("model")
    return Reply(
        text=clean_text(text),
        logprobs=_logprobs(choice.get("logprobs")),
        usage=_usage(body.get("usage")),
        finish=finish,
        served_model=clean_text(served) if isinstance(served, str) else None,
    )


def _content(content: Any, where: str) -> str:
    """Text, null, or a list of parts."""
    if content is None:
        return ""
    if isinstance(content, list):
        spoken = (part for part in content if isinstance(part, dict) and part.get("type") not in _THOUGHTS)
        parts = [part.get("text") for part in spoken]
        return "".join(part for part in parts if isinstance(part, str))
    if not isinstance(content, str):
        raise _malformed(where, f"content {excerpt(repr(content))!r}")
    return content


def _usage(usage: Any) -> Usage:
    fields = usage if isinstance(usage, dict) else {}
    given, made = token_count(fields, "prompt_tokens"), token_count(fields, "completion_tokens")
    cached = token_count(fields.get("prompt_tokens_details"), "cached_tokens")
    reasoning = token_count(fields.get("completion_tokens_details"), "reasoning_tokens")
    # Some servers leave hidden reasoning out of the completion; the total gives it away.
    if reasoning and token_count(fields, "total_tokens") == given + made + reasoning:
        made += reasoning
    cached = cached or token_count(fields, "prompt_cache_hit_tokens")
    return Usage(given, made, cached, reasoning, billed=_billed(fields))


def _billed(usage: dict[str, Any]) -> float | None:
    """What a gateway says it charged; with a key of the user's own, the vendor behind it charges beside."""
    cost, details = finite_number(usage.get("cost")), usage.get("cost_details")
    if cost is None or not 0 <= cost <= _DEAREST_CALL:
        return None
    upstream = details.get("upstream_inference_cost") if isinstance(details, dict) else None
    beside = finite_number(upstream) if usage.get("is_byok") is True else None
    return cost + (beside if beside is not None and 0 <= beside <= _DEAREST_CALL else 0.0)


def _logprobs(logprobs: Any) -> dict[str, float] | None:
    return first_token_logprobs(logprobs.get("content")) if isinstance(logprobs, dict) else None
