"""Any part of a vendor's reply may be anything: what comes of it is a reply that can be kept, or garbled."""

from __future__ import annotations

import copy
import json
from collections.abc import Iterator
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from steelyard.errors import SteelyardError, TransientError
from steelyard.providers.http.http_client import HttpResponse
from steelyard.providers.http.http_provider import HttpProvider
from steelyard.providers.provider import connect
from steelyard.store.trials import reply_body, reply_from
from steelyard.trials.judge import Judge, Reply
from vendors import BODIES, PROTOCOLS, VENDORS

ANYTHING = st.recursive(
    st.none()
    | st.booleans()
    | st.integers(-(10**20), 10**20)
    | st.floats(allow_nan=True)
    | st.sampled_from(["", "STOP", "\ud800", "</think>", '{"winner": "1"}', "refusal", "0" * 50]),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=5), inner, max_size=3),
    max_leaves=6,
)

RICH: dict[str, dict[str, Any]] = {
    "anthropic": {"stop_details": {"explanation": "x"}, "content": [{"type": "thinking", "thinking": "h"}]},
    "google": {
        "promptFeedback": {"blockReason": "SAFETY"},
        "candidates": [
            {
                "content": {"parts": [{"text": "a", "thought": True}, {"text": "b"}]},
                "finishReason": "STOP",
                "logprobsResult": {
                    "chosenCandidates": [{"token": "a", "logProbability": -1}],
                    "topCandidates": [{"candidates": [{"token": "b", "logProbability": -2}]}],
                },
            }
        ],
    },
}


def paths(body: Any, above: tuple[Any, ...] = ()) -> Iterator[tuple[Any, ...]]:
    """Every place in a body."""
    inner = body.items() if isinstance(body, dict) else enumerate(body) if isinstance(body, list) else ()
    for key, value in inner:
        yield (*above, key)
        yield from paths(value, (*above, key))


def put(body: Any, path: tuple[Any, ...], value: Any) -> Any:
    spoilt = copy.deepcopy(body)
    place = spoilt
    for key in path[:-1]:
        place = place[key]
    place[path[-1]] = value
    return spoilt


def provider_of(name: str) -> HttpProvider:
    vendor = VENDORS[name]
    options = {"base_url": "http://127.0.0.1:1/v1"}
    provider = connect(Judge("j", name, vendor.model, PROTOCOLS, options=options))
    assert isinstance(provider, HttpProvider)
    return provider


@pytest.mark.slow
@pytest.mark.parametrize("name", VENDORS)
@settings(max_examples=60)
@given(data=st.data(), value=ANYTHING)
def test_a_spoilt_part_makes_a_sound_reply_or_a_garbled_one(
    name: str, data: st.DataObject, value: Any
) -> None:
    body = {**BODIES[name]('{"winner": "1"}', "stop"), **RICH.get(name, {})}
    spoilt = put(body, data.draw(st.sampled_from(sorted(paths(body), key=str))), value)
    try:
        reply = provider_of(name).parse_reply(HttpResponse(200, {}, json.dumps(spoilt), 1.0))
    except TransientError:
        return
    assert isinstance(reply, Reply)
    assert reply.finish in ("stop", "length", "refusal", "filter", "other")
    usage = reply.usage
    counts = (usage.input_tokens, usage.output_tokens, usage.cached_tokens, usage.reasoning_tokens)
    assert all(0 <= count <= 2 * 10**12 for count in counts)
    assert reply_from(reply_body(reply), reply.latency_ms) == reply


REFUSAL = {
    "type": "error",
    "message": "no",
    "error": {
        "type": "x",
        "code": 400,
        "message": "no temperature",
        "status": "INVALID",
        "param": "temperature",
        "details": [{"reason": "r", "retryDelay": "3s"}, {"error_code": "e"}],
    },
}


@settings(max_examples=60)
@given(
    place=st.sampled_from(sorted(paths(REFUSAL), key=str)),
    value=ANYTHING,
    status=st.sampled_from([302, 400, 401, 404, 413, 422, 424, 429, 500, 529]),
)
def test_a_spoilt_refusal_is_an_error_of_ours(place: tuple[Any, ...], value: Any, status: int) -> None:
    answer = HttpResponse(status, {}, json.dumps(put(REFUSAL, place, value)), 1.0)
    with pytest.raises(SteelyardError):
        provider_of("google").client.reply_or_raise(answer)
