"""Juries of the judges of a run, and how far their errors go together, as estimates."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from itertools import combinations

import numpy as np

from steelyard.metrics.ballots import ballots
from steelyard.metrics.cluster_mean import mean_by_unit
from steelyard.metrics.clusters import ratio
from steelyard.metrics.dawid_skene import dawid_skene
from steelyard.metrics.estimate import Estimate, Interval
from steelyard.metrics.heading import NO_VERDICTS, Heading
from steelyard.metrics.jury import Ballots, choose_jury, halves, jury_verdict
from steelyard.metrics.over_judges import PANEL, members
from steelyard.metrics.pairs import Floats, Ints
from steelyard.metrics.proportion import ONE_TASK, join, proportion
from steelyard.metrics.resampled import interval
from steelyard.metrics.score_shares import unit_sums
from steelyard.metrics.scores import Scores
from steelyard.metrics.tally import Tally

PROBE = "jury"
SIZE = 3
TIE = "low"
TIES = "a tied vote goes to the lower answer"
WITHOUT_LABELS = "weighs judges by their agreement alone, without labels"
CHOOSING = "on the half of the tasks that chose it: flattering"
HELD_OUT = "on the half of the tasks that did not choose it"
TOO_FEW_TASKS = "one task cannot be halved: a jury would be reported where it was chosen"
NO_DIFFERENCE = "tasks show no spread: no interval"
NEVER_VARIES = "one of the two judges is always right or always wrong"


def jury_estimates(scores: Mapping[str, Scores], seed: int) -> list[Estimate]:
    """Figures of the judges' labelled inputs under the base protocol; nothing for fewer than two judges."""
    votes = ballots(scores, TIE)
    votes = votes.where(~np.isnan(votes.labels))
    if len(votes.judges) < 2 or not len(votes.votes):
        return []
    heading = Heading(PANEL, PROBE, {"protocol": "base"}, seed)
    return [
        _share(heading, "jury_accuracy", votes, votes.judges, jury_verdict(votes, votes.judges, TIE), TIES),
        _share(
            heading.within(rule="dawid_skene"),
            "jury_accuracy",
            votes,
            votes.judges,
            _weighted(votes),
            WITHOUT_LABELS,
        ),
        *_trios(heading, votes),
        *_chosen(heading, votes),
        *_correlations(heading, votes),
    ]


def _share(
    heading: Heading, metric: str, votes: Ballots, jury: Sequence[str], verdict: Floats, note: str
) -> Estimate:
    """Inputs whose verdict is the label. One without a verdict is left to the bounds; lost votes are told."""
    scored = ~np.isnan(verdict)
    columns = [votes.judges.index(name) for name in jury]
    lost = int(np.isnan(votes.votes[:, columns]).any(axis=1).sum())
    right = scored & (verdict == votes.labels)
    units = np.unique(votes.cluster, return_inverse=True)[1]
    trials = unit_sums(units, scored)
    kept = trials > 0
    count = int(scored.sum())
    tally = Tally(unit_sums(units, right)[kept], trials[kept], n_calls=count, n_units=count)
    inputs, decided = len(verdict), int(right.sum())
    bounds = (decided / inputs, (decided + inputs - count) / inputs)
    told = f"{lost} of {inputs} inputs lack the vote of a member" if lost else None
    return proportion(heading, metric, tally, unit="input", bounds=bounds, notes=filter(None, [note, told]))


def _weighted(votes: Ballots) -> Floats:
    """Dawid and Skene's verdicts, each scale alone: a judge may be sharp on one and dull on another."""
    verdict = np.full(len(votes.votes), np.nan)
    for scale in np.unique(votes.scale):
        mask = votes.scale == scale
        fitted = dawid_skene(votes.votes[mask])
        if fitted is not None:
            verdict[mask] = fitted.verdict
    return verdict


def _trios(heading: Heading, votes: Ballots) -> Iterator[Estimate]:
    """Every jury of three on all inputs, by name."""
    for trio in combinations(votes.judges, SIZE):
        here = heading.within(**members(trio))
        yield _share(here, "jury_accuracy", votes, trio, jury_verdict(votes, trio, TIE), TIES)


