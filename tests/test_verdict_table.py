"""The table of verdicts on planted judges: it is what was simulated, and it still holds."""

from __future__ import annotations

from collections import Counter
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
import verdict_tables

from calibration import changes, words
from calibration.answers import (
    FIRST,
    SECOND,
    TIE,
    agreeing,
    guessing,
    in_areas,
    inverted,
    knows,
    longest,
    probit,
    sees,
)
from calibration.judges import EXCELLENT, LETTERS, RIGHT, USELESS, PlantedJudge
from calibration.words import LETTER
from calibration.worlds import KINDS, LONGER, Kind, World, stream
from steelyard.datasheet.datasheet import Datasheet
from steelyard.metrics.findings import CLEAR
from steelyard.metrics.merit import merit_estimates
from steelyard.metrics.proportions import MERIT
from steelyard.stimuli.original import ORIGINAL

WRONG = {USELESS: "CN", EXCELLENT: "U"}
"""Letters of the words that are wrong at every size, by class."""
RUNS = 100
"""Least runs of a judge at a size, as `make calibrate` makes them."""
FIRST_SEED = 1_000_000
"""Of the reduced simulation: none of those that the file counts."""


IN_SUITE = 40
"""Runs of each useless judge that the suite makes; `make calibrate` makes three hundred at every size."""
SMALLEST_ALONE = ("counters", "binary", "skewed", "several", "ordinal", "runs")
"""Kinds whose larger sizes, of which making the texts takes a second, are left to `make calibrate`."""


def useless_of(table: Kind) -> dict[str, Any]:
    return {name: judge.answers for name, judge in table.judges.items() if judge.class_ == USELESS}


@pytest.fixture(scope="module")
def body() -> dict[str, Any]:
    return words.load()


def due(judge: PlantedJudge) -> dict[str, Any]:
    return {
        "due": list(judge.due),
        "class": judge.class_,
        "faults": list(judge.faults),
        "remedy": judge.remedy,
    }


def test_every_judge_is_in_the_file_with_what_is_due(body: dict[str, Any]) -> None:
    held = {
        kind: {
            name: {key: planted[key] for key in planted if key != "sizes"}
            for name, planted in table["judges"].items()
        }
        for kind, table in body["kinds"].items()
    }
    assert held == {
        kind: {name: due(judge) for name, judge in table.judges.items()} for kind, table in KINDS.items()
    }
    assert set(body["changes"]) == set(changes.CHANGES)
    assert set(body["until"]) == set(KINDS["catalogue"].judges)


def test_equal_judges_are_told_apart_in_one_run_in_twenty_and_changed_ones_at_standard(
    body: dict[str, Any],
) -> None:
    for name, sizes in body["changes"].items():
        shares = [tally["told"] / tally["runs"] for tally in sizes]
        if name.startswith("none"):
            assert max(shares) <= 0.05 + 3 * (0.05 * 0.95 / sizes[0]["runs"]) ** 0.5, name
        else:
            assert min(shares[1:]) >= 0.8 - 2 * (0.8 * 0.2 / sizes[0]["runs"]) ** 0.5, name


def test_a_share_that_falls_is_told_beyond_two_standard_errors() -> None:
    """Of 100 runs, 90 and then 81: the error is √(.09 + .1539)/10 = .0494, and .09 is less than two of it.

    With 79 it is .0505, and .11 is more.
    """
    planted = {"due": ["N", "N", "N"], "class": ""}
    for after, broken in ((81, False), (79, True)):
        sizes = [{"runs": 100, "words": {"N": right, "T": 100 - right}} for right in (90, after, after)]
        told = [verdict_tables.Said("pairs", "j", size, each, planted) for size, each in enumerate(sizes)]
        assert bool(list(verdict_tables.worse(told))) is broken


def test_useless_judges_get_three_times_as_many_runs_and_more_go_on_where_the_last_ended() -> None:
    jobs = list(words.jobs_of("flips", 2, {}))
    runs = Counter(name for _, size, _, names in jobs if size == 0 for name in names)
    classes = {name: judge.class_ for name, judge in KINDS["flips"].judges.items()}
    assert runs == {name: 6 if class_ == USELESS else 2 for name, class_ in classes.items()}
    assert words.SEEDS * words.TIMES[USELESS] == 300
    held = {(name, size): words.Tally(runs=count) for name, count in runs.items() for size in range(3)}
    further = [(seed, name) for _, size, (seed,), names in words.jobs_of("flips", 1, held) for name in names]
    assert {seed for seed, name in further if classes[name] == USELESS} == {6, 7, 8}
    assert {seed for seed, name in further if classes[name] != USELESS} == {2}


def test_every_judge_was_measured_at_each_size(body: dict[str, Any]) -> None:
    told = list(verdict_tables.every(body))
    assert len({(said.kind, said.judge) for said in told}) >= 40
    assert [said.place for said in told if said.runs < RUNS] == []
    assert all(sum(said.body["words"].values()) == said.runs for said in told)
    assert {letter for said in told for letter in said.body["words"]} <= set(LETTERS)


