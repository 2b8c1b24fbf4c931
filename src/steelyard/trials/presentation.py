"""What a provider receives for one trial."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any

from steelyard.core.content_hash import canonical_json


@dataclass(frozen=True)
class Message:
    role: str
    """`system` or `user`."""
    content: str

    @cached_property
    def json_content(self) -> str:
        return canonical_json(self.content)


@dataclass(frozen=True)
class Slots:
    """The texts behind the messages, for judges that are not prompted."""

    request: str
    texts: tuple[str, ...]
    reference: str | None = None
    context: str | None = None
    metadata: str | None = None
    """JSON as the data has it."""
    rubric: str | None = None
    """The rubric as it is to be shown, where it is not the study's."""


@dataclass(frozen=True)
class Decoding:
    temperature: float | None = 0.0
    """None leaves it to the server."""
    max_tokens: int = 256
    seed: int | None = None
    extra: Mapping[str, Any] = field(default_factory=dict)
    """Further fields of the request body, as they are."""

    @cached_property
    def canonical(self) -> str:
        return canonical_json(self)


@dataclass(frozen=True)
class Presentation:
    """Rendered messages and, beside them, the slot texts; nothing about quality, label or level."""

    messages: tuple[Message, ...]
    slots: Slots
    answers: tuple[str, ...]
    decoding: Decoding
    wants: str = "text"
    """`json` asks for a JSON object, `logprobs` for the first token's alternatives, `text` for neither."""
    settings: Mapping[str, Any] = field(default_factory=dict)
    trial: str = ""
    """Opaque trial hash: idempotency key over HTTP, source of a planted judge's noise."""

    def without(self, secrets: Mapping[str, str], mark: str) -> tuple[Presentation, tuple[str, ...]]:
        """The same with these secrets struck from its messages, and the variables that hold them."""
        found = [key for key in secrets if any(key in message.content for message in self.messages)]
        if not found:
            return self, ()
        texts = [message.content for message in self.messages]
        for key in found:
            texts = [text.replace(key, mark) for text in texts]
        messages = (Message(old.role, text) for old, text in zip(self.messages, texts, strict=True))
        return replace(self, messages=tuple(messages)), tuple(dict.fromkeys(secrets[key] for key in found))
