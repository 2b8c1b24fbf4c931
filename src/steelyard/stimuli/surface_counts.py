"""Surface counts: what can be counted in a text, alone or beside its request, understanding neither."""

from __future__ import annotations

import re
from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass
from functools import cached_property

_WORD = re.compile(r"[A-Za-z0-9]+(?:['.,/-][A-Za-z0-9]+)*")
_SENTENCE_END = re.compile(r"(?<=[.!?])\s+|\n+")


def _list(words: str) -> frozenset[str]:
    return frozenset(words.split())


_VAGUE = _list(
    """many much most more some several various lot lots plenty few often sometimes usually generally mostly
    always never quite rather fairly really very perhaps maybe probably people everyone everybody anyone
    someone something anything everything things thing kind sort kinds sorts way ways whole countless
    different common ordinary familiar everyday popular nice good great well known nearly almost certain"""
)
_NUMBERS = _list(
    """one two three four five six seven eight nine ten eleven twelve fifteen twenty thirty forty fifty sixty
    hundred thousand half third quarter twice once double first second dozen zero"""
)
_UNITS = _list(
    """second seconds minute minutes hour hours day days week weeks month months year years metre metres
    centimetre centimetres millimetre millimetres kilometre kilometres gram grams kilogram kilograms litre
    litres millilitre degrees percent pounds pence euros cup cups spoon teaspoon tablespoon"""
)
_ARTICLES, _DETERMINERS = _list("the a an"), _list("this that these those each every any no all both some")
_READER, _WRITER = _list("you your yours yourself"), _list("i we my our me us mine ours")
_OTHERS = _list("it its he she they them their his her who whose")
_BEING = _list("is are was were be been being am")
_HAVING = _list("has have had having do does did done")
_MODALS = _list("should must can may might will would could shall need needs ought")
_NEGATIONS = _list("not no never none nothing neither nor without cannot")
_JOINING = _list("and or but so yet")
_LINKING = _list("that which because since as if when while where until unless before after though although")
_PLACING = _list("in on at into onto inside under over above below near between behind beside across through")
_RELATING = _list("of for with from by to about against during than per")
_COMMON = (
    _ARTICLES | _DETERMINERS | _READER | _WRITER | _OTHERS | _BEING | _HAVING | _MODALS | _NEGATIONS
    | _JOINING | _LINKING | _PLACING | _RELATING | _list("there here how what why up down out off only also")
)  # fmt: skip
"""Words that carry grammar, and say nothing of what a text is about."""
_ORDERS = _list(
    """
    add allow apply ask avoid bring buy call check choose clean close cook cover cut do drain draw dry empty
    fill find fit get give go have heat hold keep leave let lift look make measure mix move open pay
    place plan press pull push put read remove repeat report rinse run save say see send set show start
    stay stop store take tell test tie try tip turn use wait walk wash watch wear wipe work write"""
)


@dataclass(frozen=True)
class Surface:
    """A text beside its request, cut into words and sentences once for all counts."""

    request: str
    text: str

    @cached_property
    def written(self) -> list[str]:
        return _WORD.findall(self.text)

    @cached_property
    def words(self) -> list[str]:
        return [word.lower() for word in self.written]

    @cached_property
    def openers(self) -> list[str]:
        """The first word of every sentence."""
        starts = (_WORD.search(sentence) for sentence in _SENTENCE_END.split(self.text))
        return [start.group().lower() for start in starts if start is not None]

    @cached_property
    def asked(self) -> frozenset[str]:
        return frozenset(word.lower() for word in _WORD.findall(self.request))

    @cached_property
    def asked_stems(self) -> frozenset[str]:
        return frozenset(word[:_STEM] for word in self.asked - _COMMON if len(word) >= _STEM)

    def among(self, listed: Collection[str]) -> float:
        return float(sum(word in listed for word in self.words))


_STEM = 5
"""Letters by which a word is known in another form."""
Count = Callable[[Surface], float]


def _marks(pattern: str) -> Count:
    found = re.compile(pattern)
    return lambda surface: float(len(found.findall(surface.text)))


def _among(listed: Collection[str]) -> Count:
    return lambda surface: surface.among(listed)


def _ending(*ends: str) -> Count:
    return lambda surface: float(sum(len(word) > _STEM and word.endswith(ends) for word in surface.words))


def _opening(listed: Collection[str]) -> Count:
    return lambda surface: float(sum(word in listed for word in surface.openers))


