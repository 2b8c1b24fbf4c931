"""The instrument model of a planted judge: its parameters, one answer, and what to expect of many.

On the first slot's side, X = resolution · (quality of the first − quality of the second) + position bias
+ surface effect of the pair + length pull · log₂(words of the first / words of the second) + noise. The
answer is `1` above the tie threshold, `2` below its negative, else a tie; a lapse answers at random.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, TypeVar

import numpy as np

from steelyard.core.arrays import Floats
from steelyard.core.rng import rng_for
from steelyard.errors import ConfigError
from steelyard.metrics.stats.distributions import normal_probabilities
from steelyard.providers.planted.answer_keys import TextKey, builtin_key

if TYPE_CHECKING:
    from _typeshed import DataclassInstance

Changed = TypeVar("Changed", bound="DataclassInstance")
Limits = Mapping[str, tuple[str, float, float] | None]
"""Option of a judge string to its parameter, with the ends of its range; None for a whole number."""

SEED: Limits = {"seed": None}
PROBIT_OPTIONS: Limits = {
    "s": ("resolution", -100.0, 100.0),
    "beta": ("position_bias", -100.0, 100.0),
    "tau": ("tie_threshold", 0.0, 100.0),
    "sigma": ("surface_sensitivity", 0.0, 100.0),
    "lapse": ("lapse_rate", 0.0, 1.0),
    "length": ("length_pull", -100.0, 100.0),
    "worth": ("cue_worth", -100.0, 100.0),
}


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


def updated(parameters: Changed, options: Mapping[str, Any], where: str, known: Limits) -> Changed:
    """The parameters with these options; those that are not known are refused."""
    changes: dict[str, Any] = {}
    for name, value in options.items():
        if name not in known:
            raise ConfigError(f"{where}: unknown option {name!r}; known here: {', '.join(known)}.")
        found, place = known[name], f"{where}: option {name}"
        if found is None:
            changes[name] = parse_integer(value, place)
        else:
            changes[found[0]] = parse_number(value, *found[1:], place)
    return replace(parameters, **changes)


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


def parse_integer(value: Any, where: str) -> int:
    try:
        if isinstance(value, bool) or (isinstance(value, float) and not value.is_integer()):
            raise ValueError
        return int(value)
    except (TypeError, ValueError) as error:
        raise ConfigError(f"{where} is {value!r}, expected a whole number.") from error


def parse_number(value: Any, low: float, high: float, where: str) -> float:
    try:
        number = math.nan if isinstance(value, bool) else float(value)
    except (TypeError, ValueError):
        number = math.nan
    if not low <= number <= high:
        raise ConfigError(f"{where} is {value!r}, expected a number from {low:g} to {high:g}.")
    return number


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


def expected_pair_rates(parameters: Parameters, same_texts: bool = False) -> PairRates:
    weights, shown, swapped = _orders(parameters, 0.0, same_texts)
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
