"""The words of a datasheet: `clear`, `flagged`, `underpowered`.

A word is said only where it would hold however the missing verdicts had come out: limits are taken at the
worst and the best case over them. `clear` against a limit also asks that a judge which sits on the limit
would show so few events in at most 5 % of runs, were its calls correlated by .3 within clusters; `flagged` in
a single cluster asks that exact binomial limits lie beyond the limit as well.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from math import ceil, sqrt

from steelyard.arrays import Floats
from steelyard.metrics.metric import Limit
from steelyard.metrics.stats.cluster_mean import ASSUMED_CORRELATION
from steelyard.metrics.stats.clusters import effective_size, quantile
from steelyard.metrics.stats.few_events import chance_of_so_few
from steelyard.metrics.stats.intervals import Ends, Span, clopper_pearson, score
from steelyard.metrics.stats.jackknife import Figure, jackknife
from steelyard.metrics.stats.normal_law import normal_quantile
from steelyard.metrics.stats.power import ALPHA, POWER, first_number, short_of, trials_to_exclude
from steelyard.metrics.stats.student_law import t_quantile
from steelyard.metrics.stats.tally import Tally
from steelyard.metrics.stats.two_by_two import table_limits

CLEAR, FLAGGED, UNDERPOWERED = "clear", "flagged", "underpowered"
MARGIN = 0.10
"""Largest difference that still counts as none."""
POWER_REACH = 2.49 / 1.64
"""What a one-sided 5 % test with 80 % power takes, in reaches of a one-sided 95 % limit."""
BY_LOSS = "the missing verdicts decide"


def limit_word(limits: Span, limit: Limit) -> str:
    """The word for a limit, from one-sided 95 % limits (low, high)."""
    low, high = limits if limit.side == "max" else (-limits[1], -limits[0])
    bound = limit.value if limit.side == "max" else -limit.value
    if high < bound:
        return CLEAR
    return FLAGGED if low > bound else UNDERPOWERED


def judge_limit(tally: Tally, limit: Limit, bounds: Span | None = None) -> str:
    """The word for a proportion against its limit, clusters taken as independent.

    `bounds` are the share in the worst and best case over missing verdicts.
    """
    share = tally.k / tally.n
    least, most = (share, share) if bounds is None else (min(share, bounds[0]), max(share, bounds[1]))
    size, reach = effective_size(tally), quantile(tally, 1 - ALPHA)
    word = limit_word((score(least, size, reach)[0], score(most, size, reach)[1]), limit)
    one_cluster = tally.n_clusters < 2
    if word == CLEAR:
        kept = one_cluster or _so_few(tally, limit, (least, most))
    else:
        kept = word != FLAGGED or not one_cluster or _exactly_beyond(size, limit, (least, most))
    return word if kept else UNDERPOWERED


def _exactly_beyond(size: float, limit: Limit, shares: Span) -> bool:
    """Whether exact limits lie beyond the limit too; Wilson's do with a single unit, which shows nothing."""
    low, high = (
        clopper_pearson(share * size, size, 1 - 2 * ALPHA)[side] for side, share in enumerate(shares)
    )
    return limit_word((low, high), limit) == FLAGGED


def _so_few(tally: Tally, limit: Limit, shares: Span, times: float = 1.0) -> bool:
    """Whether a judge on the limit would rarely show so few events beyond it; one cluster tells nothing."""
    share, at = (shares[1], limit.value) if limit.side == "max" else (1 - shares[0], 1 - limit.value)
    return chance_of_so_few(share * tally.n * times, tally.trials, at, times) <= ALPHA


def difference_word(
    limits: Span | None, probability: float, margin: float = MARGIN, moved: Span = (0.0, 0.0)
) -> str:
    """The word for a difference, from its 90 % interval and the test's p.

    `moved` says how far missing verdicts could move the difference, down and up; see `moved_by`.
    """
    low, high = (-1.0, 1.0) if limits is None else (limits[0] + moved[0], limits[1] + moved[1])
    if limits is not None and -margin < low and high < margin:
        return CLEAR
    kept = moved == (0.0, 0.0) or low > 0 or high < 0
    return FLAGGED if probability <= ALPHA and kept else UNDERPOWERED


