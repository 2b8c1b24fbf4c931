"""`estimate`: the figure that people would give, from a judge of all items and labels of some."""

from __future__ import annotations

from dataclasses import dataclass, replace
from math import sqrt
from typing import Any

import numpy as np

from steelyard.commands.judged_items import (
    MEAN,
    JudgedFrame,
    Subject,
    choose_judge,
    choose_people,
    frame_of,
    judged_items,
    unjudged_labels,
)
from steelyard.commands.label_checks import FEWEST_LABELS, check_labels, label_design
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
from steelyard.estimation.frame import CONFIDENCE, Figure, Frame
from steelyard.estimation.label_plan import sequence_limits_of
from steelyard.estimation.random_draw import ppi_weight, slope
from steelyard.estimation.rogan_gladen import effective_counts, rogan_gladen, separates
from steelyard.importing.ratings import RatingsTable
from steelyard.metrics.multiplicity import benjamini_hochberg

SCHEMA = "steelyard.estimate/1"
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


@dataclass(frozen=True)
class EstimateReport:
    name: str
    judge: str
    people: tuple[str, ...]
    design: LabelDesign
    population: bool
    quantity: str
    """`share` of passes, `wins` of a system, `mean` of scores, or `difference` of two systems."""
    system: str | None
    versus: str | None
    items: int
    labels: int
    tasks: int
    corrected: Figure
    judge_only: Figure
    labels_only: Figure | None
    worth: Worth | None
    agreement: float | None
    missing: int = 0
    bounds: tuple[float, float] | None = None
    """Limits if the items without a verdict were all at either end of the scale."""
    strata: tuple[StratumRow, ...] = ()
    remarks: tuple[str, ...] = ()
    confidence: float = CONFIDENCE
    independence: str = ""
    """Why items are taken as independent; empty where tasks say which belong together."""
    weight: float | None = None
    """λ: weight of the judge, where the estimator has one."""
    votes: str = MEAN
    """Of several people who labelled an item, the mean or the majority is its label."""
    shared_items: int = 0
    """Items that several people labelled."""
    unanimous_items: int = 0
    """Of these, items on which all said the same."""

    def to_json(self) -> dict[str, Any]:
        figures = {
            "corrected": self.corrected,
            "judge_only": self.judge_only,
            "labels_only": self.labels_only,
        }
        return {
            "schema": SCHEMA,
            "source": self.name,
            "judge": self.judge,
            "people": list(self.people),
            "design": str(self.design),
            "of": "population" if self.population else "items",
            "quantity": self.quantity,
            "system": self.system,
            "versus": self.versus,
            "items": self.items,
            "labels": self.labels,
            "tasks": self.tasks,
            "independence": self.independence,
            **{name: _figure_body(figure, self.confidence) for name, figure in figures.items()},
            "weight": self.weight,
            "votes": self.votes,
            "shared_items": self.shared_items,
            "unanimous_items": self.unanimous_items,
            "worth": None if self.worth is None else vars(self.worth),
            "agreement": self.agreement,
            "missing_verdicts": self.missing,
            "bounds": None if self.bounds is None else list(self.bounds),
            "strata": [
                {**vars(row), "corrected": _figure_body(row.corrected, self.confidence)}
                for row in self.strata
            ],
            "remarks": list(self.remarks),
        }


def _figure_body(figure: Figure | None, confidence: float) -> dict[str, Any] | None:
    if figure is None:
        return None
    names = ("value", "low", "high", "method", "clamped")
    body = {name: getattr(figure, name) for name in names}
    return {**body, "standard_error": figure.error, "level": confidence}


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
    strays = unjudged_labels(items)
    if strays:
        remarks.append(f"Left out: {strays}.")
    check_labels(table.name, judged.frame, drawn, strays)
    shared = [item.votes for item in items.values() if len(item.votes) > 1]
    said = [vote for item in items.values() for vote in item.votes]
    quantity = _quantity(table, subject, judged.frame, said)
    ends = _ends(table.name, quantity, judged.frame)
    judged = replace(judged, frame=replace(judged.frame, ends=ends, confidence=confidence))
    frame = judged.frame
    if drawn is LabelDesign.ELSEWHERE:
        target = frame.filter(~frame.labelled)
        figure, alone = _from_elsewhere(table.name, frame, target), None
        size = target.size
    else:
        figure = (
            stratified(_labelled_strata(judged), population=population)
            if drawn is LabelDesign.STRATA
            else corrected(frame, drawn, population=population)
        )
        follows = drawn in (LabelDesign.STRATA, LabelDesign.BY_VERDICT)
        alone = None if follows else labels_only(frame, population=population).within(ends)
        target, size = frame, frame.size
    rows = _strata(judged, drawn, population=population, ends=ends) if by_stratum else ()
    if table.stopped_early and quantity in ("share", "wins"):
        figure, alone = _at_every_look(figure, judged, drawn, population=population), None
        rows = tuple(_without_limits(row) for row in rows)
        remarks.append(STOPPED)
    figure = figure.within(ends)
    return EstimateReport(
        name=table.name,
        judge=judge,
        people=tuple(sorted(people)),
        design=drawn,
        population=population,
        quantity=quantity,
        system=subject.system,
        versus=subject.versus,
        items=size,
        labels=frame.labels,
        tasks=len(np.unique(frame.cluster)),
        corrected=figure,
        judge_only=judge_only(target, population=population).within(ends),
        labels_only=alone,
        worth=(
            None
            if drawn is LabelDesign.ELSEWHERE
            else worth(frame, drawn, figure, alone, population=population)
        ),
        agreement=agreement(frame, drawn) if quantity == "share" else None,
        missing=judged.missing,
        bounds=_bounds(figure, size, judged.missing, ends),
        strata=rows,
        remarks=tuple(remarks),
        confidence=confidence,
        independence=judged.independence,
        weight=WEIGHTS[figure.method](frame) if figure.method in WEIGHTS else None,
        votes=subject.votes,
        shared_items=len(shared),
        unanimous_items=sum(len(set(votes)) == 1 for votes in shared),
    )