def test_every_requirement_holds(body: dict[str, Any]) -> None:
    assert [broken for broken in verdict_tables.requirements(body).values() if broken] == []


def test_a_requirement_that_is_broken_is_told() -> None:
    """Ten runs of a coin, one called usable and passed, and then more data with fewer words that are due."""
    planted = {"due": ["TU", "U", "U"], "class": USELESS, "faults": [], "remedy": ""}
    gates = {name: {"PASS": int(name == "smoke"), "FAIL": 9} for name in verdict_tables.POLICIES}
    tally = {"runs": 10, "words": {"U": 9, "C": 1}, "gate": gates, "contradictions": 0}
    worse = {**tally, "words": {"T": 10}, "gate": {name: {"FAIL": 10} for name in gates}}
    judges = {"a coin": {**planted, "sizes": [tally, worse, worse]}}
    right = {**planted, "due": ["N", "N", "NU"], "class": RIGHT, "sizes": [worse, worse, tally]}
    kinds = {"pairs": judges, "longer-90": {"88 % right": right}, "natural": {"88 % right": right}}
    body = {"kinds": {kind: {"judges": planted} for kind, planted in kinds.items()}}
    found = verdict_tables.requirements(body)
    assert [broken for broken in found.values() if broken] == [
        [("pairs, a coin, quick", 0.1)],
        [("longer-90, 88 % right, full", 0.9)],
        [("pairs, a coin, standard", -0.9)],
        [("pairs, a coin, quick, smoke", 0.1)],
    ]


@pytest.mark.parametrize("kind", KINDS)
def test_a_reduced_simulation_holds_and_what_it_leaves_out_decides_no_word(kind: str) -> None:
    """No useless judge is called usable, and no excellent one unfit; one of them, alone with all figures.

    Judges that answer as a baseline does are left to `make calibrate`, and so are all figures of yes and no.
    """
    judges = {name: judge for name, judge in KINDS[kind].judges.items() if judge.class_ in WRONG}
    answers = {
        name: judge.answers
        for name, judge in judges.items()
        if name != "a coin" and not name.startswith("always")
    }
    world = World.of(kind, 0, FIRST_SEED)
    with words.verdicts_only(remedies=False):
        fast = words.sheet_of(world, answers, FIRST_SEED).verdicts
    assert {said.judge for said in fast} == set(answers)
    assert [said.judge for said in fast if LETTER[said.word] in WRONG[judges[said.judge].class_]] == []
    if kind in ("catalogue", "natural", "ordinal", "runs"):
        name = next(iter(answers))
        one = {name: answers[name]}
        with words.verdicts_only():
            alone = told(words.sheet_of(world, one, FIRST_SEED))
        assert told(words.sheet_of(world, one, FIRST_SEED)) == alone


@pytest.mark.parametrize(("kind", "metric"), [("binary", "kappa"), ("ordinal", "qwk")])
def test_what_a_verdict_reads_of_unchanged_items_is_simulated(kind: str, metric: str) -> None:
    name, judge = next(iter(KINDS[kind].judges.items()))
    with words.verdicts_only(remedies=False):
        sheet = words.sheet_of(World.of(kind, 0, FIRST_SEED), {name: judge.answers}, FIRST_SEED)
    agreement = sheet.find(name, metric, ORIGINAL, protocol="base")
    assert agreement is not None
    assert agreement.value is not None


def told(sheet: Datasheet) -> dict[str, Any]:
    """Word, facts and advice; what a fault brings besides may be among what is left out."""
    facts = {one.judge: [replace(fact, brings=()) for fact in one.facts] for one in sheet.verdicts}
    return {one.judge: (one.word, facts[one.judge], one.advice.value) for one in sheet.verdicts}


@pytest.mark.parametrize("kind", [kind for kind, table in KINDS.items() if useless_of(table)])
def test_no_useless_judge_is_usable_in_forty_runs(kind: str) -> None:
    """A judge whose merit is not shown is not usable: only where it is, the whole sheet is made.

    A judge that is usable in 1 % of runs is so in more than two of forty with a chance of .7 %.
    """
    judges = useless_of(KINDS[kind])
    for size in range(1 if kind in SMALLEST_ALONE else 3):
        usable: Counter[str] = Counter()
        for seed in range(FIRST_SEED, FIRST_SEED + IN_SUITE):
            world = World.of(kind, size, seed)
            seen = world.observe({**judges, **world.baselines}, seed)
            beside = {name: seen.of_judge(name) for name in world.baselines}
            for name, answers in judges.items():
                merits = merit_estimates(name, seen.of_judge(name), beside, world.study.seed)
                if any(each.status == CLEAR for each in merits if each.metric == MERIT.id):
                    with words.verdicts_only(remedies=False):
                        (said,) = words.sheet_of(world, {name: answers}, seed).verdicts
                    usable[name] += LETTER[said.word] in WRONG[USELESS]
        assert usable.total() <= max(2, 0.01 * IN_SUITE * len(judges)), (size, usable)


