"""Answers that are alike within a task: counts per task, drawn many runs at once."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from scipy.optimize import brentq
from scipy.stats import norm

from steelyard.metrics.stats.clusters import Tally

CORRELATIONS = (0.0, 0.1, 0.3)
TASKS = (4, 10, 24)


def beta_events(share: float, correlation: float, tasks: int, calls: int, runs: int, seed: int) -> np.ndarray:
    """Events (runs × tasks) whose rates follow a beta law with this intra-task correlation."""
    generator = np.random.default_rng(seed)
    if not correlation:
        return generator.binomial(calls, share, (runs, tasks))
    scale = (1 - correlation) / correlation
    return generator.binomial(calls, generator.beta(share * scale, (1 - share) * scale, (runs, tasks)))


def copula_events(
    share: float, correlation: float, tasks: int, calls: int, runs: int, seed: int
) -> np.ndarray:
    """The same from a normal variable per task and one per call, which count where their sum is large."""
    generator = np.random.default_rng(seed)
    latent = latent_correlation(share, correlation)
    moved = norm.ppf(share) + np.sqrt(latent) * generator.normal(size=(runs, tasks))
    return generator.binomial(calls, norm.cdf(moved / np.sqrt(1 - latent)))


def hot_events(share: float, correlation: float, tasks: int, calls: int, runs: int, seed: int) -> np.ndarray:
    """The same where most tasks show nothing and a few much: the least favourable law for a silent run."""
    generator = np.random.default_rng(seed)
    rate = share + (1 - share) * correlation
    hot = generator.random((runs, tasks)) < share / rate
    return generator.binomial(calls, np.where(hot, rate, 0.0))


def latent_correlation(share: float, correlation: float) -> float:
    """Correlation of the normal variables at which events of this share correlate so much."""
    points, weights = np.polynomial.hermite_e.hermegauss(60)

    def beyond(latent: float) -> float:
        rates = norm.cdf((norm.ppf(share) + np.sqrt(latent) * points) / np.sqrt(1 - latent))
        spread = float(weights @ rates**2 / weights.sum()) - share**2
        return spread / (share * (1 - share)) - correlation

    return float(brentq(beyond, 1e-9, 0.97)) if correlation else 0.0


def cell_counts(
    shares: Sequence[float], correlation: float, tasks: int, pairs: int, runs: int, seed: int
) -> np.ndarray:
    """Pairs by (run, task, cell) whose cell rates follow a Dirichlet law with this correlation."""
    generator = np.random.default_rng(seed)
    rates = np.broadcast_to(np.asarray(shares), (runs, tasks, len(shares)))
    if correlation:
        drawn = generator.gamma(rates * (1 - correlation) / correlation) + 1e-300
        rates = drawn / drawn.sum(axis=-1, keepdims=True)
    return generator.multinomial(pairs, rates)


def slot_answers(
    distance: float, latent: float, tasks: int, pairs: int, runs: int, seed: int, *, ease: bool = True
) -> np.ndarray:
    """Counts as `slot_counts` makes them, (run, task, 6), of a judge with this d′ and a tie band of ±.4.

    Tasks differ in how easy they are, or in which slot they favour.
    """
    generator = np.random.default_rng(seed)
    task = generator.normal(size=(runs, tasks, 1)) * np.sqrt(latent)
    columns = []
    for order in (1, -1):
        noise = generator.normal(size=(runs, tasks, pairs)) * np.sqrt(1 - latent)
        drive = noise + order * distance / 2 + (order if ease else 1) * task
        columns += [(drive > 0.4).sum(-1), (np.abs(drive) <= 0.4).sum(-1), np.full((runs, tasks), pairs)]
    return np.stack(columns, axis=-1)


def tallies(events: np.ndarray, calls: int) -> list[Tally]:
    """A tally per run."""
    trials = np.full(events.shape[1], calls)
    return [Tally(row, trials, int(trials.sum()), int(trials.sum())) for row in events]
