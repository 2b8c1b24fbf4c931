"""The table of ratings: who said what of which item, and how a file is mapped to it."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, NamedTuple

from steelyard.core.validation import parse_map, unknown_key
from steelyard.errors import ConfigError
from steelyard.tasks.sources.cells import normal
from steelyard.tasks.sources.table import Where

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
        return RatingsTable(name, (*self.ratings, *other.ratings), (*self.remarks, *other.remarks))


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
        parts = parse_parts(columns)
        words = parse_map(values or "", "--values", "WORD=NUMBER", "good=1,bad=0")
        try:
            numbers = {normal(word): float(number) for word, number in words.items()}
        except ValueError as error:
            raise ConfigError(f"--values: {error}, expected numbers, as in good=1,bad=0.") from error
        keep: dict[str, Any] = parse_map(where or "", "--where", "COLUMN=VALUE", "split=test")
        return cls(parts, tuple(judges), tuple(people), Categories(numbers) if nominal else numbers, keep)


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
