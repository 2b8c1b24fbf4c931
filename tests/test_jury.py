"""Juries: one rule and one choice wherever a run tells of them; Condorcet, Dawid and Skene."""

from __future__ import annotations

from collections import Counter
from itertools import combinations
from pathlib import Path

import numpy as np
import pytest

from panels import Scored
from scores import Answer, call, calls
from steelyard.datasheet.assemble import assemble
from steelyard.datasheet.datasheet import Datasheet
from steelyard.datasheet.instrument_card import JudgeEntry
from steelyard.datasheet.results import Results
from steelyard.datasheet.sections.tables import judges_of
from steelyard.errors import ConfigError
from steelyard.metrics.estimate import Estimate
from steelyard.metrics.panel_metrics import vote_matrix
from steelyard.metrics.remedies.mitigations import JuryOfThree, choose_jury_of_three, halves, jury_of
from steelyard.metrics.scores.columns import collect_scores
from steelyard.metrics.stats.agreement import dawid_skene
from steelyard.study.judge_config import parse_judge
from steelyard.tasks.task import Binary, Pairwise
from steelyard.verdicts.majority_vote import plurality_first, plurality_lowest
from steelyard.verdicts.observations import Observation, Observations
from steelyard.verdicts.verdict import Abstained, Decided, Failed, Tie, Verdict

NAN = float("nan")
ITEMS = 120


def raters(
    accuracies: dict[str, float], seed: int, *, lost: float = 0.0, repeats: int = 1
) -> list[Observation]:
    """Judges that err independently on items with balanced labels, and are unreadable in a share of calls."""
    chance = np.random.default_rng(seed)
    rows = []
    for judge, accuracy in accuracies.items():
        for n in range(ITEMS):
            for replicate in range(repeats):
                answer: Answer = n % 2 if chance.random() < accuracy else 1 - n % 2
                answer = "unreadable" if chance.random() < lost else answer
                rows.append(call(f"i{n:03d}", answer, n % 2, replicate=replicate, judge=judge))
    return rows


def sheet_of(rows: list[Observation]) -> Datasheet:
    names = list(dict.fromkeys(row.judge for row in rows))
    return assemble(
        name="juries",
        seed=7,
        profile="standard",
        stimulus_set="sha256:0",
        judges=[JudgeEntry(name, name, False, {"base": "sha256:1"}) for name in names],
        probes=[Scored("stochastic_stability")],
        observations=rows,
        run={},
    )


def told(estimate: Estimate | None) -> tuple[int | None, int | None]:
    assert estimate is not None
    return estimate.numerator, estimate.denominator


def by_hand(rows: list[Observation], members: tuple[str, ...], among: set[str]) -> tuple[int, int]:
    """Showings on which the jury is right, and on which it has a verdict, by counting votes.

    An answer stands where the others would not draw level with all the lost votes; else a full vote is split.
    """
    showings: dict[tuple[str, int], dict[str, Observation]] = {}
    for row in rows:
        showings.setdefault((row.stimulus.id, row.replicate), {})[row.judge] = row
    right = heard = 0
    for asked in showings.values():
        mine = [asked[name] for name in members]
        if mine[0].stimulus.cluster not in among:
            continue
        votes = Counter(row.verdict.value for row in mine if hasattr(row.verdict, "value"))
        missing = len(mine) - votes.total()
        counts = [*sorted(votes.values(), reverse=True), 0, 0]
        decided = counts[0] > counts[1] + missing
        heard += decided or not missing
        right += decided and votes.most_common(1)[0][0] == mine[0].stimulus.expectation.value  # type: ignore[union-attr]
    return right, heard


