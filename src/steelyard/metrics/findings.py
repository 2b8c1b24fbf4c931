"""The words of a datasheet: `clear`, `flagged`, `inconclusive`; and how many calls would give one.

Against a limit the recommended 95 % interval decides: within it as a whole, beyond it as a whole, or neither.
A word is said only where it would hold however the missing verdicts had come out: intervals are taken at the
worst and the best case over them. `clear` against a limit also asks that a judge which sits on the limit
would show so few events in at most 5 % of runs, were its calls correlated by .3 within clusters; `flagged` in
a single cluster asks that exact binomial limits lie beyond the limit as well. A datasheet reads figures
against the limits of their metrics, the gate against those of a policy, both by `estimate_word`.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property
from math import ceil, inf, isfinite, sqrt

import numpy as np

from steelyard.core.arrays import Floats
from steelyard.metrics.estimate import DECIDES, Estimate, Interval
from steelyard.metrics.metric import Limit
from steelyard.metrics.stats.cluster_mean import ASSUMED_CORRELATION, Figure, jackknife
from steelyard.metrics.stats.clusters import Tally, effective_size, quantile, wilson_cluster
from steelyard.metrics.stats.distributions import normal_quantile, t_quantile
from steelyard.metrics.stats.intervals import Ends, Span, clopper_pearson, score
from steelyard.metrics.stats.rare_event_tail import chance_of_so_few
from steelyard.metrics.stats.sample_size import ALPHA, POWER, smallest_sufficient, trials_total, unlucky_share
from steelyard.metrics.stats.two_class import table_limits

CLEAR, FLAGGED, INCONCLUSIVE = "clear", "flagged", "inconclusive"
MARGIN = 0.10
"""Largest difference that still counts as none."""
SURE = 1 - ALPHA / 2
"""One-sided probability of the ends of the interval that every word rests on."""
_NORMAL = normal_quantile(SURE)
POWER_REACH = 1 + normal_quantile(POWER) / _NORMAL
"""What a 95 % interval with 80 % power takes, in reaches of such an interval."""
TOLERATED_LOSS = 0.02
"""Share of calls without a verdict that a figure without bounds may have and still be clear."""
MISSING_DECIDE = "the missing verdicts decide"
BY_CHANCE = "by chance"
"""Reading of a share that calls which ignore each other would show as well: it is never flagged."""
WHOLE_RUN = "run"
"""Probe of figures over all calls of a run, which are taken as independent."""
HALF = 0.5
_SCORE = "wilson"
_SCORES = (_SCORE, f"{_SCORE}_cluster", f"{_SCORE}_units", "goodman", "goodman_cluster")
DECOMPOSITION_CELLS = 4
"""Cells for which the intervals of a decomposition hold at once."""
_ROUNDING = 1e-9


def limit_word(interval: Span, limit: Limit) -> str:
    """The word for a limit, from a 95 % interval: clear within it, flagged beyond it, as a whole."""
    return _span_word(interval, limit.allowed)


def _span_word(interval: Span, allowed: Span) -> str:
    if allowed[0] <= interval[0] and interval[1] <= allowed[1]:
        return CLEAR
    return FLAGGED if interval[0] > allowed[1] or interval[1] < allowed[0] else INCONCLUSIVE


def estimate_word(estimate: Estimate, allowed: Span) -> str:
    """The word for a figure that must stay within `allowed`: the one rule of the datasheet and the gate."""
    reach = _interval_with_missing(estimate)
    word = INCONCLUSIVE if reach is None else _span_word(reach, allowed)
    size = _score_size(estimate)
    if word == INCONCLUSIVE or size is None or estimate.probe == WHOLE_RUN:
        return word
    shares = _shares(estimate)
    if word == CLEAR:
        kept = all(_so_few(estimate, limit, shares) for limit in _limits(allowed))
    else:
        exact = estimate.n_clusters != 1 or _exactly_beyond(estimate, allowed, shares)
        kept = exact and estimate.reading != BY_CHANCE
    return word if kept else INCONCLUSIVE


def with_finding(estimate: Estimate, limit: Limit | None) -> Estimate:
    """The estimate with its word for the limit, and where it has none with the calls that would decide."""
    if limit is None or estimate.value is None:
        return estimate
    whole = replace(estimate, bounds=None, excluded={})
    seen, word = (estimate_word(each, limit.allowed) for each in (whole, estimate))
    return replace(
        estimate,
        status=word,
        missing_decides=seen != word,
        calls_needed=calls_total(whole, limit.allowed) if seen == INCONCLUSIVE else None,
        note="; ".join(part for part in (estimate.note, missingness_note(seen, word)) if part) or None,
    )


def at_alpha(estimate: Estimate, limit: Limit | None, alpha: float) -> Estimate:
    """The estimate with limits that err in this share of runs; a word that they do not bear out is withheld.

    The limits are as many times further from the value as the quantile of their law is larger. A word that
    neither a limit nor a test stands behind is withheld.
    """
    wide = _widened(estimate, alpha)
    word, interval = estimate.status, wide.interval
    if word not in (CLEAR, FLAGGED) or interval is None:
        return wide
    p = estimate.p if estimate.p_corrected is None else estimate.p_corrected
    holds = limit is not None and estimate_word(wide, limit.allowed) == word
    if limit is None and p is not None:
        low, high = interval.low, interval.high
        within = low is not None and high is not None and low > -MARGIN and high < MARGIN
        holds = p <= alpha if word == FLAGGED else within
    return wide if holds else replace(wide, status=INCONCLUSIVE)


def _widened(estimate: Estimate, alpha: float) -> Estimate:
    interval, value = estimate.interval, estimate.value
    if interval is None or value is None:
        return estimate
    clusters = 1 if estimate.probe == WHOLE_RUN else estimate.n_clusters
    reach, usual = (
        t_quantile(sure, clusters - 1) if clusters > 1 else normal_quantile(sure)
        for sure in (1 - alpha / 2, SURE)
    )
    times, size = reach / usual, _score_size(estimate)
    ends = interval.low, interval.high
    low, high = (None if end is None else value + times * (end - value) for end in ends)
    if size is not None:
        low, high = score(value, size / times**2, 1.0)
    wide = Interval(interval.method, low, high, 1 - alpha)
    return replace(estimate, intervals=(wide,))


def judge_limit(tally: Tally, limit: Limit, bounds: Span | None = None) -> str:
    """The word for a proportion against its limit, clusters taken as independent.

    `bounds` are the share in the worst and best case over missing verdicts.
    """
    return estimate_word(replace(bare_share(tally), bounds=bounds), limit.allowed)


def bare_share(tally: Tally) -> Estimate:
    interval = Interval(f"{_SCORE}_cluster", *wilson_cluster(tally))
    share = Estimate("", "", "", {}, "call", tally.k / tally.n, tally.k, tally.n, (interval,))
    return replace(share, n_calls=tally.n_calls, n_units=tally.n_units, n_clusters=tally.n_clusters)


def _limits(allowed: Span) -> list[Limit]:
    sides = zip(allowed, ("min", "max"), strict=True)
    return [Limit(value, side) for value, side in sides if isfinite(value)]


def _interval_with_missing(estimate: Estimate) -> Span | None:
    """The recommended interval over every way in which the missing verdicts could have come out."""
    interval, value = estimate.interval, estimate.value
    if interval is None or value is None:
        return None
    low = -inf if interval.low is None else interval.low
    high = inf if interval.high is None else interval.high
    lost = sum(estimate.excluded.values())
    if estimate.bounds is None and lost > TOLERATED_LOSS * (estimate.n_calls + lost):
        return -inf, inf
    down, up = missingness_shift(value, estimate.bounds)
    size = _score_size(estimate)
    if size is None:
        return low + down, high + up
    least, most = _shares(estimate)
    return (
        score(least, size, 1.0)[0] if down else low,
        score(most, size, 1.0)[1] if up else high,
    )


def with_deciding_interval(estimate: Estimate) -> Estimate:
    """The estimate with the interval that its word is read from, where missing verdicts make it another."""
    reach, interval = _interval_with_missing(estimate), estimate.interval
    if reach is None or interval is None or reach == (interval.low, interval.high):
        return estimate
    return replace(estimate, intervals=(*estimate.intervals, Interval(DECIDES, *reach)))


def _shares(estimate: Estimate) -> Span:
    value = estimate.value or 0.0
    down, up = missingness_shift(value, estimate.bounds)
    return max(0.0, value + down), min(1.0, value + up)


def _score_size(estimate: Estimate) -> float | None:
    """Trials over the squared quantile behind a score interval, read off its end; None for other figures.

    The ends e of a score interval around p are where (p − e)² = e(1 − e) · quantile² / trials.
    """
    interval, value = estimate.interval, estimate.value
    if interval is None or value is None or interval.method not in _SCORES or not estimate.denominator:
        return None
    end = interval.high if value < HALF else interval.low
    if end is None or not 0 < end < 1 or abs(end - value) < _ROUNDING:
        return None
    return end * (1 - end) / (end - value) ** 2


def _exactly_beyond(estimate: Estimate, allowed: Span, shares: Span) -> bool:
    """Whether exact limits lie beyond the limit too; Wilson's do with a single unit, which shows nothing."""
    size = min(estimate.denominator or 0, estimate.n_units)
    low, high = (clopper_pearson(share * size, size)[side] for side, share in enumerate(shares))
    return _span_word((low, high), allowed) == FLAGGED


