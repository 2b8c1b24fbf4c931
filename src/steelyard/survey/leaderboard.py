"""`leaderboard`: which places survive the judge's errors and another sample of items."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from functools import partial
from itertools import pairwise
from statistics import fmean

import numpy as np

from steelyard.core.arrays import Floats, Mask
from steelyard.core.text import pluralize
from steelyard.errors import ConfigError, DataError
from steelyard.estimation.frame import two_sided_quantile
from steelyard.estimation.ranking import (
    FEWEST_ROWS,
    Comparisons,
    Ranking,
    SystemScores,
    corrected_ranking,
    first_chances,
    flip_chance,
    labels_to_separate,
    plain_ranking,
    rank_sets,
    step_down,
    tiers,
    unbeaten_group,
)
from steelyard.importing.ratings import Rating, RatingsTable, independence, task_numbers
from steelyard.metrics.run.self_preference import vendor_of
from steelyard.metrics.stats.intervals import Span
from steelyard.survey.judged_items import TUNE, Subject, choose, choose_judge, choose_people, score_scale
from steelyard.survey.options import RankOptions
from steelyard.survey.ranks import BY_NAME, GIVEN, Leaderboard, RankedSystem, RankTable, Separation

HALF, LOSS = "half", "loss"
ENOUGH_LABELS = 50
"""Scores of each system by people from which on λ is fitted for each system."""


@dataclass(frozen=True, eq=False)
class Votes:
    judge: SystemScores
    people: SystemScores | None
    """Of the rows that people rated too."""
    labelled: Mask
    random_draw: bool
    strays: int
    """Rows that people rated and the judge did not."""

    @property
    def corrects(self) -> bool:
        """People's rows stand for all rows."""
        return self.people is not None and (self.random_draw or bool(self.labelled.all()))

    @property
    def shared(self) -> SystemScores:
        """The judge's scores, on labelled rows only of systems that people rated too."""
        assert self.people is not None
        values = self.judge.values.copy()
        values[self.labelled] = np.where(np.isnan(self.people.values), np.nan, values[self.labelled])
        return replace(self.judge, values=values)


def matched_votes(
    judged: Sequence[Rating],
    voted: Sequence[Rating],
    names: Sequence[str],
    ties: str,
    *,
    scale: Span | None,
    random_draw: bool,
) -> Votes:
    by_judge, by_people = _matrix(judged, names, ties), _matrix(voted, names, ties)
    keys = sorted(by_judge)
    both = [key for key in keys if key in by_people]
    labelled = np.array([key in by_people for key in keys], dtype=np.bool_)
    people = _scores(by_people, both, scale) if both else None
    strays = len(by_people) - len(both)
    return Votes(_scores(by_judge, keys, scale), people, labelled, random_draw, strays)


Key = tuple[str, str]
"""Task, or the item where there is none, and the name of the row."""


def _matrix(rows: Sequence[Rating], names: Sequence[str], ties: str) -> dict[Key, Floats]:
    """Score of each system in each comparison or item; repeats and several people are averaged."""
    number = {name: place for place, name in enumerate(names)}
    found: defaultdict[Key, defaultdict[int, list[float]]] = defaultdict(lambda: defaultdict(list))
    for row in rows:
        value = row.value or 0.0
        if not row.versus:
            if row.system in number:
                found[row.task or row.item, row.item][number[row.system]].append(value)
        elif row.system in number and row.versus in number:
            cells = found[row.task or row.item, f"{row.item} {row.system} {row.versus}"]
            lost = ties == LOSS and value == 0.5
            cells[number[row.system]].append(0.0 if lost else value)
            cells[number[row.versus]].append(0.0 if lost else 1 - value)
    made = {}
    for key, cells in found.items():
        made[key] = np.full(len(names), np.nan)
        for place, values in cells.items():
            made[key][place] = fmean(values)
    return made


def _scores(matrix: dict[Key, Floats], keys: Sequence[Key], scale: Span | None) -> SystemScores:
    values = np.stack([matrix[key] for key in keys]) if keys else np.zeros((0, 0))
    return SystemScores(values, task_numbers(task for task, _ in keys), scale)


