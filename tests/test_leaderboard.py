"""Ranks that survive: published comparisons, identical and planted systems, and the command."""

from __future__ import annotations

import csv
import json
import re
from functools import cache
from pathlib import Path

import numpy as np
import pytest
from scipy.stats import kendalltau, rankdata

from calibration import ranks
from calibration.results import load
from commands import Command
from docs_pages import ROOT
from published_data import published
from steelyard.estimation.ranking import (
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
)
from steelyard.importing.ratings import Rating
from steelyard.survey.leaderboard import slot_share

ARENA = published("arena_ranking") / "comparisons.csv"
SYSTEMS = (
    *("gpt-4", "claude-v1", "claude-instant-v1", "gpt-3.5-turbo", "vicuna-13b", "palm-2"),
    *("koala-13b", "RWKV-4-Raven-14B", "alpaca-13b", "oasst-pythia-12b", "chatglm-6b", "fastchat-t5-3b"),
)
"""The twelve systems of the published study, best first by people."""
GPT_4, OPUS, GPT_35 = "gpt-4-0125-preview", "claude-3-opus-20240229", "gpt-3.5-turbo"


# fmt: off
PISA = {
    "Australia": (491.3600, 1.9398), "Austria": (498.9423, 2.9710), "Belgium": (508.0703, 2.2627),
    "Canada": (512.0169, 2.3575), "Chile": (417.4066, 2.4159), "Colombia": (390.9323, 2.9896),
    "Czech Republic": (499.4677, 2.4607), "Denmark": (509.3984, 1.7350), "Estonia": (523.4146, 1.7436),
    "Finland": (507.3014, 1.9679), "France": (495.4076, 2.3202), "Germany": (500.0438, 2.6471),
    "Greece": (451.3703, 3.0912), "Hungary": (481.0826, 2.3196), "Iceland": (495.1874, 1.9531),
    "Ireland": (499.6329, 2.1986), "Israel": (463.0345, 3.4986), "Italy": (486.5899, 2.7800),
    "Japan": (526.9733, 2.4715), "Korea": (525.9330, 3.1214), "Latvia": (496.1263, 1.9628),
    "Lithuania": (481.1912, 1.9533), "Luxembourg": (483.4215, 1.0976), "Mexico": (408.8015, 2.4932),
    "Netherlands": (519.2310, 2.6323), "New Zealand": (494.4897, 1.7059), "Norway": (500.9638, 2.2190),
    "Poland": (515.6479, 2.6021), "Portugal": (492.4874, 2.6846), "Slovak Republic": (486.1649, 2.5556),
    "Slovenia": (508.8975, 1.3639), "Spain": (481.3926, 1.4624), "Sweden": (502.3877, 2.6543),
    "Switzerland": (515.3147, 2.9080), "Turkey": (453.5078, 2.2604),
    "United Kingdom": (501.7699, 2.5644), "United States": (478.2447, 3.2354),
}
# fmt: on
"""Mean scores in mathematics of the OECD's countries, with standard errors (OECD, PISA 2018)."""


@cache
def votes(rater: str) -> SystemScores:
    """14,947 comparisons of twelve systems, where a tie is a loss of both as in the study."""
    number = {name: place for place, name in enumerate(SYSTEMS)}
    rows = []
    with ARENA.open(encoding="utf-8", newline="") as stream:
        for row in csv.DictReader(stream):
            if row["model_a"] in number and row["model_b"] in number:
                line = np.full(len(SYSTEMS), np.nan)
                line[number[row["model_a"]]] = row[rater] == "a"
                line[number[row["model_b"]]] = row[rater] == "b"
                rows.append(line)
    return SystemScores(np.stack(rows), np.arange(len(rows)))


def labelled(seed: int, size: int, rows: int) -> np.ndarray:
    mask = np.zeros(rows, dtype=bool)
    mask[np.random.default_rng(seed).permutation(rows)[:size]] = True
    return mask


@pytest.mark.slow
def test_published_win_rates_and_the_judges_bias() -> None:
    people = votes("human").figures()
    assert votes("human").rows == 14_947
    assert people[:5] == pytest.approx([0.6593, 0.5867, 0.5453, 0.5085, 0.4001], abs=5e-5)
    first = {judge: SYSTEMS[int(votes(judge).figures().argmax())] for judge in (GPT_4, OPUS, GPT_35)}
    assert first == {GPT_4: "claude-v1", OPUS: "claude-v1", GPT_35: "claude-instant-v1"}
    biases = [np.abs(votes(judge).figures() - people).max() for judge in (GPT_4, OPUS, GPT_35)]
    assert biases == pytest.approx([0.071, 0.165, 0.326], abs=5e-4)
    taus = [kendalltau(votes(judge).figures(), people).statistic for judge in (GPT_4, OPUS, GPT_35)]
    assert taus == pytest.approx([0.879, 0.879, 0.727], abs=5e-4)


