"""Azure OpenAI: chat completions under a resource's own address, with its key in a header of its own.

Shapes: "Azure OpenAI in Microsoft Foundry Models REST API" and "API version lifecycle" at
learn.microsoft.com/azure: the v1 address, which takes no version, and the older one by deployment.
"""

from __future__ import annotations

import os
from dataclasses import replace

from pydantic import Field
from yarl import URL

from steelyard.errors import ConfigError
from steelyard.providers.chat.completions import ChatCompletions
from steelyard.providers.http.dialect import ThinkingOptions
from steelyard.providers.http.endpoint import ServerDefaults
from steelyard.providers.options import Line
from steelyard.providers.provider_info import JudgeExample
from steelyard.trials.judge import Judge

KEY, PLACE, VERSION = "AZURE_OPENAI_API_KEY", "AZURE_OPENAI_ENDPOINT", "OPENAI_API_VERSION"
"""Environment variables of the key, of the resource's address, and of the version of the older address."""


class AzureOptions(ThinkingOptions):
    """Address and version may come from the environment; they are part of the judge all the same."""

    base_url: Line | None = Field(default_factory=lambda: os.environ.get(PLACE) or None)
    api_version: Line | None = Field(default_factory=lambda: os.environ.get(VERSION) or None)
    """Such as 2024-10-21; it leads to the older address, by deployment."""


class Azure(ChatCompletions):
    info = replace(
        ChatCompletions.info,
        options=AzureOptions,
        environment=(KEY, PLACE, VERSION),
        examples=(
            JudgeExample(
                "azure/DEPLOYMENT?base_url=URL",
                f"a deployment of Azure OpenAI; needs {KEY}; {PLACE} is honoured",
            ),
        ),
    )

    @classmethod
    def server_for(cls, judge: Judge) -> ServerDefaults:
        """The resource of the judge, which needs its key wherever it is."""
        place = judge.options.get("base_url")
        if not place:
            raise ConfigError(
                f"judge {judge.address}: no address; set the environment variable {PLACE} to the resource's, "
                "such as https://NAME.openai.azure.com, or give base_url."
            )
        return ServerDefaults(str(place), KEY)

    async def open(self) -> None:
        await self.client.open("api-key", prefix="")

    def request_url(self) -> URL:
        """Where calls go: the address by deployment where there is a version, else that without."""
        base, version = self.client.endpoint.base_url, self.judge.options.get("api_version")
        parts = base.parts[1:]  # pages of the portal show whole addresses
        before = parts[: parts.index("openai")] if "openai" in parts else parts
        resource = base.origin().joinpath(*filter(None, before))
        if version:
            place = resource.joinpath("openai", "deployments", self.judge.model, "chat", "completions")
            return place.with_query({"api-version": str(version)})
        return resource.joinpath("openai", "v1", "chat", "completions").with_query(base.query)
