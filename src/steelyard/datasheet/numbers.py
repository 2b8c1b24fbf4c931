"""Numbers as text: rates, intervals, limits, counts and the reasons for undefined figures."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping
from typing import TypeGuard

from steelyard.core.text import plural, pluralize
from steelyard.datasheet.glossary import KINDS, metric_named, probe_label
from steelyard.metrics.estimate import Estimate, Interval
from steelyard.metrics.metric import ShownAs
from steelyard.stimuli.original import ORIGINAL

NOT_MEASURED = "not measured"

_MINUS = "−"
_NOTHING = 1e-12
"""What a number may lie off zero by rounding alone."""
_LIMITS = {"left": "≤ ", "right": "> "}


def decimal(value: float, *, signed: bool = False, edges: Iterable[float] = ()) -> str:
    """Two decimals, and more where two would turn the figure into 0, 1 or an edge that it is not."""
    if math.isinf(value):
        return "∞" if value > 0 else _MINUS + "∞"
    size, ends = abs(value), [abs(edge) for edge in (0.0, 1.0, *edges) if math.isfinite(edge)]
    digits = next((n for n in (2, 3, 4) if not _rounds_away(size, n, ends)), 4)
    text = f"{size:.{digits}f}"
    if _rounds_away(size, digits):
        text = "<0.0001" if size < 0.5 else ">0.9999"
    if value < 0 and size > _NOTHING:
        return _MINUS + text
    return "+" + text if signed and value > _NOTHING else text


def _rounds_away(size: float, digits: int, ends: Iterable[float] = (0.0, 1.0)) -> bool:
    shown = round(size, digits)
    return any(abs(shown - end) < _NOTHING < abs(size - end) for end in ends)


def steps(value: float) -> str:
    """A quality step or another plain number, without needless zeros."""
    return f"{value:.2f}".rstrip("0").rstrip(".") if not math.isinf(value) else decimal(value)


def steps_apart(step: float) -> str:
    """A distance in quality: `1 step apart`."""
    return f"{steps(step)} {plural(step, 'step')} apart"


def dollars(number: float) -> str:
    """An amount that may be far below a cent: `$0.000012`, `$1.50`."""
    size = abs(number)
    places = 2 if size == 0 or size >= 1 else 1 - math.floor(math.log10(size))
    return f"{_MINUS if number < 0 else ''}${size:.{places}f}"


def value(estimate: Estimate) -> str:
    """The point value: `0.94`, `≤ 1`, `> 5`, `+0.44` or `undefined`."""
    if estimate.value is None or math.isnan(estimate.value):
        return "undefined"
    return _LIMITS.get(estimate.censored or "", "") + spelled(estimate, estimate.value)


def interval(estimate: Estimate, which: Interval | None = None, edges: Iterable[float] = ()) -> str:
    """The recommended interval, or a named one: `[0.86, 0.98]`, `(−∞, 1.4]`, `(no interval)`.

    An end that is not one of the edges is not printed as one.
    """
    chosen, metric = which or estimate.interval, metric_named(estimate.metric)
    if chosen is None:
        return "(no interval)" if metric.estimated else ""
    open_end = "(0" if metric.shown_as is ShownAs.STEPS else "(−∞"
    low = open_end if chosen.low is None else "[" + spelled(estimate, chosen.low, edges)
    high = "∞)" if chosen.high is None else spelled(estimate, chosen.high, edges) + "]"
    return f"{low}, {high}"


def spelled(estimate: Estimate, number: float, edges: Iterable[float] = ()) -> str:
    """A number of the estimate's metric."""
    metric = metric_named(estimate.metric)
    match metric.shown_as:
        case ShownAs.STEPS:
            return steps(number)
        case ShownAs.COUNT:
            return f"{number:g}"
        case ShownAs.TOKENS:
            return f"{number:,.0f}"
        case ShownAs.DOLLARS:
            return dollars(number)
        case ShownAs.DECIMAL:
            return decimal(number, signed=metric.signed, edges=edges)


def reason(estimate: Estimate) -> str:
    return estimate.note or "no reason was recorded"


def undefined(estimate: Estimate) -> bool:
    return estimate.value is None or math.isnan(estimate.value)


def defined(estimate: Estimate | None) -> TypeGuard[Estimate]:
    return estimate is not None and not undefined(estimate)


def figure(estimate: Estimate | None, edges: Iterable[float] = ()) -> str:
    """The whole figure: `0.94 [0.86, 0.98]`, `undefined: reason`, `not measured`; edges as of `interval`."""
    if estimate is None:
        return NOT_MEASURED
    if undefined(estimate):
        return f"undefined: {reason(estimate)}"
    return f"{value(estimate)} {interval(estimate, edges=edges)}".rstrip()