@pytest.mark.slow
def test_publishedslot_shares() -> None:
    with ARENA.open(encoding="utf-8", newline="") as stream:
        rows = [row for row in csv.DictReader(stream) if {row["model_a"], row["model_b"]} <= set(SYSTEMS)]
    for judge, share in ((GPT_4, 0.553), (OPUS, 0.408), (GPT_35, 0.869)):
        ratings = [
            Rating(row["num"], judge, "judge", float(row[judge] == "a"))
            for row in rows
            if row[judge] in ("a", "b")
        ]
        assert slot_share(ratings) == pytest.approx(share, abs=5e-4)


@pytest.mark.slow
def test_errors_have_the_scale_of_each_system() -> None:
    mask = labelled(0, 1000, 14_947)
    ranking = corrected_ranking(votes(GPT_4), votes("human").filter(mask), mask)
    assert ranking.weights == pytest.approx([0.3325] * 12, abs=1e-3)
    assert ranking.figures[0] == pytest.approx(0.654, abs=5e-4)
    assert ranking.errors[0] == pytest.approx(0.034, abs=5e-4)
    # Divided by n² instead of n_m², the error of vicuna-13b would be .0075; over 400 draws it is .0322.
    drawn, told = [], []
    for seed in range(60):
        sample = plain_ranking(votes("human").filter(labelled(seed, 1000, 14_947)))
        drawn.append(sample.figures[4])
        told.append(sample.errors[4])
    assert np.mean(told) == pytest.approx(0.0319, abs=1e-3)
    assert np.std(drawn) == pytest.approx(np.mean(told), rel=0.3)


@pytest.mark.slow
def test_rank_sets_with_the_judges_error_hold_peoples_ranking_and_without_do_not() -> None:
    held: dict[str, list[bool]] = {"people": [], "corrected": [], "judge": []}
    sizes: dict[str, list[float]] = {"people": [], "corrected": [], "judge": []}
    truth = rankdata(-plain_ranking(votes("human")).figures, method="ordinal")
    for seed in range(4):
        mask = labelled(seed, 1000, 14_947)
        some = votes("human").filter(mask)
        made = {
            "people": plain_ranking(some),
            "corrected": corrected_ranking(votes(GPT_4), some, mask),
            "judge": plain_ranking(votes(GPT_4).filter(~mask)),
        }
        for name, ranking in made.items():
            sets = rank_sets(step_down(ranking, seed)[0])
            held[name].append(
                all(low <= place <= high for (low, high), place in zip(sets, truth, strict=True))
            )
            sizes[name].append(float(np.mean([high - low + 1 for low, high in sets])))
    assert sum(held["people"]) >= 3
    assert sum(held["corrected"]) >= 3
    assert sum(held["judge"]) <= 1
    means = [float(np.mean(sizes[name])) for name in ("people", "corrected", "judge")]
    assert means == pytest.approx([5.6, 5.3, 1.9], abs=0.4)


@pytest.mark.slow
def test_rank_sets_of_countries_are_those_of_csranks() -> None:
    """What the documentation of csranks 1.2.2 (Mogstad et al. 2024) says of PISA 2018.

    Germany and Korea share rank 7 at 95 %, and no rank at 75 %; the last three share none with the others;
    twelve countries may be among the first five at 95 % (Sweden, the twelfth, lies at the limit).
    """
    scores, errors = np.array(list(PISA.values())).T
    ranking = Ranking(scores, np.diag(errors**2))
    assert rankdata(-ranking.figures, method="ordinal").tolist() == [
        *(24, 18, 10, 7, 35, 37, 17, 8, 3, 11, 20, 15, 34, 30, 21, 16, 32, 25, 1, 2, 19, 29, 27, 36, 4),
        *(22, 14, 5, 23, 26, 9, 28, 12, 6, 33, 13, 31),
    ]
    sure = dict(zip(PISA, rank_sets(step_down(ranking, 0)[0]), strict=True))
    less = dict(zip(PISA, rank_sets(step_down(ranking, 0, 0.75)[0]), strict=True))
    assert (sure["Korea"][1], sure["Germany"][0]) == (7, 7)
    assert less["Korea"][1] < less["Germany"][0]
    last = {"Chile", "Colombia", "Mexico"}
    assert min(sure[name][0] for name in last) == 35
    assert max(sure[name][1] for name in PISA if name not in last) == 34
    assert {name for name, (best, _) in sure.items() if best <= 5} - {"Sweden"} == {
        *("Belgium", "Canada", "Denmark", "Estonia", "Finland", "Japan"),
        *("Korea", "Netherlands", "Poland", "Slovenia", "Switzerland"),
    }


