"""Chat-completions servers that are known by name: where each listens and what it reads."""

from __future__ import annotations

import os
from dataclasses import replace

from pydantic import Field

from steelyard.providers.chat_completions import OPENAI, ChatCompletions
from steelyard.providers.http_endpoint import Server
from steelyard.providers.options import Line, WireOptions
from steelyard.providers.traits import Example


class OpenAIOptions(WireOptions):
    """The address may come from the environment; it is part of the judge all the same."""

    base_url: Line | None = Field(default_factory=lambda: os.environ.get(OPENAI.url_variable) or None)


class OpenAI(ChatCompletions):
    """OpenAI, and any server that speaks its chat completions."""

    server = OPENAI
    traits = replace(
        ChatCompletions.traits,
        options=OpenAIOptions,
        environment=(OPENAI.key_variable, OPENAI.url_variable),
        examples=(
            Example("openai/NAME", "chat completions; needs OPENAI_API_KEY; OPENAI_BASE_URL is honoured"),
            Example("openai/NAME?base_url=URL", "any chat-completions server"),
        ),
    )


class VLLM(ChatCompletions):
    """A vLLM server of the user's own."""

    server = Server("http://127.0.0.1:8000/v1")
    traits = replace(
        ChatCompletions.traits,
        free=True,
        examples=(Example("vllm/NAME", f"a vLLM server, {server.url} unless base_url says otherwise"),),
    )


class Ollama(ChatCompletions):
    """An Ollama server of the user's own."""

    server = Server("http://127.0.0.1:11434/v1")
    traits = replace(
        ChatCompletions.traits,
        free=True,
        examples=(Example("ollama/NAME", f"an Ollama server, {server.url} unless base_url says otherwise"),),
    )
