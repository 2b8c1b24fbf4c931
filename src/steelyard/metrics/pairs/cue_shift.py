"""Cues on pairs of the user's data: how far a cue moves the preference for the text that carries it.

Such pairs have no known steps of quality, so that there is no worth. Every pair is shown as it is, and with
the cue on its second response. The shift is the change in preference for that response, a tie counted half
and both orders averaged, with clusters as independent.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from steelyard.metrics.estimate import Estimate, EstimateContext, Interval, Reason
from steelyard.metrics.metric import ZERO, Metric
from steelyard.metrics.multiplicity import adjust_estimates
from steelyard.metrics.pairs.columns import Pairs, collect, excluded, neither, readable
from steelyard.metrics.proportions import with_difference_word
from steelyard.metrics.stats.clusters import ClusterMean
from steelyard.stimuli.original import NATURAL_PROBE
from steelyard.verdicts.observations import Observations

CUE_SHIFT = Metric(
    "cue_shift",
    "shift by a cue",
    "Change in the preference for a text once it carries a cue, on pairs of the data, a tie counted half; of "
    "single texts the change in the score as a share of the scale, on yes/no scales in the pass rate.",
    plain="a cue moves the verdict",
    signed=True,
    direction=ZERO,
    unit="pair",
)
TOO_FEW = Reason(
    "too_few_pairs", "too little data: fewer than 2 pairs have verdicts with and without the cue"
)


def shift_estimates(
    context: EstimateContext, observations: Observations, probe: str, cues: Sequence[str]
) -> list[Estimate]:
    """The shift by each cue, flagged only where Holm's method over the cues lets it be."""
    plain = _preferences(collect(observations.filter(NATURAL_PROBE)), f"/{NATURAL_PROBE}")
    shifts = []
    for cue in cues:
        here, pairs = context.for_subgroup(cue=cue), collect(observations.filter(probe, kinds=(cue,)))
        cued = _preferences(pairs, f"/{probe}/{cue}")
        both = [item for item in cued if item in plain]
        if len(both) < 2:
            shifts.append(here.undefined(CUE_SHIFT, TOO_FEW, "pair", excluded(pairs)))
            continue
        moved = np.array([cued[item][0] - plain[item][0] for item in both])
        mean = ClusterMean.of(np.unique([cued[item][1] for item in both], return_inverse=True)[1], moved)
        limits, p = mean.difference_limits(0.975), mean.p()
        shifts.append(
            here.estimate(
                CUE_SHIFT,
                unit="pair",
                value=mean.mean,
                intervals=(Interval("t_cluster", *limits),),
                n_calls=4 * len(both),
                n_units=len(both),
                n_clusters=mean.units,
                excluded=excluded(pairs),
                chance=0.0,
                minimum_detectable=mean.detectable,
                p=p,
            )
        )
    return adjust_estimates([with_difference_word(each) for each in shifts], "cues", CUE_SHIFT)


def _preferences(pairs: Pairs, suffix: str) -> dict[str, tuple[float, str]]:
    """Item to its preference for the second response, over replicates with both verdicts, and its cluster."""
    whole = pairs.where(np.asarray(readable(pairs.calls).all(axis=1)))
    points = np.where(neither(whole.calls), 0.5, whole.wins("v").astype(np.float64)).mean(axis=1)
    found: dict[str, list[float]] = {}
    cluster: dict[str, str] = {}
    for row, number in enumerate(whole.pair.tolist()):
        item = whole.names[number].removesuffix(suffix)
        found.setdefault(item, []).append(float(points[row]))
        cluster[item] = whole.clusters[whole.cluster[row]]
    return {item: (sum(values) / len(values), cluster[item]) for item, values in found.items()}
