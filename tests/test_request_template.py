"""What goes out is, byte for byte, the JSON of the request, whatever of it was spelled before."""

from __future__ import annotations

import json
from dataclasses import replace
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from steelyard.providers.chat.completions import ChatCompletions
from steelyard.providers.chat.servers import OpenAI
from steelyard.providers.http.dialect import Dialect
from steelyard.providers.http.http_provider import HttpProvider, request_template
from steelyard.providers.provider import connect
from steelyard.providers.vendors.anthropic import Anthropic
from steelyard.trials.judge import Judge
from steelyard.trials.presentation import Decoding, Message, Presentation, Slots
from vendors import PROTOCOLS

MODELS = {
    "openai": "gpt-4o",
    "azure": "mine",
    "groq": "llama",
    "anthropic": "claude-sonnet-4-5",
    "google": "gemini-2.5-flash",
    "bedrock": "amazon.nova-pro-v1:0",
}
words = st.text(max_size=30) | st.sampled_from(
    [
        "\x01message 0\x01",
        '"\\u0001message 1\\u0001"',
        "\ud800",
        "é — 好",
        '{"a": [1, "b"]}',
        "\\",
        "a\nb\t\x00",
    ]
)
messages = st.lists(st.builds(Message, st.sampled_from(["system", "user"]), words), min_size=1, max_size=3)
decodings = st.builds(
    Decoding,
    temperature=st.none() | st.sampled_from([0.0, 0.7]),
    max_tokens=st.integers(1, 999),
    seed=st.none() | st.integers(0, 2**31),
    extra=st.sampled_from([{}, {"top_p": 0.5}, {"messages": []}, {"note": "\x01message 0\x01"}]),
)


def provider_of(name: str) -> HttpProvider:
    options = {"base_url": "http://127.0.0.1:1/v1"}
    provider = connect(Judge("j", name, MODELS[name], PROTOCOLS, options=options))
    assert isinstance(provider, HttpProvider)
    return provider


def shown(said: list[Message], decoding: Decoding, wants: str = "json") -> Presentation:
    return Presentation(tuple(said), Slots("r", ("a", "b")), ("1", "2", "tie"), decoding, wants)


def sent(provider: HttpProvider, presentation: Presentation, dialect: Dialect) -> bytes:
    body = provider._body(presentation, dialect)
    return body if isinstance(body, bytes) else json.dumps(body).encode()


@pytest.mark.parametrize("name", MODELS)
@settings(max_examples=25, deadline=None)
@given(
    several=st.lists(messages, min_size=1, max_size=4),
    decoding=decodings,
    wants=st.sampled_from(["json", "text", "logprobs"]),
)
def test_every_body_is_the_json_of_its_request(
    name: str, several: list[list[Message]], decoding: Decoding, wants: str
) -> None:
    """Calls of one manner after each other, so that the later ones find the frame of the first."""
    provider = provider_of(name)
    assert provider.template_safe
    for said in several:
        for dialect in (Dialect(), Dialect({"response_format": 1, "temperature": 1})):
            presentation = shown(said, decoding, wants)
            expected = json.dumps(provider.build_request(presentation, dialect)).encode()
            assert sent(provider, presentation, dialect) == expected


def test_a_prompt_of_two_messages_has_a_frame_with_every_vendor() -> None:
    said = [Message("system", "Judge."), Message("user", "Which?")]
    for name in MODELS:
        assert isinstance(provider_of(name)._body(shown(said, Decoding()), Dialect()), bytes)


def test_texts_that_are_joined_or_left_out_have_none() -> None:
    twice = [Message("system", "Judge."), Message("system", "Be fair."), Message("user", "Which?")]
    silent = [Message("system", ""), Message("user", "Which?")]
    provider = provider_of("anthropic")
    assert isinstance(provider._body(shown(twice, Decoding()), Dialect()), dict)
    assert isinstance(provider._body(shown(silent, Decoding()), Dialect()), dict)
    assert "system" not in json.loads(sent(provider, shown(silent, Decoding()), Dialect()))
    assert request_template(lambda _: {"messages": "none of them"}, twice) is None


def test_who_spells_requests_anew_says_anew_whether_they_are_verbatim() -> None:
    class Loud(OpenAI):
        def build_request(self, presentation: Presentation, dialect: Dialect) -> dict[str, Any]:
            loud = tuple(replace(m, content=m.content.upper()) for m in presentation.messages)
            return super().build_request(replace(presentation, messages=loud), dialect)

    class Louder(Loud):
        pass

    class Faithful(Anthropic):
        pass

    assert all(kind.template_safe for kind in (ChatCompletions, OpenAI, Faithful))
    assert not any(kind.template_safe for kind in (Loud, Louder, HttpProvider))
    judge = Judge("j", "openai", "m", PROTOCOLS, options={"base_url": "http://127.0.0.1:1/v1"})
    body = json.loads(sent(Louder(judge), shown([Message("user", "which?")], Decoding()), Dialect()))
    assert body["messages"] == [{"role": "user", "content": "WHICH?"}]
