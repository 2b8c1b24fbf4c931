"""Agreement of people and judges among them: published figures, cases by hand, and the command."""

from __future__ import annotations

import json
import re
from collections import Counter
from math import sqrt
from pathlib import Path

import numpy as np
import pytest
from scipy.stats import ttest_1samp
from statsmodels.stats.proportion import proportion_confint

from commands import Command
from people_words import word_of
from published_data import published
from steelyard.estimation.frame import Figure
from steelyard.estimation.raters import (
    agreement_with,
    alternative_annotator,
    benjamini_yekutieli,
    krippendorff,
    severity,
)
from steelyard.importing.ratings import HUMAN, JUDGE, Rating, RatingsTable
from steelyard.survey.options import PeopleOptions
from steelyard.survey.people import AT_CEILING, BELOW, DISAGREE, UNDECIDED, WITHIN, _verdict, people
from steelyard.survey.people_report import people_sentence

NOBODY = np.nan
KRIPPENDORFF = np.array(
    [
        [1, 2, 3, 3, 2, 1, 4, 1, 2, NOBODY, NOBODY, NOBODY],
        [1, 2, 3, 3, 2, 2, 4, 1, 2, 5, NOBODY, 3],
        [NOBODY, 3, 3, 3, 2, 3, 4, 2, 2, 5, 1, NOBODY],
        [1, 2, 3, 3, 2, 4, 4, 1, 2, 5, 1, NOBODY],
    ]
).T
"""Four people and twelve items of Krippendorff (2011); some did not rate."""


@pytest.mark.parametrize(
    ("level", "value"), [("nominal", 0.7434), ("ordinal", 0.8154), ("interval", 0.8491), ("ratio", 0.7974)]
)
def test_published_alpha_with_missing_raters(level: str, value: float) -> None:
    figure = krippendorff(KRIPPENDORFF, np.arange(12), level)
    assert figure.value == pytest.approx(value, abs=5e-5)
    assert figure.low is not None
    assert figure.high is not None
    assert figure.low < value < figure.high <= 1


def test_the_alternative_annotator_by_the_formula() -> None:
    rng = np.random.default_rng(1)
    truth = rng.integers(0, 2, 200).astype(float)
    votes = np.stack([np.where(rng.random(200) < 0.8, truth, 1 - truth) for _ in range(3)], axis=1)
    judge = np.where(rng.random(200) < 0.75, truth, 1 - truth)
    tests, gaps = alternative_annotator(judge, votes, epsilon=0.15, nominal=True)
    others = votes[:, 1:]
    near = (others == judge[:, None]).mean(axis=1)
    own = (others == votes[:, :1]).mean(axis=1)
    apart = (own >= near).astype(float) - (near >= own)
    assert tests[0].judge_share == pytest.approx((near >= own).mean())
    assert tests[0].gap == pytest.approx(apart.mean())
    assert tests[0].p == pytest.approx(ttest_1samp(apart, 0.15, alternative="less").pvalue)
    assert gaps.mean() == pytest.approx(-np.mean([test.gap for test in tests]))


def test_a_judge_that_is_a_person_wins_and_a_coin_does_not() -> None:
    rng = np.random.default_rng(2)
    truth = rng.integers(1, 6, 150).astype(float)
    votes = truth[:, None] + rng.integers(-1, 2, (150, 4))
    like = truth + rng.integers(-1, 2, 150)
    coin = rng.integers(1, 6, 150).astype(float)
    assert all(test.passed for test in alternative_annotator(like, votes, epsilon=0.2, nominal=False)[0])
    assert not any(test.passed for test in alternative_annotator(coin, votes, epsilon=0.2, nominal=False)[0])


def test_annotators_with_few_items_are_left_out() -> None:
    votes = np.ones((60, 3))
    votes[20:, 2] = np.nan
    tests, _ = alternative_annotator(np.ones(60), votes, epsilon=0.1, nominal=True)
    assert [test.annotator for test in tests] == [0, 1]
    assert [test.p for test in tests] == [0.0, 0.0]  # no spread: ties throughout, below ε


def test_benjamini_and_yekutieli_by_hand() -> None:
    # Three tests: limits .05·rank/(3·11/6) = .0091, .0182, .0273.
    assert benjamini_yekutieli([0.02, 0.001, 0.5]) == [False, True, False]
    assert benjamini_yekutieli([0.018, 0.001, 0.5]) == [True, True, False]


