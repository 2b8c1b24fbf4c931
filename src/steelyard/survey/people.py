"""`people`: whether people agree enough to tell, and whether a judge may stand in for one of them."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from steelyard.core.json_dataclasses import to_body
from steelyard.core.text import pluralize
from steelyard.errors import DataError
from steelyard.estimation.frame import Figure
from steelyard.estimation.raters import (
    AnnotatorTest,
    agreement_with,
    alternative_annotator,
    krippendorff,
    mean_on_scale,
    mean_over_tasks,
    severity,
)
from steelyard.importing.ratings import JUDGE, RatingsTable, independence, task_numbers
from steelyard.survey.judged_items import choose, choose_people
from steelyard.survey.options import PeopleOptions
from steelyard.tasks.task import usual_ends

SCHEMA = "steelyard.people/1"
FEWEST_SHARED = 10
AT_CEILING, WITHIN, BELOW = "at the ceiling", "below the ceiling, within epsilon", "below the ceiling"
UNDECIDED = "undecided"
DISAGREE = "people disagree too much to say"
ENOUGH = 0.5
"""Share of people whom a judge at the ceiling may replace, at least."""


@dataclass(frozen=True)
class Person:
    name: str
    items: int
    severity: Figure | None
    """How far the person rates above the others."""
    agreement: Figure | None
    """Share of the others who say the same."""


@dataclass(frozen=True)
class JudgeAmongPeople:
    judge: str
    verdict: str
    gap: Figure | None
    """Judge less person in being closest to the others, −1 to 1; 0 is as good as a person."""
    winning_rate: float | None
    """ω: share of annotators whom the judge may replace."""
    advantage: float | None
    """ρ: how often the judge is at least as close to the others."""
    tests: tuple[AnnotatorTest, ...]
    majority: tuple[int, int]
    """Items on which the judge says what most people say, of those with a majority."""
    any_person: tuple[int, int]
    """Items on which the judge says what somebody says, where several answers may be right."""
    agreement: Figure | None
    """Share of people who say the same, on the items that several rated: a person's own is the ceiling."""
    squared_error: Figure | None
    """Mean squared distance of the judge from the mean of people's votes; None of categories."""
    strange: tuple[int, str] | None = None
    """Answers that are a category of no person's, and the first of them."""


@dataclass(frozen=True)
class PeopleReport:
    """In the order of its JSON."""

    source: str
    level: str
    epsilon: float
    items: int
    shared_items: int
    """Items that several people rated."""
    alpha: Figure
    people: tuple[Person, ...]
    judges: tuple[JudgeAmongPeople, ...]
    split: tuple[str, ...]
    """Items without a majority."""
    independence: str = ""
    """Why items are taken as independent; empty where tasks say which belong together."""
    categories: tuple[str, ...] = ()
    """Words that people and judges gave, where ratings are words."""

    def to_json(self) -> dict[str, Any]:
        return {"schema": SCHEMA, **to_body(vars(self))}


def people(table: RatingsTable, options: PeopleOptions) -> PeopleReport:
    """Agreement of people, and judges among them."""
    words = table.words
    level, epsilon = options.level, options.epsilon
    chosen = sorted(choose_people(table, options.people))
    aspect = choose("criterion", "--criterion", options.reading.criterion, table.criteria, table.name)
    known = list(table.raters(JUDGE))
    wanted = [choose("judge", "--judge", judge, known, table.name) for judge in options.judges] or known
    rows = [row for row in table.ratings if row.criterion == aspect and row.value is not None]
    keys = sorted({(row.item, row.system, row.versus) for row in rows if row.rater in chosen})
    place = {key: number for number, key in enumerate(keys)}
    votes = np.full((len(keys), max(1, len(chosen))), np.nan)
    said: dict[str, list[list[float]]] = {judge: [[] for _ in keys] for judge in wanted}
    tasks = [""] * len(keys)
    for row in rows:
        number = place.get((row.item, row.system, row.versus))
        if number is not None:
            tasks[number] = row.task or tasks[number]
            if row.rater in chosen:
                votes[number, chosen.index(row.rater)] = row.value
            elif row.rater in said:
                said[row.rater][number].append(row.value or 0.0)
    shared = (~np.isnan(votes)).sum(axis=1) > 1
    if shared.sum() < FEWEST_SHARED:
        raise DataError(
            f"{table.name}: {pluralize(int(shared.sum()), 'item')} rated by several people found, expected "
            f"at least {FEWEST_SHARED} to say how far people agree; let a second person rate some items."
        )
    known_votes = votes[~np.isnan(votes)]
    if (known_votes == known_votes[0]).all():
        raise DataError(
            f"{table.name}: people gave {words.get(known_votes[0], f'{known_votes[0]:g}')} to every item, "
            "expected several values, without which agreement beyond chance is not defined; let them rate "
            "items that differ."
        )
    if level == "ratio" and known_votes.min() < 0:
        raise DataError(
            f"{table.name}: rating {known_votes.min():g} found, expected none below 0 for --level ratio; use "
            "--level interval."
        )
    clusters = task_numbers(tasks)
    agreed = krippendorff(votes, clusters, level)
    counts = [Counter(votes[n][~np.isnan(votes[n])].tolist()).most_common(2) for n in range(len(keys))]
    most = [c[0][0] if len(c) == 1 or c[0][1] > c[1][1] else None for c in counts]
    split = [" ".join(filter(None, key)) for n, key in enumerate(keys) if shared[n] and most[n] is None]
    made = []
    for judge in wanted:
        scores = np.array([_one_answer(values, level) for values in said[judge]])
        among = _among(judge, scores, votes, clusters, most, agreed, epsilon, nominal=level == "nominal")
        if words:
            among = replace(among, squared_error=None, strange=_strange(scores, votes, words))
        made.append(among)
    persons = [
        Person(
            name,
            int((~np.isnan(votes[:, n])).sum()),
            severity(votes, n, clusters) if len(chosen) > 1 and not words else None,
            agreement_with(votes[:, n], np.delete(votes, n, axis=1), clusters) if len(chosen) > 1 else None,
        )
        for n, name in enumerate(chosen)
    ]
    return PeopleReport(
        table.name,
        level,
        epsilon,
        len(keys),
        int(shared.sum()),
        agreed,
        tuple(persons),
        tuple(made),
        tuple(split),
        independence(tasks),
        tuple(sorted(words.values())),
    )