@pytest.mark.slow
@pytest.mark.parametrize(("lost", "repeats"), [(0.0, 1), (0.25, 3)])
def test_three_judges_have_one_accuracy_wherever_it_stands(lost: float, repeats: int) -> None:
    rows = raters({"a": 0.8, "b": 0.75, "c": 0.7}, 3, lost=lost, repeats=repeats)
    sheet = sheet_of(rows)
    known = by_hand(rows, ("a", "b", "c"), {row.stimulus.cluster for row in rows})
    panel = [e for e in sheet.panel if e.metric == "jury_accuracy" and "rule" not in e.group]
    assert {e.probe for e in panel} >= {"jury", "original"}
    assert {told(e) for e in panel} == {known}
    juries = [cured for cured in sheet.remedies if cured.remedy == "jury"]
    assert {cured.title for cured in juries} == {"jury of a, b and c"}
    figures = [each.estimate for cured in juries for each in cured.figures]
    assert {told(e) for e in figures if e.metric == "accuracy"} == {known}
    assert not [e for e in sheet.panel if e.metric == "chosen_jury_accuracy"]
    columns = Results(Observations.of(rows)).columns
    cells = zip(*(_cells(columns[name]) for name in ("judge", "label", "jury")), strict=True)
    votes = [(label, vote) for judge, label, vote in cells if judge == "a" and vote != "unreadable"]
    assert (sum(label == vote for label, vote in votes), len(votes)) == known


def _cells(column: object) -> list[object]:
    return [column.values[code] for code in column.codes]  # type: ignore[attr-defined]


@pytest.mark.slow
@pytest.mark.parametrize(("judges", "lost"), [("abcd", 0.0), ("abcde", 0.2)])
def test_the_best_trio_is_chosen_once_and_has_one_accuracy(judges: str, lost: float) -> None:
    rows = raters(dict(zip(judges, (0.72, 0.78, 0.75, 0.74, 0.77), strict=False)), 11, lost=lost)
    sheet = sheet_of(rows)
    split = halves(Observations.of(rows), 7)
    assert split is not None
    choosing, telling = ({row.stimulus.cluster for row in half} for half in split)
    trios = list(combinations(judges, 3))
    best = max(trios, key=lambda trio: by_hand(rows, trio, choosing)[0])
    listed = {judges_of(e): told(e) for e in sheet.panel if e.metric == "trio_accuracy"}
    assert listed == {trio: by_hand(rows, trio, choosing | telling) for trio in trios}
    (chosen,) = [e for e in sheet.panel if e.metric == "chosen_jury_accuracy"]
    assert judges_of(chosen) == best
    assert told(chosen) == by_hand(rows, best, telling)
    (apparent,) = [e for e in sheet.panel if e.metric == "chosen_jury_apparent"]
    assert told(apparent) == by_hand(rows, best, choosing)
    juries = [cured for cured in sheet.remedies if cured.remedy == "jury"]
    title = f"jury of {best[0]}, {best[1]} and {best[2]}, on clusters that did not choose it"
    assert {cured.title for cured in juries} == {title}
    figures = [each.estimate for cured in juries for each in cured.figures]
    assert {told(e) for e in figures if e.metric == "accuracy"} == {told(chosen)}
    everybody = [e for e in sheet.panel if e.metric == "jury_accuracy" and "rule" not in e.group]
    assert {told(e) for e in everybody} == {by_hand(rows, tuple(judges), choosing | telling)}


@pytest.mark.slow
def test_a_jury_of_three_independent_judges_follows_condorcet() -> None:
    """p = .8: p³ + 3p²(1 − p) = .896."""
    rows = [row for seed in range(20) for row in _numbered(raters(dict.fromkeys("abc", 0.8), seed), seed)]
    scores = collect_scores(jury_of(Observations.of(rows), ("a", "b", "c")))
    assert scores.right.mean() == pytest.approx(0.896, abs=0.02)


def _numbered(rows: list[Observation], run: int) -> list[Observation]:
    return [
        call(f"{run}-{n}", int(row.verdict.value), n % 2, judge=row.judge)  # type: ignore[union-attr]
        for n, row in ((int(row.stimulus.lineage.parent[1:]), row) for row in rows)
    ]


@pytest.mark.slow
def test_the_choosing_half_flatters_and_the_other_half_does_not() -> None:
    """Eight coins: the best of 56 trios looks well above one half where it was chosen, and nowhere else."""
    shares: list[list[float]] = []
    for seed in range(6):
        seen = Observations.of(raters(dict.fromkeys("abcdefgh", 0.5), seed))
        trio = choose_jury_of_three(seen, tuple("abcdefgh"), seed)
        assert isinstance(trio, JuryOfThree)
        assert trio.choosing is not None
        halves_of = (collect_scores(jury_of(half, trio.members)) for half in (trio.choosing, trio.calls))
        shares.append([float(half.right.mean()) for half in halves_of])
    seen_share, unseen_share = np.mean(shares, axis=0)
    assert seen_share > 0.58
    assert unseen_share == pytest.approx(0.5, abs=0.05)