def _so_few(estimate: Estimate, limit: Limit, shares: Span, times: float = 1.0) -> bool:
    """Whether a judge on the limit would rarely show so few events beyond it; one cluster tells nothing."""
    clusters, total = estimate.n_clusters, estimate.denominator or 0
    if clusters < 2:
        return True
    share, at = (shares[1], limit.value) if limit.side == "max" else (1 - shares[0], 1 - limit.value)
    trials = (total + np.arange(clusters)) // clusters
    return chance_of_so_few(share * total * times, trials, at, times) <= ALPHA


def difference_word(
    limits: Span | None, probability: float, margin: float = MARGIN, moved: Span = (0.0, 0.0)
) -> str:
    """The word for a difference, from its 95 % interval and the test's p.

    `moved` says how far missing verdicts could move the difference, down and up; see `missingness_shift`.
    """
    low, high = (-1.0, 1.0) if limits is None else (limits[0] + moved[0], limits[1] + moved[1])
    if limits is not None and -margin < low and high < margin:
        return CLEAR
    kept = moved == (0.0, 0.0) or low > 0 or high < 0
    return FLAGGED if probability <= ALPHA and kept else INCONCLUSIVE


def missingness_shift(value: float, bounds: Span | None) -> Span:
    """How far missing verdicts could move a value, down and up; rounding does not count."""
    if bounds is None:
        return 0.0, 0.0
    down, up = min(0.0, bounds[0] - value), max(0.0, bounds[1] - value)
    return down if down < -1e-9 else 0.0, up if up > 1e-9 else 0.0


