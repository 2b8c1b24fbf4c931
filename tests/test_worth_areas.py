"""Worths by area: the curves and the test by hand, areas that differ named, equal ones not."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from calibration.worth import CONTEXT, STRONG, draw, layout
from said import answered
from steelyard.datasheet.estimate_index import EstimateIndex, JudgeEstimates
from steelyard.datasheet.questions.cues import cues
from steelyard.datasheet.questions.question import Answer, State
from steelyard.datasheet.render.clauses import text
from steelyard.metrics.estimate import Estimate, Interval
from steelyard.metrics.instrument.areas import AREA_WORTH, DEALS, Areas, AreaTest, with_area_words, with_areas
from steelyard.metrics.instrument.crossing import Moves, Ratings
from steelyard.metrics.instrument.level_worth import area_worths, level_worth
from steelyard.metrics.instrument.worth_estimates import WORTH, pair_worths

PLACES = np.linspace(-4, 4, 33)
AREAS = sorted(set(layout("standard").area.tolist()))


def parabolas(worths: list[float], area: list[str], sharpness: float = 2.0) -> Areas:
    """Clusters whose curve is highest at these worths: −(v − w)²·sharpness/2."""
    curves = -sharpness / 2 * (PLACES - np.array(worths)[:, None]) ** 2
    made = Areas.of(PLACES, curves, np.array(area, dtype=np.object_))
    assert made is not None
    return made


def test_the_worth_of_an_area_is_where_its_clusters_fit_best_together() -> None:
    areas = parabolas([0.1, 0.5, 2.0, 3.0], ["law", "law", "food", "food"])
    assert areas.names == ("food", "law")
    assert areas.worth("law") == pytest.approx(0.3)
    assert areas.worth("food") == pytest.approx(2.5)
    # Two curves of sharpness 2 make one of 4: a loss of 1.96²/2 lies 1.96/√4 away.
    assert areas.limits("law", 1.96) == (pytest.approx(0.3 - 0.98, abs=0.01), pytest.approx(1.28, abs=0.01))
    assert areas.limits("food", 9.0) == (pytest.approx(-2.0, abs=0.01), None)


def test_what_a_worth_of_each_area_gains_by_hand() -> None:
    # Areas at 0 and 2, two clusters each: one worth for all is 1, off by 1 in 4 clusters, 4 · 2/2 · 1² = 4.
    areas = parabolas([0.0, 0.0, 2.0, 2.0], ["a", "a", "b", "b"])
    gained, alone, apart = areas.gains(areas.area)
    assert gained == pytest.approx(4.0)
    assert alone.tolist() == pytest.approx([4.0, 4.0])
    assert apart.tolist() == [-2.0, 2.0]


@pytest.mark.slow
def test_an_area_that_differs_is_named_and_equal_areas_are_not() -> None:
    rng = np.random.default_rng(3)
    area = [name for name in "abcdef" for _ in range(6)]
    found = parabolas([rng.normal(2.0 if name == "c" else 0.0, 0.7) for name in area], area).test(7)
    assert found.p <= 0.01
    assert (found.higher, found.lower) == (("c",), ())
    worths = [parabolas([*rng.normal(0, 0.7, 36)], area).test(run).p for run in range(40)]
    assert sum(p <= 0.05 for p in worths) <= 5
    assert min(worths) > 0.001


def test_an_area_is_named_up_to_one_deal_in_twenty() -> None:
    # Areas of 2, 4 and 4 clusters at 2, 0 and 0: the two meet in the area of two in 1 of C(10, 2) = 45 deals
    # and show as much; of areas of 3 and 3, in 2 of C(6, 3) = 20, which is p .1.
    named = parabolas([2.0] * 2 + [0.0] * 8, [*"aabbbbcccc"]).test(7)
    assert (named.higher, named.p) == (("a",), pytest.approx(1 / 45, abs=4 * (1 / 45 / DEALS) ** 0.5))
    open_ = parabolas([2.0] * 3 + [0.0] * 3, [*"aaabbb"]).test(7)
    assert (open_.higher, open_.lower, open_.p) == ((), (), pytest.approx(0.1, abs=0.04))


def test_a_named_area_is_a_fault_only_beyond_half_a_step() -> None:
    details = {"areas_shown": True, "areas_higher": ("a", "b"), "areas_lower": ()}
    worth = Estimate("j", "tradeoff", WORTH.id, {"cue": "x"}, "pair", 0.1, details=details)
    inside, beyond, unnamed = (
        Estimate(
            "j",
            "tradeoff",
            AREA_WORTH.id,
            {"cue": "x", "stratum": area},
            "pair",
            value,
            (Interval("profile", value - 0.1, value + 0.1),),
        )
        for area, value in (("a", 0.4), ("b", 0.9), ("c", 0.9))
    )
    found = with_area_words([worth], [inside, beyond, unnamed], (-0.5, 0.5))
    assert [each.status == "flagged" for each in found] == [False, True, False]


def test_one_area_alone_and_areas_of_one_cluster_are_not_compared() -> None:
    curves = np.zeros((4, len(PLACES)))
    for names in (["a"] * 4, ["a", "a", "a", "b"], ["a", "b", "c", "d"]):
        assert Areas.of(PLACES, curves, np.array(names, dtype=np.object_)) is None


def test_areas_are_told_after_holm_over_the_cues() -> None:
    row = Estimate("j", "tradeoff", WORTH.id, {"cue": "x"}, "pair", 1.0, details={"crossing": 2.0})
    tests = [AreaTest(p, ("law",), (), "law", "food") for p in (0.02, 0.03)]
    assert [each.details for each in with_areas([row, row], tests)] == [
        {"crossing": 2.0, "areas_p": 0.04, "areas_higher": ("law",), "areas_lower": (), "areas_shown": True},
        {"crossing": 2.0, "areas_p": 0.04, "areas_higher": ("law",), "areas_lower": (), "areas_shown": True},
    ]
    assert with_areas([row, row], [replace(tests[0], p=0.03), tests[1]]) == [row, row]
    assert with_areas([row, row], [tests[0], None])[0].details["areas_p"] == 0.02


def worths_by_area(seed: int, by_area) -> tuple[Estimate, dict[str, Estimate]]:
    pairs = draw(STRONG, 0.0, np.random.default_rng([seed, 9]), cues=("authority",), by_area=by_area)
    found = pair_worths(CONTEXT, pairs, ("authority",))
    worth = next(e for e in found if (e.metric, e.group["cue"]) == (WORTH.id, "authority"))
    return worth, {str(e.group["stratum"]): e for e in found if e.metric == AREA_WORTH.id}


@pytest.mark.slow
def test_a_cue_that_sways_in_one_area_is_a_fault_there_though_not_on_the_whole() -> None:
    """Authority is worth three steps in one area of the catalogue and nothing in the others."""
    only = AREAS[3]
    worth, by_area = worths_by_area(101, lambda area: 3.0 if area == only else 0.0)
    assert worth.status != "flagged"
    assert [name for name, each in by_area.items() if each.status] == [only]
    assert by_area[only].status == "flagged"
    figures = JudgeEstimates("j", EstimateIndex([replace(e, judge="j") for e in (worth, *by_area.values())]))
    answer = cues(figures, "base")
    assert isinstance(answer, Answer)
    assert answer.status == "flagged"
    assert text(answer.clause.lead) == f"is swayed by a claim of authority in {only}"
    (row,) = [test for test in answer.tests if test.state is State.TOO_HIGH]
    assert (row.name, row.limit) == (
        f"worth of a cue in an area: a claim of authority, {only}",
        "within ±0.50",
    )


@pytest.mark.slow
def test_a_cue_that_is_worth_the_same_everywhere_is_a_fault_in_no_area() -> None:
    for seed in range(3):
        worth, by_area = worths_by_area(seed, lambda area: 0.3)
        assert "areas_shown" not in worth.details or not worth.details["areas_shown"]
        assert {each.status for each in by_area.values()} == {None}


@pytest.mark.slow
def test_a_worth_of_half_of_the_areas_is_not_averaged_without_a_word() -> None:
    half = AREAS[::2]
    worth, by_area = worths_by_area(4, lambda area: 3.0 if area in half else 0.0)
    assert worth.details["areas_p"] <= 0.01
    assert set(worth.details["areas_higher"]) <= set(half)
    assert set(worth.details["areas_lower"]).isdisjoint(half)
    assert list(by_area) == AREAS
    assert {(e.n_units, e.n_clusters, e.n_calls, e.unit) for e in by_area.values()} == {(4, 4, 8, "pair")}
    held = [
        e.interval.span[0] <= (3.0 if area in half else 0.0) <= e.interval.span[1]
        for area, e in by_area.items()
    ]
    assert sum(held) >= 11
    assert np.mean([by_area[area].value for area in half]) > 2 > 1 > np.mean(
        [e.value for area, e in by_area.items() if area not in half]
    )  # fmt: skip
    same, _ = worths_by_area(5, lambda area: 0.0)
    assert same.details == {}


def single_texts(by_area: dict[str, float]) -> tuple[Ratings, Moves]:
    """Forty texts of each area on a scale from 1 to 9, two a cluster."""
    rng = np.random.default_rng(11)
    area = np.array([name for name in by_area for _ in range(40)], dtype=np.object_)
    size = len(area)
    label = rng.integers(2, 7, size).astype(float)
    noise = rng.normal(0, 0.5, (2, size))
    worth = np.array([by_area[name] for name in area])
    item, cluster = (
        np.array([f"{n}" for n in range(size) for n in [n // part]], dtype=np.object_) for part in (1, 2)
    )
    plain, cued = (
        Ratings(
            item, np.rint(label + added), label, np.full(size, 1), np.full(size, 9), cluster, area,
            np.ones(size, dtype=np.int64), {"unreadable": 0, "failed": 0},
        )
        for added in (noise[0], noise[1] + worth)
    )  # fmt: skip
    return plain, Moves.between(plain, cued)


def test_single_texts_have_a_worth_in_each_area_and_a_test() -> None:
    plain, both = single_texts({"law": 2.0, "food": 0.0, "art": 0.0})
    here = CONTEXT.for_subgroup(cue="padding")
    worth = level_worth(here, plain, both, "padding")
    test, figures = area_worths(here, plain, both, "padding", worth)
    assert test is not None
    assert (test.p, test.higher) == (pytest.approx(1 / (DEALS + 1)), ("law",))
    found = {str(e.group["stratum"]): e for e in figures}
    assert found["law"].interval.low < 2.0 < found["law"].interval.high
    assert found["food"].interval.low < 0.0 < found["food"].interval.high
    assert {(e.n_units, e.n_clusters, e.n_calls) for e in figures} == {(40, 20, 80)}
    # Typing errors stand on the better text: what they cost is the worth of a text without them.
    harm, harms = area_worths(here, plain, replace(both, score=-both.moved), "typos", worth)
    assert harm is not None
    assert harm.higher == ("law",)
    assert [e.value for e in harms] == pytest.approx([e.value for e in figures], abs=0.1)
    equal, _ = area_worths(here, *single_texts({"law": 1.0, "food": 1.0, "art": 1.0}), "padding", worth)
    assert equal is not None
    assert equal.p > 0.05
    assert area_worths(here, plain, both, "padding", replace(worth, value=None)) == (None, [])


def test_the_sentence_names_the_areas() -> None:
    def told(**details: object) -> str:
        found = Estimate(
            "j", "tradeoff", "cue_worth", {"protocol": "base", "cue": "authority"}, "pair", 1.5,
            intervals=(Interval("x", 0.9, 2.1),), status="flagged", details=details,
        )  # fmt: skip
        return (answered("Cues", JudgeEstimates("j", EstimateIndex([found]))) or ("", ""))[1]

    whole = told(areas_p=0.002, areas_higher=("law", "food"), areas_lower=("art",), areas_shown=True)
    assert "beats an equal one, on average: areas differ (p = 0.002), and it is worth " in whole
    assert whole.endswith("more in law, food, less in art")
    seems = told(areas_p=0.03, areas_higher=("law",), areas_lower=("art",), areas_shown=False)
    assert seems.endswith("and it is worth most in law, least in art")
    assert told(areas_p=0.03, areas_higher=("{}",), areas_lower=(), areas_shown=True).endswith("more in {}")
    assert "areas" not in told()
