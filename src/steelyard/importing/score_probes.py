"""The probes that make figures of recorded scores."""

from __future__ import annotations

from collections.abc import Collection, Iterable

from steelyard.core.arrays import distinct
from steelyard.core.registry import Spec
from steelyard.errors import DataError, UnknownNameError
from steelyard.importing.scores import ScoreTable
from steelyard.metrics.estimate import Estimate
from steelyard.metrics.estimate_context import EstimateContext
from steelyard.metrics.metric import Metric
from steelyard.metrics.scores.probe import METRICS, pointwise_estimates
from steelyard.probes import vacuum
from steelyard.probes.probe import POINTWISE, PROBES, Design, Probe, Showing, forms_of, shows_unchanged
from steelyard.verdicts.observations import Observations


def score_probes(table: ScoreTable) -> list[Probe]:
    wide = len(table.probes)
    codes = distinct(table.protocol * wide + table.probe).tolist()
    conditions = [(table.protocols[code // wide], table.probes[code % wide]) for code in codes]
    figures = sorted(conditions, key=lambda condition: (condition[0] != "base", condition))
    return [_probe(name, protocol, unchanged=name not in table.edited) for protocol, name in figures]


class RecordedProbe:
    question = "What do the recorded scores amount to?"
    metrics: tuple[Metric, ...] = METRICS
    forms: tuple[str, ...] = (POINTWISE,)

    def __init__(self, name: str, protocol: str, *, unchanged: bool) -> None:
        self.name = name
        self.protocol = protocol
        self.unchanged = unchanged

    def showings(self, design: Design, protocols: Collection[str]) -> Iterable[Showing]:
        del design, protocols
        return ()

    def estimates(self, judge: str, observations: Observations, seed: int) -> list[Estimate]:
        if self.name == "vacuum":
            return vacuum.arm_estimates(
                EstimateContext.for_protocol(judge, "vacuum", self.protocol, seed), observations
            )
        return pointwise_estimates(
            EstimateContext.for_protocol(judge, self.name, self.protocol, seed),
            observations,
            unchanged=self.unchanged,
        )


def _probe(name: str, protocol: str, *, unchanged: bool) -> Probe:
    try:
        registered = PROBES.build(Spec(name))
    except UnknownNameError:
        return RecordedProbe(name, protocol, unchanged=unchanged)
    if POINTWISE not in forms_of(registered):
        raise DataError(
            f"recorded scores: probe {name!r} compares pairs, found scores of single texts; rename the probe."
        )
    if protocol == "base":
        return registered
    return RecordedProbe(name, protocol, unchanged=shows_unchanged(registered))