@dataclass(frozen=True, eq=False)
class LimitTest:
    """A figure that is a function of sums over clusters, held against a limit."""

    table: Floats
    figure: Figure
    ends: Ends
    """Ends of its range; the upper one is reached where every call agrees."""
    calls: int
    by_rates: bool = False
    """Whether the sums are tables of two labels, whose rates make the limits."""

    @cached_property
    def value(self) -> float:
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
        if self._own_limits(0.975) is None:
            return "random_mixture"
        return "mover_cluster" if self.by_rates else "jackknife_cluster"

    def word(self, limit: Limit) -> str:
        return limit_word(self.limits(SURE), limit)


def missingness_note(seen: str | None, word: str | None) -> str | None:
    """A remark where a word is withheld that the verdicts at hand alone would give."""
    return f"{seen} but for calls without a verdict: {MISSING_DECIDE}" if seen != word else None


def detectable_beyond(tally: Tally, limit: Limit) -> float:
    """Distance from the limit that a 95 % interval on these data shows with 80 % power."""
    spread = sqrt(limit.value * (1 - limit.value) / effective_size(tally))
    return (quantile(tally, SURE) + quantile(tally, POWER)) * spread


def calls_total(estimate: Estimate, allowed: Span) -> int | None:
    """Calls of this design in all that decide in four runs of five if the value is true: the one forecast.

    What is added are more clusters like these, or units where there is one cluster. None where the value lies
    on a limit, or where nothing is known.
    """
    if _interval_with_missing(estimate) is None:
        return None
    open_sides = (
        limit for limit in _limits(allowed) if estimate_word(estimate, limit.allowed) == INCONCLUSIVE
    )
    totals = [_calls_for(estimate, limit) for limit in open_sides]
    known = [total for total in totals if total is not None]
    return max(known) if known and len(known) == len(totals) else None


def _calls_for(estimate: Estimate, limit: Limit) -> int | None:
    size, value, clusters = _score_size(estimate), estimate.value or 0.0, estimate.n_clusters
    if size is None:
        return _by_width(estimate, limit)
    if clusters < 2 or estimate.probe == WHOLE_RUN:
        trials, made = trials_total(value, limit.value, _NORMAL, POWER), size * _NORMAL**2
        return None if trials is None else ceil(max(trials, made + 1) / made * estimate.n_calls - _ROUNDING)
    at_once = DECOMPOSITION_CELLS if estimate.interval and "goodman" in estimate.interval.method else 1
    sure = 1 - (1 - SURE) / at_once
    each = size * t_quantile(sure, clusters - 1) ** 2 / clusters

    def decided(count: int) -> bool:
        trials = each * count
        seen = unlucky_share(value, limit.value, trials, t_quantile(POWER, count - 1))
        word = limit_word(score(seen, trials, t_quantile(sure, count - 1)), limit)
        return word == FLAGGED or (word == CLEAR and _so_few(estimate, limit, (seen, seen), count / clusters))

    count = smallest_sufficient(decided, clusters)
    return None if count is None else ceil(count / clusters * estimate.n_calls)


def _by_width(estimate: Estimate, limit: Limit) -> int | None:
    """The same of a figure that is no share: its interval narrows with the root of the calls."""
    value, interval = estimate.value or 0.0, estimate.interval
    apart = value - limit.value
    end = None if interval is None else interval.low if apart > 0 else interval.high
    if end is None or abs(apart) < 1e-3:
        return None
    reach = abs(value - end) * POWER_REACH
    return ceil(estimate.n_calls * max(1.0, (reach / apart) ** 2))