@pytest.mark.calibrate
@pytest.mark.parametrize("kind", KINDS)
def test_what_is_left_out_decides_no_word_at_the_middle_size(kind: str) -> None:
    world, judges = World.of(kind, 1, FIRST_SEED), KINDS[kind].judges
    answers = {name: judge.answers for name, judge in judges.items()}
    with words.verdicts_only():
        fast = told(words.sheet_of(world, answers, FIRST_SEED))
    for name in answers:
        assert told(words.sheet_of(world, {name: answers[name]}, FIRST_SEED)) == {name: fast[name]}


# Planted judges are what their names say.


def calls(kind: str = "catalogue", size: int = 1) -> Any:
    return World.of(kind, size, 3).calls


def shares(answers: np.ndarray) -> list[float]:
    return [float(np.mean(answers == answer)) for answer in (FIRST, SECOND, TIE)]


def test_a_judge_of_steps_is_right_as_often_as_it_says() -> None:
    shown, chance = calls(size=2), np.random.default_rng(1)
    judge = sees((0.92, 0.97, 0.99, 1, 1), equals=0.2)
    answers = np.concatenate([judge(shown, chance) for _ in range(20)])
    gap = np.tile(shown.gap, 20)
    for steps, wanted in ((1, 0.92), (2, 0.97), (5, 1.0)):
        named = answers[np.abs(gap) == steps] == np.where(gap[np.abs(gap) == steps] > 0, FIRST, SECOND)
        assert named.mean() == pytest.approx(wanted, abs=0.015)
    assert shares(answers[gap == 0]) == pytest.approx([0.1, 0.1, 0.8], abs=0.015)


def test_a_leaning_judge_has_the_net_preference_that_its_name_says() -> None:
    shown, chance = calls(size=2), np.random.default_rng(2)
    for position, net in ((1.1, 0.08), (1.9, 0.27), (3.3, 0.79)):
        judge = probit(5, 2.5, position)
        answers = np.concatenate([judge(shown, chance)[shown.gap == 0] for _ in range(20)])
        first, second, _ = shares(answers)
        assert first - second == pytest.approx(net, abs=0.02)


def test_who_knows_a_pair_names_the_same_text_in_both_orders() -> None:
    shown = calls("natural", 2)
    answers = knows(0.8)(shown, np.random.default_rng(3))
    right = answers == np.where(shown.gap > 0, FIRST, SECOND)
    by_pair = np.bincount(shown.pair, right)
    assert set(by_pair) == {0.0, 2.0}
    assert right.mean() == pytest.approx(0.8, abs=0.08)


@pytest.mark.parametrize("share", LONGER)
def test_people_prefer_the_longer_text_of_a_known_share_of_pairs(share: float) -> None:
    shown = calls(f"longer-{round(100 * share)}", 2)
    named = longest(shown, np.random.default_rng(0)) == np.where(shown.gap > 0, FIRST, SECOND)
    assert named.mean() == pytest.approx(share, abs=0.06)


def test_rows_keep_their_label_and_written_texts_have_the_one_that_they_earn() -> None:
    flips, levels = calls("flips", 0), calls("levels", 0)
    own = dict(zip(flips.item[~flips.written].tolist(), flips.label[~flips.written].tolist(), strict=True))
    changed = zip(flips.item[flips.written].tolist(), flips.label[flips.written].tolist(), strict=True)
    assert all(label == 1 - own[item] for item, label in changed)
    assert np.bincount(levels.label[levels.written]).tolist() == [20] * 5
    assert set(np.bincount(levels.item[levels.written])) == {5}


def test_a_judge_of_areas_is_another_one_there_alone() -> None:
    shown, chance = calls(size=1), np.random.default_rng(6)
    answers = in_areas(2, inverted(sees((1,) * 5)), sees((1,) * 5))(shown, chance)
    areas = np.array([one.stratum for one in shown.stimuli])[shown.pair]
    wrong = (answers == np.where(shown.gap > 0, SECOND, FIRST)) & (shown.gap != 0)
    assert sorted(set(areas[wrong].tolist())) == sorted(set(areas.tolist()))[:2]


def test_an_agreeing_rater_has_its_kappa_and_its_informedness() -> None:
    shown = calls("skewed", 2)
    answers = np.stack([agreeing(0.6, 0.9)(shown, stream(seed, "κ")) for seed in range(20)])
    good = shown.label == 1
    passes = answers[:, good].mean(), answers[:, ~good].mean()
    assert passes[0] - passes[1] == pytest.approx(0.6, abs=0.04)
    agreement, rate = float((answers == shown.label).mean()), float(answers.mean())
    by_chance = 0.9 * rate + 0.1 * (1 - rate)
    assert (agreement - by_chance) / (1 - by_chance) == pytest.approx(0.6, abs=0.04)


def test_who_guesses_by_item_repeats_the_guess() -> None:
    shown = calls("binary", 0)
    answers = guessing(0.5, by_item=True)(shown, np.random.default_rng(5))
    passes, asked = np.bincount(shown.item, answers), np.bincount(shown.item)
    assert np.all((passes == 0) | (passes == asked))


def test_a_stream_is_that_of_its_names() -> None:
    assert stream(1, "a").random() == stream(1, "a").random() != stream(1, "b").random()
