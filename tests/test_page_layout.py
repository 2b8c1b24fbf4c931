"""The page as a browser lays it out: nothing overflows, overprints or hides, wide, narrow and on paper."""

from __future__ import annotations

import html as escapes
import json
import re
import subprocess
from collections.abc import Callable
from dataclasses import replace
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest

from browsers import UNFOLD, chromium, installed, opened, overflow
from example_datasheet import crowd, example, judged, pointwise, renamed
from steelyard.datasheet.datasheet import Datasheet
from steelyard.datasheet.render import html
from steelyard.run_folder.published_files import read_datasheet

pytestmark = [pytest.mark.browser, pytest.mark.xdist_group("browser")]

LONG = "planted/probit?s=1.2&beta=0&tau=0.3&sigma=0.2&lapse=0.02"
MEASURE = (Path(__file__).parent / "page_layout.js").read_text()
WRAPPER = """<!doctype html><meta charset="utf-8"><body>{frames}<script>
addEventListener("message", function (event) {{
  var told = document.createElement("pre"); told.className = "told"; told.textContent = event.data;
  document.body.appendChild(told);
}});
</script>"""


def judges(count: int) -> Datasheet:
    """The example with its first judges alone, the second under a long name."""
    sheet = example()
    kept = [judge for judge in sheet.judges if not judge.baseline][:count]
    others = {judge.name for judge in sheet.judges if not judge.baseline} - {judge.name for judge in kept}
    few = replace(
        sheet,
        judges=tuple(judge for judge in sheet.judges if judge.name not in others),
        estimates=tuple(e for e in sheet.estimates if e.judge not in others),
        findings=tuple(r for r in sheet.findings if r.judge not in others),
    )
    return judged(renamed(few, "Qwen14B", LONG))


def on_paper(document: str) -> str:
    """The page with its rules for paper in force on the screen."""
    return document.replace("@media screen", "@media speech").replace("@media print", "@media all")


def dark(document: str) -> str:
    return document.replace('<html lang="en">', '<html lang="en" data-theme="dark">')


PAGES: dict[str, tuple[Callable[[], Datasheet], int]] = {
    "one wide": (lambda: judges(1), 1280),
    "two narrow": (lambda: judges(2), 390),
    "four wide": (example, 1280),
    "six wide": (lambda: judged(crowd(6)), 1280),
    "scores narrow": (pointwise, 390),
    "paper": (lambda: judges(2), 720),
    "dark": (lambda: judges(2), 1280),
}
"""The sheet of each page, and the width at which it is laid out."""
THEMES = {"paper": on_paper, "dark": dark}


@pytest.fixture(scope="module")
def layouts(tmp_path_factory: pytest.TempPathFactory) -> dict[str, dict[str, Any]]:
    """What a browser measures of every page, in one start of it."""
    chromium = installed()
    folder = tmp_path_factory.mktemp("layout")
    frames = []
    for number, (name, (sheet, width)) in enumerate(PAGES.items()):
        page = THEMES.get(name, str)(html.render(sheet()))
        body = re.sub(r'<meta http-equiv="Content-Security-Policy"[^>]*>', "", page)
        script = f"<script>var NAME = {json.dumps(name)};\n{MEASURE}</script></body>"
        (folder / f"{number}.html").write_text(body.replace("</body>", script), encoding="utf-8")
        frames.append(f'<iframe src="{number}.html" width="{width}" height="844"></iframe>')
    (folder / "all.html").write_text(WRAPPER.format(frames="".join(frames)), encoding="utf-8")
    command = [
        chromium, "--headless", "--no-sandbox", "--disable-gpu", "--no-first-run", "--hide-scrollbars",
        f"--user-data-dir={folder / 'profile'}", "--window-size=1400,1000", "--virtual-time-budget=8000",
        "--dump-dom", (folder / "all.html").as_uri(),
    ]  # fmt: skip
    seen = subprocess.run(command, capture_output=True, check=True, timeout=240).stdout.decode()
    told = [json.loads(escapes.unescape(each)) for each in re.findall(r'<pre class="told">(.*?)</pre>', seen)]
    found = {each["name"]: each for each in told}
    assert set(found) == set(PAGES), seen[-2000:]
    return found


