"""Criterion: what does a stricter tie instruction move?"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence

from steelyard.errors import ConfigError
from steelyard.metrics.criterion import criterion_estimates
from steelyard.metrics.estimate import Estimate
from steelyard.metrics.pairs import Pairs, collect
from steelyard.probes import ladder, vacuum
from steelyard.probes.probe import PAIRWISE, Design, Showing
from steelyard.verdicts.observation import Observation
from steelyard.verdicts.recorded_observations import among


class Criterion:
    """Vacuum and the whole ladder again, under the strict protocol."""

    name = "criterion"
    question = "Does a stricter tie instruction move the judge's criterion, and at what cost in sensitivity?"
    metrics = ("criterion_shift",)
    levels = (PAIRWISE,)

    def __init__(self, protocol: str = "strict") -> None:
        if not isinstance(protocol, str) or protocol == "base":
            raise ConfigError(
                f"probe 'criterion': protocol is {protocol!r}, expected a name other than base."
            )
        self.protocol = protocol

    def showings(self, design: Design, protocols: Collection[str]) -> Iterable[Showing]:
        """Both arms in full, so that every difference is paired; a judge without the protocol has neither."""
        if self.protocol not in protocols:
            return
        for protocol in ("base", self.protocol):
            yield from vacuum.arm(design, protocol)
            yield from ladder.arm(design, protocol)

    def estimates(self, judge: str, observations: Sequence[Observation], seed: int) -> list[Estimate]:
        """The strict arm's own figures, and the shift against base."""
        strict = among(observations, protocol=self.protocol)
        if not strict:
            return [
                self._undefined(judge, group) for group in ({"kind": "vacuum"}, {"delta": 0}, {"delta": 1})
            ]
        arms = [
            *vacuum.arm_estimates(judge, strict, self.protocol, seed),
            *ladder.arm_estimates(judge, strict, self.protocol, seed),
        ]

        def pairs(probe: str, protocol: str) -> Pairs:
            kinds = {"same_subset", "prefix"} if probe == "ladder" else None
            return collect(among(observations, probe, protocol, kinds))

        shift = criterion_estimates(
            judge,
            pairs("vacuum", "base"),
            pairs("vacuum", self.protocol),
            pairs("ladder", "base"),
            pairs("ladder", self.protocol),
            seed,
            self.protocol,
        )
        return [*arms, *shift]

    def _undefined(self, judge: str, group: Mapping[str, str | float]) -> Estimate:
        return Estimate(
            judge=judge,
            probe=self.name,
            metric="criterion_shift",
            group={"protocol": self.protocol, **group},
            unit="call",
            value=None,
            note=f"the judge has no {self.protocol} protocol",
        )