def test_identical_systems_may_have_any_rank() -> None:
    scores = np.repeat(np.random.default_rng(1).random((50, 1)), 4, axis=1)
    ranking = plain_ranking(SystemScores(scores, np.arange(50)))
    assert rank_sets(step_down(ranking, 7)[0]) == [(1, 4)] * 4


def test_figures_of_two_systems_by_hand() -> None:
    # Means ½ and ¼; paired differences 1, 0, 0, 0 around ¼.
    values = np.array([[1.0, 0.0], [1.0, 1.0], [0.0, 0.0], [0.0, 0.0]])
    ranking = plain_ranking(SystemScores(values, np.arange(4)))
    assert ranking.figures == pytest.approx([0.5, 0.25])
    spread = ranking.covariance[0, 0] + ranking.covariance[1, 1] - 2 * ranking.covariance[0, 1]
    assert spread == pytest.approx(0.75 / 16 * 4 / 3)
    assert flip_chance(ranking, 0, 1) == pytest.approx(0.1955, abs=1e-4)  # one error apart, t of 3
    assert first_chances(ranking, 7) == pytest.approx([0.8045, 0.1955], abs=0.01)


def test_rows_of_one_task_are_summed_first() -> None:
    values = np.random.default_rng(2).random((40, 3))
    twice = np.concatenate([values, values])
    task = np.concatenate([np.arange(40), np.arange(40)])
    once, copied = (
        plain_ranking(SystemScores(values, np.arange(40))),
        plain_ranking(SystemScores(twice, task)),
    )
    assert copied.errors == pytest.approx(once.errors)


def test_each_system_may_have_its_own_weight() -> None:
    # The judge repeats people on p, so λ = 1/(1 + 12/12); on q it says nothing of them, so λ = 0. As one λ
    # both have a quarter: the covariance is that of p alone, the variance that of both.
    people = np.tile([[0.0, 0.0], [1.0, 1.0]], (12, 1))
    judge = np.stack([people[:, 0], np.tile([0.0, 0.0, 1.0, 1.0], 6)], axis=1)
    near = np.arange(24) < 12
    made = [
        corrected_ranking(
            SystemScores(judge, np.arange(24)),
            SystemScores(people[near], np.arange(12)),
            near,
            weight_per_system=each,
        )
        for each in (True, False)
    ]
    assert made[0].weights == pytest.approx([0.5, 0.0])
    assert made[1].weights == pytest.approx([0.25, 0.25])
    # q keeps the variance of its labels, ¼/11; that of p is (1 − ρ²(1 − n/N)) of it.
    assert made[0].covariance[1, 1] == pytest.approx(0.25 / 11)
    assert made[0].covariance[0, 0] == pytest.approx(0.25 / 11 / 2)


def write_votes(folder: Path, unlabelled: int) -> None:
    """300 rows of A and B, every third with a vote, and 15 of C, all with one; C wins so many others.

    People say what the judge says but for every seventh row.
    """
    rows = []
    for n in range(315):
        pair = "A,B" if n < 300 else f"C,{'AB'[n % 2]}"
        judge = n % 5 < 3 if n < 300 else n % 2 == 0
        vote = "ab"[judge == (n % 7 == 0)] if n % 3 == 0 or n >= 300 else ""
        rows.append(f"{n},{pair},{'ba'[judge]},{vote}\n")
    rows += [f"{n},C,{'AB'[n % 2]},a,\n" for n in range(315, 315 + unlabelled)]
    (folder / "r.csv").write_text("item,system_a,system_b,j,h\n" + "".join(rows))


@pytest.mark.parametrize("unlabelled", [0, 1, 9])
def test_votes_alone_count_where_few_rows_of_a_system_are_without(
    command: Command, tmp_path: Path, unlabelled: int
) -> None:
    write_votes(tmp_path, unlabelled)
    told = ("leaderboard", "r.csv", "--judge", "j", "--people", "h", "--design", "random")
    done = command(*told, "--json")
    assert (done.code, done.err) == (0, "")
    board = json.loads(done.out)
    voted, made = (
        {row["system"]: row for row in board[table]["systems"]} for table in ("people_alone", "corrected")
    )
    assert made["C"]["weight"] == 0
    for part in ("value", "low", "high"):  # limits but for n/(n − 1), n all rows or those with votes
        assert made["C"][part] == pytest.approx(voted["C"][part], abs=2e-3)
    assert made["A"]["weight"] == made["B"]["weight"] > 0
    assert made["A"]["high"] - made["A"]["low"] < voted["A"]["high"] - voted["A"]["low"]
    said = "The judge is left out for C: fewer than 10 rows without a vote, so people's votes alone count."
    assert said in board["remarks"]
    assert said in " ".join(command(*told, "--html", "page.html").out.split())
    assert said in (tmp_path / "page.html").read_text().replace("&#39;", "'")


