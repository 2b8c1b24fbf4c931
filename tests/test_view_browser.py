"""The viewer in a real browser: two clicks from a number to the raw reply, read aloud, wide and narrow."""

from __future__ import annotations

import json
import shutil
import sqlite3
import subprocess
import sys
import threading
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from browsers import chromium, complaints_in_every_look, opened
from review_sessions import serving
from servers import Answer, Received, ScriptedServer, wins
from steelyard.web.server import Server
from steelyard.web.view.app import ViewPages

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
    script = [sys.executable, "-m", "steelyard", "measure", "-j", "planted/first", "-j", "planted/tie"]
    subprocess.run([*script, "-p", "vacuum", "--out", "demo"], check=True, capture_output=True, cwd=folder)
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

    def steelyard(*arguments: str) -> None:
        subprocess.run(
            [sys.executable, "-m", "steelyard", *arguments], check=True, capture_output=True, cwd=folder
        )

    steelyard("measure", "-j", "planted/first", "-p", "vacuum", "--out", "pairs")
    steelyard("measure", "-j", "planted/rater?noise=0.4", "--scale", "binary", "--out", "scores")
    steelyard("measure", "-j", "planted/rater", "-p", "agentic", "--out", "agents")
    call = {"judge": "j", "probe": "position", "kind": "natural", "better": "u"}
    places = [(number, first) for number in range(6) for first in "uv"]
    lines = [
        json.dumps({**call, "task": f"t{n}", "pair": f"p{n}", "first": first, "answer": "1"})
        for n, first in places
    ]
    (folder / "verdicts.jsonl").write_text("\n".join(lines) + "\n")
    steelyard("import", "verdicts.jsonl", "--out", "imported")
    shutil.copytree(folder / "pairs", folder / "partial")
    with closing(sqlite3.connect(folder / "partial" / "run.db")) as database:
        database.execute("DELETE FROM replies WHERE trial IN (SELECT trial FROM replies LIMIT 5)")
        database.commit()
    subprocess.run(
        [sys.executable, "-m", "steelyard", "report", "partial"], check=False, capture_output=True, cwd=folder
    )
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
        assert complaints_in_every_look(page) == []


@pytest.mark.parametrize("kind", KINDS)
def test_pages_of_a_run_are_accessible(browser: Browser, shown: Server, kind: str) -> None:
    """The datasheet, the map, the calls, one call and its stimulus."""
    with opened(browser, shown.access.url(), bypass_csp=True) as page:
        home = f"{page.url}run/{KINDS.index(kind)}/"
        for path, mark in (("", "#verdicts-h"), ("map", "table.heat"), ("calls", "table.calls")):
            page.goto(home + path)
            page.locator(mark).wait_for()
            current = page.locator("nav a[aria-current=page]")
            assert current.first.inner_text() == {"": "Datasheet", "map": "Map", "calls": "Calls"}[path]
            assert complaints_in_every_look(page) == [], path
        page.locator("table.calls tbody th a").first.click()
        page.locator("#reply-h").wait_for()
        assert complaints_in_every_look(page) == []
        page.locator("h1 a").click()
        page.locator(".arm").first.wait_for()
        assert complaints_in_every_look(page) == []


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
        process = subprocess.Popen(
            [sys.executable, "-m", "steelyard", *options],
            cwd=tmp_path,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
        )
        try:
            assert waiting.wait(240)
            with (
                serving(lambda _: ViewPages([tmp_path / "run"]).app()) as server,
                opened(browser, server.access.url()) as page,
            ):
                told = page.locator(".run-row .hint")
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
            process.wait()


def test_keys_go_through_the_list_that_a_call_was_opened_from(browser: Browser, server: Server) -> None:
    with opened(browser, server.access.url()) as page:
        page.get_by_role("link", name="Datasheet").first.click()
        page.locator(".answer .held.flagged a.behind").first.click()
        page.locator("table.calls").wait_for()
        address, total = page.url, page.locator("table.calls tbody tr").count()
        page.locator("table.calls tbody th a").nth(1).click()
        page.get_by_role("link", name=f"2 of {total} in the list").wait_for()
        page.keyboard.press("j")
        page.get_by_role("link", name=f"3 of {total} in the list").wait_for()
        page.keyboard.press("k")
        page.get_by_role("link", name=f"2 of {total} in the list").click()
        page.locator("table.calls").wait_for()
        assert page.url == address


def test_a_comparison_leads_back_to_both_datasheets(browser: Browser, server: Server) -> None:
    with opened(browser, server.access.url()) as page:
        page.get_by_role("button", name="Compare").click()
        page.locator("#forest-h").wait_for()
        assert page.get_by_role("link", name="Datasheet").count() == 2
        page.get_by_role("link", name="Datasheet").last.click()
        page.locator("#verdicts-h").wait_for()
