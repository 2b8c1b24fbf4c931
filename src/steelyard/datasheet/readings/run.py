"""Sentences over all probes of a judge: how far its accuracy moves, and what it costs."""

from __future__ import annotations

from steelyard.datasheet.look_up import Figures
from steelyard.datasheet.readings.answer import Answer, unanswered
from steelyard.datasheet.readings.constant import says_nothing
from steelyard.datasheet.words.glossary import probe_title
from steelyard.datasheet.words.numbers import defined, figure, value
from steelyard.metrics.estimate import Estimate
from steelyard.metrics.run.cost import COST_PER_CALL
from steelyard.metrics.run.run_cost import COST_PER_POINT_MEAN, COST_PER_POINT_POOLED


def volatility(figures: Figures) -> Answer | None:
    """Accuracy from probe to probe, and how much of its spread sampling explains; nothing for one probe."""
    found = [
        figures.of_probe("volatility", f"accuracy_{name}", protocol="base")
        for name in ("mean", "min", "max", "sd", "sd_sampling")
    ]
    known = [estimate for estimate in found if defined(estimate)]
    if len(known) < len(found):
        return None
    if nothing := says_nothing(figures, "so its accuracy follows the labels of each probe"):
        return nothing
    mean, least, most, spread, sampling = known
    return "measured", (
        f"right in {figure(mean)} of calls in the mean over probes, from {value(least)} ({_probe(least)}) to "
        f"{value(most)} ({_probe(most)}); spread {value(spread)}, where sampling alone would give "
        f"{value(sampling)}"
    )


def cost(figures: Figures) -> Answer | None:
    """Dollars per call and per point; nothing for a judge that costs nothing."""
    call = figures.of_probe("cost", COST_PER_CALL.id, protocol="base")
    if call is None or call.value == 0:
        return None
    if not defined(call):
        return unanswered(call)
    mean = figures.of_probe("cost", COST_PER_POINT_MEAN.id, protocol="base")
    pooled = figures.of_probe("cost", COST_PER_POINT_POOLED.id, protocol="base")
    per_point = ""
    if defined(mean):
        per_point = f", {value(mean)} per point of accuracy in the mean over probes"
    elif defined(pooled):
        per_point = f", {value(pooled)} for all probes per point of their mean accuracy"
    return "measured", f"{value(call)} per call{per_point}"


def _probe(estimate: Estimate) -> str:
    return probe_title((estimate.note or "").removeprefix("probe ")).lower()
