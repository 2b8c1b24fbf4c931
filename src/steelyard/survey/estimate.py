"""`estimate`: the figure that people would give, from a judge of all items and labels of some."""

from __future__ import annotations

from dataclasses import dataclass, replace
from math import sqrt
from typing import Any

import numpy as np

from steelyard.core.text import pluralize
from steelyard.errors import DataError
from steelyard.estimation.designs import (
    LabelDesign,
    Worth,
    agreement,
    corrected,
    judge_only,
    labels_only,
    stratified,
    two_sided_p,
    worth,
)
from steelyard.estimation.estimators import effective_counts, ppi_weight, rogan_gladen, separates, slope
from steelyard.estimation.frame import CONFIDENCE, Figure, Frame
from steelyard.estimation.label_plan import sequence_limits_of
from steelyard.importing.ratings import RatingsTable
from steelyard.metrics.multiplicity import benjamini_hochberg
from steelyard.metrics.stats.intervals import SHARE, Span
from steelyard.run_folder.published_files import ESTIMATE_SCHEMA
from steelyard.survey.judged_items import (
    FEWEST_LABELS,
    JudgedFrame,
    JudgedItem,
    Subject,
    check_labels,
    choose_judge,
    choose_people,
    frame_of,
    judged_items,
    label_design,
    score_scale,
)

STOPPED = (
    "Labelling may have stopped early by its declared rule: the corrected interval holds however often "
    "somebody looked; others are left out."
)
WEIGHTS = {"greg": slope, "ppi++": ppi_weight}
"""λ of the estimators that have one."""


@dataclass(frozen=True)
class StratumRow:
    name: str
    items: int
    labels: int
    judge: float
    corrected: Figure | None
    """None where there are too few labels."""
    p: float | None = None
    """Of the judge being right on average here, adjusted over strata (Benjamini and Hochberg)."""


@dataclass(frozen=True, kw_only=True)
class EstimateReport:
    """In the order of its JSON."""

    source: str
    judge: str
    people: tuple[str, ...]
    design: LabelDesign
    of: str
    """What the claim is about: these `items`, or the `population` behind them."""
    quantity: str
    """`share` of passes, `wins` of a system, `mean` of scores, or `difference` of two systems."""
    system: str | None
    versus: str | None
    scale: tuple[float, float]
    """Ends of the scale that the figure may have."""
    scale_assumed: str
    """What is assumed of it where nothing states it; empty where it is known."""
    items: int
    labels: int
    tasks: int
    independence: str
    """Why items are taken as independent; empty where tasks say which belong together."""
    corrected: Figure
    judge_only: Figure
    labels_only: Figure | None
    weight: float | None
    """λ: weight of the judge, where the estimator has one."""
    votes: str
    """Of several people who labelled an item, the mean or the majority is its label."""
    shared_items: int
    """Items that several people labelled."""
    unanimous_items: int
    """Of these, items on which all said the same."""
    worth: Worth | None
    agreement: float | None
    missing_verdicts: int
    bounds: tuple[float, float] | None
    """Limits if the items without a verdict were all at either end of the scale."""
    strata: tuple[StratumRow, ...]
    remarks: tuple[str, ...]
    confidence: float
    """In the JSON of each figure."""

    @property
    def population(self) -> bool:
        return self.of == "population"

    @property
    def is_share(self) -> bool:
        return self.quantity in ("share", "wins")

    def to_json(self) -> dict[str, Any]:
        body = {"schema": ESTIMATE_SCHEMA, **_with_bodies(self, self.confidence)}
        body |= {
            "worth": None if self.worth is None else vars(self.worth),
            "strata": [_with_bodies(row, self.confidence) for row in self.strata],
        }
        del body["confidence"]
        return body


def _with_bodies(row: EstimateReport | StratumRow, confidence: float) -> dict[str, Any]:
    """The fields of a row; figures with their level of confidence."""
    return {
        name: part.to_json() | {"clamped": part.clamped, "standard_error": part.error, "level": confidence}
        if isinstance(part, Figure)
        else part
        for name, part in vars(row).items()
    }


