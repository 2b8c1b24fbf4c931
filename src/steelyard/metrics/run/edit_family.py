"""Tests of one judge as a family: its edits, of which none should matter, its protocols against base, …"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import replace

from steelyard.metrics.estimate import Estimate
from steelyard.metrics.findings import FLAGGED, INCONCLUSIVE
from steelyard.metrics.metric import Metric
from steelyard.metrics.proportions import join
from steelyard.metrics.scores.invariance import EXCESS_FLIP
from steelyard.metrics.tested import Tested, family_of

TESTED = EXCESS_FLIP
"""The test of an edit."""


def read_together(estimates: Sequence[Estimate], metric: Metric, members: str) -> list[Estimate]:
    """One judge's figures, all tests of a metric one family: flagged only where Holm lets them be."""
    return _together(estimates, [metric.id], members)


def read_as_family(estimates: Sequence[Estimate], members: str) -> list[Estimate]:
    """The same of figures whose tests are one family whatever they are of."""
    return _together(estimates, [e.metric for e in estimates], members)


def _together(estimates: Sequence[Estimate], metrics: Collection[str], members: str) -> list[Estimate]:
    tests = {str(n): e.p for n, e in enumerate(estimates) if e.metric in metrics and e.p is not None}
    family = family_of(tests)
    return [
        _read(estimate, family[str(n)], members) if str(n) in family else estimate
        for n, estimate in enumerate(estimates)
    ]


def _read(estimate: Estimate, test: Tested, members: str) -> Estimate:
    word = INCONCLUSIVE if estimate.finding == FLAGGED and not test.shown else estimate.finding
    note = join([estimate.note, test.told(members)])
    return replace(estimate, finding=word, p_corrected=test.corrected, note=note)
