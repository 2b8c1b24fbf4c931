"""The review session in a real browser: by mouse, by key, by two people, with hostile texts, read aloud."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from authored_study import write_study
from authoring_server import TASK, Cast, items, true_score
from browsers import chromium, complaints, complaints_in_every_look, opened
from commands import StartedCommand
from review_sessions import authored, cut_lines, lines, serving, written_folder
from servers import Answer, ScriptedServer, hang
from steelyard.review.session import ReviewSession, VoteRequest
from steelyard.review.votes import add_arrival, start_review
from steelyard.run_folder.run_folder import RunFolder
from steelyard.stimuli.original import original_of
from steelyard.web.pages import as_browser_text
from steelyard.web.review_app import ReviewPages
from steelyard.web.server import Server

if TYPE_CHECKING:
    from playwright.sync_api import Browser, Page

pytestmark = pytest.mark.browser

FLIP, SAME = "sky-0/label_flip/0", "sky-0/semantic_paraphrase/0"


@pytest.fixture(scope="module")
def browser() -> Iterator[Browser]:
    with chromium() as browser:
        yield browser


@contextmanager
def session_of(
    folder: RunFolder, *, blind: bool = False, **options: Any
) -> Iterator[tuple[ReviewSession, Server]]:
    session = ReviewSession(folder.path, **options)

    def pages(server: Server) -> Any:
        return ReviewPages(
            session, "Ada", blind=blind, finished=server.stop, stopping=lambda: server.stopping
        ).app()

    with serving(pages) as server:
        yield session, server
    session.close()


@pytest.fixture
def folder(tmp_path: Path) -> RunFolder:
    return written_folder(tmp_path / "run")


def said(page: Page, words: str) -> None:
    page.locator("#say", has_text=words).wait_for()


def shows(page: Page, name: str) -> None:
    page.locator(f'#pane[data-item="{name}"]').wait_for()


def test_keys_alone_accept_edit_reject_defer_and_undo(browser: Browser, folder: RunFolder) -> None:
    with session_of(folder) as (_, server), opened(browser, server.access.url()) as page:
        shows(page, FLIP)
        assert "token" not in page.url
        page.keyboard.press("a")
        said(page, "accepted")
        shows(page, SAME)

        page.keyboard.press("e")
        page.keyboard.press("Control+a")
        page.keyboard.type("Blue, says everybody a")  # keys that are typed decide nothing
        assert page.locator("#diff ins").first.is_visible()
        page.keyboard.press("Escape")
        page.keyboard.press("l")
        page.keyboard.press("0")
        page.keyboard.press("Escape")
        page.keyboard.press("a")
        said(page, "needs a reason")
        page.locator("#reason").focus()
        page.keyboard.type("it is wrong about the colour")
        page.keyboard.press("Escape")
        page.keyboard.press("a")
        said(page, "edited")

        shows(page, "sky-1/label_flip/0")
        page.keyboard.press("r")
        page.keyboard.type("not natural")
        page.keyboard.press("Enter")
        said(page, "rejected")
        shows(page, "sky-1/semantic_paraphrase/0")
        page.keyboard.press("d")
        said(page, "deferred")
        page.keyboard.press("u")
        said(page, "no longer deferred")
        shows(page, "sky-1/semantic_paraphrase/0")
        page.keyboard.press("k")
        shows(page, "sky-1/label_flip/0")
        page.keyboard.press("j")
        shows(page, "sky-1/semantic_paraphrase/0")
        page.keyboard.press("?")
        page.locator("#help").wait_for()
        page.keyboard.press("Escape")
        assert "3 of 6" in page.locator(".progress").inner_text()
    held = lines(folder)
    assert held[FLIP]["lineage"]["review"] == "accepted"
    assert held[SAME]["texts"] == ["Blue, says everybody a"]
    assert held[SAME]["expectation"]["value"] == "0"
    assert held["sky-1/label_flip/0"]["lineage"]["review"] == "rejected"


def test_a_reload_in_the_middle_of_an_edit_loses_nothing(browser: Browser, folder: RunFolder) -> None:
    with session_of(folder) as (session, server):
        with opened(browser, server.access.url()) as page:
            shows(page, FLIP)
            page.fill("#text", "half a sentence about the gr")
            page.fill("#note", "look again")
            page.locator("#saved", has_text="draft saved").wait_for()
            page.reload()
            shows(page, FLIP)
            assert page.input_value("#text") == "half a sentence about the gr"
            assert page.input_value("#note") == "look again"
        assert session.log.votes() == []
    with session_of(folder) as (_, server), opened(browser, server.access.url()) as page:  # another start
        shows(page, FLIP)
        assert page.input_value("#text") == "half a sentence about the gr"


def test_two_people_at_one_text(browser: Browser, folder: RunFolder) -> None:
    with (
        session_of(folder) as (session, server),
        opened(browser, server.access.url()) as ada,
        opened(browser, server.access.url()) as grace,
    ):
        grace.click("#who")
        grace.fill("#name-given", "Grace")
        grace.keyboard.press("Enter")
        grace.locator("#who", has_text="Grace").wait_for()
        shows(ada, FLIP)
        shows(grace, FLIP)
        ada.keyboard.press("a")
        said(ada, "accepted")
        grace.locator(".rows .status.accepted").wait_for()  # it streams into the other's queue
        grace.fill("#text", "Green it is, and ever was.")
        grace.keyboard.press("Control+Enter")
        said(grace, "Ada has accepted it")
        assert grace.input_value("#text") == "Green it is, and ever was."
        grace.click("#accept")
        said(grace, "edited")
        assert [d.reviewer for d in session.log.votes(FLIP)] == ["Ada", "Grace"]


def test_undo_gives_the_edit_back_and_redo_makes_the_vote_again(browser: Browser, folder: RunFolder) -> None:
    with session_of(folder) as (session, server), opened(browser, server.access.url()) as page:
        shows(page, FLIP)
        page.fill("#text", "Green it is, and ever was.")
        page.keyboard.press("Control+Enter")
        said(page, "edited")
        shows(page, SAME)
        page.keyboard.press("u")
        said(page, "no longer edited")
        shows(page, FLIP)
        assert page.input_value("#text") == "Green it is, and ever was."
        page.keyboard.press("U")
        said(page, "edited. u takes it back")
        shows(page, SAME)
        status = session.statuses(session.items())[FLIP]
        assert (status.status, status.final_vote and status.final_vote.text) == (
            "edited",
            "Green it is, and ever was.",
        )


def test_what_is_typed_while_the_server_is_away_is_not_lost(browser: Browser, folder: RunFolder) -> None:
    with session_of(folder) as (session, server), opened(browser, server.access.url()) as page:
        shows(page, FLIP)
        page.route("**/draft*", lambda route: route.abort())
        page.fill("#text", "half a sentence about the gr")
        page.locator("#saved", has_text="does not answer").wait_for()
        assert session.log.draft(FLIP, "Ada") is None
        page.unroute("**/draft*")
        page.reload()
        shows(page, FLIP)
        assert page.input_value("#text") == "half a sentence about the gr"
        page.locator("#saved", has_text="draft saved").wait_for()
        kept = session.log.draft(FLIP, "Ada")
        assert kept is not None
        assert kept["text"] == "half a sentence about the gr"
        assert page.evaluate("Object.keys(localStorage).filter((key) => key.includes('draft')).length") == 0


def test_the_link_and_the_open_page_outlive_a_kill_of_the_server(
    browser: Browser, folder: RunFolder, tmp_path: Path, environment: dict[str, str]
) -> None:
    script = ["review", folder.path, "--no-browser", "--reviewer", "Ada"]
    first = StartedCommand(script, tmp_path, environment)
    link = first.first_lines()[0].split()[-1]
    with opened(browser, link) as page:
        shows(page, FLIP)
        first.kill()
        said(page, "does not answer")
        second = StartedCommand(script, tmp_path, environment)
        try:
            assert second.first_lines()[0].split()[-1] == link
            said(page, "Connected again")
            page.keyboard.press("a")
            said(page, "accepted")
        finally:
            second.kill()


def test_own_votes_show_whoever_else_must_vote(browser: Browser, folder: RunFolder) -> None:
    with session_of(folder, reviewers=2) as (_, server), opened(browser, server.access.url()) as page:
        shows(page, FLIP)
        page.keyboard.press("a")
        said(page, "accepted")
        shows(page, SAME)
        assert "1 of 6 decided by you, 0 by all" in page.locator(".progress").inner_text()
        page.goto(server.access.url())
        shows(page, SAME)
        assert page.locator(f'.rows a[data-item="{FLIP}"] .status').inner_text() == "accepted"
        page.click(f'.rows a[data-item="{FLIP}"]')
        shows(page, FLIP)
        assert "by you; another reviewer has still to vote" in page.locator(".asked").inner_text()


def test_a_vote_sends_the_change_and_not_the_queue(browser: Browser, folder: RunFolder) -> None:
    with session_of(folder) as (_, server), opened(browser, server.access.url()) as page:
        shows(page, FLIP)
        asked: list[str] = []
        page.on("request", lambda request: asked.append(request.url.partition("?")[0].rpartition("/")[2]))
        with page.expect_response(lambda answer: "/decide" in answer.url) as voted:
            page.keyboard.press("a")
        shows(page, SAME)
        page.locator(f'.rows a[data-item="{FLIP}"] .status.accepted').wait_for()
        brought = voted.value.json()["page"]
        assert f'data-item="{SAME}"' in brought
        assert 'class="rows"' not in brought
        assert asked == ["decide"]


def test_a_key_that_is_pressed_twice_votes_once(browser: Browser, folder: RunFolder) -> None:
    with session_of(folder) as (session, server), opened(browser, server.access.url()) as page:
        shows(page, FLIP)
        held: list[Any] = []
        page.route("**/decide*", lambda route: held.append(route))
        page.keyboard.press("a")
        page.keyboard.press("a")
        page.keyboard.press("r")
        page.keyboard.press("Escape")
        for route in held:
            route.continue_()
        shows(page, SAME)
        said(page, "accepted")
        assert [(vote.stimulus, vote.decision) for vote in session.log.votes()] == [(FLIP, "accepted")]


def test_the_text_comes_first_on_a_phone_and_without_a_mouse(browser: Browser, folder: RunFolder) -> None:
    size = {"width": 390, "height": 844}
    with session_of(folder) as (_, server), opened(browser, server.access.url(), viewport=size) as page:
        shows(page, FLIP)
        box = page.locator("#text").bounding_box()
        assert box is not None
        assert box["y"] < size["height"]
        assert page.evaluate("content.compareDocumentPosition(queue) & Node.DOCUMENT_POSITION_FOLLOWING")


def test_without_scripts_the_page_says_what_it_cannot_do(browser: Browser, folder: RunFolder) -> None:
    with (
        session_of(folder) as (_, server),
        opened(browser, server.access.url(), java_script_enabled=False) as page,
    ):
        assert "takes no votes" in page.locator("noscript").first.inner_text()


def test_disagreement_is_settled_on_the_page(browser: Browser, folder: RunFolder) -> None:
    with session_of(folder, reviewers=2) as (session, server):
        item = session.items()[FLIP]
        session.decide(item, "Grace", VoteRequest("rejected", reason="says nothing"), 0)
        session.decide(item, "Edsger", VoteRequest("accepted", text="Green, says Edsger."), 1)
        with opened(browser, server.access.url() + "&status=disputed") as page:
            shows(page, FLIP)
            assert "Green, says Edsger." in page.locator(".votes").inner_text()
            page.locator(".votes p", has_text="Grace").get_by_role("button").click()
            said(page, "rejected")
        assert session.statuses(session.items())[FLIP].status == "rejected"


def test_texts_stream_in_while_others_are_written(browser: Browser, tmp_path: Path) -> None:
    folder = RunFolder(tmp_path / "run")
    folder.path.mkdir()
    start_review(folder, TASK)
    originals = {item.id: original_of(item, TASK) for item in items(2)}
    with session_of(folder) as (_, server), opened(browser, server.access.url()) as page:
        page.locator("text=No text has arrived yet").first.wait_for()
        texts = authored(2)
        add_arrival(folder, originals, texts[0])
        shows(page, FLIP)
        page.keyboard.press("a")
        said(page, "accepted")
        for text in texts[1:]:
            add_arrival(folder, originals, text)
        page.locator(".rows li >> nth=3").wait_for()
        assert "1 of 4" in page.locator(".progress").inner_text()
    # What was decided early counts when the author is done.
    done = written_folder(folder.path, 2, texts=texts)
    again = ReviewSession(done.path)
    assert again.statuses(again.items())[FLIP].status == "accepted"
    again.publish()
    assert lines(done)[FLIP]["lineage"]["review"] == "accepted"
    again.close()


def test_a_text_arrives_as_soon_as_it_is_confirmed(
    browser: Browser, tmp_path: Path, environment: dict[str, str]
) -> None:
    """The validator answers about one text and about no other; the author's process never gets further."""
    begun = threading.Event()

    def grade(text: str, low: int, high: int) -> int | Answer:
        begun.set()
        return true_score(text, low, high) if "town 1" in text else hang()

    with ScriptedServer(Cast(grade=grade)) as author:
        write_study(tmp_path, author, probes=["label_flip"], count=3, review=True)
        process = StartedCommand(["generate", "study.yaml", "--out", "run"], tmp_path, environment)
        try:
            assert begun.wait(120)
            folder = RunFolder(tmp_path / "run")
            with session_of(folder) as (session, server), opened(browser, server.access.url()) as page:
                shows(page, "sky-1/label_flip/0")
                page.keyboard.press("a")
                said(page, "accepted")
                assert list(session.items()) == ["sky-1/label_flip/0"]
            assert process.returncode is None
        finally:
            process.kill()


