from __future__ import annotations

import json
import re
from dataclasses import replace
from pathlib import Path

import pytest
from rich.cells import cell_len

from commands import Command, Done, run_command
from servers import Received, ScriptedServer, fails, says, wins
from steelyard.commands.measure import measure as run_study
from steelyard.run_folder.run_folder import RunFolder
from steelyard.runner.limits import RunLimits
from steelyard.study.study_file import StudyConfig, build_study

FOLDER = "run"
HOSTILE = "\x1b[2J\x1b]0;title\x07 \u202eevil\u2066 </pre><script>x</script> {{ 7*7 }} " + "word " * 8_000


def judge_at(server: ScriptedServer) -> str:
    return f"openai/tested?base_url={server.url}&api_key_env=STEELYARD_TEST_KEY"


def measure(command: Command, server: ScriptedServer, *more: object, probe: str = "vacuum") -> Done:
    return command("measure", "-j", judge_at(server), "-p", probe, "--out", FOLDER, *more)


@pytest.fixture(autouse=True)
def surroundings(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("STEELYARD_TEST_KEY", "sk-secret")
    monkeypatch.setenv("COLUMNS", "80")


@pytest.fixture(scope="module")
def first(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A run whose judge always chooses slot 1, over HTTP."""
    folder = tmp_path_factory.mktemp("first") / FOLDER
    with ScriptedServer(wins("1")) as server:
        arguments = ["measure", "-j", judge_at(server), "-p", "ladder", "--out", str(folder)]
        run_command(folder.parent, *arguments, STEELYARD_TEST_KEY="sk-secret")
    return folder


def exhibits(done: Done) -> list[dict[str, object]]:
    assert done.code == 0, done.err
    (judge,) = json.loads(done.out)
    return list(judge["exhibits"])


def test_the_calls_behind_a_figure_are_shown_with_texts_replies_and_reason(
    command: Command, first: Path
) -> None:
    done = command("show", first, "--outcome", "positional", "-n", 1)
    assert done.code == 0
    assert max(map(cell_len, done.out.splitlines())) <= 80
    for part in ("request", "text u", "text v", "u in slot 1, v in slot 2", "v in slot 1, u in slot 2"):
        assert part in done.out
    assert done.out.count('reply      │ {"winner": "1"}') == 2
    assert "read as    │ slot 1, which is text v, by reader json" in done.out
    assert "slot 1 won in both orders" in done.out
    assert "1 shown; -n " in done.out


def test_the_json_holds_the_whole_texts_and_names_that_join_with_the_stimuli(
    command: Command, first: Path
) -> None:
    stimuli = {
        body["id"]: body for body in map(json.loads, (first / "stimuli.jsonl").read_text().splitlines())
    }
    for exhibit in exhibits(command("show", first, "--outcome", "wrong", "--json", "-n", 4)):
        (shown,) = exhibit["shown"]  # type: ignore[misc]
        assert shown["texts"] == stimuli[shown["id"]]["texts"]
        assert shown["request"] == stimuli[shown["id"]]["request"]
        assert [call["order"] for call in exhibit["calls"]] == ["uv", "vu"]  # type: ignore[attr-defined]
        assert {call["reply"] for call in exhibit["calls"]} == {'{"winner": "1"}'}  # type: ignore[attr-defined]


def test_nothing_that_matches_is_said_and_is_no_error(command: Command, first: Path) -> None:
    done = command("show", first, "--outcome", "failed", "-p", "ladder")
    assert (done.code, done.out) == (0, "openai/tested: no calls of probe ladder with outcome failed.\n")


@pytest.mark.parametrize(
    ("option", "name", "sentence"),
    [
        ("--judge", "openai/testd", "no judge 'openai/testd' in this folder: did you mean 'openai/tested'?"),
        (
            "--judge",
            "zzz",
            "no judge 'zzz' in this folder: known here: openai/tested, coin, first, longest, tie.",
        ),
        ("--probe", "lader", "no probe 'lader' in this folder: did you mean 'ladder'?"),
    ],
)
def test_a_name_that_is_not_there_is_one_sentence(
    command: Command, first: Path, option: str, name: str, sentence: str
) -> None:
    done = command("show", first, option, name)
    assert (done.code, done.out, done.err) == (2, "", f"steelyard: {sentence}\n")


def test_a_baseline_is_shown_where_it_is_named(command: Command, first: Path) -> None:
    assert "coin · ladder" in command("show", first, "--judge", "coin", "-n", 1).out


def test_a_folder_that_is_none_is_one_sentence(command: Command) -> None:
    done = command("show", "nowhere")
    assert done.code == 2
    assert done.err.count("\n") == 1


def test_hostile_replies_stay_text_and_are_cut(command: Command) -> None:
    with ScriptedServer(says(HOSTILE)) as server:
        measure(command, server)
    done = command("show", FOLDER, "--outcome", "unreadable", "-n", 2)
    assert done.code == 0
    assert not re.search(r"[\x00-\x08\x0b-\x1f\x7f\u202a-\u202e\u2066-\u2069]", done.out)
    assert r"\x1b[2J" in done.out
    assert r"\u202eevil" in done.out
    assert re.search(r"\[… 3\d,\d{3} characters …\]", done.out)
    assert max(map(cell_len, done.out.splitlines())) <= 80
    assert len(done.out) < 20_000
    assert exhibits(command("show", FOLDER, "--json", "-n", 1))[0]["calls"][0]["reply"] == HOSTILE  # type: ignore[index]


def test_failed_calls_are_shown_with_what_the_server_said(command: Command) -> None:
    def answer(request: Received) -> object:
        long = len(request.user) % 5 == 0
        return fails(400, "the context window is \x1b[31mtoo small") if long else wins("tie")

    with ScriptedServer(answer) as server:  # type: ignore[arg-type]
        measure(command, server)
    done = command("show", FOLDER, "--outcome", "failed", "-n", 1)
    assert r"no reply   │ " in done.out
    assert r"\x1b[31mtoo small" in done.out
    assert "and never a score" in done.out
    assert "sk-secret" not in done.out


def test_a_run_that_was_broken_off_shows_what_there_is(command: Command) -> None:
    calls = iter(range(10_000))
    with ScriptedServer(lambda _: wins("1") if next(calls) < 20 else fails(401, "no such key")) as server:
        assert measure(command, server, "--concurrency", 1, probe="ladder").code != 0
    (judge,) = json.loads(command("show", FOLDER, "--json", "-n", 99).out)
    assert 10 <= sum(len(exhibit["calls"]) for exhibit in judge["exhibits"]) <= 20


def test_verdicts_from_elsewhere_have_no_texts_and_that_is_said(command: Command, tmp_path: Path) -> None:
    lines = [
        {
            "judge": "j",
            "probe": "position",
            "pair": "p",
            "kind": "natural",
            "better": "u",
            "first": first,
            "answer": "1",
        }
        for first in "uv"
    ]
    (tmp_path / "calls.jsonl").write_text("".join(json.dumps(line) + "\n" for line in lines))
    command("import", "calls.jsonl", "--out", FOLDER)
    done = command("show", FOLDER, "--outcome", "wrong")
    assert done.code == 0
    assert done.out.count("(not recorded)") == 4  # request, texts, and two replies
    assert "text u is better; 1 of 2 calls did not name it" in done.out
    (exhibit,) = exhibits(command("show", FOLDER, "--json"))
    assert exhibit["shown"][0]["texts"] is None  # type: ignore[index]
    assert exhibit["reader"] is None


def test_recorded_scores_are_shown(command: Command, tmp_path: Path) -> None:
    lines = [
        {"judge": "j", "probe": "typos", "item": f"i{n}", "variant": v, "score": s, "expected": 1}
        for n, v, s in ((0, "original", 1), (0, "perturbed", 0), (1, "original", 1), (1, "perturbed", 1))
    ]
    (tmp_path / "calls.jsonl").write_text("".join(json.dumps(line) + "\n" for line in lines))
    assert command("import", "calls.jsonl", "--out", FOLDER).code == 0
    (exhibit,) = exhibits(command("show", FOLDER, "--outcome", "flip", "-p", "typos", "--json"))
    assert [call["verdict"] for call in exhibit["calls"]] == ["1", "0"]  # type: ignore[attr-defined]


def test_a_probe_that_shows_the_items_of_others_is_shown_by_them(command: Command) -> None:
    given = {
        "judges": ["planted/rater?noise=0.3"],
        "task": {"scale": "binary"},
        "probes": ["stochastic_stability", "typos"],
    }
    study = build_study(StudyConfig.model_validate(given), Path())
    run_study(replace(study, judges=study.judges[:1]), RunFolder(Path(FOLDER)), RunLimits())
    (judge,) = json.loads(command("show", FOLDER, "-p", "stochastic_stability", "--json", "-n", 99).out)
    assert {exhibit["probe"] for exhibit in judge["exhibits"]} == {"original"}
    (judge,) = json.loads(command("show", FOLDER, "-p", "typos", "--json", "-n", 99).out)
    assert {exhibit["probe"] for exhibit in judge["exhibits"]} == {"typos"}
