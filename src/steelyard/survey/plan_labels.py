"""`labels plan`: what labels cost under each way of drawing them, side by side."""

from __future__ import annotations

import shlex
from collections.abc import Mapping
from dataclasses import dataclass
from functools import partial
from itertools import chain, count
from pathlib import Path

import numpy as np

from steelyard.core.arrays import Floats, Mask
from steelyard.core.json_dataclasses import to_body
from steelyard.core.text import percent, pluralize
from steelyard.core.validation import parse_map, unknown_key
from steelyard.datasheet.render.report import ReportTable
from steelyard.errors import ConfigError, DataError, SteelyardError
from steelyard.estimation import label_plan as plans
from steelyard.estimation.designs import LabelDesign
from steelyard.estimation.estimators import bins
from steelyard.estimation.label_plan import LevelSpreads
from steelyard.importing.ratings import RatingsTable
from steelyard.metrics.stats.confidence import labels_to_show
from steelyard.survey.draw_labels import frame_units, prepare_draw
from steelyard.survey.estimate import LabelledFigure, labelled_figure
from steelyard.survey.estimate_report import DRAWN
from steelyard.survey.judged_items import (
    FEWEST_LABELS,
    JudgedItem,
    Subject,
    choose,
    choose_judge,
    frame_of,
    judged_items,
    pair_name,
    score_scale,
)
from steelyard.survey.options import DrawOptions, LabelPlanOptions
from steelyard.survey.rating_files import columns_of
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
    drawable: int
    """Items that `labels draw` may draw: neither labelled nor of the pilot. The designs are for these."""
    levels: int
    """Of those, verdicts or bins by which they can be drawn."""
    systems_together: bool
    """`labels draw` would also draw items of other systems."""
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
    labelled: LabelledFigure | None = None
    """None where the file has no labels that make a figure."""

    @property
    def is_blind(self) -> bool:
        """Nothing is known of what people say: the plan is for the worst case."""
        return not self.pilot and not self.assumed

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


def plan_labels(table: RatingsTable, plain: RatingsTable, options: LabelPlanOptions) -> LabelPlan:
    """`plain` are the ratings without the pilot, as `labels draw` reads them."""
    subject = Subject.of(options.ratings, system=options.system)
    half_width, labels = options.half_width, options.size
    rates = None if options.assume is None else parse_rates(options.assume)
    judge = choose_judge(table, subject.judge)
    items = judged_items(table, subject)[0]
    frame = frame_of(items).frame
    if frame.size < 2:
        raise DataError(
            f"{table.name}: {pluralize(frame.size, 'judged item')} found, expected at least 2 to plan for; "
            "name another file."
        )
    is_free, together = _drawable(plain, judge, items, options)
    drawable = int(is_free.sum())
    if labels is not None and labels > drawable:
        raise ConfigError(
            f"-n {labels}: more than the {pluralize(drawable, 'item')} that can be drawn; lower it."
        )
    scale = score_scale(table, subject)
    ends = scale.ends or (min(0.0, frame.judge[0]), max(1.0, frame.judge[0]))  # all scores are one
    if rates is None and frame.labels:
        middle, low, high = (plans.pilot_levels(frame, ends, towards) for towards in (0, -1, 1))
    elif rates is None:
        middle = low = high = plans.pilot_levels(frame, ends)
    else:
        middle = low = high = _assumed(table.name, frame.judge, rates)
    place = bins(frame.judge)
    sizes = np.array([(is_free & (place == level)).sum() for level in np.unique(place)], dtype=np.float64)
    rests = [levels.with_sizes(sizes) for levels in (middle, low, high)]
    rows = []
    for name, width in WIDTHS.items() if drawable >= FEWEST_LABELS else ():
        needed = partial(plans.labels_needed, width, wanted=half_width, most=drawable)
        given = None if labels is None else width(rests[0], labels)
        enough = (needed(levels=levels) for levels in rests)
        counts = [count and max(count, FEWEST_LABELS) for count in enough]
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
        drawable=drawable,
        levels=int((sizes > 0).sum()),
        systems_together=together,
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
        labelled=None if options.pilot is not None else labelled_figure(table, subject),
    )


def _drawable(
    table: RatingsTable, judge: str, items: Mapping[str, JudgedItem], options: LabelPlanOptions
) -> tuple[Mask, bool]:
    """Which items of the frame `labels draw` may draw, and whether it draws others as well."""
    wanted = options.ratings.reading.criterion
    criterion = choose("criterion", "--criterion", wanted, table.criteria, table.name)
    units = frame_units(table, judge, criterion, LabelDesign.RANDOM, options.pilot)
    ours = [unit for unit in units if options.system in (None, unit.system, unit.versus)]
    taken = {
        pair_name(unit.item, unit.system, unit.versus) if unit.versus else unit.item
        for unit in ours
        if unit.part
    }
    free = [name not in taken for name in sorted(items) if items[name].score is not None]
    return np.array(free, dtype=np.bool_), len(ours) < len(units)


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


