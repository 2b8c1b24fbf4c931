"""The tokenizer of the embedded model, and its chat template."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import cache, lru_cache
from itertools import pairwise
from typing import TypeAlias

from steelyard.errors import ProviderRefusedError
from steelyard.trials.presentation import Message, Slots

_WORDS = re.compile(
    r"[0-9]"
    r"|'(?:s|t|re|ve|m|ll|d)"
    r"| ?[A-Za-z]+"
    r"| ?[^\sA-Za-z0-9]+"
    r"|\s+(?![^\s0-9])"  # a run of spaces leaves its last one to the word that follows
    r"|\s+",
    re.ASCII,
)


@dataclass(frozen=True)
class Encoded:
    ids: tuple[int, ...]
    ends: tuple[int, ...]
    """For each token, where in the text the word that holds it ends."""


class Tokenizer:
    """The vocabulary and merge rules of one model.

    Control tokens are never read from text: a candidate that spells `<|im_end|>` stays a text.
    """

    def __init__(self, tokens: Sequence[str], merges: Iterable[str]) -> None:
        self._ids = {token: number for number, token in enumerate(tokens)}
        self._ranks = {tuple(rule.split(" ")): rank for rank, rule in enumerate(merges)}
        self._word = lru_cache(maxsize=50_000)(self._encode_word)

    def control(self, name: str) -> int:
        return self._ids[name]

    def encode(self, text: str) -> Encoded:
        ids: list[int] = []
        ends: list[int] = []
        for start, end in split_words(text):
            word = self._word(text[start:end])
            ids += word
            ends += [end] * len(word)
        return Encoded(tuple(ids), tuple(ends))

    def _encode_word(self, word: str) -> tuple[int, ...]:
        alphabet = _byte_letters()
        parts = [alphabet[byte] for byte in word.encode("utf-8", "surrogatepass")]
        while (place := self._best_merge(parts)) is not None:
            parts[place : place + 2] = [parts[place] + parts[place + 1]]
        # Bytes that never occur in valid UTF-8 have no token; number 0 is the model's unknown token.
        return tuple(self._ids.get(part, 0) for part in parts)

    def _best_merge(self, parts: list[str]) -> int | None:
        pairs = pairwise(parts)
        ranked = [(self._ranks[pair], place) for place, pair in enumerate(pairs) if pair in self._ranks]
        return min(ranked)[1] if ranked else None


def split_words(text: str) -> list[tuple[int, int]]:
    shape = text if text.isascii() else "".join(map(_shape, text))
    return [match.span() for match in _WORDS.finditer(shape)]


@cache
def _shape(letter: str) -> str:
    """An ASCII character of the same class, since `re` has no Unicode categories."""
    if letter.isascii():
        return letter
    if letter.isspace():
        return "\n"
    return {"L": "Z", "N": "0"}.get(unicodedata.category(letter)[0], "!")


@cache
def _byte_letters() -> tuple[str, ...]:
    """The printable letter that stands for each byte in the vocabulary (GPT-2's table)."""
    printable = {*range(33, 127), *range(161, 173), *range(174, 256)}
    letters, spare = [], 256
    for byte in range(256):
        letters.append(chr(byte) if byte in printable else chr(spare))
        spare += byte not in printable
    return tuple(letters)


Stage: TypeAlias = tuple[int, ...]

DEFAULT_SYSTEM = "You are a helpful AI assistant named SmolLM, trained by Hugging Face"


class Chat:
    def __init__(self, tokenizer: Tokenizer) -> None:
        self._encode = tokenizer.encode
        self._start = tokenizer.control("<|im_start|>")
        self._end = tokenizer.control("<|im_end|>")

    def stages(self, messages: Sequence[Message], slots: Slots) -> tuple[Stage, ...]:
        """Prompt tokens up to the assistant's turn, cut where prompts part.

        Prompts of one judge are alike up to the request, those of one request up to the first candidate, then
        up to its end where they show the same one first, and two protocols may be alike up to the end of
        the last candidate. Stages that prompts share are read once.
        """
        if not messages or messages[0].role != "system":
            messages = (Message("system", DEFAULT_SYSTEM), *messages)
        tokens: list[int] = []
        cuts: list[int] = []
        for message in messages:
            text = f"{message.role}\n{message.content}"
            encoded = self._encode(text)
            tokens.append(self._start)
            places = _places(text, slots)
            cuts = [len(tokens) + sum(end <= place for end in encoded.ends) for place in places]
            tokens += [*encoded.ids, self._end, *self._encode("\n").ids]
        tokens += [self._start, *self._encode("assistant\n").ids]
        return tuple(tuple(tokens[a:b]) for a, b in pairwise([0, *cuts, len(tokens)]) if a < b)

    def turn(self, text: str) -> Stage:
        return (*self._encode(text).ids, self._end)

    def first_tokens(self, answers: Sequence[str]) -> dict[str, int]:
        tokens = {answer: self._encode(answer).ids[0] for answer in answers}
        if len(set(tokens.values())) < len(tokens):
            raise ProviderRefusedError(
                f"the embedded judge tells answers apart by their first token, and some of "
                f"{', '.join(answers)} begin alike: use a scale of single digits, or another judge."
            )
        return tokens


def _places(text: str, slots: Slots) -> list[int]:
    places, searched = [], 0
    if slots.request and (start := text.find(slots.request)) >= 0:
        places.append(start)
        searched = start + len(slots.request)
    for number, candidate in enumerate(slots.texts):
        if candidate and (start := text.find(candidate, searched)) >= 0:
            searched = start + len(candidate)
            places += [start, searched] if number == 0 else [searched]
    return places