def test_the_judge_corrects_from_ten_rows_without_a_vote_on(command: Command, tmp_path: Path) -> None:
    write_votes(tmp_path, 10)
    told = ("leaderboard", "r.csv", "--judge", "j", "--people", "h", "--design", "random", "--json")
    board = json.loads(command(*told).out)
    assert len({row["weight"] for row in board["corrected"]["systems"]}) == 1
    assert not any("left out" in remark for remark in board["remarks"])


def test_few_rows_without_a_vote_leave_the_judge_out(command: Command, tmp_path: Path) -> None:
    rows = "".join(f"{n},{s},{n % 3},{n % 4 if n < 26 else ''}\n" for n in range(30) for s in "pq")
    (tmp_path / "r.csv").write_text("item,system,j,h\n" + rows)
    told = ("leaderboard", "r.csv", "--judge", "j", "--people", "h", "--design", "random", "--json")
    board = json.loads(command(*told).out)
    assert board["corrected"]["systems"][0]["low"] == board["people_alone"]["systems"][0]["low"]
    assert "for all systems" in board["remarks"][0]


def test_votes_that_separate_two_systems_by_hand() -> None:
    # σ²/T = 100·(.2/.1)² = 400 and ρ² = (1 − (.15/.2)²)/.9; n = 400(1 − ρ²)/(1 − 400ρ²/1000) = 255.2.
    assert labels_to_separate(0.1, 0.15, 0.2, 100, 1000) == (256, 400)
    assert labels_to_separate(0.1, 0.2, 0.2, 100, 1000) == (400, 400)  # the judge is worth nothing
    assert labels_to_separate(0.05, 0.15, 0.2, 100, 1000) == (None, 1600)  # votes on all rows would not do
    assert labels_to_separate(0.1, 0.2, 0.2, 100, 100) == (None, 400)  # all have votes
    assert labels_to_separate(0.0, 0.2, 0.2, 100, 1000) == (None, None)


def test_clear_gaps_make_tiers() -> None:
    ranking = Ranking(np.array([0.5, 0.9, 0.51]), np.diag([1e-4] * 3))
    shown = step_down(ranking, 7)[0]
    assert rank_sets(shown) == [(2, 3), (1, 1), (2, 3)]
    assert tiers(ranking, shown) == [2, 1, 2]
    assert rankdata(-ranking.figures, method="ordinal").tolist() == [3, 1, 2]


def family_wise_coverage(systems: int, rows: int, runs: int) -> float:
    """Share of runs in which every system's rank lies in its set; some systems are nearly alike."""
    strength = np.linspace(0.3, 0.6, systems)
    strength[1] = strength[0] + 0.002
    truth = np.argsort(np.argsort(-strength)) + 1
    held = 0
    for run in range(runs):
        rng = np.random.default_rng([systems, rows, run])
        hard = rng.normal(0, 0.2, (rows, 1))
        values = (rng.random((rows, systems)) < strength + hard).astype(float)
        sets = rank_sets(step_down(plain_ranking(SystemScores(values, np.arange(rows))), run)[0])
        held += all(low <= place <= high for (low, high), place in zip(sets, truth, strict=True))
    return held / runs


@pytest.mark.slow
def test_ranks_hold_for_all_systems_at_once() -> None:
    assert family_wise_coverage(5, 150, 60) >= 0.95 - 2 * (0.95 * 0.05 / 60) ** 0.5


@pytest.mark.calibrate
@pytest.mark.parametrize(("systems", "rows"), [(3, 60), (6, 200), (12, 500)])
def test_ranks_hold_over_300_runs(systems: int, rows: int) -> None:
    assert family_wise_coverage(systems, rows, 300) >= 0.95 - 2 * (0.95 * 0.05 / 300) ** 0.5


@pytest.mark.slow
def test_few_votes_of_equal_systems_show_no_difference() -> None:
    # By the normal law 11 % of these claimed one.
    assert ranks.family_errors(4, 40, 250) / 250 <= 0.06 + 2 * (0.05 * 0.95 / 250) ** 0.5


@pytest.mark.calibrate
@pytest.mark.parametrize(("systems", "rows", "labels"), ranks.CELLS)
def test_few_votes_of_equal_systems_over_2000_runs(systems: int, rows: int, labels: int | None) -> None:
    assert ranks.family_errors(systems, rows, 2000, labels) / 2000 <= 0.06


def test_the_published_family_errors_hold() -> None:
    body = load()["rank_sets"]
    made = [(row["systems"], row["comparisons"], row["labels"]) for row in body["rows"]]
    assert made == list(ranks.CELLS)
    assert max(row["wrong"] for row in body["rows"]) / body["runs"] <= 0.06


