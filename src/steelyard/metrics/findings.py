"""The words of a datasheet: `clear`, `flagged`, `underpowered`.

A word is said only where it would hold however the missing verdicts had come out: limits are taken at the
worst and the best case over them. `clear` against a limit also asks that a judge which sits on the limit
would show so few events in at most 5 % of runs, were its calls correlated by .3 within clusters; `flagged` in
a single cluster asks that exact binomial limits lie beyond the limit as well.
"""

from __future__ import annotations

from math import ceil, sqrt

from steelyard.metrics.metric import Limit
from steelyard.metrics.stats.clusters import effective_size, quantile
from steelyard.metrics.stats.few_events import chance_of_so_few
from steelyard.metrics.stats.intervals import Limits, clopper_pearson, normal_quantile, score, t_quantile
from steelyard.metrics.stats.power import ALPHA, POWER, first_number, short_of, trials_to_exclude
from steelyard.metrics.stats.tally import Tally

CLEAR, FLAGGED, UNDERPOWERED = "clear", "flagged", "underpowered"
MARGIN = 0.10
"""Largest difference that still counts as none."""
BY_LOSS = "the missing verdicts decide"


def limit_word(limits: Limits, limit: Limit) -> str:
    """The word for a limit, from one-sided 95 % limits (low, high)."""
    low, high = limits if limit.side == "max" else (-limits[1], -limits[0])
    bound = limit.value if limit.side == "max" else -limit.value
    if high < bound:
        return CLEAR
    return FLAGGED if low > bound else UNDERPOWERED


def judge_limit(tally: Tally, limit: Limit, bounds: Limits | None = None) -> str:
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


def _exactly_beyond(size: float, limit: Limit, shares: Limits) -> bool:
    """Whether exact limits lie beyond the limit too; Wilson's do with a single unit, which shows nothing."""
    low, high = (
        clopper_pearson(share * size, size, 1 - 2 * ALPHA)[side] for side, share in enumerate(shares)
    )
    return limit_word((low, high), limit) == FLAGGED


def _so_few(tally: Tally, limit: Limit, shares: Limits, times: float = 1.0) -> bool:
    """Whether a judge on the limit would rarely show so few events beyond it; one cluster tells nothing."""
    share, at = (shares[1], limit.value) if limit.side == "max" else (1 - shares[0], 1 - limit.value)
    return chance_of_so_few(share * tally.n * times, tally.trials, at, times) <= ALPHA


def difference_word(
    limits: Limits | None, probability: float, margin: float = MARGIN, moved: Limits = (0.0, 0.0)
) -> str:
    """The word for a difference, from its 90 % interval and the test's p.

    `moved` says how far missing verdicts could move the difference, down and up; see `moved_by`.
    """
    low, high = (-1.0, 1.0) if limits is None else (limits[0] + moved[0], limits[1] + moved[1])
    if limits is not None and -margin < low and high < margin:
        return CLEAR
    kept = moved == (0.0, 0.0) or low > 0 or high < 0
    return FLAGGED if probability <= ALPHA and kept else UNDERPOWERED


def moved_by(value: float, bounds: Limits | None) -> Limits:
    """How far missing verdicts could move a value, down and up; rounding does not count."""
    if bounds is None:
        return 0.0, 0.0
    down, up = min(0.0, bounds[0] - value), max(0.0, bounds[1] - value)
    return down if down < -1e-9 else 0.0, up if up > 1e-9 else 0.0


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
