"""Remedies: other judges that can be made of a judge's calls on record, with their figures and costs.

The jury of three of a run is chosen once for every table that shows it. Three judges make one trio, which
nothing has chosen. Of more judges the best trio is chosen on one half of the clusters and told on the other,
since on its own half it looks better than it is.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from itertools import combinations
from typing import Any

import numpy as np

from steelyard.core.arrays import Floats, distinct, numbered
from steelyard.core.content_hash import rng_for
from steelyard.core.text import pluralize
from steelyard.metrics.estimate import NO_CALLS, Estimate, EstimateContext, Interval, Sample
from steelyard.metrics.merit import merit_estimates
from steelyard.metrics.metric import Group, Metric, ShownAs
from steelyard.metrics.remedies import targets
from steelyard.metrics.remedies.targets import Change, TargetFigure, target_figures
from steelyard.metrics.run.cost import NO_PRICE, Dollars, unpriced
from steelyard.metrics.scores.columns import collect_scores, rescaled_to_original
from steelyard.metrics.stats.clusters import ClusterMean
from steelyard.metrics.stats.intervals import POSITIVE
from steelyard.stimuli.original import ORIGINAL
from steelyard.trials.builtin_prompts import GRADED
from steelyard.verdicts import majority_vote as vote
from steelyard.verdicts.observations import Observations
from steelyard.verdicts.verdict import Abstained, Decided, Tie

SIZES = (3, 5)
UNCURED, ORDERS, AVERAGE = "uncured", "orders", "average"
MAJORITY, MEAN, PROTOCOL = "majority", "mean", "protocol"
"""Kinds of remedies, beside `JURY`."""
BASE = "base"


@dataclass(frozen=True)
class Remedy:
    kind: str
    id: str
    title: str
    protocol: str = BASE
    repeats: int = 1
    rule: vote.Rule = vote.plurality
    symmetric: bool = False
    """Both orders are asked: their verdicts are one by construction, a tie where they differ."""

    @property
    def calls(self) -> int:
        return self.repeats * (2 if self.symmetric else 1)

    def definition(self, judge: str) -> str | None:
        """The mitigated judge as a study file has it; None where another prompt makes it."""
        member = json.dumps(judge, ensure_ascii=False)
        if self.repeats > 1:
            kind = MEAN if self.kind == MEAN else MAJORITY
            member = f"{{{kind}: {self.repeats}, of: {member}}}"
        if self.symmetric:
            member = f"{{consensus: {AVERAGE if self.kind == AVERAGE else ORDERS}, of: {member}}}"
        return member if self.calls > 1 and self.protocol == BASE else None

    def lacks(self, seen: Observations) -> str:
        """What is not on record, and how to get it; all that it takes where nothing is missing altogether."""
        calls = vote.as_base(seen, self.protocol)
        if not len(calls):
            return f"calls under the {self.protocol} protocol (probe criterion)"
        again = pluralize(self.repeats, "repeat")
        asked = np.bincount(calls.replicate, minlength=self.repeats)
        most_repeated = asked[self.repeats - 1] * 2 > asked[0]
        needs = {
            "pairs shown in both orders": self.symmetric and not vote.any_both_orders(calls),
            f"{again} of each call (--replicates {self.repeats})": not most_repeated,
        }
        return " and ".join(need for need, missing in needs.items() if missing) or "more calls"

    def derive(self, seen: Observations, *, spread: bool = False) -> Observations:
        """The verdicts of the mitigated judge, under `base`.

        `spread` gives a verdict to each call behind it, so that it can be paired with them.
        """
        calls = vote.as_base(seen, self.protocol)
        if self.repeats > 1:
            calls = vote.of_repeats(calls, self.repeats, self.rule, spread=spread)
        together = vote.average_of_orders if self.kind == AVERAGE else vote.agreement
        return vote.both_orders(calls, together) if self.symmetric else calls


AS_MEASURED = Remedy(UNCURED, UNCURED, "as measured")


def remedies(seen: Observations) -> Iterator[Remedy]:
    """Every remedy that fits what the judge was shown; whether it can be computed is another question."""
    made = (Remedy(MAJORITY, f"{MAJORITY}_{size}", f"majority of {size}", repeats=size) for size in SIZES)
    majorities = {remedy.repeats: remedy for remedy in made}
    if seen.pointwise:
        yield from majorities.values()
        more_than_yes_or_no = bool(np.any(seen.shown.ends[seen.stimulus, 1] > 1))
        for size in SIZES if more_than_yes_or_no else ():
            title = f"mean of {size}, rounded"
            yield Remedy(MEAN, f"{MEAN}_{size}", title, repeats=size, rule=vote.average)
        return
    yield Remedy(ORDERS, ORDERS, "both orders, a tie where they differ", symmetric=True)
    yield Remedy(AVERAGE, AVERAGE, "average of both orders", symmetric=True)
    for protocol in _stricter(seen):
        title = f"{protocol} instruction"
        yield Remedy(PROTOCOL, f"{PROTOCOL}_{protocol}", title, protocol)
        yield Remedy(ORDERS, f"{ORDERS}_{protocol}", f"{title}, both orders", protocol, symmetric=True)
    for size, majority in majorities.items():
        yield majority
        title = f"majority of {size} in both orders"
        yield Remedy(ORDERS, f"{ORDERS}_{MAJORITY}_{size}", title, repeats=size, symmetric=True)


def _stricter(seen: Observations) -> list[str]:
    """Protocols on record that ask for more before a winner is named; unknown ones are taken to."""
    lenient = GRADED[: GRADED.index(BASE) + 1]
    measured = sorted(name for name in seen.protocols_seen if name not in lenient)
    graded = len(seen.filter("ladder")) or len(seen.filter("vacuum"))
    return measured or (["strict"] if graded else [])


COST_PER_VERDICT = Metric(
    "cost_per_verdict",
    meaning="Dollars per verdict: those of a call times the calls that a verdict takes.",
    shown_as=ShownAs.DOLLARS,
    estimated=False,
)


def cost_per_verdict(
    context: EstimateContext, asked: Sequence[tuple[Observations, Dollars | None]], calls: int = 1
) -> Estimate:
    """Dollars of one call to each of these judges, so many times; an interval where it is one judge."""
    means = []
    for seen, price in asked:
        why = unpriced(seen, price) if len(seen) else NO_CALLS
        if price is None or why:
            return context.undefined(COST_PER_VERDICT, why or NO_PRICE, "verdict")
        used, number = numbered(seen.usage)
        each: Floats = np.array([price(seen.usages[place]) for place in used])[number]
        means.append(ClusterMean.of(numbered(seen.shown.cluster[seen.stimulus])[1], each))
    limits = means[0].limits(0.975, POSITIVE) if len(means) == 1 else None
    units, clusters = max(seen.units for seen, _ in asked), max(mean.units for mean in means)
    sample = Sample(sum(len(seen) for seen, _ in asked), units, clusters)
    value = calls * sum(mean.mean for mean in means)
    intervals = (Interval("t_cluster", calls * limits[0], calls * limits[1]),) if limits else ()
    return context.estimate(COST_PER_VERDICT, sample, unit="verdict", value=value, intervals=intervals)


MOST = 0.5
"""Share of a figure's units on which a remedy must have a verdict."""


