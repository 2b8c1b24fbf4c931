"""Metrics that two texts and one have in common."""

from __future__ import annotations

from steelyard.metrics.metric import HIGH, LOW, Limit, Metric

DARK_CURRENT = Metric(
    "dark_current",
    "dark current",
    "Calls that name a winner between two equal texts, or give a response without content more than "
    "the lowest score.",
    limit=Limit(0.10),
    event=lambda columns: columns.reports,
)
ACCURACY = Metric(
    "accuracy",
    "accuracy",
    "Verdicts equal to the expected one; with a slot: where the better text stood.",
    event=lambda columns: columns.right,
    labelled=True,
    direction=HIGH,
)
UNREADABLE_RATE = Metric(
    "unreadable_rate",
    "unreadable",
    "Calls whose reply could not be read as a verdict; never counted as a score.",
    detail=True,
    direction=LOW,
)
FAILED_RATE = Metric(
    "failed_rate",
    "failed",
    "Calls that returned no reply after retries; never counted as a score.",
    detail=True,
    direction=LOW,
)
