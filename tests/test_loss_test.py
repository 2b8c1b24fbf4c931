"""Lost calls: told from an even spread, with the level that is promised."""

from __future__ import annotations

from dataclasses import replace
from itertools import product

import numpy as np
import pytest

from steelyard.datasheet.instrument_card import JudgeEntry
from steelyard.datasheet.questions.questions import decisions_of
from steelyard.datasheet.render.clauses import sentence
from steelyard.metrics.run.losses import INDEPENDENT, loss_estimates, loss_test
from steelyard.metrics.stats.distributions import t_quantile
from steelyard.metrics.stats.intervals import newcombe, score
from steelyard.stimuli.stimulus import Lineage, NoPreference, Stimulus
from steelyard.trials.judge import Usage
from steelyard.verdicts.observations import Observation
from steelyard.verdicts.verdict import Decided, Failed, Tie, Unreadable

LOST = Unreadable("no answer found")


def stimulus(kind: str, number: int) -> Stimulus:
    name = f"{kind}-{number:03d}"
    return Stimulus(
        name,
        "vacuum",
        kind,
        f"t{number % 5}",
        "general",
        "?",
        ("", ""),
        NoPreference(),
        Lineage(name, "none"),
    )


def calls(lost: dict[str, int], units: int, *, protocol: str = "base") -> list[Observation]:
    """Both orders of `units` pairs of each kind; both are lost for the first `lost[kind]` pairs."""
    return [
        Observation("J", protocol, stimulus(kind, n), order, 0, LOST if n < bad else Tie(), Usage(), "")
        for kind, bad in lost.items()
        for n, order in product(range(units), ("uv", "vu"))
    ]


def test_p_by_hand() -> None:
    # Two of two blank pairs are lost and none of two empty ones. Of the 6 ways to choose two of four pairs,
    # 2 are as uneven: both blank or both empty. p is near 1/3.
    test = loss_test(calls({"blank": 2, "empty": 0}, 2), Unreadable, 7)
    assert test is not None
    assert test.p == pytest.approx(1 / 3, abs=0.04)
    assert (test.worst, test.lost, test.calls) == (("vacuum", "blank"), 4, 4)


def test_losses_in_one_condition_are_flagged_though_they_are_few() -> None:
    observations = calls({"blank": 8, "empty": 0, "identical": 0}, 20)
    observations += [o for n in range(40) for o in calls({f"kind{n}": 0}, 20)]
    rate = loss_estimates("J", observations, 7)[0]
    assert rate.value is not None
    assert rate.value < 0.02
    assert (rate.status, rate.reading, rate.calls_needed) == ("flagged", "uneven", None)
    assert "most in vacuum, blank: 16 of 40" in (rate.note or "")
    reading = next(decisions_of([JudgeEntry("J", "m", False, {})], loss_estimates("J", observations, 7)))
    assert reading.status == "flagged"
    assert "unreadable calls depend on what is shown" in sentence(reading.clause)
    row = next(test for test in reading.tests if test.estimate.metric == "unreadable_rate")
    # 16 of 40 calls against 0 of the 1,680 others.
    assert (row.name, row.estimate.value, row.limit) == (
        "unreadable in vacuum (blank), against the others",
        pytest.approx(0.4),
        "at most 0",
    )
    assert row.is_outside


@pytest.mark.slow
def test_losses_that_no_condition_is_shown_to_have_more_of_are_not_called_uneven() -> None:
    """Half of 80 kinds lose 3 of 8 pairs, the others none: uneven by p, and no kind is by itself."""
    observations = calls({f"kind{n:02d}": 3 * (n % 2) for n in range(80)}, 8)
    test = loss_test(observations, Unreadable, 7)
    assert test is not None
    assert (test.p < 0.01, test.lost, test.calls) == (True, 6, 16)
    assert newcombe((6, 16), (234, 1264))[0] < 0
    assert loss_estimates("J", observations, 7)[0].reading != "uneven"


