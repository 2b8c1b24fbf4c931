"""Signs that stand beside the words, so that colour never carries the meaning alone."""

from __future__ import annotations

SIGNS = {"clear": "✓", "flagged": "!", "inconclusive": "?", "measured": "·", "undefined": "–"}
"""Of every word."""
MARKS = {word: SIGNS[word] for word in ("flagged", "inconclusive")}
"""Of the words that are told beside a figure; that it is clear needs no mark."""
