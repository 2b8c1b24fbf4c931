"""Names of the files of a published datasheet."""

from __future__ import annotations

JSON, MARKDOWN, PAGE = SHEETS = ("datasheet.json", "datasheet.md", "datasheet.html")
"""In every format."""
