"""Pieces of two kinds, dealt at random to parts of fixed sizes: chances without a draw.

The marked pieces that fall to each part follow the multivariate hypergeometric law, that of independent
binomials given their sum, whatever share of marked pieces these have:

    P(k_1, …, k_S) = Π C(n_s, k_s) / C(N, K),   Σ n_s = N, Σ k_s = K

A chance that asks each part by itself is a sum of such products, taken part by part.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from steelyard.core.arrays import Floats, Mask

LEAST = 1e-30
"""What is less likely than this, against the likeliest, is left out; no chance is given as less."""


def chance_of_any(parts: Sequence[Mask], marked: int) -> float:
    """The chance that in one part or more the number of marked pieces is among those asked for.

    A part of n pieces says so for each number from 0 to n; `marked` is how many are dealt to all.
    """
    pieces = sum(len(asked) - 1 for asked in parts)
    share = (marked + 0.5) / (pieces + 1)
    # Weights of the marked pieces dealt so far, from `start` on: no part has a number asked for, or some has.
    start, none, some = 0, np.ones(1), np.zeros(1)
    for asked in parts:
        law = _binomial(len(asked) - 1, share)
        first, last = _likely(law)
        law, far = law[first:last], asked[first:last]
        some = np.convolve(some, law) + np.convolve(none, law * far)
        none = np.convolve(none, law * ~far)
        keep = _likely(none + some)
        start, none, some = start + first + keep[0], none[slice(*keep)], some[slice(*keep)]
    chance = some[marked - start] / (none[marked - start] + some[marked - start])
    return max(LEAST, float(chance))


def _binomial(pieces: int, share: float) -> Floats:
    """Weights of 0 to so many marked pieces, against the likeliest number."""
    numbers = np.arange(1, pieces + 1)
    logs = np.cumsum(np.log((pieces + 1 - numbers) / numbers * share / (1 - share)))
    logs = np.concatenate([[0.0], logs])
    return np.asarray(np.exp(logs - logs.max()))


def _likely(weights: Floats) -> tuple[int, int]:
    """From where to where weights are not left out."""
    places = np.flatnonzero(weights > LEAST * weights.max())
    return int(places[0]), int(places[-1]) + 1
