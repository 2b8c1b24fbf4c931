"""Verbosity, long: does the verdict stay when the same is said at greater length?"""

from __future__ import annotations

from steelyard.probes.written import Written


class VerbosityBiasLong(Written):
    """Every item at greater length."""

    name = "verbosity_bias_long"
    question = "Does the judge keep its verdict when the response says the same in more words?"
