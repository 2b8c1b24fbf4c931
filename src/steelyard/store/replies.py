"""Replies and failures as they lie in the file."""

from __future__ import annotations

import json
from dataclasses import dataclass
from functools import lru_cache
from math import isfinite
from typing import Any

from steelyard.core.arrays import Digests, Floats, Ints
from steelyard.core.content_hash import canonical_json
from steelyard.trials.reply import Reply, Usage

SHORT = 500
"""Letters of a body that is likely to come again."""
_WORDS = {None: "null", True: "true", False: "false"}


@dataclass(frozen=True, slots=True)
class StoredReply:
    reply: Reply
    attempts: int
    received: float


@dataclass(frozen=True, eq=False)
class ReplyColumns:
    key: Digests
    contents: tuple[Reply, ...]
    content: Ints
    latency_ms: Floats
    received: Floats


@dataclass(frozen=True, eq=False)
class FailureColumns:
    key: Digests
    reasons: tuple[str, ...]
    reason: Ints


@dataclass(frozen=True)
class StoredFailure:
    reason: str
    message: str
    attempts: int


def reply_body(reply: Reply) -> str:
    """What is hashed and kept, as canonical JSON; the latency has a column of its own.

    Which fields there are, and in which order, is known: an encoder would take ten times as long to find out.
    """
    return (
        f'{{"effective":{_value(reply.effective)},"finish":{_value(reply.finish)},'
        f'"logprobs":{_value(reply.logprobs)},"scores":{_value(reply.scores)},'
        f'"served_model":{_value(reply.served_model)},"text":{_value(reply.text)},"type":"Reply",'
        f'"usage":{_usage_body(reply.usage)}}}'
    )


def _usage_body(usage: Usage) -> str:
    billed = "" if usage.billed is None else f'"billed":{_value(usage.billed)},'
    dollars = "" if usage.dollars is None else f'"dollars":{_value(usage.dollars)},'
    requests = f'"requests":{usage.requests},' if usage.requests else ""
    return (
        f'{{"batched":{_value(usage.batched)},{billed}"cache_write_tokens":{_value(usage.cache_write_tokens)},'
        f'"cached_tokens":{_value(usage.cached_tokens)},{dollars}"input_tokens":{_value(usage.input_tokens)},'
        f'"output_tokens":{_value(usage.output_tokens)},"reasoning_tokens":{_value(usage.reasoning_tokens)},'
        f'{requests}"type":"Usage"}}'
    )


def _value(value: Any) -> str:
    if type(value) is int or (type(value) is float and isfinite(value)):
        return repr(value)
    if value is None or value is True or value is False:
        return _WORDS[value]
    return "{}" if value == {} else canonical_json(value)


def reply_from(body: str, latency_ms: float) -> Reply:
    fields = _fields(body) if len(body) <= SHORT else _fields.__wrapped__(body)
    return Reply(**fields, latency_ms=latency_ms)


@lru_cache(maxsize=16_384)
def _fields(body: str) -> dict[str, Any]:
    parsed = json.loads(body)
    usage = {key: value for key, value in parsed["usage"].items() if key != "type"}
    scores = parsed["scores"]
    rest = {key: value for key, value in parsed.items() if key not in ("type", "usage", "scores")}
    return {**rest, "usage": Usage(**usage), "scores": None if scores is None else tuple(scores)}
