"""Many figures under the same flips: against enumeration, false alarms, and the power that it is for."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from itertools import product

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from planted_pairs import simulate
from steelyard.metrics.comparison.comparison import ComparisonFamily, compare
from steelyard.metrics.comparison.unit_events import unit_events
from steelyard.metrics.multiplicity import JointSignFlip, holm
from steelyard.metrics.pairs.columns import Pairs
from steelyard.probes.probe_metadata import metrics_of
from steelyard.providers.planted.decision_model import Parameters
from steelyard.stimuli.stimulus import Lineage, NoPreference, Prefers, Stimulus
from steelyard.trials.judge import Usage
from steelyard.verdicts.observations import Observation
from steelyard.verdicts.verdict import Decided, Tie

BASE = Parameters()
VERDICTS = (Decided("1"), Decided("2"), Tie())


def table(rows: Sequence[Sequence[int]]) -> list[dict[str, int]]:
    """Figures as rows, tasks as columns."""
    return [{f"t{n}": value for n, value in enumerate(row)} for row in rows]


@settings(max_examples=40)
@given(st.integers(1, 6), st.integers(1, 4), st.randoms(use_true_random=False))
def test_both_tests_by_enumeration(tasks: int, figures: int, chance) -> None:
    sums = [[chance.randint(-3, 3) for _ in range(tasks)] for _ in range(figures)]
    flips = JointSignFlip.of(table(sums))
    scale = [max(1e-9, sum(d * d for d in row) ** 0.5) for row in sums]
    signs = list(product((1, -1), repeat=tasks))
    totals = [[abs(sum(np.multiply(way, row))) for row in sums] for way in signs]
    sizes = [[round(total / c, 9) for total, c in zip(row, scale, strict=True)] for row in totals]
    observed = sizes[0]

    def share(values: Sequence[float], at: float) -> float:
        return sum(value >= at - 1e-7 for value in values) / len(values)

    squares, largest = [sum(z * z for z in row) for row in sizes], [max(row) for row in sizes]
    least = [min(share(squares, a), share(largest, b)) for a, b in zip(squares, largest, strict=True)]
    expected = sum(value <= least[0] + 1e-9 for value in least) / len(least)
    assert flips.global_p() == pytest.approx(expected)
    # The largest figure is held against the largest under each flip, and no other figure is surer.
    corrected = flips.adjusted_p_values()
    assert min(corrected) == pytest.approx(share(largest, max(observed)))
    for index, row in enumerate(sums):
        alone = JointSignFlip.of(table([row])).unadjusted_p(0)
        assert corrected[index] >= alone - 1e-12


def test_nothing_that_moves_has_p_one() -> None:
    flips = JointSignFlip.of(table([[0, 0, 0], [0, 0, 0]]))
    assert (flips.global_p(), flips.adjusted_p_values()) == (1.0, [1.0, 1.0])


@pytest.mark.slow
def test_equal_judges_are_named_in_one_family_of_twenty() -> None:
    """Twenty figures that share their tasks' lean, 10 tasks (exact) and 20 tasks (drawn)."""
    chance = np.random.default_rng(5)
    for tasks, runs in ((10, 200), (20, 40)):
        alarms = wrong = 0
        for _ in range(runs):
            lean = chance.normal(size=(tasks, 1))
            sums = np.rint(2 * lean + chance.normal(0, 2, (tasks, 20))).astype(int)
            flips = JointSignFlip.of(table(sums.T.tolist()))
            together = flips.global_p()
            alarms += together <= 0.05
            wrong += max(together, min(flips.adjusted_p_values())) <= 0.05
        assert wrong <= alarms
        assert alarms / runs <= 0.05 + 2.5 * np.sqrt(0.05 * 0.95 / runs)


