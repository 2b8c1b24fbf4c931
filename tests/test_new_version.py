"""Prompts changed on the review page: a new version of the folder, and the command that writes its texts."""

from __future__ import annotations

import json
import os
import shlex
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest
import yaml

from authored_study import write_study
from authoring_server import TASK, Cast, roles_at
from browsers import LOOKS, chromium, complaints_in_every_look, opened
from commands import Command
from review_sessions import Client, serving, written_folder
from servers import ScriptedServer
from steelyard.review.new_version import next_version, write_version
from steelyard.review.session import RefusedError, ReviewSession, VoteRequest
from steelyard.review.votes import start_review
from steelyard.run_folder.run_folder import RunFolder
from steelyard.stimuli.brief import GOALS, RUN_GOALS
from steelyard.study.role_config import check_prompt, parse_roles
from steelyard.study.study_copy import StudyCopy, copy_study
from steelyard.study.study_file import build_study, load_config
from steelyard.web.review_app import ReviewPages
from steelyard.web.server import Server

FLIP = "label_flip"
WORDS = "Rewrite the response below so that the rubric gives {{ expected }}, and change as little as you can."
STUDY = StudyCopy("author: openai/writer\nvalidator: openai/checker\n")
NOW = {FLIP: "Change it to {{ expected }}.\n", "planner": "Plan {{ transcript }} with { this }."}


def folder_of(path: Path, study: StudyCopy | None = STUDY) -> RunFolder:
    folder = written_folder(path, 1)
    start_review(folder, TASK, {f"author: {FLIP}": f"{NOW[FLIP]}Material."}, NOW, study)
    return folder


@contextmanager
def page_of(folder: Path) -> Iterator[tuple[ReviewSession, Server]]:
    session = ReviewSession(folder)
    with serving(lambda _: ReviewPages(session, "Ada").app()) as server:
        yield session, server
    session.close()


def contents(folder: Path) -> dict[str, bytes]:
    names = ("stimuli.jsonl", "run.db")
    return {name: (folder / name).read_bytes() for name in names}


