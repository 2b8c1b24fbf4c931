"""Verbosity, long: does the verdict stay when the same is said at greater length, with more explanation?"""

from __future__ import annotations

from steelyard.probes.written import Written


class VerbosityBiasLong(Written):
    """Every item expanded with explanation of what it says."""

    name = "verbosity_bias_long"
    title = "Longer"
    question = "Does the judge keep its verdict when the response explains at greater length what it says?"
    needs = "items of your own and an author, for the built-in pack is padded only (verbosity_padding)"
