"""Semantic paraphrase: does the verdict stay when only the words change?"""

from __future__ import annotations

from steelyard.probes.written import Written


class SemanticParaphrase(Written):
    """Every item in other words."""

    name = "semantic_paraphrase"
    title = "Paraphrase"
    question = "Does the judge keep its verdict when the response says the same in other words?"