def estimate(
    table: RatingsTable,
    subject: Subject,
    design: LabelDesign | None = None,
    *,
    population: bool = False,
    by_stratum: bool = False,
    confidence: float = CONFIDENCE,
) -> EstimateReport:
    judge, people = choose_judge(table, subject.judge), choose_people(table, subject.people)
    if not people:
        raise DataError(
            f"{table.name}: no human ratings found, expected people's labels of some items; add them with "
            "--labels FILE, or name their column with --people."
        )
    items, remarks = judged_items(table, subject)
    judged = frame_of(items, subject.votes)
    if not judged.frame.size:
        raise DataError(
            f"{table.name}: judge {judge!r} gave no verdict on any of {pluralize(judged.missing, 'item')}, "
            "expected some; ask the judge again."
        )
    drawn = label_design(table, design, judged, subject)
    strays = _unjudged_labels(items)
    if strays:
        remarks.append(f"Left out: {strays}.")
    check_labels(table.name, judged.frame, drawn, strays)
    shared = [item.votes for item in items.values() if len(item.votes) > 1]
    said = [vote for item in items.values() for vote in item.votes]
    scale = score_scale(table, subject)
    quantity = _quantity(table, subject, said, scale.ends)
    ends = _ends(table.name, quantity, judged.frame, scale.ends)
    frame = replace(judged.frame, ends=ends, confidence=confidence, of_population=population)
    judged = replace(judged, frame=frame)
    if drawn is LabelDesign.ELSEWHERE:
        target = frame.filter(~frame.labelled)
        figure, alone = _from_elsewhere(table.name, frame, target), None
        size = target.size
    else:
        figure = _corrected(judged, drawn)
        follows = drawn in (LabelDesign.STRATA, LabelDesign.BY_VERDICT)
        alone = None if follows else labels_only(frame).within(ends)
        target, size = frame, frame.size
    rows = _strata(judged, drawn, ends) if by_stratum else ()
    if table.stopped_early:
        span = (-1.0, 1.0) if quantity == "difference" else (0.0, 1.0)  # labels are yes or no
        figure, alone = _at_every_look(figure, judged, drawn, span), None
        rows = tuple(replace(row, corrected=row.corrected and row.corrected.bare, p=None) for row in rows)
        remarks.append(STOPPED)
    figure = figure.within(ends)
    return EstimateReport(
        source=table.name,
        judge=judge,
        people=tuple(sorted(people)),
        design=drawn,
        of="population" if population else "items",
        quantity=quantity,
        system=subject.system,
        versus=subject.versus,
        scale=ends,
        scale_assumed=scale.assumption,
        items=size,
        labels=frame.labels,
        tasks=len(np.unique(frame.cluster)),
        independence=judged.independence,
        corrected=figure,
        judge_only=judge_only(target).within(ends),
        labels_only=alone,
        weight=WEIGHTS[figure.method](frame) if figure.method in WEIGHTS else None,
        votes=subject.votes,
        shared_items=len(shared),
        unanimous_items=sum(len(set(votes)) == 1 for votes in shared),
        worth=None if drawn is LabelDesign.ELSEWHERE else worth(frame, drawn, figure, alone),
        agreement=agreement(frame, drawn) if quantity == "share" else None,
        missing_verdicts=judged.missing,
        bounds=_bounds(figure, size, judged.missing, ends),
        strata=rows,
        remarks=tuple(remarks),
        confidence=confidence,
    )


def _corrected(judged: JudgedFrame, design: LabelDesign) -> Figure:
    by_strata = design is LabelDesign.STRATA
    return stratified(_labelled_strata(judged)) if by_strata else corrected(judged.frame, design)


def _at_every_look(figure: Figure, judged: JudgedFrame, design: LabelDesign, span: Span) -> Figure:
    """The same figure with limits that hold however often somebody looked before labelling stopped.

    Labels are read by what they were drawn by; within a verdict a random draw is random too. A confidence
    sequence takes values between 0 and 1, so labels and differences are read as their place in `span`. It
    takes them as independent: where items share tasks the limits reach as many times further as those of a
    fixed number of labels do, and never less far than these.
    """
    frame, (least, most) = judged.frame, span
    levels = np.array(judged.strata) if design is LabelDesign.STRATA else frame.judge
    if design is LabelDesign.ODDS and frame.odds is not None:
        levels = frame.odds
    elif design is LabelDesign.RANDOM and not np.isin(frame.judge, (-1.0, 0.0, 1.0)).all():
        levels = np.zeros(frame.size)
    parts = []
    for level in np.unique(levels):
        here = levels == level
        values = (frame.people[here & frame.labelled] - least) / (most - least)
        parts.append((float(here.mean()), float(values.sum()), len(values)))
    ends = sequence_limits_of(parts, 1 - frame.confidence)
    low, high = (least + (most - least) * end for end in ends)
    means = [(share, least + (most - least) * total / max(1, n)) for share, total, n in parts]
    between = sum(share * (mean - figure.value) ** 2 for share, mean in means) / frame.size
    more = frame.quantile() ** 2 * between * frame.of_population  # another sample of items would differ too
    spread = _task_spread(figure, judged, design)
    low = figure.value - spread * sqrt(max(figure.value - low, 0.0) ** 2 + more)
    high = figure.value + spread * sqrt(max(high - figure.value, 0.0) ** 2 + more)
    if figure.low is not None and figure.high is not None:
        low, high = min(low, figure.low), max(high, figure.high)
    return Figure(figure.value, low, high, (high - low) / (2 * frame.quantile()), "at_every_look")


def _task_spread(figure: Figure, judged: JudgedFrame, design: LabelDesign) -> float:
    """How many times wider the interval is than it would be if every item were a task of its own."""
    frame = judged.frame
    if not frame.is_clustered:
        return 1.0
    apart = replace(judged, frame=replace(frame, cluster=np.arange(frame.size)))
    alone = _corrected(apart, design).half_width
    return max(1.0, (figure.half_width or 0.0) / alone) if alone else 1.0