def test_named_systems_are_apart_by_their_own_interval(command: Command, tmp_path: Path) -> None:
    write_scores(tmp_path, ("p", "q", "r"), 60)
    told = (*RANKED, "--baseline", "q", "--json")
    named, ranked = (
        json.loads(command(*told, *more).out)["corrected"] for more in (("--separate", "q", "p"), ())
    )
    value, low, _ = next(row for row in named["systems"] if row["system"] == "p")["difference"]
    assert named["separation"]["gap"] == pytest.approx(value)
    assert named["separation"]["reach"] == pytest.approx(value - low)
    # The rule of ranks is about all pairs at once, and so it is wider.
    assert ranked["separation"]["better"] == "p"
    one, other = ranked["separation"]["worse"], named["separation"]["worse"]
    if one == other:
        assert ranked["separation"]["reach"] > 1.05 * named["separation"]["reach"]


def test_votes_on_items_that_tuned_the_judge_are_left_out(command: Command, tmp_path: Path) -> None:
    """The split stands with the judge's rows alone, as a table of ratings may have it."""
    rows = []
    for n in range(60):
        split = "tune" if n < 20 else "test"
        for system in ("p", "q"):
            rows.append(f"{n},{system},gpt,judge,{n % 3},{split}\n")
            rows.append(f"{n},{system},ann,human,{9 if n < 20 else n % 2},\n")
    (tmp_path / "t.csv").write_text("item,system,rater,kind,value,split\n" + "".join(rows))
    board = json.loads(command("leaderboard", "t.csv", "--json").out)
    assert (board["rows"], board["labels"]) == (40, 40)
    assert [row["value"] for row in board["people_alone"]["systems"]] == [0.5, 0.5]
    (remark,) = board["remarks"]
    assert re.match(r"20 items .* tuned", remark)


def test_the_command_on_the_example(command: Command, tmp_path: Path) -> None:
    votes_file = ROOT / "examples" / "votes.csv"
    told = ("--judge", "verdict", "--columns", "item=id,system_a=model_a,system_b=model_b")
    done = command("leaderboard", votes_file, *told, "--people", "human", "--design", "random", "--json")
    assert done.code == 0, done.err
    board = json.loads(done.out)
    places = [(row["system"], row["best"], row["worst"]) for row in board["corrected"]["systems"]]
    assert places == [("birch", 1, 2), ("atlas", 1, 2), ("cobalt", 3, 3), ("drift", 4, 4)]
    assert board["unsupported"] == ["cobalt", "birch"]
    unlabelled = tmp_path / "votes.csv"
    unlabelled.write_text(re.sub(r"(?m),[^,\n]*$", "", votes_file.read_text()))
    alone = json.loads(command("leaderboard", unlabelled, *told, "--json").out)
    assert (alone["labels"], alone["people_alone"], alone["corrected"]) == (0, None, None)
    # A judge that favours the first by as much more than people do changes the first place.
    assert alone["judge_alone"]["separation"]["gap"] == pytest.approx(0.029, abs=5e-4)
    undrawn = json.loads(command("leaderboard", votes_file, *told, "--people", "human", "--json").out)
    assert (undrawn["corrected"], undrawn["labels"], undrawn["rows"]) == (None, 240, 800)
    assert undrawn["remarks"][0].startswith("Not corrected: ")
    lost = json.loads(command("leaderboard", votes_file, *told, "--ties", "loss", "--json").out)
    half = json.loads(command("leaderboard", votes_file, *told, "--json").out)
    rates = [board["judge_alone"]["systems"][0]["value"] for board in (lost, half)]
    assert rates[0] < rates[1]


def test_scores_of_systems_on_the_same_items(command: Command, tmp_path: Path) -> None:
    rng = np.random.default_rng(3)
    rows = []
    for item in range(80):
        hard = rng.normal(0, 3)
        for system, shift in (("p", 0.4), ("q", 0.0), ("r", 0.02)):
            score = hard + shift + rng.normal(0, 0.2)
            rows.append(f"{item},{system},{score:.3f},{f'{score + 1:.3f}' if item < 80 else ''}\n")
    (tmp_path / "r.csv").write_text("item,system,j,h\n" + "".join(rows))
    board = json.loads(command("leaderboard", "r.csv", "--judge", "j", "--people", "h", "--json").out)
    ranks = {row["system"]: (row["best"], row["worst"]) for row in board["corrected"]["systems"]}
    assert ranks == {"p": (1, 1), "q": (2, 3), "r": (2, 3)}


