"""Paired comparison against oracles: McNemar, sign flips by enumeration, q values, Tango's interval."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from itertools import product
from unittest.mock import patch

import numpy as np
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st
from scipy.optimize import minimize_scalar
from statsmodels.stats.contingency_tables import mcnemar as oracle_mcnemar
from statsmodels.stats.multitest import multipletests

from steelyard.datasheet.comparison.sheet import ComparisonSheet, Side
from steelyard.metrics.comparison.comparison import Comparison, adjust_comparisons, compare
from steelyard.metrics.comparison.paired import Paired
from steelyard.metrics.comparison.unit_events import Dropped, unit_events
from steelyard.metrics.multiplicity import holm
from steelyard.metrics.stats.intervals import Z, mcnemar_exact, mcnemar_mid_p, tango, wilson
from steelyard.probes.probe_metadata import metrics_of
from steelyard.stimuli.stimulus import Expectation, Label, Lineage, NoPreference, Prefers, Stimulus, Unknown
from steelyard.trials.judge import Usage
from steelyard.verdicts.observations import Observation
from steelyard.verdicts.verdict import Abstained, Decided, Failed, Tie, Unreadable, Verdict

quiet = settings(max_examples=80)
counts = st.integers(0, 60)
VERDICTS: dict[str, Verdict] = {
    "1": Decided("1"), "2": Decided("2"), "t": Tie(), "a": Abstained(),
    "x": Unreadable("garbled"), "f": Failed("timeout"),
}  # fmt: skip


def paired(first: Sequence[int], second: Sequence[int], tasks: int) -> Paired:
    rows = [
        (bool(a), bool(b), f"t{i % tasks:03d}", f"p{i:03d}")
        for i, (a, b) in enumerate(zip(first, second, strict=True))
    ]
    return Paired.of(rows)


def stimulus(
    name: str, probe: str, expectation: Expectation, *, kind: str, delta: float | None = None, task: str = "t"
) -> Stimulus:
    lineage = Lineage(parent=name.partition("/")[0], edit="")
    return Stimulus(name, probe, kind, task, "s", "r", ("u", "v"), expectation, lineage, delta)


def answers(shown: Stimulus, both: str, judge: str = "J", replicate: int = 0) -> list[Observation]:
    """Two letters: the answer with u first, then with v first; `-` was not shown."""
    return [
        Observation(judge, "base", shown, order, replicate, VERDICTS[letter], Usage(), "")
        for order, letter in zip(("uv", "vu"), both, strict=True)
        if letter != "-"
    ]


def equal(number: int, task: str = "t") -> Stimulus:
    return stimulus(f"e{number}", "ladder", NoPreference(), kind="same_subset", delta=0, task=task)


def row(rows: Sequence[Comparison], metric: str, probe: str | None = None) -> Comparison:
    return next(r for r in rows if r.metric == metric and probe in (None, r.probe))


def compared(first: Sequence[Observation], second: Sequence[Observation], margin: float = 0.1):
    return compare(
        unit_events(first, lambda s: s.id, metrics_of),
        unit_events(second, lambda s: s.id, metrics_of),
        margin,
    ).rows


# Tests


@quiet
@given(counts, counts)
def test_mcnemar_is_that_of_statsmodels(gained: int, lost: int) -> None:
    expected = oracle_mcnemar([[5, gained], [lost, 7]], exact=True).pvalue
    assert mcnemar_exact(gained, lost) == pytest.approx(expected if gained + lost else 1.0)


def test_mid_p_by_hand() -> None:
    # 1 against 5: exact 2·(1 + 6)/64; mid-p takes the observed split, 6/64, off once.
    assert mcnemar_exact(1, 5) == pytest.approx(14 / 64)
    assert mcnemar_mid_p(1, 5) == pytest.approx(8 / 64)
    assert mcnemar_mid_p(5, 1) == mcnemar_mid_p(1, 5)
    assert mcnemar_mid_p(3, 3) == pytest.approx(1.0)
    assert mcnemar_mid_p(0, 0) == pytest.approx(1.0)


@given(st.lists(st.floats(0, 1), min_size=1, max_size=20))
def test_holm_is_that_of_statsmodels(probabilities: list[float]) -> None:
    with patch("gc.collect"):  # statsmodels collects garbage at each call, a tenth of a second
        expected = multipletests(probabilities, method="holm")[1]
    assert holm(probabilities) == pytest.approx(list(expected))


def test_no_tests_have_nothing_to_correct() -> None:
    assert holm([]) == []


@pytest.mark.slow
@quiet
@given(st.lists(st.tuples(st.booleans(), st.booleans()), min_size=1, max_size=40), st.integers(1, 9))
def test_sign_flips_by_enumeration(events: list[tuple[bool, bool]], tasks: int) -> None:
    rows = paired([a for a, _ in events], [b for _, b in events], tasks)
    p, flipped = rows.flip()
    units = rows.cluster if flipped == "clusters" else rows.pair
    sums = np.bincount(units, weights=rows.change)
    sums = sums[sums != 0]
    assume(len(sums) <= 10)
    totals = np.array([abs(np.dot(signs, sums)) for signs in product((-1, 1), repeat=len(sums))])
    assert p == pytest.approx(float(np.mean(totals >= abs(sums.sum()) - 1e-9)))
    assert flipped == ("clusters" if rows.n_clusters >= 6 else "pairs")


# Intervals


def score_statistic(gained: int, lost: int, size: int, at: float) -> float:
    """The score test of a difference, its nuisance share found by maximising the likelihood numerically."""
    same = size - gained - lost

    def minus_log_likelihood(loss: float) -> float:
        parts = ((gained, loss + at), (lost, loss), (same, 1 - 2 * loss - at))
        return -sum(count * np.log(max(share, 1e-300)) for count, share in parts if count)

    low, high = max(0.0, -at), (1 - at) / 2
    fitted = minimize_scalar(
        minus_log_likelihood, bounds=(low, high), method="bounded", options={"xatol": 1e-12}
    )
    variance = size * (2 * fitted.x + at - at * at)
    return float((gained - lost - size * at) / np.sqrt(variance))


@pytest.mark.parametrize(
    ("gained", "lost", "size"), [(40, 20, 160), (12, 2, 50), (1, 0, 44), (5, 5, 30), (0, 9, 20)]
)
def test_tango_inverts_the_score_test(gained: int, lost: int, size: int) -> None:
    low, high = tango(gained, lost, size, Z)
    assert low < (gained - lost) / size < high
    assert score_statistic(gained, lost, size, low) == pytest.approx(Z, abs=2e-3)
    assert score_statistic(gained, lost, size, high) == pytest.approx(-Z, abs=2e-3)
    assert tango(lost, gained, size, Z) == pytest.approx((-high, -low))


def test_tango_at_its_ends() -> None:
    # Without discordant units it is Wilson's interval of 0 events, to both sides.
    assert tango(0, 0, 50, Z) == pytest.approx((-wilson(0, 50)[1], wilson(0, 50)[1]))
    low, high = tango(20, 0, 20, Z)
    assert high == 1.0
    assert 0.6 < low < 1


@pytest.mark.slow
def test_the_interval_covers_with_correlated_tasks() -> None:
    generator = np.random.default_rng(11)
    tasks, each, runs, covered, rejected = 10, 12, 400, 0, 0
    for _ in range(runs):
        lean = np.repeat(generator.normal(0, 0.15, tasks), each)
        first = generator.random(tasks * each) < np.clip(0.5 + lean, 0, 1)
        second = generator.random(tasks * each) < np.clip(0.5 - lean, 0, 1)
        rows = Paired.of(
            [
                (bool(a), bool(b), f"t{i // each}", f"p{i}")
                for i, (a, b) in enumerate(zip(first, second, strict=True))
            ]
        )
        low, high = rows.limits()
        covered += low <= 0 <= high
        rejected += rows.flip()[0] <= 0.05
    assert covered / runs >= 0.93
    assert rejected / runs <= 0.07


def test_effective_size_by_hand() -> None:
    # Two tasks of 4: the second judge gains all of one and none of the other: d = ½, residuals ±2,
    # V = (4 + 4)/64 · 2 = ¼, unclustered ½ − ¼ = ¼, so one independent unit is left.
    rows = Paired.of([(False, i < 4, f"t{i // 4}", f"p{i}") for i in range(8)])
    assert rows.difference == 0.5
    assert rows.effective_size == pytest.approx(1.0)
    # No discordance: ρ = .1 is assumed, 8/(1 + 3·.1).
    calm = Paired.of([(True, True, f"t{i // 4}", f"p{i}") for i in range(8)])
    assert calm.effective_size == pytest.approx(8 / 1.3)


def test_detectable_is_detected_in_four_of_five() -> None:
    # 400 independent units, discordance d: four comparisons of five reject at the printed difference.
    generator = np.random.default_rng(3)
    base = Paired.of([(i % 10 == 0, i % 10 == 1, f"t{i}", f"p{i}") for i in range(400)])
    at, discordant = base.detectable, 0.2
    hits = 0
    for _ in range(300):
        draw = generator.random(400)
        gained, lost = (draw < (discordant + at) / 2).sum(), (draw > 1 - (discordant - at) / 2).sum()
        hits += mcnemar_mid_p(int(gained), int(lost)) <= 0.05
    assert 0.72 < hits / 300 < 0.88


# Comparison


def test_every_drop_has_its_side_and_reason() -> None:
    first = [o for i, both in enumerate(["11", "1x", "tt", "1f"]) for o in answers(equal(i), both)]
    second = [o for i, both in enumerate(["12", "11", "xt"]) for o in answers(equal(i), both)]
    rows = compared(first, second)
    calls = row(rows, "raw_false_preference")
    # 8 calls of A and 6 of B; shared with both verdicts: both of pair 0, one each of pairs 1 and 2.
    assert calls.n_shared == 4
    assert calls.dropped_first == Dropped(not_shown=0, unreadable=1, failed=0)
    assert calls.dropped_second == Dropped(not_shown=2, unreadable=1, failed=0)
    assert [calls.to_json()[f"dropped_{side}"]["not_shown"] for side in ("first", "second")] == [0, 2]
    assert (calls.first, calls.second) == (0.75, 0.75)
    # A lacks a call on which B committed, B lacks one on which A did not: d between −1/6 … and 2/6.
    assert calls.bounds == pytest.approx((0 / 6, 2 / 6))
    pairs = row(rows, "positional_false_preference")
    assert (pairs.n_shared, pairs.first, pairs.second) == (1, 1.0, 0.0)
    assert pairs.dropped_first == Dropped(0, 1, 0)
    assert pairs.dropped_second == Dropped(1, 1, 0)
    assert row(rows, "failed_rate").n_shared == 6


def test_each_figure_by_hand() -> None:
    better = stimulus("c", "ladder", Prefers("u"), kind="prefix", delta=2)
    natural = stimulus("n", "position", Prefers("v"), kind="natural")
    even = stimulus("m", "position", NoPreference(), kind="natural")
    unknown = stimulus("k", "position", Unknown(), kind="natural")
    empty = stimulus("z", "vacuum", NoPreference(), kind="empty")
    shown = (better, natural, even, unknown, empty)
    first = [
        o for s, both in zip(shown, ("12", "21", "tt", "11", "11"), strict=True) for o in answers(s, both)
    ]
    second = [
        o for s, both in zip(shown, ("1t", "22", "1a", "22", "ta"), strict=True) for o in answers(s, both)
    ]
    rows = compared(first, second)
    sensitive = row(rows, "target_sensitivity")
    assert (sensitive.first, sensitive.second, sensitive.group) == (
        1.0,
        0.5,
        {"delta": 2, "protocol": "base"},
    )
    assert (row(rows, "tie_rate", "ladder").second, row(rows, "dark_current").second) == (0.5, 0.0)
    assert row(rows, "dark_current").difference == -1.0
    accuracy = row(rows, "accuracy")
    assert (accuracy.n_shared, accuracy.first, accuracy.second) == (4, 1.0, 0.5)
    assert (row(rows, "order_consistency").first, row(rows, "order_consistency").second) == (
        pytest.approx(1 / 3),
        0.0,
    )
    assert row(rows, "flip_first").first == pytest.approx(1 / 3)
    assert row(rows, "flip_second").second == pytest.approx(2 / 3)


def test_scores_are_compared_with_labels_and_with_the_judges_own() -> None:
    def item(kind: str, probe: str, label: str) -> Stimulus:
        lineage = Lineage(parent="i1", edit="")
        return Stimulus(
            f"i1/{probe}", probe, kind, "t", "s", "r", ("x",), Label(label), lineage, scale="binary"
        )

    original, edited = item("original", "original", "1"), item("perturbed", "format_invariance_1", "1")
    first = [Observation("A", "base", s, "uv", 0, Decided("0"), Usage(), "") for s in (original, edited)]
    second = [
        Observation("B", "base", original, "uv", 0, Decided("1"), Usage(), ""),
        Observation("B", "base", edited, "uv", 0, Decided("0"), Usage(), ""),
    ]
    rows = compared(first, second)
    assert (row(rows, "accuracy", "original").first, row(rows, "accuracy", "original").second) == (0.0, 1.0)
    invariance = row(rows, "invariance")
    assert (invariance.probe, invariance.first, invariance.second) == ("format_invariance_1", 1.0, 0.0)


def test_slots_by_hand() -> None:
    """Eight pairs in eight tasks: A is fair, B names slot 1 in both orders of six and in one order of two."""
    first = [o for i in range(8) for o in answers(equal(i, f"t{i}"), "12" if i % 2 else "tt")]
    second = [o for i in range(8) for o in answers(equal(i, f"t{i}"), "11" if i < 6 else "1t")]
    lean = row(compared(first, second), "net_slot_preference")
    # (6·2 + 2·1) of 16 calls; changes 1 in six pairs and ½ in two.
    assert (lean.first, lean.second, lean.difference) == (0.0, 14 / 16, 14 / 16)
    assert (lean.unit, lean.n_shared, lean.gained, lean.lost) == ("pair", 8, 8, 0)
    # All eight go one way: 2 of 256 flips.
    assert lean.p == pytest.approx(2 / 256)
    # Student's t with 7 degrees: mean .875, variance of the changes (6·.125² + 2·.375²)/7 = 3/56.
    half = 2.3646 * (3 / 56 / 8) ** 0.5
    assert (lean.intervals[0].low, lean.intervals[0].high) == pytest.approx(
        (0.875 - half, 0.875 + half), abs=1e-4
    )
    assert lean.intervals[0].method == "t_cluster"
    assert lean.mcnemar_exact is None


def test_merit_by_hand() -> None:
    """1 for the better text, ½ for a tie, 0 for the worse, over all steps; equals do not count."""
    steps = [stimulus(f"c{d}", "ladder", Prefers("u"), kind="prefix", delta=d) for d in (1, 2, 3)]
    shown = (*steps, equal(0))
    first = [o for s, both in zip(shown, ("12", "1t", "tt", "11"), strict=True) for o in answers(s, both)]
    second = [o for s, both in zip(shown, ("21", "11", "1a", "tt"), strict=True) for o in answers(s, both)]
    merit = row(compared(first, second), "merit")
    assert (merit.first, merit.second) == (pytest.approx(4.5 / 6), pytest.approx(2.5 / 6))
    assert (merit.n_shared, merit.group) == (6, {"protocol": "base"})


def test_leniency_and_merit_weigh_both_labels_alike() -> None:
    """Nine texts should pass and three should fail; B passes one that should fail, and A fails three more."""
    labels = ["1"] * 9 + ["0"] * 3
    first = [graded(n, label, "0" if n < 3 else label) for n, label in enumerate(labels)]
    second = [graded(n, label, "1" if n == 9 else label) for n, label in enumerate(labels)]
    rows = compared(first, second)
    lenient, merit = row(rows, "leniency"), row(rows, "merit")
    # Half of (false positive rate − false negative rate): A (0 − 3/9)/2, B (1/3 − 0)/2.
    assert (lenient.first, lenient.second) == (pytest.approx(-1 / 6), pytest.approx(1 / 6))
    # Youden's J, 1 − both rates: the same for both.
    assert (merit.first, merit.second) == (pytest.approx(2 / 3), pytest.approx(2 / 3))
    assert merit.difference == pytest.approx(0)
    # Four texts changed: three of weight 12/18 and one of weight 2, all upward. 2 of 16 flips.
    assert lenient.p == pytest.approx(2 / 16)
    passing = row(compared(first[:9], second[:9]), "leniency")
    assert passing.note == "every reference is on one side: errors to the other can not be seen"


def test_an_abstention_adds_nothing_to_leniency_and_is_counted() -> None:
    first = [graded(n, str(n % 2), "1") for n in range(4)]
    second = [*first[:3], replace(graded(3, "1", "1"), verdict=Abstained())]
    rows = compared(first, second)
    assert row(rows, "leniency").dropped_second == Dropped(abstained=1)
    assert (row(rows, "leniency").n_shared, row(rows, "accuracy").n_shared) == (3, 4)
    assert row(rows, "abstention_rate").second == 0.25
    assert not [r for r in compared(first, first) if r.metric == "abstention_rate"]


def test_changes_beyond_repeats_by_hand() -> None:
    """Two repeats of the item and two of its edit: A keeps all, B changes with the edit and when repeated."""

    def calls(plain: str, edited: str) -> list[Observation]:
        shown = [
            Stimulus(
                f"i1/{probe}",
                probe,
                kind,
                "t",
                "s",
                "r",
                ("x",),
                Label("1"),
                Lineage("i1", ""),
                scale="binary",
            )
            for probe, kind in (("original", "original"), ("typos", "perturbed"))
        ]
        return [
            Observation("J", "base", one, "uv", number, Decided(score), Usage(), "")
            for one, scores in zip(shown, (plain, edited), strict=True)
            for number, score in enumerate(scores)
        ]

    rows = compared(calls("11", "11"), calls("10", "00"))
    excess, again = row(rows, "excess_flip"), row(rows, "self_agreement")
    # B: two of four comparisons with the edit differ, and the one of repeats does.
    assert (excess.first, excess.second, excess.unit) == (0.0, 0.5 - 1.0, "item")
    assert (again.first, again.second) == (1.0, 0.0)


def same_many(both: str, pairs: int = 60, tasks: int = 10) -> list[Observation]:
    return [o for i in range(pairs) for o in answers(equal(i, f"t{i % tasks}"), both)]


def test_words() -> None:
    alike = row(compared(same_many("tt"), same_many("tt")), "raw_false_preference")
    assert (alike.status, alike.difference, alike.p) == ("clear", 0.0, 1.0)
    apart = row(compared(same_many("tt"), same_many("11")), "raw_false_preference")
    assert (apart.status, apart.difference) == ("flagged", 1.0)
    few = row(compared(same_many("tt", 4, 4), same_many("tt", 4, 4)), "raw_false_preference")
    assert few.status == "inconclusive"
    assert (few.flipped, few.note) == ("pairs", "these clusters only")


def test_missing_verdicts_keep_a_comparison_from_being_clear() -> None:
    # A third of B's verdicts is missing; the rest agrees perfectly.
    second = [o for i in range(60) for o in answers(equal(i, f"t{i % 10}"), "xx" if i % 3 == 0 else "tt")]
    found = row(compared(same_many("tt"), second), "raw_false_preference")
    assert (found.difference, found.status) == (0.0, "inconclusive")
    assert found.bounds == pytest.approx((0.0, 1 / 3))
    assert "missing verdicts" in (found.note or "")


def test_q_is_read_over_the_rows_given() -> None:
    rows = [r for r in compared(same_many("tt"), same_many("11")) if r.p is not None]
    alone = adjust_comparisons([row(rows, "raw_false_preference")])
    assert alone.rows[0].q == alone.rows[0].p == alone.p
    assert all((there.q or 0) >= (there.p or 0) for there in rows)


@pytest.mark.slow
def test_a_difference_and_its_size_are_two_things() -> None:
    def commits(share: int) -> list[Observation]:
        return [
            o for i in range(400) for o in answers(equal(i, f"t{i % 10}"), "11" if i // 10 < share else "tt")
        ]

    none, few = commits(0), commits(4)
    # In every task four pairs more of forty: beyond doubt a difference, and one of .10.
    small = row(compared(few, none, margin=0.2), "raw_false_preference")
    assert (small.status, small.differs, small.against_margin) == ("clear", True, "within")
    assert small.conclusion_text == "differ, within the margin"
    large = row(compared(commits(20), none, margin=0.2), "raw_false_preference")
    assert (large.status, large.differs, large.against_margin) == ("flagged", True, "beyond")
    assert large.conclusion_text == "differ by more than the margin"
    plain = row(compared(few, none), "raw_false_preference")
    assert (plain.status, plain.against_margin, plain.conclusion_text) == ("flagged", None, "differ")
    same = row(compared(few, few), "raw_false_preference")
    assert (same.status, same.differs, same.conclusion_text) == ("clear", False, "alike within the margin")


@pytest.mark.slow
@settings(quiet, max_examples=10)
@given(
    st.lists(
        st.tuples(st.sampled_from("12taxf"), st.sampled_from("12taxf")).map("".join), min_size=1, max_size=24
    )
)
def test_exchanging_the_judges_turns_the_sign(both: list[str]) -> None:
    first = [o for i, letters in enumerate(both) for o in answers(equal(i, f"t{i % 7}"), letters)]
    second = [o for i, letters in enumerate(both[::-1]) for o in answers(equal(i, f"t{i % 7}"), letters)]
    for there, back in zip(compared(first, second), compared(second, first), strict=True):
        assert (there.first, there.second) == (back.second, back.first)
        assert (there.gained, there.lost, there.p, there.q) == (back.lost, back.gained, back.p, back.q)
        assert there.dropped_first == back.dropped_second
        assert there.status == back.status
        if there.intervals and back.intervals:
            ends = there.intervals[0].low, there.intervals[0].high
            assert ends == pytest.approx((-(back.intervals[0].high or 0), -(back.intervals[0].low or 0)))


def graded(number: int, label: str | None, verdict: str, *, own: bool = False) -> Observation:
    """A call on a single text; who labelled it, and how, is no part of what is shown."""
    expected = Unknown() if label is None else Label(label)
    lineage = Lineage(parent=f"i{number}", edit="")
    shown = Stimulus(
        f"i{number}/original", "original", "original", f"t{number}", "s", "r", ("u",), expected, lineage,
        scale="binary",
    )  # fmt: skip
    return Observation("J", "base", shown, "uv", 0, Decided(verdict), Usage(), "", own)


def by_text(first: Sequence[Observation], second: Sequence[Observation]) -> Sequence[Comparison]:
    return compare(*(unit_events(side, lambda s: s.shown_hash, metrics_of) for side in (first, second))).rows


def test_texts_with_other_references_are_told_as_such() -> None:
    """Four texts shown to both: two with one label, one with another, one labelled for the second alone."""
    first = [graded(n, label, "1") for n, label in enumerate(["1", "1", "0", None])]
    second = [graded(n, label, "1") for n, label in enumerate(["1", "1", "1", "1"])]
    rows = by_text(first, second)
    accuracy = row(rows, "accuracy")
    assert (accuracy.n_shared, accuracy.first, accuracy.second) == (2, 1.0, 1.0)
    assert accuracy.dropped_first == Dropped(no_reference=1, other_reference=1)
    assert accuracy.dropped_second == Dropped(other_reference=1)
    assert accuracy.bounds == (0.0, 0.0)
    # Whether a reply can be read has nothing to do with references.
    assert row(rows, "unreadable_rate").n_shared == 4


def test_a_judge_whose_verdicts_are_the_reference_was_shown_the_text() -> None:
    own = [graded(n, "1", "1", own=True) for n in range(3)]
    other = [graded(n, "1", "0") for n in range(4)]
    accuracy = row(by_text(own, other), "accuracy")
    assert accuracy.n_shared == 0
    assert accuracy.dropped_first == Dropped(not_shown=1, no_reference=3)
    assert accuracy.dropped_first.to_json() == {
        "not_shown": 1, "unreadable": 0, "failed": 0, "no_reference": 3,
    }  # fmt: skip
    assert accuracy.dropped_second.to_json() == {"not_shown": 0, "unreadable": 0, "failed": 0}


def test_the_reason_why_no_unit_is_paired_is_told() -> None:
    sides = [Side(name, "m", name, "sha256:0") for name in ("a", "b")]

    def told(first: Sequence[Observation], second: Sequence[Observation]) -> list[str]:
        return ComparisonSheet(*sides, "content", 0.1, "0", tuple(by_text(first, second))).asked_of_one()

    labelled = [graded(0, "1", "1")]
    assert told([graded(0, "0", "1")], labelled) == [
        "unchanged items, base: compared with different references (5 figures)"
    ]
    assert told(labelled, [graded(0, "1", "1", own=True)]) == [
        "unchanged items, base: B has no reference but its own verdicts, or none (5 figures)"
    ]
    assert told([graded(1, "1", "1")], labelled)[0].endswith("base: nothing that both were shown (5 figures)")
    assert told([], labelled)[0].endswith("base: shown to B only (5 figures)")
