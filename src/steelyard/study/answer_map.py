"""What a judge's own words mean on the scale, as people write it."""

from __future__ import annotations

from collections.abc import Mapping

from steelyard.core.validation import parse_map, shown
from steelyard.errors import ConfigError
from steelyard.tasks.scale import Scale, scale_name
from steelyard.tasks.sources.cells import SPELLINGS
from steelyard.verdicts.answers import ABSTAIN, bare, spelled

ANSWER_MAP = 'a map from the judge\'s words to answers of the scale, such as {pass: "1", fail: "0"}'
"""What the key `answers` takes."""

Word = str | int | float | bool
"""A word as YAML may have read it."""


def answer_map(given: Mapping[Word, Word] | str, scale: Scale, where: str) -> dict[str, str]:
    """Word to answer; a text is `word=answer,word=answer`."""
    pairs = parse_map(given, where, "WORD=ANSWER", "pass=1,fail=0") if isinstance(given, str) else given
    admissible = (*scale.answers, ABSTAIN)
    words: dict[str, str] = {}
    for word, answer in pairs.items():
        meaning = spelled(str(int(answer) if isinstance(answer, bool) else answer), scale)
        if meaning not in admissible:
            raise ConfigError(
                f"{where}: {word!r} stands for {shown(answer)}, expected an answer of the scale "
                f"{scale_name(scale)!r} ({', '.join(admissible)}); correct it."
            )
        for each in SPELLINGS[word] if isinstance(word, bool) else (str(word),):
            _add(words, each, meaning, scale, where)
    if not words:
        raise ConfigError(f"{where}: found an empty map, expected {ANSWER_MAP}; fill it, or leave it out.")
    return words


def _add(words: dict[str, str], word: str, meaning: str, scale: Scale, where: str) -> None:
    name = spelled(bare(word), scale)
    if not name:
        raise ConfigError(f"{where}: found an empty word, expected one that a reply can hold; correct it.")
    if words.setdefault(name, meaning) != meaning:
        raise ConfigError(
            f"{where}: {name!r} stands for {words[name]} and for {meaning}, expected one; correct it."
        )