def design_table(plan: LabelPlan) -> ReportTable | None:
    """Of each design its labels, with what they cost, and how wide so many are; None of too few items."""
    if not plan.designs:
        return None
    noun = "labels" if plan.drawable == plan.items else "further labels"
    header = ["design", f"{noun} for ±{plan.half_width:g}"]
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
        return "more than can be drawn"
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
            "people say."
        ]
    if (known := plan.labelled) is not None:
        made.append(
            f"{pluralize(known.labels, 'label')} of {pluralize(known.items, 'item')} are there already and "
            f"give ±{known.half_width:.4f}{_condition(known)}."
        )
    if plan.designs and plan.drawable < plan.items:
        made.append(
            f"Further labels are for a figure of the {pluralize(plan.drawable, 'item')} that can still be "
            "drawn: `labels draw` leaves the others out."
        )
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


def _condition(known: LabelledFigure) -> str:
    """What the figure of the labels that are there supposes."""
    return f", if they were {DRAWN[known.design]}" if known.assumed and known.labels < known.items else ""


def next_step(plan: LabelPlan, plain: RatingsTable, options: LabelPlanOptions, file: str) -> list[str]:
    """What to do, and the command that does it; none is printed that `labels draw` would refuse."""
    there, best = plan.labelled, plan.best
    if there is not None and there.half_width <= plan.half_width:
        enough = f"{pluralize(there.labels, 'label')} suffice for ±{plan.half_width:g}{_condition(there)}"
        return [f"Next: {enough}:", _estimate(there, plan, options, file)]
    if best is None:
        few = f"{pluralize(plan.drawable, 'item')} can be drawn, and a figure takes {FEWEST_LABELS} labels"
        if there is None:
            return [f"No draw is of use: {few}."]
        return [
            f"Next: the figure of the labels that are there; {few}:",
            _estimate(there, plan, options, file),
        ]
    if plan.systems_together:
        return [
            "Next: keep the rows of this system, with --where or in a file of their own, and plan for those: "
            "`labels draw` draws from all systems that it reads."
        ]
    if plan.is_blind and options.pilot is not None:
        review = shlex.join(("steelyard", "review", str(options.pilot), "--label"))
        return ["Next: label the pilot, then plan again:", review]
    told, draw = _draw(plan, best, options)
    tune = ("--tune", str(draw.tune)) if draw.tune else ()
    words = ("-n", str(draw.size), *tune, "--design", draw.design, "--out", str(draw.out))
    try:
        prepare_draw(plain, columns_of(options.ratings), draw)
    except SteelyardError as error:
        return [f"Next: {told}, with {shlex.join(words)}. `labels draw` still refuses: {error}"]
    return [f"Next: {told}:", _command("labels draw", plan, options, file, options.pilot, *words)]


def _draw(plan: LabelPlan, best: PlannedDesign, options: LabelPlanOptions) -> tuple[str, DrawOptions]:
    """The draw with the fewest labels; before any label a pilot, where that is at most half as many."""
    size, design, name, tune = best.labels or 0, DRAWABLE[best.name], "labels", 0
    told = "draw the fewest labels"
    if plan.is_blind:
        told = "draw the labels at once, since a pilot would cost more than half as many"
        pilots = ((plans.PILOT * plan.levels, "by-verdict"), (2 * plans.PILOT, "random"))
        if small := [pilot for pilot in pilots if 2 * pilot[0] <= size]:
            (size, design), name = small[0], "pilot"
            tune, told = size, f"label a pilot of {size}, then plan with --pilot {_unused_name(name)}"
    out = Path(_unused_name(name))
    return told, DrawOptions(
        ratings=options.ratings, size=size, design=design, tune=tune, pilot=options.pilot, out=out
    )


def _unused_name(name: str) -> str:
    names = chain([name], (f"{name}-{number}" for number in count(2)))
    return next(each for each in names if not Path(each).exists())


def _estimate(there: LabelledFigure, plan: LabelPlan, options: LabelPlanOptions, file: str) -> str:
    design = ("--design", str(there.design)) if there.assumed else ()
    system = ("--system", options.system) if options.system else ()
    return _command("estimate", plan, options, file, None, *system, *design)


def _command(
    name: str, plan: LabelPlan, options: LabelPlanOptions, file: str, pilot: Path | None, *words: str
) -> str:
    """A command that reads the file as the plan did."""
    ratings = options.ratings
    people = [word for person in ratings.people for word in ("--people", person)]
    given = {"pilot": pilot and str(pilot), "scale": ratings.scale, **vars(ratings.reading)}
    reading = [word for option, value in given.items() if value for word in (f"--{option}", value)]
    return shlex.join(("steelyard", *name.split(), file, "--judge", plan.judge, *people, *reading, *words))
