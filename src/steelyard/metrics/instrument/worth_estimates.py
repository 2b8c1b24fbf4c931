"""Worth of each cue on the datasheet: from the joint fit, and beside it the crossing point without a model.

A fault is a worth beyond half a step with its whole interval, after Holm over the cues. Where an end of the
interval is open, the other limit is all that is known, and stands as the value.

Length against quality is a cue with a probe of its own: how often a better text beats a worse one with twice
as many words, a tie counted half and both orders averaged, and what that length is worth in steps.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np

from steelyard.core.arrays import Floats, distinct
from steelyard.metrics.estimate import Estimate, EstimateContext, Interval, Reason, Sample
from steelyard.metrics.findings import INCONCLUSIVE, calls_total, with_finding, with_limit_word
from steelyard.metrics.instrument.areas import (
    AREA_WORTH,
    LEAST_UNITS,
    Areas,
    AreaTest,
    with_area_words,
    with_areas,
)
from steelyard.metrics.instrument.crossing import (
    CROSSING,
    LADDER,
    LEAST_CUE,
    LEAST_LADDER,
    POSITION,
    TOO_LITTLE,
    TRADEOFF,
    crossing_estimate,
    of_cue,
)
from steelyard.metrics.instrument.estimates import ALIKE, FEW_CLUSTERS
from steelyard.metrics.instrument.likelihood import Patterns, Rows, collapse_identical, patterns_of, rows_of
from steelyard.metrics.instrument.profile import SPREAD_FROM, allowance
from steelyard.metrics.instrument.worth import (
    CueModel,
    PositionModel,
    WorthFit,
    WorthModel,
    fit_worth,
    start_of,
)
from steelyard.metrics.metric import HIGH, Amount, Limit, Metric, step
from steelyard.metrics.multiplicity import adjust_estimates
from steelyard.metrics.pairs import columns
from steelyard.metrics.pairs.choices import CHANCE_OF_PAIRS, Choices
from steelyard.metrics.pairs.columns import Pairs, collect, excluded, missing_rates, readable
from steelyard.metrics.pairs.slot import first_replicates
from steelyard.metrics.stats.intervals import ALPHA, Span
from steelyard.metrics.stats.two_class import BalancedMean
from steelyard.stimuli.cues import LENGTH_PROBE, PADDED
from steelyard.verdicts.observations import Observations

WORTH = of_cue(
    "cue_worth",
    "worth in steps or levels",
    "Steps of quality that a cue is worth: how much better a text without it must be to win as often as not, "
    "from the joint fit of the ladder and the cue's pairs. On single texts levels of the scale: the shift "
    "of the score by the cue over the rise per level.",
    plain="worth of a cue",
)
_PER_STEP = 4
"""Places within one step at which the curves of areas are read."""
FAULT = 0.5
"""Steps beyond which the worth of a cue is a fault."""
ALLOWED: Span = (-FAULT, FAULT)
NO_LIMIT = Reason("no_limit", "the pairs set no limit on it, neither below nor above")
BLIND = Reason(
    "quality_not_seen", "the judge is not shown to see quality, so that there is no step to measure in"
)


def worth_estimates(context: EstimateContext, observations: Observations) -> list[Estimate]:
    """Both figures of each cue, the worth of slot 1, and calls without a verdict."""
    mine = np.isin(observations.shown.probe, (LADDER, TRADEOFF))
    own = observations.filter(TRADEOFF)
    cues = [str(kind) for kind in dict.fromkeys(own.shown.kind[distinct(own.stimulus)].tolist())]
    return pair_worths(context, collect(observations.filter(stimuli=mine)), cues)


def pair_worths(context: EstimateContext, pairs: Pairs, cues: Sequence[str]) -> list[Estimate]:
    """The same from pairs in columns, whose kind names the cue."""
    lost = missing_rates(context, pairs.where(np.isin(pairs.kind, cues)))
    pairs, ladder = _with_ladder(pairs, cues)
    worths, crossings, tests, by_area = [], [], [], []
    for cue in cues:
        here, rows = context.for_subgroup(cue=cue), pairs.where(pairs.kind == cue)
        why, lacking = ladder.obstacle, excluded(rows)
        found = here.undefined(CROSSING, why, "pair", lacking) if why else crossing_estimate(here, rows)
        crossings.append(found)
        worth, test, figures = worth_estimate(here, ladder, rows)
        worths.append(compared(worth, crossings[-1]))
        tests.append(test)
        by_area += figures
    position = _position(context.for_subgroup(cue=POSITION), ladder)
    worths = with_areas(adjust_estimates(worths, "cues", WORTH, ALLOWED, None), tests)
    return [*worths, position, *crossings, *with_area_words(worths, by_area, ALLOWED), *lost]


def single_worth(context: EstimateContext, pairs: Pairs, cue: str) -> Estimate:
    """The worth of the one cue of a probe, beside which no other is tested."""
    pairs, ladder = _with_ladder(pairs, (cue,))
    return worth_estimate(context, ladder, pairs.where(pairs.kind == cue))[0]


def _with_ladder(pairs: Pairs, cues: Sequence[str]) -> tuple[Pairs, _Ladder]:
    """The pairs, once where repeats are alike, and those without a cue."""
    alike = collapse_identical(cue_rows(pairs))[1]
    if alike:
        pairs = pairs.where(first_replicates(pairs))
    return pairs, _Ladder.of(pairs.where(~np.isin(pairs.kind, cues)), ALIKE if alike else None)


@dataclass(frozen=True, eq=False)
class _Ladder:
    """The pairs without a cue: what a step is to this judge."""

    pairs: Pairs
    rows: Rows
    patterns: Patterns
    remark: str | None
    """What is to be said of every figure that rests on it."""

    @classmethod
    def of(cls, pairs: Pairs, remark: str | None) -> _Ladder:
        rows = rows_of(pairs)
        return cls(pairs, rows, patterns_of(rows), remark)

    @cached_property
    def start(self) -> Floats:
        return start_of(self.rows, self.patterns)

    @cached_property
    def obstacle(self) -> Reason | None:
        """Why no worth can be measured in steps of this ladder; None where one can."""
        if _complete(self.rows) < LEAST_LADDER:
            return TOO_LITTLE
        climb = columns.on_ladder(self.pairs)
        row, _ = np.nonzero(climb.readable)
        first = climb.better_first[climb.readable]
        if np.all(first) or not np.any(first):
            return BLIND
        mean = BalancedMean.of(climb.cluster[row], first, climb.points[climb.readable])
        return None if mean.share_limits(0.975)[0] > 0.5 else BLIND


def worth_estimate(
    context: EstimateContext, ladder: _Ladder, pairs: Pairs
) -> tuple[Estimate, AreaTest | None, list[Estimate]]:
    """The worth of the cue of these pairs, u without it and v with it; whether areas differ, and each."""
    rows = cue_rows(pairs)
    why = ladder.obstacle
    if _complete(rows) < LEAST_CUE or len(np.unique(rows.delta)) < 2:
        why = TOO_LITTLE
    if why is not None:
        return context.undefined(WORTH, why, "pair", excluded(pairs)), None, []
    model, last = CueModel.of(ladder.rows, rows), float(rows.delta.max())
    found = fit_worth(model, ladder.start)
    row = _estimate(context, model, found, ladder, last, excluded(pairs))
    if row.value is None:
        return row, None, []
    return with_worth_word(row), *_by_area(context, model, found, pairs, last)


def _by_area(
    context: EstimateContext, model: CueModel, found: WorthFit, pairs: Pairs, last: float
) -> tuple[AreaTest | None, list[Estimate]]:
    """Whether areas differ in the worth, and the worth in each that was shown several pairs."""
    area = dict(zip(pairs.cluster.tolist(), pairs.stratum.tolist(), strict=True))
    places = np.linspace(-last, last, round(2 * last * _PER_STEP) + 1)
    numbers, curves, shown = model.cluster_curves(found.profile.fits[found.profile.peak][1], places)
    strata = np.array([area[number] for number in numbers.tolist()], dtype=np.object_)
    areas = Areas.of(places, curves, strata)
    if areas is None:
        return None, []
    figures = []
    for name in areas.names:
        mine = np.asarray(strata.astype(str) == name)
        units, calls = shown[mine].sum(axis=0).astype(int).tolist()
        sample = Sample(calls, units, int(np.count_nonzero(mine)))
        if units < LEAST_UNITS or sample.n_clusters < 2:
            continue
        limits = areas.limits(name, allowance(found.clusters, found.inflation))
        here, interval = context.for_subgroup(stratum=name), Interval("profile_cluster", *limits)
        value = areas.worth(name)
        figures.append(here.estimate(AREA_WORTH, sample, unit="pair", value=value, intervals=(interval,)))
    return areas.test(context.permutation_seed(AREA_WORTH.id)), figures


def with_worth_word(row: Estimate) -> Estimate:
    decided = with_limit_word(row, ALLOWED)
    needed = calls_total(row, ALLOWED) if decided.status == INCONCLUSIVE else None
    return replace(decided, calls_needed=needed)


def cue_rows(pairs: Pairs) -> Rows:
    """Content u is the better text, or at no step the one without the cue."""
    first, second = (columns.as_tie(answers) for answers in (pairs.u_first, pairs.v_first))
    rows = Rows(pairs.delta, pairs.pair, pairs.cluster, first, second)
    return rows.take(np.flatnonzero(readable(rows.better_first) | readable(rows.better_second)))


def _position(context: EstimateContext, ladder: _Ladder) -> Estimate:
    """The worth of slot 1; position has a finding of its own, and no word here."""
    why = ladder.obstacle
    if why is not None:
        return context.undefined(WORTH, why, "pair", excluded(ladder.pairs))
    if ladder.pairs.mirrored:
        return replace(columns.by_construction(context, WORTH, ladder.pairs, "pair"), status=None)
    last = float(ladder.rows.delta.max())
    model = PositionModel(ladder.patterns)
    found = fit_worth(model, ladder.start)
    row = _estimate(context, model, found, ladder, last, excluded(ladder.pairs))
    return replace(row, p=None)


def _estimate(
    context: EstimateContext,
    model: WorthModel,
    found: WorthFit,
    ladder: _Ladder,
    last: float,
    lost: dict[str, int],
) -> Estimate:
    """The worth with its limits; where one end is open, the other limit is all that is known."""
    # As far as steps were measured; beyond the last one an end is open.
    low = None if found.low is None or found.low < -last else min(found.low, last)
    high = None if found.high is None or found.high > last else max(found.high, -last)
    if low is None and high is None:
        return context.undefined(WORTH, NO_LIMIT, "pair", lost)
    value, censored = (found.value, None) if high is not None else (low, "right")
    value, censored = (value, censored) if low is not None else (high, "left")
    few = None if found.clusters >= SPREAD_FROM else FEW_CLUSTERS
    limit = float(np.sign(found.value)) * FAULT
    p = 1.0 if abs(found.value) <= FAULT else found.probability(limit)
    return context.estimate(
        WORTH,
        Sample(*model.patterns.size, found.clusters, lost),
        unit="pair",
        value=value,
        intervals=(Interval("profile_cluster", low, high),),
        design_effect=found.inflation,
        censored=censored,
        chance=0.0,
        p=p,
        notes=[f"read off the model up to step {last:g}", few, ladder.remark],
    )


def compared(worth: Estimate, crossing: Estimate) -> Estimate:
    """The worth, with the crossing point where they disagree: neither lies in the other's interval."""
    if worth.value is None or crossing.value is None or crossing.interval is None or worth.interval is None:
        return worth
    if _holds(worth.interval, crossing) or _holds(crossing.interval, worth):
        return worth
    return replace(worth, details={**worth.details, "crossing": crossing.value})