def observed(pairs: Pairs) -> list[Observation]:
    """The pairs of a simulated judge as observations of the ladder."""
    found = []
    for row in range(len(pairs)):
        name, delta = pairs.names[pairs.pair[row]], float(pairs.delta[row])
        stimulus = Stimulus(
            name, "ladder", str(pairs.kind[row]), pairs.clusters[pairs.cluster[row]], "s", "r", ("u", "v"),
            Prefers("u") if delta else NoPreference(), Lineage(name, ""), delta,
        )  # fmt: skip
        for order, codes in (("uv", pairs.u_first), ("vu", pairs.v_first)):
            verdict = VERDICTS[int(codes[row])]
            found.append(Observation("j", "base", stimulus, order, 0, verdict, Usage(), ""))
    return found


def family(other: Parameters, seed: int, base: Parameters = BASE) -> ComparisonFamily:
    first, second = (
        unit_events(observed(simulate(planted, number)), lambda stimulus: stimulus.id, metrics_of)
        for planted, number in ((base, seed), (other, seed + 10_000))
    )
    return compare(first, second)


def test_a_better_resolution_is_seen_where_separate_tests_are_silent() -> None:
    """s .8 against 1.4 on the ladder of `standard`: the family says so, separate tests seldom."""
    families = [family(replace(BASE, resolution=1.4), seed) for seed in range(6)]
    separate = [holm([r.p for r in f.rows if r.p is not None]) for f in families]
    assert sum(f.differs for f in families) >= 5
    assert sum(min(q) <= 0.05 for q in separate) < sum(f.differs for f in families)


def test_a_larger_demand_where_more_is_asked() -> None:
    """Ten clusters: one figure alone needs |sum| 8, which 22 of 1024 flips reach, since 112 reach 6.

    The largest of four figures that cannot move together reaches 8 too often, so that one needs all ten.
    """
    four = [[1] * 10, [1] * 5 + [-1] * 5, [1, -1] * 5, [1, 1, -1, -1, 1, -1, -1, 1, 1, -1]]
    reserve = 0.8416
    needed = (10 / 10**0.5 + reserve) / (8 / 10**0.5 + reserve)
    assert JointSignFlip.of(table(four)).detectable_factors(0.8) == pytest.approx([needed] * 4, abs=1e-4)
    assert JointSignFlip.of(table(four[:1] * 4)).detectable_factors(0.8) == [1.0] * 4
    # A figure that nobody changed has no test of its own.
    assert JointSignFlip.of(table([[1] * 10, [0] * 10])).detectable_factors(0.8) == [1.0, 1.0]


def test_a_position_bias_that_comes_or_goes_is_seen() -> None:
    """β 0 against .8 on the ladder of `standard`: net slot preference says so, in every run."""
    fair = replace(BASE, position_bias=0.0)
    for seed in range(2):
        rows = family(replace(BASE, position_bias=0.8), seed, fair).rows
        lean = next(r for r in rows if r.metric == "net_slot_preference" and "kind" not in r.group)
        assert lean.differs
        assert (lean.difference or 0) > 0.2


@pytest.mark.calibrate
def test_power_and_false_alarms_of_a_standard_ladder() -> None:
    runs = 100
    shares = {
        name: sum(family(other, seed).differs for seed in range(runs)) / runs
        for name, other in {
            "s 1.2": replace(BASE, resolution=1.2),
            "tau .9": replace(BASE, tie_threshold=0.9),
            "equal": BASE,
        }.items()
    }
    fair = replace(BASE, position_bias=0.0)
    for bias in (0.5, 0.8):
        other = replace(BASE, position_bias=bias)
        shares[f"beta {bias}"] = sum(family(other, seed, fair).differs for seed in range(runs)) / runs
    assert shares["s 1.2"] >= 0.45, shares
    assert shares["tau .9"] >= 0.45, shares
    assert shares["beta 0.5"] >= 0.60, shares
    assert shares["beta 0.8"] >= 0.90, shares
    assert shares["equal"] <= 0.11, shares
