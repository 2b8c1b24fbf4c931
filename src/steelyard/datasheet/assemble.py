"""From observations to the datasheet."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import Any

from steelyard.core.content_hash import canonical_json
from steelyard.datasheet.conclusions.conclude import conclusions_of
from steelyard.datasheet.confusion import Confusion, confusions
from steelyard.datasheet.datasheet import Datasheet
from steelyard.datasheet.findings.findings import findings_of
from steelyard.datasheet.judge_entry import JudgeEntry
from steelyard.metrics.common import MERIT
from steelyard.metrics.comparison.against_baselines import METRICS as GAINS
from steelyard.metrics.comparison.against_baselines import gain_estimates
from steelyard.metrics.estimate import Estimate
from steelyard.metrics.estimate_context import EstimateContext
from steelyard.metrics.faults import Faults
from steelyard.metrics.instrument.estimates import INSTRUMENT, Arms
from steelyard.metrics.instrument.resolution_ratio import RESOLUTION_RATIO as RATIO
from steelyard.metrics.merit import merit_estimates
from steelyard.metrics.metric import Metric, undeclared
from steelyard.metrics.multiplicity import adjust_estimates
from steelyard.metrics.panel.juries import panel_estimates
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
from steelyard.probes.probe import PAIRWISE, POINTWISE, Probe, shows_unchanged
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
) -> Datasheet:
    """Every probe's figures for every judge, in a fixed order; costs where prices are given."""
    seen = Observations.of(observations)
    form = POINTWISE if seen.pointwise else PAIRWISE
    ordered = tuple(sorted(judges, key=lambda judge: judge.baseline))
    unchanged = {probe.name for probe in probes if shows_unchanged(probe)}
    faults = Faults()
    estimates: list[Estimate] = []
    whole: list[Estimate] = []
    matrices: list[Confusion] = []
    baselines = {judge.name: seen.of_judge(judge.name) for judge in ordered if judge.baseline}
    remedies: list[MitigatedJudge] = []
    for judge in ordered:
        bench = _JudgeFigures(judge.name, seen.of_judge(judge.name), seed, faults)
        asked = not judge.baseline and not judge.members
        arms = Arms(judge.name, bench.observations, seed) if asked else None
        estimates += bench.together(bench.probed(probes), EXCESS_FLIP, "edits")
        if arms is not None:
            estimates += bench.together(bench.instrument(arms), RATIO, "protocols")
        if prices and judge.name in prices:
            estimates += bench.costs(estimates, prices[judge.name], unchanged)
        estimates += bench.pooled(estimates, form)
        estimates += bench.volatility(estimates, form)
        estimates += bench.losses()
        whole += bench.unchanged()
        whole += bench.runs()
        whole += (
            []
            if judge.baseline
            else [
                *bench.gains(baselines, form),
                *bench.merit(baselines),
                *bench.strata(),
            ]
        )
        matrices += [] if judge.baseline else bench.confusion()
        if asked:
            remedies += bench.remedies(prices, baselines)
    sitting = [judge.name for judge in ordered if not judge.baseline and not judge.members]
    remedies += _juries(seen, sitting, prices, seed, faults) if remedies else []
    panel = _panel(seen, sitting, estimates, seed, faults) if form == POINTWISE else []
    # Figures of items as they are are no probe's: volatility, costs and juries count those of probes.
    places = {_place(e) for e in whole}
    estimates = [*(e for e in estimates if _place(e) not in places), *whole]
    sheet = Datasheet(
        name=name,
        seed=seed,
        stimulus_set=stimulus_set,
        version=__version__,
        profile=profile,
        judges=ordered,
        estimates=tuple(estimates),
        findings=tuple(findings_of(ordered, estimates, faults)),
        run=run,
        form=form,
        panel=tuple(panel),
        remedies=tuple(remedies),
        confusion=tuple(matrices),
        own_data=own_data,
    )
    return replace(sheet, verdicts=tuple(conclusions_of(sheet, faults)), faults=tuple(faults.found))


