"""A judge against baselines that read nothing: is it right more often than always giving one answer?

The rules are every constant answer, computed from the labels, and the baselines of the same run, each on the
judge's own calls. None is chosen by the data: to be `clear` the judge has to beat every rule, each at 5 %, so
that no luck in choosing the best helps it; to be `flagged` it has to fall short of the best one at 5 % over
the number of rules, so that a rule which is best by luck does not condemn it. The figure is told against the
best rule.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from functools import cached_property, partial
from math import inf

import numpy as np

from steelyard.core.arrays import Floats, Ints, Mask, distinct, numbered
from steelyard.core.text import pluralize
from steelyard.metrics import findings
from steelyard.metrics.comparison.paired import Paired
from steelyard.metrics.estimate import Estimate, EstimateContext, Interval, Sample, Why
from steelyard.metrics.findings import CLEAR, FLAGGED, INCONCLUSIVE, SURE, agreeing, decided_by
from steelyard.metrics.metric import HIGH, Metric
from steelyard.metrics.multiplicity import bonferroni_alpha
from steelyard.metrics.pairs.columns import PairAnswer, collect, excluded
from steelyard.metrics.proportions import sampling_notes, with_tested_word
from steelyard.metrics.scores.columns import Scores, collect_scores, rescaled_to_original
from steelyard.metrics.scores.shares import NO_LABELS, OWN_LABELS
from steelyard.metrics.stats.clusters import ClusterMean
from steelyard.metrics.stats.intervals import ALPHA, UNBOUNDED, Span
from steelyard.metrics.stats.sample_size import calls_by_interval
from steelyard.stimuli.original import BEST_OF_PROBE, NATURAL_PROBE, ORIGINAL
from steelyard.verdicts.observations import Observations

_SLOTS = {
    "always naming slot 1": PairAnswer.FIRST,
    "always naming slot 2": PairAnswer.SECOND,
    "always answering tie": PairAnswer.TIE,
}
LONGEST = "the baseline longest"
"""Known from the lengths alone, whether or not that baseline was asked."""


@dataclass(frozen=True, eq=False)
class ReferenceOutcomes:
    """Calls compared with labels: one row per labelled call, with what each rule gets on it."""

    names: tuple[str, ...]
    stimulus: Ints
    replicate: Ints
    order: Ints
    """Which content stood first; 0 for single texts."""
    least: Floats
    """What the judge gets in the worst case; for a call without a verdict the least there is."""
    most: Floats
    """What it gets in the best case; the same as `least` for every call with a verdict."""
    read: Mask
    cluster: Ints
    unit: Ints
    constants: Mapping[str, Floats]
    excluded: Mapping[str, int]

    def __len__(self) -> int:
        return len(self.least)

    @cached_property
    def keys(self) -> list[tuple[str, int, int]]:
        """Name, replicate and order of each call, by which a baseline's calls are found."""
        names = [self.names[number] for number in self.stimulus]
        return list(zip(names, self.replicate.tolist(), self.order.tolist(), strict=True))

    @cached_property
    def points(self) -> dict[tuple[str, int, int], float]:
        return {key: value for key, value, read in zip(self.keys, self.least, self.read, strict=True) if read}


def right_or_wrong(scores: Scores) -> ReferenceOutcomes:
    return _right_scores(scores.where(scores.labelled), "always answering", (1, 0))


def named_the_best(observations: Observations) -> ReferenceOutcomes:
    """The best of several responses: right where the slot of the best one is named."""
    scores = collect_scores(observations)
    rows = scores.where(scores.labelled)
    return _right_scores(rows, "always naming slot", range(1, int(rows.high.max(initial=0)) + 1))


def _right_scores(rows: Scores, rule: str, answers: Iterable[int]) -> ReferenceOutcomes:
    right = rows.right.astype(np.float64)
    constants = {f"{rule} {n}": np.equal(rows.expected, n).astype(np.float64) for n in answers}
    return _outcomes_of_scores(rows, right, np.where(rows.readable, right, 1.0), constants)


def distance_from_label(scores: Scores) -> ReferenceOutcomes:
    """Scores: levels from the label, as a loss; an abstention is as far off as the scale allows."""
    rows = scores.where(scores.labelled)
    worst = -np.maximum(rows.expected - rows.low, rows.high - rows.expected)
    near = np.where(rows.decided, -np.abs(rows.score - rows.expected), worst)
    levels = range(int(rows.low.min(initial=0)), int(rows.high.max(initial=0)) + 1) if len(rows) else ()
    constants = {f"always answering {n}": -np.abs(n - rows.expected) for n in levels}
    return _outcomes_of_scores(rows, near, np.where(rows.readable, near, 0.0), constants)


