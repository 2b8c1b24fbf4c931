"""Replies and failures as they lie in the file."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from steelyard.identity import canonical_text, digest_of, plain
from steelyard.trials.reply import Reply, Usage


@dataclass(frozen=True)
class StoredReply:
    """A reply as it lies in the file."""

    reply: Reply
    attempts: int
    received: float


@dataclass(frozen=True)
class StoredFailure:
    """The last failure of a call that has no reply."""

    reason: str
    message: str
    attempts: int


def reply_body(reply: Reply) -> str:
    """What is hashed and kept, as canonical JSON; the latency has a column of its own."""
    body = {
        "type": type(reply).__name__,
        **vars(reply),
        "usage": {"type": type(reply.usage).__name__, **vars(reply.usage)},
        "logprobs": plain(reply.logprobs),
        "effective": plain(reply.effective),
    }
    del body["latency_ms"]
    if reply.usage.billed is None:
        del body["usage"]["billed"]
    return canonical_text(body)


def reply_digest(key: str, body: str) -> str:
    """Content hash of a call's key and the body of its reply; a key's spelling needs no care."""
    return digest_of(f'["{key}",{canonical_text(body)}]')


def reply_from(body: dict[str, Any], latency_ms: float) -> Reply:
    """The inverse of `reply_body`."""
    usage = {key: value for key, value in body["usage"].items() if key != "type"}
    scores = body["scores"]
    rest = {key: value for key, value in body.items() if key not in ("type", "usage", "scores")}
    return Reply(
        **rest, usage=Usage(**usage), scores=None if scores is None else tuple(scores), latency_ms=latency_ms
    )
