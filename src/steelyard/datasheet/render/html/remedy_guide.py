"""Sections of the guide `fix-a-judge.md` on the faults of a page, so that it needs no other document."""

from __future__ import annotations

import re
from collections.abc import Iterable
from functools import cache
from importlib.resources import files
from pathlib import Path
from typing import NamedTuple

from markupsafe import Markup, escape

from steelyard.datasheet.conclusion import Conclusion

NAME = "fix-a-judge.md"
"""The guide; it lies in the package where that is installed, and among the documents in a checkout."""

_INLINE = (
    (re.compile(r"`([^`]+)`"), r"<code>\1</code>"),
    (re.compile(r"\[([^\]]+)\]\(#([a-z-]+)\)"), r'<a href="#remedy-\2">\1</a>'),
    (re.compile(r"\[([^\]]+)\]\([^)]*\)"), r"\1"),
    (re.compile(r"\*([^*]+)\*"), r"<b>\1</b>"),
)


class GuideSection(NamedTuple):
    anchor: str
    """Its place on the page, without `remedy-`."""
    title: str
    paragraphs: tuple[Markup, ...]


def guide_sections(verdicts: Iterable[Conclusion]) -> list[GuideSection]:
    """The sections of the guide on the faults in these verdicts, and those they link to, in order."""
    named = {cause.anchor for verdict in verdicts for cause in verdict.causes}
    every = _sections()
    for anchor in list(named):
        text = "".join(every[anchor].paragraphs) if anchor in every else ""
        named |= set(re.findall('href="#remedy-([a-z-]+)"', text))
    return [section for anchor, section in every.items() if anchor in named]


@cache
def _sections() -> dict[str, GuideSection]:
    """Every section by its anchor; none where the guide is not there."""
    sections = {}
    for section in re.split(r"^## ", _text(), flags=re.MULTILINE)[1:]:
        title, _, body = section.partition("\n")
        anchor = title.strip().lower().replace(" ", "-")
        paragraphs = tuple(_rendered(part) for part in re.split(r"\n{2,}", body) if part.strip())
        sections[anchor] = GuideSection(anchor, title.strip(), paragraphs)
    return sections


def _text() -> str:
    shipped = files("steelyard") / "guides" / NAME
    beside = Path(__file__).parents[5] / "docs" / "guides" / NAME
    for place in (shipped, beside):
        if place.is_file():
            return place.read_text(encoding="utf-8")
    return ""


def _rendered(paragraph: str) -> Markup:
    text = str(escape(" ".join(paragraph.split())))
    for pattern, replacement in _INLINE:
        text = pattern.sub(replacement, text)
    return Markup(text)
