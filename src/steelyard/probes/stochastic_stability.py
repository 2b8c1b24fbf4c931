"""Stochastic stability: does the judge agree with itself on the same input?"""

from __future__ import annotations

from collections.abc import Collection, Iterable

from steelyard.errors import ConfigError
from steelyard.metrics.estimate import Estimate
from steelyard.metrics.estimate_context import EstimateContext
from steelyard.metrics.scores.probe import METRICS, pointwise_estimates
from steelyard.probes.probe import POINTWISE, REPEATS, Design, Showing, pointwise
from steelyard.stimuli.original import ORIGINAL
from steelyard.verdicts.observations import Observations

REPLICATES = 5


class StochasticStability:
    name = "stochastic_stability"
    title = "Same input again"
    section = REPEATS
    whole = True
    question = "Does the judge give the same verdict when it sees the same input again?"
    metrics = METRICS
    unchanged = True
    forms = (POINTWISE,)

    def __init__(self, replicates: int = REPLICATES) -> None:
        self.replicates = check_replicates(self.name, replicates)

    def showings(self, design: Design, protocols: Collection[str]) -> Iterable[Showing]:
        del protocols
        return pointwise(design.originals, "base", max(self.replicates, design.replicates))

    def estimates(self, judge: str, observations: Observations, seed: int) -> list[Estimate]:
        mine = observations.filter(ORIGINAL)
        return pointwise_estimates(
            EstimateContext.for_protocol(judge, self.name, "base", seed), mine, unchanged=True
        )


def check_replicates(probe: str, replicates: int) -> int:
    if isinstance(replicates, bool) or not isinstance(replicates, int) or replicates < 2:
        raise ConfigError(f"probe {probe!r}: replicates is {replicates!r}, expected a number from 2 on.")
    return replicates
