"""Dot-and-interval charts: accuracy by stratum, missed failures of agent runs, instrument parameters."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass

from steelyard.datasheet.render.html.drawing.axis import round_values
from steelyard.datasheet.render.html.drawing.chart import (
    Chart,
    Panel,
    SeriesStyle,
    aria_label,
    data_cell,
    omission_note,
    pairs_only,
    protocol_name,
    protocols,
    series_styles,
)
from steelyard.datasheet.render.html.drawing.forest_plot import forest_plot, interval_row
from steelyard.datasheet.sections.summary import Summary
from steelyard.datasheet.sections.tables import by_stratum
from steelyard.datasheet.words import numbers
from steelyard.datasheet.words.cue_names import cue_name
from steelyard.datasheet.words.glossary import metric_named
from steelyard.metrics.common import ACCURACY
from steelyard.metrics.estimate import Estimate
from steelyard.metrics.instrument.estimates import FIT_PROBABILITY, LIMIT_OF_DETECTION
from steelyard.metrics.instrument.likelihood import NAMES, RESOLUTION
from steelyard.metrics.instrument.resolution_ratio import RESOLUTION_RATIO
from steelyard.metrics.instrument.worth import FARTHEST
from steelyard.metrics.instrument.worth_estimates import FAULT, WORTH
from steelyard.metrics.run.agent_runs import MISSED_FAILURES, PROBE, SIZES, THIRDS
from steelyard.metrics.run.strata import STRATUM_GAP

MAX_STRATA = 20
"""Strata that are drawn; the table below has all of them."""
STRATA_CAPTION = (
    "Share of right verdicts on unchanged items or natural pairs in each stratum, with 95 % intervals. The "
    "dashed line is the judge's accuracy over all strata. A diamond marks a stratum that is lower than the "
    "others, after adjustment for testing all of them."
)
RUN_CONDITIONS = ("edit", "place", "size")
RUNS_CAPTION = (
    "Share of calls that pass a run which should fail, with 95 % intervals: by what was done to the run, and "
    "of edits that broke it by their place in the run and by the words that they changed. The dashed line is "
    "the share over all such runs. A judge that reads the whole run shows no difference between the thirds."
)
WORTH_CAPTION = (
    "Steps of quality that each cue is worth, with 95 % intervals, the largest first. The dashed line is one "
    "step: beyond it a text with the cue beats one that is a step better. The band is half a step to either "
    "side, within which a cue is no fault. An arrow is an end that the data leave open; a cue left of zero "
    "harms the text that has it."
)
LEVELS_CAPTION = (
    "Levels of the scale that each cue is worth, with 95 % intervals, the largest first: the shift of the "
    "score by the cue over the rise of the score per level of the label. The dashed line is one level. The "
    "band is half a level to either side, within which a cue is no fault. An arrow is an end that the data "
    "leave open; a cue left of zero harms the text that has it."
)
INSTRUMENT_TITLE = "Instrument model"
INSTRUMENT_CAPTION = (
    "One fit per judge and protocol, in units of the judge's noise; the lapse rate is a share, the limit of "
    "detection counts quality steps. Bars are 95 % intervals; an arrow is an end that the data leave open. "
    "Hollow markers are another protocol: one that only makes a judge more cautious moves its tie threshold "
    "and leaves its resolution where it was."
)
PARAMETERS = tuple(metric.id for metric in NAMES)
DRAWN_METRICS = (*PARAMETERS, LIMIT_OF_DETECTION.id)
INSTRUMENT_METRICS = (*DRAWN_METRICS, FIT_PROBABILITY.id, RESOLUTION_RATIO.id)
INSTRUMENT_HEADER = ("judge", *(metric_named(metric).name for metric in INSTRUMENT_METRICS))


def strata(summary: Summary) -> Chart | None:
    """Accuracy by stratum, one panel per judge; None where the data have no strata."""
    accuracies = {
        judge.name: [
            estimate
            for estimate in by_stratum(summary.datasheet, judge.name)
            if estimate.metric == ACCURACY.id and numbers.defined(estimate)
        ]
        for judge in summary.measured
    }
    by_judge = {name: estimates for name, estimates in accuracies.items() if estimates}
    if not by_judge:
        return None
    names = list(dict.fromkeys(_stratum(e) for estimates in by_judge.values() for e in estimates))

    def panel(judge: str, estimates: Sequence[Estimate], label: str) -> str:
        gaps = summary.datasheet.of(judge, STRATUM_GAP.id)
        worst = next((_stratum(gap) for gap in gaps if gap.status == "flagged"), None)
        role = series_styles(summary)[judge].role
        shown = names[:MAX_STRATA]
        return forest_plot(
            [
                interval_row(e, _stratum(e), role, shape="diamond" if _stratum(e) == worst else "circle")
                for e in estimates
                if _stratum(e) in shown
            ],
            names=shown,
            title=f"Accuracy by stratum, {judge}",
            label=label,
            axis_title="accuracy",
            reference=_pooled(summary, judge, ACCURACY.id, estimates[0].probe),
        )

    omitted = (f"{len(names) - MAX_STRATA} further strata",) if len(names) > MAX_STRATA else ()
    header = ("stratum", *by_judge)
    return _panels(
        summary, "Accuracy by stratum", STRATA_CAPTION, header, names, by_judge, _stratum, panel, omitted
    )


def _stratum(estimate: Estimate) -> str:
    return str(estimate.group["stratum"])


def runs(summary: Summary) -> Chart | None:
    """Agent runs that should fail and are passed, by condition; None where no run was judged."""
    every = {judge.name: _conditions(summary, judge.name) for judge in summary.measured}
    by_judge = {name: estimates for name, estimates in every.items() if estimates}
    if not by_judge:
        return None
    found = {_condition(estimate): estimate for estimates in by_judge.values() for estimate in estimates}
    names = sorted(found, key=lambda name: condition_order(found[name]))

    def panel(judge: str, estimates: Sequence[Estimate], label: str) -> str:
        role = series_styles(summary)[judge].role
        return forest_plot(
            [interval_row(e, _condition(e), role) for e in estimates],
            names=names,
            title=f"Failures passed, {judge}",
            label=label,
            axis_title="passed",
            reference=_pooled(summary, judge, MISSED_FAILURES.id, PROBE),
            limit=190,
        )

    title, header = "Failures of agents that are passed", ("runs that should fail", *by_judge)
    return _panels(summary, title, RUNS_CAPTION, header, names, by_judge, _condition, panel)


def worth(summary: Summary) -> Chart | None:
    """Worth of cues in quality steps or levels, the largest first; None where no cue was measured."""
    every = {
        judge.name: [e for e in summary.datasheet.of(judge.name, WORTH.id) if numbers.defined(e)]
        for judge in summary.measured
    }
    by_judge = {name: estimates for name, estimates in every.items() if estimates}
    if not by_judge:
        return None
    largest: dict[str, float] = {}
    for estimate in (e for estimates in by_judge.values() for e in estimates):
        name = _cue(estimate)
        largest[name] = max(largest.get(name, -FARTHEST), estimate.value or 0.0)
    names = sorted(largest, key=lambda name: (-largest[name], name))
    low, high = _domain([e for estimates in by_judge.values() for e in estimates])
    high = max(high, 1.5)
    steps = any(e.unit == "pair" for estimates in by_judge.values() for e in estimates)

    def panel(judge: str, estimates: Sequence[Estimate], label: str) -> str:
        role = series_styles(summary)[judge].role
        return forest_plot(
            [interval_row(e, _cue(e), role) for e in estimates],
            names=names,
            title=f"Worth of cues, {judge}",
            label=label,
            axis_title="steps of quality" if steps else "levels of the scale",
            domain=(low, high),
            ticks=round_values(low, high, 5),
            reference=1.0,
            zero_line=True,
            margin=FAULT,
            limit=190,
        )

    header = ("cue", *by_judge)
    caption = WORTH_CAPTION if steps else LEVELS_CAPTION
    return _panels(summary, "What outweighs quality", caption, header, names, by_judge, _cue, panel)


def _cue(estimate: Estimate) -> str:
    return cue_name(estimate.group["cue"])


def _conditions(summary: Summary, judge: str) -> list[Estimate]:
    return [
        estimate
        for estimate in summary.datasheet.of(judge, MISSED_FAILURES.id)
        if any(key in estimate.group for key in RUN_CONDITIONS) and numbers.defined(estimate)
    ]


def _condition(estimate: Estimate) -> str:
    return numbers.condition({key: value for key, value in estimate.group.items() if key in RUN_CONDITIONS})


def condition_order(estimate: Estimate) -> tuple[int, str]:
    """Sort key: edits by name, then places and sizes from the first to the last."""
    key = next(key for key in RUN_CONDITIONS if key in estimate.group)
    value = str(estimate.group[key])
    ordered = [*THIRDS, *(name for _, name in SIZES)]
    return RUN_CONDITIONS.index(key), f"{ordered.index(value):02d}" if value in ordered else value


def _pooled(summary: Summary, judge: str, metric: str, probe: str) -> float | None:
    pooled = summary.datasheet.find(judge, metric, probe, protocol="base")
    return pooled.value if pooled is not None and numbers.defined(pooled) else None


def _panels(
    summary: Summary,
    title: str,
    caption: str,
    header: tuple[str, ...],
    names: Sequence[str],
    by_judge: dict[str, list[Estimate]],
    name_of: Callable[[Estimate], str],
    panel: Callable[[str, Sequence[Estimate], str], str],
    omitted: tuple[str, ...] = (),
) -> Chart:
    cells = [{name_of(e): e for e in reversed(estimates)} for estimates in by_judge.values()]
    table = tuple((name, *(data_cell(summary, each.get(name)) for each in cells)) for name in names)
    label = aria_label(header, table)
    panels = tuple(Panel(panel(judge, estimates, label), judge) for judge, estimates in by_judge.items())
    return Chart(title, caption, panels, header, table, omitted=omitted, wide=True)


@dataclass(frozen=True)
class _Fit:
    name: str
    label: str
    style: SeriesStyle
    hollow: bool
    estimates: dict[str, Estimate]


@pairs_only
def instrument(summary: Summary) -> Chart | None:
    """One panel per parameter, judges and protocols below each other; None where no judge was fitted."""
    fits = list(_fits(summary))
    drawn = [fit for fit in fits if any(numbers.defined(fit.estimates.get(name)) for name in PARAMETERS)]
    if not drawn:
        return None
    rows = [
        (fit.name, *(data_cell(summary, fit.estimates.get(m)) for m in INSTRUMENT_METRICS)) for fit in fits
    ]
    omitted = [
        omission_note(fit.name, [(INSTRUMENT_HEADER[1], fit.estimates.get(RESOLUTION.id))])
        for fit in fits
        if fit not in drawn
    ]
    return Chart(
        INSTRUMENT_TITLE,
        INSTRUMENT_CAPTION,
        tuple(_parameter_panel(summary, drawn, metric) for metric in DRAWN_METRICS),
        INSTRUMENT_HEADER,
        tuple(rows),
        omitted=tuple(omitted),
        wide=True,
    )


def _fits(summary: Summary) -> Iterator[_Fit]:
    styles = series_styles(summary)
    for judge in summary.measured:
        for protocol in protocols(judge):
            estimates = {
                metric: estimate
                for metric in INSTRUMENT_METRICS
                if (estimate := summary.datasheet.find(judge.name, metric, "ladder", protocol=protocol))
            }
            if estimates or protocol == "base":
                style = styles[judge.name]
                name, label = protocol_name(judge, protocol), style.with_protocol(protocol)
                yield _Fit(name, label, style, protocol != "base", estimates)


def _parameter_panel(summary: Summary, fits: Sequence[_Fit], metric: str) -> Panel:
    name = metric_named(metric).name
    shown = [(fit, fit.estimates[metric]) for fit in fits if numbers.defined(fit.estimates.get(metric))]
    cells = ((fit.name, data_cell(summary, fit.estimates.get(metric))) for fit in fits)
    low, high = _domain([estimate for _, estimate in shown])
    svg = forest_plot(
        [
            interval_row(e, fit.label, fit.style.role, shape=fit.style.shape, hollow=fit.hollow)
            for fit, e in shown
        ],
        names=[fit.label for fit in fits],
        title=f"{INSTRUMENT_TITLE}: {name}",
        label=aria_label(("judge", name), cells),
        domain=(low, high),
        ticks=round_values(low, high, 4),
        zero_line=True,
        width=210,
        row_height=30,
        limit=150,
    )
    return Panel(svg, name)


def _domain(estimates: Sequence[Estimate]) -> tuple[float, float]:
    """From zero or the lowest end to the highest, with a margin in which arrows stand."""
    ends = [0.0]
    for estimate in estimates:
        interval = estimate.interval
        known = (estimate.value, interval.low, interval.high) if interval else (estimate.value,)
        ends += [end for end in known if end is not None]
    low, high = min(ends), max(ends)
    room = 0.12 * (high - low) or 1.0
    return (low - room if low < 0 else 0.0), high + room