def test_scores_have_the_usual_scale_that_holds_them_or_the_stated_one(
    command: Command, tmp_path: Path
) -> None:
    """Means of 4.5 in 40 rows: shares of ⅞ on 1 to 5 or of ½ on 4 to 5, variance ¼/39, by Wilson."""
    rows = "".join(f"{n},{s},{4 + (n + k) % 2}\n" for n in range(40) for k, s in enumerate("pq"))
    (tmp_path / "r.csv").write_text("item,system,j\n" + rows)
    for more, low, span in (((), 1, 4), (("--scale", "4-5"), 4, 1)):
        board = json.loads(command("leaderboard", "r.csv", "--judge", "j", *more, "--json").out)
        share, z = (4.5 - low) / span, 1.959964
        size = share * (1 - share) * span**2 * 39 / 0.25
        centre = share + z * z / 2 / size
        reach = z * (share * (1 - share) / size + (z / 2 / size) ** 2) ** 0.5
        limits = [low + span * (centre + sign * reach) / (1 + z * z / size) for sign in (-1, 1)]
        row = board["judge_alone"]["systems"][0]
        assert [row["low"], row["high"]] == pytest.approx(limits, abs=1e-5)
    assert board["scale_assumed"] == ""
    board = json.loads(command("leaderboard", "r.csv", "--judge", "j", "--json").out)
    assert " 1 to 5 " in board["scale_assumed"]


def write_scores(folder: Path, systems: tuple[str, str, str], votes: int) -> None:
    """120 items; people put p above q by .5, and r about where q is; the judge repeats them, but not on r."""
    rng = np.random.default_rng(11)
    rows = []
    for item in range(120):
        score = rng.normal(0, 1)
        for system, shift in zip(systems, (0.5, 0.0, 0.0), strict=True):
            said = rng.normal(0, 1) if system == systems[2] else score + shift + rng.normal(0, 0.3)
            label = f"{score + shift + rng.normal(0, 0.2):.4f}" if item < votes else ""
            rows.append(f"{item},{system},{said:.4f},{label}\n")
    (folder / "r.csv").write_text("item,system,gpt-4o,h\n" + "".join(rows))


RANKED = ("leaderboard", "r.csv", "--judge", "gpt-4o", "--people", "h", "--design", "random")


def test_weights_are_shown_for_each_system_where_votes_suffice(command: Command, tmp_path: Path) -> None:
    for votes, own in ((40, False), (60, True)):
        write_scores(tmp_path, ("p", "q", "r"), votes)
        rows = json.loads(command(*RANKED, "--json").out)["corrected"]["systems"]
        weights = {row["system"]: row["weight"] for row in rows}
        assert (len(set(weights.values())) == 3) is own
        if own:
            assert weights["r"] < 0.2 < 0.4 < weights["p"]


def test_a_named_pair_is_told_apart_or_what_it_takes_is_said(command: Command, tmp_path: Path) -> None:
    write_scores(tmp_path, ("p", "q", "r"), 60)
    known = json.loads(command(*RANKED, "--separate", "q", "p", "--json").out)["corrected"]["separation"]
    assert (known["better"], known["worse"], known["is_apart"]) == ("p", "q", True)
    assert known["gap"] > known["reach"]
    apart = json.loads(command(*RANKED, "--separate", "q", "r", "--json").out)["corrected"]["separation"]
    assert {apart["better"], apart["worse"]} == {"q", "r"}
    assert not apart["is_apart"]
    assert apart["votes"] is None  # even votes on all 120 rows would not do
    assert apart["rows"] > 120
    for pair, told in ((("q", "q"), "'q' found twice"), (("q", "x"), "no system 'x'")):
        done = command(*RANKED, "--separate", *pair)
        assert (done.code, done.out) == (2, "")
        assert told in done.err


def test_the_reach_of_a_named_pair_is_that_of_its_paired_difference(command: Command, tmp_path: Path) -> None:
    """One comparison that was named before: not the rule by which all ranks hold at once."""
    write_scores(tmp_path, ("p", "q", "r"), 60)
    told = (*RANKED, "--separate", "q", "r", "--baseline", "r", "--json")
    found = json.loads(command(*told).out)["corrected"]
    (row,) = [row for row in found["systems"] if row["system"] == "q"]
    _, low, high = row["difference"]
    assert found["separation"]["reach"] == pytest.approx((high - low) / 2)


def test_systems_of_the_judges_own_family_are_marked(command: Command, tmp_path: Path) -> None:
    write_scores(tmp_path, ("gpt-4", "claude-2", "mine"), 60)
    known = json.loads(command(*RANKED, "--json").out)
    assert (known["own_family"], known["family_source"]) == (["gpt-4"], "by name")
    rows = [
        next(row for row in known[table]["systems"] if row["system"] == "gpt-4")
        for table in ("judge_alone", "corrected")
    ]
    alone, with_votes = (f"{row['value']:.3f} [{row['low']:.3f}, {row['high']:.3f}]" for row in rows)
    text = " ".join(command(*RANKED).out.split())
    assert "gpt-4 * " in text
    assert f"people's votes: gpt-4 {alone} and {with_votes}." in text
    given = json.loads(command(*RANKED, "--own-family", "mine", "--json").out)
    assert (given["own_family"], given["family_source"]) == (["mine"], "given")
    alone = json.loads(command(*RANKED[:4], "--json").out)
    assert (alone["own_family"], alone["corrected"]) == (["gpt-4"], None)
    write_scores(tmp_path, ("p", "q", "r"), 60)
    assert "own model family" not in command(*RANKED).out


