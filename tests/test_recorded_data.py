"""Published verdicts of other laboratories: the import counts what they counted."""

from __future__ import annotations

import json
from collections.abc import Iterable
from functools import cache
from itertools import combinations, permutations
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from published_data import published
from steelyard.core.arrays import Ints
from steelyard.importing.pairs import read_pairs
from steelyard.metrics.estimate import Estimate
from steelyard.metrics.pairs.columns import PairAnswer, collect
from steelyard.metrics.pairs.decomposition import (
    ONE_ORDER,
    POSITIONAL_FALSE_PREFERENCE,
    STABLE_CROSS_SENSITIVITY,
    decompose,
)
from steelyard.metrics.pairs.flips import count_flips
from steelyard.probes.unchanged_items import Position
from steelyard.verdicts.observations import Observations
from strategies import find

LLMBAR, PANDALM = published("llmbar"), published("pandalm")


def stats(folder: Path, name: str) -> list[dict[str, Any]]:
    return list(json.loads((folder / name).read_text(encoding="utf-8")))


def pools(stratum: str) -> tuple[str, ...]:
    """The pools of the published table that a subset belongs to."""
    if not stratum.startswith("LLMBar/"):
        return (stratum,)
    part = "LLMBar-Natural(100)" if stratum == "LLMBar/Natural" else "LLMBar-Adversarial(319)"
    return "LLMBar-all(419)", part


@cache
def llmbar() -> Observations:
    """All published verdicts, as the import reads them."""
    return read_pairs([LLMBAR / "verdicts.jsonl"]).observations()


def pool(name: str, judge: str, prompt: str) -> Observations:
    """What one judge said under one prompt to the pairs of a pool of the published table."""
    seen = llmbar()
    mine = np.array([name in pools(stratum) for stratum in seen.shown.stratum.tolist()])
    return seen.of_judge(judge).filter(protocol=prompt, stimuli=mine)


def figures(seen: Observations) -> list[Estimate]:
    return Position().estimates(seen[0].judge, seen, 7)


@pytest.mark.slow
@pytest.mark.parametrize("judge", ["ChatGPT", "ChatGPT-0301", "Falcon", "GPT-4", "LLaMA2", "PaLM2"])
def test_llmbar_counts_are_the_published_ones(judge: str) -> None:
    table = [row for row in stats(LLMBAR, "stats_pooled.json") if row["subset"] == "LLMBar-all(419)"]
    rows = [row for row in table if row["judge"] == judge]
    assert len({row["prompt"] for row in rows}) >= 8
    # The next test counts the cells under every prompt: here those with the most ties and the most losses.
    for count in ("tie_calls", "invalid_calls"):
        row = max(rows, key=lambda row: row["counts"][count])
        found = figures(pool(row["subset"], judge, row["prompt"]))
        complete = row["n_pairs"] - row["counts"]["pair_invalid"]
        consistent = find(found, "order_consistency")
        seen = {
            "consistent": consistent.numerator,
            "flip_first": find(found, "flip_first").numerator,
            "flip_second": find(found, "flip_second").numerator,
            "tie_both": find(found, "no_preference").numerator,
            "tie_one": find(found, "one_sided_commit").numerator,
            "invalid_calls": find(found, "unreadable_rate").numerator,
            "tie_calls": find(found, "tie_rate").numerator,
            "correct_both": find(found, "accuracy_both").numerator,
        }
        assert seen == {key: row["counts"][key] for key in seen}, row
        assert consistent.denominator == complete, row
        right = row["counts"]["correct_AB"] + row["counts"]["correct_BA"]
        assert find(found, "accuracy").numerator == right, row
        slots = [find(found, "accuracy", slot=slot).numerator for slot in (1, 2)]
        assert sum(slot or 0 for slot in slots) == right, row