@pytest.mark.parametrize("name", PAGES)
def test_nothing_is_wider_than_the_page(layouts: dict[str, dict[str, Any]], name: str) -> None:
    assert layouts[name]["overflow"] <= 0, layouts[name]["wide"]


@pytest.mark.parametrize("name", PAGES)
def test_no_cell_holds_more_than_it_shows(layouts: dict[str, dict[str, Any]], name: str) -> None:
    assert layouts[name]["clipped"] == []


@pytest.mark.parametrize("name", PAGES)
def test_words_of_all_judges_are_in_sight(layouts: dict[str, dict[str, Any]], name: str) -> None:
    assert layouts[name]["scrolled"] == 0


@pytest.mark.parametrize("name", PAGES)
def test_labels_of_figures_do_not_overprint(layouts: dict[str, dict[str, Any]], name: str) -> None:
    assert layouts[name]["overprinted"] == []


@pytest.mark.parametrize("name", ["one wide", "four wide", "six wide", "dark"])
def test_names_of_judges_stay_in_sight(layouts: dict[str, dict[str, Any]], name: str) -> None:
    top, bottom = layouts[name]["header"]
    assert 0 <= top < bottom <= 160


def test_figures_are_folded_until_they_are_asked_for(layouts: dict[str, dict[str, Any]]) -> None:
    assert layouts["four wide"]["folds"] > 4
    assert layouts["four wide"]["open"] == 0
    assert layouts["four wide"]["folded"] < 0.75 * layouts["four wide"]["unfolded"]


def test_paper_shows_what_is_folded(layouts: dict[str, dict[str, Any]]) -> None:
    assert layouts["paper"]["open"] == 0
    assert layouts["paper"]["hidden_rows"] == 0
    assert layouts["two narrow"]["hidden_rows"] > 0


@pytest.mark.parametrize("name", PAGES)
def test_headings_go_down_one_level_at_a_time(layouts: dict[str, dict[str, Any]], name: str) -> None:
    levels = layouts[name]["headings"]
    assert levels[0] == 1
    assert levels.count(1) == 1
    assert all(deeper <= upper + 1 for upper, deeper in pairwise(levels))


@pytest.mark.parametrize("name", ["four wide", "dark", "scores narrow"])
def test_text_stands_out_from_its_ground(layouts: dict[str, dict[str, Any]], name: str) -> None:
    assert layouts[name]["faint"] == []


@pytest.mark.parametrize("name", ["two narrow", "scores narrow"])
def test_narrow_cells_name_their_judge(layouts: dict[str, dict[str, Any]], name: str) -> None:
    assert layouts[name]["unnamed"] == 0


@pytest.mark.parametrize("name", PAGES)
def test_everything_that_acts_can_be_reached_and_named(layouts: dict[str, dict[str, Any]], name: str) -> None:
    assert layouts[name]["nameless"] == []


@pytest.mark.parametrize("width", [1280, 1024, 820])
def test_six_figures_of_several_judges_fit_with_their_words(
    recorded: Callable[[str], Path], tmp_path: Path, width: int
) -> None:
    """Narrower than a notebook they scroll in a box of their own, which can be reached by key."""
    page = tmp_path / "five.html"
    page.write_text(html.render(read_datasheet(recorded("judges-five-pairs"))), encoding="utf-8")
    with (
        chromium() as browser,
        opened(browser, page.as_uri(), viewport={"width": width, "height": 900}) as shown,
    ):
        assert overflow(shown) == 0
        box = shown.get_by_role("region", name="Judges and their key figures")
        assert box.evaluate("box => box.scrollWidth > box.clientWidth && box.tabIndex === 0") == (
            width < 1024
        )


@pytest.mark.parametrize("width", [1024, 820])
def test_all_figures_of_one_judge_fit(tmp_path: Path, width: int) -> None:
    page = tmp_path / "one.html"
    page.write_text(html.render(judges(1)), encoding="utf-8")
    with (
        chromium() as browser,
        opened(browser, page.as_uri(), viewport={"width": width, "height": 900}) as shown,
    ):
        shown.evaluate(UNFOLD)
        assert overflow(shown) == 0
