"""Readers turn a raw reply into a verdict, or say why there is none.

A reader never raises and never guesses: exactly one distinct answer must be found. The reasons of an
unreadable reply are the constants below and no others, since the datasheet counts them.
"""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Protocol

from steelyard.errors import ConfigError
from steelyard.registry import Registry
from steelyard.tasks.scale import BINARY_WORDS, Binary, Pairwise, Scale
from steelyard.trials.reply import Reply
from steelyard.verdicts.json_answers import find_answers
from steelyard.verdicts.verdict import Abstained, Decided, Tie, Unreadable, Verdict

TRUNCATED = "truncated"
"""The token limit came before a complete answer."""
REFUSAL = "refusal"
"""The model refused, or the provider filtered the reply."""
EMPTY = "empty"
"""The reply is blank."""
NO_ANSWER = "no answer"
"""There is text, but no answer in the form that was asked for."""
AMBIGUOUS = "ambiguous"
"""Two different answers."""
OFF_SCALE = "not on the scale"
"""An answer that the scale does not admit."""
NO_LOGPROBS = "no logprobs"
"""The server sent no log-probabilities."""
NO_SCORES = "no scores"
"""The provider sent no pair of scores."""

REASONS = (TRUNCATED, REFUSAL, EMPTY, NO_ANSWER, AMBIGUOUS, OFF_SCALE, NO_LOGPROBS, NO_SCORES)
"""Every reason a reader gives."""


class Reader(Protocol):
    """Reads a verdict from a reply."""

    def __call__(self, reply: Reply, scale: Scale) -> Verdict:
        """The verdict; `Unreadable` where there is none."""


@dataclass(frozen=True)
class JsonReader:
    """One JSON object with the key `winner` or `score`: bare, in a code fence, or inside prose."""

    def __call__(self, reply: Reply, scale: Scale) -> Verdict:
        """The verdict; `Unreadable` where there is none."""
        return _from_text(reply, lambda text: self._read(text, scale))

    def _read(self, text: str, scale: Scale) -> Verdict:
        text = _LITERAL.sub(lambda truth: truth[0].lower(), text) if isinstance(scale, Binary) else text
        found = find_answers(text, "winner" if isinstance(scale, Pairwise) else "score")
        if found is None:
            return Unreadable(NO_ANSWER)
        return _the_one(on_scale(value, scale) for value in found)


@dataclass(frozen=True)
class ChoiceReader:
    """A reply that is just the answer; white space, quotes and a final period are tolerated."""

    def __call__(self, reply: Reply, scale: Scale) -> Verdict:
        """The verdict; `Unreadable` where there is none."""
        return _from_text(reply, lambda text: _whole(_bare(text), reply, scale))


@dataclass(frozen=True)
class RegexReader:
    """The one group of a pattern; every match must give the same answer."""

    pattern: str
    """Regular expression with exactly one group."""

    def __post_init__(self) -> None:
        try:
            groups = re.compile(self.pattern).groups
        except (re.error, TypeError, OverflowError, RecursionError) as error:
            raise ConfigError(
                f"reader regex: {self.pattern!r} is not a regular expression ({error}); correct the pattern."
            ) from error
        if groups != 1:
            raise ConfigError(
                f"reader regex: {self.pattern!r} has {groups} groups, expected one; "
                "put ( ) around the answer and (?: ) around other parts."
            )

    def __call__(self, reply: Reply, scale: Scale) -> Verdict:
        """The verdict; `Unreadable` where there is none."""
        return _from_text(reply, lambda text: self._read(text, reply, scale))

    def _read(self, text: str, reply: Reply, scale: Scale) -> Verdict:
        groups = [match[1] for match in re.finditer(self.pattern, text)]
        return _the_one(_whole(group, reply, scale) for group in groups if group is not None)


@dataclass(frozen=True)
class LogprobReader:
    """The admissible answer with the highest log-probability."""

    def __call__(self, reply: Reply, scale: Scale) -> Verdict:
        """The verdict; `Unreadable` where there is none."""
        if reply.finish in _REFUSED:
            return Unreadable(REFUSAL)
        if not reply.logprobs:
            return Unreadable(NO_LOGPROBS)
        best: dict[Verdict, float] = {}
        for token, logprob in reply.logprobs.items():
            verdict = on_scale(token, scale)
            if isinstance(verdict, (Decided, Tie)) and not math.isnan(logprob):
                best[verdict] = max(logprob, best.get(verdict, -math.inf))
        top = max(best.values(), default=0.0)
        verdict = _the_one(answer for answer, logprob in best.items() if logprob == top)
        return Unreadable(OFF_SCALE) if verdict == Unreadable(NO_ANSWER) else verdict


