"""The models of planted judges: their parameters, one answer, and what to expect of many.

The instrument model compares two texts. On the first slot's side, X = resolution · (quality of the first −
quality of the second) + position bias + surface effect of the pair + length pull · log₂(words of the first /
words of the second) + noise. The answer is `1` above the tie threshold, `2` below its negative, else a tie; a
lapse answers at random.

Rater and chooser know the labels: how often they are right, and how much of it is noise, is known.
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

import math
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from math import floor

import numpy as np

from steelyard.core.arrays import Floats
from steelyard.core.content_hash import content_hash, rng_for
from steelyard.metrics.stats.distributions import normal_probabilities
from steelyard.providers.planted.answer_keys import KnownLabel, TextKey, builtin_key
from steelyard.stimuli.stimulus import Label, Stimulus


@dataclass(frozen=True)
class Parameters:
    resolution: float = 0.8
    """Shift of the internal signal per unit of quality difference."""
    position_bias: float = 0.4
    tie_threshold: float = 0.6
    """Signals within this distance of zero are ties."""
    surface_sensitivity: float = 0.7
    """Standard deviation of the effect of a pair's wording."""
    lapse_rate: float = 0.02
    """Share of calls answered at random."""
    length_pull: float = 0.0
    """Shift in favour of the text that is twice as long as the other."""
    cue_worth: float = 0.0
    """Quality that a cue stands for: an addition to an answer of the catalogue, or another spelling."""
    seed: int = 0
    """Chooses the surface effects and the noise."""


def decide(
    parameters: Parameters,
    request: str,
    slots: tuple[str, str],
    answers: tuple[str, ...],
    trial: str,
    own: TextKey | None = None,
) -> str:
    """The answer; `own` is the key of a request that is not of the catalogue."""
    chance = rng_for(parameters.seed, "noise", trial)
    lapses, lapse_answer, noise = chance.random(), chance.random(), chance.gauss(0.0, 1.0)
    if lapses < parameters.lapse_rate:
        return answers[int(lapse_answer * len(answers))]
    key = own or builtin_key(request)
    difference = key.quality(slots[0]) - key.quality(slots[1])
    if parameters.cue_worth:
        difference += parameters.cue_worth * (key.carries_cue(slots[0]) - key.carries_cue(slots[1]))
    x = parameters.resolution * difference + parameters.position_bias + noise
    x += surface_effect(parameters, slots) + length_effect(parameters, slots)
    if abs(x) <= parameters.tie_threshold and "tie" in answers:
        return "tie"
    return "1" if x > 0 else "2"


def surface_effect(parameters: Parameters, slots: tuple[str, str]) -> float:
    """The pair's own effect, in favour of slot 1; it turns with the order, and equal texts have none."""
    first, second = slots
    if first == second:
        return 0.0
    low, high = sorted(slots)
    effect = rng_for(parameters.seed, "surface", low, high).gauss(0.0, parameters.surface_sensitivity)
    return effect if first == low else -effect


def length_effect(parameters: Parameters, slots: tuple[str, str]) -> float:
    """What the lengths of both texts add, in favour of slot 1; each counts a word more, so that none is 0."""
    first, second = (len(text.split()) + 1 for text in slots)
    return parameters.length_pull * math.log2(first / second)


_NODES = 61
_ANSWERS = 3


@dataclass(frozen=True)
class AnswerRates:
    """Probabilities of one call, averaged over both orders."""

    better: float
    """The better content wins; at quality difference 0, content u."""
    worse: float
    tie: float
    """Neither."""


@dataclass(frozen=True)
class PairRates:
    """Probabilities of the cells of a pair at quality difference 0, both orders shown once."""

    stable_cross_sensitivity: float
    """The same content wins in both orders."""
    positional_false_preference: float
    """The same slot wins in both orders."""
    one_sided_commit: float
    """One order is decided, the other a tie."""
    no_preference: float
    """Both orders are ties."""


def expected_rates(parameters: Parameters, delta: float, same_texts: bool = False) -> AnswerRates:
    weights, shown, swapped = _orders(parameters, delta, same_texts)
    better = weights @ (shown[0] + swapped[1]) / 2
    worse = weights @ (shown[1] + swapped[0]) / 2
    return AnswerRates(float(better), float(worse), float(1 - better - worse))


def expected_pair_rates(parameters: Parameters) -> PairRates:
    weights, shown, swapped = _orders(parameters, 0.0, same_texts=False)
    stable = weights @ (shown[0] * swapped[1] + shown[1] * swapped[0])
    positional = weights @ (shown[0] * swapped[0] + shown[1] * swapped[1])
    neither = weights @ (shown[2] * swapped[2])
    return PairRates(
        float(stable), float(positional), float(1 - stable - positional - neither), float(neither)
    )


def _orders(parameters: Parameters, delta: float, same_texts: bool) -> tuple[Floats, Floats, Floats]:
    """Node weights, then P(1), P(2), P(tie) per node with the better text first, and with it second."""
    nodes, weights = np.polynomial.hermite.hermgauss(_NODES)
    spread = 0.0 if same_texts else parameters.surface_sensitivity
    drive = parameters.resolution * delta + np.sqrt(2) * spread * nodes
    return weights / np.sqrt(np.pi), _answer_rates(parameters, drive), _answer_rates(parameters, -drive)


def _answer_rates(parameters: Parameters, drive: Floats) -> Floats:
    centre = drive + parameters.position_bias
    first = normal_probabilities(centre - parameters.tie_threshold)
    second = normal_probabilities(-centre - parameters.tie_threshold)
    kept, lapse = 1 - parameters.lapse_rate, parameters.lapse_rate / _ANSWERS
    return kept * np.stack([first, second, 1 - first - second]) + lapse


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