@pytest.mark.slow
def test_every_subset_of_llmbar_has_the_published_cells() -> None:
    rows = stats(LLMBAR, "stats_pooled.json")
    assert len(rows) == 360
    for row in rows:
        parts = decompose(collect(pool(row["subset"], row["judge"], row["prompt"])))
        seen = {
            "consistent": parts.cell(STABLE_CROSS_SENSITIVITY).sum(),
            "flip_first": parts.in_slot(POSITIONAL_FALSE_PREFERENCE, 1).sum(),
            "flip_second": parts.in_slot(POSITIONAL_FALSE_PREFERENCE, 2).sum(),
            "pair_invalid": (~parts.complete).sum(),
        }
        assert seen == {key: row["counts"][key] for key in seen}, row
        assert len(parts.pairs) == row["n_pairs"], row


@pytest.mark.slow
def test_each_pair_without_a_task_stands_for_itself() -> None:
    found = figures(pool("LLMBar-all(419)", "GPT-4", "CoT"))
    assert find(found, "order_consistency").n_clusters == find(found, "order_consistency").n_units


def test_pandalm_is_reported_and_not_decomposed(steelyard) -> None:
    done = steelyard("import", PANDALM / "items_with_verdicts.jsonl", "--out", "o", "--json")
    assert done.returncode == 0, done.stderr
    rows = json.loads(done.stdout)["estimates"]
    for row in stats(PANDALM, "stats.json"):
        judge = row["judge"].removeprefix("verdict_")
        mine = {r["metric"]: r for r in rows if r["judge"] == judge and r["group"] == {"protocol": "base"}}
        for metric in (
            "order_consistency",
            "flip_first",
            "flip_second",
            "net_slot_preference",
            "accuracy_both",
        ):
            assert mine[metric]["value"] is None
            assert mine[metric]["note"] == str(ONE_ORDER)
        # The published shares count unreadable verdicts as wrong; here they are bounds.
        assert mine["accuracy"]["bounds"][0] == pytest.approx(row["agree"], abs=5e-5)
        assert mine["unreadable_rate"]["value"] == pytest.approx(row["invalid"], abs=5e-4)
        assert mine["tie_rate"]["bounds"][0] == pytest.approx(row["tie"], abs=5e-5)


def of_content(answers: Ints) -> Ints:
    """Answers with u second, as if u had stood first: the slots change places."""
    return np.select(
        [answers == PairAnswer.FIRST, answers == PairAnswer.SECOND],
        [PairAnswer.SECOND, PairAnswer.FIRST],
        answers,
    )


@pytest.mark.slow
@pytest.mark.parametrize("row", stats(LLMBAR, "stats_retest.json"), ids=lambda row: row["judge"])
def test_llmbar_repeats_agree_as_counted(row: dict[str, Any]) -> None:
    """Three runs in both orders; the table takes two unreadable replies for an agreement."""
    pairs = collect(read_pairs([LLMBAR / "replicates_cot_x3.jsonl"]).observations().of_judge(row["judge"]))
    assert np.array_equal(pairs.replicate.reshape(-1, 3), np.tile([0, 1, 2], (len(pairs) // 3, 1)))
    first, second = (codes.reshape(-1, 3) for codes in (pairs.u_first, of_content(pairs.v_first)))

    def agree(left: Ints, right: Ints, runs: Iterable[tuple[int, int]]) -> list[bool]:
        return [bool(same) for a, b in runs for same in left[:, a] == right[:, b]]

    again = [same for order in (first, second) for same in agree(order, order, combinations(range(3), 2))]
    assert len(again) == row["n_call_pairs"]
    assert round(np.mean(again), 4) == row["retest_same_order_agree"]
    within = agree(first, second, [(run, run) for run in range(3)])
    assert round(np.mean(within), 4) == row["swap_agree_within_run"]
    across = agree(first, second, permutations(range(3), 2))
    assert round(np.mean(across), 4) == row["swap_agree_cross_run"]

    # Flips compare verdicts alone: a reply that nobody could read agrees with nothing.
    flips = count_flips(pairs)
    both_lost = [
        np.all(order[:, list(runs)] == PairAnswer.UNREADABLE, axis=1).sum()
        for order in (first, second)
        for runs in combinations(range(3), 2)
    ]
    assert flips.repeat.sum() - flips.repeat_flips.sum() == sum(again) - sum(both_lost)
