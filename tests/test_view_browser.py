"""The viewer in a real browser: two clicks from a number to the raw reply, read aloud, wide and narrow."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from benches import serving
from browsers import chromium, complaints, opened, overflow
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
        page.locator("details.fold:has(.flag.flagged) > summary").first.click()
        flagged = page.locator("td:has(.flag.flagged) a.behind").first
        flagged.wait_for()
        flagged.click()  # one
        page.locator("table.calls th a").first.click()  # two
        page.locator("#reply-h").wait_for()
        assert '{"winner": "1"}' in page.locator("section[aria-labelledby=reply-h] pre").inner_text()
        assert page.locator(".status.wrong").count() == 1


@pytest.mark.parametrize(("width", "scheme"), [(1280, "light"), (360, "dark")])
def test_every_page_is_accessible(browser: Browser, server: Server, width: int, scheme: str) -> None:
    size = {"width": width, "height": 900}
    with opened(browser, server.access.url(), viewport=size, color_scheme=scheme, bypass_csp=True) as page:
        home = page.url
        for path, mark in (("", ".card"), ("run/0/calls", "table.calls"), ("run/0/map", "table.heat")):
            page.goto(home + path)
            page.locator(mark).first.wait_for()
            assert complaints(page) == []
            assert overflow(page) == 0
        page.goto(home + "run/0/calls")
        page.locator("table.calls th a").first.click()
        page.locator("#reply-h").wait_for()
        assert complaints(page) == []
        assert overflow(page) == 0
        page.locator("h1 a").click()
        page.locator(".arm").first.wait_for()
        assert complaints(page) == []
        assert overflow(page) == 0
