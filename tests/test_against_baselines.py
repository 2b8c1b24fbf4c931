"""A judge beside rules that read nothing: by hand, and honest in its choice of the rule."""

from __future__ import annotations

import random
import re
from collections.abc import Sequence
from dataclasses import replace

import pytest

from scores import call
from steelyard.metrics.comparison.against_baselines import NO_VERDICT, best_baseline_name, gain_estimates
from steelyard.metrics.estimate import Estimate
from steelyard.metrics.findings import MISSING_DECIDE
from steelyard.metrics.scores.shares import NO_LABELS
from steelyard.stimuli.original import natural_pair
from steelyard.tasks.task import Item
from steelyard.trials.judge import Usage
from steelyard.verdicts.observations import Observation, Observations
from steelyard.verdicts.verdict import Decided, Tie


def gain(rows: list[Observation], baselines: dict[str, list[Observation]] | None = None) -> Estimate:
    others = {name: Observations.of(seen) for name, seen in (baselines or {}).items()}
    (estimate,) = gain_estimates("j", Observations.of(rows), others, 7)
    return estimate


LABELS = [1] * 33 + [0] * 27


def judged(
    answers: list[int | str], labels: list[int] | None = None, scale: str = "binary"
) -> list[Observation]:
    wanted = LABELS if labels is None else labels
    return [
        call(f"i{n:02d}", a, w, scale=scale) for n, (a, w) in enumerate(zip(answers, wanted, strict=True))
    ]


def test_the_best_constant_is_named_without_any_baseline() -> None:
    """57 of 60 right, where always answering 1 is in 33: +24/60."""
    found = gain(judged([1] * 33 + [0] * 24 + [1] * 3))
    assert (found.value, found.status) == (pytest.approx(24 / 60), "clear")
    assert re.match(r"against .* 1; .* 0\.55; best of 2\b", found.note or "")
    assert (found.probe, found.n_calls, found.n_units) == ("original", 60, 60)
    low, high = found.intervals[0].low or 0.0, found.intervals[0].high or 0.0
    assert 0.2 < low < 0.4 < high < 0.6


def test_a_constant_judge_gains_nothing() -> None:
    found = gain(judged([1] * 60))
    assert (found.value, found.status) == (0.0, "inconclusive")


def test_worse_than_the_best_constant() -> None:
    assert gain(judged([0] * 33 + [1] * 27)).status == "flagged"


def test_a_baseline_of_the_run_that_is_better_is_the_one() -> None:
    clever = judged([1] * 33 + [0] * 27)
    found = gain(judged([1] * 40 + [0] * 20), {"clever": clever, "constant": judged([1] * 60)})
    assert re.match(r"against .* clever; .* 1\.00; best of 3\b", found.note or "")
    assert found.value == pytest.approx(-7 / 60)


def test_the_name_of_a_rule_is_told_whole() -> None:
    """A name may hold what separates the parts of a note; an older sheet names no rule in a field."""
    found = gain(judged([1] * 40 + [0] * 20), {"regex; v2": judged([1] * 33 + [0] * 27)})
    assert (found.details["rival"], best_baseline_name(found)) == (
        "the baseline regex; v2",
        "the baseline regex; v2",
    )
    assert best_baseline_name(replace(found, details={"rival": "the baseline coin"})) == "tossing a coin"
    assert best_baseline_name(replace(found, details={})).endswith("reads nothing")


def test_a_baseline_that_was_not_asked_everything_is_no_rule() -> None:
    found = gain(judged([1] * 33 + [0] * 27), {"half": judged([1] * 33 + [0] * 27)[:30]})
    assert "of 2 rules" in (found.note or "")


def test_a_rule_that_is_best_by_luck_does_not_condemn() -> None:
    """Forty coins beside a judge that is right in .55: the luckiest beats it, which shows nothing."""
    chance = random.Random(3)
    coins = {f"coin {n}": judged([chance.randint(0, 1) for _ in range(60)]) for n in range(40)}
    found = gain(judged([1] * 20 + [0] * 13 + [0] * 13 + [1] * 14), coins)
    assert (found.value or 0) < -0.05
    assert found.status == "inconclusive"


def test_lost_calls_could_have_gone_either_way() -> None:
    """Six of the negatives have no verdict: clear on the others, and still if all six were wrong."""
    found = gain(judged([1] * 33 + [0] * 21 + ["failed"] * 6))
    assert found.bounds == (pytest.approx(21 / 60), pytest.approx(27 / 60))
    assert (found.status, dict(found.excluded)) == ("clear", {"unreadable": 0, "failed": 6})
    assert not found.missing_decides
    many = gain(judged([1] * 20 + ["failed"] * 13 + [0] * 7 + ["failed"] * 20))
    assert many.missing_decides
    assert (many.status, MISSING_DECIDE in (many.note or "")) == ("inconclusive", True)


def test_scores_are_held_by_their_distance() -> None:
    """Labels 1, 3, 5 a third each: always answering 3 is 4/3 levels off, the judge one level everywhere."""
    labels = [1, 3, 5] * 10
    found = gain(judged([2, 4, 4] * 10, labels, scale="1-5"))
    assert (found.metric, found.value) == ("error_gain", pytest.approx(4 / 3 - 1))
    assert re.match(r"against .* 3; .* 1\.33 levels", found.note or "")


def test_without_labels_or_verdicts_there_is_no_number() -> None:
    unlabelled = [call(f"i{n}", 1) for n in range(5)]
    assert (gain(unlabelled).value, gain(unlabelled).note) == (None, NO_LABELS)
    failed = judged(["failed"] * 60)
    assert (gain(failed).value, gain(failed).note) == (None, NO_VERDICT)


def compared(answers: Sequence[str], better: Sequence[str]) -> list[Observation]:
    """Natural pairs in both orders: `u` and `v` name a text, `1`, `2` and `t` a slot or neither."""
    rows = []
    for n, (answer, wanted) in enumerate(zip(answers, better, strict=True)):
        pair = natural_pair(
            Item(id=f"p{n:02d}", request="q", responses=("a", "b c"), cluster=f"p{n:02d}", label=wanted),
            "position",
        )
        for order in ("uv", "vu"):
            slot = {"u": "12", "v": "21", "1": "11", "2": "22"}.get(answer, "tt")[order == "vu"]
            verdict = Tie() if slot == "t" else Decided(slot)
            rows.append(Observation("j", "base", pair, order, 0, verdict, Usage(), ""))
    return rows


def test_natural_pairs_are_held_against_slots_and_ties() -> None:
    """Twelve of sixteen calls agree; always slot 1 does in 7, always a tie in 2: the best rule is a slot."""
    found = gain(compared(["u"] * 4 + ["v"] * 4, ["1", "1", "1", "1", "2", "2", "1", "tie"]))
    assert (found.probe, found.n_calls, found.n_units) == ("position", 16, 8)
    assert found.value == pytest.approx(12 / 16 - 7 / 16)
    assert re.match(r"against .* slot 1; .* 0\.44; best of 4\b", found.note or "")


def test_a_longest_wins_baseline_is_a_rule_of_its_own() -> None:
    longest = compared(["v"] * 12, ["2"] * 12)
    found = gain(compared(["v"] * 11 + ["u"], ["2"] * 12), {"longest": longest})
    assert re.match(r"against .* longest; .* 1\.00; best of 4\b", found.note or "")
    assert found.value == pytest.approx(-1 / 12)


def test_a_judge_of_slots_is_no_better_than_a_slot() -> None:
    found = gain(compared(["1"] * 20, ["1", "2"] * 10))
    assert (found.value, found.status) == (0.0, "inconclusive")
