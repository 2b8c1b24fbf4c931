"""The table of ratings: who said what of which item, and how a file is mapped to it."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import lru_cache
from shlex import quote
from typing import Any, NamedTuple

import numpy as np

from steelyard.core.arrays import Ints
from steelyard.core.validation import parse_map, unknown_key
from steelyard.errors import ConfigError, DataError
from steelyard.tasks.sources.table import LOST, SLOTS, Where, is_missing, is_number, normal, plain_text
from steelyard.tasks.task import BINARY_WORDS

HUMAN, JUDGE, CODE = "human", "judge", "code"
KINDS = {
    **dict.fromkeys(("human", "people"), HUMAN),
    **dict.fromkeys(("judge", "llm", "llm_judge"), JUDGE),
    "code": CODE,
}
PARTS = (
    *("item", "rater", "kind", "value", "criterion", "system", "system_a", "system_b"),
    *("task", "stratum", "run", "split", "p_drawn"),
)
LARGEST = 1e15
"""Beyond it sums of squares lose their digits."""


@dataclass(frozen=True, slots=True)
class Rating:
    item: str
    rater: str
    kind: str
    value: float | None
    """Score, 0 or 1, or the share of the win of `system`; None where the judge gave no verdict."""
    criterion: str = ""
    system: str = ""
    versus: str = ""
    """The other system, where two were compared."""
    task: str = ""
    """Items of one task are not independent."""
    stratum: str = ""
    run: str = ""
    split: str = ""
    """`tune` for items that the judge was tuned on."""
    p_drawn: float | None = None


class RatingRow(NamedTuple):
    """A rating as a file has it, before its value is read."""

    where: str
    rater: str
    kind: str
    """Empty where the file does not say it."""
    about: Mapping[str, Any]
    """Item, systems and other fields of the rating."""
    cell: Any
    column: str
    passed: bool | None = None
    """Pass or fail by the tool's own threshold, where the cell is a score and the tool has one."""


@dataclass(frozen=True)
class RatingsTable:
    name: str
    ratings: tuple[Rating, ...]
    remarks: tuple[str, ...] = ()
    stopped_early: bool = False
    """Whether labelling may have stopped by a rule that was declared before the first label."""
    words: Mapping[float, str] = field(default_factory=dict)
    """Nominal ratings: words by the numbers that stand for them."""
    mapping: str = ""
    """Which columns were taken by their names, in a line."""
    scale: tuple[float, float] | None = None
    """Ends of the scale, where a draw or a run names one."""

    def raters(self, kind: str) -> dict[str, int]:
        """Raters of a kind, each with its number of ratings."""
        return dict(Counter(rating.rater for rating in self.ratings if rating.kind == kind))

    @property
    def is_pairwise(self) -> bool:
        return any(rating.versus for rating in self.ratings)

    @property
    def systems(self) -> list[str]:
        named = (name for rating in self.ratings for name in (rating.system, rating.versus) if name)
        return list(dict.fromkeys(named))

    @property
    def criteria(self) -> list[str]:
        return list(dict.fromkeys(rating.criterion for rating in self.ratings))

    def joined(self, other: RatingsTable) -> RatingsTable:
        name = f"{self.name} and {other.name}"
        rows, remarks = (*self.ratings, *other.ratings), (*self.remarks, *other.remarks)
        return RatingsTable(name, rows, remarks, scale=self.scale)


class Categories(dict[str, float]):
    """Values of words, where each other word is a category: of nominal ratings only sameness counts."""

    def __init__(self, values: Mapping[str, float]) -> None:
        super().__init__(values)
        self.words: dict[float, str] = {}
        """Categories as they stand in the file, by the number that stands for each."""

    def code(self, key: str, word: str) -> float:
        """A number for the word, beyond all that a file may hold."""
        number = self.setdefault(key, 2 * LARGEST + len(self))
        self.words.setdefault(number, word)
        return number