@dataclass(frozen=True)
class MitigatedFigure:
    estimate: Estimate
    """The figure; its group names the remedy."""
    change: Change | None = None
    """Against the judge as measured; None for that judge itself, and for costs."""

    def to_json(self) -> dict[str, Any]:
        change = None if self.change is None else asdict(self.change)
        return {"estimate": self.estimate.to_json(), "change": change}


@dataclass(frozen=True)
class MitigatedJudge:
    judge: str
    remedy: str
    """Its id; `uncured` for the judge as measured."""
    kind: str
    """`orders`, `average`, `majority`, `mean`, `protocol` or `uncured`."""
    title: str
    calls: int
    figures: tuple[MitigatedFigure, ...] = ()
    """In reading order; none where the calls on record do not tell."""
    note: str | None = None
    definition: str | None = None
    """The judge as a study file has it; None where it is the judge itself or another prompt."""

    def figure(self, metric: str, probe: str | None = None) -> MitigatedFigure | None:
        """The figure of a metric; the first of several probes where none is named."""
        mine = (each for each in self.figures if each.estimate.metric == metric)
        return next((each for each in mine if probe in (None, each.estimate.probe)), None)

    def to_json(self) -> dict[str, Any]:
        return {**vars(self), "figures": [figure.to_json() for figure in self.figures]}


