"""White space alone: the words, as `str.split` gives them, stay what they are.

Fenced code is left as it stands, for there white space has meaning. A text that offers no place for the edit
gives None.
"""

from __future__ import annotations

import random
import re

from steelyard.stimuli.surface.segments import in_prose, lines_of, prose_stretches, replace_spans

_BREAK = re.compile(r"(?<=\S)[^\S\r\n]*(?P<end>\r\n|\r|\n)(?=\s*\S)")
_WORD_GAP = re.compile(r"(?<=\S) +(?=\S)")
# A line that begins with a fence would open a block of code.
_BREAKABLE = re.compile(r"(?<=\S) +(?=\S)(?!```|~~~)")
_SENTENCE_GAP = re.compile(r"(?<=[.!?]) +(?=\S)(?!```|~~~)")
# Between two lines with words, and not before a line of dashes, which would become the mark of a heading.
_BLANKS = re.compile(
    r"(?<=\S)(?P<gap>[^\S\r\n]*(?P<end>\r\n|\r|\n)(?:[^\S\r\n]*(?:\r\n|\r|\n))+)"
    r"(?=[^\S\r\n]*(?!(?:-+|=+)[^\S\r\n]*(?:[\r\n]|\Z))\S)"
)
_INDENTS = ("  ", "    ", "      ", "        ", "\t", "\t\t")
_SHARE = 0.4


def blank_lines(text: str, rng: random.Random) -> str | None:
    """One to three blank lines after every line; half of the texts that have blank lines lose them instead.

    A text of one line gains them after every sentence. A single sentence is broken at one gap between words;
    a single word cannot be.
    """
    stretches = prose_stretches(text)
    blanks = [match for match in _BLANKS.finditer(text) if _inside(match, stretches)]
    if blanks and rng.random() < 0.5:
        return replace_spans(text, {match.span("gap"): match["end"] for match in blanks})
    breaks = [match for match in _BREAK.finditer(text) if _inside(match, stretches)]
    if breaks:
        return replace_spans(text, {m.span("end"): m["end"] * (1 + rng.randint(1, 3)) for m in breaks})
    gaps = [match for match in _SENTENCE_GAP.finditer(text) if _inside(match, stretches)]
    if not gaps:
        gaps = [match for match in _BREAKABLE.finditer(text) if _inside(match, stretches)]
        gaps = [rng.choice(gaps)] if gaps else []
    changed = {match.span(): "\n" * (1 + rng.randint(1, 3)) for match in gaps}
    return replace_spans(text, changed) if changed else None


def space_clusters(text: str, rng: random.Random) -> str | None:
    """Two to six spaces more in some gaps between words of a line; at least one gap."""
    stretches = prose_stretches(text)
    gaps = [match for match in _WORD_GAP.finditer(text) if _inside(match, stretches)]
    if not gaps:
        return None
    hit = [gap for gap in gaps if rng.random() < _SHARE] or [rng.choice(gaps)]
    return replace_spans(text, {gap.span(): gap[0] + " " * rng.randint(2, 6) for gap in hit})


def indentation(text: str, rng: random.Random) -> str | None:
    """Every line with words moved right alike, by 2 to 8 spaces or one or two tabs."""
    space = rng.choice(_INDENTS)

    def indented(prose: str) -> str:
        return "".join(space + line if line.strip() else line for line in lines_of(prose))

    edited = in_prose(text, indented)
    return None if edited == text else edited


def _inside(match: re.Match[str], stretches: list[tuple[int, int]]) -> bool:
    return any(start <= match.start() and match.end() <= end for start, end in stretches)
