"""The first screen of a datasheet in a browser: the answer, its figures and what to do, wide and narrow."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from browsers import LOOKS, chromium, complaints_in_every_look, opened
from example_datasheet import crowd, example, judged, rate
from said import decision
from steelyard.datasheet.datasheet import Datasheet
from steelyard.datasheet.questions.questions import decisions_of
from steelyard.datasheet.render import html

if TYPE_CHECKING:
    from playwright.sync_api import Browser

pytestmark = pytest.mark.browser

WIDE, NARROW = {"width": 1280, "height": 800}, {"width": 390, "height": 844}


def decided(sheet: Datasheet) -> Datasheet:
    """The sheet with merit and one quality step decided as in a run, and the answers of its figures."""
    one_step = "target_sensitivity", {"protocol": "base", "delta": 1}
    estimates = [
        replace(e, status="flagged") if (e.metric, e.group) == one_step else e for e in sheet.estimates
    ]
    estimates += [
        rate(judge.name, "ladder", "merit", {"protocol": "base"}, 90, 120, status="clear", chance=0.5)
        for judge in sheet.judges
    ]
    return judged(
        replace(
            sheet, estimates=tuple(estimates), findings=tuple(decisions_of(sheet.judges, tuple(estimates)))
        )
    )


def one_judge() -> Datasheet:
    sheet = example()
    name = sheet.judges[0].name
    one = decided(
        replace(
            sheet,
            judges=tuple(judge for judge in sheet.judges if judge.baseline or judge.name == name),
            estimates=tuple(e for e in sheet.estimates if e.judge == name),
        )
    )
    open_ = tuple(decision(name, title, "inconclusive") for title in ("Length", "Noise"))
    return replace(one, findings=(*one.findings, *open_), verdicts=(replace(one.verdict, undecided=open_),))


@pytest.fixture(scope="module")
def browser() -> Iterator[Browser]:
    with chromium() as browser:
        yield browser


@pytest.fixture(scope="module")
def pages(tmp_path_factory: pytest.TempPathFactory) -> dict[str, str]:
    folder, found = tmp_path_factory.mktemp("sheets"), {}
    for name, sheet in (("one", one_judge()), ("five", decided(crowd(5)))):
        path = Path(folder / f"{name}.html")
        served: Any = {
            "home": "#study",
            "pages": (("Datasheet", "#study"), ("Calls", "#every"), ("Map", "#every")),
        }
        path.write_text(html.render(sheet, calls_of=lambda _: "#study", **served), encoding="utf-8")
        found[name] = path.as_uri()
    return found


@pytest.mark.parametrize(("name", "screens"), [("one", 6), ("five", 9)])
def test_a_datasheet_is_a_few_screens(
    browser: Browser, pages: dict[str, str], name: str, screens: int
) -> None:
    with opened(browser, pages[name], viewport=WIDE) as page:
        assert page.evaluate("document.documentElement.scrollHeight") <= screens * WIDE["height"]


def test_word_reason_advice_and_figures_stand_on_the_first_screen(
    browser: Browser, pages: dict[str, str]
) -> None:
    with opened(browser, pages["one"], viewport=WIDE) as page:
        assert page.locator("h1").inner_text() == "Llama8B: usable with care"
        assert page.locator(".lead").inner_text().startswith("It favours the first text in 25 of 120 pairs.")
        assert (
            page.locator(".do").inner_text().endswith("Ask in both orders and count a disagreement as a tie.")
        )
        rows = page.locator(".keys tbody tr")
        assert 4 <= rows.count() <= 6
        bottom = rows.last.bounding_box()
        assert bottom is not None
        assert bottom["y"] + bottom["height"] <= WIDE["height"]
        for row in rows.all():
            assert row.locator("a.behind").is_visible()
            assert row.locator("svg.scale .limit").count() >= 1
        note = page.locator(".note").inner_text()
        assert "2 questions are undecided at this size: goes by length, changes by order alone." in note


def test_the_verdict_comes_first_on_a_phone(browser: Browser, pages: dict[str, str]) -> None:
    with opened(browser, pages["one"], viewport=NARROW) as page:
        for part in ("h1", ".lead", ".do"):
            box = page.locator(part).bounding_box()
            assert box is not None
            assert box["y"] + box["height"] <= NARROW["height"]
        assert page.locator(".keys tr").nth(1).is_visible()
        for part in (".kind", ".brand nav"):  # a line each, none squeezed beside the other
            box = page.locator(part).bounding_box()
            assert box is not None
            assert box["height"] < 40


def test_several_judges_are_rows_that_any_column_sorts(browser: Browser, pages: dict[str, str]) -> None:
    with opened(browser, pages["five"], viewport=WIDE) as page:
        numbers = page.locator(".judges tbody td:nth-child(4)")
        before = [float(cell.get_attribute("data-sort") or "nan") for cell in numbers.all()]
        assert len(before) == 5
        head = page.locator(".judges thead th:nth-child(4)")
        for order, wanted in (("descending", sorted(before, reverse=True)), ("ascending", sorted(before))):
            head.locator("button").click()
            assert head.get_attribute("aria-sort") == order
            assert [float(cell.get_attribute("data-sort") or "nan") for cell in numbers.all()] == wanted
        assert page.locator(".judges a.behind").count() >= 15


def test_a_link_opens_what_it_leads_to(browser: Browser, pages: dict[str, str]) -> None:
    with opened(browser, pages["five"], viewport=WIDE) as page:
        assert page.locator("details[open]").count() == 0
        page.locator(".judges tbody th a").nth(2).click()
        page.locator("#verdict-3").wait_for(state="visible")
        assert page.locator("details.part[open]").get_attribute("id") == "readings"


def test_a_table_of_judges_is_accessible(browser: Browser, pages: dict[str, str]) -> None:
    """A page of one judge is looked at in the viewer, with every kind of run."""
    with opened(browser, pages["five"], bypass_csp=True) as page:
        assert complaints_in_every_look(page, LOOKS[:2]) == []
