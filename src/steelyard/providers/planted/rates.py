"""What a planted judge does on average, by Gauss–Hermite integration over the pairs' surface effects."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from steelyard.core.arrays import Floats
from steelyard.metrics.stats.distributions import normal_probabilities
from steelyard.providers.planted.decision_model import Parameters

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