@dataclass(frozen=True)
class RatingColumns:
    """How a file is read: parts to columns, the columns of raters in a wide table, words to values."""

    columns: Mapping[str, str] = field(default_factory=dict)
    judges: Sequence[str] = ()
    people: Sequence[str] = ()
    values: Mapping[str, float] = field(default_factory=dict)
    where: Where = field(default_factory=dict)
    verdicts: bool = False
    """Whether a tool's pass or fail counts in the place of its score."""
    finds_people: bool = True
    """Whether columns of people are looked for; False where labels come from elsewhere."""
    ranks: bool = False
    """Whether rows are told apart by their system, so that a column of models is one."""

    @classmethod
    def parse(
        cls,
        columns: str | None = None,
        judges: Iterable[str] = (),
        people: Iterable[str] = (),
        values: str | None = None,
        where: str | None = None,
        *,
        nominal: bool = False,
    ) -> RatingColumns:
        """As the command line writes them; nominal ratings may be words."""
        parts, numbers = parse_parts(columns, known=(*PARTS, "score", "expected")), parse_values(values)
        # The map of `import` names the columns of a judge and of people too.
        judges = [*judges, *([parts.pop("score")] if "score" in parts else [])]
        people = [*people, *([parts.pop("expected")] if "expected" in parts else [])]
        keep: dict[str, Any] = parse_map(where or "", "--where", "COLUMN=VALUE", "split=test")
        return cls(parts, tuple(judges), tuple(people), Categories(numbers) if nominal else numbers, keep)


def parse_values(text: str | None) -> dict[str, float]:
    """Numbers by word, as the command line writes them."""
    words = parse_map(text or "", "--values", "WORD=NUMBER", "good=1,bad=0")
    for word, number in words.items():
        if not is_number(number):
            raise ConfigError(
                f"--values: {word!r} means {number!r}, expected a number, as in good=1,bad=0; correct it."
            )
    return {normal(word): float(number) for word, number in words.items()}


WINS = {word: {"1": 1.0, "2": 0.0, "tie": 0.5}[slot] for word, slot in SLOTS.items()} | {"0": 0.0, "0.5": 0.5}
"""Share of the win of the first of two; 1 is slot 1 and a whole win."""
_normal_text = lru_cache(4096)(normal)
"""Of texts: the words and scores of a file are few."""


_DECIMAL_COMMA = re.compile(r"[+-]?\d+,\d+")


def value_of(
    cell: Any, where: str, column: str, words: Mapping[str, float], *, compared: bool = False
) -> float | None:
    """What a cell says; None where it is empty, or says that there is no verdict."""
    if is_missing(cell):
        return None
    text = _normal_text(cell) if isinstance(cell, str) else normal(cell)
    if not text or text in words:
        return words.get(text)
    if compared and text in WINS:
        return WINS[text]
    if text in LOST:
        return None
    if not compared:
        number = float(word) if is_number(word := BINARY_WORDS.get(text, text)) else float("nan")
        if abs(number) <= LARGEST:
            return number
        if isinstance(words, Categories):
            return words.code(text, plain_text(cell).strip())
    if _DECIMAL_COMMA.fullmatch(text):
        raise DataError(
            f"{where}: column {column!r} holds {text!r}, expected a number with a point, such as 0.5; "
            "replace the commas in that column."
        )
    expected = "a, b or tie" if compared else f"a number up to {LARGEST:g}, or a word such as pass or fail"
    shown = plain_text(cell).strip()[:60]
    raise DataError(
        f"{where}: column {column!r} holds {shown!r}, expected {expected}; correct the row, or say what the "
        f"word means with --values {quote(shown)}=NUMBER."
    )


def parse_parts(
    text: str | None,
    option: str = "--columns",
    known: Sequence[str] = PARTS,
    example: str = "item=id,task=topic",
) -> dict[str, str]:
    """Columns by part, as the command line writes them."""
    parts = parse_map(text or "", option, "PART=COLUMN", example)
    for part in parts:
        if part not in known:
            raise ConfigError(f"{option}: {unknown_key(part, known)}")
    return parts


def independence(tasks: Iterable[str], noun: str = "items") -> str:
    """What is assumed where no tasks say which items belong together; empty where they do."""
    named = set(tasks)
    if named == {""}:
        return f"{noun} are independent, since no task is named"
    return f"{noun} are independent, since all lie in one task" if len(named) == 1 else ""


def task_numbers(tasks: Iterable[str]) -> Ints:
    """A number for the task of each item; an item without one is a task of its own."""
    numbers: dict[str, int] = {}
    every = [numbers.setdefault(task or f"\0{n}", len(numbers)) for n, task in enumerate(tasks)]
    return np.array(every, dtype=np.int64)