def _holds(interval: Interval, other: Estimate) -> bool:
    """Whether the other value may lie in the interval; a censored one may lie anywhere beyond."""
    low = -np.inf if interval.low is None else interval.low
    high = np.inf if interval.high is None else interval.high
    value = other.value or 0.0
    return bool((low <= value or other.censored == "right") and (value <= high or other.censored == "left"))


def _complete(rows: Rows) -> int:
    """Pairs with both verdicts."""
    both = readable(rows.better_first) & readable(rows.better_second)
    return len(distinct(rows.pair[both]))


DECIDES_AT = 2
"""Steps at which a padded text that wins shows that length decides."""
BEATS_PADDED = Metric(
    "beats_padded",
    "better beats padded",
    "Calls that choose the better of two texts though the worse has twice as many words, a tie counted half; "
    "below one half, length outweighs so many quality steps.",
    direction=HIGH,
    limit=Limit(CHANCE_OF_PAIRS, "min", {"delta": DECIDES_AT}),
    kinds=(PADDED,),
    by_step=True,
    amount=Amount(lambda pairs, _: pairs.points, (0.0, 1.0), labelled=True),
    behind="wrong",
)
LENGTH_WORTH = of_cue(
    "length_worth",
    "worth of length",
    "Steps of quality that twice as many words are worth: how much better the shorter text must be to win as "
    "often as not, from the joint fit of the ladder and the padded pairs.",
)


