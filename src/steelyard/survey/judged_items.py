"""Ratings as judged items: what a figure is about, and whether its labels carry it."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from math import sqrt
from statistics import fmean, multimode
from typing import Any

import numpy as np

from steelyard.core.text import pluralize
from steelyard.errors import DataError, UnknownNameError
from steelyard.estimation.designs import LabelDesign, recorded_design
from steelyard.estimation.estimators import MOST_LEVELS
from steelyard.estimation.frame import Frame, clustered_variance
from steelyard.importing.ratings import HUMAN, JUDGE, Rating, RatingsTable, independence
from steelyard.metrics.stats.distributions import normal_probability
from steelyard.metrics.stats.intervals import SHARE, Span
from steelyard.survey.options import RatingOptions
from steelyard.tasks.task import USUAL_ENDS, ends_of, usual_ends

TUNE = "tune"
MEAN, MAJORITY = "mean", "majority"
FEWEST_LABELS = 10
UNLIKELY = 0.001
"""Below this p the labelled items are no random draw of the judged ones."""


@dataclass(slots=True)
class JudgedItem:
    task: str = ""
    stratum: str = ""
    odds: float | None = None
    verdicts: list[float | None] = field(default_factory=list)
    votes: list[float] = field(default_factory=list)

    @property
    def score(self) -> float | None:
        """Mean of the judge's repeats; None where none of them has a verdict."""
        known = [value for value in self.verdicts if value is not None]
        return fmean(known) if known else None

    def label(self, votes: str = MEAN) -> float | None:
        """The mean of people's votes, or what most of them said; votes that are as many are averaged."""
        if not self.votes:
            return None
        return fmean(self.votes if votes == MEAN else multimode(self.votes))


@dataclass(frozen=True)
class Subject:
    """What a figure is about; what is left open must be the only one there is."""

    judge: str | None = None
    people: Sequence[str] = ()
    criterion: str | None = None
    system: str | None = None
    versus: str | None = None
    votes: str = MEAN
    """What the label of an item is that several people labelled: the mean of their votes, or the majority."""
    scale: str | None = None
    """Of the scores, as it was stated."""

    @classmethod
    def of(cls, options: RatingOptions, **about: Any) -> Subject:
        reading = options.reading
        return cls(options.judge, options.people, reading.criterion, scale=options.scale, **about)


def choose(noun: str, option: str, given: str | None, known: Sequence[str], where: str) -> str:
    """The name that was given, or the only one there is."""
    if given is None and len(known) == 1:
        return known[0]
    names = ", ".join(map(repr, known[:12])) or "none"
    if given is None:
        raise DataError(
            f"{where}: found {pluralize(len(known), noun, _MANY.get(noun))}: {names}; expected one; name "
            f"it with {option}."
        )
    if given not in known:
        raise UnknownNameError(f"{where}: no {noun} {given!r}, expected one of {names}; correct {option}.")
    return given


_MANY = {"criterion": "criteria"}


def choose_judge(table: RatingsTable, given: str | None) -> str:
    judges = list(table.raters(JUDGE))
    if given is None and not judges:
        raise DataError(
            f"{table.name}: found no judge's verdicts, expected those of one; name their column with "
            "--judge, or measure the judge on these texts (`steelyard measure`) and give its run folder."
        )
    if given is not None and given in table.raters(HUMAN):
        raise DataError(
            f"{table.name}: rater {given!r} is of kind human, expected a judge; name a judge with --judge."
        )
    return choose("judge", "--judge", given, judges, table.name)


def choose_people(table: RatingsTable, given: Sequence[str]) -> frozenset[str]:
    """Raters that count as people: all of kind human, or those that were named."""
    known = table.raters(HUMAN)
    for name in given:
        if name in table.raters(JUDGE):
            raise DataError(
                f"{table.name}: rater {name!r} is of kind judge, expected people; labels by a model are no "
                "labels by people, so name others with --people."
            )
        if not known:
            raise DataError(
                f"{table.name}: no label of {name!r} found, expected some; fill the column, or name another "
                "with --people."
            )
        if name not in known:
            names = ", ".join(map(repr, list(known)[:12])) or "none"
            raise UnknownNameError(
                f"{table.name}: no person {name!r}, expected one of {names}; correct --people."
            )
    return frozenset(given or known)


