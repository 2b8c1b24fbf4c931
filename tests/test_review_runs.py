"""Runs of agents under review: messages and arguments edited by hand, by page, by file."""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from hypothesis import given
from hypothesis import strategies as st

from browsers import chromium, complaints_in_every_look, opened
from commands import Command
from editing_server import Cast, write_study
from review_sessions import Client, lines, serving, written_folder
from servers import ScriptedServer
from steelyard.review.session import RefusedError, ReviewSession, VoteRequest
from steelyard.review.stimuli_file import ReviewerEdit, before_edit, edited_run, with_run
from steelyard.run_folder.run_folder import RunFolder
from steelyard.stimuli.stimulus import Label, Lineage, Stimulus
from steelyard.store.authoring import AuthoredStimulus
from steelyard.tasks.transcripts.transcript import (
    Block,
    ToolCall,
    Transcript,
    Turn,
    changes,
    render_transcript,
)
from steelyard.web.review_app import ReviewPages

if TYPE_CHECKING:
    from playwright.sync_api import Browser

NAME = "booking-1/agent_edit/0"


def turn(role: str, text: str, **more: object) -> Turn:
    return Turn(role, (Block("text", text),), **more)  # type: ignore[arg-type]


BEFORE = Transcript(
    "booking-1",
    (
        turn("system", "You book tables. " * 60),
        turn("user", "A table for two at eight."),
        turn("assistant", "I look.", calls=(ToolCall("c1", "search", {"people": 2, "time": "20:00"}),)),
        turn("tool", '{"free": true}', call="c1", function="search"),
        turn("assistant", "It is free; shall I book it?"),
    ),
)
AFTER = BEFORE.with_turns({4: turn("assistant", "It is taken.")})


def agent_stimulus() -> Stimulus:
    return Stimulus(
        id=NAME,
        probe="agent_edit",
        kind="perturbed",
        cluster="booking-1",
        stratum="booking",
        request=BEFORE.request,
        texts=(render_transcript(AFTER),),
        expectation=Label("0"),
        lineage=Lineage("booking-1", "one message edited", "openai/editor"),
        scale="binary",
        transcript=AFTER,
        changes=changes(BEFORE, AFTER),
    )


@pytest.fixture
def folder(tmp_path: Path) -> RunFolder:
    return written_folder(tmp_path / "run", 0, texts=[AuthoredStimulus(agent_stimulus())])


@pytest.fixture
def session(folder: RunFolder) -> Iterator[ReviewSession]:
    session = ReviewSession(folder.path)
    yield session
    session.close()


WORDS = st.lists(st.sampled_from(["a", "b", "c", "d"]), min_size=1, max_size=6)


@given(WORDS, WORDS)
def test_changes_can_be_taken_back(old: list[str], new: list[str]) -> None:
    before = Transcript("r", tuple(turn("assistant", word) for word in old))
    after = replace(before, turns=tuple(turn("assistant", word) for word in new))
    made = replace(agent_stimulus(), transcript=after, changes=changes(before, after))
    assert before_edit(made) == before
    assert with_run(made, before).changes == ()


def test_a_message_and_arguments_are_edited_in_their_places() -> None:
    edit = {
        4: ReviewerEdit("It is free."),
        2: ReviewerEdit(None, {"c1": '{"people": 3}'}),
        99: ReviewerEdit("nowhere"),
    }
    run = edited_run(AFTER, edit)
    assert run.turns[4].text == "It is free."
    assert run.turns[2].calls[0].arguments == {"people": 3}
    assert run.turns[2].text == "I look."
    assert [run.turns[n] for n in (0, 1, 3)] == [AFTER.turns[n] for n in (0, 1, 3)]


def test_an_edited_run_is_a_version_with_its_rendering_and_its_changes(
    session: ReviewSession, folder: RunFolder
) -> None:
    item = session.items()[NAME]
    edits = {
        4: ReviewerEdit("It may be taken."),
        2: ReviewerEdit(None, {"c1": '{"people": 2, "time": "21:00"}'}),
    }
    session.decide(item, "Ada", VoteRequest("edited", turns=edits), 0)
    line = lines(folder)[NAME]
    held = Stimulus.from_json(line)
    assert held.lineage.review == "edited"
    assert held.transcript is not None
    assert held.texts == (render_transcript(held.transcript),)
    assert "21:00" in held.texts[0]
    assert [change.place for change in held.changes or ()] == [2, 4]
    again = ReviewSession(folder.path)  # the file is what the log says: nothing was changed by hand
    assert len(again.log.votes()) == 1
    again.undo("Ada")
    assert Stimulus.from_json(lines(folder)[NAME]).transcript == AFTER
    again.close()


@pytest.mark.slow
@pytest.mark.parametrize("arguments", ["{", "[1]", '"x"', ""])
def test_arguments_that_are_no_object_are_refused(session: ReviewSession, arguments: str) -> None:
    with pytest.raises(RefusedError, match="arguments of search"):
        session.decide(
            session.items()[NAME],
            "Ada",
            VoteRequest("edited", turns={2: ReviewerEdit(None, {"c1": arguments})}),
            0,
        )
    assert session.log.votes() == []