def test_a_line_that_breaks_is_taken_up_again(browser: Browser, folder: RunFolder) -> None:
    with session_of(folder) as (session, server), opened(browser, server.access.url()) as page:
        with page.expect_response(lambda answer: "/events" in answer.url):
            page.reload()
        shows(page, FLIP)
        cut_lines(server)
        said(page, "Connected again.")
        session.decide(session.items()[FLIP], "Grace", VoteRequest("accepted"), 0)
        page.locator(".rows .status.accepted").wait_for()


HOSTILE = {
    "script": "<script>window.broken = 1</script><img src=x onerror='window.broken = 1'>",
    "textarea": "</textarea></pre><script>window.broken = 1</script>\n\n  kept",
    "direction": "‮this is read backwards‬ and ends",
    "long": "word " * 40_000,
    "braces": "{{ 7 * 7 }} {% include 'x' %} &lt;b&gt; \" ' `",
    "breaks": "one line\r\nand another\rand a third",
    "nothing": "a sign \0 that no page can show",
    "half": "half \ud83d of a sign",
}


@pytest.mark.parametrize("kind", HOSTILE)
def test_a_hostile_text_stays_text(browser: Browser, tmp_path: Path, kind: str) -> None:
    text = HOSTILE[kind]
    (flip, *_) = authored(1)
    made = replace(
        flip,
        stimulus=replace(
            flip.stimulus, texts=(text,), request=text[:1000], id=f"{as_browser_text(text)[:30]}/x"
        ),
    )
    folder = written_folder(tmp_path / "run", 1, texts=[made])
    with session_of(folder) as (session, server), opened(browser, server.access.url()) as page:
        page.locator("#diff > *").first.wait_for(state="attached")
        assert page.input_value("#text") == as_browser_text(text)
        assert page.evaluate("window.broken") is None
        assert page.locator("#content script, #content img, #queue script").count() == 0
        page.keyboard.press("a")
        said(page, "accepted")
        assert [d.decision for d in session.log.votes()] == ["accepted"]


