"""What several judges of the same texts show together."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from steelyard.metrics.estimate import Estimate
from steelyard.metrics.panel.jury_estimates import jury_by_probe, jury_estimates
from steelyard.metrics.panel.over_judges import over_judges
from steelyard.metrics.scores.columns import collect_scores
from steelyard.metrics.scores.original_range import on_original_range
from steelyard.verdicts.observations import Observations


def panel_estimates(
    observations: Mapping[str, Observations], estimates: Sequence[Estimate], seed: int
) -> list[Estimate]:
    """Each probe over judges, juries and correlated errors; nothing for fewer than two judges."""
    if len(observations) < 2:
        return []
    scores = {
        judge: collect_scores(on_original_range(rows.among(protocol="base")))
        for judge, rows in observations.items()
    }
    return [
        *over_judges(estimates, observations, seed),
        *jury_estimates(scores, seed),
        *jury_by_probe(observations, estimates, seed),
    ]
