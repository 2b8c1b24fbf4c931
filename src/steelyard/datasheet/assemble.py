"""From observations to the datasheet."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import Any

from steelyard.core.content_hash import canonical_json
from steelyard.datasheet.conclude import concluded
from steelyard.datasheet.confusion import Confusion, confusions
from steelyard.datasheet.datasheet import Datasheet
from steelyard.datasheet.judge_entry import JudgeEntry
from steelyard.metrics.common import MERIT
from steelyard.metrics.comparison.against_baselines import METRICS as GAINS
from steelyard.metrics.comparison.against_baselines import gain_estimates
from steelyard.metrics.estimate import Estimate
from steelyard.metrics.estimate_context import EstimateContext
from steelyard.metrics.faults import Faults
from steelyard.metrics.instrument.estimates import INSTRUMENT, ProtocolFits
from steelyard.metrics.instrument.resolution_ratio import RESOLUTION_RATIO as RATIO
from steelyard.metrics.merit import merit_estimates
from steelyard.metrics.metric import Metric, undeclared
from steelyard.metrics.multiplicity import adjust_estimates
from steelyard.metrics.panel.juries import JuryReference, panel_estimates
from steelyard.metrics.panel.panel_metrics import PANEL
from steelyard.metrics.remedies.mitigations import MitigatedJudge, jury_remedies, mitigated_judges
from steelyard.metrics.run.agent_runs import METRICS as AGENTS
from steelyard.metrics.run.agent_runs import PROBE as RUNS
from steelyard.metrics.run.agent_runs import run_estimates
from steelyard.metrics.run.cost import PROBE as COST
from steelyard.metrics.run.cost import RUN_METRICS as COSTS
from steelyard.metrics.run.cost import Dollars, run_costs
from steelyard.metrics.run.losses import METRICS as LOSSES
from steelyard.metrics.run.losses import PROBE as RUN
from steelyard.metrics.run.losses import loss_estimates
from steelyard.metrics.run.strata import METRICS as STRATA
from steelyard.metrics.run.strata import strata_estimates
from steelyard.metrics.run.unchanged import METRICS as UNCHANGED
from steelyard.metrics.run.unchanged import unchanged_estimates
from steelyard.metrics.run.volatility import METRICS as SPREADS
from steelyard.metrics.run.volatility import PROBE as VOLATILITY
from steelyard.metrics.run.volatility import volatility_estimates
from steelyard.metrics.scores.invariance import EXCESS_FLIP
from steelyard.metrics.scores.probe import POOLED_METRICS as POOLED_FIGURES
from steelyard.metrics.scores.probe import POOLED_PROBE as POOLED
from steelyard.metrics.scores.probe import pooled_estimates
from steelyard.probes.probe import BEST_OF, PAIRWISE, POINTWISE, Probe, shows_unchanged
from steelyard.stimuli.best_of import BEST_OF_PROBE
from steelyard.stimuli.natural import NATURAL_PROBE
from steelyard.stimuli.original import ORIGINAL
from steelyard.verdicts.observations import Observation, Observations
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
    own_data: bool = False,
    named: Sequence[str] = (),
    jury_reference: JuryReference | None = None,
) -> Datasheet:
    """Every probe's figures for every judge, in a fixed order; costs where prices are given.

    `named` are the probes that the user asked for by name.
    """
    seen = Observations.of(observations)
    form = BEST_OF if len(seen.filter(BEST_OF_PROBE)) else POINTWISE if seen.pointwise else PAIRWISE
    ordered = tuple(sorted(judges, key=lambda judge: judge.baseline))
    asked = [judge.name for judge in ordered if not judge.baseline and not judge.members]
    unchanged = {probe.name for probe in probes if shows_unchanged(probe)}
    baselines = {judge.name: seen.of_judge(judge.name) for judge in ordered if judge.baseline}
    faults = Faults()
    estimates: list[Estimate] = []
    whole: list[Estimate] = []
    matrices: list[Confusion] = []
    remedies: list[MitigatedJudge] = []
    for entry in ordered:
        judge, mine = entry.name, seen.of_judge(entry.name)
        figures = _JudgeFigures(judge, seed, faults)
        scored = mine if form == POINTWISE else ()
        arms = ProtocolFits(judge, mine, seed) if judge in asked else None
        estimates += figures.adjusted(figures.of_probes(probes, mine), EXCESS_FLIP, "edits")
        if arms is not None:
            estimates += figures.adjusted(figures.of_instrument(arms), RATIO, "protocols")
        if prices and judge in prices:
            costs = partial(run_costs, judge, mine, estimates, prices[judge], seed, unchanged)
            estimates += figures.of(COST, "costs", COSTS, costs)
        pooled = partial(pooled_estimates, judge, scored, estimates, seed)
        estimates += figures.of(POOLED, "all probes", POOLED_FIGURES, pooled)
        spread = partial(volatility_estimates, judge, estimates, seed, scored)
        estimates += figures.of(VOLATILITY, VOLATILITY, SPREADS, spread)
        run_context = EstimateContext(judge, RUN, {}, seed)
        estimates += faults.estimates(
            run_context, "failures", [*LOSSES], partial(loss_estimates, judge, mine, seed)
        )
        plain = partial(unchanged_estimates, judge, mine, seed)
        whole += figures.of(ORIGINAL, "unchanged items", UNCHANGED, plain)
        whole += figures.of(RUNS, "runs of agents", AGENTS, partial(run_estimates, judge, mine, seed))
        if entry.baseline:
            continue
        gains = partial(gain_estimates, judge, mine, baselines, seed)
        probe = {POINTWISE: ORIGINAL, BEST_OF: BEST_OF_PROBE}.get(form, NATURAL_PROBE)
        whole += figures.of(probe, "against baselines", GAINS, gains)
        whole += figures.of(
            MERIT.id, MERIT.id, [MERIT], partial(merit_estimates, judge, mine, baselines, seed)
        )
        whole += figures.of(ORIGINAL, "strata", STRATA, partial(strata_estimates, judge, mine, seed))
        matrices += faults.guarded(judge, "confusion matrix", partial(confusions, judge, mine), lambda _: [])
        if judge in asked:
            priced = bool(prices) and judge in (prices or {})
            price = (prices or {}).get(judge)
            mend = partial(mitigated_judges, judge, mine, price, seed, priced=priced, baselines=baselines)
            remedies += faults.guarded(judge, "remedies", mend, lambda _: [])
    if remedies:
        juries = partial(jury_remedies, seen, asked, prices, seed)
        remedies += faults.guarded("", "juries as a remedy", juries, lambda _: [])
    panel: list[Estimate] = []
    if form == POINTWISE:
        context = EstimateContext.for_protocol(PANEL, PANEL, "base", seed)
        together = partial(panel_estimates, seen, asked, estimates, seed, jury_reference)
        panel = faults.estimates(context, "judges together", [undeclared(PANEL)], together)
    # Figures of unchanged items belong to no probe: volatility, costs and juries count those of probes.
    addresses = {_address(e) for e in whole}
    estimates = [*(e for e in estimates if _address(e) not in addresses), *whole]
    sheet = Datasheet(
        name=name,
        seed=seed,
        stimulus_set=stimulus_set,
        version=__version__,
        profile=profile,
        judges=ordered,
        estimates=tuple(estimates),
        run=run,
        form=form,
        panel=tuple(panel),
        remedies=tuple(remedies),
        confusion=tuple(matrices),
        own_data=own_data,
        asked=tuple(named),
    )
    return replace(concluded(sheet, faults), faults=tuple(faults.found))


@dataclass(frozen=True)
class _JudgeFigures:
    """Estimates of one judge; where computing one fails, that one is undefined and the others stand."""

    judge: str
    seed: int
    faults: Faults

    def of(
        self, probe: str, part: str, metrics: Sequence[Metric], make: Callable[[], Iterable[Estimate]]
    ) -> list[Estimate]:
        context = EstimateContext.for_protocol(self.judge, probe, "base", self.seed)
        return self.faults.estimates(context, part, metrics, make)

    def of_probes(self, probes: Sequence[Probe], observations: Observations) -> list[Estimate]:
        """The figures of every probe; of a probe named twice with other options, equal figures count once."""
        estimates: list[Estimate] = []
        for number, probe in enumerate(probes):
            make = partial(probe.estimates, self.judge, observations, self.seed)
            more = self.of(probe.name, probe.name, probe.metrics, make)
            again = any(probe.name == before.name for before in probes[:number])
            estimates += [each for each in more if each not in estimates] if again else more
        return estimates

    def of_instrument(self, arms: ProtocolFits) -> list[Estimate]:
        estimates: list[Estimate] = []
        for protocol in arms.protocols:
            place = arms.context(protocol), f"instrument model, {protocol}"
            estimates += self.faults.estimates(*place, INSTRUMENT, partial(arms.estimates, protocol))
            estimates += self.faults.estimates(*place, [RATIO], partial(arms.ratios, protocol))
        return estimates

    def adjusted(self, estimates: list[Estimate], metric: Metric, members: str) -> list[Estimate]:
        """The same estimates, all tests of a metric adjusted as one family."""
        make = partial(adjust_estimates, estimates, members, metric)
        return self.faults.guarded(self.judge, f"{members} together", make, lambda _: estimates)


def _address(estimate: Estimate) -> tuple[str, str, str, str]:
    return estimate.judge, estimate.probe, estimate.metric, canonical_json(dict(estimate.group))
