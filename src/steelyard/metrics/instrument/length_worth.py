"""Length against quality: how often a better text beats a worse one with twice as many words, and what that
length is worth in steps.

The share counts a tie half and averages both orders, so that no slot moves it. The worth is that of a cue in
the joint fit, with the ladder of the same run for the step.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from steelyard.metrics.estimate import Estimate, EstimateContext, Interval, Sample
from steelyard.metrics.findings import with_finding
from steelyard.metrics.instrument.crossing import LADDER, OF_CUE
from steelyard.metrics.instrument.worth_estimates import single_worth
from steelyard.metrics.metric import HIGH, ZERO, Amount, Limit, Metric, step
from steelyard.metrics.pairs.choices import CHANCE_OF_PAIRS, Choices
from steelyard.metrics.pairs.columns import Pairs, collect, missing_rates
from steelyard.metrics.stats.intervals import ALPHA
from steelyard.stimuli.cues import LENGTH_PROBE, PADDED
from steelyard.verdicts.observations import Observations

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
LENGTH_WORTH = Metric(
    "length_worth",
    "worth of length",
    "Steps of quality that twice as many words are worth: how much better the shorter text must be to win as "
    "often as not, from the joint fit of the ladder and the padded pairs.",
    signed=True,
    direction=ZERO,
    unit="pair",
    basis=OF_CUE,
)


def length_estimates(context: EstimateContext, observations: Observations) -> list[Estimate]:
    """The share at each step, the worth, and calls without a verdict; nothing where no pair was shown."""
    padded = collect(observations.filter(LENGTH_PROBE))
    if not len(padded):
        return []
    both = np.isin(observations.shown.probe, (LADDER, LENGTH_PROBE))
    return [
        *(_share(context, padded, delta) for delta in np.unique(padded.delta).tolist()),
        _worth(context, collect(observations.filter(stimuli=both))),
        *missing_rates(context, padded),
    ]


def _share(context: EstimateContext, padded: Pairs, delta: float) -> Estimate:
    here = context.for_subgroup(delta=step(delta))
    choices = Choices.of(padded.where(padded.delta == delta), ALPHA)
    if not choices.defined:
        return here.undefined(BEATS_PADDED, choices.reason, "call", choices.excluded)
    value, calls, lost = choices.mean.value, len(choices.points), sum(choices.excluded.values())
    asked = calls + lost
    share = here.estimate(
        BEATS_PADDED,
        Sample(calls, choices.pairs, choices.clusters, choices.excluded),
        value=value,
        intervals=(Interval("wilson_cluster", *choices.limits),),
        bounds=(value * calls / asked, (value * calls + lost) / asked) if lost else None,
        chance=CHANCE_OF_PAIRS,
    )
    return with_finding(share, BEATS_PADDED.limit_in(here.group, here.probe))


def _worth(context: EstimateContext, pairs: Pairs) -> Estimate:
    worth = single_worth(context.for_subgroup(cue=PADDED), pairs, PADDED)
    return replace(worth, metric=LENGTH_WORTH.id)
