"""The rules: which findings are faults, what comes with each, and what mends it.

Merit comes first: a judge that is shown not to tell good from bad is unfit, whatever else is flagged, and the
cause is named by the first rule of `REASONS_OF_NO_MERIT` that applies. A judge to which padding is worth
three quality steps or more, with its whole interval, goes by length and is unfit too. Where merit is shown,
the faults are listed: first what draws answers away from quality, then what makes them imprecise. When one
fault explains another, only the cause is listed: a judge that always names the first text also prefers one of
two identical texts; one remedy is due, not two.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from enum import IntEnum

from steelyard.datasheet.conclusions.reasons import (
    merit_is_reversed,
    more_failed_than_unreadable,
    mostly_ties,
    never_right,
    never_ties,
    only_empty_texts,
    prefers_at_random,
    same_answer,
)
from steelyard.datasheet.estimate_index import JudgeEstimates
from steelyard.datasheet.words import titles

GUIDE = "docs/guides/fix-a-judge.md"
RIGHT = (titles.SENSITIVITY, titles.ACCURACY)
"""Readings that say how well a judge with merit tells good from bad."""
USELESS = "Do not use it: change the model or the prompt, and measure again."
REVERSED = (
    "Do not use it: see whether the scale, the labels or the answers are reversed; if not, change the "
    "model or the prompt, and measure again."
)
NO_CHOICE = (
    "Do not use it: it names neither text of most pairs; ask for a choice, or change the model or the "
    "prompt, and measure again."
)
BY_LENGTH = (
    "Do not use it: it goes by the length of the texts; say in the rubric that length does not count, or "
    "change the model, and measure again."
)
BY_SLOT = (
    "Do not use it: it goes by the place of the texts; change the model or the prompt, and measure again."
)


class Severity(IntEnum):
    BIASED = 1
    """Something beside quality draws the answers."""
    IMPRECISE = 2
    """They are too coarse, or differ from call to call."""


@dataclass(frozen=True)
class Rule:
    title: str
    severity: Severity
    remedy: str
    brings: tuple[str, ...] = ()
    """Titles that are flagged with it and expected of it."""
    when: Callable[[JudgeEstimates], bool] | None = None
    cause: str = ""
    """The title under which the fault is told, where that is not the finding's."""
    instead: str = ""
    """What follows where the calls speak against the remedy, or it is applied already."""

    @property
    def name(self) -> str:
        return self.cause or self.title


def guide_to(title: str) -> str:
    return f"{GUIDE}#{title.lower().replace(' ', '-')}"


@dataclass(frozen=True)
class NoMerit:
    title: str
    follows: str
    flagged: bool = False
    """True where the finding of that title has to be flagged."""
    when: Callable[[JudgeEstimates], bool] | None = None


REASONS_OF_NO_MERIT = (
    NoMerit(titles.MERIT, REVERSED, when=merit_is_reversed),
    NoMerit(titles.LENGTH, BY_LENGTH, flagged=True),
    NoMerit(titles.POSITION, BY_SLOT, flagged=True),
    NoMerit(titles.NATURAL_PAIRS, BY_SLOT, flagged=True),
    NoMerit(titles.ROTATION, BY_SLOT, flagged=True),
    NoMerit(titles.MERIT, USELESS, when=lambda figures: same_answer(figures) is not None),
    NoMerit(titles.MERIT, NO_CHOICE, when=mostly_ties),
    NoMerit(titles.MERIT, USELESS),
)
"""The first that applies is told."""

_BOTH_ORDERS = "Ask in both orders and count a disagreement as a tie."
_AVERAGE = "Ask in both orders and average the answers; a tie for every disagreement costs too much here."
_READABLE = "Look at the replies that could not be read, and ask for the form that the reader reads."
_ASK_AGAIN = "Find out why its calls fail; the same command asks them again."
_STEADY = "Set the temperature to 0, or take the majority or the mean of three calls."
UNREADABLE = _READABLE

