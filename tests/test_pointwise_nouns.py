"""Scales by name, items as stimuli, and the question that a stimulus changes."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from steelyard.core.registry import Spec
from steelyard.errors import ConfigError
from steelyard.probes.probe import POINTWISE, Design, forms_of, pointwise
from steelyard.run_folder.snapshot import load_snapshot, snapshot_text
from steelyard.stimuli.original import edited_stimulus, original_of
from steelyard.stimuli.stimulus import Label, Stimulus, Unknown
from steelyard.study.planner import make_plan
from steelyard.study.study import Study
from steelyard.study.study_file import build_study, load_config
from steelyard.tasks.task import Binary, Item, Ordinal, Pairwise, Scale, Task, parse_scale, scale_name
from steelyard.trials.builtin_prompts import POINTWISE_SYSTEM, POINTWISE_USER
from steelyard.trials.judge import Judge, Protocol
from steelyard.trials.trial import Trial

TASK = Task("Score the answer.", "Right answers score 1.", Binary())
ITEM = Item("i1", "What is 2 + 2?", ("4",), cluster="sums", label="1", stratum="arithmetic")
JUDGE = Judge("j", "openai", "m", {"base": Protocol(POINTWISE_USER, POINTWISE_SYSTEM)})


@pytest.mark.parametrize(
    ("text", "scale"),
    [
        ("binary", Binary()),
        ("1-6", Ordinal(1, 6)),
        ("0-10", Ordinal(0, 10)),
        (" 1 – 5 ", Ordinal(1, 5)),
        ("pairwise", Pairwise()),
    ],
)
def test_scales_by_name(text: str, scale: Scale) -> None:
    assert parse_scale(text) == scale
    assert parse_scale(scale_name(scale)) == scale


@pytest.mark.parametrize("text", ["", "6-1", "3-3", "1-", "ordinal", "-1-6", "1-6-8", "1.5-3"])
def test_a_scale_that_is_none_is_refused(text: str) -> None:
    with pytest.raises(ConfigError, match=r"^scale: found .*expected binary, pairwise or a range"):
        parse_scale(text)


def test_pairs_keep_the_hash_that_recorded_runs_have() -> None:
    """Run folders of earlier versions hold these hashes; fields that pairs do not have must not enter."""
    named = {"judges": ["planted/probit"], "probes": ["vacuum", "ladder", "criterion"]}
    study = build_study(load_config(None, named), Path())
    assert study.hash == "sha256:8b41c5cd58e2d08b728fe2953856f13106c0a765e5a8f5c1d63387dc89df9031"
    stimuli = make_plan(study).stimuli
    assert stimuli.hash == "sha256:bbda32f625c83b71ad99d9887f5e7831eeee334f6407158b904447b2fb73c3b9"
    assert not {"scale", "instruction", "level"} & set(stimuli.stimuli[0].to_json())


def test_the_original_of_an_item() -> None:
    stimulus = original_of(ITEM, TASK)
    assert (stimulus.id, stimulus.probe, stimulus.kind) == ("i1/original", "original", "original")
    assert (stimulus.texts, stimulus.scale, stimulus.expectation) == (("4",), "binary", Label("1"))
    assert (stimulus.cluster, stimulus.stratum, stimulus.lineage.parent) == ("sums", "arithmetic", "i1")
    assert original_of(replace(ITEM, label=None), TASK).expectation == Unknown()
    assert Stimulus.from_json(stimulus.to_json()) == stimulus


def test_an_edit_keeps_the_reference_unless_it_changes_it() -> None:
    kept = edited_stimulus(ITEM, TASK, "typos", 2, "Four", "one letter wrong", level=0.25)
    assert (kept.id, kept.kind, kept.expectation, kept.level) == ("i1/typos/2", "perturbed", Label("1"), 0.25)
    assert Stimulus.from_json(kept.to_json()) == kept
    flipped = edited_stimulus(ITEM, TASK, "label_flip", 0, "5", "a wrong sum", label="0")
    assert flipped.expectation == Label("0")
    assert len({kept.hash, flipped.hash, original_of(ITEM, TASK).hash}) == 3


def test_a_stimulus_overrides_the_question_of_the_study() -> None:
    plain = Trial(JUDGE, "base", original_of(ITEM, TASK), TASK)
    assert plain.effective_task == TASK
    own = replace(ITEM, instruction="Grade it.", rubric="Six is best.", scale=Ordinal(1, 6))
    trial = Trial(JUDGE, "base", original_of(own, TASK), TASK)
    assert trial.effective_task == Task("Grade it.", "Six is best.", Ordinal(1, 6))
    user = trial.messages[-1].content
    assert user.startswith("Grade it.")
    assert "Six is best." in user
    assert "from 1 to 6" in user
    assert trial.presentation().answers == ("1", "2", "3", "4", "5", "6")


def test_showings_of_single_texts_have_one_order() -> None:
    design = Design(7, "quick", 2, TASK, (ITEM,))
    assert design.form == POINTWISE
    shown = list(pointwise(design.originals, "base", design.replicates))
    assert [(s.stimulus.id, s.order, s.replicate) for s in shown] == [
        ("i1/original", "uv", 0),
        ("i1/original", "uv", 1),
    ]


def test_a_probe_that_does_not_fit_is_refused() -> None:
    study = Study("s", 7, "quick", 1, (JUDGE,), (Spec("ladder"),), TASK, (ITEM,))
    with pytest.raises(ConfigError, match=r"^probe 'ladder': needs a pairwise scale, found"):
        make_plan(study)

    class Plugin:
        name = "plugin"

    assert forms_of(Plugin()) == ("pairwise",)  # type: ignore[arg-type]


def test_a_frozen_study_keeps_its_scale_and_knows_its_items(tmp_path: Path) -> None:
    study = Study(
        "s", 7, "quick", 1, (JUDGE,), (Spec("vacuum"),), replace(TASK, scale=Ordinal(1, 6)), (ITEM,)
    )
    path = tmp_path / "study.yaml"
    path.write_text(snapshot_text(study))
    held = load_snapshot(path)
    assert held.task == study.task
    assert held.hash == study.hash
    assert study.extends(held)
    other = replace(study, items=(replace(ITEM, label="0"),))
    assert not other.extends(held)
