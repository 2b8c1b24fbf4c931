"""A probe may show fewer items than its study has: `{label_flip: {sample: 10}}`."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, TypeAlias

from pydantic import BaseModel, ConfigDict

from steelyard.core.validation import checked
from steelyard.probes.probe import Design
from steelyard.tasks.item import Item
from steelyard.tasks.sources.items import draw_items
from steelyard.tasks.sources.sampling import Sample, SampleField

GivenSample: TypeAlias = int | Mapping[str, Any] | None
"""How many items to show, as a study file has it: in all, `{per_stratum: N}`, or all of the study's."""


class _Options(BaseModel):
    model_config = ConfigDict(strict=True)

    sample: SampleField = None


def parse_sample(probe: str, given: GivenSample) -> Sample | None:
    return checked(_Options, {"sample": given}, f"probe {probe!r}").sample


def sample_items(design: Design, sample: Sample | None) -> tuple[Item, ...]:
    """The items that a probe shows: a draw with the study's seed, so that a larger sample holds a smaller."""
    return draw_items(design.items, sample, design.seed)
