"""One question to a model that writes or checks stimuli: the twin of a trial, outside the measurement."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import TypeAlias

from steelyard.core.content_hash import canonical_json, content_hash, hash_json
from steelyard.trials.judge import Judge
from steelyard.trials.presentation import Decoding, Message, Presentation, Slots
from steelyard.trials.trial import Trial

AUTHOR = "author"
VALIDATOR = "validator"
EMBEDDER = "embedder"
PLANNER, EDITOR, SUMMARIZER, VERIFIER = EDITING_ROLES = ("planner", "editor", "summarizer", "verifier")
"""Edit runs of agents: say what to edit, edit a message, sum up the rest, grade what came of it."""


@dataclass(frozen=True)
class Exchange:
    role: str
    """`author`, `validator`, `embedder`, or one of `EDITING_ROLES`."""
    judge: Judge
    protocol: str
    brief: str
    """Name of the stimulus that is wanted; never in the prompt."""
    messages: tuple[Message, ...]
    decoding: Decoding
    slots: Slots
    attempt: int = 0
    answers: tuple[str, ...] = ()
    wants: str = "text"
    """`json` where the answer has a schema, `embedding` where it is a vector."""

    @cached_property
    def prompt_hash(self) -> str:
        return hash_json(self.prompt_body)

    @property
    def prompt_body(self) -> str:
        return canonical_json({"messages": self.messages, "decoding": self.decoding})

    @cached_property
    def key(self) -> str:
        return exchange_key(self.role, self.judge.fingerprint(self.protocol), self.prompt_hash, self.attempt)

    @property
    def characters(self) -> int:
        return sum(len(message.content) for message in self.messages)

    @property
    def item(self) -> str:
        """What is asked about; calls on one item may fail alike."""
        return self.brief

    @property
    def prefix(self) -> tuple[str, ...]:
        return tuple(message.content for message in self.messages)

    def presentation(self) -> Presentation:
        return Presentation(
            messages=self.messages,
            slots=self.slots,
            answers=self.answers,
            decoding=self.decoding,
            wants=self.wants,
            trial=self.key.removeprefix("sha256:"),
        )


Call: TypeAlias = Trial | Exchange


def exchange_key(role: str, fingerprint: str, prompt: str, attempt: int) -> str:
    return content_hash([role, fingerprint, prompt, attempt])