@dataclass(frozen=True)
class LikelihoodReader:
    """The slot with the larger score; a tie when the scores differ by less than the margin."""

    margin: float = 0.0
    """Scores closer than this are a tie."""

    def __post_init__(self) -> None:
        if isinstance(self.margin, bool) or not isinstance(self.margin, (int, float)) or not self.margin >= 0:
            raise ConfigError(
                f"reader likelihood: margin is {self.margin!r}, expected a number of at least 0."
            )

    def __call__(self, reply: Reply, scale: Scale) -> Verdict:
        """The verdict; `Unreadable` where there is none."""
        scores = reply.scores
        if scores is None or len(scores) != 2 or any(math.isnan(score) for score in scores):
            return Unreadable(NO_SCORES)
        first, second = scores
        if first == second or abs(first - second) < self.margin:
            return on_scale("tie", scale)
        return on_scale("1" if first > second else "2", scale)


READERS: Registry[Reader] = Registry(
    "reader",
    {
        "json": f"{__name__}:JsonReader",
        "choice": f"{__name__}:ChoiceReader",
        "logprob": f"{__name__}:LogprobReader",
        "regex": f"{__name__}:RegexReader",
        "likelihood": f"{__name__}:LikelihoodReader",
    },
)
"""Readers by the name a study file uses."""


def on_scale(value: object, scale: Scale) -> Verdict:
    """The verdict of one answer value, text, number or truth value; only the word `abstain` declines."""
    if not isinstance(value, (str, int, float)):
        return Unreadable(OFF_SCALE)
    answer = str(value).strip().lower()
    if answer == "abstain":
        return Abstained()
    if not isinstance(scale, Pairwise):
        answer = _WHOLE.sub("", answer)
    if isinstance(scale, Binary):
        answer = BINARY_WORDS.get(answer, answer)
    if answer not in scale.answers:
        return Unreadable(OFF_SCALE)
    return Tie() if answer == "tie" else Decided(answer)


_LITERAL = re.compile(r'"score"\s*:\s*(?:True|False)(?=\s*[,}])')
"""A truth value as Python writes it; JSON has it in lower case."""

_BEGINNINGS = frozenset(("y", "n", "no"))
"""Words with which others begin, of another meaning."""

_WHOLE = re.compile(r"(?<=\d)\.0+$")
"""What a whole number written as a fraction ends with."""


_REFUSED = frozenset({"refusal", "filter"})


def _from_text(reply: Reply, read: Callable[[str], Verdict]) -> Verdict:
    """Apply the rules that all readers of text share."""
    if reply.finish in _REFUSED:
        return Unreadable(REFUSAL)
    text = without_reasoning(reply.text)
    verdict = read(text) if text.strip() else Unreadable(EMPTY)
    if reply.finish == "length" and isinstance(verdict, Unreadable):
        return Unreadable(TRUNCATED)
    return verdict


def _whole(answer: str, reply: Reply, scale: Scale) -> Verdict:
    """The verdict; a cut `1` may have been going to be `10`: what another answer begins with is refused."""
    verdict = on_scale(answer, scale)
    if reply.finish == "length" and isinstance(verdict, Decided):
        longer = (other for other in scale.answers if other != verdict.value)
        if any(other.startswith(verdict.value) for other in longer) or answer.lower() in _BEGINNINGS:
            return Unreadable(TRUNCATED)
    return verdict


def _the_one(verdicts: Iterable[Verdict]) -> Verdict:
    distinct = set(verdicts)
    if len(distinct) > 1:
        return Unreadable(AMBIGUOUS)
    return distinct.pop() if distinct else Unreadable(NO_ANSWER)


def _bare(text: str) -> str:
    return text.strip().removesuffix(".").strip("\"'`“”‘’ \t\r\n").removesuffix(".").strip()


def without_reasoning(text: str) -> str:
    """Drop reasoning that some servers leave in front of the answer; unfinished reasoning holds no answer."""
    if not text.lstrip().startswith("<think>"):
        return text
    _, closing, answer = text.rpartition("</think>")
    return answer if closing else ""