def _initials(letters: str) -> Count:
    return lambda surface: float(sum(word[0] in letters for word in surface.words))


COUNTS: Mapping[str, Count] = {
    "words": lambda surface: float(len(surface.words)),
    "sentences": lambda surface: float(len(surface.openers)),
    "letters": _marks(r"[A-Za-z]"),
    "commas": _marks(","),
    "colons and semicolons": _marks("[:;]"),
    "hyphens": _marks("-"),
    "apostrophes": _marks("'"),
    "brackets and quotes": _marks(r"[()\[\]\"]"),
    "marks of lists": _marks(r"(?m)^\s*(?:[-*#]|\d+[.)])"),
    "digits": _marks(r"\d"),
    "figures": _marks(r"\d+(?:[.,]\d+)*"),
    "number words": _among(_NUMBERS),
    "units": _among(_UNITS),
    "capitals": _marks("[A-Z]"),
    "capitals inside sentences": _marks(r"(?<=[a-z0-9,] )[A-Z]"),
    "vowels": _marks("[aeiouAEIOU]"),
    "rare letters": _marks("[jkqvxzJKQVXZ]"),
    "letter e": _marks("[eE]"),
    "syllables": _marks("[aeiouyAEIOUY]+"),
    "long words": lambda surface: float(sum(len(word) >= 8 for word in surface.words)),
    "short words": lambda surface: float(sum(len(word) <= 3 for word in surface.words)),
    "longest word": lambda surface: float(max(map(len, surface.words), default=0)),
    "distinct words": lambda surface: float(len(set(surface.words))),
    "distinct words a word": lambda surface: len(set(surface.words)) / max(1, len(surface.words)),
    "words that recur": lambda surface: float(
        sum(surface.words.count(word) > 1 for word in set(surface.words) - _COMMON)
    ),
    "vague words": _among(_VAGUE),
    "function words": _among(_COMMON),
    "the": _among({"the"}),
    "a and an": _among({"a", "an"}),
    "of": _among({"of"}),
    "to": _among({"to"}),
    "words for places": _among(_PLACING),
    "words that relate": _among(_RELATING),
    "words that join": _among(_JOINING),
    "words that link clauses": _among(_LINKING),
    "forms of be": _among(_BEING),
    "forms of have and do": _among(_HAVING),
    "should, must, can": _among(_MODALS),
    "you and your": _among(_READER),
    "I and we": _among(_WRITER),
    "it, they, who": _among(_OTHERS),
    "this, each, all": _among(_DETERMINERS),
    "words that deny": _among(_NEGATIONS),
    "words in -ing": _ending("ing"),
    "words in -ed": _ending("ed"),
    "words in -s": _ending("s"),
    "words in -ly": _ending("ly"),
    "words in -er and -est": _ending("er", "est"),
    "words in -tion, -ment, -ness, -ity": _ending("tion", "ment", "ness", "ity"),
    "sentences that order": _opening(_ORDERS),
    "sentences that open with an article": _opening(_ARTICLES),
    "sentences that open with a joining word": _opening(_LINKING | _PLACING | _RELATING | _JOINING),
    "sentences that open with a pronoun": _opening(_READER | _WRITER | _OTHERS | _DETERMINERS),
    "sentences that open in -ing": lambda surface: float(
        sum(word.endswith("ing") for word in surface.openers)
    ),
    "sentences that open with a number": lambda surface: float(
        sum(word in _NUMBERS or word[0].isdigit() for word in surface.openers)
    ),
    "place of the first letter": lambda surface: float(ord(surface.words[0][0]) if surface.words else 0),
    "initials a to h": _initials("abcdefgh"),
    "initials s and t": _initials("st"),
    "words of the request": lambda surface: surface.among(surface.asked),
    "content words of the request": lambda surface: surface.among(surface.asked - _COMMON),
    "stems of the request": lambda surface: float(
        sum(word[:_STEM] in surface.asked_stems for word in surface.words)
    ),
    "distinct words of the request": lambda surface: float(
        len(surface.asked.intersection(surface.words) - _COMMON)
    ),
}
"""Name to count; each is a number of one text, so that a difference of two texts is one as well."""


def surface_counts(request: str, text: str) -> tuple[float, ...]:
    """Every count of a text, in the order of `COUNTS`."""
    surface = Surface(request, text)
    return tuple(count(surface) for count in COUNTS.values())
