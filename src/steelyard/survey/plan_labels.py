"""`labels plan`: what labels cost under each way of drawing them, side by side."""

from __future__ import annotations

import shlex
from dataclasses import dataclass
from functools import partial

import numpy as np

from steelyard.core.arrays import Floats
from steelyard.core.json_dataclasses import to_body
from steelyard.core.text import percent, pluralize
from steelyard.core.validation import parse_map, unknown_key
from steelyard.datasheet.render.report import ReportTable
from steelyard.errors import ConfigError, DataError
from steelyard.estimation import label_plan as plans
from steelyard.estimation.label_plan import LevelSpreads
from steelyard.importing.ratings import RatingsTable
from steelyard.metrics.stats.confidence import labels_to_show
from steelyard.survey.judged_items import (
    FEWEST_LABELS,
    Subject,
    choose_judge,
    frame_of,
    judged_items,
    score_scale,
)
from steelyard.survey.options import LabelPlanOptions
from steelyard.tasks.sources.table import is_number


@dataclass(frozen=True)
class PlannedDesign:
    name: str
    labels: int | None
    """None where even a label of every item does not do."""
    fewest: int | None
    most: int | None
    """Labels at the limits of what the pilot leaves open."""
    width: float | None
    """Half-width of a given number of labels."""


@dataclass(frozen=True)
class PromisedLabels:
    """What a promise takes where this share of the accepted answers is wrong."""

    error: float
    labels: int | None


@dataclass(frozen=True)
class LabelPlan:
    judge: str
    items: int
    pilot: int
    half_width: float
    labels: int | None
    rho_squared: float
    designs: tuple[PlannedDesign, ...]
    pair: tuple[int, int] | None
    """Labels and judged items of the least cost, for a claim about the population."""
    label_cost: float | None
    call_cost: float | None
    assumed: bool
    """True where sensitivity and specificity were given."""
    scale_assumed: str = ""
    """What is assumed of the scale of scores where nothing states it; empty where it is known."""
    promise: float | None = None
    """Largest share of accepted answers that may be wrong."""
    promised: tuple[PromisedLabels, ...] = ()

    @property
    def best(self) -> PlannedDesign | None:
        """The design that `labels draw` makes with the fewest labels."""
        able = [row for row in self.designs if row.labels is not None and row.name in DRAWABLE]
        return min(able, key=lambda row: row.labels or 0, default=None)

    def to_json(self) -> dict[str, object]:
        return {"schema": "steelyard.label_plan/1", **to_body(vars(self))}


def parse_rates(text: str) -> tuple[float, float]:
    """Sensitivity and specificity as the command line writes them."""
    names = ("sensitivity", "specificity")
    found = parse_map(text, "--assume", "RATE=SHARE", "sensitivity=0.9,specificity=0.8")
    for name in found:
        if name not in names:
            raise ConfigError(f"--assume: {unknown_key(name, names)}")
    rates = []
    for name in names:
        given = found.get(name, "missing")
        rate = float(given) if is_number(given) else 0.0
        if not 0 < rate <= 1:
            raise ConfigError(
                f"--assume: {name} is {given!r}, expected a share above 0 and at most "
                "1, as in sensitivity=0.9,specificity=0.8."
            )
        rates.append(rate)
    return rates[0], rates[1]


PARTS_OF_PROMISE = (0.0, 0.25, 0.5, 0.75)
DRAWABLE = {"random draw": "random", "by verdict": "by-verdict"}
WIDTHS: dict[str, plans.Width] = {
    "labels alone": plans.labels_alone,
    "random draw": plans.random_draw,
    "by verdict": plans.by_verdict,
    "by verdict, equal numbers": plans.equal_by_verdict,
    "balanced by label": plans.by_label,
}


def plan_labels(table: RatingsTable, options: LabelPlanOptions) -> LabelPlan:
    subject = Subject.of(options.ratings, system=options.system)
    half_width, labels = options.half_width, options.size
    rates = None if options.assume is None else parse_rates(options.assume)
    judge = choose_judge(table, subject.judge)
    frame = frame_of(judged_items(table, subject)[0]).frame
    if frame.size < 2:
        raise DataError(
            f"{table.name}: {pluralize(frame.size, 'judged item')} found, expected at least 2 to plan for; "
            "name another file."
        )
    scale = score_scale(table, subject)
    ends = scale.ends or (min(0.0, frame.judge[0]), max(1.0, frame.judge[0]))  # all scores are one
    if rates is None and frame.labels:
        middle, low, high = (plans.pilot_levels(frame, ends, towards) for towards in (0, -1, 1))
    elif rates is None:
        middle = low = high = plans.pilot_levels(frame, ends)
    else:
        middle = low = high = _assumed(table.name, frame.judge, rates)
    rows = []
    for name, width in WIDTHS.items():
        needed = partial(plans.labels_needed, width, wanted=half_width, most=frame.size)
        given = None if labels is None else width(middle, labels)
        enough = (needed(levels=levels) for levels in (middle, low, high))
        counts = [count and max(count, min(FEWEST_LABELS, frame.size)) for count in enough]
        known = [count for count in counts if count is not None]
        fewest, most = min(known, default=None), None if None in counts else max(known)
        finite = given if given is not None and np.isfinite(given) else None
        rows.append(PlannedDesign(name, counts[0], fewest, most, finite))
    pair, costs = None, (options.label_cost, options.call_cost)
    if costs[0] and costs[1]:
        pair = plans.best_pair(middle.variance, middle.rho_squared, half_width, costs[0], costs[1])
    promise, failure = options.promise, 1 - options.confidence
    errors = [] if promise is None else [promise * part for part in PARTS_OF_PROMISE]
    promised = [PromisedLabels(each, labels_to_show(each, promise or 1.0, failure)) for each in errors]
    return LabelPlan(
        judge=judge,
        items=frame.size,
        pilot=frame.labels,
        half_width=half_width,
        labels=labels,
        rho_squared=middle.rho_squared,
        designs=tuple(rows),
        pair=pair,
        label_cost=costs[0],
        call_cost=costs[1],
        assumed=rates is not None,
        scale_assumed=scale.assumption,
        promise=promise,
        promised=tuple(promised),
    )


