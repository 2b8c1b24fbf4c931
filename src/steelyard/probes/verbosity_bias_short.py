"""Verbosity, short: does the verdict stay when the same is said in fewer words?"""

from __future__ import annotations

from steelyard.probes.written import Written


class VerbosityBiasShort(Written):
    """Every item in fewer words."""

    name = "verbosity_bias_short"
    title = "Shorter"
    question = "Does the judge keep its verdict when the response says the same in fewer words?"
