"""Verbosity, padded: does the verdict stay when the same is said in more words, and nothing is explained?"""

from __future__ import annotations

from steelyard.probes.written import Written


class VerbosityPadding(Written):
    """Every item in more words that add nothing."""

    name = "verbosity_padding"
    title = "Padded"
    question = "Does the judge keep its verdict when the response is padded with words that add nothing?"
