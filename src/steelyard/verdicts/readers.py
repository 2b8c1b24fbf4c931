"""Parse the judge's reply: readers turn raw text into a verdict, or say why there is none; how sure it was.

A reader never raises and never guesses: exactly one distinct answer must be found. The reasons of an
unreadable reply are those of `verdict.REASONS` and no others, since the datasheet counts them. Confidence is
stated in the reply, the probability of the answer's token, or a column.
"""

from __future__ import annotations

import math
import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from math import isfinite
from typing import Protocol

from steelyard.core.registry import Registry
from steelyard.errors import ConfigError
from steelyard.tasks.task import BestOf, Binary, Ordinal, Pairwise, Scale
from steelyard.trials.judge import Reply
from steelyard.verdicts.reasons import json_reason, stated_answer, thought_of
from steelyard.verdicts.verdict import (
    AMBIGUOUS,
    BROKEN_OFF,
    EMPTY,
    IMPROBABLE,
    NO_ANSWER,
    NO_LOGPROBS,
    NO_SCORES,
    OFF_SCALE,
    REFUSAL,
    TRUNCATED,
    Decided,
    Tie,
    Unreadable,
    Verdict,
    find_answers,
    is_unfinished,
    normalize,
    strip_wrapping,
    word_verdict,
)


class Reader(Protocol):
    def __call__(self, reply: Reply, scale: Scale) -> Verdict:
        """The verdict; `Unreadable` where there is none."""

    def form(self, scale: Scale) -> str:
        """What a reply must hold, for the words "wants …"."""

    def named(self, reply: Reply, scale: Scale) -> str | None:
        """The answer that the reason in a reply ends with; None without one."""


@dataclass(frozen=True)
class _Mapped:
    answers: Mapping[str, str] = field(default_factory=dict, kw_only=True)
    """Word to answer of the scale, where the judge has words of its own."""

    def _verdict(self, value: object, scale: Scale) -> Verdict:
        inner = strip_wrapping(value) if isinstance(value, str) else value
        return word_verdict(inner, scale, self.answers)

    def _words(self, scale: Scale) -> tuple[str, ...]:
        """The words that the judge's owner has for the answers; the answers where there are none."""
        return tuple(self.answers) or scale.answers


@dataclass(frozen=True)
class _TextReader(_Mapped):
    def __call__(self, reply: Reply, scale: Scale) -> Verdict:
        if reply.finish in NO_VERDICT:
            return Unreadable(NO_VERDICT[reply.finish])
        text = without_reasoning(reply.text)
        cut = _CUT.get(reply.finish)
        verdict = self._read(text, scale, cut=cut is not None) if text.strip() else Unreadable(EMPTY)
        if cut is not None and isinstance(verdict, Unreadable):
            return Unreadable(cut)
        return verdict

    def named(self, reply: Reply, scale: Scale) -> str | None:
        if len(reply.text) < LEAST_REPLY or reply.finish in _CUT:
            return None
        reason = self._reason(without_reasoning(reply.text), scale) or thought_of(reply.text)
        return stated_answer(reason, scale, self.answers)

    def _reason(self, text: str, scale: Scale) -> str:
        """What a reply says beside its answer."""
        del text, scale
        return ""

    def _read(self, text: str, scale: Scale, *, cut: bool) -> Verdict:
        """The verdict of a text; one that was `cut` and may have been going to be another answer is none."""
        verdict = self._verdict(text, scale)
        if cut and isinstance(verdict, Decided):
            unfinished = is_unfinished(strip_wrapping(text), scale, self.answers)
            return Unreadable(TRUNCATED) if unfinished else verdict
        return verdict