@dataclass(frozen=True)
class ScoreScale:
    ends: Span | None
    """Lowest and highest score; None where all scores are one, which tells no scale."""
    assumption: str = ""
    """What is assumed where nothing states the scale; empty where it is known."""


def score_scale(table: RatingsTable, subject: Subject) -> ScoreScale:
    """Ends of the scale: as they are stated, of the draw or run, or else assumed.

    Assumed is the narrowest usual scale that holds the judge's and people's scores, or where none does, one
    as wide as these.
    """
    if table.is_pairwise:
        if subject.scale is not None:
            raise DataError(f"{table.name}: comparisons found, expected scores for --scale; leave it out.")
        return ScoreScale(SHARE)
    judge, people = choose_judge(table, subject.judge), choose_people(table, subject.people)
    criterion = choose("criterion", "--criterion", subject.criterion, table.criteria, table.name)
    given = [
        row.value
        for row in table.ratings
        if row.criterion == criterion and (row.rater == judge or (row.kind == HUMAN and row.rater in people))
    ]
    scores = sorted(score for score in given if score is not None) or [0.0]
    low, high = scores[0], scores[-1]
    if subject.scale is not None:
        ends = ends_of(subject.scale)
        if ends is None:
            raise DataError(
                f"{table.name}: --scale {subject.scale} found, expected scores for --scale; leave it out."
            )
        outside = [score for score in scores if not ends[0] <= score <= ends[1]]
        if outside:
            raise DataError(
                f"{table.name}: score {outside[0]:g} found, expected none outside --scale {subject.scale}; "
                "correct one or the other."
            )
        return ScoreScale(ends)
    if table.scale is not None:
        return ScoreScale((min(low, table.scale[0]), max(high, table.scale[1])))
    if low == high and not SHARE[0] <= low <= SHARE[1]:
        return ScoreScale(None)
    ends = usual_ends(low, high)
    usual = "scores are on a scale of {:g} to {:g}"
    seen = "no score is below {:g} or above {:g}, the lowest and highest seen"
    told = usual if ends in USUAL_ENDS else seen
    return ScoreScale(ends, "" if ends == SHARE else f"{told.format(*ends)} (else say --scale)")


def judged_items(table: RatingsTable, subject: Subject) -> tuple[dict[str, JudgedItem], list[str]]:
    """Items by id with the judge's scores and people's labels, and what was left out."""
    judge = choose_judge(table, subject.judge)
    people = choose_people(table, subject.people)
    criterion = choose("criterion", "--criterion", subject.criterion, table.criteria, table.name)
    rows = [row for row in table.ratings if row.criterion == criterion]
    rows = [row for row in rows if row.rater == judge or (row.kind == HUMAN and row.rater in people)]
    tuned = {row.item for row in rows if row.split == TUNE}
    remarks = []
    if tuned:
        remarks.append(f"{pluralize(len(tuned), 'item')} left out: the judge was tuned on them.")
        rows = [row for row in rows if row.item not in tuned]
    if table.is_pairwise:
        first = _compared(rows, table, subject)
        return first, [*remarks, *_repeats(judge, first)]
    systems = list(dict.fromkeys(row.system for row in rows))
    system = choose("system", "--system", subject.system, systems, table.name)
    first = _of(row for row in rows if row.system == system)
    remarks += _repeats(judge, first)
    if subject.versus is None:
        return first, remarks
    versus = choose("system", "--versus", subject.versus, systems, table.name)
    second = _of(row for row in rows if row.system == versus)
    return _differences(first, second, subject.votes), remarks


def _repeats(judge: str, items: Mapping[str, JudgedItem]) -> list[str]:
    """What a judge said of one item more than once: repeats, both orders, or rows that stand there twice."""
    several = [item.verdicts for item in items.values() if len(item.verdicts) > 1]
    differ = sum(len(set(verdicts)) > 1 for verdicts in several)
    told = f"{judge} rated {pluralize(len(several), 'item')} several times, {differ:,} of them differently"
    return [f"{told}: the mean of its verdicts counts."] if several else []


