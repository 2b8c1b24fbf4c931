"""Vacuum: preferences where there is nothing to prefer."""

from __future__ import annotations

import numpy as np

from steelyard.metrics.common import DARK_CURRENT
from steelyard.metrics.estimate import Estimate
from steelyard.metrics.heading import Heading
from steelyard.metrics.pairs.columns import Pairs
from steelyard.metrics.pairs.counting import share_of_calls
from steelyard.metrics.pairs.missing import missing_rates
from steelyard.metrics.proportions import proportion


def dark_current(heading: Heading, pairs: Pairs) -> Estimate:
    """Vacuum calls that were neither a tie nor a valid abstention, among all with a verdict."""
    return proportion(heading, DARK_CURRENT, share_of_calls(pairs, DARK_CURRENT))


def dark_currents(heading: Heading, pairs: Pairs) -> list[Estimate]:
    """Pooled, then per kind: a pooled 2/3 can be three constants."""
    kinds = [str(kind) for kind in np.unique(pairs.kind)]
    by_kind = [dark_current(heading.within(kind=kind), pairs.where(pairs.kind == kind)) for kind in kinds]
    return [dark_current(heading, pairs), *by_kind]


def vacuum_estimates(heading: Heading, pairs: Pairs) -> list[Estimate]:
    """Dark current, pooled and per kind, and the rates of calls without a verdict."""
    return [*dark_currents(heading, pairs), *missing_rates(heading, pairs)]
