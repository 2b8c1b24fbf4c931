"""The instrument: a provider's model with its prompts, rubric, decoding and reader."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

from steelyard.core.content_hash import content_hash
from steelyard.core.registry import Spec
from steelyard.trials.presentation import Decoding
from steelyard.trials.prompt import PromptTemplate


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
