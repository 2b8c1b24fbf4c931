"""Single texts: worst and best case over missing verdicts, against every way of filling them in."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import product

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from scores import Answer, call
from steelyard.metrics.estimate import Estimate, EstimateContext
from steelyard.metrics.scores.columns import Scores, collect_scores
from steelyard.metrics.scores.edited_texts import invariance_estimates
from steelyard.metrics.scores.repeats import noise_floor, stability
from steelyard.metrics.scores.shares import accuracy, false_rates, within_one

quiet = settings(max_examples=15)
HEADING = EstimateContext("J", "paraphrase", {}, 7)
Row = tuple[Answer, ...]
"""Two answers to an item as it is, then two to its edit."""
answers = st.sampled_from([0, 1, 1, "abstain"])
rows = st.lists(st.tuples(answers, answers, answers, answers), min_size=2, max_size=4)


def collected(table: Sequence[Row]) -> Scores:
    return collect_scores(
        call(f"i{item}", answer, item % 2, probe=probe, replicate=replicate)
        for item, row in enumerate(table)
        for (probe, replicate), answer in zip(product(("original", "edit"), (0, 1)), row, strict=True)
    )


def figures(table: Sequence[Row]) -> dict[str, Estimate]:
    scores = collected(table)
    made = [
        accuracy(HEADING, scores),
        within_one(HEADING, scores),
        *false_rates(HEADING, scores),
        *stability(HEADING, scores),
        noise_floor(HEADING, scores),
        *invariance_estimates(HEADING, scores),
    ]
    return {estimate.metric: estimate for estimate in made}


def completions(table: Sequence[Row]) -> Iterator[list[Row]]:
    """Every way in which the missing calls could have ended."""
    flat = [answer for row in table for answer in row]
    holes = [place for place, answer in enumerate(flat) if answer in ("unreadable", "failed")]
    for filling in product((0, 1), repeat=len(holes)):
        filled = list(flat)
        for place, answer in zip(holes, filling, strict=True):
            filled[place] = answer
        yield [tuple(filled[i : i + 4]) for i in range(0, len(filled), 4)]


@pytest.mark.slow
@quiet
@given(rows, st.data())
def test_bounds_hold_every_completion(table: list[Row], data: st.DataObject) -> None:
    flat = [answer for row in table for answer in row]
    for place in data.draw(st.lists(st.integers(0, len(flat) - 1), min_size=1, max_size=4)):
        flat[place] = data.draw(st.sampled_from(["unreadable", "failed"]))
    holed = [(0, 0, 0, 0), (1, 1, 1, 0), *(tuple(flat[i : i + 4]) for i in range(0, len(flat), 4))]
    found = figures(holed)
    bounded = {metric: one.bounds for metric, one in found.items() if one.bounds and one.value is not None}
    assert {"accuracy", "self_agreement", "flip_rate", "invariance", "excess_flip"} <= set(bounded)
    for filled in completions(holed):
        made = figures(filled)
        for metric, (low, high) in bounded.items():
            value = made[metric].value
            assert value is not None
            assert low - 1e-9 <= value <= high + 1e-9, (metric, holed, filled)


def test_the_most_that_an_excess_could_be() -> None:
    # Item one is steady throughout. Item two: 1 and a lost call, edits 0 and 0: every comparison with the 1
    # differs. The lost one agrees with the 1: 1 − 0; an abstention: 1 − 1; a 0: ½ − 1.
    found = figures([(0, 0, 0, 0), (1, "failed", 0, 0)])["excess_flip"]
    assert found.bounds is not None
    assert found.bounds[1] == pytest.approx((0 + 1) / 2)
    # Fewest flips of the edits ½, most of the repeats 1.
    assert found.bounds[0] == pytest.approx((0 + 0.5 - 1) / 2)


def test_an_edit_that_silences_the_judge_is_not_cleared() -> None:
    steady: list[Row] = [(1, 1, 1, 1)] * 60
    assert figures(steady)["excess_flip"].status == "clear"
    silenced: list[Row] = [*steady[:45], *([(1, 1, "unreadable", "unreadable")] * 15)]
    found = figures(silenced)["excess_flip"]
    assert found.status == "inconclusive"
    assert found.bounds == (0.0, pytest.approx(0.25))
    assert "clear but for calls without a verdict" in (found.note or "")


def test_without_repeats_the_share_that_is_kept_has_bounds_too() -> None:
    def kept(lost: int) -> Estimate:
        answers = [("unreadable" if item < lost else 1) for item in range(60)]
        observations = [
            *(call(f"i{item:02d}", 1, 1) for item in range(60)),
            *(call(f"i{item:02d}", answer, 1, probe="edit") for item, answer in enumerate(answers)),
        ]
        return invariance_estimates(HEADING, collect_scores(observations))[0]

    assert kept(0).status == "clear"
    assert kept(1).status == "clear"
    assert kept(20).status == "inconclusive"
    assert kept(20).bounds == (pytest.approx(2 / 3), 1.0)
    assert np.isclose(kept(20).value or 0.0, 1.0)
