"""Charts of a line per judge: strata, agent runs and parameters as intervals, preferences as stacked bars."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from types import MappingProxyType

from steelyard.datasheet import numbers
from steelyard.datasheet.glossary import cue_name
from steelyard.datasheet.render.html.drawing.axis import Scale, draw, rate_axis, round_values
from steelyard.datasheet.render.html.drawing.chart import (
    SAME_QUALITY,
    Chart,
    Column,
    LegendEntry,
    Panel,
    Series,
    all_judges,
    aria_label,
    data_cell,
    pairs_only,
    series,
    series_styles,
)
from steelyard.datasheet.render.html.drawing.forest_plot import forest_plot, interval_row
from steelyard.datasheet.render.html.drawing.svg import Box, SvgElement, draw_rect, draw_text
from steelyard.datasheet.sections.sections import LADDER
from steelyard.datasheet.sections.summary import Summary
from steelyard.datasheet.sections.tables import by_stratum
from steelyard.metrics.estimate import Estimate
from steelyard.metrics.instrument.derived import RESOLUTION_RATIO
from steelyard.metrics.instrument.estimates import FIT_PROBABILITY, LIMIT_OF_DETECTION
from steelyard.metrics.instrument.likelihood import NAMES
from steelyard.metrics.instrument.worth import FARTHEST
from steelyard.metrics.instrument.worth_estimates import FAULT, WORTH
from steelyard.metrics.metric import Metric
from steelyard.metrics.pairs.decomposition import (
    NO_PREFERENCE,
    ONE_SIDED_COMMIT,
    POSITIONAL_FALSE_PREFERENCE,
    STABLE_CROSS_SENSITIVITY,
)
from steelyard.metrics.pairs.equals import OTHER_CONFLICT
from steelyard.metrics.proportions import ACCURACY
from steelyard.metrics.run.agent_runs import MISSED_FAILURES, SIZES, THIRDS
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
INSTRUMENT_COLUMNS = [
    Column(metric.name, metric.id)
    for metric in (*NAMES, LIMIT_OF_DETECTION, FIT_PROBABILITY, RESOLUTION_RATIO)
]
"""Parameters and limit of detection have a panel each."""


def strata(summary: Summary) -> Chart | None:
    """Accuracy by stratum, one panel per judge; None where the data have no strata."""
    sheet, title = summary.datasheet, "Accuracy by stratum"
    by_judge = _defined(
        summary, lambda judge: [e for e in by_stratum(sheet, judge) if e.metric == ACCURACY.id]
    )
    names = list(dict.fromkeys(_stratum(e) for estimates in by_judge.values() for e in estimates))
    gaps = {
        judge: [e for e in sheet.of(judge, STRATUM_GAP.id) if e.status == "flagged"] for judge in by_judge
    }
    plot = partial(forest_plot, axis_title="accuracy")
    return _panels(
        summary,
        (title, title, "stratum"),
        STRATA_CAPTION,
        names,
        by_judge,
        _stratum,
        plot,
        _pooled(summary, by_judge),
        lowest={judge: _stratum(mine[0]) for judge, mine in gaps.items() if mine},
        omitted=(f"{len(names) - MAX_STRATA} further strata",) if len(names) > MAX_STRATA else (),
    )


def _stratum(estimate: Estimate) -> str:
    return str(estimate.group["stratum"])


def runs(summary: Summary) -> Chart | None:
    """Agent runs that should fail and are passed, by condition; None where no run was judged."""
    by_judge = _defined(
        summary,
        lambda judge: [
            e
            for e in summary.datasheet.of(judge, MISSED_FAILURES.id)
            if any(key in e.group for key in RUN_CONDITIONS)
        ],
    )
    found = {_condition(estimate): estimate for estimates in by_judge.values() for estimate in estimates}
    return _panels(
        summary,
        ("Failures of agents that are passed", "Failures passed", "runs that should fail"),
        RUNS_CAPTION,
        sorted(found, key=lambda name: condition_order(found[name])),
        by_judge,
        _condition,
        partial(forest_plot, axis_title="passed", limit=190),
        _pooled(summary, by_judge),
    )


def worth(summary: Summary) -> Chart | None:
    """Worth of cues in quality steps or levels, the largest first; None where no cue was measured."""
    by_judge = _defined(summary, lambda judge: summary.datasheet.of(judge, WORTH.id))
    every = [estimate for estimates in by_judge.values() for estimate in estimates]
    largest: dict[str, float] = {}
    for estimate in every:
        name = _cue(estimate)
        largest[name] = max(largest.get(name, -FARTHEST), estimate.value or 0.0)
    low, high = _domain(every)
    high = max(high, 1.5)
    steps = any(estimate.unit == "pair" for estimate in every)
    return _panels(
        summary,
        ("What outweighs quality", "Worth of cues", "cue"),
        WORTH_CAPTION if steps else LEVELS_CAPTION,
        sorted(largest, key=lambda name: (-largest[name], name)),
        by_judge,
        _cue,
        partial(
            forest_plot,
            axis_title="steps of quality" if steps else "levels of the scale",
            domain=(low, high),
            ticks=round_values(low, high, 5),
            zero_line=True,
            margin=FAULT,
            limit=190,
        ),
        dict.fromkeys(by_judge, 1.0),
    )


def _cue(estimate: Estimate) -> str:
    return cue_name(estimate.group["cue"])


def _condition(estimate: Estimate) -> str:
    return numbers.condition({key: value for key, value in estimate.group.items() if key in RUN_CONDITIONS})


def condition_order(estimate: Estimate) -> tuple[int, str]:
    """Sort key: edits by name, then places and sizes from the first to the last."""
    key = next(key for key in RUN_CONDITIONS if key in estimate.group)
    value = str(estimate.group[key])
    ordered = [*THIRDS, *(name for _, name in SIZES)]
    return RUN_CONDITIONS.index(key), f"{ordered.index(value):02d}" if value in ordered else value


def _pooled(summary: Summary, by_judge: Mapping[str, Sequence[Estimate]]) -> dict[str, float | None]:
    """The figure of each judge over all its rows, where it is defined."""
    pooled = {
        judge: summary.datasheet.find(judge, estimates[0].metric, estimates[0].probe, protocol="base")
        for judge, estimates in by_judge.items()
    }
    return {judge: each.value if numbers.defined(each) else None for judge, each in pooled.items()}


def _defined(summary: Summary, of: Callable[[str], Iterable[Estimate]]) -> dict[str, list[Estimate]]:
    """The defined figures of each measured judge that has any."""
    every = {judge.name: list(filter(numbers.defined, of(judge.name))) for judge in summary.measured}
    return {judge: estimates for judge, estimates in every.items() if estimates}


def _panels(
    summary: Summary,
    titles: tuple[str, str, str],
    caption: str,
    names: Sequence[str],
    by_judge: Mapping[str, Sequence[Estimate]],
    name_of: Callable[[Estimate], str],
    plot: Callable[..., str],
    references: Mapping[str, float | None],
    *,
    lowest: Mapping[str, str] = MappingProxyType({}),
    omitted: tuple[str, ...] = (),
) -> Chart | None:
    """One panel per judge with a row for each name, of strata the first ones; None without a judge.

    The titles are those of the chart, of a panel and of the first column.
    """
    if not by_judge:
        return None
    title, panel_title, first = titles
    header, styles = (first, *by_judge), series_styles(summary)
    drawn = names[:MAX_STRATA] if omitted else names
    cells = [{name_of(e): e for e in reversed(estimates)} for estimates in by_judge.values()]
    table = tuple((name, *(data_cell(summary, each.get(name)) for each in cells)) for name in names)
    label, panels = aria_label(header, table), []
    for judge, estimates in by_judge.items():
        role, shapes = styles[judge].role, {lowest.get(judge): "diamond"}
        named = [(e, name_of(e)) for e in estimates if name_of(e) in drawn]
        rows = [interval_row(e, name, role, shape=shapes.get(name, "circle")) for e, name in named]
        options = {"title": f"{panel_title}, {judge}", "label": label, "reference": references[judge]}
        panels.append(Panel(plot(rows, names=drawn, **options), judge))
    return Chart(title, caption, tuple(panels), header, table, omitted=omitted, wide=True)


@pairs_only
def instrument(summary: Summary) -> Chart | None:
    """One panel per parameter, judges and protocols below each other; None where no judge was fitted."""
    fits = series(summary, summary.measured, INSTRUMENT_COLUMNS)
    drawn = [fit for fit in fits if any(map(numbers.defined, fit.figures[: len(NAMES)]))]
    if not drawn:
        return None
    return Chart(
        INSTRUMENT_TITLE,
        INSTRUMENT_CAPTION,
        tuple(_parameter_panel(summary, drawn, place) for place in range(len(NAMES) + 1)),
        ("judge", *(column.name for column in INSTRUMENT_COLUMNS)),
        tuple(fit.row(summary) for fit in fits),
        omitted=tuple(fit.omission(1) for fit in fits if fit not in drawn),
        wide=True,
    )


def _parameter_panel(summary: Summary, fits: Sequence[Series], place: int) -> Panel:
    name = INSTRUMENT_COLUMNS[place].name
    shown = [(fit, fit.figures[place]) for fit in fits]
    rows = [
        interval_row(e, fit.label, fit.style.role, shape=fit.style.shape, hollow=fit.protocol != "base")
        for fit, e in shown
        if numbers.defined(e)
    ]
    low, high = _domain([e for _, e in shown if numbers.defined(e)])
    svg = forest_plot(
        rows,
        names=[fit.label for fit in fits],
        title=f"{INSTRUMENT_TITLE}: {name}",
        label=aria_label(("judge", name), ((fit.name, data_cell(summary, e)) for fit, e in shown)),
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


WIDTH, ROW, DIGIT = 430, 46, 9
"""Width of a full bar, height of a row and width of a digit, in pixels."""
TALLEST = 10


@dataclass(frozen=True)
class AnswerKind:
    role: str
    column: Column
    meaning: str
    pale: bool = False
    """True where dark ink is written on it."""


def _column(metric: Metric, name: str, **slot: int) -> Column:
    return Column(name, metric.id, LADDER, {**SAME_QUALITY, **slot})


STABLE, ONE_SIDED = STABLE_CROSS_SENSITIVITY, ONE_SIDED_COMMIT
SLOT_1, SLOT_2 = (_column(POSITIONAL_FALSE_PREFERENCE, f"prefers slot {slot}", slot=slot) for slot in (1, 2))
PARTS = (
    AnswerKind("stable", _column(STABLE, STABLE.name), "prefers a wording: same text in both orders"),
    AnswerKind("slot-1", SLOT_1, "prefers slot 1 in both orders"),
    AnswerKind("slot-2", SLOT_2, "prefers slot 2 in both orders", pale=True),
    AnswerKind("one-sided", _column(ONE_SIDED, ONE_SIDED.name), "a winner in one order only"),
    AnswerKind("other", _column(OTHER_CONFLICT, "other"), "other: the second verdict is missing"),
    AnswerKind(
        "none", _column(NO_PREFERENCE, NO_PREFERENCE.label), "no preference: tie in both orders", pale=True
    ),
)
PARTS_COLUMNS = [part.column for part in PARTS]
PARTS_TITLE = "Same-quality pairs, taken apart"
PARTS_HEADER = ("judge", *(column.name for column in PARTS_COLUMNS))
PARTS_CAPTION = (
    "Each bar is all pairs of equal quality, shown in both orders; the numbers are pairs. A sound judge is "
    "one bar of no preference."
)


@pairs_only
def decomposition(summary: Summary) -> Chart:
    bars = series(summary, all_judges(summary), PARTS_COLUMNS)
    drawn = [bar for bar in bars if any(map(numbers.defined, bar.figures))]
    half = len(drawn) if len(drawn) <= TALLEST else -(-len(drawn) // 2)
    return Chart(
        PARTS_TITLE,
        PARTS_CAPTION,
        tuple(_bars_panel(summary, part) for part in (drawn[:half], drawn[half:]) if part),
        PARTS_HEADER,
        tuple(bar.row(summary) for bar in bars),
        legend=tuple(LegendEntry(part.role, part.meaning) for part in PARTS),
        omitted=tuple(bar.omission() for bar in bars if bar not in drawn),
        wide=len(drawn) > TALLEST,
    )


def _bars_panel(summary: Summary, bars: Sequence[Series]) -> Panel:
    height, label = ROW * len(bars), aria_label(PARTS_HEADER, (bar.row(summary) for bar in bars))
    elements = list(_bar_elements(bars, Scale(-0.6, len(bars) - 0.4, height)))
    axis = rate_axis("share of pairs", WIDTH, grid=False)
    return Panel(draw(elements, width=WIDTH, height=height, title=PARTS_TITLE, label=label, x=axis))


def _bar_elements(bars: Sequence[Series], y: Scale) -> Iterator[SvgElement]:
    for number, bar in enumerate(bars):
        start = 0.0
        for part, estimate in zip(PARTS, bar.figures, strict=True):
            share = estimate.value if numbers.defined(estimate) and estimate.value else 0.0
            end = min(1.0, start + share)
            if estimate is not None and end > start:
                box = Box(WIDTH * start, y(number - 0.18), WIDTH * end, y(number + 0.32))
                yield draw_rect(box, role=part.role, stroke="paper")
                text = "" if estimate.numerator is None else str(estimate.numerator)
                if text and (end - start) * WIDTH > DIGIT * len(text) + 2:  # the segment has room for it
                    middle = ((box.left + box.right) / 2, y(number + 0.07))
                    yield draw_text(text, middle, role="ink" if part.pale else "paper", size=12, weight=600)
            start = end
        role = "muted" if bar.judge.baseline else "ink"
        yield draw_text(bar.label, (0, y(number - 0.22)), role=role, align="left", baseline="bottom")