def counts(estimate: Estimate | None) -> str:
    """`94/100`, `−2/16` for a difference, or nothing where the figure is no ratio of counts."""
    if estimate is None or estimate.numerator is None or estimate.denominator is None:
        return ""
    sign = "+" if metric_named(estimate.metric).signed and estimate.numerator > 0 else ""
    return f"{sign}{estimate.numerator}/{estimate.denominator}".replace("-", _MINUS)


def times(estimate: Estimate, noun: str) -> str:
    """`94 of 100 calls`: how often, in a sentence; `52 of 60 rows (5 calls each)` where rows have several."""
    total = estimate.denominator or 0
    calls = f"{estimate.numerator} of {total} {plural(total, noun)}"
    if "row_events" not in estimate.details:
        return calls
    rows = f"of {pluralize(estimate.n_units, 'row')}"
    every, some = estimate.details["row_events"]
    if some:
        return f"{calls} (all on {every} {rows}, some on {some})"
    each, rest = divmod(estimate.n_calls, estimate.n_units)
    calls = f"{pluralize(estimate.n_calls, 'call')} in all" if rest else f"{pluralize(each, 'call')} each"
    return f"{every} {rows} ({calls})"


def abstentions(estimate: Estimate) -> str:
    """`; abstains in 6 of 100 calls`, or nothing."""
    if not estimate.abstained:
        return ""
    return f"; abstains in {estimate.abstained} of {estimate.n_calls} {plural(estimate.n_calls, 'call')}"


def short_basis(estimate: Estimate | None) -> str:
    """`100/50/10 deff 1.1`: calls, pairs, clusters, design effect."""
    if estimate is None:
        return NOT_MEASURED
    return f"{estimate.n_calls}/{estimate.n_units}/{estimate.n_clusters} deff {design_effect(estimate)}"


def design_effect(estimate: Estimate) -> str:
    """The design effect, or a question mark where it cannot be estimated."""
    return "?" if estimate.design_effect is None else f"{estimate.design_effect:.1f}"


def excluded(estimate: Estimate) -> str:
    """`2 unreadable, 1 failed`, or nothing."""
    return ", ".join(f"{count} {name}" for name, count in sorted(estimate.excluded.items()) if count)


def bounds(estimate: Estimate) -> str:
    """`0.90 to 0.97`: worst and best case over the calls without a verdict; nothing where none is missing."""
    if estimate.bounds is None or not excluded(estimate):
        return ""
    return f"{spelled(estimate, estimate.bounds[0])} to {spelled(estimate, estimate.bounds[1])}"


def remarks(estimate: Estimate) -> str:
    """What else belongs to a figure: missing calls, their reach, chance, power, other intervals, the note."""
    parts = [
        excluded(estimate),
        f"bounds {bounds(estimate)}" if bounds(estimate) else "",
        f"chance {decimal(estimate.chance)}" if estimate.chance is not None else "",
        _detectable(estimate),
        f"decided after about {pluralize(estimate.calls_needed, 'call')}, if the value stays"
        if estimate.calls_needed is not None
        else "",
        f"reading {estimate.reading}" if estimate.reading is not None else "",
        *(f"{other.method} {interval(estimate, other)}" for other in estimate.intervals[1:]),
        estimate.note or ("" if not undefined(estimate) else reason(estimate)),
    ]
    return "; ".join(part for part in parts if part)


def _detectable(estimate: Estimate) -> str:
    """The smallest effect that would have shown; a share can not lie further off than its range is wide."""
    least = estimate.minimum_detectable
    if least is None:
        return ""
    limit = metric_named(estimate.metric).limit
    room = max(limit.value, 1 - limit.value) if limit and estimate.denominator is not None else 1.0
    return f"detectable {decimal(least)}" if least <= room else "too few data to detect any effect"


def condition(group: Mapping[str, str | float]) -> str:
    """A group in words: `strict · Δ1 · slot 2`; `all` where everything is pooled."""
    order = ("protocol", "delta", "base_level", "kind", "cue", "slot", "stratum")
    keys = [*(key for key in order if key in group), *sorted(set(group) - set(order))]
    return " · ".join(_condition_word(key, group[key]) for key in keys) or "all"


def _condition_word(key: str, content: str | float) -> str:
    text = content if isinstance(content, str) else steps(content)
    match key:
        case "delta":
            return f"Δ{text}"
        case "kind":
            return KINDS.get(text, text.replace("_", " "))
        case "protocol":
            return text
        case "edit":
            return "as it is" if text == ORIGINAL else probe_label(text)
        case "place":
            return f"edited at the {text}" if text == "end" else f"edited in the {text}"
        case "size":
            return f"edited, {text}"
        case "target":
            return f"written for {text}"
        case _:
            return f"{key.replace('_', ' ')} {text}"