def leaderboard(table: RatingsTable, subject: Subject, options: RankOptions) -> Leaderboard:
    judge, people = choose_judge(table, subject.judge), choose_people(table, subject.people)
    criterion = choose("criterion", "--criterion", subject.criterion, table.criteria, table.name)
    names = _systems(table, options.systems)
    how = replace(options, systems=tuple(names))
    if options.baseline is not None:
        choose("system", "--baseline", options.baseline, names, table.name)
    for name in options.separate or ():
        choose("system", "--separate", name, names, table.name)
    if options.separate and len(set(options.separate)) == 1:
        raise ConfigError(
            f"--separate: {options.separate[0]!r} found twice, expected two systems; name another."
        )
    for name in options.own_family:
        choose("system", "--own-family", name, names, table.name)
    if options.by_strength:
        _refuse_strengths(table, options.ties)
    rows = [row for row in table.ratings if row.criterion == criterion]
    lost = sum(
        row.value is None and row.rater == judge and {row.system, row.versus or row.system} <= set(names)
        for row in rows
    )
    rows = [row for row in rows if row.value is not None]
    tuned = {row.item for row in rows if row.split == TUNE}
    rows = [row for row in rows if row.item not in tuned]
    judged = [row for row in rows if row.rater == judge]
    voted = [row for row in rows if row.rater in people and row.rater != judge]
    random_draw = options.design is not None or _recorded_draw(table.name, rows)
    scale = score_scale(table, subject)
    match = partial(matched_votes, judged, voted, names, scale=scale.ends, random_draw=random_draw)
    votes = match(options.ties)
    _refuse_few(table.name, votes.judge, names, f"judge {judge!r}")
    remarks = []
    if tuned:
        remarks.append(f"{pluralize(len(tuned), 'item')} left out: the judge was tuned on them.")
    if table.stopped_early:
        remarks.append("Labelling stopped early: no interval and no rank allows for that; label the rest.")
    if lost:
        remarks.append(f"{pluralize(lost, 'row')} of the judge without a verdict left out.")
    if votes.strays:
        remarks.append(f"Left out: {pluralize(votes.strays, 'row')} of people that the judge did not rate.")
    if votes.people is not None:
        _refuse_few(table.name, votes.people, names, "people")
    if votes.people is not None and not votes.corrects:
        remarks.append(
            f"Not corrected: people rated {pluralize(votes.people.rows, 'row')} of {votes.judge.rows:,}; say "
            "--design random if these were drawn at random."
        )
    halved = votes if options.ties == HALF else match(HALF)
    strengths = _strengths(halved, how) if table.is_pairwise else None
    if options.by_strength and strengths is not None:
        tables, remarks = strengths, [*remarks, *strengths.undefined]
        if tables.judge_alone is None:
            raise DataError(
                f"{table.name}: {strengths.undefined[0].rstrip('.')}, expected a chain of wins or ties from "
                "every system to every other; compare them more often, leave some out with --system, or rank "
                "by win rate."
            )
    else:
        tables = _win_rates(votes, how, pairwise_votes=table.is_pairwise)
    assert tables.judge_alone is not None
    if tables.corrected is not None:
        remarks += _uncorrected(votes, names)
    beside = None
    if strengths is not None and not options.by_strength:
        beside = strengths.like(tables)
        remarks += strengths.undefined[:1] if beside is None else []
    family = vendor_of(judge)
    kin = [] if family is None else [name for name in names if vendor_of(name) == family]
    return Leaderboard(
        source=table.name,
        judge=judge,
        people=tuple(sorted(people)) if votes.people is not None else (),
        pairwise=table.is_pairwise,
        ties=options.ties,
        figure="strength" if options.by_strength else "win_rate" if table.is_pairwise else "mean_score",
        confidence=options.confidence,
        independence=independence((row.task for row in judged), "rows of different items"),
        scale_assumed=scale.assumption,
        rows=votes.judge.rows,
        labels=0 if votes.people is None else votes.people.rows,
        judge_alone=tables.judge_alone,
        people_alone=tables.people_alone,
        corrected=tables.corrected,
        strengths=beside,
        slot_share=slot_share(judged) if table.is_pairwise else None,
        baseline=options.baseline,
        own_family=options.own_family or tuple(kin),
        family_source=GIVEN if options.own_family else BY_NAME,
        remarks=tuple(remarks),
        separate=options.separate,
    )


