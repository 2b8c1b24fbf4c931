"""The HTML report."""

from __future__ import annotations

import hashlib
import re
import subprocess
from base64 import b64encode
from dataclasses import replace
from html.parser import HTMLParser
from itertools import pairwise
from pathlib import Path
from xml.etree import ElementTree

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from browsers import installed
from example_datasheet import (
    FAILING,
    NO_FIT,
    NO_STRICT,
    PARAMETERS,
    REASON,
    crowd,
    example,
    pointwise,
    renamed,
    without_estimates,
)
from steelyard.core.text import LONGEST, short_names
from steelyard.datasheet.conclusion import Conclusion, NextStep
from steelyard.datasheet.datasheet import Datasheet
from steelyard.datasheet.render import html, markdown
from steelyard.datasheet.render.html.charts.catalogue import charts
from steelyard.datasheet.render.html.document import with_code
from steelyard.datasheet.render.html.drawing.scatter import place_labels, spread_labels
from steelyard.datasheet.render.html.drawing.svg import Box
from steelyard.datasheet.sections.summary import summarise

HOSTILE = "<script>alert(1)</script>\" onload='x' {{ 7*7 }}"
VOID = {"meta", "link", "br", "hr", "img", "input"}
FIGURES = ("axes", "decomposition", "psychometric", "position", "criterion", "instrument")


class Page(HTMLParser):
    """Every start tag with its attributes, the text, and whether tags nest properly."""

    def __init__(self, document: str) -> None:
        super().__init__(convert_charrefs=True)
        self.tags: list[tuple[str, dict[str, str | None]]] = []
        self.text: list[str] = []
        self.open: list[str] = []
        self.feed(document)
        self.close()

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append((tag, dict(attrs)))
        if tag not in VOID:
            self.open.append(tag)

    def handle_startendtag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append((tag, dict(attrs)))

    def handle_endtag(self, tag: str) -> None:
        assert self.open.pop() == tag

    def handle_data(self, data: str) -> None:
        self.text.append(data)

    def words(self) -> str:
        return " ".join(" ".join(self.text).split())


@pytest.fixture(scope="module")
def document() -> str:
    return html.render(example())


@pytest.fixture(scope="module")
def page(document: str) -> Page:
    return Page(document)


def test_the_page_is_well_formed(page: Page) -> None:
    assert page.open == []
    ids = [attrs["id"] for _, attrs in page.tags if "id" in attrs]
    assert len(ids) == len(set(ids))


def test_nothing_is_fetched(document: str, page: Page) -> None:
    without_names = re.sub(r'xmlns(:\w+)?="[^"]*"', "", document)
    assert not re.search(r"https?:|//[a-z]", without_names.replace("</", "<"))
    assert "@import" not in document
    assert "url(" not in document
    for tag, attrs in page.tags:
        assert "src" not in attrs
        assert tag not in ("link", "iframe", "object", "embed", "img")
        assert (attrs.get("href") or "#").startswith("#")


def test_without_scripts_the_page_says_what_is_missing(document: str) -> None:
    assert "<noscript>" in document
    assert "Without JavaScript this page is whole but for sorting" in document


def test_links_lead_somewhere(page: Page) -> None:
    tags = page.tags
    ids = {attrs["id"] for _, attrs in tags if "id" in attrs}
    named = [attrs.get("aria-labelledby") for _, attrs in tags] + [
        (attrs.get("href") or "").removeprefix("#") for tag, attrs in tags if tag == "a"
    ]
    assert {name for name in named if name} <= ids


def test_every_judge_and_figure_is_there(document: str, page: Page) -> None:
    words = page.words()
    for judge in example().judges:
        assert judge.name in words
        assert judge.model in words
    for name in FIGURES:
        start = document.index(f'id="fig-{name}"')
        figure = document[start : document.index("</figure>", start)]
        assert "<svg" in figure
        assert '<details class="data">' in figure
        shown = [judge for judge in example().judges if name != "instrument" or not judge.baseline]
        for judge in shown:
            assert f'<th scope="row">{judge.name}</th>' in figure


def test_drawings_are_labelled_and_themed(document: str, page: Page) -> None:
    drawings = [attrs for tag, attrs in page.tags if tag == "svg" and attrs.get("role") in ("img", "group")]
    assert len(drawings) == 4 + 4 + 6
    assert all(re.search(r"\d\.\d", attrs["aria-label"] or "") for attrs in drawings)
    for svg in re.findall(r"<svg[^>]*role=\"(?:img|group)\".*?</svg>", document, re.DOTALL):
        root = ElementTree.fromstring(svg)
        assert root[0].tag.endswith("title")
        assert root[0].text
        colours = set(re.findall(r'(?:fill|stroke)="([^"]+)"', svg))
        assert all(colour.startswith("var(--") or colour in ("none", "transparent") for colour in colours)


