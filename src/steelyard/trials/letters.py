"""How long a text is for a model: some scripts say in one sign what others spell in several letters."""

from __future__ import annotations

import re

DENSE = re.compile("[\u1100-\u11ff\u2e80-\u9fff\uac00-\ud7af\uf900-\ufaff\uff00-\uffef\U00020000-\U0003ffff]")
"""Signs of Chinese, Japanese and Korean, and their punctuation."""
WEIGHT = 2.4
"""Letters of English prose that make as many tokens as one such sign; the tests hold a published table."""


def letters(text: str) -> float:
    """Length of a text, in letters of English prose that make as many tokens."""
    return len(text) if text.isascii() else len(text) + (WEIGHT - 1) * len(DENSE.findall(text))
