"""A probe may show fewer items than its study has: `{label_flip: {sample: 10}}`."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, TypeAlias

from pydantic import ValidationError

from steelyard.errors import ConfigError
from steelyard.probes.probe import Design
from steelyard.tasks.item import Item
from steelyard.tasks.sources.items import drawn
from steelyard.tasks.sources.sampling import PerStratum, Sample

GivenSample: TypeAlias = int | Mapping[str, Any] | None
"""How many items to show, as a study file has it: in all, `{per_stratum: N}`, or all of the study's."""


def checked_sample(probe: str, given: GivenSample) -> Sample | None:
    """The sample of a probe, or what is wrong with it in one sentence."""
    if given is None or (isinstance(given, int) and not isinstance(given, bool) and given > 0):
        return given
    try:
        return PerStratum.model_validate(given)
    except ValidationError:
        raise ConfigError(
            f"probe {probe!r}: sample is {given!r}, expected a number from 1 on or {{per_stratum: N}}."
        ) from None


def shown_items(design: Design, sample: Sample | None) -> tuple[Item, ...]:
    """The items that a probe shows: a draw with the study's seed, so that a larger sample holds a smaller."""
    return drawn(design.items, sample, design.seed)
