"""The reliability suite on the built-in pack: suites, recovery of planted raters, real servers, no leaks."""

from __future__ import annotations

import json
import math
import re
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from servers import Received, ScriptedServer, fails, says
from steelyard.core.registry import Spec
from steelyard.errors import ConfigError, UnknownNameError
from steelyard.metrics.estimate import Estimate
from steelyard.probes.probe import PROBES, SUITES, Design, asks_for_runs, asks_for_scores, expand_suites
from steelyard.run_folder.run_folder import RunFolder
from steelyard.runner.limits import RunLimits
from steelyard.runner.record import RunRecord
from steelyard.runner.runner import Runner, run_async
from steelyard.study.planner import make_plan
from steelyard.study.study import Study
from steelyard.study.study_file import StudyConfig, build_study
from steelyard.study.task_config import TaskConfig, pack_draw, pack_scales
from steelyard.tasks.pack import pack_item
from steelyard.tasks.task import Binary, Item, Ordinal, Scale, Task, scale_name
from steelyard.trials.builtin_prompts import POINTWISE_SYSTEM, POINTWISE_USER, parse_score_prompt
from steelyard.trials.judge import Judge, Protocol
from steelyard.trials.trial import Trial

ROOT = Path(__file__).parents[1]
EIGHT = (
    "label_flip",
    "format_invariance_1",
    "format_invariance_2",
    "format_invariance_3",
    "semantic_paraphrase",
    "verbosity_bias_long",
    "verbosity_bias_short",
    "stochastic_stability",
)
PACKED = tuple("verbosity_padding" if probe == "verbosity_bias_long" else probe for probe in EIGHT)
"""The same on the pack, whose long texts are padded and explain nothing."""
KEEP = PACKED[1:7]
"""Edits that keep the label."""
BEYOND = ("typos", "markdown", "rubric_order", "authority", "bandwagon")


def pack_study(judges: list[str], probes: list[Any], profile: str, scale: Scale | None = None) -> Study:
    """Without the baselines, with which no test here compares."""
    body = {"name": "r", "seed": 7, "profile": profile, "judges": judges, "probes": probes}
    task = TaskConfig(scale=None if scale is None else scale_name(scale))
    study = build_study(StudyConfig.model_validate({**body, "task": task}), Path())
    return replace(study, judges=study.judges[: len(judges)])


def measured(study: Study, folder: Path) -> list[Estimate]:
    """What the probes say of every judge, from calls that were made and kept; no page is written."""
    plan = make_plan(study)
    with RunFolder(folder).store() as store:
        record = RunRecord(store)
        run_async(Runner(record, RunLimits()), lambda runner: runner.run(plan.trials))
        seen = record.observations(plan.trials)
    return [
        estimate
        for judge in study.judges
        for probe in study.build_probes()
        for estimate in probe.estimates(judge.name, seen.of_judge(judge.name), study.seed)
    ]


def find(estimates: list[Estimate], probe: str, metric: str, judge: str | None = None) -> Estimate:
    (found,) = [
        e
        for e in estimates
        if (e.probe, e.metric, e.group) == (probe, metric, {"protocol": "base"}) and judge in (None, e.judge)
    ]
    return found


def values(estimates: list[Estimate], metric: str) -> set[float | None]:
    return {e.value for e in estimates if e.metric == metric}


# Suites


@pytest.mark.parametrize(("scale", "further"), [(Binary(), ()), (Ordinal(1, 6), ("synthetic_ordinal",))])
def test_the_suite_is_the_eight_and_levels_where_there_are_levels(
    scale: Scale, further: tuple[str, ...]
) -> None:
    assert tuple(expand_suites(["reliability"], {scale})) == EIGHT + further
    assert tuple(expand_suites(["reliability"], {scale}, packed=True)) == PACKED + further


def test_a_study_holds_the_probes_and_not_the_suite() -> None:
    short = pack_study(["planted/rater"], ["reliability"], "quick", Binary())
    long = pack_study(["planted/rater"], list(PACKED), "quick", Binary())
    assert short.probes == long.probes == tuple(map(Spec, PACKED))
    assert short.hash == long.hash


def test_explanation_is_not_in_the_pack() -> None:
    with pytest.raises(ConfigError, match="for the built-in pack is padded only"):
        pack_study(["planted/rater"], ["verbosity_bias_long"], "quick")


def test_a_probe_named_beside_a_suite_keeps_its_options_and_is_there_once() -> None:
    given_probes = ["reliability", {"stochastic_stability": {"replicates": 3}}, "typos", "reliability_full"]
    study = pack_study(["planted/rater"], given_probes, "quick", Binary())
    names = [spec.name for spec in study.probes]
    assert len(set(names)) == len(names)
    assert Spec("stochastic_stability", {"replicates": 3}) in study.probes


