"""Plain text to Markdown and back, with the words as they are."""

from __future__ import annotations

import re

from steelyard.stimuli.surface.segments import in_prose, lines_of

_SENTENCE_END = re.compile(r"(?<=[.!?])[ \t]+(?=\S)")
_HEADING = re.compile(r"^ {0,3}#{1,6}[ \t]+", re.MULTILINE)
_BULLET = re.compile(r"^(?P<indent>[ \t]*)[-*+•][ \t]+(?=\S)", re.MULTILINE)
_QUOTE = re.compile(r"^ {0,3}>[ \t]?", re.MULTILINE)
_RULE = re.compile(r"^ {0,3}(?:(?:-[ \t]*){3,}|(?:\*[ \t]*){3,}|(?:_[ \t]*){3,})$", re.MULTILINE)
_STRONG = re.compile(r"(?<![\w*])\*\*(?=\S)(?P<inner>[^*\r\n]+?)(?<=\S)\*\*(?![\w*])")
_STRONG_LOW = re.compile(r"(?<![\w_])__(?=\S)(?P<inner>[^_\r\n]+?)(?<=\S)__(?![\w_])")
_EMPHASIS = re.compile(r"(?<![\w*])\*(?=\S)(?P<inner>[^*\r\n]+?)(?<=\S)\*(?![\w*])")
_EMPHASIS_LOW = re.compile(r"(?<![\w_])_(?=\S)(?P<inner>[^_\r\n]+?)(?<=\S)_(?![\w_])")
_MARKS = re.compile(r"[*_#`~>|\[\]\\]|^[ \t]*(?:[-+•]|\d+[.)])(?:\s|$)|^[ \t]*(?:-[ \t]*){3,}$", re.MULTILINE)


_HEADING_WORDS = 12


def markdown(text: str) -> str | None:
    """The other form: a text with Markdown loses it, a plain text gains it."""
    return strip_markdown(text) or add_markdown(text)


def add_markdown(text: str) -> str | None:
    """Headings, bullets and bold beginnings; None for a text that has marks already or is a few words.

    A short first sentence becomes a heading where three or more follow; each further paragraph of several
    sentences becomes a list, with the first two words of each point in bold.
    """
    if _MARKS.search(text) or len(text.split()) < 4:
        return None
    paragraphs = [
        block for block in re.split(r"(?:\r\n|\r|\n)\s*(?:\r\n|\r|\n)", text.strip()) if block.strip()
    ]
    blocks = []
    for number, paragraph in enumerate(paragraphs):
        sentences = [
            part for line in lines_of(paragraph) for part in _SENTENCE_END.split(line.strip()) if part
        ]
        if number == 0 and len(sentences) > 3 and len(sentences[0].split()) <= _HEADING_WORDS:
            blocks.append("## " + sentences[0])
            sentences = sentences[1:]
        blocks.append("\n".join(map(_point, sentences)) if len(sentences) > 1 else _bold(sentences[0]))
    return "\n\n".join(blocks)


def strip_markdown(text: str) -> str | None:
    """The text without headings, bullets, quote marks, rules, bold and italics; None where there are none.

    Numbers of lists, links, tables and code stay: they hold words, or have meaning.
    """
    stripped = in_prose(text, _stripped)
    return None if stripped == text else stripped


def _stripped(prose: str) -> str:
    text = _RULE.sub("", _QUOTE.sub("", _HEADING.sub("", prose)))
    text = _BULLET.sub(lambda match: match["indent"], text)
    for pattern in (_STRONG, _STRONG_LOW, _EMPHASIS, _EMPHASIS_LOW):
        text = pattern.sub(lambda match: match["inner"], text)
    return text


def _point(sentence: str) -> str:
    return "- " + _bold(sentence)


def _bold(sentence: str) -> str:
    words = sentence.split()
    count = 2 if len(words) > 3 else 1
    end = re.match(rf"(?:\S+\s+){{{count - 1}}}\S+", sentence)
    return f"**{end[0]}**{sentence[end.end() :]}" if end else sentence
