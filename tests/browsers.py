"""A real Chromium for the tests of pages, where the machine has one."""

from __future__ import annotations

import shutil
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

import pytest

if TYPE_CHECKING:
    from playwright.sync_api import Browser, Page

NAMES = ("chromium-headless-shell", "chromium", "chromium-browser", "google-chrome")
"""The first is Chromium without its windows: the same pages for two fifths of the CPU time."""
PATIENCE = 90_000
"""Milliseconds that a busy machine may take for what a page is waited for."""
LOOKS: Sequence[tuple[int, Literal["light", "dark"]]] = (
    (1280, "light"),
    (390, "dark"),
    (1280, "dark"),
    (390, "light"),
)
"""Width and theme."""


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


def complaints(page: Page, *, contrast_only: bool = False) -> list[str]:
    """What axe-core finds, in words; contrast, four fifths of its work, on one text of each look."""
    _load_axe(page)
    found = page.evaluate(AXE, contrast_only)
    return [
        f"{each['id']}: {each['help']} ({node['html'][:120]})" for each in found for node in each["nodes"][:3]
    ]


def _load_axe(page: Page) -> None:
    if not page.evaluate("'axe' in window"):
        base = pytest.importorskip("axe_playwright_python.base", reason="make setup installs it")
        page.evaluate(base.AXE_FILE_PATH.read_text(encoding="utf-8"))
        page.evaluate(THIN)


def complaints_in_every_look(
    page: Page, looks: Sequence[tuple[int, Literal["light", "dark"]]] = LOOKS
) -> list[str]:
    """What axe-core finds wide and narrow, light and dark, what is too wide, and drawings cut by a phone.

    Axe looks at the page without repeated parts: at both widths, once in each theme, with everything
    unfolded; in the other looks at the contrast of what stands there before anything is unfolded.
    """
    found = []
    _load_axe(page)
    for width, scheme in looks:
        page.set_viewport_size({"width": width, "height": 844})
        page.emulate_media(color_scheme=scheme)
        whole = (width, scheme) in LOOKS[:2]
        wide = [overflow(page)]
        if whole:
            page.evaluate(UNFOLD)
            wide.append(overflow(page))
        cut = drawings_off_screen(page)
        page.evaluate("thinPage()")
        told = complaints(page, contrast_only=not whole)
        page.evaluate("fillPage()")
        page.evaluate(FOLD)
        told += [f"{pixels} pixels too wide" for pixels in wide if pixels > 0]
        told += [f"{title} lies beside the window" for title in cut]
        found += [f"{width} {scheme}: {each}" for each in told]
    return found


THIN = (Path(__file__).parent / "thin_page.js").read_text(encoding="utf-8")
AXE = """
    (contrastOnly) => {
        markLooks();
        axe.configure({ rules: [{ id: "color-contrast", selector: "[data-look]" }] });
        const rules = contrastOnly ? { runOnly: ["color-contrast"] } : {};
        return axe.run(document, { ...rules, resultTypes: ["violations"] }).then((told) => told.violations);
    }
"""
UNFOLD = "document.querySelectorAll('details:not([open])').forEach((e) => { e.open = e.dataset.shut = true })"
FOLD = "document.querySelectorAll('[data-shut]').forEach((e) => { e.open = false; delete e.dataset.shut })"


OFF_SCREEN = """() => [...document.querySelectorAll("svg:has(text)")]
    .filter((svg) => svg.getClientRects().length && !svg.closest("[id^=fig-heat], #fig-correlated"))
    .filter((svg) => [...svg.querySelectorAll("text, path, circle, rect")].some((part) => {
        const box = part.getBoundingClientRect();
        return box.left < 0 || box.right > innerWidth;
    }))
    .map((svg) => svg.querySelector("title").textContent)"""


def drawings_off_screen(page: Page) -> list[str]:
    """Titles of drawings that are not whole in the window; maps of judges by probe scroll in their box."""
    return list(page.evaluate(OFF_SCREEN))


def overflow(page: Page) -> int:
    """Pixels by which a page is wider than its window."""
    wide = page.evaluate("document.documentElement.scrollWidth - document.documentElement.clientWidth")
    return int(wide)