def mitigated_judges(
    judge: str,
    seen: Observations,
    price: Dollars | None,
    seed: int,
    *,
    priced: bool,
    baselines: Mapping[str, Observations] | None = None,
) -> list[MitigatedJudge]:
    """The judge as measured, then with each remedy; nothing where no figure was measured that one could move.

    `priced` is False where costs are no question, as for recorded verdicts.
    """
    base = seen.filter(protocol=BASE)
    measured = {}
    for figure in target_figures(base):
        context = _context(judge, figure.probe, figure.group, UNCURED, seed)
        measured[figure] = figure.estimate(context, figure.columns(base))
    rows = []
    for remedy in (AS_MEASURED, *remedies(seen)) if measured else ():
        after = base if remedy is AS_MEASURED else remedy.derive(seen)
        figures = [MitigatedFigure(estimate) for estimate in measured.values()]
        if remedy is not AS_MEASURED:
            spread = remedy.derive(seen, spread=True) if remedy.repeats > 1 else after
            figures = _mitigated_figures(judge, base, measured, remedy, after, spread, seed)
        note = None if figures else f"needs {remedy.lacks(seen)}"
        if figures:
            figures += _merit_figures(judge, after, baselines or {}, seed, remedy.id)
        if figures and priced:
            context = _context(judge, "cost", {}, remedy.id, seed)
            asked = [(seen.filter(protocol=remedy.protocol), price)]
            figures.append(MitigatedFigure(cost_per_verdict(context, asked, remedy.calls)))
        named = remedy.id, remedy.kind, remedy.title, remedy.calls
        rows.append(MitigatedJudge(judge, *named, tuple(figures), note, remedy.definition(judge)))
    return rows


def _mitigated_figures(
    judge: str,
    base: Observations,
    measured: Mapping[TargetFigure, Estimate],
    remedy: Remedy,
    after: Observations,
    spread: Observations,
    seed: int,
) -> list[MitigatedFigure]:
    """Every figure for which the remedy has verdicts on most units; those of one kind alone would mislead."""
    figures, calls = [], vote.shared(base, spread)
    for figure, before in measured.items():
        rows = figure.columns(after)
        if figure.units(rows) > MOST * figure.units(figure.columns(base)):
            context = _context(judge, figure.probe, figure.group, remedy.id, seed)
            rows = targets.count_mirrored_once(rows, figure) if remedy.symmetric else rows
            estimate = figure.estimate(context, rows)
            figures.append(MitigatedFigure(estimate, targets.change(figure, base, calls, before)))
    return figures


def _context(judge: str, probe: str, group: Group, remedy: str, seed: int) -> EstimateContext:
    return EstimateContext(judge, probe, {**group, "protocol": BASE, "remedy": remedy}, seed)


def _merit_figures(
    judge: str, after: Observations, baselines: Mapping[str, Observations], seed: int, remedy: str
) -> list[MitigatedFigure]:
    """Whether a judge with a remedy tells good from bad, by each kind of evidence."""
    merits = (each for each in merit_estimates(judge, after, baselines, seed) if each.is_overall)
    return [MitigatedFigure(replace(each, group={**each.group, "remedy": remedy})) for each in merits]


def jury_remedies(
    seen: Observations, judges: Sequence[str], prices: Mapping[str, Dollars | None] | None, seed: int
) -> list[MitigatedJudge]:
    measured = [seen.judges.index(name) for name in judges if name in seen.judges]
    base = vote.as_base(seen.filter(calls=np.isin(seen.judge, measured)), BASE)
    trio = choose_jury_of_three(base, judges, seed)
    if isinstance(trio, str):
        return [MitigatedJudge(name, JURY, JURY, "jury of three", SIZE, note=trio) for name in judges]
    voted = jury_of(trio.calls, trio.members)
    *others, last = trio.members
    title = f"jury of {', '.join(others)} and {last}"
    if trio.choosing is not None:
        title += ", on clusters that did not choose it"
    definition = f"{{jury: {json.dumps(list(trio.members), ensure_ascii=False)}}}"
    rows = []
    for name in judges:
        figures = _jury_figures(name, trio.calls.of_judge(name), voted, seed)
        if figures and prices is not None:
            asked = [(base.of_judge(member), prices.get(member)) for member in trio.members]
            cost = cost_per_verdict(_context(name, "cost", {}, JURY, seed), asked)
            figures.append(MitigatedFigure(cost))
        note = None if figures else NEEDS
        rows.append(MitigatedJudge(name, JURY, JURY, title, SIZE, tuple(figures), note, definition))
    return rows


