"""The chart of missed failures: conditions in the order in which a reader goes through a run."""

from __future__ import annotations

import random

import pytest

from steelyard.datasheet.render.html.charts.interval_charts import condition_order
from steelyard.metrics.estimate import EstimateContext
from steelyard.metrics.run.agent_runs import MISSED_FAILURES, SIZES, THIRDS


@pytest.mark.parametrize(("key", "names"), [("place", THIRDS), ("size", [name for _, name in SIZES])])
def test_places_and_sizes_go_from_the_first_to_the_last(key: str, names: list[str]) -> None:
    heading = EstimateContext.for_protocol("j", "runs", "base", 7)
    parts = [
        heading.for_subgroup(**{key: name}).undefined(MISSED_FAILURES, "none", "call", {}) for name in names
    ]
    shuffled = random.Random(3).sample(parts, len(parts))
    assert [e.group[key] for e in sorted(shuffled, key=condition_order)] == list(names)