def _outcomes_of_scores(
    rows: Scores, least: Floats, most: Floats, constants: Mapping[str, Floats]
) -> ReferenceOutcomes:
    return ReferenceOutcomes(
        names=rows.stimuli,
        stimulus=rows.stimulus,
        replicate=rows.replicate,
        order=np.zeros(len(rows), dtype=np.int64),
        least=least,
        most=most,
        read=rows.readable,
        cluster=rows.cluster,
        unit=rows.item,
        constants=constants,
        excluded=rows.lost(),
    )


def choice_of_people(observations: Observations) -> ReferenceOutcomes:
    """Calls on natural pairs: right where they name the text that people prefer, or the tie they call."""
    pairs = collect(observations.filter(labelled=True))
    asked = pairs.shown
    row, order = np.nonzero(asked)
    right, wanted = pairs.right[asked].astype(np.float64), pairs.wanted[asked]
    constants = {rule: np.equal(wanted, answer).astype(np.float64) for rule, answer in _SLOTS.items()}
    lengths = observations.shown.longer_by_name
    longer = np.array([lengths.get(name, -1) for name in pairs.names], dtype=np.int64)[pairs.pair[row]]
    if np.all(longer >= 0) and longer.any():
        constants[LONGEST] = np.equal(pairs.better[row], longer).astype(np.float64)
    return ReferenceOutcomes(
        names=pairs.names,
        stimulus=pairs.pair[row],
        replicate=pairs.replicate[row],
        order=order,
        least=right,
        most=np.where(pairs.lost_calls[asked], 1.0, right),
        read=pairs.readable[asked],
        cluster=pairs.cluster[row],
        unit=pairs.pair[row],
        constants=constants,
        excluded=excluded(pairs),
    )


_gain_of = partial(Metric, signed=True, direction=HIGH)
ACCURACY_GAIN = _gain_of(
    "accuracy_gain",
    "over best baseline",
    "Accuracy minus that of the best rule that reads nothing: a constant answer, or a baseline of the run.",
    plain="beats reading nothing",
)
ERROR_GAIN = _gain_of(
    "error_gain",
    "over best baseline",
    "Levels by which scores lie nearer to the label than those of the best rule that reads nothing.",
    plain="nearer than reading nothing",
)
METRICS = (ACCURACY_GAIN, ERROR_GAIN)
_METHODS = {ACCURACY_GAIN: "tango_cluster", ERROR_GAIN: "t_cluster"}

NO_GOLD = "no pair says which text is better"
NO_VERDICT = "no call on a labelled item ended in a verdict"
IN_WORDS = {
    "the baseline random": "answering at random",
    "the baseline coin": "tossing a coin",
    "the baseline first": "always naming the first text",
    "the baseline tie": "always answering tie",
    LONGEST: "naming the longest text",
}


def best_baseline_name(gain: Estimate) -> str:
    rival = gain.details.get("rival")
    return "the best rule that reads nothing" if rival is None else IN_WORDS.get(rival, rival)


@dataclass(frozen=True, eq=False)
class _Gap:
    judge: Floats
    rule: Floats
    cluster: Ints
    unit: Ints

    @property
    def value(self) -> float:
        return float((self.judge - self.rule).mean())

    @cached_property
    def _paired(self) -> Paired | None:
        """Events of both, call by call; None where a call is more or less right, not right or wrong."""
        if not all(np.all((values == 0) | (values == 1)) for values in (self.judge, self.rule)):
            return None
        return Paired(self.rule.astype(np.int64), self.judge.astype(np.int64), self.cluster, self.unit)

    def limits(self, probability: float) -> Span:
        if self._paired is not None:
            return self._paired.limits(probability)
        units = self.cluster if len(distinct(self.cluster)) > 1 else self.unit
        mean = ClusterMean.of(numbered(units)[1], self.judge - self.rule)
        return mean.limits(probability, UNBOUNDED) or (mean.mean, mean.mean)


_OF_CHOICES = {NATURAL_PROBE: (choice_of_people, NO_GOLD), BEST_OF_PROBE: (named_the_best, NO_LABELS)}


