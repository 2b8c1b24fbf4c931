"""Providers of the chat-completions servers that are known by name."""

from __future__ import annotations

import os
from dataclasses import replace
from pathlib import Path

from pydantic import Field

from steelyard.providers.batch.batch_api import BatchApi
from steelyard.providers.batch.openai import FileBatchApi, OpenAIBatchApi
from steelyard.providers.chat.completions import OPENAI, ChatCompletions
from steelyard.providers.chat.known_servers import KNOWN_SERVERS, KnownServer
from steelyard.providers.http.dialect import RequestField, ThinkingOptions
from steelyard.providers.http.endpoint import ServerDefaults
from steelyard.providers.options import Line
from steelyard.providers.provider_info import JudgeExample


class OpenAIOptions(ThinkingOptions):
    """The address may come from the environment; it is field of the judge all the same."""

    base_url: Line | None = Field(default_factory=lambda: os.environ.get(OPENAI.url_variable) or None)


class OpenAI(ChatCompletions):
    server = OPENAI
    info = replace(
        ChatCompletions.info,
        options=OpenAIOptions,
        batch=True,
        batch_price=0.5,
        environment=(OPENAI.key_variable, OPENAI.url_variable),
        examples=(
            JudgeExample(
                "openai/NAME", "chat completions; needs OPENAI_API_KEY; OPENAI_BASE_URL is honoured"
            ),
            JudgeExample("openai/NAME?base_url=URL", "any chat-completions server"),
        ),
    )

    def batch_api(self, folder: Path) -> BatchApi:
        del folder
        return OpenAIBatchApi(self.client)


class FileBatchServer(ChatCompletions):
    info = replace(ChatCompletions.info, batch=True)

    def batch_api(self, folder: Path) -> BatchApi:
        return FileBatchApi(folder, self.client.where, self.judge.model)


def provider_of(known: KnownServer) -> type[ChatCompletions]:
    base = FileBatchServer if known.has_file_batches else ChatCompletions
    info = replace(
        base.info,
        free=known.local,
        prices=known.prices,
        environment=() if known.local else (known.key_variable,),
        examples=(JudgeExample(f"{known.name}/NAME", known.meaning),),
    )
    server = ServerDefaults(known.url, known.key_variable)
    members = {"__doc__": f"Models of {known.title}.", "server": server, "info": info}
    return type(known.title.replace(" ", ""), (base,), members | {"fields": _fields(known)})


def _fields(known: KnownServer) -> tuple[RequestField, ...]:
    return tuple(
        replace(
            field, forms=(name, *field.forms[1:]), error_names=(name.partition(".")[0], *field.error_names)
        )
        if name
        else field
        for field in ChatCompletions.fields
        for name in (known.field_names.get(field.name),)
    )


SERVERS = {known.name: provider_of(known) for known in KNOWN_SERVERS}


def __getattr__(name: str) -> type[ChatCompletions]:
    """A provider of the table by its name, as the registry asks for it."""
    try:
        return SERVERS[name]
    except KeyError:
        raise AttributeError(name) from None