def test_every_colour_of_the_drawings_is_in_the_style_sheet(document: str) -> None:
    used = set(re.findall(r"var\((--[\w-]+)\)", document))
    defined = set(re.findall(r"(--[\w-]+):", document))
    assert used <= defined


def test_undefined_figures_carry_their_reason(page: Page) -> None:
    words = page.words()
    assert f"(a) undefined: {REASON}" in words
    assert f"(b) undefined: {NO_STRICT}" in words
    assert f"Not drawn: {FAILING}: reacts to nothing (dark current) is undefined ({REASON})." in words


def test_readings_and_provenance(page: Page) -> None:
    words = page.words()
    assert (
        "Reacts to nothing ! too high prefers one of two texts that do not differ in 80 of 120 calls" in words
    )
    assert "stimulus set 5f2d9a415f2d" in words
    assert "seed 7" in words


def test_every_estimate_is_in_the_tables(document: str) -> None:
    rows = document.count('<td class="remark">')
    assert rows == len(example().estimates)


def test_the_policy_allows_the_scripts_of_the_page_and_no_other(document: str, page: Page) -> None:
    scripts = re.findall(r"<script>(.*?)</script>", document, re.DOTALL)
    policy = next(attrs["content"] or "" for tag, attrs in page.tags if "http-equiv" in attrs)
    assert len(scripts) == 2
    for script in scripts:
        assert b64encode(hashlib.sha256(script.encode()).digest()).decode() in policy
    assert policy.startswith("default-src 'none'")


@pytest.mark.slow
def test_hostile_names_stay_text() -> None:
    document = html.render(renamed(replace(example(), name=HOSTILE), "Qwen32B", HOSTILE))
    page = Page(document)
    assert sum(tag == "script" for tag, _ in page.tags) == 2
    assert not any(name.startswith("on") for _, attrs in page.tags for name in attrs)
    assert HOSTILE in page.words()
    assert any(HOSTILE in (attrs.get("aria-label") or "") for tag, attrs in page.tags if tag == "svg")


@pytest.mark.slow
def test_odd_names_are_drawn() -> None:
    odd = {"Llama8B": "x" * 400, "Qwen14B": "", "Qwen32B": "\x00\x1b[31m"}
    odd |= {"coin": "\ud800 half", "first": "\u202eflip", "tie": "#0f0e10"}
    datasheet = example()
    for name, other in odd.items():
        datasheet = renamed(datasheet, name, other)
    document = html.render(datasheet)
    document.encode("utf-8")
    assert len(re.findall('role="img"|role="group" aria-label', document)) == 14
    assert not re.search(r"[\x00-\x08\x0b-\x1f\x7f\u202e]", document)


@pytest.mark.parametrize(
    "datasheet", [without_estimates(), pointwise(), replace(example(), judges=(), findings=())]
)
def test_unusual_datasheets_are_rendered(datasheet: Datasheet) -> None:
    assert Page(html.render(datasheet)).open == []


def test_other_probes_need_no_figures() -> None:
    words = Page(html.render(pointwise())).words()
    assert "Metrology axes" not in words
    assert "every score is the same: no variance" in words
    assert "3.25 (no interval)" in words


@pytest.mark.slow
def test_a_command_in_a_sentence_is_code_and_all_else_is_escaped() -> None:
    assert with_code("try `steelyard <x>` & see") == "try <code>steelyard &lt;x&gt;</code> &amp; see"
    verdict = Conclusion("Llama8B", "unfit", next=NextStep("try one call with `steelyard doctor`"))
    page = html.render(replace(example(), verdicts=(verdict,)))
    assert page.count("<b>Next</b> try one call with <code>steelyard doctor</code>.</p>") == 2


@pytest.mark.slow
def test_the_same_datasheet_gives_the_same_page(document: str) -> None:
    assert html.render(example()) == document


@pytest.mark.slow
@settings(max_examples=8, suppress_health_check=[HealthCheck.too_slow])
@given(st.data())
def test_any_estimate_may_be_missing_or_undefined(data: st.DataObject) -> None:
    kept = []
    fates = data.draw(
        st.lists(st.sampled_from(["keep", "drop", "undefined", "bare"]), min_size=7, max_size=40)
    )
    for number, estimate in enumerate(example().estimates):
        fate = fates[number % len(fates)]
        if fate == "undefined":
            kept.append(replace(estimate, value=None, intervals=(), note=None))
        elif fate == "bare":
            kept.append(replace(estimate, intervals=(), numerator=None, denominator=None, design_effect=None))
        elif fate == "keep":
            kept.append(estimate)
    datasheet = replace(example(), estimates=tuple(kept))
    for figure in charts(summarise(datasheet)):
        assert all(len(row) == len(figure.header) for row in figure.rows)
    markdown.render(datasheet)