def test_severity_is_the_distance_from_the_others() -> None:
    votes = np.array([[3.0, 1.0, 2.0], [4.0, 2.0, 3.0], [5.0, 3.0, np.nan]])
    found = severity(votes, 0, np.arange(3))
    assert found is not None
    assert found.value == pytest.approx((1.5 + 1.5 + 2.0) / 3)
    # One step of the scale either way is added to three differences.
    assert found.error == pytest.approx(sqrt(np.var([1.5, 1.5, 2.0], ddof=1) / 3 + 2 / 9))


def test_agreement_is_the_share_of_the_others_who_say_the_same() -> None:
    """Of 40 items Ann says what Bob says on 30; where Cat rated too, on ten of those, Cat differs."""
    ann = np.ones(40)
    bob = np.where(np.arange(40) < 30, 1.0, 0.0)
    cat = np.where(np.arange(40) < 10, 0.0, np.nan)
    two = agreement_with(ann, bob[:, None], np.arange(40))
    three = agreement_with(ann, np.stack([bob, cat], axis=1), np.arange(40))
    assert two is not None
    assert three is not None
    assert (two.value, three.value) == pytest.approx((30 / 40, (10 * 0.5 + 20) / 40))
    assert (two.low, two.high) == pytest.approx(proportion_confint(30, 40, method="wilson"))
    assert agreement_with(ann, np.full((40, 1), np.nan), np.arange(40)) is None


def write(folder: Path, right: float) -> None:
    rng = np.random.default_rng(3)
    rows = []
    for n in range(120):
        truth = rng.random() < 0.5
        people = [int(truth if rng.random() < 0.9 else not truth) for _ in range(3)]
        rows.append(f"{n},{int(truth if rng.random() < right else not truth)},{people[0]},{people[1]},")
        rows.append(f"{people[2] if n % 2 else ''}\n")
    (folder / "r.csv").write_text("item,j,ann,bob,cat\n" + "".join(rows))


TOLD = ("people", "r.csv", "--judge", "j", "--people", "ann", "--people", "bob", "--people", "cat")


def test_the_command_says_where_a_judge_stands(command: Command, tmp_path: Path) -> None:
    write(tmp_path, 0.95)
    body = json.loads(command(*TOLD, "--json").out)
    assert body["shared_items"] == 120
    assert (body["epsilon"], body["judges"][0]["verdict"]) == (0.15, AT_CEILING)
    assert body["judges"][0]["winning_rate"] == 1.0
    assert [person["items"] for person in body["people"]] == [120, 120, 60]
    rows = [line.split(",") for line in (tmp_path / "r.csv").read_text().split()[1:]]
    shares = [np.mean([vote == j for vote in votes if vote]) for _, j, *votes in rows]
    judge = body["judges"][0]
    assert judge["agreement"]["value"] == pytest.approx(np.mean(shares))
    assert judge["any_person"] == [sum(j in votes for _, j, *votes in rows), 120]
    assert judge["squared_error"]["low"] < judge["squared_error"]["value"] < judge["squared_error"]["high"]
    assert 0.7 < body["people"][0]["agreement"]["low"] < judge["agreement"]["value"]
    write(tmp_path, 0.5)
    (below,) = json.loads(command(*TOLD, "--json").out)["judges"]
    assert (below["verdict"], below["winning_rate"]) == (BELOW, 0.0)


def write_judges(folder: Path) -> None:
    """Three people who are right in 90 % of 400 items, and judges who are so in 95, 86, 75 and 55 %."""
    rng = np.random.default_rng(3)
    shares = (0.95, 0.86, 0.75, 0.55, 0.9, 0.9, 0.9)
    rows = [(n, *((rng.random(7) < shares) == (rng.random() < 0.5)).astype(int)) for n in range(400)]
    lines = [",".join(map(str, row)) + "\n" for row in rows]
    (folder / "r.csv").write_text("item,good,near,mid,far,ann,bob,cat\n" + "".join(lines))


ABOVE, LEVEL, UNDER, LOW = (0.023, 0.072), (-0.043, 0.023), (-0.135, -0.053), (-0.328, -0.224)
"""Intervals of the gaps of the four judges."""