def _refuse_strengths(table: RatingsTable, ties: str) -> None:
    if not table.is_pairwise:
        raise DataError(
            f"{table.name}: scores found, expected comparisons with system_a and system_b for Bradley–Terry "
            "strengths; leave out --rank-by strength."
        )
    if ties == LOSS:
        raise ConfigError(
            "--ties loss: a tie that both lose has no Bradley–Terry strength, expected half; leave it out."
        )


@dataclass(frozen=True)
class _Tables:
    judge_alone: RankTable | None = None
    people_alone: RankTable | None = None
    corrected: RankTable | None = None
    undefined: tuple[str, ...] = ()
    """Why a table is missing."""

    def like(self, other: _Tables) -> RankTable | None:
        """The table by the same votes as the one of the other that says most."""
        if other.corrected is not None:
            return self.corrected
        return self.judge_alone if other.people_alone is None else self.people_alone


def _win_rates(votes: Votes, how: RankOptions, *, pairwise_votes: bool) -> _Tables:
    judged = _table(plain_ranking(votes.judge), votes.judge, how)
    if votes.people is None:
        return _Tables(judged)
    alone = plain_ranking(votes.people)
    voted = _table(alone, votes.people, how, alone)
    if not votes.corrects:
        return _Tables(judged, voted)
    enough = not pairwise_votes and bool((votes.people.counts >= ENOUGH_LABELS).all())
    ranking = corrected_ranking(votes.shared, votes.people, votes.labelled, weight_per_system=enough)
    return _Tables(judged, voted, _table(ranking, votes.judge, how, alone, votes.people.rows))


def _strengths(votes: Votes, how: RankOptions) -> _Tables:
    """The tables by Bradley–Terry strength, where the votes tell it."""
    judge = Comparisons(votes.judge.values, votes.judge.cluster)
    lacking = _unlinked(judge, how.systems, "the judge")
    if lacking:
        return _Tables(undefined=(lacking,))
    judged = _table(plain_ranking(judge), judge, how)
    if votes.people is None:
        return _Tables(judged)
    people = Comparisons(votes.people.values, votes.people.cluster)
    near, rest = (judge.filter(part) for part in (votes.labelled, ~votes.labelled))
    parts = [(people, "people")]
    if votes.corrects and rest.rows:
        parts += [(near, "the judge on the rows that people rated"), (rest, "the judge on the other rows")]
    reasons = [_unlinked(part, how.systems, rater) for part, rater in parts]
    alone = None if reasons[0] else plain_ranking(people)
    voted = None if alone is None else _table(alone, people, how, alone)
    fixed = None
    if votes.corrects and not any(reasons):
        ranking = corrected_ranking(judge, people, votes.labelled)
        fixed = _table(ranking, judge, how, alone, people.rows)
    return _Tables(judged, voted, fixed, tuple(filter(None, reasons)))


def _unlinked(scores: Comparisons, names: Sequence[str], rater: str) -> str:
    """Why strengths are undefined; empty where a chain of wins leads from each system to each other."""
    found = unbeaten_group(scores.wins)
    if found is None:
        return ""
    group, met = found
    listed = ", ".join(repr(name) for name, inside in zip(names, group.tolist(), strict=True) if inside)
    never = "never lost to" if met else "never met"
    return f"Bradley–Terry strengths by {rater} are undefined: {listed} {never} the other systems."


def _recorded_draw(where: str, rows: Sequence[Rating]) -> bool:
    """Whether recorded odds are those of a random draw; other draws do not carry a correction of ranks."""
    odds = [row.p_drawn for row in rows if row.p_drawn is not None]
    if len(odds) < len(rows) or not odds:
        return False
    if max(odds) - min(odds) > 1e-9:
        raise DataError(
            f"{where}: odds from {min(odds):.3g} to {max(odds):.3g} found, expected the same for every row, "
            "since ranks are corrected by a random draw alone; make one with `steelyard labels draw --design "
            "random`."
        )
    return True