@dataclass(frozen=True)
class _JudgeFigures:
    """One judge's observations, and the figures that are made from them; a fault stays with its figure."""

    judge: str
    observations: Observations
    seed: int
    faults: Faults

    def probed(self, probes: Sequence[Probe]) -> list[Estimate]:
        """The figures of every probe; arms that a probe asked for twice has in common count once."""
        estimates: list[Estimate] = []
        for place, probe in enumerate(probes):
            make = partial(probe.estimates, self.judge, self.observations, self.seed)
            more = self.faults.estimates(self._context(probe.name), probe.name, probe.metrics, make)
            again = any(probe.name == before.name for before in probes[:place])
            estimates += [each for each in more if each not in estimates] if again else more
        return estimates

    def instrument(self, arms: Arms) -> list[Estimate]:
        estimates: list[Estimate] = []
        for protocol in arms.protocols:
            place = arms.context(protocol), f"instrument model, {protocol}"
            estimates += self.faults.estimates(*place, INSTRUMENT, partial(arms.estimates, protocol))
            estimates += self.faults.estimates(*place, [RATIO], partial(arms.ratios, protocol))
        return estimates

    def together(self, estimates: list[Estimate], metric: Metric, members: str) -> list[Estimate]:
        """The same figures, all tests of a metric read as one family."""
        make = partial(adjust_estimates, estimates, members, metric)
        return self.faults.guarded(self.judge, f"{members} together", make, lambda _: estimates)

    def costs(
        self, estimates: Sequence[Estimate], price: Dollars | None, unchanged: Collection[str]
    ) -> list[Estimate]:
        make = partial(run_costs, self.judge, self.observations, estimates, price, self.seed, unchanged)
        return self.faults.estimates(self._context(COST), "costs", COSTS, make)

    def pooled(self, estimates: Sequence[Estimate], form: str) -> list[Estimate]:
        scored = self.observations if form == POINTWISE else ()
        make = partial(pooled_estimates, self.judge, scored, estimates, self.seed)
        return self.faults.estimates(self._context(POOLED), "all probes", POOLED_FIGURES, make)

    def volatility(self, estimates: Sequence[Estimate], form: str) -> list[Estimate]:
        scored = self.observations if form == POINTWISE else ()
        make = partial(volatility_estimates, self.judge, estimates, self.seed, scored)
        return self.faults.estimates(self._context(VOLATILITY), VOLATILITY, SPREADS, make)

    def losses(self) -> list[Estimate]:
        make = partial(loss_estimates, self.judge, self.observations, self.seed)
        return self.faults.estimates(
            EstimateContext(self.judge, RUN, {}, self.seed), "failures", [*LOSSES], make
        )

    def unchanged(self) -> list[Estimate]:
        make = partial(unchanged_estimates, self.judge, self.observations, self.seed)
        return self.faults.estimates(self._context(ORIGINAL), "unchanged items", UNCHANGED, make)

    def runs(self) -> list[Estimate]:
        make = partial(run_estimates, self.judge, self.observations, self.seed)
        return self.faults.estimates(self._context(RUNS), "runs of agents", AGENTS, make)

    def strata(self) -> list[Estimate]:
        make = partial(strata_estimates, self.judge, self.observations, self.seed)
        return self.faults.estimates(self._context(ORIGINAL), "strata", STRATA, make)

    def confusion(self) -> list[Confusion]:
        make = partial(confusions, self.judge, self.observations)
        return self.faults.guarded(self.judge, "confusion matrix", make, lambda _: [])

    def gains(self, baselines: Mapping[str, Observations], form: str) -> list[Estimate]:
        context = self._context(ORIGINAL if form == POINTWISE else NATURAL_PROBE)
        make = partial(gain_estimates, self.judge, self.observations, baselines, self.seed)
        return self.faults.estimates(context, "against baselines", GAINS, make)

    def merit(self, baselines: Mapping[str, Observations]) -> list[Estimate]:
        make = partial(merit_estimates, self.judge, self.observations, baselines, self.seed)
        return self.faults.estimates(self._context(MERIT.id), MERIT.id, [MERIT], make)

    def remedies(
        self, prices: Mapping[str, Dollars | None] | None, baselines: Mapping[str, Observations]
    ) -> list[MitigatedJudge]:
        price, priced = (prices or {}).get(self.judge), bool(prices) and self.judge in (prices or {})
        make = partial(
            mitigated_judges,
            self.judge,
            self.observations,
            price,
            self.seed,
            priced=priced,
            baselines=baselines,
        )
        return self.faults.guarded(self.judge, "remedies", make, lambda _: [])

    def _context(self, probe: str) -> EstimateContext:
        return EstimateContext.for_protocol(self.judge, probe, "base", self.seed)


def _place(estimate: Estimate) -> tuple[str, str, str, str]:
    return estimate.judge, estimate.probe, estimate.metric, canonical_json(dict(estimate.group))


def _juries(
    seen: Observations,
    judges: Sequence[str],
    prices: Mapping[str, Dollars | None] | None,
    seed: int,
    faults: Faults,
) -> list[MitigatedJudge]:
    make = partial(jury_remedies, seen, judges, prices, seed)
    return faults.guarded("", "juries as a remedy", make, lambda _: [])


def _panel(
    seen: Observations, judges: Sequence[str], estimates: Sequence[Estimate], seed: int, faults: Faults
) -> list[Estimate]:
    context = EstimateContext.for_protocol(PANEL, PANEL, "base", seed)
    make = partial(panel_estimates, seen, judges, estimates, seed)
    return faults.estimates(context, "judges together", [undeclared(PANEL)], make)
