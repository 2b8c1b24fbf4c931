"""A planted judge of the best of several texts: how often it is right and goes by the slot is known.

With probability `noise` a call names any slot; else with probability `bias` it names the slot `slot`; both
draws are new for every call. All else is fixed: on one set of texts the judge draws once, and names the best
text with probability `accuracy`, another one otherwise, whichever slot it stands in.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace
from typing import Any

from steelyard.core.content_hash import content_hash
from steelyard.core.rng import rng_for
from steelyard.errors import ConfigError
from steelyard.providers.planted.decision_model import parse_integer, parse_number
from steelyard.stimuli.expectation import Label
from steelyard.stimuli.stimulus import Stimulus

CHOOSER_OPTIONS = ("accuracy", "bias", "noise", "slot")


@dataclass(frozen=True)
class ChooserParameters:
    accuracy: float = 0.8
    """Share of sets of texts of which it knows the best."""
    bias: float = 0.0
    """Share of calls that name the favoured slot."""
    noise: float = 0.0
    """Share of calls answered at random."""
    slot: int = 1
    """The favoured slot; the last where there are fewer."""
    seed: int = 0

    def updated(self, options: Mapping[str, Any], where: str) -> ChooserParameters:
        changes: dict[str, Any] = {}
        for name, value in options.items():
            if name in ("seed", "slot"):
                changes[name] = parse_integer(value, f"{where}: option {name}")
            elif name in CHOOSER_OPTIONS:
                changes[name] = parse_number(value, 0.0, 1.0, f"{where}: option {name}")
            else:
                known = ", ".join((*CHOOSER_OPTIONS, "seed"))
                raise ConfigError(f"{where}: unknown option {name!r}; known here: {known}.")
        return replace(self, **changes)


def texts_hash(request: str, texts: Iterable[str]) -> str:
    """Names a set of texts under its request, whatever order they stand in."""
    return content_hash([request, sorted(texts)])


@dataclass(frozen=True)
class ChoiceKey:
    best: Mapping[str, str] = field(default_factory=dict)
    """Hash of request and texts to the best text."""

    @classmethod
    def of(cls, stimuli: Iterable[Stimulus]) -> ChoiceKey:
        return cls(
            {
                texts_hash(s.request, s.texts): s.texts[int(s.expectation.value) - 1]
                for s in stimuli
                if len(s.texts) > 2 and isinstance(s.expectation, Label)
            }
        )

    def merge(self, other: ChoiceKey) -> ChoiceKey:
        return ChoiceKey({**self.best, **other.best})


def choose(
    parameters: ChooserParameters, key: ChoiceKey, request: str, texts: tuple[str, ...], trial: str
) -> str:
    """The slot that a call names; among texts without a known best the first by name stands in for it."""
    chance = rng_for(parameters.seed, "noise", trial)
    lapses, anything, leans = chance.random(), chance.random(), chance.random()
    if lapses < parameters.noise:
        return str(1 + int(anything * len(texts)))
    if leans < parameters.bias:
        return str(min(parameters.slot, len(texts)))
    name = texts_hash(request, texts)
    own = rng_for(parameters.seed, "texts", name)
    best = key.best.get(name, min(texts))
    others = sorted(text for text in texts if text != best) or [best]
    named = best if own.random() < parameters.accuracy else others[int(own.random() * len(others))]
    return str(1 + texts.index(named))