def _among(
    judge: str,
    scores: np.ndarray,
    votes: np.ndarray,
    clusters: np.ndarray,
    most: list[float | None],
    agreed: Figure,
    epsilon: float,
    *,
    nominal: bool,
) -> JudgeAmongPeople:
    tests, wins = alternative_annotator(scores, votes, epsilon=epsilon, nominal=nominal)
    gap = mean_over_tasks(wins, clusters) if (~np.isnan(wins)).sum() > 1 else None
    decided = [n for n, value in enumerate(most) if value is not None and not np.isnan(scores[n])]
    right = sum(scores[n] == most[n] for n in decided)
    known = np.flatnonzero(~np.isnan(scores))
    anybody = int((votes[known] == scores[known, None]).any(axis=1).sum())
    several = np.where((~np.isnan(votes)).sum(axis=1) > 1, scores, np.nan)
    given = np.concatenate([scores[known], votes[~np.isnan(votes)]])
    ends = usual_ends(float(given.min()), float(given.max()))
    squares = (scores - np.nanmean(votes, axis=1)) ** 2
    winning = sum(test.passed for test in tests) / len(tests) if tests else None
    return JudgeAmongPeople(
        judge=judge,
        verdict=_verdict(gap, winning, agreed, epsilon),
        gap=gap,
        winning_rate=winning,
        advantage=float(np.mean([test.judge_share for test in tests])) if tests else None,
        tests=tuple(tests),
        majority=(int(right), len(decided)),
        any_person=(anybody, len(known)),
        agreement=agreement_with(several, votes, clusters),
        squared_error=mean_on_scale(squares, clusters, (0.0, (ends[1] - ends[0]) ** 2)),
    )


def _one_answer(values: list[float], level: str) -> float:
    """What a judge says of an item that it rated several times: the most frequent answer, or the mean."""
    if not values:
        return float("nan")
    return Counter(values).most_common(1)[0][0] if level == "nominal" else float(np.mean(values))


def _strange(scores: np.ndarray, votes: np.ndarray, words: Mapping[float, str]) -> tuple[int, str] | None:
    """A reply that could not be read is a word too, and looks like a category."""
    odd = scores[~np.isnan(scores) & ~np.isin(scores, votes)].tolist()
    return (len(odd), words.get(odd[0], f"{odd[0]:g}")) if odd else None


def _verdict(gap: Figure | None, winning: float | None, agreed: Figure, epsilon: float) -> str:
    """Where the whole interval of the gap lies, compared with 0, a person's own, and with −ε.

    Above −ε, not below 0, and ω at least one half: at the ceiling. Above −ε and below 0: below the ceiling,
    within epsilon. Below 0 and not above −ε: below the ceiling. Else undecided.
    """
    if agreed.low is not None and agreed.low <= 0:
        return DISAGREE
    known = agreed.low is not None or agreed.value == 1  # without any disagreement there is no interval
    if not known or winning is None or gap is None or gap.low is None or gap.high is None:
        return UNDECIDED
    if gap.high < 0:
        return WITHIN if gap.low > -epsilon else BELOW
    return AT_CEILING if gap.low > -epsilon and winning >= ENOUGH else UNDECIDED
