"""The seam to the world: a provider turns a Presentation into a Reply."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Protocol, runtime_checkable

from steelyard.registry import Registry
from steelyard.stimuli.stimulus import Stimulus
from steelyard.trials.judge import Judge
from steelyard.trials.presentation import Presentation
from steelyard.trials.reply import Reply


@runtime_checkable
class Provider(Protocol):
    """One connection to one judge's model.

    `ask` returns a Reply, or raises TransientError (worth another try), PermanentError (this call
    can not succeed), ProviderRefusedError (wrong key, unknown model: the run stops) or
    UnreachableError (nobody answers: the run stops).
    """

    concurrency: int
    """Calls that make sense at the same time; the runner's limit may be lower."""

    async def open(self) -> None:
        """Connect, load weights; called once before the first `ask`."""

    async def ask(self, presentation: Presentation) -> Reply:
        """Make one attempt at one call."""

    async def close(self) -> None:
        """Release what `open` took."""


@runtime_checkable
class Keyed(Protocol):
    """A provider that knows reference labels: a planted rater, never a model."""

    def learn(self, stimuli: Iterable[Stimulus]) -> None:
        """Take the labels of stimuli that will be shown."""


PROVIDERS: Registry[Provider] = Registry(
    "provider",
    {
        "openai": "steelyard.providers.chat_completions:ChatCompletions",
        "vllm": "steelyard.providers.chat_completions:ChatCompletions",
        "ollama": "steelyard.providers.chat_completions:ChatCompletions",
        "embedded": "steelyard.providers.embedded:Embedded",
        "planted": "steelyard.providers.planted:Planted",
        "recorded": "steelyard.providers.recorded:Recorded",
    },
)
"""Factories that take `judge=Judge`."""


def connect(judge: Judge) -> Provider:
    """The provider of a judge, not yet open."""
    return PROVIDERS.factory(judge.provider)(judge=judge)
