"""The command to run after `labels plan`, tried before it is printed."""

from __future__ import annotations

import shlex
from itertools import chain, count
from pathlib import Path

from steelyard.core.text import pluralize
from steelyard.errors import SteelyardError
from steelyard.estimation.label_plan import PILOT
from steelyard.importing.ratings import RatingsTable
from steelyard.survey.draw_labels import prepare_draw
from steelyard.survey.judged_items import FEWEST_LABELS
from steelyard.survey.options import DrawOptions, LabelPlanOptions
from steelyard.survey.plan_labels import DRAWABLE, LabelledFigure, LabelPlan, PlannedDesign
from steelyard.survey.rating_files import columns_of


def next_step(plan: LabelPlan, plain: RatingsTable, options: LabelPlanOptions, file: str) -> list[str]:
    """What to do, and the command that does it; none is printed that `labels draw` would refuse."""
    there, best = plan.labelled, plan.best
    if there is not None and plan.suffices:
        enough = f"{pluralize(there.labels, 'label')} suffice for ±{plan.half_width:g}{there.condition}"
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
        pilots = ((PILOT * plan.levels, "by-verdict"), (2 * PILOT, "random"))
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