def moved_by(value: float, bounds: Span | None) -> Span:
    """How far missing verdicts could move a value, down and up; rounding does not count."""
    if bounds is None:
        return 0.0, 0.0
    down, up = min(0.0, bounds[0] - value), max(0.0, bounds[1] - value)
    return down if down < -1e-9 else 0.0, up if up > 1e-9 else 0.0


@dataclass(frozen=True, eq=False)
class Beyond:
    """A figure that is a function of sums over clusters, held against a limit."""

    table: Floats
    """(clusters, …) sums."""
    figure: Figure
    """From sums to the value."""
    ends: Ends
    """Ends of its range; the upper one is reached where every call agrees."""
    calls: int
    """Calls behind it."""
    by_rates: bool = False
    """Whether the sums are tables of two labels, whose rates make the limits."""

    @cached_property
    def value(self) -> float:
        """The figure."""
        return float(self.figure(self.table.sum(axis=0)))

    def limits(self, probability: float) -> Span:
        """Two-sided limits at this one-sided probability.

        Where leaving out a cluster changes nothing, as many verdicts as the data allow might have been right,
        or random: agreement goes up or down in proportion. Below zero, where random ones would help, they
        might have been wrong.
        """
        limits = self._own_limits(probability)
        if limits is not None:
            return limits
        clusters = len(self.table)
        size = self.calls / (1 + (self.calls / max(1, clusters) - 1) * ASSUMED_CORRELATION)
        reach = t_quantile(probability, clusters - 1) if clusters > 1 else normal_quantile(probability)
        other = score(0.0, size, reach)[1]
        worse = (1 - other) * self.value
        if self.value < 0:
            worse = self.value + other * (self.ends[0] - self.value)
        return worse, self.value + other * (self.ends[1] - self.value)

    def _own_limits(self, probability: float) -> Span | None:
        """Limits by the two rates, or by leaving out clusters; None where neither tells anything."""
        if self.by_rates:
            return table_limits(self.table, self.figure, probability)
        return jackknife(self.table, self.figure, self.ends, probability)

    @property
    def method(self) -> str:
        """How its limits are made."""
        if self._own_limits(0.975) is None:
            return "random_mixture"
        return "mover_cluster" if self.by_rates else "jackknife_cluster"

    def word(self, limit: Limit) -> str:
        """The word for the limit."""
        return limit_word(self.limits(1 - ALPHA), limit)

    def calls_needed(self, limit: Limit) -> int | None:
        """Calls in all that decide in four runs of five if the value stays; None on the limit."""
        low, high = self.limits(1 - ALPHA)
        apart = self.value - limit.value
        if abs(apart) < 1e-3:
            return None
        reach = (self.value - low if apart > 0 else high - self.value) * POWER_REACH
        return ceil(self.calls * max(1.0, (reach / apart) ** 2))


def by_loss(seen: str | None, word: str | None) -> str | None:
    """A remark where a word is withheld that the verdicts at hand alone would give."""
    return f"{seen} but for calls without a verdict: {BY_LOSS}" if seen != word else None


def detectable_beyond(tally: Tally, limit: Limit) -> float:
    """Distance from the limit that a one-sided 5 % test on these data shows with 80 % power."""
    spread = sqrt(limit.value * (1 - limit.value) / effective_size(tally))
    return (quantile(tally, 1 - ALPHA) + quantile(tally, POWER)) * spread


def calls_needed(tally: Tally, limit: Limit) -> int | None:
    """Calls of this design, more clusters like these, that decide in four runs of five if the share is true.

    None where the share lies on the limit. With one cluster units are added to that cluster.
    """
    share, size, clusters = tally.k / tally.n, effective_size(tally), tally.n_clusters
    if clusters < 2:
        trials = trials_to_exclude(share, limit.value, normal_quantile(1 - ALPHA), POWER)
        return None if trials is None else ceil(max(trials, size + 1) / size * tally.n_calls)

    def decided(count: int) -> bool:
        trials = size / clusters * count
        seen = short_of(share, limit.value, trials, t_quantile(POWER, count - 1))
        word = limit_word(score(seen, trials, t_quantile(1 - ALPHA, count - 1)), limit)
        return word == FLAGGED or (word == CLEAR and _so_few(tally, limit, (seen, seen), count / clusters))

    count = first_number(decided, clusters)
    return None if count is None else ceil(count / clusters * tally.n_calls)