def _of(rows: Iterable[Rating]) -> dict[str, JudgedItem]:
    items: defaultdict[str, JudgedItem] = defaultdict(JudgedItem)
    for row in rows:
        item = items[row.item]
        item.task, item.stratum = row.task or item.task, row.stratum or item.stratum
        item.odds = row.p_drawn if item.odds is None else item.odds
        if row.kind == HUMAN:
            item.votes += [] if row.value is None else [row.value]
        else:
            item.verdicts.append(row.value)
    return dict(items)


def pair_name(item: str, *sides: str) -> str:
    """Name of a comparison among judged items, whichever slot each system stood in."""
    return f"{item} {'–'.join(sorted(sides))}"


def _compared(rows: Sequence[Rating], table: RatingsTable, subject: Subject) -> dict[str, JudgedItem]:
    """Wins of the named system, whichever slot it stood in; a win rate of a slot would be of no system."""
    system = choose("system", "--system", subject.system, table.systems, table.name)
    others = [name for name in table.systems if name != system]
    wanted = (
        {choose("system", "--versus", subject.versus, others, table.name)} if subject.versus else set(others)
    )
    turned = []
    for row in rows:
        sides = row.system, row.versus
        if system in sides and (set(sides) - {system}) <= wanted:
            won = row.value if row.system == system else None if row.value is None else 1 - row.value
            key = pair_name(row.item, *sides)
            turned.append(
                Rating(key, row.rater, row.kind, won, task=row.task, stratum=row.stratum, p_drawn=row.p_drawn)
            )
    return _of(turned)


def _differences(
    first: dict[str, JudgedItem], second: dict[str, JudgedItem], votes: str
) -> dict[str, JudgedItem]:
    """Paired by item: the difference of two systems has an interval of its own."""
    made = {}
    for name in first.keys() & second.keys():
        one, other = first[name], second[name]
        item = JudgedItem(one.task, one.stratum, one.odds)
        scores, labels = (one.score, other.score), (one.label(votes), other.label(votes))
        item.verdicts = [None if None in scores else scores[0] - scores[1]]  # type: ignore[operator]
        if labels[0] is not None and labels[1] is not None:
            item.votes = [labels[0] - labels[1]]
        made[name] = item
    return made


@dataclass(frozen=True, eq=False)
class JudgedFrame:
    frame: Frame
    strata: list[str]
    missing: int
    """Items that have no verdict, and so are not in the frame."""
    without_odds: int = 0
    independence: str = ""

    def by_stratum(self) -> dict[str, Frame]:
        place = np.array(self.strata)
        return {name: self.frame.filter(place == name) for name in sorted(set(self.strata))}


def frame_of(items: dict[str, JudgedItem], votes: str = MEAN) -> JudgedFrame:
    known = [items[name] for name in sorted(items) if items[name].score is not None]
    unjudged = sum(bool(item.verdicts) and item.score is None for item in items.values())
    tasks: dict[str, int] = {}
    alone = len(items)
    cluster = [
        tasks.setdefault(item.task, len(tasks)) if item.task else (alone := alone + 1) for item in known
    ]
    odds, labels = [item.odds for item in known], [item.label(votes) for item in known]
    frame = Frame(
        np.array([item.score for item in known], dtype=np.float64),
        np.array([np.nan if label is None else label for label in labels], dtype=np.float64),
        np.array(cluster, dtype=np.int64),
        None if None in odds or not odds else np.array(odds, dtype=np.float64),
    )
    assumed = independence(item.task for item in known)
    return JudgedFrame(frame, [item.stratum for item in known], unjudged, odds.count(None), assumed)