def test_a_prompt_is_changed_and_the_printed_command_writes_the_texts(
    command: Command, tmp_path: Path, cast: Cast, server: ScriptedServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    home = tmp_path / "my studies"
    home.mkdir()
    write_study(home, server, review=True, count=2, probes=[FLIP, "semantic_paraphrase"])
    assert command("generate", home / "study.yaml", "--out", home / "run", "--answers", "a b=1").code == 0
    calls = cast.calls.total()
    with page_of(home / "run") as (session, pages):
        session.decide(session.items()["sky-0/label_flip/0"], "Ada", VoteRequest("accepted"), 0)
        before = contents(home / "run")
        client = Client.of(pages)
        shown = client.get(f"/templates?prompt={FLIP}").text
        assert "Change what decides the score" in shown
        assert client.post("/version", {"prompts": {FLIP: WORDS}}, x_steelyard_csrf="").status == 403
        made = client.post("/version", {"prompts": {FLIP: WORDS}}).body
        assert (contents(home / "run"), len(session.log.votes())) == (before, 1)
    assert cast.calls.total() == calls
    assert made["folder"] == str(home / "run-v2")
    assert made["next"] == "run-v3"
    assert [each.name for each in (home / "run-v2").iterdir()] == ["study-v2.yaml"]

    elsewhere = tmp_path / "elsewhere"
    elsewhere.mkdir()
    monkeypatch.chdir(elsewhere)
    program, *arguments = shlex.split(made["command"])
    assert (program, arguments[0], arguments[-2:]) == ("steelyard", "generate", ["--answers", "a b=1"])
    refused = command(*arguments)  # a foreign run's study may name any file: a terminal would ask
    assert (refused.code, f"reads {home / 'sky.jsonl'} (data.path)" in refused.err) == (2, True)
    done = command(*arguments, "--yes")
    assert done.code == 0, done.err
    asked = [each.user for each in cast.received if each.body["model"] == "writer"]
    assert sum("and change as little as you can." in prompt for prompt in asked) == 2
    with page_of(home / "run-v2") as (session, pages):
        assert {each.status for each in session.statuses(session.items()).values()} == {"pending"}
        assert "and change as little as you can." in Client.of(pages).get("/templates").text
        again = write_version(session, {FLIP: f"{WORDS} Thank you."})
    assert again.folder == home / "run-v3"
    texts = yaml.safe_load((home / "run-v3" / "study-v3.yaml").read_text())["author"]["prompts"]
    assert texts == {FLIP: f"{WORDS} Thank you.\n"}


def test_options_stand_behind_the_keys_of_the_file_in_one_order(
    command: Command, tmp_path: Path, server: ScriptedServer
) -> None:
    """Limits, then judges and probes, however they were typed: a save that changes nothing finds its file."""
    write_study(tmp_path, server, review=True, count=1)
    body = yaml.safe_load((tmp_path / "study.yaml").read_text())
    own = [key for key in body if key not in ("judges", "probes")]
    (tmp_path / "study.yaml").write_text(yaml.safe_dump({key: body[key] for key in own}))
    lists, limits = (
        ("-p", FLIP, "-j", "planted/rater"),
        ("--replicates", 2, "--seed", 3, "--profile", "quick"),
    )
    for run, typed in (("run", (*lists, *limits)), ("other", (*limits, *lists))):
        done = command("generate", "study.yaml", "--out", run, *typed)
        assert done.code == 0, done.err
        session = ReviewSession(RunFolder(tmp_path / run).path)
        version = write_version(session, {FLIP: WORDS})
        session.close()
        (study,) = version.folder.iterdir()
        written = yaml.safe_load(study.read_text())
        assert list(written) == [*own, "profile", "seed", "replicates", "judges", "probes"]
        assert [written[key] for key in ("profile", "seed", "replicates")] == ["quick", 3, 2]


REFUSED: list[tuple[dict[str, str], str]] = [
    ({FLIP: "Make it {{ worse }}."}, "author.prompts.label_flip: unknown variable 'worse'; known here: "),
    ({FLIP: "Make it {{ label."}, "author.prompts.label_flip, line 1: not a valid Jinja2 template"),
    ({FLIP: " \n"}, "author.prompts.label_flip: found an empty text"),
    ({FLIP: NOW[FLIP], "planner": NOW["planner"]}, "no prompt differs"),
    ({}, "no prompt differs"),
    ({"planner": "Plan."}, "editing.planner.prompt: does not show {{ transcript }}; add it."),
    ({"moon": "Plan."}, "there is no prompt 'moon' here"),
    ({FLIP: "Fine.", "planner": "{{ nothing }}"}, "editing.planner.prompt: unknown variable 'nothing'"),
]


def test_every_prompt_of_the_page_can_be_changed_a_little() -> None:
    for name, text in roles_at("http://127.0.0.1:9/v1").prompts_for([*GOALS, *RUN_GOALS]).items():
        check_prompt(name, f"{text} Take care.", name)


def test_a_prompt_that_cannot_be_sent_is_refused_and_nothing_is_written(tmp_path: Path) -> None:
    with page_of(folder_of(tmp_path / "run").path) as (_, server):
        client = Client.of(server)
        assert 'id="prompt-planner"' in client.get("/templates").text
        for typed, words in REFUSED:
            answer = client.post("/version", {"prompts": typed})
            assert (answer.status, answer.body["refused"][: len(words)]) == (422, words)
    assert [each.name for each in tmp_path.iterdir()] == ["run"]


def test_a_folder_without_prompts_or_study_says_what_to_do(tmp_path: Path) -> None:
    without = RunFolder(tmp_path / "planted")
    without.path.mkdir()
    with without.store():
        pass
    cases = {
        written_folder(tmp_path / "old", 1).path: "This folder does not hold the prompts of its texts: put ",
        folder_of(tmp_path / "python", None).path: "These texts were written without a study file: repeat ",
        without.path: "No author has written texts in this folder, so there is no prompt to change.",
    }
    for folder, words in cases.items():
        with page_of(folder) as (_, server):
            client = Client.of(server)
            shown = client.get("/templates").text
            refused = client.post("/version", {"prompts": {FLIP: WORDS}})
        assert words in shown
        assert "`" not in shown
        assert "<textarea" not in shown
        assert (refused.status, refused.body["refused"][1:].startswith(words[1:])) == (422, True)
    assert len(list(tmp_path.iterdir())) == len(cases)


def test_the_next_free_number_is_taken_and_nothing_that_exists_is_written_into(tmp_path: Path) -> None:
    (tmp_path / "run-v2").write_text("a file")
    (tmp_path / "run-v3").mkdir()
    (tmp_path / "run-v4").symlink_to("nowhere")
    for name, later in {"run": "run-v5", "run-v3": "run-v5", "run-v5": "run-v6", "x-v": "x-v-v2"}.items():
        assert next_version(tmp_path / name).name == later
    session = ReviewSession(folder_of(tmp_path / "run").path)
    assert write_version(session, {FLIP: WORDS}).folder == tmp_path / "run-v5"
    assert write_version(session, {FLIP: WORDS}).folder == tmp_path / "run-v5"  # saved twice, written once
    assert write_version(session, {FLIP: f"{WORDS} Now."}).folder == tmp_path / "run-v6"
    session.close()
    assert (list((tmp_path / "run-v3").iterdir()), (tmp_path / "run-v2").read_text()) == ([], "a file")


def test_a_parent_that_cannot_be_written_is_told() -> None:
    with tempfile.TemporaryDirectory() as place:
        home = Path(place)
        session = ReviewSession(folder_of(home / "run").path)
        home.chmod(0o555)
        root = os.geteuid() == 0
        if root:  # who may write everywhere looks as somebody who may not
            os.seteuid(65534)
        try:
            with pytest.raises(RefusedError, match=r"run-v2: cannot be written .* make its parent folder"):
                write_version(session, {FLIP: WORDS})
        finally:
            if root:
                os.seteuid(0)
            home.chmod(0o755)
            session.close()
        assert [each.name for each in home.iterdir()] == ["run"]
        long = folder_of(home / ("r" * 250)).path
        session = ReviewSession(long)
        with pytest.raises(RefusedError, match="cannot be written"):
            write_version(session, {FLIP: WORDS})
        session.close()
        assert sorted(each.name for each in home.iterdir()) == sorted(["run", long.name])


def test_a_study_is_the_same_from_another_folder(tmp_path: Path) -> None:
    """Every file that a study may name is named by its whole path; what is a text stays one."""
    home = tmp_path / "a study"
    home.mkdir()
    for name in ("rubric", "own.md", "grade.txt"):
        (home / name).write_text("Right is what is true: {{ request }} {{ response }}")
    (home / "plan.md").write_text("Plan {{ transcript }}.")
    rows = [{"id": f"i{n}", "q": f"Why {n}?", "a": f"Because {n}."} for n in range(2)]
    (home / "items.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
    (home / "more.jsonl").write_text("".join(json.dumps({"id": r["id"], "label": "1"}) + "\n" for r in rows))
    body: dict[str, Any] = {
        "judges": [
            "openai/a?prompt=own.md&reader=choice",
            {"name": "b", "model": "openai/b?temperature=0.5", "system": "grade.txt", "rubric": "own.md"},
            {
                "name": "c",
                "model": "openai/c",
                "protocols": {"plain": "own.md", "strict": {"prompt": "own.md"}},
            },
            "majority/3?of=openai/d?prompt=own.md",
            {"jury": ["openai/f?prompt=own.md", "b", {"model": "openai/e", "prompt": "{{ response }}"}]},
        ],
        "task": {"instruction": "Is it true?", "rubric": "rubric", "scale": "binary"},
        "data": {
            "path": "items.jsonl",
            "responses": {"path": "more.jsonl", "key": "id"},
            "columns": {"id": "id", "request": "q", "response": "a", "label": "label"},
        },
        "probes": [FLIP],
        "author": "openai/writer",
        "validator": {"model": "openai/checker"},
        "editing": {"planner": {"prompt": "plan.md"}},
    }
    (home / "study.yaml").write_text(yaml.safe_dump(body))
    options = {"task": {"rubric": home / "rubric"}, "seed": 3}
    copy = copy_study(home / "study.yaml", options)
    there = tmp_path / "copy.yaml"
    there.write_text(copy.text)
    first, second = load_config(home / "study.yaml", options), load_config(there, {})
    one, other = build_study(first, home), build_study(second, tmp_path)
    assert [judge.fingerprint("base") for judge in one.judges] == [
        judge.fingerprint("base") for judge in other.judges
    ]
    assert (one.task, one.items, one.seed, one.name) == (other.task, other.items, other.seed, other.name)
    assert first.editing == second.editing
    (home / "replay.yaml").write_text(
        "judges: ['recorded/old.jsonl?judge=b', recorded//x.jsonl, planted/tie]"
    )
    replayed = yaml.safe_load(copy_study(home / "replay.yaml", {}).text)["judges"]
    assert replayed == [f"recorded/{home}/old.jsonl?judge=b", "recorded//x.jsonl", "planted/tie"]
    roles = [parse_roles(each.author or "", each.validator, each.editing).hash for each in (first, second)]
    assert roles[0] == roles[1]


@pytest.mark.browser
def test_the_page_takes_a_prompt_by_keys_alone_and_escapes_it(tmp_path: Path) -> None:
    hostile = "</textarea><script>window.broken = 1</script> {{ expected }} \u202e"
    folder = written_folder(tmp_path / "run", 1)
    start_review(folder, TASK, {f"author: {FLIP}": hostile}, {FLIP: hostile, "other": hostile}, STUDY)
    with page_of(folder.path) as (_, server), chromium() as browser:
        address = server.access.url("/templates") + f"&prompt={FLIP}&item=sky-0/label_flip/0"
        with opened(browser, address, bypass_csp=True) as page:
            page.locator("html[data-ready]").wait_for()
            assert page.evaluate("document.activeElement.id") == f"prompt-{FLIP}"
            assert page.input_value(f"#prompt-{FLIP}") == hostile
            page.keyboard.press("Control+Enter")
            page.locator("#say.bad", has_text="no prompt differs").wait_for()
            page.keyboard.press("Control+A")
            page.keyboard.type("Now {{ wrong }}.")
            page.reload()
            page.locator(".status.edited:not([hidden])").wait_for()
            page.locator(f"#prompt-{FLIP}").press("Control+Enter")
            page.locator("#say.bad", has_text="unknown variable 'wrong'").wait_for()
            page.locator(f"#prompt-{FLIP}").press("Control+A")
            page.keyboard.type("Now {{ label }} <b>.")
            page.keyboard.press("Control+Enter")
            page.locator("#written:not([hidden])").wait_for()
            assert page.evaluate("document.activeElement.id") == "written"
            words = page.locator("#written").inner_text()
            assert f"new prompt of {FLIP}" in words
            assert f"steelyard generate {tmp_path}/run-v2/study-v2.yaml --out {tmp_path}/run-v2" in words
            assert page.evaluate("window.broken") is None
            assert complaints_in_every_look(page, LOOKS[:2]) == []
            page.get_by_role("link", name="Review").click()
            page.locator('#pane[data-item="sky-0/label_flip/0"]').wait_for()