def test_labels_do_not_cover_each_other() -> None:
    points = [(40.0 + 3 * number, 300.0, f"judge number {number}") for number in range(7)]
    labels = place_labels(points, width=430, height=380)
    boxes = [
        Box(left, label.y - 8, left + 7 * len(label.text), label.y + 8)
        for label in labels
        for left in [
            {
                "left": label.x,
                "right": label.x - 7 * len(label.text),
                "center": label.x - 3.5 * len(label.text),
            }[label.align]
        ]
    ]
    for number, box in enumerate(boxes):
        assert all(box.overlap(other) == 0 for other in boxes[number + 1 :])


@given(st.lists(st.floats(0, 190), max_size=8))
def test_spread_keeps_the_order_and_the_frame(heights: list[float]) -> None:
    moved = spread_labels(heights, low=0, high=190)
    assert all(0 <= height <= 190 for height in moved)
    order = sorted(range(len(heights)), key=lambda n: (heights[n], n))
    assert all(moved[a] <= moved[b] + 1e-6 for a, b in pairwise(order))


@pytest.fixture(scope="module")
def chromium() -> str:
    return installed()


def browse(chromium: str, folder: Path, *options: str) -> str:
    command = [
        chromium, "--headless", "--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run",
        "--disable-background-networking", "--disable-component-update", "--disable-sync",
        f"--user-data-dir={folder / 'profile'}", *options, (folder / "sheet.html").as_uri(),
    ]  # fmt: skip
    return subprocess.run(command, capture_output=True, check=True, timeout=120).stdout.decode()


@pytest.mark.browser
def test_a_browser_runs_the_page(chromium: str, tmp_path: Path, document: str) -> None:
    hostile = html.render(renamed(example(), "Qwen32B", "<img src=x onerror=\"document.title='pwned'\">"))
    (tmp_path / "sheet.html").write_text(hostile, encoding="utf-8")
    seen = browse(chromium, tmp_path, "--dump-dom")
    assert "<title>Judge Datasheet: Llama8B, Qwen14B and 2 others</title>" in seen
    assert re.search(r'<button[^>]*id="theme"(?![^>]*hidden)', seen)
    assert seen.count("<svg") == hostile.count("<svg")


@pytest.mark.browser
@pytest.mark.parametrize("theme", ["light", "dark"])
def test_a_browser_draws_the_page(chromium: str, tmp_path: Path, document: str, theme: str) -> None:
    themed = document.replace('<html lang="en">', f'<html lang="en" data-theme="{theme}">')
    (tmp_path / "sheet.html").write_text(themed, encoding="utf-8")
    picture = tmp_path / "sheet.png"
    browse(chromium, tmp_path, f"--screenshot={picture}", "--window-size=1280,2400", "--hide-scrollbars")
    assert picture.read_bytes().startswith(b"\x89PNG")
    assert picture.stat().st_size > 50_000


@pytest.mark.parametrize(
    "names",
    [
        ["a", "b"],
        ["planted/probit?s=0.8&beta=0.4", "planted/probit?s=2.0&beta=0.4"],
        [f"a very long name that ends in the same {number} way every time" for number in range(5)],
    ],
)
def test_short_names_still_differ(names: list[str]) -> None:
    shortened = short_names(names)
    assert len(set(shortened.values())) == len(names)
    assert all(len(text) <= LONGEST + 3 for text in shortened.values())


@pytest.mark.slow
def test_a_crowd_is_numbered_and_has_a_key() -> None:
    document = html.render(crowd(9))
    assert Page(document).open == []
    assert document.count('class="sign"') == 3 * 9
    assert "✚ 5</span>judge number 4" in document


def test_the_instrument_figure_shows_bounds_as_arrows_and_says_who_is_missing() -> None:
    figure = next(f for f in charts(summarise(example())) if f.id == "instrument")
    assert [panel.title for panel in figure.panels][:3] == [
        "signal per step (resolution)",
        "push to slot 1 (position bias)",
        "signal before it decides (tie threshold)",
    ]
    # Three arms have a resolution; the one that is a bound has an arrow and no mark.
    resolution = figure.panels[0].svg
    assert "Qwen14B: signal per step (resolution) &gt; 4.10 [4.10,\N{NO-BREAK SPACE}∞)" in resolution
    assert any("Llama8B" in line and NO_FIT in line for line in figure.omitted)
    assert [row[0] for row in figure.rows] == ["Llama8B", "Qwen14B", "Qwen32B", "Qwen32B, strict", FAILING]


def test_without_a_fit_there_is_no_instrument_figure() -> None:
    small = replace(example(), estimates=tuple(e for e in example().estimates if e.metric not in PARAMETERS))
    assert "instrument" not in [figure.id for figure in charts(summarise(small))]
