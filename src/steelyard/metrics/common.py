"""Metrics that two texts and one have in common."""

from __future__ import annotations

from functools import partial

from steelyard.metrics.basis import CONCLUDED, EVERY_CALL, KNOWN_ANSWER
from steelyard.metrics.metric import HIGH, LOW, Limit, Metric
from steelyard.stimuli.original import BEST_OF_PROBE, NATURAL_PROBE, ORIGINAL

DARK_CURRENT = Metric(
    "dark_current",
    meaning="Calls that name a winner between two equal texts, or give a response without content more than "
    "the lowest score.",
    plain="reacts to nothing",
    limit=Limit(0.10),
    event=lambda columns: columns.reports,
    behind="wrong",
)
ACCURACY = Metric(
    "accuracy",
    meaning="Verdicts equal to the expected one; with a slot: where the better text stood.",
    event=lambda columns: columns.right,
    labelled=True,
    direction=HIGH,
    behind="wrong",
)
AGREEMENT_FLOOR = Limit(0.40, "min", probes=(ORIGINAL, NATURAL_PROBE, BEST_OF_PROBE))
"""Least agreement with labels beyond chance: below it a judge tells little of what they tell."""
WEIGHTED_FLOOR = Limit(0.60, "min", probes=(ORIGINAL,))
"""The same where near misses count little: at .50, four scores in ten may be drawn at random."""
KAPPA = Metric(
    "kappa",
    "Cohen κ",
    "Agreement with the label beyond chance.",
    plain="agrees beyond chance",
    signed=True,
    limit=AGREEMENT_FLOOR,
)
MERIT = Metric(
    "merit",
    meaning="Whether the judge tells good from bad. On pairs: the better text chosen, a tie counted half, "
    "both slots weighed alike; one half is chance. On labelled texts and runs: Youden's J, or rank agreement "
    "on an ordinal scale; on the best of several: agreement beyond chance; zero is chance.",
    plain="tells good from bad",
    direction=HIGH,
    behind="wrong",
    basis=KNOWN_ANSWER,
)
TOLERATED_LOSSES = Limit(0.02, probes=("run",))
_lost = partial(Metric, detail=True, direction=LOW, limit=TOLERATED_LOSSES, basis=EVERY_CALL)
UNREADABLE_RATE = _lost(
    "unreadable_rate",
    "unreadable",
    "Calls whose reply could not be read as a verdict; never counted as a score.",
    behind="unreadable",
)
ABSTENTION_RATE = Metric(
    "abstention_rate",
    "abstained",
    "Calls that ended in a valid refusal to answer; reported where two judges are compared.",
    detail=True,
    basis=EVERY_CALL,
)
FAILED_RATE = _lost(
    "failed_rate",
    "failed",
    "Calls that returned no reply after retries; never counted as a score.",
    behind="failed",
)
CONTRADICTION_RATE = Metric(
    "contradiction_rate",
    "contradicts its reason",
    "Of the calls whose reason names an answer in its last sentence: those that give another answer.",
    limit=Limit(0.05, probes=("run",)),
    behind="contradiction",
    basis=CONCLUDED,
)