def test_a_suite_takes_no_options() -> None:
    with pytest.raises(ConfigError, match="'reliability' is a suite and takes no options"):
        pack_study(["planted/rater"], [{"reliability": {"replicates": 3}}], "quick")


def test_a_suite_that_is_misspelt() -> None:
    with pytest.raises(UnknownNameError, match="unknown probe 'relability': did you mean the suite 'reliab"):
        pack_study(["planted/rater"], ["relability"], "quick")


def test_a_suite_on_data_leaves_out_what_nobody_writes(steelyard: Any, tmp_path: Path) -> None:
    """Its probes were not named one by one; a probe that was is refused."""
    rows = "".join(f"Question {n}?,Answer number {n}.,{n % 2}\n" for n in range(6))
    (tmp_path / "d.csv").write_text(f"request,response,label\n{rows}")
    (tmp_path / "r.md").write_text("An even number is wrong.\n")
    data = ("--data", "d.csv", "--columns", "request=request,response=response,label=label")
    study = ("plan", *data, "--rubric", "r.md", "--scale", "binary", "-j", "planted/rater", "--json")
    done = steelyard(*study, "-p", "reliability")
    assert done.returncode == 0, done.stderr
    assert {row["probe"] for row in json.loads(done.stdout)["rows"]} == {*EIGHT[1:4], EIGHT[7]}
    assert "verbosity_bias_short were left out" in done.stderr
    named = steelyard(*study, "-p", "reliability", "-p", "label_flip")
    assert named.returncode == 2
    assert "probe 'label_flip': needs a text written for each item" in named.stderr


def test_every_member_of_a_suite_is_a_probe_of_single_texts() -> None:
    for suite in SUITES.values():
        for name in (*suite.probes, *suite.ordinal):
            assert "pointwise" in PROBES.factory(name).forms  # type: ignore[attr-defined]


@pytest.mark.parametrize(
    ("probes", "scores"),
    [
        (["vacuum"], False),
        (["vacuum", "ladder"], False),
        (["reliability"], True),
        (["vacuum", {"typos": {}}], True),
    ],
)
def test_which_probes_ask_for_scores(probes: list[Any], scores: bool) -> None:
    assert asks_for_scores(probes) is scores


# Items of the pack