def test_ties_everywhere_leave_nobody_ahead(command: Command, tmp_path: Path) -> None:
    rows = "".join(f"{n},{'pqr'[n % 3]},{'pqr'[(n + 1) % 3]},tie\n" for n in range(60))
    (tmp_path / "r.csv").write_text("item,system_a,system_b,j\n" + rows)
    board = json.loads(command("leaderboard", "r.csv", "--judge", "j", "--json").out)
    systems = board["judge_alone"]["systems"]
    assert [(row["best"], row["worst"], row["tier"]) for row in systems] == [(1, 3, 1)] * 3
    assert [row["first"] for row in systems] == pytest.approx([1 / 3] * 3, abs=0.02)
    # Ties alone do not prove that all others are ties: Wilson's limits of ½ in 40 rows.
    assert [(row["low"], row["high"]) for row in systems] == [pytest.approx((0.35199, 0.64801), abs=1e-5)] * 3
    strong = json.loads(
        command("leaderboard", "r.csv", "--judge", "j", "--rank-by", "strength", "--json").out
    )
    # Information of each pair 20·¼; inverse diagonal 2/9/5; 400/ln 10 points; 1.96 standard errors are 71.8.
    assert strong["judge_alone"]["systems"][0]["high"] == pytest.approx(1071.78, abs=0.01)


def test_one_score_alone_has_no_interval(command: Command, tmp_path: Path) -> None:
    rows = "".join(f"{n},{s},3\n" for n in range(20) for s in "pq")
    (tmp_path / "r.csv").write_text("item,system,j\n" + rows)
    done = command("leaderboard", "r.csv", "--judge", "j", "--baseline", "p")
    text = " ".join(done.out.split())
    assert "p 3.000 [undefined] 1–2 0.50 1 q 3.000 [undefined] 1–2 0.50 1" in text
    assert "q 0.000 [undefined]" in text


def test_undefeated_systems_have_limits_and_no_strength(command: Command, tmp_path: Path) -> None:
    rows = "".join(f"{n},{'pqr'[n % 3]},{'pqr'[(n + 1) % 3]},{'aab'[n % 3]}\n" for n in range(60))
    (tmp_path / "r.csv").write_text("item,system_a,system_b,j\n" + rows)
    board = json.loads(command("leaderboard", "r.csv", "--judge", "j", "--json").out)
    first = board["judge_alone"]["systems"][0]
    assert (first["system"], first["low"], first["high"]) == ("p", pytest.approx(0.91238, abs=1e-5), 1)
    assert board["strengths"] is None
    reason = "Bradley–Terry strengths by the judge are undefined: 'p' never lost to the other systems"
    assert board["remarks"] == [f"{reason}."]
    done = command("leaderboard", "r.csv", "--judge", "j", "--rank-by", "strength")
    assert (done.code, done.out) == (2, "")
    assert f"{reason}, expected a chain" in done.err


def test_items_that_tuned_the_judge_are_left_out(command: Command, tmp_path: Path) -> None:
    rows = "".join(
        f"{n},{s},{(n + (s == 'p')) % 3},{'tune' if n < 5 else ''}\n" for n in range(30) for s in "pq"
    )
    (tmp_path / "r.csv").write_text("item,system,j,split\n" + rows)
    board = json.loads(command("leaderboard", "r.csv", "--judge", "j", "--json").out)
    assert board["rows"] == 25
    (remark,) = board["remarks"]
    assert re.match(r"5 items .* tuned", remark)


def test_votes_on_rows_that_were_not_judged_are_said(command: Command, tmp_path: Path) -> None:
    rows = [(n, s, r, k, (n + (s == "p")) % 3) for n in range(30) for s in "pq"
            for r, k in (("j", "judge"), ("a", "human")) if r == "a" or n < 28]  # fmt: skip
    text = "".join(",".join(map(str, row)) + "\n" for row in rows)
    (tmp_path / "r.csv").write_text("item,system,rater,kind,value\n" + text)
    board = json.loads(command("leaderboard", "r.csv", "--json").out)
    assert (board["rows"], board["labels"]) == (28, 28)
    (remark,) = board["remarks"]
    assert re.match(r"Left out: 2 rows of people ", remark)


def test_one_task_says_nothing_of_tasks(command: Command, tmp_path: Path) -> None:
    rng = np.random.default_rng(5)
    rows = [f"{n},{'pqr'[n % 3]},{'pqr'[(n + 1) % 3]},{rng.choice(['a', 'b'])}" for n in range(60)]
    (tmp_path / "one.csv").write_text("item,system_a,system_b,j,task\n" + "".join(f"{r},t\n" for r in rows))
    (tmp_path / "none.csv").write_text("item,system_a,system_b,j\n" + "".join(f"{r}\n" for r in rows))
    one, none = (
        json.loads(command("leaderboard", f"{name}.csv", "--judge", "j", "--json").out)
        for name in ("one", "none")
    )
    assert one["judge_alone"] == none["judge_alone"]
    assert one["independence"].endswith("in one task")
    assert none["independence"].endswith("no task is named")


