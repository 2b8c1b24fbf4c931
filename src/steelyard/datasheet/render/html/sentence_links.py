"""Numbers in the sentence of a reading as links to the calls behind them, where a viewer shows calls."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping

from markupsafe import Markup, escape

from steelyard.datasheet.datasheet import Datasheet
from steelyard.datasheet.words import numbers, titles
from steelyard.metrics.estimate import Estimate
from steelyard.stimuli.best_of import BEST_OF_PROBE
from steelyard.stimuli.natural import NATURAL_PROBE
from steelyard.stimuli.original import ORIGINAL

METRICS: Mapping[str, str] = {
    titles.MERIT: "merit",
    titles.DARK_CURRENT: "dark_current",
    titles.NO_TIES: "dark_current",
    titles.POSITION: "net_slot_preference positional_false_preference",
    titles.NOISE: "repeat_flip_rate swap_flip_rate flip_excess raw_false_preference",
    titles.SURFACE: "stable_cross_sensitivity",
    titles.SENSITIVITY: "target_sensitivity miss_by_tie",
    titles.THRESHOLD: "delta75",
    titles.CRITERION: "criterion_shift sensitivity_shift",
    titles.INSTRUMENT: "resolution position_bias tie_threshold surface_sensitivity lapse_rate "
    "limit_of_detection",
    titles.RESOLUTION: "resolution_ratio",
    titles.NATURAL_PAIRS: "order_consistency net_slot_preference flip_first flip_second tie_rate",
    titles.ROTATION: "slot_preference rotation_consistency rotation_vote_accuracy",
    titles.ACCURACY: "accuracy kappa qwk mae accuracy_gain error_gain balanced_accuracy",
    titles.EXPECTED: "followed level_agreement",
    titles.LENIENCY: "leniency false_positive_rate false_negative_rate bias share_above share_below",
    titles.LENGTH: "length_lean length_gap longer_chosen padded_preference",
    titles.STRATA: "accuracy",
    titles.VOLATILITY: "accuracy_mean accuracy_change",
    titles.RUNS: "missed_failure_rate false_alarm_rate",
    titles.ROBUSTNESS: "excess_flip invariance",
    titles.REPEATABILITY: "self_agreement icc repeat_flip_rate",
    titles.FAILURES: "unreadable_rate failed_rate",
}
"""Title of a reading to the metrics that its sentence quotes."""
AS_THEY_ARE = (ORIGINAL, NATURAL_PROBE, BEST_OF_PROBE)
"""Probes whose figures a sentence means where edits have the same."""


def link_numbers(
    sheet: Datasheet, judge: str, title: str, sentence: str, calls_of: Callable[[Estimate], str] | None
) -> Markup:
    """The sentence, each quoted figure or count a link; a number that no figure has stays text."""
    quoted = {} if calls_of is None else _quoted(sheet, judge, title)
    if calls_of is None or not quoted:
        return escape(sentence)
    longest_first = sorted(quoted, key=len, reverse=True)
    pattern = re.compile(r"(?<![\d.,+−/])(?:" + "|".join(map(re.escape, longest_first)) + r")(?![\d/])")
    parts, end = [], 0
    for found in pattern.finditer(sentence):
        address = calls_of(quoted[found[0]])
        parts += [
            escape(sentence[end : found.start()]),
            Markup('<a class="behind" href="{}">{}</a>').format(address, found[0]),
        ]
        end = found.end()
    return Markup("").join([*parts, escape(sentence[end:])])


def _quoted(sheet: Datasheet, judge: str, title: str) -> dict[str, Estimate]:
    """Every spelling of a figure that the sentence may quote; the most general figure has it."""
    name, _, protocol = title.partition(", ")
    wanted = METRICS.get(name, "").split()
    own = [e for e in sheet.look_up.of_judge(judge) if e.metric in wanted and numbers.defined(e)]
    if name != titles.CRITERION:  # a shift is filed under the prompt that it leads to
        own = [e for e in own if e.group.get("protocol", "base") == (protocol or "base")]
    spelled: dict[str, Estimate] = {}
    for estimate in sorted(own, key=lambda e: (e.probe not in AS_THEY_ARE, len(e.group))):
        spelled.setdefault(numbers.figure(estimate), estimate)
        if estimate.numerator is not None and estimate.denominator is not None:
            spelled.setdefault(f"{estimate.numerator} of {estimate.denominator}", estimate)
            spelled.setdefault(f"{estimate.numerator}/{estimate.denominator}", estimate)
    return spelled
