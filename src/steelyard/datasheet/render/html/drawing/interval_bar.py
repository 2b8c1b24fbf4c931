"""A rate and its interval as a tiny drawing for a table cell."""

from __future__ import annotations

from markupsafe import Markup

from steelyard.datasheet.render.html.drawing.figure import limits
from steelyard.datasheet.words.glossary import metric_named
from steelyard.metrics.estimate import Estimate


def interval_bar(estimate: Estimate, word: str = "") -> Markup:
    """A track from 0 to 1 with interval, point and limit, in the colour of the figure's word.

    Nothing for a figure that is no rate.
    """
    at, metric = estimate.value, metric_named(estimate.metric)
    if at is None or estimate.numerator is None or metric.signed or not 0 <= at <= 1:
        return Markup("")
    low, high = (min(1.0, max(0.0, end)) for end in limits(estimate))
    limit = metric.limit_in(estimate.group, estimate.probe)
    held = limit is not None and word and 0 <= limit.value <= 1
    edge = Markup('<path class="limit" d="M{:.1f} 0V8"/>').format(100 * limit.value) if limit and held else ""
    return Markup(
        '<svg class="bar {}" viewBox="-3 0 106 8" aria-hidden="true" focusable="false">'
        '<path class="track" d="M0 4H100"/><path class="span" d="M{:.1f} 4H{:.1f}"/>{}'
        '<circle cx="{:.1f}" cy="4" r="3"/></svg>'
    ).format(word, 100 * low, 100 * high, edge, 100 * at)
