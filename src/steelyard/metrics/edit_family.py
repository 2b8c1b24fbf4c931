"""The edits of a judge as one family of tests: each asks whether a change that should not matter does."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from steelyard.metrics.estimate import Estimate
from steelyard.metrics.findings import FLAGGED, UNDERPOWERED
from steelyard.metrics.proportion import join
from steelyard.metrics.tested import Tested, family_of

TESTED = "excess_flip"


def read_edits_together(estimates: Sequence[Estimate]) -> list[Estimate]:
    """One judge's figures, those of its edits flagged only where Holm over all edits lets them be."""
    tests = {str(n): e.p for n, e in enumerate(estimates) if e.metric == TESTED and e.p is not None}
    family = family_of(tests)
    return [
        _read(estimate, family[str(n)]) if str(n) in family else estimate
        for n, estimate in enumerate(estimates)
    ]


def _read(estimate: Estimate, test: Tested) -> Estimate:
    word = UNDERPOWERED if estimate.finding == FLAGGED and not test.shown else estimate.finding
    note = join([estimate.note, test.told("edits")])
    return replace(estimate, finding=word, p_corrected=test.corrected, note=note)
