"""Render a prompt: filled and hashed once for all repeats and judges that put the question alike."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cache, cached_property, lru_cache
from typing import Any

from steelyard.core.content_hash import canonical_json, hash_json
from steelyard.tasks.scale import Ordinal, Pairwise
from steelyard.tasks.task import Task
from steelyard.trials.expected_tokens import expected_tokens
from steelyard.trials.presentation import Message
from steelyard.trials.prompt import PromptTemplate

CACHE_SIZE = 16_384
"""Rendered prompts kept for judges and repeats that are still to come; trials hold theirs all the same."""


@dataclass(frozen=True)
class RenderedPrompt:
    """The messages of a prompt; what is said of them is worked out once."""

    messages: tuple[Message, ...]
    _hashes: dict[str, str] = field(default_factory=dict, compare=False, repr=False)

    def body(self, decoding: str) -> str:
        return f'{{"decoding":{decoding},"messages":{self._canonical}}}'

    def hash(self, decoding: str) -> str:
        if decoding not in self._hashes:
            self._hashes[decoding] = hash_json(self.body(decoding))
        return self._hashes[decoding]

    @cached_property
    def characters(self) -> int:
        return sum(len(message.content) for message in self.messages)

    @cached_property
    def tokens(self) -> float:
        return sum(expected_tokens(message.content) for message in self.messages)

    @property
    def _canonical(self) -> str:
        return f"[{','.join(_spelled(message) for message in self.messages)}]"


def _spelled(message: Message) -> str:
    return f'{{"content":{message.json_content},"role":{_role(message.role)},"type":"Message"}}'


_role = cache(canonical_json)


@dataclass(frozen=True)
class PromptInputs:
    """What fills a prompt beside the question itself."""

    request: str
    texts: tuple[str, ...]
    reference: str = ""


@lru_cache(maxsize=CACHE_SIZE)
def render_prompt(
    templates: tuple[tuple[str, PromptTemplate], ...], asked: Task, shown: PromptInputs
) -> RenderedPrompt:
    """The templates, each with its role, filled with a question and what it is about."""
    values = _values(asked, shown)
    return RenderedPrompt(tuple(Message(role, template.render(values)) for role, template in templates))


def _values(asked: Task, shown: PromptInputs) -> Mapping[str, Any]:
    values: dict[str, Any] = {
        "instruction": asked.instruction,
        "request": shown.request,
        "rubric": asked.rubric,
        "reference": shown.reference,
    }
    scale = asked.scale
    if isinstance(scale, Pairwise):
        values["first"], values["second"] = shown.texts
        return values
    low, high = (scale.low, scale.high) if isinstance(scale, Ordinal) else (0, 1)
    text = shown.texts[0]
    return values | {"response": text, "transcript": text, "low": low, "high": high}
