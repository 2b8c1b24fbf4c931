"""The question put to the judge, the admissible answers, and what is judged, from a file or a catalogue."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from functools import lru_cache
from typing import Any, TypeAlias

from steelyard.core.content_hash import content_hash, plain
from steelyard.core.text import plural, pluralize
from steelyard.errors import ConfigError
from steelyard.tasks.transcripts.transcript import Transcript

BINARY_WORDS = {
    **dict.fromkeys(("yes", "true", "y", "pass", "good", "correct"), "1"),
    **dict.fromkeys(("no", "false", "n", "fail", "bad", "incorrect"), "0"),
}
"""Other ways to say 1 and 0 on a binary scale, in lower case."""


@dataclass(frozen=True)
class Binary:
    @property
    def answers(self) -> tuple[str, ...]:
        return ("0", "1")


@dataclass(frozen=True)
class Ordinal:
    low: int
    high: int

    def __post_init__(self) -> None:
        if self.low >= self.high:
            raise ValueError(f"an ordinal scale needs low < high, found {self.low} and {self.high}")

    @property
    def answers(self) -> tuple[str, ...]:
        return _whole_numbers(self.low, self.high)


@lru_cache(maxsize=64)
def _whole_numbers(low: int, high: int) -> tuple[str, ...]:
    """Spelled once: every question on a scale holds its answers, and a scale may be long."""
    return tuple(str(value) for value in range(low, high + 1))


@dataclass(frozen=True)
class Pairwise:
    tie: bool = True

    @property
    def answers(self) -> tuple[str, ...]:
        return ("1", "2", "tie") if self.tie else ("1", "2")


MOST_RESPONSES = 20
"""Responses that a judge may choose among: each is shown in every slot, so calls grow with their number."""


@dataclass(frozen=True)
class BestOf:
    """The slot of the best of several responses; two of them are a pair."""

    responses: int

    def __post_init__(self) -> None:
        if not 3 <= self.responses <= MOST_RESPONSES:
            raise ValueError(f"a best-of scale needs 3 to {MOST_RESPONSES} responses, found {self.responses}")

    @property
    def answers(self) -> tuple[str, ...]:
        return _whole_numbers(1, self.responses)

    @property
    def words(self) -> dict[str, str]:
        """Other ways to name a slot, in lower case."""
        return _slot_words(self.responses)


@lru_cache(maxsize=MOST_RESPONSES)
def _slot_words(responses: int) -> dict[str, str]:
    return {
        f"{noun}{sign}{slot}": str(slot)
        for slot in range(1, responses + 1)
        for noun in ("response", "candidate")
        for sign in ("_", " ")
    }


Scale: TypeAlias = Binary | Ordinal | Pairwise | BestOf

_RANGE = re.compile(r"(\d{1,6})\s*[-–]\s*(\d{1,6})")
_BEST_OF = re.compile(r"best[-_ ]of[-_ ](\d{1,3})")


def parse_scale(text: str) -> Scale:
    """The scale of a name: `binary`, `pairwise`, a range such as `1-6`, or `best-of-4` for four responses."""
    match text.strip().lower():
        case "binary":
            return Binary()
        case "pairwise":
            return Pairwise()
        case word if found := _RANGE.fullmatch(word):
            low, high = int(found[1]), int(found[2])
            if low < high:
                return Ordinal(low, high)
        case word if found := _BEST_OF.fullmatch(word):
            if 3 <= int(found[1]) <= MOST_RESPONSES:
                return BestOf(int(found[1]))
            raise ConfigError(
                f"scale: found {text!r}, expected 3 to {MOST_RESPONSES} responses; two of them are pairwise."
            )
    raise ConfigError(
        f"scale: found {text!r}, expected binary, pairwise or a range such as 1-6, lowest first, or "
        "best-of-4 for four responses; correct it."
    )


def answer_words(scale: Scale) -> dict[str, str]:
    """Other words for the answers of a scale, in lower case."""
    if isinstance(scale, Binary):
        return BINARY_WORDS
    return scale.words if isinstance(scale, BestOf) else {}


def with_usual_words(scale: Scale, given: Mapping[str, str]) -> dict[str, str]:
    """A map of words, beside the answers and their usual words unless it gives one of them a meaning."""
    usual = {answer: answer for answer in scale.answers} | answer_words(scale)
    return dict(given) if usual.keys() & given.keys() else {**usual, **given}


USUAL_ENDS = ((0, 1), (1, 5), (0, 5), (1, 10), (0, 10), (0, 100))
"""Lowest and highest score of the scales that raters are asked on most often, the narrowest first."""
_ENDS = re.compile(r"(-?\d{1,6})\s*[-–]\s*(-?\d{1,6})")


def ends_of(text: str) -> tuple[float, float] | None:
    """Lowest and highest score of a scale by its name, which may lie below 0; None of one without scores."""
    found = _ENDS.fullmatch(text.strip())
    if found and int(found[1]) < int(found[2]):
        return float(found[1]), float(found[2])
    return (0.0, 1.0) if isinstance(parse_scale(text), Binary) else None


def usual_ends(low: float, high: float) -> tuple[float, float]:
    """Ends of the narrowest usual scale that holds both scores; where none does, the scores themselves.

    A scale that is only as wide as its scores misses rare ones beyond them: of 40 labels by a judge that
    gives 1 to 5 and never less than 4, where 3 % deserve a 1, .73 of the intervals held the truth.
    """
    return next(((float(a), float(b)) for a, b in USUAL_ENDS if a <= low and high <= b), (low, high))


def scale_name(scale: Scale) -> str:
    if isinstance(scale, Ordinal):
        return f"{scale.low}-{scale.high}"
    if isinstance(scale, BestOf):
        return f"best-of-{scale.responses}"
    return "binary" if isinstance(scale, Binary) else "pairwise"


@dataclass(frozen=True)
class Task:
    instruction: str
    rubric: str
    scale: Scale


def question_hash(tasks: Iterable[Task]) -> str:
    """Of the instructions and rubrics that are shown."""
    return content_hash([[*pair] for pair in sorted({(task.instruction, task.rubric) for task in tasks})])


SURFACE_CLAUSE = "Wording, style, sentence order and length do not count."
"""The part of the catalogue's rubric that says what quality is not."""

