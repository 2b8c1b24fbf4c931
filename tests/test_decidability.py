"""What a profile can decide: sensitivity at quick, length at standard."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest

from steelyard.metrics.estimate import Estimate, EstimateContext
from steelyard.metrics.pairs.ladder import TARGET_SENSITIVITY
from steelyard.metrics.pairs.length import LENGTH_LEAN, length_lean
from steelyard.probes.catalogue import Ladder
from steelyard.probes.probe import Design, Showing
from steelyard.trials.judge import Usage
from steelyard.verdicts.observations import Observation, Observations
from steelyard.verdicts.verdict import Decided, Tie, Verdict
from strategies import make

Judge = Callable[[Showing], Verdict]


def names(content: str, showing: Showing) -> Verdict:
    return Decided("12"[showing.order.index(content)])


def excellent(showing: Showing) -> Verdict:
    """Names the better text, and answers tie between equals."""
    return names("u", showing) if showing.stimulus.kind == "prefix" else Tie()


def loves_length(showing: Showing) -> Verdict:
    """As good, but for padding: v is the padded text."""
    return names("v", showing) if showing.stimulus.kind == "filler" else excellent(showing)


def figure(judge: Judge, profile: str, metric: str, **group: str | float) -> Estimate:
    """The ladder's figure of a judge that answers the base pairs of a profile."""
    probe = Ladder()
    seen = Observations.of(
        Observation("j", "base", showing.stimulus, showing.order, 0, judge(showing), Usage(), "")
        for showing in probe.showings(Design(7, profile), ("base",))
    )
    wanted = {"protocol": "base", **group}
    (found,) = [e for e in probe.estimates("j", seen, 7) if e.metric == metric and e.group == wanted]
    return found


def missing(pairs: int) -> Judge:
    """Excellent but for a tie in one order of so many one-step pairs."""
    chosen: set[str] = set()

    def judge(showing: Showing) -> Verdict:
        name = showing.stimulus.id
        if showing.stimulus.delta == 1 and showing.order == "uv" and len(chosen | {name}) <= pairs:
            chosen.add(name)
            return Tie()
        return excellent(showing)

    return judge


def test_quick_clears_the_sensitivity_of_an_excellent_judge() -> None:
    """24 calls on 12 checklists: n_eff = 24 / 1.1, t(11) = 2.201, low end 21.82 / (21.82 + 4.84)."""
    found = figure(excellent, "quick", TARGET_SENSITIVITY.id, delta=1)
    assert (found.numerator, found.denominator, found.n_clusters) == (24, 24, 12)
    assert found.interval is not None
    assert found.interval.method == "wilson_cluster"
    assert found.interval.low == pytest.approx(0.818, abs=5e-4)
    assert found.status == "clear"


def test_quick_says_too_few_data_after_two_misses() -> None:
    found = figure(missing(2), "quick", TARGET_SENSITIVITY.id, delta=1)
    assert (found.numerator, found.status) == (22, "inconclusive")


def test_quick_flags_a_judge_of_slots_at_one_step() -> None:
    found = figure(lambda showing: Decided("1"), "quick", TARGET_SENSITIVITY.id, delta=1)
    assert (found.numerator, found.status) == (12, "flagged")


@pytest.mark.slow
@pytest.mark.parametrize(("judge", "word"), [(excellent, "clear"), (loves_length, "flagged")])
@pytest.mark.parametrize("profile", ["standard", "full"])
def test_length_is_decided_from_standard_on(judge: Judge, word: str, profile: str) -> None:
    found = figure(judge, profile, LENGTH_LEAN.id, delta=0, kind="filler")
    assert found.status == word
    assert found.n_clusters == {"standard": 28, "full": 56}[profile]


@pytest.mark.slow
def test_length_is_decided_for_most_judges_with_a_few_preferences() -> None:
    """One call in ten names a text at random: cleared in at least four runs of five."""
    clear = 0
    for seed in range(5):
        chance = np.random.default_rng(seed)

        def judge(showing: Showing, chance: np.random.Generator = chance) -> Verdict:
            return Decided(str(chance.integers(1, 3))) if chance.random() < 0.1 else excellent(showing)

        clear += figure(judge, "standard", LENGTH_LEAN.id, delta=0, kind="filler").status == "clear"
    assert clear >= 4


@pytest.mark.parametrize(("pairs", "word"), [(10, "inconclusive"), (11, "clear")])
def test_a_judge_without_a_preference_takes_11_filler_pairs(pairs: int, word: str) -> None:
    columns = make(["tt"] * pairs, tasks=pairs, kind="filler")
    heading = EstimateContext.for_protocol("j", "ladder", "base", 7)
    assert length_lean(heading, columns, np.full(len(columns), 2), "no pairs", 2).status == word
