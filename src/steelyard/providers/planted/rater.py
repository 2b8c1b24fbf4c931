"""Planted judges that know the labels: how often they are right, and how much of it is noise, is known.

The rater scores single texts. With probability `noise` a call is answered at random, uniformly over the
scale; that draw is new for every call. With probability `length`, drawn once an item, the rater goes by
length alone: the highest score from `LONG` words on, the lowest below. With probability `wording`, drawn once
for each spelling of a text, it misses where it would have hit. With probability `middle`, drawn once an item,
it does not read the middle third of an agent's run, and takes a run that was edited there alone for what it
was before. All else is fixed: on one item and its variants the rater draws once, and the same draw says on
each of their texts whether it hits the label. It hits the highest label with probability `sensitivity`, the
lowest with `specificity`, those between in proportion; where it misses, it gives a neighbouring score. On a
binary scale these are the usual sensitivity and specificity. A text with a cue of `tradeoff` scores `worth`
levels more than without it, as far as the scale goes; a fraction of a level is drawn once a text. A text
without a label has the lowest one, and so has a text that is not in the key, on which the rater draws by
itself; behind HTTP such a text is refused.

The chooser names the best of several texts. With probability `noise` a call names any slot; else with
probability `bias` it names the slot `slot`; both draws are new for every call. All else is fixed: on one set
of texts the judge draws once, and names the best text with probability `accuracy`, another one otherwise,
whichever slot it stands in.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from math import floor

from steelyard.core.content_hash import content_hash
from steelyard.core.rng import rng_for
from steelyard.providers.planted.answer_keys import KnownLabel
from steelyard.providers.planted.decision_model import SEED, Limits
from steelyard.stimuli.expectation import Label
from steelyard.stimuli.stimulus import Stimulus

_SHARES = ("sensitivity", "specificity", "noise", "wording", "length", "middle")
RATER_OPTIONS: Limits = {
    **{name: (name, 0.0, 1.0) for name in _SHARES},
    "worth": ("worth", -100.0, 100.0),
    **SEED,
}
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
        # The worth on average.
        place += floor(parameters.worth + rng_for(parameters.seed, "cue", text).random())
    return answers[min(max(place, 0), last)]


def hit_rate(parameters: RaterParameters, height: float) -> float:
    """Probability of the label itself, for a label at this height of the scale (0 lowest, 1 highest)."""
    return parameters.specificity + (parameters.sensitivity - parameters.specificity) * height


CHOOSER_OPTIONS: Limits = {
    **{name: (name, 0.0, 1.0) for name in ("accuracy", "bias", "noise")},
    "slot": None,
    **SEED,
}


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