@pytest.mark.parametrize(
    ("judge", "span", "epsilon", "said", "word"),
    [
        ("good", ABOVE, 0.15, "at the ceiling (ε = 0.15, {ω})", "at the ceiling"),
        ("good", ABOVE, 0, "at the ceiling (ε = 0, {ω})", "at the ceiling"),
        ("near", LEVEL, 0.15, "at the ceiling (ε = 0.15, {ω})", "at the ceiling"),
        ("near", LEVEL, 0.03, "undecided (ε = 0.03, {ω})", "undecided"),
        ("near", LEVEL, 0, "undecided (ε = 0, {ω})", "undecided"),
        ("mid", UNDER, 0.15, "below people, by less than 0.15 ({ω})", "below the ceiling, within epsilon"),
        ("mid", UNDER, 0.08, "below people, undecided whether by less than 0.08 ({ω})", "below the ceiling"),
        ("mid", UNDER, 0.03, "below people, by more than 0.03 ({ω})", "below the ceiling"),
        ("far", LOW, 0.5, "below people, by less than 0.5 ({ω})", "below the ceiling, within epsilon"),
        ("far", LOW, 0.15, "below people, by more than 0.15 ({ω})", "below the ceiling"),
    ],
)
def test_word_interval_and_epsilon_agree(
    command: Command,
    tmp_path: Path,
    judge: str,
    span: tuple[float, float],
    epsilon: float,
    said: str,
    word: str,
) -> None:
    write_judges(tmp_path)
    told = ("people", "r.csv", "--judge", judge, *TOLD[4:], "--epsilon", epsilon)
    found = json.loads(command(*told, "--json").out)["judges"][0]
    assert (found["gap"]["low"], found["gap"]["high"]) == pytest.approx(span, abs=6e-4)
    assert found["verdict"] == word
    said = said.replace("{ω}", f"ω {sum(test['passed'] for test in found['tests'])} of 3 people")
    assert f"{judge}: {said}. " in " ".join(command(*told, "--html", "page.html").out.split())
    page = (tmp_path / "page.html").read_text()
    assert page.count(f"{judge}: {said}.") == 2  # the title and the lead
    assert page.count(f">{said}<") >= 1  # beside its bar


def test_people_who_disagree_tell_nothing_of_a_judge(command: Command, tmp_path: Path) -> None:
    rng = np.random.default_rng(5)
    rows = "".join(f"{n},{rng.integers(2)},{rng.integers(2)},{rng.integers(2)},\n" for n in range(60))
    (tmp_path / "r.csv").write_text("item,j,ann,bob,cat\n" + rows)
    assert "j: people disagree" in command(*TOLD[:-2]).out


@pytest.mark.parametrize(
    ("text", "arguments", "told"),
    [
        ("item,j,a\n1,1,1\n", ("--judge", "j", "--people", "a"), "0 items rated by several people found"),
        ("item,rater,kind,value\n1,j,judge,1\n", (), "0 items rated by several people found"),
        (
            "item,rater,kind,value\n1,j,judge,1\n",
            ("--people", "j"),
            "labels by a model are no labels by people",
        ),
    ],
)
def test_too_few_people_are_refused(
    command: Command, tmp_path: Path, text: str, arguments: tuple[str, ...], told: str
) -> None:
    (tmp_path / "r.csv").write_text(text)
    done = command("people", "r.csv", *arguments)
    assert (done.code, done.out) == (2, "")
    assert told in done.err


def test_ratios_of_negative_ratings_are_refused(command: Command, tmp_path: Path) -> None:
    rows = "".join(f"{n},{who},human,{n % 3 - 1}\n" for n in range(20) for who in "ab")
    (tmp_path / "r.csv").write_text("item,rater,kind,value\n" + rows)
    done = command("people", "r.csv", "--level", "ratio")
    assert (done.code, done.out) == (2, "")
    assert re.search(r"rating -1 found, .*--level ratio", done.err)


def test_people_who_always_say_the_same_are_refused(command: Command, tmp_path: Path) -> None:
    (tmp_path / "r.csv").write_text("item,a,b\n" + "".join(f"{n},1,1\n" for n in range(40)))
    done = command("people", "r.csv", "--people", "a", "--people", "b")
    assert (done.code, done.out) == (2, "")
    assert "gave 1 to" in done.err


def test_repeated_answers_count_as_the_most_frequent_one(command: Command, tmp_path: Path) -> None:
    """The judge says 1, 1 and 0 of items that everybody calls 1: their mean is nobody's answer."""
    votes = [f"{n},{who},human,{int(n < 20)}" for n in range(40) for who in "ab"]
    judged = [f"{n},j,judge,{value}" for n in range(40) for value in ((1, 1, 0) if n < 20 else (0, 0, 0))]
    (tmp_path / "r.csv").write_text("\n".join(["item,rater,kind,value", *votes, *judged]) + "\n")
    body = json.loads(command("people", "r.csv", "--json").out)["judges"][0]
    assert (body["majority"], body["agreement"]["value"]) == ([40, 40], 1.0)
    mean = json.loads(command("people", "r.csv", "--json", "--level", "interval").out)["judges"][0]
    assert mean["squared_error"]["value"] == pytest.approx((1 / 3) ** 2 / 2)


