"""A real Chromium for the tests of pages, where the machine has one."""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

import pytest

if TYPE_CHECKING:
    from playwright.sync_api import Browser, Page

NAMES = ("chromium", "chromium-browser", "google-chrome")
PATIENCE = 90_000
"""Milliseconds that a busy machine may take for what a page is waited for."""
SERIOUS = ("serious", "critical")


def installed() -> str:
    """The browser's program; a test without one is skipped with the reason."""
    place = next(filter(None, map(shutil.which, NAMES)), None)
    if place is None:
        pytest.skip("no chromium on this machine: install it to run the browser tests")
    return place


@contextmanager
def chromium() -> Iterator[Browser]:
    """The browser of this machine; a test without one is skipped with the reason."""
    sync_api = pytest.importorskip("playwright.sync_api", reason="playwright is not installed: make setup")
    place = installed()
    with sync_api.sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=place, args=["--no-sandbox", "--disable-gpu"])
        yield browser
        browser.close()


@contextmanager
def opened(browser: Browser, url: str, **options: Any) -> Iterator[Page]:
    """A page of a browser of its own; what its scripts throw fails the test."""
    context = browser.new_context(viewport=options.pop("viewport", {"width": 1280, "height": 900}), **options)
    context.set_default_timeout(PATIENCE)
    page = context.new_page()
    thrown: list[str] = []
    page.on("pageerror", lambda error: thrown.append(str(error)))
    page.goto(url)
    yield page
    context.close()
    assert thrown == []


def complaints(page: Page) -> list[str]:
    """What axe-core finds serious or critical, in words."""
    axe = pytest.importorskip("axe_playwright_python.sync_playwright", reason="make setup installs it")
    found = axe.Axe().run(page).response["violations"]
    return [
        f"{each['id']}: {each['help']} ({node['html'][:120]})"
        for each in found
        if each["impact"] in SERIOUS
        for node in each["nodes"][:3]
    ]


def overflow(page: Page) -> int:
    """Pixels by which a page is wider than its window."""
    wide = page.evaluate("document.documentElement.scrollWidth - document.documentElement.clientWidth")
    return int(wide)