def _without_limits(row: StratumRow) -> StratumRow:
    figure = None if row.corrected is None else replace(row.corrected, low=None, high=None)
    return replace(row, corrected=figure, p=None)


def _at_every_look(figure: Figure, judged: JudgedFrame, design: LabelDesign, *, population: bool) -> Figure:
    """The same figure with limits that hold however often somebody looked before labelling stopped.

    Labels are read by what they were drawn by; within a verdict a random draw is random too.
    """
    frame = judged.frame
    levels = np.array(judged.strata) if design is LabelDesign.STRATA else frame.judge
    if design is LabelDesign.ODDS and frame.odds is not None:
        levels = frame.odds
    elif design is LabelDesign.RANDOM and not np.isin(frame.judge, (0.0, 1.0)).all():
        levels = np.zeros(frame.size)
    parts = []
    for level in np.unique(levels):
        here = levels == level
        values = frame.people[here & frame.labelled]
        parts.append((float(here.mean()), float(values.sum()), len(values)))
    low, high = sequence_limits_of(parts, 1 - frame.confidence)
    between = sum(share * (total / max(1, n) - figure.value) ** 2 for share, total, n in parts) / frame.size
    more = frame.quantile() ** 2 * between * population  # another sample of items would differ too
    low = figure.value - sqrt(max(figure.value - low, 0.0) ** 2 + more)
    high = figure.value + sqrt(max(high - figure.value, 0.0) ** 2 + more)
    return Figure(figure.value, low, high, (high - low) / (2 * frame.quantile()), "at_every_look")


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


def _strata(
    judged: JudgedFrame, design: LabelDesign, *, population: bool, ends: tuple[float, float]
) -> tuple[StratumRow, ...]:
    made = []
    inner = LabelDesign.RANDOM if design is LabelDesign.STRATA else design
    for name, part in judged.by_stratum().items():
        mean = float(part.judge.mean())
        enough = part.labels >= FEWEST_LABELS and design is not LabelDesign.ELSEWHERE
        if inner is LabelDesign.BY_VERDICT:
            levels = np.unique(part.judge)
            enough = enough and all((part.f == level).any() for level in levels)
        figure = corrected(part, inner, population=population).within(ends) if enough else None
        p = None if figure is None else two_sided_p(figure, mean)
        made.append(StratumRow(name, part.size, part.labels, mean, figure, p))
    adjusted = benjamini_hochberg([row.p for row in made])
    return tuple(StratumRow(**{**vars(row), "p": p}) for row, p in zip(made, adjusted, strict=True))


def _quantity(table: RatingsTable, subject: Subject, frame: Frame, votes: list[float]) -> str:
    if table.is_pairwise:
        return "wins"
    if subject.versus is not None:
        return "difference"
    whole = np.isin(votes, (0.0, 1.0)).all() and frame.judge.min() >= 0 and frame.judge.max() <= 1
    return "share" if whole else "mean"


def _ends(name: str, quantity: str, frame: Frame) -> tuple[float, float]:
    """Ends of the scale: those of a share, or the lowest and highest that anybody gave."""
    if quantity in ("share", "wins"):
        return 0.0, 1.0
    both = np.concatenate([frame.judge, frame.y])
    if quantity == "difference":
        reach = max(1.0, float(np.abs(both).max()))
        return -reach, reach
    low, high = float(both.min()), float(both.max())
    if low == high:
        raise DataError(
            f"{name}: every verdict and label is {low:g}, expected some that differ, since one value tells "
            "no scale and so no interval; map it to 1 or 0 with --values, or label other items."
        )
    return low, high


def _bounds(
    figure: Figure, items: int, missing: int, ends: tuple[float, float]
) -> tuple[float, float] | None:
    if not missing or figure.low is None or figure.high is None:
        return None
    total = items + missing
    return (items * figure.low + missing * ends[0]) / total, (items * figure.high + missing * ends[1]) / total