def test_a_report_that_cannot_be_written_is_said(command: Command, tmp_path: Path) -> None:
    write(tmp_path, 0.9)
    done = command(*TOLD, "--out", "r.csv/people.json")
    assert done.code != 0
    assert re.search(r"r\.csv/people\.json: .*\(Not a directory\)", done.err)


def test_people_who_never_disagree_leave_a_ceiling(command: Command, tmp_path: Path) -> None:
    for judge, word in (
        ("j: at the ceiling (ε = 0.15, ω 2 of 2", 0),
        ("j: below people, by more than 0.15 (ω 0", 1),
    ):
        rows = "".join(f"{n},{abs(n % 2 - word)},{n % 2},{n % 2},\n" for n in range(60))
        (tmp_path / "r.csv").write_text("item,j,ann,bob,cat\n" + rows)
        assert judge in " ".join(command(*TOLD[:-2]).out.split())


@pytest.mark.slow
def test_words_agree_with_the_gap_and_omega_in_200_random_tables() -> None:
    """People and judges of every quality; the worlds hold each word, and cases in which ω alone says no."""
    rng = np.random.default_rng(20)
    seen = Counter[str]()
    for _ in range(200):
        items, epsilon = int(rng.integers(35, 120)), float(rng.choice([0.05, 0.1, 0.2]))
        rights = [*rng.uniform(0.6, 0.95, 4), rng.uniform(0.5, 1)]
        truth = rng.integers(0, 2, items)
        said = {
            name: np.where(rng.random(items) < right, truth, 1 - truth)
            for name, right in zip("abcdj", rights, strict=True)
        }
        ratings = [
            Rating(f"{n}", who, JUDGE if who == "j" else HUMAN, float(value))
            for who, values in said.items()
            for n, value in enumerate(values)
        ]
        report = people(RatingsTable("t", tuple(ratings)), PeopleOptions(file=Path(), epsilon=epsilon))
        judge, words = report.judges[0], people_sentence(report)
        gap, omega = judge.gap, judge.winning_rate
        assert gap is not None
        assert gap.low is not None
        assert gap.high is not None
        assert omega is not None
        if judge.verdict == DISAGREE:
            continue
        seen[judge.verdict] += 1
        seen["ω says no"] += judge.verdict == "undecided" and gap.low > -epsilon and gap.high >= 0
        assert f"{epsilon:g}" in words
        assert f"ω {round(4 * omega)} of 4 people" in words
        assert ("at the ceiling" in words) == (gap.low > -epsilon and gap.high >= 0 and omega >= 0.5)
        assert ("below people" in words) == (gap.high < 0)
        assert ("by less than" in words and "undecided" not in words) == (-epsilon < gap.low and gap.high < 0)
        assert ("by more than" in words) == (gap.high < -epsilon)
    kinds = (
        "at the ceiling",
        "below the ceiling, within epsilon",
        "below the ceiling",
        "undecided",
        "ω says no",
    )
    assert all(seen[kind] for kind in kinds), seen


@pytest.mark.parametrize(
    ("gap", "omega", "epsilon", "word"),
    [
        ((-0.083, -0.112, -0.053), 0.15, 0.15, WITHIN),  # 10k_prompts, llama-31
        ((-0.039, -0.072, -0.007), 0.31, 0.15, WITHIN),  # 10k_prompts, gemini_flash
        ((-0.099, -0.147, -0.050), 0.17, 0.15, WITHIN),  # lesion, gemini_flash
        ((-0.163, -0.197, -0.128), 0.25, 0.2, WITHIN),  # lgbteen, gemini_flash
        ((-0.163, -0.207, -0.128), 0.75, 0.2, BELOW),
        ((-0.02, -0.06, 0.02), 0.25, 0.1, UNDECIDED),
        ((-0.02, -0.06, 0.02), 0.5, 0.1, AT_CEILING),
        ((-0.05, -0.11, 0.01), 0.9, 0.1, UNDECIDED),
    ],
)
def test_words_of_published_gaps(
    gap: tuple[float, float, float], omega: float, epsilon: float, word: str
) -> None:
    """Four judges of the alternative annotator test that fail it and were once called at the ceiling."""
    agreed = Figure(0.5, 0.4, 0.6, 0.05, "alpha")
    assert _verdict(Figure(*gap, 0.01, "gap"), omega, agreed, epsilon) == word


