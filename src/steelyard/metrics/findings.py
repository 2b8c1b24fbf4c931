"""The words of a datasheet: `clear`, `flagged`, `inconclusive`; and how many calls would give one.

Every word is read from one interval by `span_state`: within a limit as a whole, beyond it as a whole, or
neither. That interval is `Estimate.decides`. It is the recommended 95 % interval, taken at the worst and the
best case over missing verdicts, and wider where one of these is:

- of few events: shares at which a judge would show so few in more than 5 % of runs, were its calls correlated
  by .3 within clusters, are not excluded;
- beyond the limit, in a single cluster: exact binomial limits;
- of a family of tests: limits with the error that the family leaves to the test.

A test of a difference decides whether 0 is excluded: where its interval says otherwise, the interval is cut
or stretched at 0. A datasheet reads figures against the limits of their metrics, the gate against those of a
policy, both by `estimate_word`.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace
from math import ceil, inf, isfinite, isnan, sqrt

import numpy as np

from steelyard.core.text import join_notes
from steelyard.metrics.estimate import DECIDES, Estimate, Interval
from steelyard.metrics.metric import Limit
from steelyard.metrics.stats import distributions, sample_size
from steelyard.metrics.stats.clusters import Tally, effective_size, quantile, wilson_cluster
from steelyard.metrics.stats.distributions import cluster_quantile, t_probability, t_quantile
from steelyard.metrics.stats.intervals import ALPHA, DIFFERENCE, Span, clipped, clopper_pearson, score
from steelyard.metrics.stats.sample_size import POWER, smallest_sufficient

CLEAR, FLAGGED, INCONCLUSIVE = "clear", "flagged", "inconclusive"
MARGIN = 0.10
"""Largest difference that still counts as none."""
WITHIN_MARGIN = (-MARGIN, MARGIN)
SURE = 1 - ALPHA / 2
"""One-sided probability of the ends of the interval that every word rests on."""
_NORMAL = distributions.normal_quantile(SURE)
TOLERATED_LOSS = 0.02
"""Share of calls without a verdict that a figure without bounds may have and still be clear."""
MISSING_DECIDE = "the missing verdicts decide"
BY_CHANCE = "by chance"
"""Reading of a share that calls which ignore each other would show as well: it is never flagged."""
WHOLE_RUN = "run"
"""Probe of figures over all calls of a run, which are taken as independent."""
_ROUNDING = 1e-9
_NARROW = 1e-4
"""How near the end that few events allow is found."""
_BESIDE_ZERO, _BESIDE_LIMIT = 0.001, 0.01
"""How far a cut end lies beyond what a test excludes, so that no page prints the two as one number."""


def span_state(interval: Interval | Span | None, allowed: Span, null: float | None = None) -> str:
    """The word that an interval bears out: the one rule of figures, datasheet and gate.

    Against a limit it is clear within `allowed` and flagged beyond it, as a whole. A tested difference has a
    `null`, mostly 0: it is clear inside its margin, else flagged where the interval leaves the null out.
    """
    if interval is None:
        return INCONCLUSIVE
    low, high = interval.span if isinstance(interval, Interval) else interval
    if null is not None:
        if allowed[0] < low and high < allowed[1]:
            return CLEAR
        return FLAGGED if low > null or high < null else INCONCLUSIVE
    if allowed[0] <= low and high <= allowed[1]:
        return CLEAR
    return FLAGGED if low > allowed[1] or high < allowed[0] else INCONCLUSIVE


def agreeing(span: Span, word: str, value: float, allowed: Span, null: float | None = None) -> Span:
    """The span, cut or stretched as little as makes it bear out the word of a test.

    A test and an interval that approximates it may disagree about the value that is tested.
    """
    state, (low, high) = span_state(span, allowed, null), span
    if state == word:
        return span
    below, above = allowed if null is None else (null, null)
    beside = _BESIDE_ZERO if 0 in (below, above) else _BESIDE_LIMIT
    if word == FLAGGED and value > above:
        return above + min(beside, (value - above) / 2), max(high, allowed[1])
    if word == FLAGGED:
        return min(low, allowed[0]), below - min(beside, (below - value) / 2)
    if state == FLAGGED:
        return (above, high) if low > above else (low, below)
    return (low, allowed[1] + beside) if isfinite(allowed[1]) else (allowed[0] - beside, high)


def decided_by(estimate: Estimate, word: str, span: Span, confidence: float = 1 - ALPHA) -> Estimate:
    """The estimate with its word and the interval that it is read from, where that is another."""
    low, high = (end if isfinite(end) else None for end in span)
    published = tuple(each for each in estimate.intervals if each.method != DECIDES)
    same = bool(published) and (low, high) == (published[0].low, published[0].high)
    decides = () if same else (Interval(DECIDES, low, high, round(confidence, 6)),)
    return replace(estimate, status=word, intervals=(*published, *decides))


def estimate_word(estimate: Estimate, allowed: Span) -> str:
    """The word for a figure that must stay within `allowed`: the one rule of the datasheet and the gate."""
    return span_state(_deciding_span(estimate, allowed), allowed)


def with_limit_word(estimate: Estimate, allowed: Span) -> Estimate:
    """The estimate with its word for a limit, and the interval that it is read from."""
    span = _deciding_span(estimate, allowed)
    if span is None:
        return replace(estimate, status=INCONCLUSIVE)
    return decided_by(estimate, span_state(span, allowed), span)


def with_word_over(estimate: Estimate, limit: Limit, cases: Iterable[Span]) -> Estimate:
    """The word that its own interval and that of each case of missing verdicts bear out alike."""
    assert estimate.interval is not None, "a figure with a limit has an interval"
    seen, span = estimate.status, over_cases((estimate.interval.span, *cases))
    return with_missingness(decided_by(estimate, span_state(span, limit.allowed), span), seen)


def with_missingness(estimate: Estimate, seen: str | None) -> Estimate:
    """The estimate, which says so where the verdicts at hand alone would give another word, `seen`."""
    if seen == estimate.status:
        return replace(estimate, missing_decides=False)
    note = f"{seen} but for calls without a verdict: {MISSING_DECIDE}"
    return replace(estimate, missing_decides=True, note=join_notes([estimate.note, note]))


def over_cases(spans: Iterable[Span]) -> Span:
    """From the least to the largest end of the intervals of several cases; open where one is not known."""
    lows, highs = zip(*spans, strict=True)
    return -inf if any(map(isnan, lows)) else min(lows), inf if any(map(isnan, highs)) else max(highs)


def _deciding_span(estimate: Estimate, allowed: Span) -> Span | None:
    span = _interval_with_missing(estimate)
    if span is None:
        return None
    share = estimate.effective_size is not None and estimate.probe != WHOLE_RUN
    if span_state(span, allowed) != FLAGGED:
        ends = dict(zip(("min", "max"), span, strict=True))
        for limit in _limits(allowed) if share else ():
            ends[limit.side] = _few_events_end(estimate, limit, ends[limit.side])
        return ends["min"], ends["max"]
    if share and estimate.n_clusters == 1:
        # Wilson's limits lie beyond with a single unit, which shows nothing.
        size = min(estimate.denominator or 0, estimate.n_units)
        least, most = (clopper_pearson(each * size, size) for each in _shares(estimate))
        span = over_cases((span, (least[0], most[1])))
    return agreeing(span, INCONCLUSIVE, 0.0, allowed) if estimate.reading == BY_CHANCE else span


def _few_events_end(estimate: Estimate, limit: Limit, end: float) -> float:
    """The end, moved outward to the first share that would show so few events in at most 5 % of runs."""

    def rare(share: float) -> bool:
        return _so_few(estimate, replace(limit, value=share), _shares(estimate))

    if rare(end):
        return end
    inner, outer = end, 1.0 if limit.side == "max" else 0.0
    middle = limit.value if min(inner, outer) < limit.value < max(inner, outer) else (inner + outer) / 2
    while abs(outer - inner) > _NARROW or middle == limit.value:
        # The limit is tried first: the end lies on its right side for certain.
        inner, outer = (inner, middle) if rare(middle) else (middle, outer)
        middle = (inner + outer) / 2
    return outer


def with_finding(estimate: Estimate, limit: Limit | None) -> Estimate:
    """The estimate with its word for the limit, and where it has none with the calls that would decide."""
    if limit is None or estimate.value is None:
        return estimate
    whole, decided = replace(estimate, bounds=None, excluded={}), with_limit_word(estimate, limit.allowed)
    seen = estimate_word(whole, limit.allowed)
    needed = calls_total(whole, limit.allowed) if seen == INCONCLUSIVE else None
    return with_missingness(replace(decided, calls_needed=needed), seen)


def at_alpha(estimate: Estimate, limit: Limit | None, alpha: float) -> Estimate:
    """The estimate with limits that err in this share of runs; a word that they do not bear out is withheld.

    The limits are as many times further from the value as the quantile of their law is larger. A word that
    neither a limit nor a test stands behind is withheld.
    """
    wide = widened(estimate, alpha)
    word, interval = estimate.status, wide.interval
    if word not in (CLEAR, FLAGGED) or interval is None:
        return wide
    p = estimate.p if estimate.p_corrected is None else estimate.p_corrected
    holds = limit is not None and estimate_word(wide, limit.allowed) == word
    if limit is None and p is not None:
        holds = p <= alpha if word == FLAGGED else span_state(interval, WITHIN_MARGIN, 0.0) == CLEAR
    return wide if holds else replace(wide, status=INCONCLUSIVE)


def widened(estimate: Estimate, alpha: float) -> Estimate:
    """The estimate with the one interval that errs in this share of runs."""
    interval, value = estimate.interval, estimate.value
    if interval is None or value is None:
        return estimate
    clusters = 1 if estimate.probe == WHOLE_RUN else estimate.n_clusters
    times = cluster_quantile(1 - alpha / 2, clusters) / cluster_quantile(SURE, clusters)
    ends = interval.low, interval.high
    low, high = (None if end is None else value + times * (end - value) for end in ends)
    quantile = None if estimate.quantile is None else estimate.quantile * times
    if estimate.effective_size is not None and quantile is not None:
        low, high = score(value, estimate.effective_size, quantile)
    wide = Interval(interval.method, low, high, 1 - alpha)
    return replace(estimate, intervals=(wide,), quantile=quantile)


def judge_limit(tally: Tally, limit: Limit, bounds: Span | None = None) -> str:
    """The word for a proportion against its limit, clusters taken as independent.

    `bounds` are the share in the worst and best case over missing verdicts.
    """
    return estimate_word(replace(bare_share(tally), bounds=bounds), limit.allowed)


def bare_share(tally: Tally) -> Estimate:
    interval = Interval("wilson_cluster", *wilson_cluster(tally))
    share = Estimate("", "", "", {}, "call", tally.k / tally.n, tally.k, tally.n, (interval,))
    counts = {name: getattr(tally, name) for name in ("n_calls", "n_units", "n_clusters")}
    return replace(share, effective_size=effective_size(tally), quantile=quantile(tally, SURE), **counts)


def _limits(allowed: Span) -> list[Limit]:
    sides = zip(allowed, ("min", "max"), strict=True)
    return [Limit(value, side) for value, side in sides if isfinite(value)]


def _interval_with_missing(estimate: Estimate) -> Span | None:
    """The recommended interval over every way in which the missing verdicts could have come out."""
    interval, value = estimate.interval, estimate.value
    if interval is None or value is None:
        return None
    low, high = interval.span
    lost = sum(estimate.excluded.values())
    if estimate.bounds is None and lost > TOLERATED_LOSS * (estimate.n_calls + lost):
        return -inf, inf
    down, up = missingness_shift(value, estimate.bounds)
    size, reach = estimate.effective_size, estimate.quantile
    if size is None or reach is None:
        return low + down, high + up
    least, most = _shares(estimate)
    return score(least, size, reach)[0] if down else low, score(most, size, reach)[1] if up else high


def _shares(estimate: Estimate) -> Span:
    value = estimate.value or 0.0
    down, up = missingness_shift(value, estimate.bounds)
    return max(0.0, value + down), min(1.0, value + up)


def _so_few(estimate: Estimate, limit: Limit, shares: Span, times: float = 1.0) -> bool:
    """Whether a judge on the limit would rarely show so few events beyond it; one cluster tells nothing."""
    clusters, total = estimate.n_clusters, estimate.denominator or 0
    if clusters < 2:
        return True
    share, at = (shares[1], limit.value) if limit.side == "max" else (1 - shares[0], 1 - limit.value)
    trials = (total + np.arange(clusters)) // clusters
    return distributions.chance_of_so_few(share * total * times, trials, at, times) <= ALPHA


def difference_word(limits: Span, probability: float, moved: Span = (0.0, 0.0)) -> str:
    """The word for a difference, from its 95 % interval and the test's p.

    `moved` says how far missing verdicts could move the difference, down and up; see `missingness_shift`.
    """
    low, high = limits[0] + moved[0], limits[1] + moved[1]
    if low > -MARGIN and high < MARGIN:
        return CLEAR
    kept = moved == (0.0, 0.0) or low > 0 or high < 0
    return FLAGGED if probability <= ALPHA and kept else INCONCLUSIVE


def with_tested_interval(
    estimate: Estimate, word: str, alpha: float, allowed: Span = WITHIN_MARGIN, null: float | None = 0.0
) -> Estimate:
    """The estimate with the word of a test at this error, and an interval that bears it out.

    A word that the margin alone gives is read from the usual interval.
    """
    wide = estimate if word == CLEAR or alpha == ALPHA else widened(estimate, alpha)
    if wide.interval is None:
        return replace(estimate, status=word)
    value, (low, high) = estimate.value or 0.0, wide.interval.span
    down, up = missingness_shift(value, estimate.bounds)
    span = clipped((low + down, high + up), DIFFERENCE) if null == 0 else _deciding_span(wide, allowed)
    span = agreeing(span or (-inf, inf), word, value, allowed, null)
    return decided_by(estimate, word, span, wide.interval.confidence)


def missingness_shift(value: float, bounds: Span | None) -> Span:
    """How far missing verdicts could move a value, down and up; rounding does not count."""
    if bounds is None:
        return 0.0, 0.0
    down, up = min(0.0, bounds[0] - value), max(0.0, bounds[1] - value)
    return down if down < -1e-9 else 0.0, up if up > 1e-9 else 0.0


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
    sides = (limit for limit in _limits(allowed) if estimate_word(estimate, limit.allowed) == INCONCLUSIVE)
    totals = [_calls_for(estimate, limit) for limit in sides]
    known = [total for total in totals if total is not None]
    return max(known) if known and len(known) == len(totals) else None


def _calls_for(estimate: Estimate, limit: Limit) -> int | None:
    size, reach = estimate.effective_size, estimate.quantile
    value, clusters = estimate.value or 0.0, estimate.n_clusters
    if size is None or reach is None:
        ends = (None, None) if estimate.interval is None else (estimate.interval.low, estimate.interval.high)
        return sample_size.calls_by_interval(estimate.n_calls, value, ends, limit.value)
    if clusters < 2 or estimate.probe == WHOLE_RUN:
        trials = sample_size.trials_total(value, limit.value, _NORMAL, POWER)
        made = size * (_NORMAL / reach) ** 2
        return None if trials is None else ceil(max(trials, made + 1) / made * estimate.n_calls - _ROUNDING)
    sure, each = t_probability(reach, clusters - 1), size / clusters

    def decided(count: int) -> bool:
        trials = each * count
        seen = sample_size.unlucky_share(value, limit.value, trials, t_quantile(POWER, count - 1))
        word = span_state(score(seen, trials, t_quantile(sure, count - 1)), limit.allowed)
        return word == FLAGGED or (word == CLEAR and _so_few(estimate, limit, (seen, seen), count / clusters))

    count = smallest_sufficient(decided, clusters)
    return None if count is None else ceil(count / clusters * estimate.n_calls)
