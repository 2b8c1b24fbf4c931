"""From observations to the datasheet, and whether its words are decided, so that a run may stop."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from typing import Any

from steelyard.datasheet.conclude import concluded
from steelyard.datasheet.conclusion import JSON_WORDS, NO_FAULT, TOO_LITTLE, Conclusion
from steelyard.datasheet.datasheet import Confusion, Datasheet, confusions
from steelyard.datasheet.estimate_index import address
from steelyard.datasheet.glossary import metric_named
from steelyard.datasheet.instrument_card import InstrumentCard, JudgeEntry
from steelyard.datasheet.questions.causes import Advice, Severity
from steelyard.datasheet.questions.merit import MERIT as MERIT_QUESTION
from steelyard.datasheet.questions.more_data import with_own_checklists
from steelyard.datasheet.questions.question import UNDEFINED, Decision
from steelyard.datasheet.questions.questions import FAULTS
from steelyard.datasheet.run_facts import DECIDED, FAILING, LARGEST, UNASKED, ProfileLook
from steelyard.metrics.comparison import against_baselines
from steelyard.metrics.estimate import Estimate, EstimateContext
from steelyard.metrics.faults import Faults
from steelyard.metrics.findings import FLAGGED, INCONCLUSIVE, at_alpha
from steelyard.metrics.instrument.derived import RESOLUTION_RATIO as RATIO
from steelyard.metrics.instrument.estimates import INSTRUMENT, ProtocolFits
from steelyard.metrics.juries import JuryReference, panel_estimates
from steelyard.metrics.merit import LEVEL_AGREEMENT, merit_estimates
from steelyard.metrics.metric import Metric, undeclared
from steelyard.metrics.multiplicity import adjust_estimates
from steelyard.metrics.panel_metrics import PANEL
from steelyard.metrics.proportions import CONTRADICTION_RATE, MERIT
from steelyard.metrics.remedies.mitigations import MitigatedJudge, jury_remedies, mitigated_judges
from steelyard.metrics.run import agent_runs, confidence, cost, losses, strata, volatility
from steelyard.metrics.run.strata import AREA_MERIT
from steelyard.metrics.scores.against_labels import POOLED_METRICS
from steelyard.metrics.scores.edited_texts import EXCESS_FLIP, suspect_texts, with_suspects
from steelyard.metrics.scores.probe import OF_UNCHANGED, POOLED_PROBE, pooled_estimates, unchanged_estimates
from steelyard.metrics.scores.shares import FOLLOWED
from steelyard.metrics.stats.intervals import ALPHA
from steelyard.probes.probe import BEST_OF, PAIRWISE, POINTWISE, Probe, shows_unchanged
from steelyard.stimuli.ladder import PROFILES
from steelyard.stimuli.original import BEST_OF_PROBE, NATURAL_PROBE, ORIGINAL
from steelyard.tasks.checklist import Checklist
from steelyard.verdicts.call_answers import ItemAnswers, item_answers
from steelyard.verdicts.observations import Observation, Observations
from steelyard.version import __version__

Prices = Mapping[str, cost.Dollars | None]


@dataclass(frozen=True)
class JudgeFigures:
    """The figures of one judge; where computing one fails, that one is undefined and the others stand."""

    entry: JudgeEntry
    calls: Observations
    form: str
    baselines: Mapping[str, Observations]
    prices: Prices
    seed: int
    faults: Faults
    unchanged: Collection[str]
    """Probes that show items as they are."""
    panel: Mapping[str, ItemAnswers]
    """What judges under test answered on each item as it is."""
    estimates: list[Estimate] = field(default_factory=list)
    """Of its probes, and of aggregates as far as they are made."""

    @property
    def name(self) -> str:
        return self.entry.name

    @property
    def scored(self) -> Sequence[Observation]:
        return self.calls if self.form == POINTWISE else ()

    def add_probes(self, probes: Sequence[Probe]) -> None:
        """The figures of every probe; of a probe named twice with other options, equal figures count once."""
        found: list[Estimate] = []
        for number, probe in enumerate(probes):
            context = EstimateContext.for_protocol(self.name, probe.name, "base", self.seed)
            make = partial(probe.estimates, self.name, self.calls, self.seed)
            more = self.faults.estimates(context, probe.name, probe.metrics, make)
            again = any(probe.name == before.name for before in probes[:number])
            found += [each for each in more if each not in found] if again else more
        self._add_adjusted(found, EXCESS_FLIP, "edits")

    def add_instrument(self, fits: ProtocolFits) -> None:
        found: list[Estimate] = []
        for protocol in fits.protocols:
            place = fits.context(protocol), f"instrument model, {protocol}"
            found += self.faults.estimates(*place, INSTRUMENT, partial(fits.estimates, protocol))
            found += self.faults.estimates(*place, [RATIO], partial(fits.ratios, protocol))
        self._add_adjusted(found, RATIO, "protocols")

    def _add_adjusted(self, estimates: list[Estimate], metric: Metric, members: str) -> None:
        """Add the estimates, all tests of a metric adjusted as one family."""
        make = partial(adjust_estimates, estimates, members, metric)
        adjusted = self.faults.guarded(self.name, f"{members} together", make, lambda _: estimates)
        self.estimates.extend(adjusted)

    def of(self, aggregate: Aggregate) -> list[Estimate]:
        probe = aggregate.probe or PLAIN_PROBES[self.form]
        context = EstimateContext(self.name, probe, aggregate.group, self.seed)
        return self.faults.estimates(
            context, aggregate.title, aggregate.metrics, partial(aggregate.make, self)
        )

    def remedies(self) -> list[MitigatedJudge]:
        price, priced = self.prices.get(self.name), self.name in self.prices
        make = partial(mitigated_judges, self.name, self.calls, price, self.seed, priced=priced)
        return self.faults.guarded(
            self.name, "remedies", partial(make, baselines=self.baselines), lambda _: []
        )


@dataclass(frozen=True)
class Aggregate:
    """Figures of a judge that no single probe has."""

    probe: str
    """What stands in the place of a probe; empty for the one that shows texts as they are."""
    title: str
    """What a fault names."""
    metrics: Sequence[Metric]
    make: Callable[[JudgeFigures], Iterable[Estimate]]
    group: Mapping[str, str | float] = field(default_factory=lambda: {"protocol": "base"})
    """Condition of the figures where making them fails."""


def _of_calls(make: Callable[[str, Observations, int], list[Estimate]]) -> Callable[..., list[Estimate]]:
    return lambda judge: make(judge.name, judge.calls, judge.seed)


def _costs(of: JudgeFigures) -> list[Estimate]:
    if of.name not in of.prices:
        return []
    return cost.run_costs(of.name, of.calls, of.estimates, of.prices[of.name], of.seed, of.unchanged)


def _pooled(of: JudgeFigures) -> list[Estimate]:
    return pooled_estimates(of.name, of.scored, of.estimates, of.seed)


def _volatility(of: JudgeFigures) -> list[Estimate]:
    return volatility.volatility_estimates(of.name, of.estimates, of.seed, of.scored)


def _confidence(of: JudgeFigures) -> list[Estimate]:
    return confidence.confidence_estimates(of.name, of.calls, of.panel, of.seed)


def _gains(of: JudgeFigures) -> list[Estimate]:
    return against_baselines.gain_estimates(of.name, of.calls, of.baselines, of.seed)


def _merit(of: JudgeFigures) -> list[Estimate]:
    return merit_estimates(of.name, of.calls, of.baselines, of.seed)


PLAIN_PROBES = {POINTWISE: ORIGINAL, BEST_OF: BEST_OF_PROBE, PAIRWISE: NATURAL_PROBE}
"""Form of a run to the probe that shows texts as they are."""
OVER_PROBES = (
    Aggregate(cost.PROBE, "costs", cost.RUN_METRICS, _costs),
    Aggregate(POOLED_PROBE, "all probes", POOLED_METRICS, _pooled),
    Aggregate(volatility.PROBE, volatility.PROBE, volatility.METRICS, _volatility),
    Aggregate(losses.PROBE, "failures", [*losses.METRICS], _of_calls(losses.loss_estimates), group={}),
)
"""Made one after the other, of the calls, of the figures of probes and of the aggregates before."""
BESIDE_PROBES = (
    Aggregate(ORIGINAL, "unchanged items", OF_UNCHANGED, _of_calls(unchanged_estimates)),
    Aggregate(
        losses.PROBE,
        "reasons",
        [CONTRADICTION_RATE],
        _of_calls(losses.contradiction_estimates),
        group={},
    ),
    Aggregate(agent_runs.PROBE, "runs of agents", agent_runs.METRICS, _of_calls(agent_runs.run_estimates)),
)
"""Made of the calls alone; volatility, costs and juries, which count figures of probes, do not count them."""
UNDER_TEST = (
    Aggregate("", "against baselines", against_baselines.METRICS, _gains),
    Aggregate(MERIT.id, MERIT.id, [MERIT, AREA_MERIT], _merit),
    Aggregate(confidence.PROBE, "confidence", confidence.METRICS, _confidence),
    Aggregate(ORIGINAL, "strata", strata.METRICS, _of_calls(strata.strata_estimates)),
)
"""The same, of judges that are no baselines."""


def _no_answers(_: object) -> ItemAnswers:
    return ItemAnswers({})


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
    prices: Prices | None = None,
    own_data: bool = False,
    named: Sequence[str] = (),
    jury_reference: JuryReference | None = None,
    instruments: Sequence[InstrumentCard] = (),
    own_checklists: tuple[Checklist, ...] = (),
) -> Datasheet:
    """Every probe's figures for every judge, in a fixed order; costs where prices are given.

    `named` are the probes that the user asked for by name, `own_checklists` what takes the place of the
    built-in catalogue.
    """
    seen, faults = Observations.of(observations), Faults()
    form = BEST_OF if len(seen.filter(BEST_OF_PROBE)) else POINTWISE if seen.pointwise else PAIRWISE
    ordered = tuple(sorted(judges, key=lambda judge: judge.baseline))
    asked = [judge.name for judge in ordered if not judge.baseline and not judge.members]
    plain = {probe.name for probe in probes if shows_unchanged(probe)}
    baselines = {judge.name: seen.of_judge(judge.name) for judge in ordered if judge.baseline}
    panel = {
        name: faults.guarded(
            name, "answers on items", partial(item_answers, seen.of_judge(name)), _no_answers
        )
        for name in asked
    }
    estimates: list[Estimate] = []
    beside: list[Estimate] = []
    matrices: list[Confusion] = []
    remedies: list[MitigatedJudge] = []
    for entry in ordered:
        mine = seen.of_judge(entry.name)
        judge = JudgeFigures(entry, mine, form, baselines, prices or {}, seed, faults, plain, panel)
        # The joint fits go on in threads while the figures of probes are made.
        fits = ProtocolFits(entry.name, mine, seed) if entry.name in asked else None
        judge.add_probes(probes)
        if fits is not None:
            judge.add_instrument(fits)
        for aggregate in OVER_PROBES:
            judge.estimates.extend(judge.of(aggregate))
        estimates += judge.estimates
        for aggregate in (*BESIDE_PROBES, *(() if entry.baseline else UNDER_TEST)):
            beside += judge.of(aggregate)
        if not entry.baseline:
            make = partial(confusions, entry.name, mine)
            matrices += faults.guarded(entry.name, "confusion matrix", make, lambda _: [])
        if entry.name in asked:
            remedies += judge.remedies()
    if remedies:
        juries = partial(jury_remedies, seen, asked, prices, seed)
        remedies += faults.guarded("", "juries as a remedy", juries, lambda _: [])
    together: list[Estimate] = []
    if form == POINTWISE:
        suspects = faults.guarded("", "suspect texts", partial(suspect_texts, seen, asked), lambda _: {})
        estimates = with_suspects(estimates, (FOLLOWED.id, LEVEL_AGREEMENT.id), suspects)
        context = EstimateContext.for_protocol(PANEL, PANEL, "base", seed)
        make_panel = partial(panel_estimates, seen, asked, estimates, seed, jury_reference)
        together = faults.estimates(context, "judges together", [undeclared(PANEL)], make_panel)
    addresses = set(map(address, beside))
    every = (*(e for e in estimates if address(e) not in addresses), *beside)
    sheet = Datasheet(
        name=name,
        seed=seed,
        stimulus_set=stimulus_set,
        version=__version__,
        profile=profile,
        judges=ordered,
        estimates=tuple(with_own_checklists(every, own_checklists)) if own_checklists else every,
        run=run,
        form=form,
        panel=tuple(together),
        remedies=tuple(remedies),
        confusion=tuple(matrices),
        own_data=own_data,
        asked=tuple(named),
        instruments=tuple(instruments),
    )
    return replace(concluded(sheet, faults), faults=tuple(faults.found))


ERROR = ALPHA / len(PROFILES)
"""Error that is spent on one look."""
GRAVE = {question.name for question, fault in FAULTS if fault.cause.severity is Severity.BIASED}
"""Questions on what could draw answers away from quality."""


def look_at(sheet: Datasheet, observations: Observations, calls: int) -> ProfileLook:
    """What the sheet of a profile says of every judge, and whether it may be the last; calls are all made.

    Limits that err in 5 % of runs at one look err more often at one of three, so the 5 % are spent
    beforehand, a third on each look: by Bonferroni, a claim that is false holds at some look in at most
    3 · 5 % / 3 = 5 % of runs, however the looks, whose calls are nested, depend on each other. Merit and
    flags are the claims that a word makes, so a word is decided where the sheet says it and would say it
    with limits that err in 5 % / 3 = 1.7 % of runs:

        unfit             merit is refuted, or hardly any reply can be read
        usable with care  merit is shown, and a fault is flagged
        no fault found    merit is shown, and nothing is open that could draw answers from quality

    "No fault found" claims no absence of faults: what the sheet calls clear has the error of one sheet. "Too
    little data" is never decided. Where the largest profile is reached the ordinary sheet stands, whatever is
    open.
    """
    strict = _strict(sheet, observations)
    open_ = {
        verdict.judge: still
        for verdict, again in zip(sheet.verdicts, strict.verdicts, strict=True)
        if (still := _open(sheet, strict, verdict, again))
    }
    words = {verdict.judge: JSON_WORDS[verdict.word] for verdict in sheet.verdicts}
    return ProfileLook(sheet.profile, calls, words, open_, _end(sheet, open_))


def _strict(sheet: Datasheet, observations: Observations) -> Datasheet:
    """The sheet with the limits of one look."""
    baselines = {judge.name: observations.of_judge(judge.name) for judge in sheet.judges if judge.baseline}
    estimates = [
        at_alpha(estimate, metric_named(estimate.metric).limit, ERROR)
        for estimate in sheet.estimates
        if estimate.metric != MERIT.id
    ]
    for judge in sheet.judges:
        if not judge.baseline:
            mine = observations.of_judge(judge.name)
            estimates += merit_estimates(judge.name, mine, baselines, sheet.seed, ERROR)
    return concluded(replace(sheet, estimates=tuple(estimates)))


def _open(sheet: Datasheet, strict: Datasheet, verdict: Conclusion, again: Conclusion) -> tuple[str, ...]:
    """Titles of what keeps a word from being decided; none where it is."""
    usual, stricter = (_decisions(each, verdict.judge) for each in (sheet, strict))
    if TOO_LITTLE in (verdict.word, again.word):
        return (MERIT_QUESTION.title,)
    if verdict.word == NO_FAULT:
        return tuple(
            each.row_title
            for each in usual.values()
            if each.question.name in GRAVE and each.counts and each.status == INCONCLUSIVE
        )
    if verdict.word == again.word:
        return ()
    return tuple(
        each.row_title
        for title, each in usual.items()
        if each.status == FLAGGED and (title not in stricter or stricter[title].status != FLAGGED)
    )


def _decisions(sheet: Datasheet, judge: str) -> dict[str, Decision]:
    return {decision.title: decision for decision in sheet.findings if decision.judge == judge}


def _end(sheet: Datasheet, open_: dict[str, tuple[str, ...]]) -> str | None:
    """Why the profile is the last; None where a larger one may decide more."""
    if not open_:
        return DECIDED
    if any(verdict.advice is Advice.NO_SERVER for verdict in sheet.verdicts):
        return FAILING
    merits = (_decisions(sheet, judge).get(MERIT_QUESTION.name) for judge in open_)
    if all(merit is None or merit.status == UNDEFINED for merit in merits):
        return UNASKED
    return LARGEST if sheet.profile == PROFILES[-1] else None