@dataclass(frozen=True)
class JsonReader(_TextReader):
    """One JSON object with the key `winner` or `score`: bare, in a code fence, or inside prose."""

    key: str | None = None

    def _read(self, text: str, scale: Scale, *, cut: bool) -> Verdict:
        del cut
        key = self.key or json_key(scale)
        if isinstance(scale, Binary):
            text = re.sub(_LITERAL.format(re.escape(key)), lambda truth: truth[0].lower(), text)
        values = find_answers(text, key)
        if values is None:
            return Unreadable(NO_ANSWER)
        return _the_one(self._verdict(value, scale) for value in values)

    def _reason(self, text: str, scale: Scale) -> str:
        return json_reason(text, self.key or json_key(scale))

    def form(self, scale: Scale) -> str:
        key = self.key or json_key(scale)
        if isinstance(scale, Ordinal):
            return f'{{"{key}": n}}, n from {scale.low} to {scale.high}'
        quote = '"' if isinstance(scale, (Pairwise, BestOf)) else ""
        return either([f'{{"{key}": {quote}{word}{quote}}}' for word in self._words(scale)])


@dataclass(frozen=True)
class ChoiceReader(_TextReader):
    """A reply that is just the answer; quotes, emphasis, `Score:` before it and a period are tolerated."""

    def form(self, scale: Scale) -> str:
        return f"just the answer, {either(self._words(scale))}"


@dataclass(frozen=True)
class RegexReader(_TextReader):
    """The one group of a pattern; every match must give the same answer."""

    pattern: str

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

    def _read(self, text: str, scale: Scale, *, cut: bool) -> Verdict:
        groups = [match[1] for match in re.finditer(self.pattern, text) if match[1] is not None]
        return _the_one(super(RegexReader, self)._read(group, scale, cut=cut) for group in groups)

    def _reason(self, text: str, scale: Scale) -> str:
        del scale
        return re.sub(self.pattern, " ", text).strip()

    def form(self, scale: Scale) -> str:
        return f"a match of {self.pattern} whose group is {either(self._words(scale))}"


LEAST_PROBABILITY = 0.5
"""What the answers must hold together of the first token; below it the judge probably says something else."""


@dataclass(frozen=True)
class LogprobReader(_Mapped):
    """The most probable of the admissible answers, where the first token most probably is one of them."""

    def __call__(self, reply: Reply, scale: Scale) -> Verdict:
        if reply.finish in NO_VERDICT:
            return Unreadable(NO_VERDICT[reply.finish])
        if not reply.logprobs:
            return Unreadable(NO_LOGPROBS)
        held = self.probabilities(reply, scale)
        if not held:
            return Unreadable(OFF_SCALE)
        # Rounded: one half as a sum of exponentials may be a little less.
        if round(math.fsum(held.values()), 9) < LEAST_PROBABILITY:
            return Unreadable(IMPROBABLE)
        top = max(held.values())
        verdict = _the_one(answer for answer, probability in held.items() if probability == top)
        if isinstance(verdict, Decided) and self._begins_another(verdict.value, reply.logprobs, scale):
            return Unreadable(AMBIGUOUS)
        return verdict

    def answer_probability(self, reply: Reply, scale: Scale) -> float:
        """What all answers hold together of the probability of the first token."""
        return math.fsum(self.probabilities(reply, scale).values())

    def probabilities(self, reply: Reply, scale: Scale) -> dict[Verdict, float]:
        """The probability of each answer among the tokens, summed over its spellings."""
        held: dict[Verdict, float] = {}
        for token, logprob in (reply.logprobs or {}).items():
            verdict = word_verdict(token, scale, self.answers)
            if isinstance(verdict, (Decided, Tie)) and not math.isnan(logprob):
                held[verdict] = held.get(verdict, 0.0) + math.exp(min(logprob, 0.0))
        return held

    def _begins_another(self, answer: str, tokens: Iterable[str], scale: Scale) -> bool:
        """Whether `1` may be the beginning of `10`: so where no token spells the longer answer."""
        longer = {other for other in scale.answers if other != answer and other.startswith(answer)}
        return bool(longer) and not longer & {normalize(token, scale) for token in tokens}

    def named(self, reply: Reply, scale: Scale) -> None:
        """Its answer is the first token, and what follows is not asked for."""

    def form(self, scale: Scale) -> str:
        return f"log-probabilities of {either(self._words(scale))} as the first token"


