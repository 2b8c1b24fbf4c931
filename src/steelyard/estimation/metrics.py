"""What `estimate` reports, declared like every other metric, so that a policy of `gate` can limit it."""

from __future__ import annotations

from steelyard.metrics.metric import HIGH, Metric

CORRECTED_PASS_RATE = Metric(
    "corrected_pass_rate",
    "corrected pass rate",
    "Share of items that people would pass, estimated from the judge and people's labels (`steelyard "
    "estimate`).",
    plain="what people would pass",
    unit="item",
    direction=HIGH,
)
CORRECTED_SCORE = Metric(
    "corrected_score",
    "corrected score",
    "Mean score that people would give, estimated from the judge and people's labels (`steelyard estimate`).",
    unit="item",
    direction=HIGH,
)
METRICS = (CORRECTED_PASS_RATE, CORRECTED_SCORE)