def _from_elsewhere(name: str, frame: Frame, target: Frame) -> Figure:
    if not (frame.binary_labels and np.isin(frame.judge, (0.0, 1.0)).all()):
        raise DataError(
            f"{name}: scores other than 0 and 1 found, expected yes or no for labels from elsewhere; draw "
            "labels from these items instead."
        )
    good, bad = frame.y == 1, frame.y == 0
    right = frame.f == frame.y
    hits, rejections = int(right[good].sum()), int(right[bad].sum())
    shares = [
        effective_counts(right[kind].astype(float), frame.label_clusters[kind])
        for kind in (good, bad)
        if kind.any()
    ]
    if len(shares) < 2 or not separates(*shares):
        raise DataError(
            f"{name}: sensitivity {hits} of {int(good.sum())} and specificity {rejections} of "
            f"{int(bad.sum())} are not shown to add up to more than 1, expected a judge that tells good "
            "from bad; label some of these items instead."
        )
    passed = effective_counts(target.judge, target.cluster)
    return rogan_gladen(passed, shares[0], shares[1], frame.confidence)


def _labelled_strata(judged: JudgedFrame) -> list[Frame]:
    parts = judged.by_stratum()
    for name, part in parts.items():
        if part.labels < 2:
            raise DataError(
                f"stratum {name!r}: {pluralize(part.labels, 'label')} found among "
                f"{pluralize(part.size, 'item')}, expected at least 2 of each for --design strata; label "
                "more of it."
            )
    return list(parts.values())


def _strata(judged: JudgedFrame, design: LabelDesign, ends: Span) -> tuple[StratumRow, ...]:
    made = []
    inner = LabelDesign.RANDOM if design is LabelDesign.STRATA else design
    for name, part in judged.by_stratum().items():
        mean = float(part.judge.mean())
        enough = part.labels >= FEWEST_LABELS and design is not LabelDesign.ELSEWHERE
        if inner is LabelDesign.BY_VERDICT:
            levels = np.unique(part.judge)
            enough = enough and all((part.f == level).any() for level in levels)
        figure = corrected(part, inner).within(ends) if enough else None
        p = None if figure is None else two_sided_p(figure, mean)
        made.append(StratumRow(name, part.size, part.labels, mean, figure, p))
    adjusted = benjamini_hochberg([row.p for row in made])
    return tuple(replace(row, p=p) for row, p in zip(made, adjusted, strict=True))


def _quantity(table: RatingsTable, subject: Subject, votes: list[float], scale: Span | None) -> str:
    if table.is_pairwise:
        return "wins"
    if subject.versus is not None:
        return "difference"
    return "share" if scale == SHARE and np.isin(votes, (0.0, 1.0)).all() else "mean"


def _ends(name: str, quantity: str, frame: Frame, scale: Span | None) -> Span:
    """Ends of what the figure may be: those of a share, of the scale, or of its differences."""
    if quantity in ("share", "wins"):
        return SHARE
    if quantity == "difference":
        reach = 1.0 if scale is None else scale[1] - scale[0]
        return -reach, reach
    if scale is None:
        raise DataError(
            f"{name}: every verdict and label is {frame.judge[0]:g}, expected some that differ, since one "
            "value tells no scale and so no interval; say --scale, map it to 1 or 0 with --values, or label "
            "other items."
        )
    return scale


def _bounds(
    figure: Figure, items: int, missing: int, ends: tuple[float, float]
) -> tuple[float, float] | None:
    if not missing or figure.low is None or figure.high is None:
        return None
    total = items + missing
    return (items * figure.low + missing * ends[0]) / total, (items * figure.high + missing * ends[1]) / total


def _unjudged_labels(items: dict[str, JudgedItem]) -> str:
    """What labels of items that the judge did not rate come to: none of the figures; empty without such."""
    names = sorted(name for name, item in items.items() if item.votes and not item.verdicts)
    if not names:
        return ""
    return f"{pluralize(len(names), 'labelled item')} not rated by the judge, the first {names[0]!r}"


@dataclass(frozen=True)
class LabelledFigure:
    """What `estimate` makes of the labels that the file has already."""

    labels: int
    items: int
    half_width: float
    design: LabelDesign
    assumed: bool
    """Nothing records the design: it is one that these labels do not refute."""


def labelled_figure(table: RatingsTable, subject: Subject) -> LabelledFigure | None:
    """The figure that the labels make by the recorded design, else by the first that they do not refute."""
    for design in (None, LabelDesign.RANDOM, LabelDesign.BY_VERDICT):
        try:
            found = estimate(table, subject, design)
        except DataError:
            continue
        if (width := found.corrected.half_width) is not None:
            return LabelledFigure(found.labels, found.items, width, found.design, design is not None)
    return None
