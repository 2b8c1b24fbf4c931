"""What several judges of the same texts show together."""

from __future__ import annotations

from collections.abc import Sequence

from steelyard.metrics.estimate import Estimate
from steelyard.metrics.panel.jury_estimates import jury_by_probe, jury_estimates
from steelyard.metrics.panel.over_judges import over_judges
from steelyard.verdicts.observations import Observations


def panel_estimates(
    seen: Observations, judges: Sequence[str], estimates: Sequence[Estimate], seed: int
) -> list[Estimate]:
    """Each probe over judges, juries and correlated errors; nothing for fewer than two judges."""
    if len(judges) < 2:
        return []
    base = seen.filter(protocol="base")
    return [
        *over_judges(estimates, {name: seen.of_judge(name) for name in judges}, seed),
        *jury_estimates(base, judges, seed),
        *jury_by_probe(base, judges, estimates, seed),
    ]
