"""Titles of readings: what a sentence, a verdict, a remedy and an exhibit are filed under."""

from __future__ import annotations

MERIT = "Merit"
DARK_CURRENT = "Dark current"
NO_TIES = "No ties"
"""A cause, not a reading: a judge that never answers tie is flagged under Dark current."""
POSITION = "Position"
NOISE = "Noise"
SURFACE = "Surface"
SENSITIVITY = "Sensitivity"
THRESHOLD = "Threshold"
CRITERION = "Criterion"
INSTRUMENT = "Instrument"
RESOLUTION = "Resolution"
NATURAL_PAIRS = "Natural pairs"
ACCURACY = "Accuracy"
LENIENCY = "Leniency"
LENGTH = "Length"
CUES = "Cues"
"""What outweighs quality."""
STRATA = "Strata"
RUNS = "Runs"
ROBUSTNESS = "Robustness"
REPEATABILITY = "Repeatability"
VOLATILITY = "Volatility"
COST = "Cost"
FAILURES = "Failures"


def under(title: str, protocol: str) -> str:
    """The title of what holds under a protocol other than base."""
    return f"{title}, {protocol}"
