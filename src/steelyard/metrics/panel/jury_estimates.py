"""Juries of the judges of a run, and how far their errors go together, as estimates.

A jury that was chosen is told where it was not chosen; no list of all juries is told, since its best looks
better than it is.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

import numpy as np

from steelyard.arrays import Floats
from steelyard.metrics.common import ACCURACY
from steelyard.metrics.estimate import Estimate, Interval
from steelyard.metrics.heading import NO_VERDICTS, Heading
from steelyard.metrics.metric import Metric
from steelyard.metrics.panel.ballots import ballots
from steelyard.metrics.panel.error_correlation import error_correlations
from steelyard.metrics.panel.jury import Ballots, choose_jury, halves
from steelyard.metrics.panel.jury_shares import TIE, accuracy, error_rates, sitting, weighed
from steelyard.metrics.panel.over_judges import PANEL, members
from steelyard.metrics.proportions import join
from steelyard.metrics.scores.columns import Scores
from steelyard.metrics.scores.probe import probe_scores
from steelyard.metrics.stats.cluster_mean import ClusterMean
from steelyard.metrics.stats.dawid_skene import dawid_skene
from steelyard.metrics.stats.intervals import DIFFERENCE
from steelyard.verdicts.observations import Observations

JURY_ACCURACY = Metric(
    "jury_accuracy",
    "jury accuracy",
    "Labelled inputs on which the judges' common verdict is the expected one.",
)
CHOSEN_JURY_APPARENT = Metric(
    "chosen_jury_apparent",
    "best trio where chosen",
    "Accuracy of the best trio on the half of the clusters that chose it: flattering.",
)
CHOSEN_JURY_ACCURACY = Metric(
    "chosen_jury_accuracy",
    "best trio elsewhere",
    "Accuracy of the best trio on the half of the clusters that did not choose it.",
)
BEST_JUDGE_ACCURACY = Metric(
    "best_judge_accuracy",
    "best judge elsewhere",
    "Accuracy of the best single judge on the half of the clusters that did not choose it.",
)
JURY_GAIN = Metric(
    "jury_gain",
    "gain of the trio",
    "Accuracy of the best trio minus that of the best judge, on the same inputs.",
    signed=True,
)
METRICS = (JURY_ACCURACY, CHOSEN_JURY_APPARENT, CHOSEN_JURY_ACCURACY, BEST_JUDGE_ACCURACY, JURY_GAIN)

PROBE = "jury"
SIZE = 3
TIES = "a tied vote goes to the lower answer"
WITHOUT_LABELS = "weighs judges by their agreement alone, without labels"
CHOOSING = "in-sample, on the half of the clusters that chose it: flattering"
HELD_OUT = "on the half of the clusters that did not choose it"
TOO_FEW_CLUSTERS = "one cluster cannot be halved: a jury would be reported where it was chosen"
TOO_FEW_HEARD = "fewer than three judges gave a verdict"
NO_DIFFERENCE = "clusters show no spread: no interval"


def jury_estimates(scores: Mapping[str, Scores], seed: int) -> list[Estimate]:
    """Figures of the judges' labelled inputs under the base protocol; nothing for fewer than two judges."""
    votes = _labelled(scores)
    if votes is None:
        return []
    heading = Heading.under(PANEL, PROBE, "base", seed)
    everybody, agreed = sitting(votes, votes.judges), weighed(votes, _weighted(votes))
    by_agreement = heading.within(rule="dawid_skene")
    return [
        accuracy(heading, JURY_ACCURACY, everybody, TIES),
        *error_rates(heading, everybody, TIES),
        accuracy(by_agreement, JURY_ACCURACY, agreed, WITHOUT_LABELS),
        *error_rates(by_agreement, agreed, WITHOUT_LABELS),
        *_chosen(heading, votes),
        *error_correlations(heading, votes),
    ]


