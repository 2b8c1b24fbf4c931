"""When a figure may be called clear or flagged: error at the limit, what it costs, and missing verdicts."""

from __future__ import annotations

from math import sqrt

import numpy as np
import pytest
from scipy.stats import betabinom

from clustered import beta_events, copula_events, hot_events, tallies
from steelyard.metrics.estimate import Estimate, EstimateContext
from steelyard.metrics.findings import (
    bare_share,
    calls_total,
    difference_word,
    judge_limit,
    missingness_shift,
)
from steelyard.metrics.metric import Limit
from steelyard.metrics.pairs.equals import vacuum_estimates
from steelyard.metrics.pairs.ladder import ladder_estimates
from steelyard.metrics.stats.clusters import Tally
from steelyard.metrics.stats.distributions import chance_of_so_few
from strategies import find, make

LAWS = {"beta": beta_events, "copula": copula_events, "hot": hot_events}


def seen(events: int, tasks: int, calls: int) -> Tally:
    """So many events, each in a task of its own as far as there are tasks."""
    spread = np.bincount(np.arange(events) % tasks, minlength=tasks)
    return Tally(spread, np.full(tasks, calls), tasks * calls, tasks * calls)


def most_cleared(tasks: int, calls: int, limit: float) -> int:
    """The largest number of events that is still called clear, −1 where none is."""
    words = [judge_limit(seen(k, tasks, calls), Limit(limit)) for k in range(tasks * calls)]
    return words.count("clear") - 1


def test_the_chance_of_few_events_by_convolution() -> None:
    total = np.ones(1)
    for size in (12, 12, 7, 3):
        total = np.convolve(total, betabinom.pmf(np.arange(size + 1), size, 0.1 * 7 / 3, 0.9 * 7 / 3))
    found = [chance_of_so_few(k, np.array([12, 12, 7, 3]), 0.1) for k in range(35)]
    assert found == pytest.approx(total.cumsum())


def test_the_chance_among_very_many_calls() -> None:
    # 10,000 tasks of 12 calls at .1: mean 12,000, variance 120,000 · .09 · (1 + 11 · .3) = 46,440.
    found = chance_of_so_few(12_000 - 1.644854 * sqrt(46_440), np.full(10_000, 12), 0.1)
    assert found == pytest.approx(0.05, abs=5e-4)
    half = chance_of_so_few(6_000 - 1.644854 * sqrt(23_220), np.full(5_000, 12), 0.1)
    assert half == pytest.approx(0.05, abs=3e-3)


@pytest.mark.slow
@pytest.mark.parametrize(("law", "correlation"), [*((law, 0.3) for law in LAWS), ("beta", 0.1)])
@pytest.mark.parametrize(
    ("limit", "tasks", "calls"), [(0.05, 24, 12), (0.1, 10, 12), (0.1, 10, 4), (0.2, 10, 10)]
)
def test_a_judge_on_its_limit_is_rarely_cleared(
    law: str, correlation: float, limit: float, tasks: int, calls: int
) -> None:
    runs = tallies(LAWS[law](limit, correlation, tasks, calls, 1000, 31), calls)
    cleared = np.mean([judge_limit(run, Limit(limit)) == "clear" for run in runs])
    # Where a few tasks show everything the promise is missed by a little.
    promised = 0.06 if law == "hot" else 0.05
    assert cleared <= promised + 2 * sqrt(0.05 * 0.95 / 1000)


@pytest.mark.slow
def test_the_limit_from_below_is_the_limit_from_above_mirrored() -> None:
    for run in tallies(beta_events(0.15, 0.2, 8, 10, 200, 32), 10):
        other = Tally(run.trials - run.events, run.trials, run.n_calls, run.n_units)
        assert judge_limit(run, Limit(0.2)) == judge_limit(other, Limit(0.8, "min"))


@pytest.mark.slow
def test_fewer_events_are_never_less_clear() -> None:
    for tasks, calls in ((10, 12), (10, 4), (24, 12), (10, 6), (6, 20)):
        for limit in (0.05, 0.1, 0.2):
            clear = [judge_limit(seen(k, tasks, calls), Limit(limit)) == "clear" for k in range(30)]
            assert clear == sorted(clear, reverse=True)