def test_few_tasks_take_t() -> None:
    rng = np.random.default_rng(6)
    values = rng.random((40, 2))
    ranking = plain_ranking(SystemScores(values, np.arange(40) % 4))
    assert ranking.freedom == 3
    low, high = ranking.limits(0) or (0.0, 0.0)
    # The score interval on the size that the variance amounts to, with t of 3 degrees of freedom.
    value, z = float(ranking.figures[0]), 3.18245
    size = value * (1 - value) / float(ranking.errors[0]) ** 2
    root = z * (value * (1 - value) / size + z * z / (4 * size**2)) ** 0.5
    centre = value + z * z / (2 * size)
    assert (low, high) == pytest.approx(
        ((centre - root) / (1 + z * z / size), (centre + root) / (1 + z * z / size)), abs=1e-4
    )


def test_a_lower_confidence_narrows_limits_and_ranks(command: Command) -> None:
    told = (ROOT / "examples" / "votes.csv", "--judge", "verdict", "--columns")
    told = (*told, "item=id,system_a=model_a,system_b=model_b", "--baseline", "atlas")
    wide, narrow = (
        json.loads(command("leaderboard", *told, "--confidence", level, "--json").out)
        for level in ("0.95", "0.5")
    )
    assert (wide["confidence"], narrow["confidence"]) == (0.95, 0.5)
    for one, other in zip(wide["judge_alone"]["systems"], narrow["judge_alone"]["systems"], strict=True):
        ratio = (other["high"] - other["low"]) / (one["high"] - one["low"])
        assert ratio == pytest.approx(0.67449 / 1.95996, rel=0.01)
        assert other["worst"] - other["best"] <= one["worst"] - one["best"]
        if one["system"] != "atlas":
            gap, low, _ = one["difference"]
            assert (gap - other["difference"][1]) / (gap - low) == pytest.approx(0.67449 / 1.95996, rel=3e-3)
    text = command("leaderboard", *told, "--confidence", "0.5").out
    assert "rate % [50 %]" in text
    assert "atlas [50 %]" in text


@pytest.mark.parametrize(
    ("text", "arguments", "told"),
    [
        ("item,system,j\n1,p,1\n1,q,1\n", ("--rank-by", "strength"), "scores found, expected comparisons"),
        (
            "item,system_a,system_b,j\n1,p,q,1\n",
            ("--rank-by", "strength", "--ties", "loss"),
            "--ties loss: a",
        ),
        ("item,j\n1,1\n", (), "0 systems found, expected at least two to rank"),
        ("item,system,j\n1,p,1\n1,q,1\n", (), "'p' has 1 row rated by judge 'j', expected at least 10"),
        ("item,system,j\n1,p,1\n1,q,1\n", ("--system", "x"), "no system 'x', expected one of 'p', 'q'"),
        ("item,system,j\n1,p,1\n1,q,1\n", ("--system", "p", "--system", "p"), "1 system found, expected at"),
        (
            "item,system,j,h\n" + "".join(f"{n},p,1,1\n{n},q,0,{'0' if n < 9 else ''}\n" for n in range(20)),
            ("--people", "h", "--design", "random"),
            "'q' has 9 rows rated by people, expected at least 10 of every system",
        ),
        ("item,system,j\n1,p,1\n1,q,1\n", ("--baseline", "x"), "no system 'x', expected one of 'p', 'q'"),
        (
            "item,system,j,p_drawn\n1,p,1,0.5\n1,q,1,0.1\n",
            (),
            "odds from 0.1 to 0.5 found, expected the same for every row",
        ),
    ],
)
def test_what_cannot_be_ranked_is_refused(
    command: Command, tmp_path: Path, text: str, arguments: tuple[str, ...], told: str
) -> None:
    (tmp_path / "r.csv").write_text(text)
    done = command("leaderboard", "r.csv", "--judge", "j", *arguments)
    assert (done.code, done.out) == (2, "")
    assert told in done.err


def test_ranks_take_the_degrees_of_freedom_of_the_system_with_the_fewest_rows() -> None:
    """Systems a and b in 30 rows, c in 12 of them with a: 12 − 1."""
    values = np.full((42, 3), np.nan)
    values[:30, 0] = np.arange(30) % 2
    values[:30, 1] = 1 - values[:30, 0]
    values[30:, 0] = np.arange(12) % 2
    values[30:, 2] = 1 - values[30:, 0]
    assert plain_ranking(SystemScores(values, np.arange(42))).freedom == 11
