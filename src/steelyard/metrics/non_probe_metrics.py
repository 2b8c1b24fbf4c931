"""Metrics that belong to no probe: of the joint fit, of a whole run, of remedies, of several judges."""

from __future__ import annotations

from steelyard.metrics.common import ABSTENTION_RATE, CONTRADICTION_RATE, MERIT
from steelyard.metrics.comparison.against_baselines import METRICS as OF_GAINS
from steelyard.metrics.instrument.estimates import INSTRUMENT
from steelyard.metrics.instrument.resolution_ratio import RESOLUTION_RATIO
from steelyard.metrics.metric import Metric
from steelyard.metrics.pairs.areas import AREA_MERIT
from steelyard.metrics.panel.juries import ERROR_METRICS as OF_JURY_ERRORS
from steelyard.metrics.panel.juries import METRICS as OF_JURIES
from steelyard.metrics.panel.panel_metrics import ERROR_CORRELATION
from steelyard.metrics.panel.panel_metrics import METRICS as OVER_JUDGES
from steelyard.metrics.remedies.mitigations import COST_PER_VERDICT
from steelyard.metrics.remedies.targets import HALF_TIES
from steelyard.metrics.run.agent_runs import METRICS as OF_AGENTS
from steelyard.metrics.run.confidence import METRICS as OF_CONFIDENCE
from steelyard.metrics.run.cost import PER_PROBE as OF_COST
from steelyard.metrics.run.cost import RUN_METRICS as OF_RUN_COST
from steelyard.metrics.run.losses import METRICS as OF_LOSSES
from steelyard.metrics.run.strata import METRICS as OF_STRATA
from steelyard.metrics.run.unchanged import METRICS as OF_UNCHANGED
from steelyard.metrics.run.volatility import METRICS as OF_VOLATILITY

NON_PROBE_METRICS: tuple[Metric, ...] = (
    *(*INSTRUMENT, RESOLUTION_RATIO),
    *(MERIT, AREA_MERIT, *OF_UNCHANGED, *OF_GAINS, *OF_STRATA, *OF_AGENTS),
    *(*OF_LOSSES, ABSTENTION_RATE, CONTRADICTION_RATE, *OF_CONFIDENCE),
    *(*OF_COST, *OF_RUN_COST, COST_PER_VERDICT, HALF_TIES, *OF_VOLATILITY),
    *(*OVER_JUDGES, *OF_JURIES, *OF_JURY_ERRORS, ERROR_CORRELATION),
)