def _assumed(name: str, judge: Floats, rates: tuple[float, float]) -> LevelSpreads:
    sensitivity, specificity = rates
    passed = float(judge.mean())
    if not np.isin(judge, (0.0, 1.0)).all() or not 0 < passed < 1:
        raise DataError(
            f"{name}: --assume needs a judge that passes some items and fails others, found scores from "
            f"{judge.min():g} to {judge.max():g}; label a pilot instead."
        )
    if sensitivity + specificity <= 1:
        raise ConfigError(
            f"--assume: sensitivity {sensitivity:g} and specificity {specificity:g} add up to "
            f"{sensitivity + specificity:g}, expected more than 1, as of a judge that tells good from bad; "
            "correct the rates."
        )
    if not 1 - specificity <= passed <= sensitivity:
        raise ConfigError(
            f"--assume: a judge with sensitivity {sensitivity:g} and specificity {specificity:g} cannot pass "
            f"{passed:.3f} of the items; correct the rates."
        )
    return plans.binary_levels(len(judge), passed, sensitivity, specificity)


def design_table(plan: LabelPlan) -> ReportTable:
    """Of each design its labels, with what they cost, and how wide so many labels are."""
    header = ["design", f"labels for ±{plan.half_width:g}"]
    header += ["cost"] if plan.label_cost else []
    header += [] if plan.labels is None else [f"± with {plan.labels:,} labels"]
    rows = []
    for row in plan.designs:
        cells = [row.name, _needed(row)]
        if plan.label_cost:
            cells.append("" if row.labels is None else f"${row.labels * plan.label_cost:,.0f}")
        if plan.labels is not None:
            cells.append("" if row.width is None else f"{row.width:.4f}")
        rows.append(cells)
    return ReportTable("Designs", header, rows)


def promise_table(plan: LabelPlan) -> ReportTable | None:
    """Labels that a promise on accepted answers takes; None where nobody asks."""
    if plan.promise is None:
        return None
    header = ["wrong among the accepted", f"labels to promise at most {percent(plan.promise)}"]
    rows = [
        [percent(round(row.error, 4)), "no number shows it" if row.labels is None else f"{row.labels:,}"]
        for row in plan.promised
    ]
    return ReportTable("Promise", header, rows)


def _needed(row: PlannedDesign) -> str:
    if row.labels is None:
        return "more than there are items"
    if row.fewest == row.labels == row.most:
        return f"{row.labels:,}"
    most = "all" if row.most is None else f"{row.most:,}"
    return f"{row.labels:,} ({row.fewest or row.labels:,} to {most})"


def notes(plan: LabelPlan) -> list[str]:
    items = pluralize(plan.items, "item")
    if plan.pilot:
        made = [
            f"{items}, {pluralize(plan.pilot, 'label')} as a pilot: ρ² {plan.rho_squared:.2f}; ranges are "
            "what the pilot leaves open."
        ]
    elif plan.assumed:
        made = [f"{items}; sensitivity and specificity are assumed: ρ² {plan.rho_squared:.2f}."]
    else:
        made = [
            f"{items} and no label yet: this is the worst case, in which the judge says nothing of what "
            f"people say. Label a pilot of {plans.PILOT} for each verdict first, then plan with --pilot."
        ]
    if plan.scale_assumed:
        made.append(f"Assumed: {plan.scale_assumed}.")
    if plan.promise is not None:
        made.append(
            "The promise is shown in four runs of five with so many labels of independent items that are "
            "drawn at random; of several judges in a row each takes its own. Then: `steelyard trust fit`."
        )
    if plan.pair is not None:
        labels, calls = plan.pair
        cost = labels * (plan.label_cost or 0) + calls * (plan.call_cost or 0)
        judged = f" and {pluralize(calls, 'judged item')}" if calls else " without the judge"
        made.append(
            f"For the population behind the items: {pluralize(labels, 'label')}{judged}, ${cost:,.0f}."
        )
    return made


def next_command(plan: LabelPlan, options: LabelPlanOptions, file: str) -> str | None:
    """The draw with the fewest labels, to be pasted; None before a pilot, or where none is enough."""
    best = plan.best
    if best is None or not (plan.pilot or plan.assumed):
        return None
    ratings = options.ratings
    given = {"pilot": options.pilot and str(options.pilot), "scale": ratings.scale, **vars(ratings.reading)}
    reading = [word for name, value in given.items() if value for word in (f"--{name}", value)]
    words = ("labels", "draw", file, "--judge", plan.judge, *reading, "-n", str(best.labels))
    return shlex.join(("steelyard", *words, "--design", DRAWABLE[best.name], "--out", "labels"))