@dataclass(frozen=True)
class LikelihoodReader:
    """The slot with the larger score; a tie when the scores differ by less than the margin."""

    margin: float = 0.0

    def __post_init__(self) -> None:
        if isinstance(self.margin, bool) or not isinstance(self.margin, (int, float)) or not self.margin >= 0:
            raise ConfigError(
                f"reader likelihood: margin is {self.margin!r}, expected a number of at least 0."
            )

    def __call__(self, reply: Reply, scale: Scale) -> Verdict:
        scores = reply.scores
        if scores is None or len(scores) != 2 or any(math.isnan(score) for score in scores):
            return Unreadable(NO_SCORES)
        first, second = scores
        if first == second or abs(first - second) < self.margin:
            return word_verdict("tie", scale)
        return word_verdict("1" if first > second else "2", scale)

    def named(self, reply: Reply, scale: Scale) -> None:
        """It gives scores and says nothing."""

    def form(self, scale: Scale) -> str:
        del scale
        return "a score for each of the two texts"


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


def either(words: Sequence[str]) -> str:
    """`1, 2 or tie`; of many the first and the last."""
    if len(words) > _LISTED:
        return f"one of {words[0]} to {words[-1]}"
    *others, last = words
    return f"{', '.join(others)} or {last}" if others else last


_LISTED = 7
LEAST_REPLY = 24
"""Characters below which a reply holds an answer and no reason; most do, and are not looked at twice."""


def json_key(scale: Scale) -> str:
    """The key under which a JSON answer on this scale stands, unless the reader names another."""
    return "winner" if isinstance(scale, (Pairwise, BestOf)) else "score"


_LITERAL = r'"{}"\s*:\s*(?:True|False)(?=\s*[,}}])'
"""A truth value as Python writes it, under a key; JSON has it in lower case."""

NO_VERDICT = {"refusal": REFUSAL, "filter": REFUSAL, "unreadable": NO_ANSWER, "off_scale": OFF_SCALE}
"""Why a reply is none to be read, by how it ended."""
_CUT = {"length": TRUNCATED, "other": BROKEN_OFF}
"""Why an answer may be no whole one, by how it ended."""


def _the_one(verdicts: Iterable[Verdict]) -> Verdict:
    distinct = set(verdicts)
    if len(distinct) > 1:
        return Unreadable(AMBIGUOUS)
    return distinct.pop() if distinct else Unreadable(NO_ANSWER)


def without_reasoning(text: str) -> str:
    """Drop reasoning that some servers leave in front of the answer; unfinished reasoning holds no answer."""
    if not text.lstrip().startswith("<think>"):
        return text
    _, closing, answer = text.rpartition("</think>")
    return answer if closing else ""


STATED, TOKEN, COLUMN = "stated", "token", "column"
"""Kinds: a field of the reply, the probability of the answer's token, a column of recorded verdicts."""
FIELD = "confidence"
"""Field of a JSON reply that holds the stated confidence."""


@dataclass(frozen=True)
class Confidence:
    """From 0 to 1 or in percent: a judge with one above 1 speaks in percent throughout."""

    value: float
    kind: str


def confidence_of(reader: Reader, reply: Reply, scale: Scale) -> Confidence | None:
    if isinstance(reader, LogprobReader):
        chance = token_probability(reader, reply, scale)
        return None if chance is None else Confidence(chance, TOKEN)
    stated = stated_confidence(reply.text)
    return None if stated is None else Confidence(stated, STATED)


def stated_confidence(text: str) -> float | None:
    """The one number under `confidence`, from 0 to 100; None where there is none, or several."""
    if FIELD not in text:
        return None
    values = set(map(_number, find_answers(without_reasoning(text), FIELD) or ()))
    return values.pop() if len(values) == 1 else None


def _number(value: object) -> float | None:
    text = value.strip().removesuffix("%") if isinstance(value, str) else value
    if isinstance(text, bool) or not isinstance(text, (str, int, float)):
        return None
    try:
        number = float(text)
    except ValueError:
        return None
    return number if isfinite(number) and 0 <= number <= 100 else None


def token_probability(reader: LogprobReader, reply: Reply, scale: Scale) -> float | None:
    """The answer's share of the probability that all answers hold together."""
    held = reader.probabilities(reply, scale)
    total = sum(held.values())
    return max(held.values()) / total if total else None


def in_percent(values: Iterable[float]) -> bool:
    """Whether a judge's confidences are meant in percent: one is above 1."""
    return any(value > 1 for value in values)
