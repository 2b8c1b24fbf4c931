"""One correlation and one mean error per judge: its ordinal scores of all probes together."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from steelyard.metrics.estimate import Estimate
from steelyard.metrics.estimate_context import EstimateContext
from steelyard.metrics.scores.against_labels import CCC, MAE, PEARSON, SPEARMAN
from steelyard.metrics.scores.columns import collect_scores
from steelyard.metrics.scores.original_range import on_original_range
from steelyard.metrics.scores.probe import by_scale
from steelyard.stimuli.original import ORIGINAL
from steelyard.verdicts.observations import Observation, Observations

PROBE = "pooled"
METRICS = (CCC, PEARSON, SPEARMAN, MAE)
"""What is told of all probes together, in reading order."""


def pooled_estimates(
    judge: str, observations: Sequence[Observation], estimates: Sequence[Estimate], seed: int
) -> list[Estimate]:
    """Agreement with the labels over every ordinal call of the judge's probes; nothing for fewer than two.

    Each call counts once. Items as they are count where a probe shows nothing else.
    """
    mine = [e for e in estimates if e.judge == judge and e.metric == MAE.id and e.value is not None]
    probes = {e.probe for e in mine if e.group.get("protocol") == "base"}
    if len(probes) < 2:
        return []
    base = Observations.of(observations).filter(protocol="base")
    base = on_original_range(base.filter(stimuli=base.shown.scored))
    edited = {shown.probe for shown in base.stimuli_seen}
    names = probes if probes <= edited else {*probes, ORIGINAL}
    scores = collect_scores(base.filter(stimuli=np.isin(base.shown.probe, list(names))))
    context = EstimateContext.for_protocol(judge, PROBE, "base", seed)
    return by_scale(context, scores.where(~scores.binary), METRICS)