def jury_by_probe(
    observations: Mapping[str, Observations], estimates: Sequence[Estimate], seed: int
) -> Iterator[Estimate]:
    """The majority of all judges on each probe that has an accuracy of every judge."""
    right = [e for e in estimates if e.metric == ACCURACY.id and e.value is not None]
    whole = [e for e in right if e.whole and e.judge in observations]
    for probe in dict.fromkeys(e.probe for e in whole):
        if len([e for e in whole if e.probe == probe]) < len(observations):
            continue
        rows = {
            name: probe_scores(probe, "base", mine, unchanged=True) for name, mine in observations.items()
        }
        votes = _labelled({name: _subject(scores) for name, scores in rows.items()})
        if votes is not None:
            heading = Heading.under(PANEL, probe, "base", seed)
            jury = sitting(votes, votes.judges)
            yield accuracy(heading, JURY_ACCURACY, jury, TIES)
            yield from error_rates(heading, jury, TIES)


def _subject(scores: Scores) -> Scores:
    """The edits, or the items of a probe that shows them as they are."""
    return scores.where(~scores.original) if np.any(~scores.original) else scores


def _labelled(scores: Mapping[str, Scores]) -> Ballots | None:
    """Votes on labelled inputs; None for fewer than two judges, or without a label."""
    votes = ballots(scores, TIE)
    votes = votes.where(~np.isnan(votes.labels))
    return votes if len(votes.judges) > 1 and len(votes.votes) else None


def _weighted(votes: Ballots) -> Floats:
    """Dawid and Skene's verdicts, each scale alone: a judge may be sharp on one and dull on another."""
    verdict = np.full(len(votes.votes), np.nan)
    for scale in np.unique(votes.scale):
        mask = votes.scale == scale
        fitted = dawid_skene(votes.votes[mask])
        if fitted is not None:
            verdict[mask] = fitted.verdict
    return verdict


def _chosen(heading: Heading, votes: Ballots) -> list[Estimate]:
    """The best trio of one half of the clusters, on that half and on the other, beside the best judge.

    Three judges make one trio, which nothing has chosen: it has no figure that flatters it. A judge that
    never gave a verdict sits on none: with it a trio would be a pair, or one judge alone.
    """
    if len(votes.judges) < SIZE:
        return []
    votes = votes.heard
    if len(votes.judges) < SIZE:
        return [heading.undefined(CHOSEN_JURY_ACCURACY, TOO_FEW_HEARD, "input")]
    split, chosen = halves(votes, heading.seed, SIZE), choose_jury(votes, heading.seed, SIZE, TIE)
    if split is None or chosen is None:
        return [heading.undefined(CHOSEN_JURY_ACCURACY, TOO_FEW_CLUSTERS, "input")]
    seen, unseen = split
    trio, single = chosen.held_out.judges, chosen.best_single.judges
    jury, best = sitting(unseen, trio), sitting(unseen, single)
    here = heading.within(**members(trio))
    flattering = accuracy(here, CHOSEN_JURY_APPARENT, sitting(seen, trio), CHOOSING)
    return [
        *([flattering] if len(votes.judges) > SIZE else []),
        accuracy(here, CHOSEN_JURY_ACCURACY, jury, HELD_OUT),
        *error_rates(here, jury, HELD_OUT),
        accuracy(heading.within(**members(single)), BEST_JUDGE_ACCURACY, best, HELD_OUT),
        _gain(here, unseen, jury.verdict, best.verdict),
    ]


def _gain(heading: Heading, votes: Ballots, jury: Floats, best: Floats) -> Estimate:
    """What the chosen trio adds to the best judge, on inputs that both decided."""
    both = ~np.isnan(jury) & ~np.isnan(best)
    if not both.any():
        return heading.undefined(JURY_GAIN, NO_VERDICTS, "input")
    labels = votes.labels[both]
    differ = (jury[both] == labels).astype(np.float64) - (best[both] == labels)
    mean = ClusterMean.of(votes.cluster[both], differ)
    limits = mean.limits(0.975, DIFFERENCE)
    return heading.estimate(
        JURY_GAIN,
        unit="input",
        value=mean.mean,
        intervals=(Interval("t_cluster", *limits),) if limits else (),
        n_calls=int(both.sum()),
        n_units=int(both.sum()),
        n_clusters=mean.units,
        minimum_detectable=mean.detectable,
        note=join([HELD_OUT, None if limits else NO_DIFFERENCE]),
    )
