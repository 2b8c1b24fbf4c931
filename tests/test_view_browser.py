"""The viewer in a real browser: two clicks from a number to the raw reply, read aloud, wide and narrow."""

from __future__ import annotations

import io
import json
import os
import shutil
import sqlite3
import threading
from collections.abc import Iterator
from contextlib import closing
from datetime import datetime, timedelta, timezone
from pathlib import Path
from typing import TYPE_CHECKING
from urllib.parse import quote

import pytest
from rich.console import Console

from browsers import LOOKS, chromium, complaints_in_every_look, opened
from commands import StartedCommand, run_command
from review_sessions import serving
from servers import Answer, Received, ScriptedServer, wins
from steelyard.datasheet.render import markdown
from steelyard.datasheet.render.terminal import render_brief
from steelyard.datasheet.sections.first_screen import key_figures
from steelyard.datasheet.sections.summary import summarise
from steelyard.run_folder.published_files import read_datasheet
from steelyard.web.server import Server
from steelyard.web.view_app import ViewPages

if TYPE_CHECKING:
    from playwright.sync_api import Browser

pytestmark = pytest.mark.browser


@pytest.fixture(scope="module")
def browser() -> Iterator[Browser]:
    with chromium() as browser:
        yield browser


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Server]:
    folder = tmp_path_factory.mktemp("view")
    judges = ("-j", "planted/first", "-j", "planted/tie")
    run_command(folder, "measure", *judges, "-p", "vacuum", "--out", "demo")
    with serving(lambda _: ViewPages([Path(folder / "demo")]).app()) as server:
        yield server


def test_from_a_flagged_number_to_the_raw_reply_in_two_clicks(browser: Browser, server: Server) -> None:
    with opened(browser, server.access.url()) as page:
        page.get_by_role("link", name="Datasheet").first.click()
        flagged = page.locator(".answer .held.flagged a.behind").first
        flagged.wait_for()
        flagged.click()  # one
        page.locator("table.calls tbody th a").first.click()  # two
        page.locator("#reply-h").wait_for()
        assert '{"winner": "1"}' in page.locator("section[aria-labelledby=reply-h] pre").inner_text()
        assert page.locator(".status.wrong").count() == 1


