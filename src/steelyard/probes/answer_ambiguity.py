"""Answer ambiguity: what does the judge do at the border of the rubric?"""

from __future__ import annotations

from collections.abc import Iterable

from steelyard.probes.probe import Design
from steelyard.probes.written import Written
from steelyard.stimuli.authored.brief import Brief


class AnswerAmbiguity(Written):
    """Every item rewritten so that a sound judge may go either way: repeats count, not accuracy."""

    name = "answer_ambiguity"
    question = "How steady is the judge on responses that lie at the border of the rubric?"

    def briefs(self, design: Design) -> Iterable[Brief]:
        """A text without a reference for every item."""
        for item in design.items:
            yield Brief(self.name, item, 0, self.name, None)
