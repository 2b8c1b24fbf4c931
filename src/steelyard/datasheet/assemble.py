"""From observations to the datasheet."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from steelyard.datasheet.datasheet import Datasheet, JudgeEntry
from steelyard.datasheet.readings import readings_of
from steelyard.metrics.cost import Dollars
from steelyard.metrics.estimate import Estimate
from steelyard.metrics.instrument_estimates import instrument_estimates
from steelyard.metrics.losses import loss_estimates
from steelyard.metrics.panel import panel_estimates
from steelyard.metrics.run_cost import run_costs
from steelyard.metrics.volatility import volatility_estimates
from steelyard.probes.probe import PAIRWISE, POINTWISE, Probe, shows_unchanged
from steelyard.verdicts.observation import Observation
from steelyard.verdicts.recorded_observations import RecordedObservations
from steelyard.version import __version__


def assemble(
    *,
    name: str,
    seed: int,
    profile: str,
    stimulus_set: str,
    judges: Sequence[JudgeEntry],
    probes: Sequence[Probe],
    observations: Iterable[Observation],
    run: Mapping[str, Any],
    prices: Mapping[str, Dollars | None] | None = None,
) -> Datasheet:
    """Every probe's figures for every judge, in a fixed order; costs where prices are given."""
    by_judge = _by_judge(observations, judges)
    shown = next((mine[0].stimulus for mine in by_judge.values() if mine), None)
    level = POINTWISE if shown is not None and len(shown.texts) == 1 else PAIRWISE
    ordered = tuple(sorted(judges, key=lambda judge: judge.baseline))
    unchanged = {probe.name for probe in probes if shows_unchanged(probe)}
    estimates: list[Estimate] = []
    for judge in ordered:
        for probe in probes:
            estimates += probe.estimates(judge.name, by_judge[judge.name], seed)
        if not judge.baseline:
            estimates += instrument_estimates(judge.name, by_judge[judge.name], seed)
        if prices and judge.name in prices:
            estimates += run_costs(
                judge.name, by_judge[judge.name], estimates, prices[judge.name], seed, unchanged
            )
        scored = by_judge[judge.name] if level == POINTWISE else ()
        estimates += volatility_estimates(judge.name, estimates, seed, scored)
        estimates += loss_estimates(judge.name, by_judge[judge.name], seed)
    measured = {judge.name: by_judge[judge.name] for judge in ordered if not judge.baseline}
    return Datasheet(
        name=name,
        seed=seed,
        stimulus_set=stimulus_set,
        version=__version__,
        profile=profile,
        judges=ordered,
        estimates=tuple(estimates),
        readings=tuple(readings_of(ordered, estimates)),
        run=run,
        level=level,
        panel=tuple(panel_estimates(measured, estimates, seed)) if level == POINTWISE else (),
    )


def _by_judge(
    observations: Iterable[Observation], judges: Sequence[JudgeEntry]
) -> Mapping[str, Sequence[Observation]]:
    if isinstance(observations, RecordedObservations):
        return {judge.name: observations.of_judge(judge.name) for judge in judges}
    by_judge: dict[str, list[Observation]] = {judge.name: [] for judge in judges}
    for observation in observations:
        by_judge[observation.judge].append(observation)
    return by_judge