def label_design(
    table: RatingsTable, given: LabelDesign | None, judged: JudgedFrame, subject: Subject
) -> LabelDesign:
    frame = judged.frame
    if 0 < judged.without_odds < frame.size:
        raise DataError(
            f"{table.name}: p_drawn is empty for {judged.without_odds:,} of {pluralize(frame.size, 'item')}, "
            "expected every item's chance of being drawn; fill it, or remove the column."
        )
    if frame.odds is not None:
        recorded = recorded_design(frame, judged.strata)
        if given not in (None, recorded, LabelDesign.ODDS):
            raise DataError(
                f"{table.name}: p_drawn records a draw by {recorded}, found --design {given}; remove the "
                "option, or the column."
            )
        drawn = given or recorded
    elif given is None:
        raise DataError(
            f"{table.name}: how the labels were drawn is not recorded, expected p_drawn or a design; say "
            "--design random, by-verdict, strata or elsewhere."
        )
    elif given is LabelDesign.ODDS:
        raise DataError(
            f"{table.name}: --design odds without the odds, expected a column p_drawn for every item; add "
            "it, or name another design."
        )
    else:
        drawn = given
    if drawn is LabelDesign.STRATA and not any(judged.strata):
        raise DataError(
            f"{table.name}: --design strata without strata, expected a column stratum; add it with --columns "
            "stratum=COLUMN."
        )
    if (
        subject.versus is not None
        and drawn in (LabelDesign.BY_VERDICT, LabelDesign.ELSEWHERE)
        and not table.is_pairwise
    ):
        raise DataError(
            f"{table.name}: labels drawn {drawn} found, expected a draw that does not follow the verdicts "
            "on one system; a difference of two systems needs --design random."
        )
    return drawn


def check_labels(name: str, frame: Frame, design: LabelDesign, strays: str) -> None:
    """Refuse labels that do not carry the claim."""
    if frame.labels < FEWEST_LABELS:
        raise DataError(
            f"{name}: {pluralize(frame.labels, 'item')} with both a verdict and a label found"
            f"{f', and {strays}' if strays else ''}, expected at least {FEWEST_LABELS}; "
            f"{'write the ids alike' if strays else 'label more items of those that were judged'}."
        )
    one_task = frame.is_clustered and len(np.unique(frame.label_clusters)) == 1
    if one_task and design is not LabelDesign.ELSEWHERE:
        raise DataError(
            f"{name}: every label lies in one task of {len(np.unique(frame.cluster)):,}, expected labels of "
            "several, since they say nothing of the others; label items of other tasks."
        )
    if design is LabelDesign.ELSEWHERE and frame.labels == frame.size:
        raise DataError(
            f"{name}: every judged item is labelled, expected judged items without labels for --design "
            "elsewhere; add them, or name the design by which these were drawn."
        )
    if design is LabelDesign.BY_VERDICT:
        levels = np.unique(frame.judge)
        if len(levels) > MOST_LEVELS:
            raise DataError(
                f"{name}: the judge gave {len(levels)} different scores, expected at most {MOST_LEVELS} "
                "for a draw by verdict; record p_drawn for every item."
            )
        for level in levels:
            here = frame.judge == level
            if not (here & frame.labelled).any():
                raise DataError(
                    f"{name}: no label among {pluralize(int(here.sum()), 'item')} that the judge gave "
                    f"{level:g}, expected some of every verdict for --design by-verdict; label some of them."
                )
    if design is LabelDesign.RANDOM:
        _refuse_chosen(name, frame)


def _refuse_chosen(name: str, frame: Frame) -> None:
    """Labels that were chosen for what the judge said are no random draw."""
    rest = frame.unlabelled_share
    spread = float(frame.judge.var(ddof=1))
    if rest == 0 or spread == 0:
        return
    n = frame.labels
    variance = spread / n * rest
    if frame.is_clustered:
        apart = (frame.f - frame.judge.mean()) / n
        variance = max(variance, clustered_variance(apart, frame.label_clusters)[0])
    gap = float(frame.f.mean() - frame.judge.mean())
    if 2 * normal_probability(-abs(gap) / sqrt(variance)) < UNLIKELY:
        raise DataError(
            f"{name}: the judge's mean is {frame.f.mean():.3f} on labelled items and "
            f"{frame.judge.mean():.3f} on all, expected about the same of a random draw; name the design "
            "by which they were drawn, or draw labels at random."
        )