@pytest.mark.slow
def test_what_clearing_costs() -> None:
    # Dark current, pooled and of one kind, at standard and full; positional share; first step mirrored.
    assert [most_cleared(10, 12, 0.1), most_cleared(10, 4, 0.1)] == [1, -1]
    assert [most_cleared(24, 12, 0.1), most_cleared(24, 4, 0.1)] == [12, 3]
    assert [most_cleared(10, 12, 0.05), most_cleared(24, 12, 0.05)] == [-1, 3]
    assert [most_cleared(10, 6, 0.1), most_cleared(24, 6, 0.1)] == [-1, 5]
    assert [most_cleared(10, 10, 0.2), most_cleared(24, 10, 0.2)] == [7, 28]
    # Items that are tasks of their own: t²/(n + t²) is .1001 for 37, .0975 for 38.
    assert [judge_limit(seen(0, items, 1), Limit(0.1)) for items in (37, 38)] == ["inconclusive", "clear"]
    # With no event: 16 tasks of 12 calls for .05, and 14 of 4 for one kind against .10.
    # 12/2.1 calls a task: 91.4 > 19 · t(15)² = 86.3, 85.7 < 19 · t(14)² = 87.4; 4/1.3: 43.1 > 9 · t(13)².
    assert calls_total(bare_share(seen(0, 10, 12)), Limit(0.05).allowed) == 192
    assert calls_total(bare_share(seen(0, 10, 4)), Limit(0.1).allowed) == 56


# Missing verdicts -------------------------------------------------------------------------------------


def first_step(answers: list[str], tasks: int = 10) -> Estimate:
    pairs = make(answers, tasks=tasks, kind="prefix", delta=1.0, better=1)
    return find(
        ladder_estimates(EstimateContext.for_protocol("J", "ladder", "base", 7), pairs),
        "target_sensitivity",
        delta=1,
    )


@pytest.mark.slow
def test_a_judge_that_is_silent_when_unsure_is_not_cleared() -> None:
    # Right in P(X > 0) = .72 of calls were it to answer each; it answers where X > .5 or X < −1.4, a little
    # more than half of them, and is right in .533/(.533 + .024) = .96 of these.
    generator = np.random.default_rng(33)
    found = [first_step(silent_when_unsure(generator.normal(0.583, 1, (50, 2)))) for _ in range(20)]
    assert np.mean([one.value for one in found]) == pytest.approx(0.96, abs=0.02)
    assert {one.status for one in found} == {"inconclusive"}
    withheld = ["clear but for calls without a verdict" in (one.note or "") for one in found]
    assert np.mean(withheld) > 0.5


def silent_when_unsure(drive: np.ndarray) -> list[str]:
    said = np.where(drive > 0.5, "+", np.where(drive < -1.4, "-", "x"))
    names = {"+": "12", "-": "21", "x": "xx"}
    return [names[u][0] + names[v][1] for u, v in said]


def test_a_few_lost_calls_do_not_forbid_a_word() -> None:
    found = first_step(["12"] * 48 + ["1x", "x2"])
    assert (found.status, found.bounds) == ("clear", (0.98, 1.0))
    assert first_step(["11"] * 48 + ["1x", "x2"]).status == "flagged"


def test_missing_verdicts_that_decide_are_named() -> None:
    clear, flagged = (
        first_step(["12"] * 40 + ["1x"] * 10),
        first_step(["12", "21"] * 15 + ["11"] * 10 + ["xx"] * 25),
    )
    for found, word in ((clear, "clear"), (flagged, "flagged")):
        assert found.status == "inconclusive"
        assert f"{word} but for calls without a verdict: the missing verdicts decide" in (found.note or "")
        assert found.calls_needed is None


def test_silence_does_not_clear_a_zero_point() -> None:
    def dark(answers: list[str]) -> str | None:
        pairs = make(answers, tasks=10, kind="empty")
        return find(
            vacuum_estimates(EstimateContext.for_protocol("J", "vacuum", "base", 7), pairs), "dark_current"
        ).status

    assert dark(["tt"] * 60) == "clear"
    assert dark(["tt"] * 59 + ["tx"]) == "clear"
    assert dark(["tt"] * 50 + ["xx"] * 10) == "inconclusive"