@pytest.fixture(scope="module")
def kinds(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder of runs: of pairs, scores and agents, an import, and one that was cut."""
    folder = tmp_path_factory.mktemp("kinds")
    run_command(folder, "measure", "-j", "planted/first", "-p", "vacuum", "--out", "pairs")
    rater = ("measure", "-j", "planted/rater?noise=0.4", "--scale", "binary")
    edits = ("label_flip", "format_invariance_1", "typos", "stochastic_stability")
    run_command(folder, *rater, *(word for probe in edits for word in ("-p", probe)), "--out", "scores")
    edits = ("forged_result", "step_order", "agent_positives")
    run_command(folder, *rater, *(word for probe in edits for word in ("-p", probe)), "--out", "agents")
    call = {"judge": "j", "probe": "position", "kind": "natural", "better": "u"}
    places = [(number, first) for number in range(30) for first in "uv"]
    lines = [
        json.dumps({**call, "task": f"t{n}", "pair": f"p{n}", "first": first, "answer": "1"})
        for n, first in places
    ]
    (folder / "verdicts.jsonl").write_text("\n".join(lines) + "\n")
    run_command(folder, "import", "verdicts.jsonl", "--out", "imported")
    shutil.copytree(folder / "pairs", folder / "partial")
    with closing(sqlite3.connect(folder / "partial" / "run.db")) as database:
        database.execute("DELETE FROM replies WHERE trial IN (SELECT trial FROM replies LIMIT 5)")
        database.commit()
    run_command(folder, "report", "partial")
    (folder / "verdicts.jsonl").unlink()
    return folder


KINDS = ("agents", "imported", "pairs", "partial", "scores")
"""Runs of the folder in the order of the viewer."""


@pytest.fixture(scope="module")
def shown(kinds: Path) -> Iterator[Server]:
    pages = ViewPages([kinds])
    for run in pages.runs:
        run.load()
    with serving(lambda _: pages.app()) as server:
        yield server


def test_from_the_headline_to_a_raw_reply_in_two_clicks(browser: Browser, shown: Server) -> None:
    with opened(browser, shown.access.url()) as page:
        home = page.url
        for number, kind in enumerate(KINDS):
            page.goto(f"{home}run/{number}/")
            page.locator(".answer a.behind >> visible=true").first.click()  # one
            page.locator("table.calls tbody th a").first.click()  # two
            page.locator("#reply-h").wait_for()
            reply = page.locator("section[aria-labelledby=reply-h]").inner_text()
            assert len(reply) > len("Raw reply"), kind
            assert ("not recorded" in reply) == (kind == "imported"), kind


@pytest.mark.parametrize(
    "path", ["", "history", "run/99/", "compare?first=2:planted/first&second=3:planted/first"]
)
def test_pages_over_all_runs_are_accessible(browser: Browser, shown: Server, path: str) -> None:
    with opened(browser, shown.access.url(), bypass_csp=True) as page:
        page.goto(page.url + path)
        assert complaints_in_every_look(page, LOOKS[:2] if path in ("history", "run/99/") else LOOKS) == []


@pytest.mark.parametrize("kind", KINDS)
def test_pages_of_a_run_are_accessible(browser: Browser, shown: Server, kind: str) -> None:
    """The datasheet, the map, the calls, one call and its stimulus; all kinds share their templates."""
    looks = {"pairs": LOOKS, "agents": LOOKS[:1]}.get(kind, LOOKS[1:2])
    with opened(browser, shown.access.url(), bypass_csp=True) as page:
        home = f"{page.url}run/{KINDS.index(kind)}/"
        for path, mark in (("", "#verdicts-h"), ("map", "table.heat"), ("calls", "table.calls")):
            page.goto(home + path)
            page.locator(mark).wait_for()
            current = page.locator("nav a[aria-current=page]")
            assert current.first.inner_text() == {"": "Datasheet", "map": "Map", "calls": "Calls"}[path]
            assert complaints_in_every_look(page, looks) == [], path
        page.locator("table.calls tbody th a").first.click()
        page.locator("#reply-h").wait_for()
        assert complaints_in_every_look(page, looks) == []
        page.locator("h1 a").click()
        page.locator(".arm").first.wait_for()
        assert complaints_in_every_look(page, looks) == []


def test_a_run_that_goes_on_is_followed_from_the_first_page(browser: Browser, tmp_path: Path) -> None:
    asked, waiting, release = list[Received](), threading.Event(), threading.Event()

    def script(request: Received) -> Answer:
        asked.append(request)
        if len(asked) > 5:
            waiting.set()
            release.wait(240)
        return wins("tie")

    with ScriptedServer(script) as judge:
        model = f"openai/scripted?base_url={judge.url}"
        options = [
            "measure",
            "-j",
            model,
            "-p",
            "vacuum",
            "--no-preflight",
            "--concurrency",
            "1",
            "--out",
            "run",
        ]
        process = StartedCommand(options, tmp_path, os.environ)
        try:
            assert waiting.wait(240)
            with (
                serving(lambda _: ViewPages([tmp_path / "run"]).app()) as server,
                opened(browser, server.access.url()) as page,
            ):
                told = page.locator(".run-row .hint")
                assert told.get_attribute("role") == "status"  # read aloud, politely
                page.locator(".run-row .hint", has_text="trials done").wait_for()
                before, planned = (int(word) for word in told.inner_text().split()[:3:2])
                assert before < planned
                assert page.locator(".run-row progress").is_visible()
                release.set()
                page.locator(".run-row .hint", has_text=f"{planned} of {planned} trials done").wait_for()
                assert not page.locator(".run-row progress").is_visible()
                assert process.wait(240) == 0
                page.reload()
                page.get_by_role("link", name="Datasheet").first.wait_for()
        finally:
            release.set()
            process.kill()


def test_keys_go_through_the_list_that_a_call_was_opened_from(browser: Browser, server: Server) -> None:
    with opened(browser, server.access.url()) as page:
        page.get_by_role("link", name="Datasheet").first.click()
        page.locator(".answer .held.flagged a.behind").first.click()
        page.locator("table.calls").wait_for()
        address, total = page.url, page.locator("table.calls tbody tr").count()
        page.locator("table.calls tbody th a").nth(1).click()
        page.get_by_role("link", name=f"2 of {total} in the list").wait_for()
        page.wait_for_load_state()  # keys are heard once the script has run
        page.keyboard.press("j")
        page.get_by_role("link", name=f"3 of {total} in the list").wait_for()
        page.wait_for_load_state()
        page.keyboard.press("k")
        page.get_by_role("link", name=f"2 of {total} in the list").click()
        page.locator("table.calls").wait_for()
        assert page.url == address


def test_a_comparison_leads_back_to_both_datasheets(browser: Browser, server: Server) -> None:
    with opened(browser, server.access.url()) as page:
        compare = page.get_by_role("button", name="Compare the two ticked")
        assert compare.is_disabled()
        for tick in page.locator("table.runs input[name=side]").all():
            tick.check()
        compare.click()
        page.locator("#forest-h").wait_for()
        assert page.get_by_role("link", name="Datasheet").count() == 2
        page.get_by_role("link", name="Datasheet").last.click()
        page.locator("#verdicts-h").wait_for()


def test_a_search_on_the_overview_shows_the_runs_that_have_every_word(
    browser: Browser, shown: Server
) -> None:
    with opened(browser, shown.access.url()) as page:
        rows = page.locator("table.runs tbody tr >> visible=true")
        assert rows.count() == len(KINDS)
        page.get_by_label("Search").fill("planted/first PARTIAL")
        page.get_by_text("1 of 5 rows").wait_for()
        assert "partial" in rows.locator("th").inner_text()
        page.get_by_label("Search").fill("no such judge")
        page.get_by_text("0 of 5 rows").wait_for()
        page.get_by_label("Search").fill("")
        assert rows.count() == len(KINDS)
        page.locator("select[name=verdict]").select_option("unfit")
        assert 0 < rows.count() < len(KINDS)
        page.locator("select[name=verdict]").select_option("all")
        names = page.locator("table.runs tbody tr th > a")
        page.get_by_role("button", name="judge").click()  # in the browser: the address stays
        down = names.all_inner_texts()
        assert down == sorted(down, reverse=True)
        page.get_by_role("button", name="judge").click()
        assert names.all_inner_texts() == down[::-1]
        assert "sort=" not in page.url


def test_a_run_of_an_agent_is_shown_as_messages(browser: Browser, shown: Server, kinds: Path) -> None:
    stimuli = map(json.loads, (kinds / "agents" / "stimuli.jsonl").read_text(encoding="utf-8").splitlines())
    edited = next(each for each in stimuli if any("after" in one for one in each.get("changes") or ()))
    with opened(browser, shown.access.url()) as page:
        page.goto(f"{page.url}run/0/stimulus?id={quote(edited['id'], safe='')}")
        messages = page.locator(".turns > .turn")
        assert messages.count() == len(edited["transcript"]["messages"])
        changed = [change for change in edited["changes"] if "after" in change]
        assert page.locator(".turn.edited").count() == len(changed)
        words = "".join(block["text"] for block in changed[0]["after"]["content"])
        assert words[:40].strip() in page.locator(".turn.edited").first.inner_text()
        page.locator(".arm td a").first.click()
        page.locator("#reply-h").wait_for()
        assert messages.count() == len(edited["transcript"]["messages"])
        assert page.get_by_text("Prompt, as it was sent").is_visible()


@pytest.mark.parametrize("kind", KINDS)
def test_a_datasheet_is_a_few_screens_whatever_was_measured(browser: Browser, kinds: Path, kind: str) -> None:
    size = {"width": 1280, "height": 800}
    with opened(browser, (kinds / kind / "datasheet.html").as_uri(), viewport=size) as page:
        assert page.evaluate("document.documentElement.scrollHeight") <= 6 * size["height"]
        number = page.locator(".keys a.behind").first
        number.click()  # without a server a number leads to its row among all estimates
        row = page.locator(f'[id="{(number.get_attribute("href") or "")[1:]}"]')
        row.wait_for(state="visible")
        assert number.inner_text() in row.inner_text()


@pytest.mark.parametrize("kind", KINDS)
def test_the_terminal_and_markdown_begin_with_the_answer(kinds: Path, kind: str) -> None:
    sheet = read_datasheet(kinds / kind)
    out = io.StringIO()
    render_brief(sheet, Console(file=out, width=80, color_system=None))
    lines = out.getvalue().rstrip().splitlines()
    # The command adds the count of calls and the path of the page; each asked kind of texts takes up to two.
    assert len(lines) <= 25 + 2 * len(sheet.asked), kind
    text = markdown.render(sheet).partition("\n## ")[0]
    assert len(text.splitlines()) <= 25, kind
    summary, (verdict,) = summarise(sheet), sheet.verdicts
    for part in (verdict.word, *(each.limit for each in key_figures(summary, verdict.judge))):
        assert part in out.getvalue()
        assert part in text


def test_a_bundle_shows_local_times_and_runs_as_messages(
    browser: Browser, kinds: Path, tmp_path: Path
) -> None:
    written = StartedCommand(["view", "--bundle", "out", kinds / "agents"], tmp_path, os.environ)
    assert written.wait() == 0, written.communicate()
    finished = datetime.fromisoformat(read_datasheet(kinds / "agents").facts.finished or "")
    there = finished.astimezone(timezone(timedelta(hours=9)))
    index = (tmp_path / "out" / "index.html").as_uri()
    with opened(browser, index, timezone_id="Asia/Tokyo", locale="en-GB") as page:
        assert page.locator("table.runs time").inner_text() == f"{there:%-d %b %Y, %H:%M}"
        page.get_by_role("link", name="Calls").click()
        page.locator("table.calls tbody th a").first.click()
        page.locator(".turns > .turn").first.wait_for()
        assert f"{there:%d/%m/%Y, %H:}" in page.locator("dl.facts").inner_text()
        assert complaints_in_every_look(page, LOOKS[1:2]) == []
        page.locator("h1 a").click()
        page.locator(".arm").first.wait_for()
        assert page.locator(".turns > .turn").count() > 1
        assert complaints_in_every_look(page, LOOKS[1:2]) == []
