"""Whether a judge knows when it is wrong: how its signals of confidence go with right and wrong answers.

A confidence that was asked for, or that a table of recorded verdicts holds, is the judge's own and is read
against limits. The probability of the answer's token and the agreement of repeats, of orders and of a jury
are there in any case: their figures stand beside, without a limit. Labels are those of items as they are.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import asdict, dataclass, replace
from functools import partial

import numpy as np

from steelyard.core.arrays import Floats, Ints, Mask, numbered
from steelyard.core.text import join_notes, pluralize
from steelyard.metrics.estimate import Estimate, EstimateContext, Interval, Sample
from steelyard.metrics.findings import SURE, with_finding
from steelyard.metrics.metric import HIGH, LOW, Amount, Basis, Ends, Group, Items, Limit, Metric
from steelyard.metrics.proportions import limit_note, proportion
from steelyard.metrics.stats import confidence as signals
from steelyard.metrics.stats.clusters import ClusterMean, Tally
from steelyard.metrics.stats.intervals import DIFFERENCE, SHARE, Span
from steelyard.verdicts import call_answers
from steelyard.verdicts.call_answers import CallAnswers, ItemAnswers
from steelyard.verdicts.observations import Observations
from steelyard.verdicts.readers import TOKEN

PROBE = "confidence"
RECALIBRATED = "recalibrated"
"""Signal: the confidence by the isotonic fit to other items."""
TELLS = 0.6
"""AUROC below which a signal hardly tells right from wrong."""


def told_by(calls: Observations, group: Group) -> Mask:
    """Labelled calls on items as they are that a figure of a signal rests on.

    Of an agreement all calls on an item count, lost ones too; else those that hold a confidence, of one bin
    where the condition names it.
    """
    keep = np.zeros(len(calls), dtype=np.bool_)
    plain = np.isin(calls.shown.kind, call_answers.AS_THEY_ARE)[calls.stimulus]
    plain &= np.array([name == "base" for name in calls.protocols], dtype=np.bool_)[calls.protocol]
    for judge in range(len(calls.judges)):
        own = np.flatnonzero(plain & (calls.judge == judge))
        mine = calls.take(own)
        if group.get("signal") in (call_answers.REPEATS, call_answers.ORDERS_AGREE, call_answers.JURY):
            keep[own[_agreeing(mine, str(group["signal"]))]] = True
        elif (known := _of_calls(mine)) is not None:
            answers, _, rows = known
            if "bin" in group:
                rows = rows[signals.calibration_bins(answers.signal) + 1 == group["bin"]]
            keep[own[rows]] = True
    return keep


def _agreeing(calls: Observations, signal: str) -> Mask:
    """Calls of one judge on items where its calls, or those of a jury, can agree with its answer."""
    answers = call_answers.item_answers(calls)
    items = _answered(answers)
    # Without others there is no jury: its share is there for every answer.
    values = call_answers.agreement_signals("", {"": answers}, items).get(signal, [1.0] * len(items))
    told = {name for name, value in zip(items, values, strict=True) if value is not None}
    shown = np.array([str(each.lineage.parent) in told for each in calls.shown.stimuli], dtype=np.bool_)
    return shown[calls.stimulus]


def wrong_and_told_by(calls: Observations, group: Group) -> Mask:
    return told_by(calls, group) & CallAnswers.of(calls).wrong


RIGHT, WRONG = 1, 2
"""Sides on which calls stand where two judges are compared."""


def _among_others(values: Floats, side: Ints) -> Floats:
    """What each call adds to the AUROC; as the mean of each side is estimated, its spread is too small."""
    right = side == RIGHT
    parts, size = signals.auroc_parts(values, right), np.where(right, right.sum(), (~right).sum())
    return np.asarray(parts.mean() + (parts - parts.mean()) * np.sqrt(size / np.maximum(1, size - 1)))


_OF_CALLS = partial(Metric, basis=Basis(Items.RUN, Ends.ANY, only=told_by))
AUROC = _OF_CALLS(
    "confidence_auroc",
    "AUROC of its confidence",
    "Chance that a right answer has the higher confidence than a wrong one; 0.5 is a coin.",
    plain="knows when it is wrong",
    limit=Limit(TELLS, "min", probes=(PROBE,)),
    amount=Amount(None, (0.0, 1.0), among=_among_others, labelled=True),
)
OVERCONFIDENCE = _OF_CALLS(
    "overconfidence",
    meaning="Mean confidence less the share of answers that are right.",
    plain="surer than it is right",
    signed=True,
    limit=Limit(0.1, probes=(PROBE,)),
    amount=Amount(None, labelled=True),
)
CALIBRATION_ERROR = _OF_CALLS(
    "calibration_error",
    meaning="Root mean square distance of confidence from the share that is right, in ten bins of equal "
    "size, less what chance adds.",
    direction=LOW,
)
BRIER = _OF_CALLS(
    "brier_score",
    "Brier score",
    "Mean squared distance of the confidence from what happened (1 right, 0 wrong): miscalibration − "
    "discrimination + uncertainty.",
    direction=LOW,
    amount=Amount(None, (0.0, 1.0), labelled=True),
)
WRONG_BUT_SURE = Metric(
    "wrong_but_sure",
    meaning=f"Of the wrong answers: those with a confidence of {signals.SURE:g} or more.",
    direction=LOW,
    behind="wrong",
    basis=Basis(Items.RUN, Ends.ANY, only=wrong_and_told_by),
)
RIGHT_AT = _OF_CALLS(
    "right_at_confidence",
    "right at this confidence",
    "Share of answers that are right among those of about one confidence, with limits that hold for all bins "
    "of the curve together.",
    direction=HIGH,
    detail=True,
)
METRICS = (AUROC, OVERCONFIDENCE, CALIBRATION_ERROR, BRIER, WRONG_BUT_SURE, RIGHT_AT)
ONE_OUTCOME = "all {} with a label are {}: nothing to tell apart"
CONSTANT = "its confidence is always the same"
ENOUGH = 20
"""Answers from which on a confidence that never changes is taken to tell nothing."""
_METHODS = ("delong_cluster", "by_construction")


@dataclass(frozen=True, eq=False)
class SureAnswers:
    """Labelled answers with one signal of confidence, in rows."""

    signal: Floats
    right: Mask
    clusters: Ints
    units: int
    calls: int
    """Calls that they are made from."""
    left_out: int = 0
    """Labelled answers without a signal."""
    is_chance: bool = True
    """Whether the signal claims to be a chance of being right."""

    @property
    def sample(self) -> Sample:
        return Sample(self.calls, self.units, len(np.unique(self.clusters)))

    def tally(self, events: Mask, among: Mask) -> Tally:
        trials = np.bincount(self.clusters[among], minlength=int(self.clusters.max()) + 1)
        count = np.bincount(self.clusters[among & events], minlength=len(trials))
        kept = trials > 0
        size = int(among.sum())
        return Tally(count[kept].astype(np.int64), trials[kept].astype(np.int64), size, min(size, self.units))


def confidence_estimates(
    judge: str, calls: Observations, panel: Mapping[str, ItemAnswers], seed: int
) -> list[Estimate]:
    """Figures of every signal that the calls of a judge hold; nothing without labels."""
    found: list[Estimate] = []
    context = EstimateContext.for_protocol(judge, PROBE, "base", seed)
    known = _of_calls(calls)
    if known is not None:
        answers, kind, _ = known
        here = context.for_subgroup(signal=TOKEN) if kind == TOKEN else context
        found += _figures(here, answers)
        found += _recalibrated(context, answers) if kind != TOKEN else []
    for name, agreement in _agreements(judge, panel):
        found += _figures(context.for_subgroup(signal=name), agreement)
    return found


def _of_calls(calls: Observations) -> tuple[SureAnswers, str, Ints] | None:
    """Answers with the confidence that their calls hold, its kind, and their rows of those as they are."""
    plain = call_answers.as_they_are(calls)
    shares, kind, _ = call_answers.call_confidence(plain)
    answers = CallAnswers.of(plain)
    counted = answers.has_reference & ~np.isnan(answers.answer)
    rows = np.flatnonzero(counted & ~np.isnan(shares))
    if kind is None or not len(rows):
        return None
    clusters = plain.shown.cluster[plain.stimulus[rows]]
    units = len(np.unique(plain.stimulus[rows]))
    left = int(counted.sum()) - len(rows)
    right, cluster = answers.right[rows], numbered(clusters)[1]
    return SureAnswers(shares[rows], right, cluster, units, len(rows), left), kind, rows


def _agreements(judge: str, panel: Mapping[str, ItemAnswers]) -> Iterator[tuple[str, SureAnswers]]:
    if judge not in panel:
        return
    mine = panel[judge].items
    items = _answered(panel[judge])
    for signal, values in call_answers.agreement_signals(judge, panel, items).items():
        rows = [(v, mine[name]) for v, name in zip(values, items, strict=True) if v is not None]
        if rows:
            yield signal, _rows(rows)


def _answered(answers: ItemAnswers) -> list[str]:
    return [name for name, item in answers.items.items() if item.label and item.answer]


def _rows(rows: list[tuple[float, call_answers.ItemAnswer]]) -> SureAnswers:
    tasks = np.array([item.task for _, item in rows])
    signal = np.array([value for value, _ in rows], dtype=np.float64)
    right = np.array([item.answer == item.label for _, item in rows], dtype=np.bool_)
    cluster = np.unique(tasks, return_inverse=True)[1].astype(np.int64)
    calls = sum(len(item.calls) for _, item in rows)
    return SureAnswers(signal, right, cluster, len(rows), calls, is_chance=False)


def _figures(context: EstimateContext, rows: SureAnswers) -> list[Estimate]:
    found = [_auroc(context, rows)]
    if rows.is_chance:
        found += [_overconfidence(context, rows), *_calibration(context, rows)]
        found += [_wrong_but_sure(context, rows), *_curve(context, rows)]
    return found


def _auroc(context: EstimateContext, rows: SureAnswers) -> Estimate:
    value = signals.auroc(rows.signal, rows.right)
    if value is None:
        outcome = "right" if rows.right.all() else "wrong"
        # Of an item whose calls are split evenly there is no most frequent answer.
        compared = "answers" if rows.is_chance else "most frequent answers of items"
        return context.undefined(AUROC, ONE_OUTCOME.format(compared, outcome))
    constant = len(rows.signal) >= ENOUGH and bool(rows.signal.min() == rows.signal.max())
    limits = (0.5, 0.5) if constant else signals.auroc_limits(rows.signal, rows.right, rows.clusters, SURE)
    limit, left_out = context.limit(AUROC), pluralize(rows.left_out, "labelled answer")
    estimate = context.estimate(
        AUROC,
        rows.sample,
        value=value,
        intervals=() if limits is None else (Interval(_METHODS[constant], *limits),),
        chance=0.5,
        notes=[
            CONSTANT if constant else None,
            f"wrong: {int((~rows.right).sum())} of {pluralize(len(rows.right), 'answer')}",
            None if limits else "fewer than two clusters with a right and with a wrong answer",
            f"left out for want of a confidence: {left_out}" if rows.left_out else None,
            limit_note(limit),
        ],
    )
    return with_finding(estimate, limit)


def _mean(
    context: EstimateContext, metric: Metric, rows: SureAnswers, values: Floats, ends: Span
) -> Estimate:
    mean = ClusterMean.of(rows.clusters, values)
    limits = mean.limits(SURE, ends) or (mean.difference_limits(SURE) if ends[0] < 0 else None)
    intervals = () if limits is None else (Interval("t_cluster", *limits),)
    made = context.estimate(metric, rows.sample, value=mean.mean, intervals=intervals)
    return with_finding(made, context.limit(metric))


def _overconfidence(context: EstimateContext, rows: SureAnswers) -> Estimate:
    made = _mean(context, OVERCONFIDENCE, rows, rows.signal - rows.right, DIFFERENCE)
    stated, right = float(rows.signal.mean()), float(rows.right.mean())
    stands = limit_note(context.limit(OVERCONFIDENCE))
    said = [f"mean confidence {stated:.2f}, right {right:.2f}", made.note, stands]
    return _noted(made, join_notes(said), confidence=stated, right=right)


def _calibration(context: EstimateContext, rows: SureAnswers, bins: Ints | None = None) -> list[Estimate]:
    seed = context.bootstrap_seed(CALIBRATION_ERROR.id)
    limits = signals.calibration_limits(rows.signal, rows.right, rows.clusters, seed, bins)
    value = signals.calibration_error(rows.signal, rows.right, bins)
    intervals = () if limits is None else (Interval("bootstrap_cluster", *limits),)
    error = context.estimate(CALIBRATION_ERROR, rows.sample, value=value, intervals=intervals)
    parts = signals.brier(rows.signal, rows.right)
    words = (
        f"miscalibration {parts.miscalibration:.3f} − discrimination {parts.discrimination:.3f} + "
        f"uncertainty {parts.uncertainty:.3f}"
    )
    squares = (rows.signal - rows.right) ** 2
    named = {name: value for name, value in asdict(parts).items() if name != "value"}
    return [error, _noted(_mean(context, BRIER, rows, squares, SHARE), words, **named)]


def _noted(estimate: Estimate, note: str | None, **details: object) -> Estimate:
    return replace(estimate, note=note, details={**estimate.details, **details})


def _wrong_but_sure(context: EstimateContext, rows: SureAnswers) -> Estimate:
    wrong = ~rows.right
    if not wrong.any():
        return context.undefined(WRONG_BUT_SURE, "no answer with a label is wrong")
    return proportion(context, WRONG_BUT_SURE, rows.tally(rows.signal >= signals.SURE, wrong))


def _curve(context: EstimateContext, rows: SureAnswers) -> Iterator[Estimate]:
    place = signals.calibration_bins(rows.signal)
    bins = int(place.max()) + 1
    for number in range(bins):
        among = place == number
        here = context.for_subgroup(bin=number + 1)
        made = proportion(here, RIGHT_AT, rows.tally(rows.right, among), cells=bins)
        stated = float(rows.signal[among].mean())
        yield _noted(made, join_notes([f"mean confidence {stated:.2f}", made.note]), confidence=stated)


def _recalibrated(context: EstimateContext, rows: SureAnswers) -> list[Estimate]:
    """The confidence by the isotonic fit to other items: what a remedy would show, and the map itself."""
    seed = context.bootstrap_seed(RECALIBRATED)
    made = signals.recalibrated_by_others(rows.signal, rows.right, rows.clusters, seed)
    if made is None:
        return []
    anew = replace(rows, signal=made)
    here = context.for_subgroup(signal=RECALIBRATED)
    steps = np.stack(signals.isotonic(rows.signal, rows.right), axis=1)
    corners = np.flatnonzero(np.diff(steps[:, 1], prepend=-1.0, append=2.0)[:-1])
    curve = [[float(at), float(share)] for at, share in steps[corners]]
    # In bins of what was stated: the fits of two folds differ by what each leaves out.
    error, score = _calibration(here, anew, signals.calibration_bins(rows.signal))
    over = _overconfidence(here, anew)
    return [_noted(each, "by the isotonic fit to other items") for each in (over, error)] + [
        _noted(score, "by the isotonic fit to other items", map=curve)
    ]
