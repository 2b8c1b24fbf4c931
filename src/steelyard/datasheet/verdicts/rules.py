"""The rules: which readings are faults, how grave each is, what comes with it, and what cures it.

The order of gravity: a judge whose answers say nothing, then one that is drawn by something beside the
quality of the texts, then one that is drawn by nothing and still imprecise. A fault that brings another with
it stands for both: a judge that always names the first text also prefers one of two identical texts, and
sees no difference of quality; one cure is due, not three.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from enum import IntEnum

from steelyard.datasheet.look_up import Figures
from steelyard.datasheet.verdicts.facts import (
    beats_no_baseline,
    mostly_ties,
    mostly_unreadable,
    no_step_seen,
    rather_failed,
    slot_decides,
    worse_than_nothing,
)
from steelyard.datasheet.words import titles

GUIDE = "docs/guides/fix-a-judge.md"
"""One heading for each reading."""
RIGHT = (titles.SENSITIVITY, titles.ACCURACY)
"""Readings that say whether a judge tells good from bad."""
USELESS = "Do not use it: change the model or the prompt, and measure again."
"""What follows from answers that say nothing."""


REVERSED = (
    "Do not use it: see whether the scale, the labels or the answers are reversed; if not, change the "
    "model or the prompt, and measure again."
)
"""What follows from answers that are wrong more often than those of a rule that reads nothing."""


NO_CHOICE = (
    "Do not use it: it calls most pairs a tie; ask for a choice, or change the model or the prompt, and "
    "measure again."
)
"""What follows from answers that miss the better text for they name none."""


class Gravity(IntEnum):
    """How grave a fault is, the gravest first."""

    USELESS = 0
    """The answers say nothing about the texts."""
    BIASED = 1
    """Something beside quality draws them."""
    IMPRECISE = 2
    """They are too coarse, or differ from call to call."""


@dataclass(frozen=True)
class Rule:
    """What a flagged reading means for the verdict."""

    title: str
    """Title of the reading."""
    gravity: Gravity
    """How grave it is, unless the answers prove useless."""
    remedy: str
    """What cures it, in one sentence."""
    brings: tuple[str, ...] = ()
    """Titles that are flagged with it and expected of it."""
    when: Callable[[Figures], bool] | None = None
    """What has to hold beside the flag; None where nothing has to."""
    when_useless: str = USELESS
    """What follows where it, or what it brings, makes the answers useless."""

    @property
    def guide(self) -> str:
        """Where its cures stand."""
        return guide_to(self.title)


def guide_to(title: str) -> str:
    """The heading of a reading in the guide."""
    return f"{GUIDE}#{title.lower().replace(' ', '-')}"


_OF_BLIND_ANSWERS = (
    titles.ZERO_POINT,
    titles.LENIENCY,
    titles.LENGTH,
    titles.ROBUSTNESS,
    titles.REPEATABILITY,
    titles.SENSITIVITY,
)
"""Flagged with an accuracy that no reading of the texts would give."""
_BOTH_ORDERS = "Ask in both orders and count a disagreement as a tie."
_READABLE = "Look at the replies that could not be read, and ask for the form that the reader reads."
_ASK_AGAIN = "Find out why its calls fail; the same command asks them again."

FAULTS = (
    Rule(
        titles.FAILURES,
        Gravity.USELESS,
        _READABLE,
        (
            titles.ZERO_POINT,
            titles.POSITION,
            titles.NATURAL_PAIRS,
            titles.SENSITIVITY,
            titles.ACCURACY,
            titles.REPEATABILITY,
        ),
        mostly_unreadable,
        _READABLE,
    ),
    Rule(
        titles.POSITION,
        Gravity.BIASED,
        _BOTH_ORDERS,
        (
            titles.NATURAL_PAIRS,
            titles.ZERO_POINT,
            titles.NOISE,
            titles.SENSITIVITY,
            titles.ACCURACY,
            titles.SURFACE,
            titles.REPEATABILITY,
        ),
    ),
    Rule(titles.NATURAL_PAIRS, Gravity.USELESS, USELESS, (titles.NOISE, titles.ACCURACY), slot_decides),
    Rule(titles.NATURAL_PAIRS, Gravity.BIASED, _BOTH_ORDERS, (titles.NOISE, titles.ACCURACY)),
    Rule(titles.ACCURACY, Gravity.USELESS, NO_CHOICE, _OF_BLIND_ANSWERS, mostly_ties, NO_CHOICE),
    Rule(titles.ACCURACY, Gravity.USELESS, REVERSED, _OF_BLIND_ANSWERS, worse_than_nothing, REVERSED),
    Rule(titles.ACCURACY, Gravity.USELESS, USELESS, _OF_BLIND_ANSWERS, beats_no_baseline),
    Rule(
        titles.SENSITIVITY,
        Gravity.USELESS,
        USELESS,
        (titles.ZERO_POINT, titles.SURFACE, titles.NOISE, titles.REPEATABILITY),
        no_step_seen,
    ),
    Rule(
        titles.LENGTH,
        Gravity.BIASED,
        "Say in the rubric that length does not count, compare texts of like length, and measure again.",
        (titles.SURFACE, titles.LENIENCY, titles.ROBUSTNESS, titles.ACCURACY),
    ),
    Rule(
        titles.LENIENCY,
        Gravity.BIASED,
        "Say in the rubric what earns which answer, with examples, or correct means and shares by its bias.",
        (titles.ZERO_POINT, titles.ACCURACY),
    ),
    Rule(
        titles.SURFACE,
        Gravity.BIASED,
        "Ask for a tie unless the rubric decides, and count a preference that is not shown twice as none.",
        (titles.SENSITIVITY, titles.REPEATABILITY),
    ),
    Rule(
        titles.RUNS,
        Gravity.IMPRECISE,
        "Have it name, for each claim of the agent, the message that bears it out before it scores; give it "
        "less to read at once, or take a stronger model.",
        (titles.ACCURACY,),
    ),
    Rule(
        titles.ROBUSTNESS,
        Gravity.BIASED,
        "Bring texts to one form before they are judged, and say in the rubric that form does not count.",
        (titles.ACCURACY, titles.ZERO_POINT),
    ),
    Rule(
        titles.REPEATABILITY,
        Gravity.IMPRECISE,
        "Set the temperature to 0, or take the majority or the mean of three calls.",
        (titles.ZERO_POINT, titles.SENSITIVITY, titles.ACCURACY, titles.NOISE),
    ),
    Rule(
        titles.STRATA,
        Gravity.IMPRECISE,
        "Have people judge the stratum that is named, or show the judge examples of it, and measure again.",
    ),
    Rule(
        titles.ZERO_POINT,
        Gravity.BIASED,
        "Keep empty texts away from it, and say in the prompt how to answer where there is nothing to judge.",
    ),
    Rule(
        titles.SENSITIVITY,
        Gravity.IMPRECISE,
        "Use it for differences that it sees, or sharpen the rubric or take a stronger model.",
    ),
    Rule(
        titles.ACCURACY,
        Gravity.IMPRECISE,
        "Sharpen the rubric, or take a stronger model; both show on the same rows.",
    ),
    Rule(titles.NOISE, Gravity.BIASED, _BOTH_ORDERS),
    Rule(titles.FAILURES, Gravity.IMPRECISE, _ASK_AGAIN, when=rather_failed),
    Rule(titles.FAILURES, Gravity.IMPRECISE, _READABLE),
)
"""Readings that are faults where they are flagged, causes before what they bring; the first that applies to a
title counts, and where gravity is equal the order here decides."""