def gain_estimates(
    judge: str, observations: Observations, baselines: Mapping[str, Observations], seed: int
) -> list[Estimate]:
    """The judge's gain over the best rule: on texts as they are, natural pairs and the best of several."""
    estimates: list[Estimate] = []
    for protocol in observations.protocols_seen:
        rows = observations.filter(protocol=protocol)
        others = {name: seen.filter(protocol="base") for name, seen in baselines.items()}
        if len(plain := rows.filter(ORIGINAL)):
            context = EstimateContext.for_protocol(judge, ORIGINAL, protocol, seed)
            estimates += _of_scores(context, plain, {n: seen.filter(ORIGINAL) for n, seen in others.items()})
        for probe, (outcomes, lacking) in _OF_CHOICES.items():
            if len(mine := rows.filter(probe)):
                context = EstimateContext.for_protocol(judge, probe, protocol, seed)
                rivals = {name: outcomes(seen.filter(probe)) for name, seen in others.items()}
                estimates.append(_gain(context, ACCURACY_GAIN, outcomes(mine), rivals, lacking))
    return estimates


def _of_scores(
    context: EstimateContext, rows: Observations, baselines: Mapping[str, Observations]
) -> Iterable[Estimate]:
    scores = collect_scores(rescaled_to_original(rows))
    others = {name: collect_scores(rescaled_to_original(seen)) for name, seen in baselines.items()}
    lacking = OWN_LABELS if np.any(scores.own_label) else NO_LABELS
    if np.any(scores.binary):
        rivals = {name: right_or_wrong(seen.where(seen.binary)) for name, seen in others.items()}
        yield _gain(context, ACCURACY_GAIN, right_or_wrong(scores.where(scores.binary)), rivals, lacking)
    if not np.all(scores.binary):
        rivals = {name: distance_from_label(seen.where(~seen.binary)) for name, seen in others.items()}
        yield _gain(context, ERROR_GAIN, distance_from_label(scores.where(~scores.binary)), rivals, lacking)


def _gain(
    context: EstimateContext,
    metric: Metric,
    outcomes: ReferenceOutcomes,
    baselines: Mapping[str, ReferenceOutcomes],
    lacking: Why,
) -> Estimate:
    if not np.any(outcomes.read):
        return context.undefined(metric, NO_VERDICT if len(outcomes) else lacking, "call", outcomes.excluded)
    rules = _rules(outcomes, baselines)
    mask = outcomes.read
    gaps = {
        name: _Gap(outcomes.least[mask], rule[mask], outcomes.cluster[mask], outcomes.unit[mask])
        for name, rule in rules.items()
    }
    best = max(gaps, key=lambda name: float(gaps[name].rule.mean()))
    gap, level, clusters = gaps[best], float(gaps[best].rule.mean()), len(distinct(gaps[best].cluster))
    bounds = tuple(float((values - rules[best]).mean()) for values in (outcomes.least, outcomes.most))

    # Above every rule, or below the best at the error that so many rules leave.
    alpha = bonferroni_alpha(len(gaps))
    low = min(each.limits(SURE)[0] for each in gaps.values())
    high = gap.limits(1 - alpha / 2)[1]

    def word(moved: Span) -> str:
        if low + moved[0] > 0:
            return CLEAR
        return FLAGGED if high + moved[1] < 0 else INCONCLUSIVE

    gets = f"which gets {level:.2f}" if metric is ACCURACY_GAIN else f"which is {-level:.2f} levels off"
    among = f"best of {pluralize(len(rules), 'rule')} that read nothing"
    estimate = context.estimate(
        metric,
        Sample(len(gap.judge), len(distinct(gap.unit)), clusters, outcomes.excluded),
        value=gap.value,
        intervals=(Interval(_METHODS[metric], *gap.limits(SURE)),),
        bounds=(bounds[0], bounds[1]) if sum(outcomes.excluded.values()) else None,
        chance=0.0,
        details={"rival": best},
        calls_needed=calls_by_interval(len(gap.judge), gap.value, gap.limits(SURE)),
        notes=[f"against {best}", gets, among, *sampling_notes(clusters)],
    )
    found = with_tested_word(estimate, word)
    (down, up), told = findings.missingness_shift(gap.value, estimate.bounds), found.status or ""
    span = agreeing((low + down, high + up), told, gap.value, (0.0, inf))
    return decided_by(found, told, span, 1 - (ALPHA + alpha) / 2)


def _rules(outcomes: ReferenceOutcomes, baselines: Mapping[str, ReferenceOutcomes]) -> dict[str, Floats]:
    """What every rule gets on the judge's calls; a baseline that was not asked all of them is none."""
    rules = dict(outcomes.constants)
    for name, other in baselines.items():
        if all(key in other.points for key in outcomes.keys):
            values = np.array([other.points[key] for key in outcomes.keys], dtype=np.float64)
            if not any(np.array_equal(values, known) for known in rules.values()):
                rules[f"the baseline {name}"] = values
    return rules
