"""How much more data would decide, in words: what is missing are tasks or rows, seldom calls."""

from __future__ import annotations

from steelyard.metrics.estimate import Estimate
from steelyard.wording import counted

CHANCE = "would decide in four runs of five, if the share stays"


def more_data(estimate: Estimate, calls: int) -> str:
    """`about 6 more tasks (72 calls) would decide in four runs of five, if the share stays`.

    Rates over the whole run are of calls, whatever they show.
    """
    clusters, made = estimate.n_clusters, estimate.n_calls
    if clusters < 2 or not made or estimate.probe == "run":
        return f"about {counted(_rounded(calls), 'more call')} of this design {CHANCE}"
    count = _rounded(-(-calls * clusters // made))
    return f"about {counted(count, f'more {_noun(estimate)}')} ({counted(_rounded(calls), 'call')}) {CHANCE}"


def _noun(estimate: Estimate) -> str:
    """A task where it holds several pairs or items, or is built in; else a row of the user's data."""
    if estimate.probe in BUILT_IN or estimate.n_units > estimate.n_clusters:
        return "task"
    return "labelled row" if estimate.metric in LABELLED else "row"


BUILT_IN = ("vacuum", "ladder", "criterion")
"""Probes whose pairs are made of the catalogue's tasks, one or several of each."""
LABELLED = (
    *("accuracy", "accuracy_both", "balanced_accuracy", "false_positive_rate", "false_negative_rate"),
    *("within_one", "kappa", "gwet_ac1", "mae", "bias", "ccc", "pearson", "spearman", "qwk"),
)
"""Metrics that need rows with a reference."""


def _rounded(count: int) -> int:
    """Two digits, rounded up: a plan is no more exact."""
    unit: int = 10 ** max(0, len(str(count)) - 2)
    return -(-count // unit) * unit
