"""A console for reports: lines of text, spelled in ASCII where the output knows no other letters."""

from __future__ import annotations

from rich.console import Console
from rich.padding import Padding
from rich.text import Text

from steelyard.datasheet.words.ascii_text import ascii_only

STYLES = {"clear": "green", "flagged": "bold red", "inconclusive": "yellow", "undefined": "magenta"}
"""Colours of the words."""


class Printer:
    """What the reports on a terminal share."""

    def __init__(self, console: Console) -> None:
        self.console = console
        self.plain = not (console.encoding or "utf-8").lower().startswith("utf")

    def text(self, content: str, style: str = "") -> Text:
        """Text as the output can show it."""
        return Text(ascii_only(content) if self.plain else content, style)

    def line(self, content: str | Text = "", style: str = "") -> None:
        """One paragraph, without rich's colours for numbers."""
        shown = content if isinstance(content, Text) else self.text(content, style)
        self.console.print(shown, highlight=False)

    def whole(self, content: str | Text) -> None:
        """One line that is never broken, so that what it holds can be copied."""
        shown = content if isinstance(content, Text) else self.text(content)
        self.console.print(shown, highlight=False, soft_wrap=True)

    def indented(self, content: str | Text) -> None:
        """A paragraph under a heading."""
        shown = content if isinstance(content, Text) else self.text(content)
        self.console.print(Padding(shown, (0, 0, 0, 2)), highlight=False)
