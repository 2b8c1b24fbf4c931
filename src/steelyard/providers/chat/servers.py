"""Providers that speak chat completions: OpenAI, Azure OpenAI, and the servers that are known by name.

Shapes of Azure: "Azure OpenAI in Microsoft Foundry Models REST API" and "API version lifecycle" at
learn.microsoft.com/azure: the v1 address, which takes no version, and the older one by deployment.
"""

from __future__ import annotations

import os
from dataclasses import replace
from pathlib import Path

from pydantic import Field
from yarl import URL

from steelyard.errors import ConfigError
from steelyard.providers.batch_api import BatchApi, FileBatchApi, OpenAIBatchApi
from steelyard.providers.chat.completions import OPENAI, ChatCompletions
from steelyard.providers.chat.known_servers import KNOWN_SERVERS, KnownServer
from steelyard.providers.http.dialect import RequestField, ThinkingOptions
from steelyard.providers.http.endpoint import ServerDefaults
from steelyard.providers.provider_info import JudgeExample, Line
from steelyard.trials.judge import Judge


class OpenAIOptions(ThinkingOptions):
    base_url: Line | None = Field(default_factory=lambda: os.environ.get(OPENAI.url_variable) or None)


ACCOUNT = {"OpenAI_Organization": "OPENAI_ORG_ID", "OpenAI_Project": "OPENAI_PROJECT_ID"}
"""Headers that say whose account is billed, and the variables that hold them."""


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

    async def open(self) -> None:
        """Organization and project go to the vendor alone, or to a proxy on this machine."""
        endpoint = self.client.endpoint
        own = self.server.is_own(endpoint.base_url) or endpoint.is_local
        named = {header: os.environ.get(variable, "").strip() for header, variable in ACCOUNT.items() if own}
        await self.client.open(**{header: name for header, name in named.items() if name})

    def batch_api(self, folder: Path) -> BatchApi:
        del folder
        return OpenAIBatchApi(self.client)


AZURE_KEY, AZURE_URL, AZURE_VERSION = "AZURE_OPENAI_API_KEY", "AZURE_OPENAI_ENDPOINT", "OPENAI_API_VERSION"

PROXY_VERSION = "2024-10-21"
"""Version for an address without a path that is not Azure's: proxies serve the address by deployment."""
AZURE_HOSTS = r"[\w-]+\.(openai|cognitiveservices|services\.ai)\.azure\.(com|us|cn)"
"""Names that Azure gives to resources of models; under others of its domains lies what anybody runs there."""


class AzureOptions(ThinkingOptions):
    """Address and version may come from the environment; they are part of the judge all the same."""

    base_url: Line | None = Field(default_factory=lambda: os.environ.get(AZURE_URL) or None)
    api_version: Line | None = Field(default_factory=lambda: os.environ.get(AZURE_VERSION) or None)
    """Such as 2024-10-21; it leads to the older address, by deployment."""


class Azure(ChatCompletions):
    info = replace(
        ChatCompletions.info,
        options=AzureOptions,
        environment=(AZURE_KEY, AZURE_URL, AZURE_VERSION),
        examples=(
            JudgeExample(
                "azure/DEPLOYMENT?base_url=URL",
                f"a deployment of Azure OpenAI; needs {AZURE_KEY}; {AZURE_URL} is honoured",
            ),
        ),
    )

    @classmethod
    def server_for(cls, judge: Judge) -> ServerDefaults:
        place = judge.options.get("base_url")
        if not place:
            raise ConfigError(
                f"judge {judge.address}: no address; set the environment variable {AZURE_URL} to the "
                "resource's, such as https://NAME.openai.azure.com, or give base_url."
            )
        return ServerDefaults(str(place), AZURE_KEY, AZURE_URL, hosts=AZURE_HOSTS)

    async def open(self) -> None:
        await self.client.open("api-key", prefix="")

    def request_url(self) -> URL:
        base, version = self.client.endpoint.base_url, self.judge.options.get("api_version")
        parts = base.parts[1:]  # pages of the portal show whole addresses
        before = parts[: parts.index("openai")] if "openai" in parts else parts
        resource = base.origin().joinpath(*filter(None, before))
        if not version and base.path == "/" and not self.server_for(self.judge).is_own(base):
            version = PROXY_VERSION
        if version:
            place = resource.joinpath("openai", "deployments", self.judge.model, "chat", "completions")
            return place.with_query({"api-version": str(version)})
        return resource.joinpath("openai", "v1", "chat", "completions").with_query(base.query)


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
    try:
        return SERVERS[name]
    except KeyError:
        raise AttributeError(name) from None