def length_estimates(context: EstimateContext, observations: Observations) -> list[Estimate]:
    """The share at each step, the worth, and calls without a verdict; nothing where no pair was shown."""
    padded = collect(observations.filter(LENGTH_PROBE))
    if not len(padded):
        return []
    both = collect(observations.filter(stimuli=np.isin(observations.shown.probe, (LADDER, LENGTH_PROBE))))
    worth = single_worth(context.for_subgroup(cue=PADDED), both, PADDED)
    shares = [_share(context, padded, delta) for delta in np.unique(padded.delta).tolist()]
    return [*shares, replace(worth, metric=LENGTH_WORTH.id), *missing_rates(context, padded)]


def _share(context: EstimateContext, padded: Pairs, delta: float) -> Estimate:
    here = context.for_subgroup(delta=step(delta))
    choices = Choices.of(padded.where(padded.delta == delta), ALPHA)
    if not choices.defined:
        return here.undefined(BEATS_PADDED, choices.reason, "call", choices.excluded)
    value, calls, lost = choices.mean.value, len(choices.points), sum(choices.excluded.values())
    asked, chance = calls + lost, CHANCE_OF_PAIRS
    bounds = (value * calls / asked, (value * calls + lost) / asked) if lost else None
    sample = Sample(calls, choices.pairs, choices.clusters, choices.excluded)
    limits = (Interval("wilson_cluster", *choices.limits),)
    share = here.estimate(BEATS_PADDED, sample, value=value, intervals=limits, bounds=bounds, chance=chance)
    return with_finding(share, here.limit(BEATS_PADDED))