def test_every_page_of_a_review_is_accessible(browser: Browser, folder: RunFolder) -> None:
    """The session with a dispute, its keys, the agreement of reviewers, the templates, a blind session."""
    with session_of(folder, reviewers=2) as (session, server):
        for who, decision in (("Grace", "rejected"), ("Edsger", "accepted")):
            newest = session.statuses(session.items())[FLIP].newest
            session.decide(session.items()[FLIP], who, VoteRequest(decision, reason="says nothing"), newest)
        with opened(browser, server.access.url() + "&status=disputed", bypass_csp=True) as page:
            shows(page, FLIP)
            assert complaints_in_every_look(page) == []
            page.keyboard.press("?")
            page.locator("#help").wait_for()
            assert complaints(page) == []
            home = page.url.partition("?")[0]
            for path in ("agreement", "templates"):
                page.goto(home + path)
                assert complaints_in_every_look(page) == [], path
    with (
        session_of(folder, blind=True) as (_, server),
        opened(browser, server.access.url(), bypass_csp=True) as page,
    ):
        shows(page, FLIP)
        assert complaints_in_every_look(page) == []


def test_tab_reaches_the_text_and_the_vote_before_the_queue(browser: Browser, folder: RunFolder) -> None:
    with session_of(folder) as (_, server), opened(browser, server.access.url()) as page:
        shows(page, FLIP)
        passed = []
        while "accept" not in passed and len(passed) < 40:
            page.keyboard.press("Tab")
            passed.append(page.evaluate("document.activeElement.id || document.activeElement.className"))
            assert not page.evaluate("queue.contains(document.activeElement)"), passed
        assert passed[0] == "skip"
        assert passed.index("text") < passed.index("accept")


def test_the_theme_is_switched_and_kept(browser: Browser, folder: RunFolder) -> None:
    with (
        session_of(folder) as (_, server),
        opened(browser, server.access.url(), color_scheme="light") as page,
    ):
        ground = "getComputedStyle(document.body).backgroundColor"
        light = page.evaluate(ground)
        page.click("#theme")
        dark = page.evaluate(ground)
        assert dark != light
        page.reload()
        assert page.evaluate(ground) == dark


def test_finish_freezes_a_version_and_says_so(browser: Browser, folder: RunFolder) -> None:
    with session_of(folder) as (session, server), opened(browser, server.access.url()) as page:
        shows(page, FLIP)
        page.click("#finish")
        page.locator("#finish-told", has_text="6 of 6 wait").wait_for()
        page.click("#finish-rest")
        said(page, "Finished: version 1")
        assert [kept.version for kept in session.log.sets()] == [1]
    assert {line["lineage"]["review"] for line in lines(folder).values()} == {None, "accepted"}