def test_judges_of_pandalm_among_three_annotators() -> None:
    """999 pairs that ship with the tests: three people who named 1, 2 or a tie, and two judges."""
    number = {"tie": 0.0, "1": 1.0, "2": 2.0}
    path = published("pandalm") / "items_with_verdicts.jsonl"
    rows = [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines()]
    ratings = [
        Rating(row["item_id"], f"person {n}", HUMAN, number[said])
        for row in rows
        for n, said in enumerate(row["annotators"])
    ]
    ratings += [
        Rating(row["item_id"], judge, JUDGE, number[row[f"verdict_{judge}"]])
        for row in rows
        for judge in ("gpt35", "pandalm7b")
        if row[f"verdict_{judge}"] in number
    ]
    table = RatingsTable("pandalm", tuple(ratings))
    for epsilon, word in ((0.1, BELOW), (0.2, BELOW), (0.3, WITHIN)):
        for judge in people(table, PeopleOptions(file=Path(), epsilon=epsilon)).judges:
            assert judge.verdict == word_of(judge, epsilon) == word
            assert (judge.winning_rate or 0.0) >= 0.5 or epsilon < 0.3


KINDS = ("Action", "Location", "Time of day")


def write_categories(folder: Path, **change: str) -> None:
    """Three people and a judge name one of three categories; the judge is as right as a person."""
    rng = np.random.default_rng(8)
    lines = []
    for n in range(120):
        truth = rng.integers(3)
        said = [KINDS[truth if rng.random() < 0.85 else rng.integers(3)] for _ in range(4)]
        lines.append(",".join([f"{n}", *said]))
    for who, word in change.items():
        cells = lines[7].split(",")
        cells[("item", "j", "ann", "bob", "cat").index(who)] = word
        lines[7] = ",".join(cells)
    (folder / "r.csv").write_text("\n".join(["item,j,ann,bob,cat", *lines]) + "\n")


def test_categories_are_words(command: Command, tmp_path: Path) -> None:
    """The figures are those of numbered categories; distances between words are none."""
    write_categories(tmp_path)
    body = json.loads(command(*TOLD, "--json").out)
    numbered = json.loads(command(*TOLD, "--json", "--values", "action=3,location=1,time of day=7").out)
    assert body["categories"] == list(KINDS)
    for name in ("gap", "agreement", "tests", "majority", "any_person", "verdict", "winning_rate"):
        assert body["judges"][0][name] == numbered["judges"][0][name]
    assert body["alpha"] == numbered["alpha"]
    assert body["split"] == numbered["split"]
    assert (body["judges"][0]["squared_error"], body["people"][0]["severity"]) == (None, None)
    assert numbered["judges"][0]["squared_error"] is not None
    interval = command(*TOLD, "--level", "interval")
    assert (interval.code, "expected numbers" in interval.err) == (2, True)


def test_words_that_are_no_category_are_named(command: Command, tmp_path: Path) -> None:
    """A reply that could not be read may look like a category; a person's "none" may be one."""
    write_categories(tmp_path, j="As an AI model I")
    (judge,) = json.loads(command(*TOLD, "--json").out)["judges"]
    assert judge["strange"] == [1, "As an AI model I"]
    write_categories(tmp_path, j="failed")
    done = command(*TOLD)
    assert re.search(r"j: no verdict .*\b1 of 120 items", done.out)
    assert "nobody else gave" not in done.out
    write_categories(tmp_path, bob="None")
    done = command(*TOLD)
    assert (done.code, "'bob' holds 'None'" in done.err) == (2, True)
    named = command(*TOLD, "--values", "none=0")
    assert (named.code, "Categories: Action" in named.out) == (0, True)


def test_people_who_always_name_one_category_are_refused(command: Command, tmp_path: Path) -> None:
    (tmp_path / "r.csv").write_text("item,a,b\n" + "".join(f"{n},Action,Action\n" for n in range(40)))
    done = command("people", "r.csv", "--people", "a", "--people", "b")
    assert (done.code, "gave Action to" in done.err) == (2, True)


def test_a_judge_without_a_test_says_why(command: Command, tmp_path: Path) -> None:
    """Ann, Bob and Cat share 20 items each, fewer than a test of a person takes."""
    rows = "".join(f"{n},{n % 2},{n % 2},{int(n % 3 == 0)},\n" for n in range(20))
    (tmp_path / "r.csv").write_text("item,j,ann,bob,cat\n" + rows.replace(",1,1,0,", ",1,1,1,"))
    said = " ".join(command(*TOLD[:-2]).out.split())
    assert re.search(r"j: undecided, .*\b30 items", said)