CHECKLIST_TASK = Task(
    instruction="Decide which of two answers to a request is better.",
    rubric=f"The better answer gives more of the things the request asks for. {SURFACE_CLAUSE}",
    scale=Pairwise(tie=True),
)


ADDITIONS = ("transcript", "failing", "context", "metadata")
"""Fields that are left out of the content where they say nothing: items have the hash they had without."""


@dataclass(frozen=True)
class Item:
    """A request with one response (pointwise), two (pairwise) or several of which one is the best."""

    id: str
    request: str
    responses: tuple[str, ...]
    cluster: str
    """What the item shares with others, such as a source: items of a cluster are not independent."""
    label: str | None = None
    stratum: str | None = None
    rubric: str | None = None
    reference: str | None = None
    instruction: str | None = None
    scale: Scale | None = None
    votes: tuple[str, ...] = ()
    """Every person's answer on the scale, where several were asked; `label` is what they came to."""
    authors: tuple[str, ...] | None = None
    transcript: Transcript | None = None
    """The agent's run behind the response, which is its rendering; None where the response is a text."""

    failing: str | None = None
    """Answer on the scale that says that the response breaks the rubric; None where nobody has said."""

    context: str | None = None
    """What the response was to rest on, such as retrieved passages; for judges that ask for it by name."""
    metadata: str | None = None
    """A JSON object of the user's own, for judges that ask for it by name."""

    @property
    def passing(self) -> str | None:
        """Answer on the scale that says that the response keeps the rubric: the far end from `failing`."""
        if self.failing is None:
            return None
        answers = (self.scale or Binary()).answers
        return answers[-1] if self.failing == answers[0] else answers[0]

    @property
    def content(self) -> dict[str, Any]:
        body = plain(self)
        if self.transcript is not None:
            body["transcript"] = self.transcript.to_json()
        if self.transcript is None:
            del body["failing"]  # how answers on a text are read changes nothing that is shown
        return {key: value for key, value in body.items() if value is not None or key not in ADDITIONS}


def missing_labels(missing: int, rows: int) -> str:
    """`4 of 60 rows have no label, …`; empty where none or all have one."""
    if not 0 < missing < rows:
        return ""
    have, none = plural(missing, "has", "have"), plural(missing, "it", "them")
    return (
        f"{missing:,} of {pluralize(rows, 'row')} {have} no label, and no figure against labels counts {none}"
    )
