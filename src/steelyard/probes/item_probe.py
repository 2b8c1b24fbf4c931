"""What probes on a study's items share; one may show a sample of them: `{label_flip: {sample: 10}}`."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, TypeAlias

from pydantic import BaseModel, ConfigDict

from steelyard.core.validation import checked
from steelyard.metrics.estimate import Estimate
from steelyard.metrics.estimate_context import EstimateContext
from steelyard.metrics.metric import Metric
from steelyard.metrics.scores.probe import METRICS, pointwise_estimates
from steelyard.probes.probe import EDITS, POINTWISE, Design
from steelyard.tasks.item import Item
from steelyard.tasks.sources.items import draw_items
from steelyard.tasks.sources.sampling import SampleField
from steelyard.verdicts.observations import Observations

GivenSample: TypeAlias = int | Mapping[str, Any] | None
"""How many items to show, as a study file has it: in all, `{per_stratum: N}`, or all of the study's."""


class _Options(BaseModel):
    model_config = ConfigDict(strict=True)

    sample: SampleField = None


class ItemProbe:
    """A probe that changes items of the study and compares the verdicts before and after."""

    name: str
    question: str
    metrics: tuple[Metric, ...] = METRICS
    section = EDITS
    keeps_label = True
    forms: tuple[str, ...] = (POINTWISE,)

    def __init__(self, sample: GivenSample = None) -> None:
        self.sample = checked(_Options, {"sample": sample}, f"probe {self.name!r}").sample

    def items(self, design: Design) -> tuple[Item, ...]:
        """A draw with the study's seed, so that a larger sample holds a smaller."""
        return draw_items(design.items, self.sample, design.seed)

    def estimates(self, judge: str, observations: Observations, seed: int) -> list[Estimate]:
        context = EstimateContext.for_protocol(judge, self.name, "base", seed)
        return pointwise_estimates(context, observations, keep_label=self.keeps_label)