FAULTS = (
    Rule(
        titles.POSITION,
        Severity.BIASED,
        _BOTH_ORDERS,
        (
            titles.NATURAL_PAIRS,
            titles.DARK_CURRENT,
            titles.NOISE,
            titles.SENSITIVITY,
            titles.ACCURACY,
            titles.REPEATABILITY,
        ),
        instead=_AVERAGE,
    ),
    Rule(
        titles.NATURAL_PAIRS, Severity.BIASED, _BOTH_ORDERS, (titles.NOISE, titles.ACCURACY), instead=_AVERAGE
    ),
    Rule(
        titles.ROTATION,
        Severity.BIASED,
        "Ask in every rotation and take the response that is named most often.",
        (titles.ACCURACY,),
    ),
    Rule(
        titles.ACCURACY,
        Severity.BIASED,
        "Use its order and not its scores, or say in the rubric what earns each score, with examples.",
        when=never_right,
    ),
    Rule(
        titles.EXPECTED,
        Severity.BIASED,
        "Read some of the changed or written texts with their labels; if the labels are right, say in the "
        "rubric what earns which answer, with examples, or take a stronger model.",
    ),
    Rule(
        titles.LENGTH,
        Severity.BIASED,
        "Say in the rubric that length does not count, compare texts of like length, and measure again.",
        (titles.LENIENCY, titles.ROBUSTNESS, titles.ACCURACY),
    ),
    Rule(
        titles.CUES,
        Severity.BIASED,
        "Say in the rubric that what is named does not count, take it out of the texts before they are "
        "judged, and measure again.",
    ),
    Rule(
        titles.LENIENCY,
        Severity.BIASED,
        "Say in the rubric what earns which answer, with examples, or correct means and shares by its bias.",
        (titles.DARK_CURRENT, titles.ACCURACY),
    ),
    Rule(
        titles.SURFACE,
        Severity.BIASED,
        "Ask for a tie unless the rubric decides, and count a preference that is not shown twice as none.",
        (titles.SENSITIVITY, titles.REPEATABILITY),
    ),
    Rule(
        titles.RUNS,
        Severity.IMPRECISE,
        "Have it name, for each claim of the agent, the message that bears it out before it scores; give it "
        "less to read at once, or take a stronger model.",
        (titles.ACCURACY,),
    ),
    Rule(
        titles.ROBUSTNESS,
        Severity.BIASED,
        "Bring texts to one form before they are judged, and say in the rubric that form does not count.",
        (titles.ACCURACY, titles.DARK_CURRENT),
    ),
    Rule(
        titles.REPEATABILITY,
        Severity.IMPRECISE,
        _STEADY,
        (titles.DARK_CURRENT, titles.SENSITIVITY, titles.ACCURACY, titles.NOISE),
        instead="Set the temperature to 0, or take a stronger model.",
    ),
    Rule(
        titles.STRATA,
        Severity.IMPRECISE,
        "Have people judge the stratum that is named, or show the judge examples of it, and measure again.",
    ),
    Rule(
        titles.DARK_CURRENT,
        Severity.BIASED,
        "Say in the prompt that a tie is allowed, and show one; or ask in both orders and count a "
        "disagreement as a tie.",
        (titles.NOISE, titles.SENSITIVITY, titles.SURFACE),
        never_ties,
        titles.NO_TIES,
        "Say in the prompt that a tie is allowed, and show one.",
    ),
    Rule(
        titles.DARK_CURRENT,
        Severity.IMPRECISE,
        f"{_BOTH_ORDERS[:-1]}, or take the majority of three calls.",
        (titles.NOISE, titles.SENSITIVITY, titles.SURFACE),
        prefers_at_random,
        titles.NOISE,
        _STEADY,
    ),
    Rule(
        titles.DARK_CURRENT,
        Severity.BIASED,
        "Keep empty texts away from it, and say in the prompt how to answer where there is nothing to judge.",
        when=only_empty_texts,
    ),
    Rule(
        titles.DARK_CURRENT,
        Severity.BIASED,
        "Say in the prompt how to answer where there is nothing to judge, with an example.",
    ),
    Rule(
        titles.SENSITIVITY,
        Severity.IMPRECISE,
        "Use it for differences that it sees, or sharpen the rubric or take a stronger model.",
    ),
    Rule(
        titles.ACCURACY,
        Severity.IMPRECISE,
        "Sharpen the rubric, or take a stronger model; both show on the same rows.",
    ),
    Rule(titles.NOISE, Severity.BIASED, _BOTH_ORDERS),
    Rule(titles.FAILURES, Severity.IMPRECISE, _ASK_AGAIN, when=more_failed_than_unreadable),
    Rule(titles.FAILURES, Severity.IMPRECISE, _READABLE),
)
"""Readings that are faults where they are flagged, causes before what they bring; the first that applies to a
title counts, and where severity is equal the order here decides."""
