"""A judge's seed: the first call has it as stated, every repeat one of its own, and none is asked twice."""

from __future__ import annotations

import hashlib
from pathlib import Path

from servers import Answer, Received, ScriptedServer, says
from steelyard.commands.measure import Measurement, measure
from steelyard.core.content_hash import content_hash
from steelyard.run_folder.run_folder import RunFolder
from steelyard.run_folder.snapshot import load_plan
from steelyard.runner.limits import RunLimits
from steelyard.study.planner import make_plan
from steelyard.study.study import Study
from steelyard.study.study_file import StudyConfig, build_study
from steelyard.trials.trial import LARGEST_SEED

REPEATS = 3


def study_of(model: str, folder: Path) -> Study:
    config = StudyConfig(
        name="seeds",
        judges=[model],  # type: ignore[list-item]
        task={"scale": "binary"},  # type: ignore[arg-type]
        probes=["stochastic_stability"],  # type: ignore[list-item]
        replicates=REPEATS,
    )
    return build_study(config, folder)


def honours_the_seed(request: Received) -> Answer:
    """The same prompt and seed give the same answer; another seed is another draw."""
    body = request.body
    drawn = hashlib.sha256(f"{body.get('seed')} {body['messages']}".encode()).digest()[0]
    return says(f'{{"score": {drawn % 2}}}')


def run(folder: Path, query: str) -> tuple[Measurement, ScriptedServer]:
    with ScriptedServer(honours_the_seed) as server:
        model = f"openai/scripted?base_url={server.url}{query}"
        return measure(study_of(model, folder), RunFolder(folder / "run"), RunLimits()), server


def test_repeats_of_a_seeded_judge_are_draws_of_their_own(tmp_path: Path) -> None:
    measured, server = run(tmp_path, "&seed=11&temperature=1")
    sheet = measured.require()
    found = sheet.find("openai/scripted", "self_agreement", "stochastic_stability", protocol="base")
    assert found is not None
    assert found.value is not None
    assert 0.2 < found.value < 0.8  # a coin agrees with itself in half of all pairs of repeats
    sent = {request.body["seed"] for request in server.requests}
    repeats = len(server.requests) // len({request.user for request in server.requests})
    assert 11 in sent
    assert len(sent) == repeats >= REPEATS
    assert all(0 <= seed < LARGEST_SEED for seed in sent)


def test_a_finished_run_asks_nothing_again(tmp_path: Path) -> None:
    study = study_of("planted/rater?noise=0.2&seed=5", tmp_path)
    folder = RunFolder(tmp_path / "run")
    first = measure(study, folder, RunLimits())
    assert measure(study, folder, RunLimits()).session.calls == 0
    assert load_plan(folder).trials == make_plan(study).trials
    assert first.session.calls


def test_the_first_call_keeps_the_key_it_had(tmp_path: Path) -> None:
    trials = make_plan(study_of("openai/x?base_url=http://127.0.0.1:1/v1&seed=11", tmp_path)).trials
    mine = [trial for trial in trials if not trial.judge.baseline]
    for trial in mine:
        prompt = content_hash({"messages": trial.messages, "decoding": trial.judge.decoding})
        parts = trial.judge.fingerprint(trial.protocol), trial.stimulus.hash, trial.order, trial.replicate
        assert (trial.key == content_hash([*parts, prompt])) == (trial.replicate == 0)
        assert trial.unseeded_prompt_hash == prompt
        assert trial.presentation().decoding == trial.decoding
    assert {trial.replicate for trial in mine} >= set(range(REPEATS))


def test_a_judge_without_a_seed_sends_none(tmp_path: Path) -> None:
    _, server = run(tmp_path, "")
    assert not any("seed" in request.body for request in server.requests)