def test_who_speaks_once_and_is_right_makes_no_best_trio() -> None:
    rows = raters(dict.fromkeys("abc", 0.8), 2)
    rows += [call(f"i{n:03d}", n % 2 if n < 2 else "unreadable", n % 2, judge="d") for n in range(ITEMS)]
    trio = choose_jury_of_three(Observations.of(rows), tuple("abcd"), 7)
    assert isinstance(trio, JuryOfThree)
    assert trio.members == ("a", "b", "c")


def test_dawid_and_skene_learn_whom_to_believe() -> None:
    chance = np.random.default_rng(5)
    accuracies = [0.95, 0.9, 0.6, 0.6, 0.6]
    labels = chance.integers(0, 2, 3000).astype(float)
    right = chance.random((3000, 5)) < accuracies
    votes = np.where(right, labels[:, None], 1 - labels[:, None])
    fitted = dawid_skene(votes)
    assert fitted is not None
    assert fitted.confusion[:, [0, 1], [0, 1]].mean(-1) == pytest.approx(accuracies, abs=0.04)
    assert fitted.prevalence == pytest.approx([0.5, 0.5], abs=0.03)
    majority = (votes.sum(axis=1) > 2) == labels
    assert np.mean(fitted.verdict == labels) > majority.mean() + 0.02


def test_dawid_and_skene_on_unanimous_votes_say_what_was_voted() -> None:
    votes = np.array([[1.0, 1.0], [0.0, 0.0], [1.0, NAN], [NAN, NAN]])
    fitted = dawid_skene(votes)
    assert fitted is not None
    assert fitted.verdict == pytest.approx([1, 0, 1, NAN], nan_ok=True)
    assert dawid_skene(np.full((2, 2), NAN)) is None


def test_ballots_join_judges_by_input_and_leave_lost_calls_empty() -> None:
    first = collect_scores(calls([1, 0, "failed"], [1, 1, 0]))
    second = collect_scores(calls([1, 1], [1, 1]))
    found = vote_matrix({"b": second, "a": first})
    assert found.judges == ("a", "b")
    assert found.votes == pytest.approx(np.array([[1, 1], [0, 1], [NAN, NAN]]), nan_ok=True)
    assert found.labels == pytest.approx([1, 1, 0])


ONE, NOUGHT, TWO = Decided("1"), Decided("0"), Decided("2")


@pytest.mark.parametrize(
    ("votes", "first", "lowest"),
    [
        ([ONE, NOUGHT], ONE, NOUGHT),
        ([NOUGHT, ONE, ONE, NOUGHT], NOUGHT, NOUGHT),
        ([TWO, ONE, TWO, ONE, NOUGHT], TWO, ONE),
        ([ONE, ONE, NOUGHT], ONE, ONE),
        ([ONE, NOUGHT, Abstained(), Abstained()], Abstained(), Abstained()),
        ([ONE, Abstained()], ONE, ONE),
        ([ONE, NOUGHT, Failed("timeout")], Failed("timeout"), Failed("timeout")),
    ],
)
def test_a_split_vote_goes_to_the_first_member_or_to_the_lowest_score(
    votes: list[Verdict], first: Verdict, lowest: Verdict
) -> None:
    assert (plurality_first(votes, False), plurality_lowest(votes, False)) == (first, lowest)


def test_of_two_texts_a_split_vote_goes_to_the_first_member() -> None:
    assert plurality_first([TWO, ONE], True) == TWO
    assert plurality_first([Abstained(), ONE], True) == Tie()


def test_a_jury_may_say_where_a_split_vote_goes() -> None:
    members = ["planted/constant?value=1", "planted/constant?value=0"]
    for by, rule in (("vote", "plurality"), ("vote_first", "plurality_first")):
        judge = parse_judge(f"jury/{by}?of={'&of='.join(members)}", Path(), Binary())
        assert judge.composition is not None
        assert judge.composition.rule == rule
    with pytest.raises(ConfigError, match=r"vote_lowest needs scores, .*pairwise.*vote_first"):
        parse_judge({"jury": ["planted/coin", "planted/first"], "by": "vote_lowest"}, Path(), Pairwise())
