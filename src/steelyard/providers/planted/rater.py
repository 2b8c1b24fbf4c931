"""A planted judge of single texts: how often it is right, and how much of it is noise, is known.

With probability `noise` a call is answered at random, uniformly over the scale; that draw is new for every
call. With probability `length`, drawn once an item, the rater goes by length alone: the highest score from
`LONG` words on, the lowest below. With probability `wording`, drawn once for each spelling of a text, it
misses where it would have hit. With probability `middle`, drawn once an item, it does not read the middle
third of an agent's run, and takes a run that was edited there alone for what it was before. All else is
fixed: on one item and its variants the rater draws once, and the same draw says on each of their texts
whether it hits the label. It hits the highest label with probability `sensitivity`, the lowest with
`specificity`, those between in proportion; where it misses, it gives a neighbouring score. On a binary scale
these are the usual sensitivity and specificity. A text with a cue of `tradeoff` scores `worth` levels more
than without it, as far as the scale goes; a fraction of a level is drawn once a text. A text without a label
has the lowest one, and so has a text that is not in the key, on which the rater draws by itself; behind HTTP
such a text is refused.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from math import floor
from typing import Any

from steelyard.core.rng import rng_for
from steelyard.errors import ConfigError
from steelyard.providers.planted.answer_keys import KnownLabel
from steelyard.providers.planted.decision_model import parse_integer, parse_number

RATER_OPTIONS = ("sensitivity", "specificity", "noise", "wording", "length", "middle", "worth")
LONG = 60
"""Words from which on a text is long; the middle of the built-in pack."""


@dataclass(frozen=True)
class RaterParameters:
    sensitivity: float = 0.9
    """Probability of the right answer where the label is the highest."""
    specificity: float = 0.8
    """Probability of the right answer where the label is the lowest."""
    noise: float = 0.1
    """Share of calls answered at random."""
    wording: float = 0.0
    """Share of spellings on which it misses; an edit is another spelling."""
    length: float = 0.0
    """Share of items that it scores by their length alone."""
    middle: float = 0.0
    """Share of agents' runs whose middle third it does not read."""
    worth: float = 0.0
    """Levels that a cue adds to the score."""
    seed: int = 0
    """Chooses the errors and the noise."""

    def updated(self, options: Mapping[str, Any], where: str) -> RaterParameters:
        changes: dict[str, Any] = {}
        for name, value in options.items():
            if name == "seed":
                changes[name] = parse_integer(value, f"{where}: option seed")
            elif name in RATER_OPTIONS:
                ends = (-100.0, 100.0) if name == "worth" else (0.0, 1.0)
                changes[name] = parse_number(value, *ends, f"{where}: option {name}")
            else:
                known = ", ".join((*RATER_OPTIONS, "seed"))
                raise ConfigError(f"{where}: unknown option {name!r}; known here: {known}.")
        return replace(self, **changes)


def rate(
    parameters: RaterParameters, truth: KnownLabel, answers: tuple[str, ...], trial: str, text: str = ""
) -> str:
    chance = rng_for(parameters.seed, "noise", trial)
    lapses, anything = chance.random(), chance.random()
    if lapses < parameters.noise:
        return answers[int(anything * len(answers))]
    own = rng_for(parameters.seed, "item", truth.item)
    luck, upward, by_length = own.random(), own.random() < 0.5, own.random() < parameters.length
    if by_length:
        return answers[-1] if len(text.split()) >= LONG else answers[0]
    label = truth.label
    if truth.unread is not None and own.random() < parameters.middle:
        label = truth.unread
    place, last = answers.index(label), len(answers) - 1
    spelled = rng_for(parameters.seed, "wording", text).random() < parameters.wording
    if luck >= hit_rate(parameters, place / last) or spelled:
        place += 1 if place == 0 or (upward and place < last) else -1
    if truth.cued:
        place += _raised(parameters, text)
    return answers[min(max(place, 0), last)]


def _raised(parameters: RaterParameters, text: str) -> int:
    """Levels that the cue adds to this text: the worth on average."""
    return floor(parameters.worth + rng_for(parameters.seed, "cue", text).random())


def hit_rate(parameters: RaterParameters, height: float) -> float:
    """Probability of the label itself, for a label at this height of the scale (0 lowest, 1 highest)."""
    return parameters.specificity + (parameters.sensitivity - parameters.specificity) * height
