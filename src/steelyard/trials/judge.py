"""A judge, what its provider receives for one trial, and the raw reply.

The instrument is a provider's model with its prompts, rubric, decoding and reader.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any

from steelyard.core.content_hash import canonical_json, content_hash
from steelyard.core.registry import Spec
from steelyard.trials.prompt import Message, PromptTemplate


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
    """How a model samples; all of it enters the fingerprint of a judge."""

    temperature: float | None = 0.0
    """None leaves it to the server."""
    max_tokens: int = 256
    seed: int | None = None
    extra: Mapping[str, Any] = field(default_factory=dict)
    """Further fields of the request body, as they are."""

    @cached_property
    def canonical(self) -> str:
        """As it is hashed."""
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


@dataclass(frozen=True)
class Usage:
    """Tokens as the provider counted them."""

    input_tokens: int = 0
    """Tokens of the prompt."""
    output_tokens: int = 0
    """Tokens of the answer, hidden reasoning included."""
    cached_tokens: int = 0
    """Tokens of the prompt that came from the provider's cache."""
    reasoning_tokens: int = 0
    """Tokens of the answer that nobody sees: the model's thoughts."""
    cache_write_tokens: int = 0
    """Tokens of the prompt that were put into the provider's cache, at a price of their own."""
    batched: bool = False
    """Paid at the lower price of a batch."""
    billed: float | None = None
    """Dollars that the server says it charged; None where it does not say."""
    dollars: float | None = None
    """Dollars by the price at the moment of the call; None where none was known, or all is free."""
    requests: int = 0
    """HTTP requests that a Python judge made for the verdict; 0 where there were none, or nobody counted."""

    @property
    def prompt(self) -> Usage:
        """The prompt's share: the same without an answer."""
        return Usage(
            self.input_tokens,
            cached_tokens=self.cached_tokens,
            cache_write_tokens=self.cache_write_tokens,
            batched=self.batched,
        )

    @property
    def unbilled(self) -> Usage:
        """The same without dollars: to be paid as it was counted, by the price list of today."""
        return replace(self, billed=None, dollars=None)

    def plus(self, other: Usage) -> Usage:
        """With what a reply to the same call used that was thrown away."""
        known = self.billed is not None and other.billed is not None
        billed = (self.billed or 0.0) + (other.billed or 0.0) if known else None
        return replace(self, **_tokens((self, other)), billed=billed)

    @property
    def parts(self) -> tuple[Usage, ...]:
        """One for each call that was paid for."""
        return (self,)

    def each(self, judge: str) -> tuple[tuple[str, Usage], ...]:
        """The calls that were paid for, with the judge that was asked: this one."""
        return ((judge, self),)


_KINDS = tuple(name for name in vars(Usage()) if name.endswith("_tokens"))


def _tokens(used: Sequence[Usage]) -> dict[str, Any]:
    """The sum of each kind of token."""
    return {name: sum(getattr(usage, name) for usage in used) for name in _KINDS}


@dataclass(frozen=True)
class CommonUsage(Usage):
    """Tokens of all calls behind one verdict."""

    calls: tuple[tuple[str, Usage], ...] = ()
    """Judge and tokens of each; their sums are the fields above."""

    @classmethod
    def of(cls, calls: Iterable[tuple[str, Usage]]) -> CommonUsage:
        """The tokens of several calls together."""
        every = tuple(calls)
        used = [usage for _, usage in every]
        batched, requests = all(usage.batched for usage in used), sum(usage.requests for usage in used)
        return cls(**_tokens(used), batched=bool(used) and batched, requests=requests, calls=every)

    @property
    def prompt(self) -> Usage:
        """The prompts' share of every call, still with who was asked."""
        return CommonUsage.of((judge, usage.prompt) for judge, usage in self.calls)

    @property
    def unbilled(self) -> Usage:
        """Every call without what its server says it charged."""
        return CommonUsage.of((judge, usage.unbilled) for judge, usage in self.calls)

    @property
    def parts(self) -> tuple[Usage, ...]:
        """One for each call, still with who was asked."""
        return tuple(CommonUsage.of([call]) for call in self.calls)

    def each(self, judge: str) -> tuple[tuple[str, Usage], ...]:
        """The calls that were paid for, with the judges that were asked."""
        del judge
        return self.calls


@dataclass(frozen=True)
class Reply:
    """What came back, unread."""

    text: str
    """The answer as it came."""
    logprobs: Mapping[str, float] | None = None
    """Log-probability of each candidate for the first answer token, where asked for."""
    scores: tuple[float, ...] | None = None
    """One score per slot, from judges that compare instead of answering."""
    usage: Usage = field(default_factory=Usage)
    """Token counts."""
    finish: str = "stop"
    """`stop`, `length` (truncated), `refusal`, `filter`, or `other`: for a reason that nobody knows.

    A Python judge may say itself that there is no verdict: `unreadable`, or `off_scale`."""
    served_model: str | None = None
    """The model the server says it used."""
    effective: Mapping[str, Any] = field(default_factory=dict)
    """Request parameters really in force, where the server would not take ours."""
    latency_ms: float = 0.0
    """Wall time of the successful attempt."""

    @property
    def letters(self) -> int:
        """Characters that the model wrote: none where a filter refused, in words of the server's own."""
        return 0 if self.finish == "filter" else len(self.text)

    def served(self, effective: Mapping[str, Any], latency_ms: float) -> Reply:
        """The same with the parameters in force and the time it took."""
        return Reply(**(vars(self) | {"effective": effective, "latency_ms": latency_ms}))

    def paid(self, dollars: float) -> Reply:
        """The same with the price of its moment; `replace` takes four times as long."""
        usage = type(self.usage)(**(vars(self.usage) | {"dollars": dollars}))
        return Reply(**(vars(self) | {"usage": usage}))


