"""One definition in two places: what `compare` counts is what the datasheet prints, figure by figure."""

from __future__ import annotations

import random
from collections.abc import Callable
from dataclasses import replace
from functools import cache
from pathlib import Path
from typing import Any

import pytest

from steelyard.metrics.comparison.comparison import Comparison, compare
from steelyard.metrics.comparison.unit_events import unit_events
from steelyard.metrics.run.losses import loss_estimates
from steelyard.metrics.scores.probe import unchanged_estimates
from steelyard.probes.probe_metadata import metrics_of
from steelyard.stimuli.stimulus import Label, Prefers
from steelyard.study.planner import Plan, make_plan
from steelyard.study.study_file import build_study, load_config
from steelyard.trials.judge import Usage
from steelyard.trials.trial import Trial
from steelyard.verdicts.observations import Observation, Observations
from steelyard.verdicts.verdict import Abstained, Decided, Failed, Tie, Unreadable, Verdict

NATURAL = "request,first,second,label\n" + "".join(
    f"question {n},answer {n},reply {n},{'12t'[n % 3].replace('t', 'tie')}\n" for n in range(9)
)
STUDIES: dict[str, dict[str, Any]] = {
    "catalogue": {"replicates": 2},
    "natural": {"replicates": 2, "probes": ["position"]},
    "binary": {"task": {"scale": "binary"}, "probes": ["reliability_full"]},
    "ordinal": {
        "task": {"scale": {"ordinal": [1, 6]}},
        "probes": ["label_flip", "typos", "score_range", "synthetic_ordinal", "stochastic_stability"],
        "replicates": 2,
    },
}


@cache
def planned(name: str, folder: Path) -> Plan:
    given = dict(STUDIES[name])
    if name == "natural":
        (folder / "pairs.csv").write_text(NATURAL, encoding="utf-8")
        columns = {"request": "request", "response_1": "first", "response_2": "second", "label": "label"}
        given["data"] = {"path": str(folder / "pairs.csv"), "columns": columns}
        (folder / "rubric.md").write_text("The better answer wins.", encoding="utf-8")
        given["task"] = {"scale": "pairwise", "rubric": str(folder / "rubric.md")}
    judge = "planted/probit" if name in ("catalogue", "natural") else "planted/rater"
    config = load_config(None, {"seed": 7, "profile": "quick", "judges": [judge], **given})
    study = build_study(config, folder)
    return make_plan(replace(study, judges=study.judges[:1]))


def guessing(trial: Trial) -> Verdict:
    """Any answer of the scale, an abstention, or no verdict: chance knows no definition."""
    chance = random.Random(trial.key)
    answers: list[Verdict] = [
        Decided(answer) for answer in trial.effective_task.scale.answers if answer != "tie"
    ]
    others: list[Verdict] = [Abstained(), Unreadable("garbled"), Failed("timeout")]
    ties: list[Verdict] = [Tie()] * (2 if len(trial.stimulus.texts) == 2 else 0)
    return chance.choice([*answers * 3, *ties, *others])


def wavering(trial: Trial) -> Verdict:
    """Any answer of the scale, and always one."""
    chance = random.Random(trial.key)
    return {"tie": Tie()}.get(answer := chance.choice(trial.effective_task.scale.answers), Decided(answer))


def perfect(trial: Trial) -> Verdict:
    """What a sound judge says."""
    match trial.stimulus.expectation:
        case Label(value=value):
            return Decided(value)
        case Prefers(content=content):
            return Decided(str(1 + trial.order.index(content)))
    return Tie() if len(trial.stimulus.texts) == 2 else Decided(trial.effective_task.scale.answers[0])


def observed(plan: Plan, answer: Callable[[Trial], Verdict]) -> Observations:
    return Observations.of(
        Observation("j", t.protocol, t.stimulus, t.order, t.replicate, answer(t), Usage(1, 1), t.prompt_hash)
        for t in plan.trials
    )


def compared_with_itself(mine: Observations) -> tuple[Comparison, ...]:
    """Every verdict of the judge is shared, and every lost one is lost on both sides."""
    events = unit_events(mine, lambda stimulus: stimulus.id, metrics_of)
    return compare(events, events).rows


MEANS = {
    *("net_slot_preference", "length_lean", "repeat_flip_rate", "flip_excess"),
    *("leniency", "length_gap", "mae", "self_agreement", "excess_flip", "merit", "abstention_rate"),
}
"""Figures that are means of amounts, or told of a comparison alone."""


def over_all_pairs(row: Comparison) -> bool:
    """Asked in a comparison alone: all pairs of the ladder together."""
    asked = row.probe == "ladder" and row.metric in ("net_slot_preference", "tie_rate")
    return asked and set(row.group) == {"protocol"}


@pytest.mark.slow
@pytest.mark.parametrize("answer", [guessing, wavering, perfect])
@pytest.mark.parametrize("name", STUDIES)
def test_compare_counts_what_the_datasheet_prints(
    name: str, answer: Callable[[Trial], Verdict], tmp_path_factory: pytest.TempPathFactory
) -> None:
    plan = planned(name, tmp_path_factory.getbasetemp())
    mine = observed(plan, answer)
    printed = [row for probe in plan.study.build_probes() for row in probe.estimates("j", mine, 7)]
    printed += [*loss_estimates("j", mine, 7), *unchanged_estimates("j", Observations.of(mine), 7)]
    sheet = {(e.probe, e.metric, frozenset(e.group.items())): e for e in printed if e.value is not None}
    told_here = [row for row in compared_with_itself(mine) if row.first is not None]
    rows = [row for row in told_here if not over_all_pairs(row)]
    for row in rows:
        if row.metric in MEANS:
            # A mean over items or pairs is one over calls where no call is lost.
            known = row.metric not in ("merit", "abstention_rate") and row.group["protocol"] == "base"
            if known and (answer is not guessing or row.metric == "net_slot_preference"):
                found = sheet[row.probe, row.metric, frozenset(row.group.items())]
                assert row.first == pytest.approx(found.value), (row.probe, row.metric, row.group)
            continue
        estimate = sheet[row.probe, row.metric, frozenset(row.group.items())]
        assert row.first == estimate.value, (row.probe, row.metric, row.group)
        assert (row.first * row.n_shared, row.n_shared) == (
            pytest.approx(estimate.numerator),
            estimate.denominator,
        )
        assert row.unit == estimate.unit
    told = {(row.probe, row.metric) for row in rows}
    everywhere = {
        "catalogue": {("vacuum", "dark_current"), ("ladder", "target_sensitivity"), ("ladder", "tie_rate")},
        "natural": {("position", "accuracy"), ("position", "order_consistency")},
        "binary": {("typos", "invariance"), ("label_flip", "accuracy"), ("vacuum", "dark_current")},
        "ordinal": {("score_range", "invariance"), ("synthetic_ordinal", "accuracy")},
    }
    assert told >= everywhere[name]


@pytest.mark.slow
def test_a_flipped_label_is_no_invariance(tmp_path_factory: pytest.TempPathFactory) -> None:
    """A perfect judge follows every flipped label: it has nothing to keep there, and keeps all else."""
    mine = observed(planned("binary", tmp_path_factory.getbasetemp()), perfect)
    rows = compared_with_itself(mine)
    kept = {row.probe: row.first for row in rows if row.metric == "invariance"}
    assert "label_flip" not in kept
    assert set(kept.values()) == {1.0}
    dark = next(row for row in rows if row.metric == "dark_current")
    assert dark.first == 0.0