def test_an_even_spread_is_read_against_the_limit_alone() -> None:
    rate = loss_estimates("J", calls({"blank": 2, "empty": 2}, 40), 7)[0]
    assert rate.reading is None
    assert "even over conditions: p = 1" in (rate.note or "")


@pytest.mark.parametrize(
    "observations",
    [
        calls({"blank": 3}, 10),
        calls({"blank": 10, "empty": 10}, 10),
        calls({"blank": 0, "empty": 0}, 10),
        [],
    ],
    ids=["one condition", "all lost", "none lost", "no calls"],
)
def test_where_there_is_nothing_to_test(observations: list[Observation]) -> None:
    assert loss_test(observations, Unreadable, 7) is None
    assert loss_test(observations, Failed, 7) is None


def test_prompts_are_conditions_too() -> None:
    observations = [*calls({"empty": 9}, 20, protocol="strict"), *calls({"empty": 0}, 20)]
    test = loss_test(observations, Unreadable, 7)
    assert test is not None
    assert test.p <= 0.005
    assert test.worst == ("vacuum", "empty", "strict")


@pytest.mark.slow
def test_even_losses_are_flagged_in_at_most_five_percent() -> None:
    # Pairs are lost whole, which would deceive a test that dealt single calls.
    chance, flagged, runs = np.random.default_rng(5), 0, 24
    for run in range(runs):
        bad = chance.multivariate_hypergeometric([20, 20, 20], 9)
        test = loss_test(calls(dict(zip("abc", map(int, bad), strict=True)), 20), Unreadable, run)
        flagged += test is not None and test.p <= 0.05
    # Three standard errors of a true 5 % are .13.
    assert flagged / runs <= 0.18


def test_edits_of_one_item_are_lost_each_by_itself() -> None:
    # 20 items, each shown as it is and edited; the judge answers no edit. Of all ways to choose 20 of the 40
    # texts only two are as uneven, so no deal comes near: p is the least that 1999 deals can show.
    shown = [
        replace(stimulus(kind, n), probe=probe, texts=("",), lineage=Lineage(f"i{n}", "none"), scale="binary")
        for n in range(20)
        for probe, kind in (("original", "original"), ("typos", "perturbed"))
    ]
    verdicts = {"original": Decided("1"), "perturbed": LOST}
    rows = [Observation("J", "base", s, "uv", 0, verdicts[s.kind], Usage(), "") for s in shown]
    test = loss_test(rows, Unreadable, 7)
    assert test is not None
    assert (test.p, test.worst, test.lost, test.calls) == (1 / 2000, ("typos", "perturbed"), 20, 20)


def test_calls_are_independent_until_tasks_differ() -> None:
    # Pair n is of task n mod 5. Without a loss, and with one pair lost in every task, tasks do not differ.
    for lost in (0, 5):
        rate = loss_estimates("J", calls({"blank": lost}, 20), 7)[0]
        assert [i.method for i in rate.intervals] == ["wilson"]
        assert rate.note is not None
        assert rate.note.startswith(INDEPENDENT)


def test_tasks_are_clusters_where_they_lose_differently() -> None:
    # The pairs of task t0, which are all lost, are a fifth: V = p(1 − p)/4, so 40 calls are worth 4.
    every = calls({"blank": 20}, 20)
    observations = [o if o.stimulus.cluster == "t0" else replace(o, verdict=Tie()) for o in every]
    rate = loss_estimates("J", observations, 7)[0]
    assert (rate.numerator, rate.denominator, rate.n_clusters) == (8, 40, 5)
    assert rate.design_effect == pytest.approx(10)
    assert [i.method for i in rate.intervals] == ["wilson_cluster", "wilson"]
    expected = score(0.2, 4, t_quantile(0.975, 4))
    assert (rate.intervals[0].low, rate.intervals[0].high) == pytest.approx(expected)