def test_a_run_that_nobody_changed_is_accepted_though_its_text_is_sent(session: ReviewSession) -> None:
    item = session.items()[NAME]
    kept = session.decide(item, "Ada", VoteRequest("accepted", text=item.made.texts[0]), 0)
    assert kept.decision == "accepted"


def test_the_rendering_alone_may_not_be_changed_in_the_file(
    session: ReviewSession, folder: RunFolder
) -> None:
    line = lines(folder)[NAME]
    line["texts"], line["lineage"]["review"] = ["[001] something else"], "edited"
    folder.stimuli.write_text(json.dumps(line) + "\n")
    assert not session.publish()  # told by `measure`; the page goes on with its log


def test_the_page_takes_turns_and_gives_them_back(session: ReviewSession) -> None:
    with serving(lambda _: ReviewPages(session, "Ada").app()) as server:
        client = Client.of(server)
        page = client.get(f"/?item={NAME}").text
        assert page.count('<details class="turn') == 5
        assert page.count("edited</span>") == 1
        body = {"item": NAME, "decision": "edited", "seen": 0, "turns": {"4": {"text": "It is not free."}}}
        assert client.post("/draft", body).status == 200
        assert "It is not free." in client.get(f"/?item={NAME}").text
        assert client.post("/decide", {**body, "turns": {"2": {"arguments": {"c1": "{"}}}}).status == 422
        for odd in ([], "x", {"x": {}}, {"4": []}, {"4": {"text": 3, "arguments": 4}}):
            assert client.post("/draft", {**body, "turns": odd}).status == 200
            assert client.get(f"/?item={NAME}").status == 200
        assert client.post("/decide", body).body["kept"] == "edited"


@pytest.fixture(scope="module")
def browser() -> Iterator[Browser]:
    with chromium() as browser:
        yield browser


@pytest.mark.browser
def test_a_message_and_a_tool_call_are_edited_on_the_page(browser: Browser, folder: RunFolder) -> None:
    session = ReviewSession(folder.path)
    pages = ReviewPages(session, "Ada")
    with (
        serving(lambda _: pages.app()) as server,
        opened(browser, server.access.url(), bypass_csp=True) as page,
    ):
        page.locator(".turn").first.wait_for()
        assert page.locator(".turn[open]").count() == 3  # the system's words and the tool's are folded
        assert "taken" in page.locator('.turn[data-place="4"] .turn-diff ins').first.inner_text()
        page.fill('.turn[data-place="4"] .turn-text', "It may be free.")
        page.fill(".turn-call", '{"people": 4}')
        page.locator("#saved", has_text="draft saved").wait_for()
        page.reload()
        assert page.input_value('.turn[data-place="4"] .turn-text') == "It may be free."
        assert complaints_in_every_look(page) == []
        page.click("#accept")
        page.locator("#say", has_text="edited").wait_for()
    held = Stimulus.from_json(lines(folder)[NAME])
    assert held.transcript is not None
    assert held.transcript.turns[4].text == "It may be free."
    assert held.transcript.turns[2].calls[0].arguments == {"people": 4}
    session.close()


@pytest.mark.browser
def test_a_run_that_the_editor_made_is_edited_on_the_page_and_judged_as_edited(
    browser: Browser, tmp_path: Path, command: Command
) -> None:
    """From the planner to the judge: what a reviewer types is what the judge reads."""
    with ScriptedServer(Cast()) as server:
        write_study(tmp_path, server, ["agent_perturbation"], count=2, review=True)
        assert command("generate", "study.yaml", "--out", "run").code == 0
        assert command("measure", "study.yaml", "--out", "run").code == 2  # two runs wait for review
        session = ReviewSession(tmp_path / "run")
        names = list(session.items())
        with (
            serving(lambda _: ReviewPages(session, "Ada").app()) as pages,
            opened(browser, pages.access.url()) as page,
        ):
            page.locator(f'#pane[data-item="{names[0]}"]').wait_for()
            edited = page.locator(".turn.edited")
            assert edited.count() == 1
            assert edited.locator("ins", has_text="1111").count() == 1
            edited.locator(".turn-text").fill("There are 2222 left.")
            call = page.locator(".turn-call").first
            given = json.loads(call.input_value())
            page.locator(".turn:has(.turn-call)").first.evaluate("turn => { turn.open = true; }")
            call.fill(json.dumps({**given, "sure": True}))
            page.locator("#saved", has_text="draft saved").wait_for()
            page.click("#accept")
            page.locator(f'#pane[data-item="{names[1]}"]').wait_for()
            page.keyboard.press("a")
            page.locator("#say", has_text=names[1]).wait_for()
        kept = {vote.stimulus: vote.decision for vote in session.log.votes()}
        assert kept == {names[0]: "edited", names[1]: "accepted"}
        session.close()
        server.requests.clear()
        assert command("measure", "study.yaml", "--out", "run").code == 0
        judged = [json.dumps(each.body) for each in server.requests]
    assert sum("There are 2222 left." in each for each in judged) == 1
    assert sum("There are 1111 left." in each for each in judged) == 1
    held = Stimulus.from_json(lines(RunFolder(tmp_path / "run"))[names[0]])
    assert held.changes is not None
    assert any(call.arguments.get("sure") for turn in held.transcript.turns for call in turn.calls)  # type: ignore[union-attr]