@dataclass(frozen=True)
class Protocol:
    """One way of putting the question to a judge."""

    user: str
    system: str | None = None
    """Template of the system message, where there is one."""
    reader: Spec = field(default_factory=lambda: Spec("json"))
    settings: Mapping[str, Any] = field(default_factory=dict)
    """Settings for judges that are not prompted."""


@dataclass(frozen=True)
class Composition:
    """How the verdict of a judge is made of the verdicts of others."""

    rule: str
    members: tuple[Judge, ...]
    repeats: int = 1
    both_orders: bool = False

    @property
    def calls(self) -> int:
        """Calls per verdict."""
        each = sum(member.calls_per_verdict for member in self.members)
        return each * self.repeats * (2 if self.both_orders else 1)


@dataclass(frozen=True)
class Judge:
    """Everything that decides a verdict."""

    name: str
    provider: str
    model: str
    protocols: Mapping[str, Protocol]
    decoding: Decoding = field(default_factory=Decoding)
    options: Mapping[str, Any] = field(default_factory=dict)
    """Provider options: base_url, planted parameters."""
    rubric: str | None = None
    baseline: bool = False
    """True for coin, first, tie and longest, which stand beside every result."""
    context: int | None = None
    """Tokens that it can read; runs of agents are shortened to fit. None where that is not known."""
    composition: Composition | None = None
    traits: Mapping[str, bool] = field(default_factory=dict, compare=False)
    """What its provider said of it when the study was frozen, by the trait's name; empty before."""

    @property
    def address(self) -> str:
        """`provider/model`."""
        return f"{self.provider}/{self.model}"

    @property
    def calls_per_verdict(self) -> int:
        """Calls that a verdict takes."""
        return 1 if self.composition is None else self.composition.calls

    @property
    def symmetric(self) -> bool:
        """Both orders of a pair have one verdict, by how the judge is made."""
        made = self.composition
        return made is not None and (made.both_orders or all(member.symmetric for member in made.members))

    @property
    def leaf_judges(self) -> tuple[Judge, ...]:
        """The judges that are really asked: this one, or those that it is made of, each once."""
        if self.composition is None:
            return (self,)
        return tuple(
            {one.name: one for member in self.composition.members for one in member.leaf_judges}.values()
        )

    def rests_on(self, name: str | None) -> bool:
        """Whether it is the judge of this name, or made of it."""
        return name is not None and (self.name == name or any(one.name == name for one in self.leaf_judges))

    def templates(self, protocol: str) -> tuple[tuple[str, PromptTemplate], ...]:
        """The parts of a protocol's prompt, each with its role."""
        return self._templates[protocol]

    @cached_property
    def _templates(self) -> dict[str, tuple[tuple[str, PromptTemplate], ...]]:
        return {
            name: tuple(
                (role, PromptTemplate(text, f"{self.name}, {name} prompt"))
                for role, text in (("system", made.system), ("user", made.user))
                if text is not None
            )
            for name, made in self.protocols.items()
        }

    def fingerprint(self, protocol: str) -> str:
        """Hash of what decides a verdict under one protocol; other protocols do not enter."""
        return self._fingerprints[protocol]

    @cached_property
    def _fingerprints(self) -> dict[str, str]:
        made = self.composition
        if made is not None:
            shared = {"rule": made.rule, "repeats": made.repeats, "both_orders": made.both_orders}
            members = {name: [one.fingerprint(name) for one in made.members] for name in self.protocols}
            return {name: content_hash({**shared, "members": mine}) for name, mine in members.items()}
        same = {
            "provider": self.provider,
            "model": self.model,
            "options": {key: value for key, value in self.options.items() if key not in PASSING_OPTIONS},
            "decoding": self.decoding,
            "rubric": self.rubric,
        }
        return {name: content_hash({**same, "protocol": one}) for name, one in self.protocols.items()}


PRICE_OPTIONS = ("input_price", "output_price")
"""Dollars per million tokens, where a judge's owner states them."""

PACE_OPTIONS = ("requests_per_minute", "tokens_per_minute")

PASSING_OPTIONS = frozenset(
    {"api_key_env", "timeout", "path", "caveat", "template", *PRICE_OPTIONS, *PACE_OPTIONS}
)
"""Options that decide nothing; `base_url` is none of them, since a model's name may mean another there."""
