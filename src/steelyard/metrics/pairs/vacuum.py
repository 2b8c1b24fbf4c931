"""Every figure of the vacuum probe."""

from __future__ import annotations

from steelyard.metrics.estimate import Estimate
from steelyard.metrics.heading import Heading
from steelyard.metrics.pairs.columns import Pairs
from steelyard.metrics.pairs.dark_current import dark_currents
from steelyard.metrics.pairs.missing import missing_rates


def vacuum_estimates(heading: Heading, pairs: Pairs) -> list[Estimate]:
    """Dark current, pooled and per kind, and the rates of calls without a verdict."""
    return [*dark_currents(heading, pairs), *missing_rates(heading, pairs)]