@pytest.mark.parametrize(("profile", "size"), [("quick", 8), ("standard", 24)])
@pytest.mark.parametrize("seed", [1, 7, 12])
def test_a_draw_without_a_scale_is_half_of_each(profile: str, size: int, seed: int) -> None:
    items = pack_draw(None, profile, seed)
    assert [sum(item.scale == scale for item in items) for scale in pack_scales()] == [size // 2] * 2
    entries = [pack_item(item) for item in items]
    assert any(entry is not None and entry.ordinal for entry in entries)
    assert len({item.instruction for item in items}) >= 6


@pytest.mark.slow
def test_sizes_of_the_page() -> None:
    page = (ROOT / "docs" / "probes" / "reliability.md").read_text()
    rows = [line.strip("|").split("|") for line in page.partition("## Sizes")[2].splitlines() if "|" in line]
    told = {row[0].strip(): [int(cell.replace(",", "")) for cell in row[1:]] for row in rows[2:5]}
    profiles = ("quick", "standard", "full")
    assert told["items"] == [len(pack_draw(None, profile, 7)) for profile in profiles]
    for suite in (name for name in SUITES if not asks_for_runs([name])):
        plans = [make_plan(pack_study(["planted/rater"], [suite], profile)) for profile in profiles]
        assert told[f"calls, `{suite}`"] == [len(plan.trials) for plan in plans]


def test_the_example_of_a_probe_in_one_file() -> None:
    page = (ROOT / "docs" / "guides" / "add-a-probe.md").read_text()
    (code,) = (
        each for each in re.findall(r"```python\n(.*?)```", page, re.DOTALL) if "TextEditProbe" in each
    )
    made: dict[str, Any] = {"__name__": "capitals"}
    exec(code, made)
    item = Item("i", "Why?", ("Because.",), "c", label="1")
    design = Design(7, task=Task("Score it.", "Is it right?", Binary()), items=(item,))
    shown = [showing.stimulus for showing in made["Capitals"]().showings(design, ["base"])]
    assert [(s.kind, s.texts[0]) for s in shown] == [("original", "Because."), ("perturbed", "BECAUSE.")]


# Recovery


@pytest.mark.slow
def test_a_rater_without_error_or_noise(tmp_path: Path) -> None:
    judge = "planted/rater?sensitivity=1&specificity=1&noise=0"
    found = measured(pack_study([judge], ["reliability_full"], "quick"), tmp_path)
    right = [e for e in found if e.metric == "accuracy" and e.value is not None]
    assert {e.value for e in right} == {1.0}
    assert {e.probe for e in right} >= {*PACKED, *BEYOND, "synthetic_ordinal", "injection", "score_range"}
    assert values(found, "invariance") == {1.0}
    assert values(found, "self_agreement") == {1.0}
    assert values(found, "excess_flip") == {0.0}
    assert find(found, "answer_ambiguity", "border_noise").value == 0.0
    assert not [e for e in found if (e.probe, e.metric) == ("answer_ambiguity", "accuracy")]


@pytest.mark.slow
def test_a_rater_that_errs_without_noise_errs_on_an_item_and_its_edits_alike(tmp_path: Path) -> None:
    """It draws once for an item, so an edit that keeps the label keeps the verdict, right or wrong."""
    judge = "planted/rater?sensitivity=0.8&specificity=0.6&noise=0"
    found = measured(pack_study([judge], ["reliability"], "full", Binary()), tmp_path)
    own = find(found, "stochastic_stability", "accuracy")
    assert own.value is not None
    assert own.value < 1
    assert find(found, "stochastic_stability", "self_agreement").value == 1.0
    for probe in KEEP:
        assert find(found, probe, "invariance").value == 1.0
        assert find(found, probe, "accuracy").value == pytest.approx(own.value)
    assert not [e for e in found if (e.probe, e.metric) == ("label_flip", "invariance")]


@pytest.mark.slow
def test_planted_rates_are_found(tmp_path: Path) -> None:
    """A call hits its label with (1 − noise)·rate + noise/2; two repeats differ in noise·(2 − noise)/2."""
    rater = "planted/rater?sensitivity=0.9&specificity=0.7&noise=0.2"
    judges = [f"{rater}&seed={seed}" for seed in range(8)]
    study = pack_study(judges, ["stochastic_stability", "semantic_paraphrase"], "full", Binary())
    estimates = measured(study, tmp_path)
    positive = sum(item.label == "1" for item in study.items) / len(study.items)
    rate = 0.9 * positive + 0.7 * (1 - positive)
    expected = {
        ("stochastic_stability", "accuracy"): 0.8 * rate + 0.1,
        ("stochastic_stability", "self_agreement"): 1 - 0.2 * (2 - 0.2) / 2,
        ("semantic_paraphrase", "accuracy"): 0.8 * rate + 0.1,
        ("semantic_paraphrase", "excess_flip"): 0.0,
    }
    three_errors = 3 * 0.5 / math.sqrt(len(study.items) * len(study.judges))
    for (probe, metric), value in expected.items():
        found = [find(estimates, probe, metric, judge.name) for judge in study.judges]
        assert np.mean([e.value for e in found]) == pytest.approx(value, abs=three_errors)
        assert sum(e.intervals[0].low <= value <= e.intervals[0].high for e in found) >= 7
    # Eight judges, one edit each, tested at .05.
    assert sum(e.status == "flagged" for e in estimates if e.metric == "excess_flip") <= 1


def test_another_range_is_brought_back_before_it_is_compared(tmp_path: Path) -> None:
    """A constant 4 on 1–6 is 5 of 0–10, the middle: it goes back to 4 (3.5, halves go up), so all is kept."""
    study = pack_study(["planted/constant"], ["score_range"], "quick", Ordinal(1, 6))
    assert find(measured(study, tmp_path), "score_range", "invariance").value == 1.0
    shown = [trial.stimulus for trial in make_plan(study).trials]
    assert {s.scale for s in shown if s.probe == "score_range"} == {"0-10"}


# Real servers


def by_length(request: Received) -> Any:
    """A judge that gives the highest score to more than a hundred words, the lowest to fewer."""
    asked = parse_score_prompt(request.user)
    return says(json.dumps({"score": asked.high if len(asked.response.split()) > 100 else asked.low}))


def test_a_judge_that_likes_length_is_flagged(tmp_path: Path) -> None:
    with ScriptedServer(by_length) as server:
        judge = f"openai/long?base_url={server.url}"
        probes = ["verbosity_padding", "verbosity_bias_short", "format_invariance_1"]
        found = measured(pack_study([judge], probes, "standard"), tmp_path)
    long = find(found, "verbosity_padding", "invariance")
    assert (long.status, long.value) == ("flagged", pytest.approx(0.0, abs=0.35))
    assert find(found, "format_invariance_1", "invariance").value == 1.0
    assert "noise and edit are not told apart" in (long.note or "")


def test_a_judge_that_fails_every_call_has_no_accuracy(steelyard: Any, tmp_path: Path) -> None:
    with ScriptedServer(fails(500)) as server:
        broken = ("-j", f"openai/broken?base_url={server.url}")
        command = ("measure", "-p", "label_flip", "--attempts", "1", *broken)
        alone = steelyard(*command, "--out", "alone", OPENAI_API_KEY="k")
        beside = steelyard(*command, "-j", "planted/rater", "--out", "run", OPENAI_API_KEY="k")
    assert (alone.returncode, beside.returncode) == (1, 1)
    assert not (tmp_path / "alone" / "datasheet.json").exists()
    sheet = json.loads((tmp_path / "run" / "datasheet.json").read_text())
    mine = [e for e in sheet["estimates"] if e["judge"] == "openai/broken"]
    counted = {"failed_rate", "unreadable_rate", "tokens_input", "tokens_output", "cost_input", "cost_output"}
    assert {e["metric"] for e in mine if e["value"] is not None} <= counted
    assert {e["value"] for e in mine if e["metric"] == "failed_rate"} <= {1.0, None}  # None: never asked
    assert "accuracy" in {e["metric"] for e in mine}


def test_the_command_runs_once_and_then_makes_no_calls(steelyard: Any, tmp_path: Path) -> None:
    some = ("label_flip", "format_invariance_1", "stochastic_stability", "synthetic_ordinal")
    probes = [word for probe in some for word in ("-p", probe)]
    command = ("measure", *probes, "-j", "planted/rater", "--out", "run")
    done = steelyard(*command, "--full")
    assert done.returncode == 0, done.stderr
    for words in ("Reliability", "label flip", "verdict kept", "same input again", "written levels"):
        assert words in done.stdout
    before = (tmp_path / "run" / "datasheet.json").read_bytes()
    again = steelyard(*command)
    assert "No calls: every trial was answered before." in again.stdout
    assert (tmp_path / "run" / "datasheet.json").read_bytes() == before
    calls = steelyard("plan", "-p", "reliability", "-j", "planted/rater", "--out", "new", "--json")
    rows = [row for row in json.loads(calls.stdout)["rows"] if row["judge"] == "planted/rater"]
    # Originals are shown once for all probes, and four times more for stability.
    assert {row["probe"]: row["calls"] for row in rows}["stochastic_stability"] == 8 * 4


def test_suites_are_listed(steelyard: Any) -> None:
    listed = steelyard("probes").stdout
    assert "suite" in listed
    assert all(name in listed for name in SUITES)


# The judge never sees the key

RULED = (*EIGHT[1:4], *BEYOND, "score_range", "injection", "stochastic_stability")
WORDS = st.text(alphabet="abc defg\n.,", min_size=20, max_size=120).filter(lambda text: len(text.split()) > 4)
JUDGE = Judge("j", "planted", "rater", {"base": Protocol(POINTWISE_USER, POINTWISE_SYSTEM)})
TASK = Task("Rate it from 1 to 6.", "1: bad\n2: poor\n3: fair\n4: good\n5: fine\n6: best", Ordinal(1, 6))


@pytest.mark.slow
@settings(max_examples=25, deadline=None)
@given(text=WORDS, labels=st.tuples(st.sampled_from("12345"), st.sampled_from("12345")))
def test_no_prompt_depends_on_the_label_or_names_the_item(text: str, labels: tuple[str, str]) -> None:
    def prompts(label: str) -> list[str]:
        item = Item("ITEM-ID", "Why?", (text,), "CLUSTER-ID", label=label, stratum="STRATUM-ID")
        design = Design(7, task=TASK, items=(item,))
        trials = [
            Trial(JUDGE, "base", showing.stimulus, TASK, replicate=showing.replicate)
            for probe in RULED
            for showing in PROBES.build(Spec(probe)).showings(design, ["base"])
        ]
        return [message.content for trial in trials for message in trial.messages]

    one, other = (prompts(label) for label in labels)
    assert one == other
    assert not any(mark in prompt for prompt in one for mark in ("ITEM-ID", "CLUSTER-ID", "STRATUM-ID"))
    assert not any(probe in prompt for prompt in one for probe in RULED if "_" in probe)


@pytest.mark.slow
def test_no_prompt_of_the_pack_says_why_or_names_its_item() -> None:
    study = pack_study(["planted/rater"], ["reliability_full"], "standard")
    entries = [entry for item in study.items if (entry := pack_item(item)) is not None]
    marks = {text for e in entries for text in (e.id, e.why, e.label_flip.why)}
    prompts = {message.content for trial in make_plan(study).trials for message in trial.messages}
    assert len(prompts) > 500
    assert not [mark for mark in marks for prompt in prompts if mark in prompt]
