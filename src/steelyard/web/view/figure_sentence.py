"""What a list of calls says of the figure that it stands behind."""

from __future__ import annotations

from steelyard.core.text import plural, pluralize
from steelyard.datasheet.words import numbers
from steelyard.datasheet.words.glossary import metric_named, probe_title
from steelyard.datasheet.words.text import capital
from steelyard.metrics.estimate import Estimate


def figure_sentence(figure: Estimate, behind: int) -> tuple[str, str]:
    """Name of a figure, and its value with how many of the calls behind it are listed."""
    place = f"of {figure.judge}, {probe_title(figure.probe)} ({numbers.condition(figure.group)})"
    if not numbers.defined(figure):
        value = f"{numbers.value(figure)}, {numbers.reason(figure)}"
    else:
        counts = numbers.counts(figure)
        value = f"{numbers.value(figure)} {numbers.interval(figure)}{', ' if counts else ''}{counts}"
    return capital(metric_named(figure.metric).name), f"{place}: {value}. {_listed(figure, behind)}"


def _listed(figure: Estimate, behind: int) -> str:
    if figure.n_calls == behind:
        return f"Counted from {pluralize(behind, 'call')}, listed here."
    if figure.unit == "input":
        inputs = pluralize(figure.denominator or figure.n_calls, "input")
        return f"Counted from {inputs} that several judges answered; their calls are among those listed."
    if figure.n_calls:
        return (
            f"Counted from {pluralize(figure.n_calls, 'call')}; its probe and condition name "
            f"{pluralize(behind, 'call')}, and which of them count is not told."
        )
    return f"No call counts; {pluralize(behind, 'call')} {plural(behind, 'was', 'were')} made for it."
