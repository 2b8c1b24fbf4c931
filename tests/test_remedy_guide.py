"""A page tells how to fix each fault that its verdicts name, in the words of the guide."""

from __future__ import annotations

import re
from dataclasses import replace
from html import unescape
from pathlib import Path

import pytest

from example_datasheet import example
from said import fact
from steelyard.datasheet.conclusion import Conclusion
from steelyard.datasheet.questions.causes import Cause
from steelyard.datasheet.render.html.drawing.chart import Chart, Panel
from steelyard.datasheet.render.html.page import evidence, guide_sections

GUIDE = Path(__file__).parents[1] / "docs" / "guides" / "fix-a-judge.md"


def verdict(*titles: str) -> Conclusion:
    return Conclusion("j", "unfit", tuple(fact(title, "is bad") for title in titles))


@pytest.mark.parametrize("title", [cause.title for cause in Cause])
def test_every_fault_has_its_section_word_for_word(title: str) -> None:
    """All words of the guide's section, without its marks."""
    found = {section.title: section for section in guide_sections([verdict(title)])}
    assert title in found
    shown = " ".join(unescape(re.sub("<[^>]+>", "", text)) for text in found[title].paragraphs)
    written = GUIDE.read_text(encoding="utf-8").partition(f"\n## {title}\n")[2].partition("\n## ")[0]
    plain = re.sub(r"\[([^\]]+)\]\([^)]*\)", r"\1", written).replace("*", "").replace("`", "")
    assert shown.split() == plain.split()


def test_only_what_is_named_and_what_it_refers_to_is_shown() -> None:
    assert guide_sections([verdict()]) == []
    assert [section.title for section in guide_sections([verdict("Natural pairs")])] == [
        "Position",
        "Natural pairs",
    ]


def test_links_stay_on_the_page() -> None:
    shown = guide_sections([verdict(*(cause.title for cause in Cause))])
    anchors = {f"#remedy-{section.anchor}" for section in shown}
    links = {
        link
        for section in shown
        for text in section.paragraphs
        for link in re.findall('href="([^"]+)"', text)
    }
    assert links
    assert links <= anchors


def test_a_fault_is_shown_by_a_chart_that_has_it() -> None:
    """On the map of slots and texts a judge that goes by length lies where one that always says tie does."""
    drawn = [Chart(name, "", (Panel("<svg/>"),), id=name) for name in ("position", "psychometric", "worth")]
    sheet = replace(example(), verdicts=(verdict("Length", "Merit"),))
    shown = [evidence(sheet, charts).chart for charts in (drawn, drawn[:2])]
    assert [chart and chart.id for chart in shown] == ["worth", "psychometric"]
    drawn.append(Chart("reliability", "", (Panel("<svg/>"),), id="reliability"))
    told = evidence(replace(sheet, verdicts=(verdict("Confidence"),)), drawn).chart
    assert told == drawn[-1]