def test_the_words_of_a_difference_by_hand() -> None:
    assert difference_word((-0.05, 0.08), 0.5) == "clear"
    assert difference_word((-0.05, 0.08), 0.5, moved=(-0.01, 0.01)) == "clear"
    assert difference_word((-0.05, 0.08), 0.5, moved=(-0.01, 0.03)) == "inconclusive"
    assert difference_word((0.10, 0.30), 0.001) == "flagged"
    assert difference_word((0.10, 0.30), 0.001, moved=(-0.05, 0.05)) == "flagged"
    assert difference_word((0.10, 0.30), 0.001, moved=(-0.12, 0.05)) == "inconclusive"
    assert missingness_shift(0.2, (0.15, 0.4)) == (pytest.approx(-0.05), pytest.approx(0.2))
    assert missingness_shift(0.2, None) == (0.0, 0.0)
    assert missingness_shift(0.1 + 0.2, (0.3, 0.3)) == (0.0, 0.0)


def test_slots_that_only_answered_calls_favour() -> None:
    def net(answers: list[str]) -> Estimate:
        pairs = make(answers, tasks=10)
        return find(
            ladder_estimates(EstimateContext.for_protocol("J", "ladder", "base", 7), pairs),
            "net_slot_preference",
            delta=0,
            kind="same_subset",
        )

    assert net(["11"] * 40).status == "flagged"
    assert net(["11"] * 39 + ["1x"]).status == "flagged"
    assert net(["11"] * 20 + ["xx"] * 40).status == "inconclusive"
    assert net(["tt"] * 60).status == "clear"
    assert net(["tt"] * 40 + ["xx"] * 20).status == "inconclusive"


@pytest.mark.calibrate
@pytest.mark.parametrize("law", LAWS)
def test_error_at_the_limit(law: str, capsys: pytest.CaptureFixture[str]) -> None:
    """How often a judge that sits on its limit is called clear, and how often flagged."""
    for limit in (0.05, 0.10, 0.20):
        for tasks, calls in ((10, 12), (24, 12), (10, 6)):
            for correlation in (0.0, 0.1, 0.3, 0.6):
                if not correlation and law == "hot":
                    continue
                runs = tallies(LAWS[law](limit, correlation, tasks, calls, 4000, 34), calls)
                words = [judge_limit(run, Limit(limit)) for run in runs]
                clear, flagged = (words.count(word) / len(words) for word in ("clear", "flagged"))
                with capsys.disabled():
                    print(
                        f"\n{law}, limit {limit}, {tasks} × {calls}, correlation {correlation}: "
                        f"clear {clear:.3f}, flagged {flagged:.3f}",
                        end="",
                    )
                assert correlation > 0.3 or clear <= 0.07


def test_one_pair_of_a_kind_is_not_flagged_beside_an_inconclusive_whole() -> None:
    # Two calls on one empty pair are one unit; a judge on the limit of .1 commits on it in a tenth of runs.
    kinds = ["empty", "symbols", "symbols", "symbols"]
    found = vacuum_estimates(
        EstimateContext.for_protocol("J", "vacuum", "base", 7),
        make(["11", "tt", "11", "tt"], tasks=4, kind=kinds),
    )
    whole, part = (find(found, "dark_current", **group) for group in ({}, {"kind": "empty"}))
    assert (part.numerator, part.denominator, part.n_units, part.n_clusters) == (2, 2, 1, 1)
    assert (whole.status, part.status) == ("inconclusive", "inconclusive")
    assert part.calls_needed == 4


@pytest.mark.parametrize(("share", "limit"), [(1, Limit(0.1)), (0, Limit(0.9, "min"))])
def test_one_task_is_flagged_where_the_exact_test_says_so(share: int, limit: Limit) -> None:
    # By the binomial law on the limit, .025 at each end: one unit .1, two units .01.
    words = [judge_limit(Tally(np.array([share * n]), np.array([n]), n, n), limit) for n in (1, 2, 3)]
    assert words == ["inconclusive", "flagged", "flagged"]
