"""Vacuum: preferences where there is nothing to prefer."""

from __future__ import annotations

import numpy as np

from steelyard.metrics.common import DARK_CURRENT
from steelyard.metrics.estimate import Estimate
from steelyard.metrics.estimate_context import EstimateContext
from steelyard.metrics.pairs.columns import Pairs
from steelyard.metrics.pairs.counting import share_of_calls
from steelyard.metrics.pairs.missing import missing_rates
from steelyard.metrics.proportions import proportion


def dark_current(context: EstimateContext, pairs: Pairs) -> Estimate:
    """Vacuum calls that were neither a tie nor a valid abstention, among all with a verdict."""
    return proportion(context, DARK_CURRENT, share_of_calls(pairs, DARK_CURRENT))


def dark_currents(context: EstimateContext, pairs: Pairs) -> list[Estimate]:
    """Pooled, then per kind: a pooled 2/3 can be three constants."""
    kinds = [str(kind) for kind in np.unique(pairs.kind)]
    by_kind = [
        dark_current(context.for_subgroup(kind=kind), pairs.where(pairs.kind == kind)) for kind in kinds
    ]
    return [dark_current(context, pairs), *by_kind]


def vacuum_estimates(context: EstimateContext, pairs: Pairs) -> list[Estimate]:
    """Dark current, pooled and per kind, and the rates of calls without a verdict."""
    return [*dark_currents(context, pairs), *missing_rates(context, pairs)]