def _chosen(heading: Heading, votes: Ballots) -> list[Estimate]:
    """The best trio of one half of the tasks, on that half and on the other, beside the best judge.

    Three judges make one trio, which nothing has chosen: it has no figure that flatters it.
    """
    if len(votes.judges) < SIZE:
        return []
    split, chosen = halves(votes, heading.seed, SIZE), choose_jury(votes, heading.seed, SIZE, TIE)
    if split is None or chosen is None:
        return [heading.undefined("chosen_jury_accuracy", TOO_FEW_TASKS, "input")]
    seen, unseen = split
    trio, single = chosen.held_out.judges, chosen.best_single.judges
    jury, best = jury_verdict(unseen, trio, TIE), jury_verdict(unseen, single, TIE)
    here = heading.within(**members(trio))
    flattering = _share(here, "chosen_jury_apparent", seen, trio, jury_verdict(seen, trio, TIE), CHOOSING)
    return [
        *([flattering] if len(votes.judges) > SIZE else []),
        _share(here, "chosen_jury_accuracy", unseen, trio, jury, HELD_OUT),
        _share(heading.within(**members(single)), "best_judge_accuracy", unseen, single, best, HELD_OUT),
        _gain(here, unseen, jury, best),
    ]


def _gain(heading: Heading, votes: Ballots, jury: Floats, best: Floats) -> Estimate:
    """What the chosen trio adds to the best judge, on inputs that both decided."""
    both = ~np.isnan(jury) & ~np.isnan(best)
    if not both.any():
        return heading.undefined("jury_gain", NO_VERDICTS, "input")
    labels = votes.labels[both]
    differ = (jury[both] == labels).astype(np.float64) - (best[both] == labels)
    mean = mean_by_unit(votes.cluster[both], differ)
    limits = mean.limits(0.975)
    return heading.estimate(
        "jury_gain",
        unit="input",
        value=mean.mean,
        intervals=(Interval("t_cluster", max(-1.0, limits[0]), min(1.0, limits[1])),) if limits else (),
        n_calls=int(both.sum()),
        n_units=int(both.sum()),
        n_clusters=len(mean.sums),
        minimum_detectable=mean.detectable(),
        note=join([HELD_OUT, None if limits else NO_DIFFERENCE]),
    )


def _correlations(heading: Heading, votes: Ballots) -> Iterator[Estimate]:
    """Correlation of errors of every two judges."""
    wrong = np.where(np.isnan(votes.votes), np.nan, votes.votes != votes.labels[:, None])
    for first, second in combinations(range(len(votes.judges)), 2):
        here = heading.within(**members((votes.judges[first], votes.judges[second])))
        both = ~np.isnan(wrong[:, first]) & ~np.isnan(wrong[:, second])
        yield _correlation(here, wrong[both][:, [first, second]], votes.cluster[both])


def _correlation(heading: Heading, wrong: Floats, cluster: Ints) -> Estimate:
    """φ of two columns of errors; inputs without a verdict of both are left out."""
    units = np.unique(cluster, return_inverse=True)[1]
    columns = np.column_stack([np.ones(len(wrong)), wrong, wrong.prod(-1)])
    table = np.zeros((int(units.max()) + 1 if len(units) else 0, columns.shape[1]))
    np.add.at(table, units, columns)
    value = float(_phi(table.sum(0)))
    if not np.isfinite(value):
        reason = NEVER_VARIES if len(wrong) else NO_VERDICTS
        return heading.undefined("error_correlation", reason, "input")
    limits, remark = interval(table, _phi, heading.bootstrap_seed("error_correlation"))
    return heading.estimate(
        "error_correlation",
        unit="input",
        value=value,
        intervals=(Interval("bootstrap_cluster", *limits),) if limits else (),
        n_calls=2 * len(wrong),
        n_units=len(wrong),
        n_clusters=len(table),
        note=join([remark, ONE_TASK if len(table) < 2 else None]),
    )


def _phi(sums: Floats) -> Floats:
    """(n·Σxy − Σx·Σy) / √(Σx(n − Σx)·Σy(n − Σy)): the correlation of two columns of 0 and 1."""
    n, x, y, both = (sums[..., column] for column in range(4))
    spread = x * (n - x) * y * (n - y)
    return ratio(n * both - x * y, np.sqrt(np.maximum(spread, 0.0)))