def _jury_figures(judge: str, before: Observations, voted: Observations, seed: int) -> list[MitigatedFigure]:
    figures, calls = [], vote.shared(before, voted)
    for figure in target_figures(voted):
        context = _context(judge, figure.probe, figure.group, JURY, seed)
        alone, together = (figure.estimate(context, figure.columns(seen)) for seen in (before, voted))
        figures.append(MitigatedFigure(together, targets.change(figure, before, calls, alone)))
    return figures + _merit_figures(judge, voted, {}, seed, JURY) if figures else []


JURY = "jury"
SIZE = 3
MOST_JUDGES = 8
"""Judges among whose trios the best is looked for."""
NEEDS = "needs three judges in one run, on the same stimuli"
NO_CHOICE = "needs labels and two or more clusters, to choose three of more judges on one half"


@dataclass(frozen=True)
class JuryOfThree:
    members: tuple[str, ...]
    calls: Observations
    choosing: Observations | None = None
    """What they were asked where the trio was chosen; None where nothing chose it."""


def jury_of(seen: Observations, members: Sequence[str], rule: vote.Rule = vote.plurality) -> Observations:
    """The common verdicts of these judges, as those of one judge; none where one of them was never asked."""
    if not set(members).issubset(seen.judges):
        return seen[:0]
    return vote.of_judges(seen, members, rule, JURY)


def judges_with_verdicts(base: Observations, judges: Sequence[str]) -> list[str]:
    answered = {base.judges[n] for n in distinct(base.judge[base.ended(Decided, Tie, Abstained)])}
    return [name for name in judges if name in answered]


def choose_jury_of_three(base: Observations, judges: Sequence[str], seed: int) -> JuryOfThree | str:
    """All three judges, the best trio of many, or why there is none; calls under the base protocol."""
    if len(judges) < SIZE:
        return NEEDS
    candidates = judges_with_verdicts(base, judges)
    if len(candidates) < SIZE:
        return "fewer than three judges gave a verdict"
    if len(candidates) == SIZE:
        return JuryOfThree(tuple(candidates), base)
    if len(candidates) > MOST_JUDGES:
        return f"needs a choice among at most {MOST_JUDGES} judges; measure a jury that you name"
    split = halves(base, seed)
    if split is None:
        return NO_CHOICE
    choosing, held_out = split
    known = subject(choosing)
    best = max(combinations(candidates, SIZE), key=lambda members: _right(jury_of(known, members)))
    return JuryOfThree(best, held_out, choosing)


def best_judge(choosing: Observations, judges: Sequence[str]) -> str:
    known = subject(choosing)
    return max(judges, key=lambda name: _right(known.of_judge(name)))


def halves(base: Observations, seed: int) -> tuple[Observations, Observations] | None:
    """The calls of a random half of the clusters with labels, and of all others; None without two."""
    clusters = distinct(base.shown.cluster[subject(base).stimulus]).tolist()
    if len(clusters) < 2:
        return None
    rng_for(seed, "jury").shuffle(clusters)
    chosen = np.isin(base.shown.cluster, clusters[: len(clusters) // 2])
    return base.filter(stimuli=chosen), base.filter(stimuli=~chosen)


def subject(seen: Observations) -> Observations:
    """The showings that a choice rests on: those of which somebody has said what is right.

    Unchanged items where any has a label, else all labelled texts; of pairs those of the first such figure.
    """
    if seen.pointwise:
        plain = _labelled_by_others(seen.filter(ORIGINAL))
        return plain if len(plain) else _labelled_by_others(seen)
    aim = next((figure for figure in target_figures(seen) if figure.metric.labelled), None)
    return seen[:0] if aim is None else seen.filter(aim.probe)


def _labelled_by_others(seen: Observations) -> Observations:
    """The showings of single texts with a label that no judge among these has given."""
    own = distinct(seen.stimulus[seen.own_label])
    return seen.filter(calls=seen.shown.labelled[seen.stimulus] & ~np.isin(seen.stimulus, own))


def _right(seen: Observations) -> float:
    """Showings on which a judge is right; not the share, by which one that hardly speaks would win."""
    if seen.pointwise:
        scores = collect_scores(rescaled_to_original(seen))
        return float(np.count_nonzero(scores.labelled & scores.right))
    aim = next((figure for figure in target_figures(seen) if figure.metric.labelled), None)
    if aim is None:
        return 0.0
    calls = aim.calls(aim.columns(seen))
    return float(calls.value[calls.counts].sum())
