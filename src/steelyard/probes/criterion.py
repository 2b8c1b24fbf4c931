"""Criterion: what does another tie instruction move?"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import replace

from steelyard.errors import ConfigError
from steelyard.metrics.estimate import Estimate, EstimateContext
from steelyard.metrics.pairs.columns import Pairs, collect
from steelyard.metrics.pairs.criterion import (
    CRITERION_SHIFT,
    SENSITIVITY_SHIFT,
    criterion_estimates,
    sensitivity_shifts,
)
from steelyard.probes import ladder, vacuum
from steelyard.probes.probe import PAIRWISE, Design, Showing
from steelyard.trials.builtin_prompts import GRADED
from steelyard.verdicts.observations import Observations

ARMS = {2: GRADED[1:3], 3: GRADED[:3], 4: GRADED}


class Criterion:
    name = "criterion"
    title = "Criterion"
    question = "Does a stricter tie instruction move the judge's criterion, and at what cost in sensitivity?"
    metrics = (CRITERION_SHIFT, SENSITIVITY_SHIFT)
    forms = (PAIRWISE,)

    def __init__(
        self,
        protocol: str | None = None,
        levels: int | None = None,
        protocols: Sequence[str] | None = None,
    ) -> None:
        """One protocol beside base, a number of built-in instructions, or the names of several protocols."""
        if sum(option is not None for option in (protocol, levels, protocols)) > 1:
            raise ConfigError("probe 'criterion': give one of the options protocol, levels and protocols.")
        if levels is not None:
            if isinstance(levels, bool) or not isinstance(levels, int) or levels not in ARMS:
                raise ConfigError(
                    f"probe 'criterion': levels is {levels!r}, expected 2, 3 or 4; "
                    "give prompts of your own under 'protocols' for more."
                )
            self.arms = tuple(name for name in ARMS[levels] if name != "base")
        elif protocols is not None:
            self.arms = _several(protocols)
        else:
            self.arms = (_one("strict" if protocol is None else protocol, "protocol"),)

    def showings(self, design: Design, protocols: Collection[str]) -> Iterable[Showing]:
        """Every arm in full, so that each difference is paired; nothing for a judge that has base alone."""
        arms = [arm for arm in self.arms if arm in protocols]
        for protocol in ("base", *arms) if arms else ():
            yield from vacuum.arm(design, protocol)
            yield from ladder.arm(design, protocol)

    def estimates(self, judge: str, observations: Observations, seed: int) -> list[Estimate]:
        base, figures = _arm_pairs(observations, "base"), list[Estimate]()
        for arm in self.arms:
            context = EstimateContext.for_protocol(judge, self.name, arm, seed)
            seen = observations.filter(protocol=arm)
            if not seen:
                places: list[Mapping[str, str | float]] = [{"kind": "vacuum"}, {"delta": 0}, {"delta": 1}]
                why = f"the judge has no {arm} protocol"
                figures += [context.for_subgroup(**place).undefined(CRITERION_SHIFT, why) for place in places]
                continue
            pairs = _arm_pairs(seen, arm)
            figures += vacuum.arm_estimates(replace(context, probe="vacuum"), seen)
            figures += ladder.arm_estimates(replace(context, probe="ladder"), seen)
            figures += criterion_estimates(context, base[0], pairs[0], base[1], pairs[1])
            figures += sensitivity_shifts(context, base[1], pairs[1])
        return figures


def _arm_pairs(observations: Observations, protocol: str) -> tuple[Pairs, Pairs]:
    """Vacuum and ladder of one arm, controls left out: other arms do not show them."""
    return (
        collect(observations.filter("vacuum", protocol)),
        collect(observations.filter("ladder", protocol, ("same_subset", "prefix"))),
    )


def _several(protocols: object) -> tuple[str, ...]:
    if not isinstance(protocols, (list, tuple)) or not protocols:
        raise ConfigError(
            f"probe 'criterion': protocols is {protocols!r}, expected a list of names other than base."
        )
    named = tuple(_one(name, "protocols") for name in protocols)
    if len(set(named)) < len(named):
        raise ConfigError("probe 'criterion': protocols names one of them twice; leave one out.")
    return named


def _one(protocol: object, option: str) -> str:
    if not isinstance(protocol, str) or protocol == "base":
        raise ConfigError(f"probe 'criterion': {option} is {protocol!r}, expected a name other than base.")
    return protocol
