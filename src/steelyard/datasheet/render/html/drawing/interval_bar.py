"""A rate and its interval as a tiny drawing for a table cell."""

from __future__ import annotations

from markupsafe import Markup

from steelyard.datasheet.render.html.drawing.figure import limits
from steelyard.datasheet.words.glossary import metric_named
from steelyard.metrics.estimate import Estimate


def interval_bar(estimate: Estimate) -> Markup:
    """A track from 0 to 1 with the interval and the point on it; nothing for a figure that is no rate."""
    at = estimate.value
    if at is None or estimate.numerator is None or metric_named(estimate.metric).signed or not 0 <= at <= 1:
        return Markup("")
    low, high = (min(1.0, max(0.0, end)) for end in limits(estimate))
    return Markup(
        '<svg class="bar" viewBox="-3 0 106 8" aria-hidden="true" focusable="false">'
        '<path class="track" d="M0 4H100"/><path class="span" d="M{:.1f} 4H{:.1f}"/>'
        '<circle cx="{:.1f}" cy="4" r="3"/></svg>'
    ).format(100 * low, 100 * high, 100 * at)
