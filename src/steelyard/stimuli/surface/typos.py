"""Graded slips of the keyboard."""

from __future__ import annotations

import random
import re

from steelyard.stimuli.surface.segments import prose_stretches, replace_spans

_NEGATIONS = """
    not no nor none never nothing nobody nowhere neither without cannot cant dont doesnt didnt wont isnt arent
    wasnt werent hasnt havent hadnt shouldnt wouldnt couldnt mustnt except unless hardly barely
"""
_NUMBERS = """
    zero one two three four five six seven eight nine ten eleven twelve thirteen fourteen fifteen sixteen
    seventeen eighteen nineteen twenty thirty forty fifty sixty seventy eighty ninety hundred thousand million
    billion half quarter third fourth fifth first second once twice
"""
PROTECTED = frozenset((_NEGATIONS + _NUMBERS).split())
"""Negations and numbers in words: they are never hit, and no slip may produce one."""

_TOKEN = re.compile(r"\S+")
_LETTERS = re.compile(r"[^\W\d_]+")
_WORD = re.compile(r"(?P<before>[(\[“\"'‘*_]*)(?P<word>[^\W\d_]{4,})(?P<after>[)\],.;:!?”\"'’*_]*)")
_SENTENCE_ENDS = ("", ".", "!", "?", ":", "\n", "\r")
_ROWS = ("qwertyuiop", "asdfghjkl", "zxcvbnm")


def typos(text: str, share: float, rng: random.Random) -> str | None:
    """The text with a slip in this share (0 to 1) of the words that can take one; at least one slip.

    A word can take one that has four or more letters and nothing else, is no name (a capital inside a
    sentence), no negation and no number, and does not stand in code. Its first and last letter stay. With the
    same random stream a higher share holds every slip of a lower one.
    """
    if not 0 < share <= 1:
        raise ValueError(f"a share of typos is above 0 and at most 1, found {share}")
    words = _words(text)
    order = rng.sample(range(len(words)), len(words))
    seeds = [rng.getrandbits(64) for _ in words]
    taken = PROTECTED.union(_LETTERS.findall(text.lower()))
    slips = {}
    for number in order:
        start, end = words[number]
        slip = _slip(text[start:end], random.Random(seeds[number]), taken)
        if slip is not None:
            slips[start, end] = slip
    hit = list(slips.items())[: max(1, round(share * len(slips)))]
    return replace_spans(text, dict(hit)) if hit else None


def _words(text: str) -> list[tuple[int, int]]:
    places = []
    for start, end in prose_stretches(text):
        for token in _TOKEN.finditer(text, start, end):
            word = _WORD.fullmatch(token[0])
            # A stretch of prose may end in the middle of a word, next to inline code.
            whole = (token.start() == 0 or text[token.start() - 1].isspace()) and (
                token.end() == len(text) or text[token.end()].isspace()
            )
            if word and whole and not _fixed(word["word"], text[: token.start()]):
                places.append((token.start() + word.start("word"), token.start() + word.end("word")))
    return places


def _fixed(word: str, before: str) -> bool:
    """Whether a word says something that a slip would change: a negation, a number, or a name."""
    begins = before.rstrip(" \t")[-1:] in _SENTENCE_ENDS
    named = word.isupper() or (word[0].isupper() and not begins)
    return named or word.lower() in PROTECTED


def _slip(word: str, rng: random.Random, taken: frozenset[str]) -> str | None:
    """The word with one slip inside it that is no word of the text, or None where every slip is."""
    slips = [*_swaps(word), *_drops(word), *_doubles(word), *_neighbours(word)]
    for slip in rng.sample(slips, len(slips)):
        if slip != word and slip.lower() not in taken:
            return slip
    return None


def _swaps(word: str) -> list[str]:
    return [word[:i] + word[i + 1] + word[i] + word[i + 2 :] for i in range(1, len(word) - 2)]


def _drops(word: str) -> list[str]:
    return [word[:i] + word[i + 1 :] for i in range(1, len(word) - 1)]


def _doubles(word: str) -> list[str]:
    return [word[:i] + word[i] + word[i:] for i in range(1, len(word) - 1)]


def _neighbours(word: str) -> list[str]:
    """One inner letter replaced by the key beside it."""
    slips = []
    for i in range(1, len(word) - 1):
        for row in _ROWS:
            place = row.find(word[i])
            if place >= 0:
                beside = row[max(0, place - 1) : place] + row[place + 1 : place + 2]
                slips += [word[:i] + key + word[i + 1 :] for key in beside]
    return slips
