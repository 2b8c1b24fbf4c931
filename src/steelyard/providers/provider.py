"""The interface of a provider, which turns a Presentation into a Reply, and the registry of providers."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import cache
from typing import ClassVar, Protocol, runtime_checkable

from steelyard.core.registry import Registry
from steelyard.errors import ConfigError, SteelyardError
from steelyard.providers.provider_info import Destination, HasDestination, JudgeExample, ProviderInfo
from steelyard.providers.vendors.known_servers import KNOWN_SERVERS
from steelyard.stimuli.stimulus import Stimulus
from steelyard.trials.judge import Judge, Presentation, Reply


@runtime_checkable
class Provider(Protocol):
    """One connection to one judge's model.

    `ask` returns a Reply, or raises TransientError (worth another try), PermanentError (this call
    can not succeed), ProviderRefusedError (wrong key, unknown model: the run stops) or
    UnreachableError (nobody answers: the run stops).
    """

    info: ClassVar[ProviderInfo]
    """What this provider is; no other module knows a provider by name."""

    concurrency: int
    """Calls that make sense at the same time; the runner's limit may be lower."""

    async def open(self) -> None:
        """Connect, load weights; called once before the first `ask`."""

    async def ask(self, presentation: Presentation) -> Reply:
        """Make one attempt at one call."""

    async def close(self) -> None:
        """Release what `open` took."""


@runtime_checkable
class HasEndpoint(Protocol):
    """A provider whose judges may share a server."""

    @property
    def endpoint(self) -> str:
        """The address; judges with the same one share its limits."""


@runtime_checkable
class KeepsConnections(Protocol):
    """A provider that may find a reply to be that to another call after it has handed it out."""

    def keep_connections(self, suspects: Sequence[str] = ()) -> None:
        """Use connections for more than one call; for callers who withdraw what is condemned.

        The replies to `suspects` were never checked: they are condemned as soon as the server repeats one.
        """

    def take_checks(self) -> tuple[list[str], list[str]]:
        """Trials whose replies may be those to others, and those whose replies are their own, each once."""

    async def rest(self) -> None:
        """Wait until nothing that was answered so far can be condemned; no call may be under way."""


@runtime_checkable
class SyncProvider(Protocol):
    """A provider that answers without waiting, so that many calls are one step of the event loop."""

    def reply(self, presentation: Presentation) -> Reply:
        """What `ask` returns or raises."""


@runtime_checkable
class SupportsLabels(Protocol):
    """A provider that knows reference labels: a planted rater, never a model."""

    def set_labels(self, stimuli: Iterable[Stimulus]) -> None:
        """Take the labels of stimuli that will be shown."""


@runtime_checkable
class SupportsReplay(Protocol):
    """A provider that answers from a recording."""

    def set_replies(self, answers: Mapping[str, str]) -> None:
        """Take the recorded answers of trials that will be shown, by the hash in their presentation."""


PROVIDERS: Registry[Provider] = Registry(
    "provider",
    {
        "embedded": "steelyard.providers.embedded.embedded:Embedded",
        "openai": "steelyard.providers.vendors.completions:OpenAI",
        "anthropic": "steelyard.providers.vendors.anthropic:Anthropic",
        "google": "steelyard.providers.vendors.google:Google",
        "bedrock": "steelyard.providers.vendors.bedrock:Bedrock",
        "azure": "steelyard.providers.vendors.completions:Azure",
        **{known.name: f"steelyard.providers.vendors.completions:{known.name}" for known in KNOWN_SERVERS},
        "inspect": "steelyard.providers.vendors.inspect_bridge:InspectBridge",
        "python": "steelyard.providers.function.python_function:PythonFunction",
        "promptfoo": "steelyard.providers.function.promptfoo:PromptfooJudge",
        "recorded": "steelyard.providers.recorded:RecordedProvider",
        "planted": "steelyard.providers.planted.planted_judges:Planted",
    },
    "any server of chat completions, a proxy of litellm too, is openai/NAME?base_url=URL; ",
)
"""Factories that take `judge=Judge` and have `info`, in the order in which they are listed."""


def provider_info(provider: str) -> ProviderInfo:
    """What the provider of this name is."""
    info = getattr(_factory(provider), "info", None)
    return info if isinstance(info, ProviderInfo) else ProviderInfo()


def model_info(address: str) -> ProviderInfo:
    """What the model `provider/model` is."""
    provider, _, model = address.partition("/")
    return provider_info(provider).for_model(model)


def sends_schema(provider: str) -> bool:
    """Whether the provider sends a schema of the answer beside the messages; vendors count its tokens."""
    return any(each.name == "response_format" for each in getattr(_factory(provider), "fields", ()))


def provider_flags(address: str) -> dict[str, bool]:
    """What a report needs of a provider, for the frozen study: a plug-in may be gone by then."""
    info = model_info(address)
    return {"free": info.free, "prompted": info.uses_prompt, "code": info.is_code}


def provider_flag(judge: Judge, name: str) -> bool:
    """A flag as it was frozen with the judge, else as the provider says it."""
    return judge.traits[name] if name in judge.traits else provider_flags(judge.address)[name]


def shows_question(judge: Judge) -> bool:
    """Whether a model that it asks is shown instruction and rubric."""
    return any(provider_flag(one, "prompted") for one in judge.leaf_judges)


def examples_of(provider: str) -> Iterable[JudgeExample]:
    """How judges of a provider are written; where it has no examples, from its docstring."""
    try:
        examples = list(provider_info(provider).every_example())
        words = (inspect.getdoc(_factory(provider)) or "").partition("\n")[0]
    except ConfigError as error:
        return [JudgeExample(f"{provider}/NAME", str(error))]
    return examples or [JudgeExample(f"{provider}/NAME", words)]


def connect(judge: Judge) -> Provider:
    """The provider of a judge, not yet open."""
    return _factory(judge.provider)(judge=judge)


def destinations(judges: Iterable[Judge]) -> dict[str, Destination]:
    """Where the calls of each judge go; judges whose calls stay in this process are left out."""
    providers = {one.name: connect(one) for judge in judges for one in judge.leaf_judges}
    return {name: one.destination for name, one in providers.items() if isinstance(one, HasDestination)}


def _factory(provider: str) -> Callable[..., Provider]:
    """The class of a provider; a package that can not be imported raises a ConfigError."""
    try:
        return _with_schemas(PROVIDERS.factory(provider))
    except SteelyardError:
        raise
    except Exception as error:
        raise ConfigError(
            f"provider {provider!r} cannot be imported ({type(error).__name__}: {error}); mend or remove the "
            "package that brings it."
        ) from error


@cache
def _with_schemas(factory: Callable[..., Provider]) -> Callable[..., Provider]:
    """Schemas of options are built when first used: here, where a package that is at fault is told."""
    if isinstance(info := getattr(factory, "info", None), ProviderInfo):
        for each in (info, *info.models.values()):
            each.options.model_rebuild()
            each.settings.model_rebuild()
    return factory
