"""`prompt: paper`: the published base and strict instructions, for prompted, planted and served judges."""

from __future__ import annotations

import asyncio
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from servers import Received, ScriptedServer, wins
from steelyard.commands.measure import measure
from steelyard.errors import ConfigError
from steelyard.probes.catalogue import Criterion
from steelyard.probes.probe import Design
from steelyard.providers.planted.planted_judges import Planted
from steelyard.providers.planted.server import start
from steelyard.providers.vendors.completions import ChatCompletions
from steelyard.run_folder.run_folder import RunFolder
from steelyard.runner.limits import RunLimits
from steelyard.study.judge_config import parse_judge
from steelyard.study.study_file import StudyConfig, build_study
from steelyard.tasks.task import CHECKLIST_TASK, Binary, Task
from steelyard.trials.builtin_prompts import CandidateRequest, parse_pair_prompt, protocol_of
from steelyard.trials.judge import Judge
from steelyard.trials.trial import Trial

SURFACE = ("wording", "style", "fluency", "verbosity", "surface form")
SHOWN = list(Criterion().showings(Design(7, "quick"), ("base", "strict")))


def judge_of(given: str | dict[str, Any]) -> Judge:
    return parse_judge(given, Path(), CHECKLIST_TASK.scale)


def trials(judge: Judge, protocol: str, task: Task = CHECKLIST_TASK) -> list[Trial]:
    return [Trial(judge, protocol, s.stimulus, task, s.order) for s in SHOWN if s.protocol == "base"]


def asked(judge: Judge, protocol: str, task: Task = CHECKLIST_TASK) -> str:
    """Everything a judge reads for one pair, in lower case, without the material."""
    system, user = (message.content for message in trials(judge, protocol, task)[0].messages)
    return f"{system}\n{user.partition('===== request')[0]}{user.rpartition('===== end')[2]}".lower()


def test_the_papers_base_prompt_says_nothing_of_the_surface() -> None:
    paper, usual = judge_of("openai/x?prompt=paper"), judge_of("openai/x")
    assert list(paper.protocols) == ["base", "strict"]
    base, strict = asked(paper, "base"), asked(paper, "strict")
    for word in (*SURFACE, "order", "length"):
        assert word not in base
    for word in SURFACE:
        assert word in strict
    for part in ("may be equally good", "a tie is allowed", "more of the things the request asks for"):
        assert part in base
        assert part in strict
    assert "style, sentence order and length do not count" in asked(usual, "base")


def test_a_rubric_of_ones_own_is_shown_as_it_is() -> None:
    rubric = "Warm words win. Length and style do not count."
    text = asked(judge_of("openai/x?prompt=paper"), "base", Task("Compare.", rubric, CHECKLIST_TASK.scale))
    assert rubric.lower() in text


def test_both_prompts_can_be_arms_of_a_judge_that_keeps_its_own_base() -> None:
    plain = judge_of("openai/x")
    arms = {"paper": "paper", "harsh": {"prompt": "paper-strict"}}
    judge = judge_of({"model": "openai/x", "protocols": arms})
    paper = judge_of("openai/x?prompt=paper")
    assert list(judge.protocols) == ["base", "strict", "paper", "harsh"]
    assert judge.fingerprint("base") == plain.fingerprint("base")
    assert judge.fingerprint("paper") == paper.fingerprint("base") != plain.fingerprint("base")
    assert judge.fingerprint("harsh") == paper.fingerprint("strict") != plain.fingerprint("strict")


def test_both_prompts_ask_for_the_form_that_the_reader_reads() -> None:
    judge = judge_of({"model": "openai/x", "prompt": "paper", "reader": "choice"})
    assert list(judge.protocols) == ["base", "strict"]
    for protocol in judge.protocols.values():
        assert protocol.reader.name == "choice"
        assert "JSON" not in protocol.user
        assert protocol.user.endswith("Reply with 1, 2 or tie only.")


def test_a_planted_judge_keeps_its_criteria() -> None:
    judge = judge_of("planted/probit?prompt=paper&tau=1&tau_strict=3")
    assert judge.protocols["strict"].settings == {"tau": 3.0}
    assert list(judge_of("planted/coin?prompt=paper").protocols) == ["base"]


@pytest.mark.parametrize(
    ("given", "scale"),
    [("openai/x?prompt=paper", Binary()), ("embedded/smollm2-135m?prompt=paper", CHECKLIST_TASK.scale)],
)
def test_who_can_not_be_asked_so_is_told(given: str, scale: Any) -> None:
    with pytest.raises(ConfigError, match="prompt 'paper' asks about two texts and for an answer in JSON"):
        parse_judge(given, Path(), scale)


def test_a_served_judge_answers_the_papers_prompts_as_the_one_in_process() -> None:
    planted = judge_of("planted/probit?prompt=paper&tau_strict=4")
    calls = [trial for protocol in ("base", "strict") for trial in trials(planted, protocol)][::4]
    for trial in calls:
        user = trial.messages[-1].content
        assert protocol_of(user) == trial.protocol
        assert parse_pair_prompt(user) == CandidateRequest(trial.stimulus.request, trial.slot_texts)

    async def compare() -> None:
        # The server is started without the option: it knows the prompts by themselves.
        runner, url = await start(judge_of("planted/probit?tau_strict=4"))
        client = ChatCompletions(
            Judge("served", "openai", "probit", planted.protocols, options={"base_url": url})
        )
        await client.open()
        try:
            inside = Planted(planted)
            for trial in calls:
                presentation = trial.presentation()
                assert (await client.ask(presentation)).text == (await inside.ask(presentation)).text
        finally:
            await client.close()
            await runner.cleanup()

    asyncio.run(compare())


def surface_reader(request: Received) -> Any:
    """A judge that keeps to its instructions: ties where surface is ruled out, else the longer text."""
    if "wording" in request.body["messages"][-1]["content"].partition("=====")[0].lower():
        return wins("tie")
    first, second = (len(text) for text in parse_pair_prompt(request.user).responses)
    return wins("1" if first > second else "2" if second > first else "tie")


def test_the_surface_shows_under_the_papers_base_prompt_only(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", "none")
    stable = {}
    with ScriptedServer(surface_reader) as server:
        monkeypatch.setenv("OPENAI_BASE_URL", server.url)
        for name, options in (("usual", {}), ("paper", {"prompt": "paper"})):
            given = {"judges": [{"model": "openai/x", **options}], "probes": ["ladder", "criterion"]}
            study = build_study(StudyConfig.model_validate(given), tmp_path)
            study = replace(study, judges=study.judges[:1])
            sheet = measure(study, RunFolder(tmp_path / name), RunLimits()).require()
            rows = sheet.estimates
            assert all(row.value is not None for row in rows if row.metric == "criterion_shift")
            for row in rows:
                if row.metric == "stable_cross_sensitivity" and row.group["kind"] == "same_subset":
                    stable[name, row.group["protocol"]] = row.value
    assert stable["usual", "base"] == stable["usual", "strict"] == stable["paper", "strict"] == 0
    assert stable["paper", "base"] > 0.5