def _systems(table: RatingsTable, wanted: Sequence[str]) -> list[str]:
    known = table.systems
    names = [choose("system", "--system", name, known, table.name) for name in dict.fromkeys(wanted)]
    names = names or sorted(known)
    if len(names) < 2:
        raise DataError(
            f"{table.name}: {pluralize(len(names), 'system')} found, expected at least two to rank; write a "
            "column system, or system_a and system_b for comparisons."
        )
    return names


def _refuse_few(where: str, scores: SystemScores, names: Sequence[str], rater: str) -> None:
    counts = scores.counts if scores.rows else np.zeros(len(names))
    for name, count in zip(names, counts.tolist(), strict=True):
        if count < FEWEST_ROWS:
            raise DataError(
                f"{where}: {name!r} has {pluralize(int(count), 'row')} rated by {rater}, expected at least "
                f"{FEWEST_ROWS} of every system; add some, or name the systems to rank with --system."
            )


def _uncorrected(votes: Votes, names: Sequence[str]) -> list[str]:
    """Which systems of a corrected table keep the figure of people's votes, unless all rows have one."""
    rest = votes.judge.filter(~votes.labelled)
    few = [name for name, count in zip(names, rest.counts, strict=True) if count < FEWEST_ROWS]
    if not few or not rest.rows:
        return []
    left_out = "all systems" if len(few) == len(names) else ", ".join(few)
    return [
        f"The judge is left out for {left_out}: fewer than {FEWEST_ROWS} rows without a vote, so people's "
        "votes alone count."
    ]


def _table(
    ranking: Ranking,
    scores: SystemScores,
    how: RankOptions,
    people: Ranking | None = None,
    labels: int | None = None,
) -> RankTable:
    """`people` is the ranking by their votes alone, on `labels` of the rows or on all."""
    names, baseline = how.systems, how.baseline
    shown, limit = step_down(ranking, how.seed, how.confidence)
    sets, chances, numbers = rank_sets(shown), first_chances(ranking, how.seed), tiers(ranking, shown)
    limits = [ranking.limits(m, how.confidence) or (None, None) for m in range(len(names))]
    quantile = two_sided_quantile(how.confidence, ranking.freedom)
    order = np.argsort(-ranking.figures, kind="stable").tolist()
    rows = [
        RankedSystem(
            system=names[m],
            rows=int(scores.counts[m]),
            value=float(ranking.figures[m]),
            low=limits[m][0],
            high=limits[m][1],
            place=place,
            best=sets[m][0],
            worst=sets[m][1],
            first=float(chances[m]),
            tier=numbers[m],
            difference=None if baseline is None else _difference(ranking, m, names.index(baseline), quantile),
            weight=None if ranking.weights is None else float(ranking.weights[m]),
        )
        for place, m in enumerate(order, start=1)
    ]
    flips = [flip_chance(ranking, one, other) for one, other in pairwise(order)]
    one, other = order[:2]
    if how.separate is not None:
        one, other = sorted((names.index(name) for name in how.separate), key=order.index)
        limit = quantile
    gap = float(ranking.figures[one] - ranking.figures[other])
    reach = limit * ranking.difference_error(one, other)
    alone = reach if people is None else limit * people.difference_error(one, other)
    votes, needed = labels_to_separate(gap, reach, alone, labels or scores.rows, scores.rows)
    apart = Separation(names[one], names[other], gap, reach, votes if labels else None, needed)
    return RankTable(tuple(rows), tuple(flips), apart)


def _difference(
    ranking: Ranking, one: int, other: int, quantile: float
) -> tuple[float, float | None, float | None]:
    """Paired difference of two systems: the errors that they share cancel."""
    if one == other:
        return 0.0, 0.0, 0.0
    value = float(ranking.figures[one] - ranking.figures[other])
    reach = quantile * ranking.difference_error(one, other)
    return (value, value - reach, value + reach) if reach > 0 else (value, None, None)


def slot_share(rows: Iterable[Rating]) -> float | None:
    """Share of the decided comparisons that the first slot won."""
    decided = [row.value for row in rows if row.value in (0.0, 1.0)]
    return fmean(value or 0.0 for value in decided) if decided else None
