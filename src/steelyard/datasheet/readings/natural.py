"""Pairs as they are found, in sentences."""

from __future__ import annotations

from steelyard.datasheet.look_up import Figures
from steelyard.datasheet.readings.answer import Answer, unanswered
from steelyard.datasheet.readings.more_data import more_calls
from steelyard.datasheet.words.numbers import abstentions, figure, times
from steelyard.metrics.pairs.natural import FLIP_FIRST, FLIP_SECOND, ORDER_CONSISTENCY
from steelyard.metrics.pairs.slot import NET_SLOT_PREFERENCE


def natural(figures: Figures, protocol: str = "base") -> Answer | None:
    """Whether the same text wins in both orders."""
    stays = figures.find(ORDER_CONSISTENCY.id, protocol=protocol)
    net = figures.find(NET_SLOT_PREFERENCE.id, protocol=protocol)
    if stays is None or net is None or stays.value is None:
        return unanswered(stays)
    flips = [figures.find(metric, protocol=protocol) for metric in (FLIP_FIRST.id, FLIP_SECOND.id)]
    directions = ", ".join(
        f"to slot {n} in {e.numerator}" for n, e in enumerate(flips, start=1) if e is not None
    )
    return (
        net.finding or "measured",
        f"names the same text in both orders for {times(stays, 'natural pair')}, "
        f"{figure(stays)}; flips {directions}; net slot-1 preference {figure(net)}{abstentions(stays)}"
        f"{more_calls(net)}",
    )
