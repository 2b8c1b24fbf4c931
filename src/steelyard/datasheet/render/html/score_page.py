"""The page of a score to defend: one sentence, one figure that carries it, the numbers behind it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from steelyard.datasheet.render.html.document import document
from steelyard.version import __version__


@dataclass(frozen=True)
class KeyEntry:
    """One line of a figure's legend."""

    symbol: str
    role: str
    text: str


@dataclass(frozen=True)
class PageTable:
    title: str
    header: Sequence[str]
    rows: Sequence[Sequence[str]]
    note: str = ""


@dataclass(frozen=True)
class ScorePage:
    kind: str
    """What the page is: estimate, leaderboard, people, bridge."""
    title: str
    lead: str
    facts: Sequence[tuple[str, str]]
    figure_title: str
    caption: str
    drawing: str
    narrow_drawing: str
    """The same for a phone: without the figures beside it, which the tables have."""
    """SVG."""
    key: Sequence[KeyEntry]
    tables: Sequence[PageTable]
    notes: Sequence[str]
    meanings: Sequence[tuple[str, str]]
    """Terms of the page, each with its meaning."""


def render(page: ScorePage) -> str:
    return document("score.html.j2", page=page, version=__version__)
