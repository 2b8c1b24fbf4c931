"""Planted judges: how each answers, which word is due at each size, and which fault is to be named."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from calibration.answers import (
    ABSTAIN,
    FIRST,
    SECOND,
    TIE,
    UNREADABLE,
    PairAnswers,
    ScoreAnswers,
    agreeing,
    always,
    anyhow,
    below,
    compressed,
    constant,
    counting,
    grader,
    guessing,
    in_areas,
    inverted,
    knows,
    longest,
    mixed,
    on_written,
    probit,
    rater,
    sees,
    shifted,
    skips_middle,
    tossed,
    turned,
    where_longer,
)
from steelyard.datasheet.conclusion import CARE, NO_FAULT, TOO_LITTLE, UNFIT

LETTERS = {"U": UNFIT, "C": CARE, "N": NO_FAULT, "T": TOO_LITTLE}
"""Words by the letter that stands for them below and in the table."""
USELESS, EXCELLENT, GOOD, RIGHT = "useless", "excellent", "good", "right"
"""Classes of judges that the requirements speak of."""


@dataclass(frozen=True)
class PlantedJudge:
    """A judge whose truth is known."""

    answers: Any
    """`PairAnswers` or `ScoreAnswers`."""
    due: tuple[str, str, str]
    """Letters of the words that are right, at each size."""
    faults: tuple[str, ...] = ()
    """Titles of which one has to stand first among its facts; none where no fault has to be named."""
    class_: str = ""
    """`useless`, `excellent`, `good`, `right` in both parts of natural pairs, or neither."""
    remedy: str = ""
    """How the remedy begins that one would expect; empty where one would expect none."""


def _judge(
    answers: PairAnswers | ScoreAnswers, due: str, *faults: str, class_: str = "", remedy: str = ""
) -> PlantedJudge:
    quick, standard, full = due.split()
    return PlantedJudge(answers, (quick, standard, full), faults, class_, remedy)


ORDERS = "both orders"
MAJORITY = "majority"
MEAN = "mean"
_EXCELLENT = sees((0.99, 1, 1, 1, 1), equals=0.01)
_COIN = tossed()

CATALOGUE: Mapping[str, PlantedJudge] = {
    "excellent": _judge(_EXCELLENT, "N N N", class_=EXCELLENT),
    "good: .92 at one step, .03 between equals": _judge(
        sees((0.92, 0.97, 0.99, 1, 1), equals=0.03), "NT N N", class_=GOOD
    ),
    "good: .92 at one step, .11 between equals": _judge(
        sees((0.92, 0.97, 0.99, 1, 1), equals=0.11), "NT NC NC", class_=GOOD
    ),  # .11 lies beyond the limit of dark current, .10: with more data "care" becomes as right
    "small lean: net .08 between equals": _judge(probit(5, 2.5, 1.1), "NTC NC NC", "Position", remedy=ORDERS),
    "middle lean: net .27, .71 at one step": _judge(
        probit(4.2, 2.5, 1.9), "NTC C C", "Position", remedy=ORDERS
    ),
    "large lean: net .79, .53 at one step": _judge(
        probit(4.245, 2.5, 3.3), "TC C C", "Position", remedy=ORDERS
    ),
    "lean that differs from pair to pair": _judge(
        probit(4.2, 2.5, 1.0, pulled=2.0), "NTC C C", "Position", "Dark current", remedy=ORDERS
    ),
    "first where equal, else .99 right": _judge(
        below(0.5, always(FIRST), sees((0.99,) * 5)), "C C C", "Position", remedy=ORDERS
    ),
    "forced choice: a coin where equal, else .99 right": _judge(
        below(0.5, _COIN, sees((0.99,) * 5)), "C C C", remedy=ORDERS
    ),
    "first in 50 % of calls, else excellent": _judge(
        mixed(0.5, always(FIRST), _EXCELLENT), "TC C C", "Position", remedy=ORDERS
    ),
    "first in 30 % of calls, else excellent": _judge(
        mixed(0.3, always(FIRST), _EXCELLENT), "TC C C", "Position", remedy=ORDERS
    ),
    "first in 90 % of calls": _judge(mixed(0.9, always(FIRST), _EXCELLENT), "TU U U", class_=USELESS),
    "always first": _judge(always(FIRST), "U U U", class_=USELESS),
    "always second": _judge(always(SECOND), "U U U", class_=USELESS),
    "always tie": _judge(always(TIE), "U U U", class_=USELESS),
    "a coin": _judge(_COIN, "TU U U", class_=USELESS),
    "a coin with ties": _judge(tossed(3), "TU U U", class_=USELESS),
    "nearly a coin: .54 to .69": _judge(
        sees((0.54, 0.58, 0.62, 0.66, 0.69), equals=1.0, wrong=1.0), "TU U U", class_=USELESS
    ),
    "right in 60 % at every step": _judge(sees((0.6,) * 5, equals=1.0, wrong=1.0), "TU U U", class_=USELESS),
    "right in 70 % at every step": _judge(sees((0.7,) * 5, equals=1.0, wrong=1.0), "TU TU TU"),
    "the longest wins": _judge(longest, "U U U", class_=USELESS),
    "the longer wins where lengths differ": _judge(
        where_longer(_EXCELLENT, equal_only=False), "NT U U", "Length"
    ),
    "length is worth 1.3 steps": _judge(probit(10, 3, length=12), "NTC C C", "Length"),
    "length breaks every tie": _judge(where_longer(_EXCELLENT, equal_only=True), "NTC C C", "Length"),
    "length breaks ties in half the calls": _judge(
        mixed(0.5, where_longer(_EXCELLENT, equal_only=True), _EXCELLENT), "NTC C C", "Length"
    ),
    "inverted": _judge(inverted(_EXCELLENT), "U U U", class_=USELESS),
    "ties below three steps": _judge(below(3, always(TIE), _EXCELLENT), "TC C C", "Sensitivity"),
    "first below three steps": _judge(below(3, always(FIRST), _EXCELLENT), "TC C C", "Position"),
    "noisy: .69 at one step, .62 between equals": _judge(
        probit(1.0, 0.5), "TC C C", "Noise", remedy=MAJORITY
    ),
    "a coin in 20 % of calls, else excellent": _judge(mixed(0.2, _COIN, _EXCELLENT), "NTC C C"),
    "abstains in 10 %, else excellent": _judge(mixed(0.1, always(ABSTAIN), _EXCELLENT), "NT NC NC"),
    "10 % unreadable, else excellent": _judge(
        mixed(0.1, always(UNREADABLE), _EXCELLENT), "TC C C", "Failures"
    ),
    "40 % unreadable, else excellent": _judge(
        mixed(0.4, always(UNREADABLE), _EXCELLENT), "TC C C", "Failures"
    ),
    "prefers wordings, strongly": _judge(probit(5, 2.5, wording=3.0), "TC C C", "Surface"),
    "prefers wordings, weakly": _judge(probit(5, 2.5, wording=1.5), "NTC NTC C", "Surface"),
}
"""Pairs of the built-in catalogue."""

_MORE = (
    *("commas", "hyphens", "digits", "number words", "capitals", "letters", "long words", "distinct words"),
    *("function words", "you and your", "sentences that order", "place of the first letter"),
    *("words of the request", "content words of the request", "stems of the request"),
)
_FEWER = ("vague words", "letters", "long words", "words that recur")
COUNTERS: Mapping[str, PlantedJudge] = {
    "excellent": _judge(_EXCELLENT, "N N N", class_=EXCELLENT),
    **{f"most {name}": _judge(counting(name), "TU TU TU", class_=USELESS) for name in _MORE},
    **{f"fewest {name}": _judge(counting(name, fewest=True), "TU TU TU", class_=USELESS) for name in _FEWER},
}
"""The built-in catalogue, judged by one count of each text."""

_REVERSED = inverted(_EXCELLENT)
AREAS: Mapping[str, PlantedJudge] = {
    "excellent, reversed in two areas of twelve": _judge(
        in_areas(2, _REVERSED, _EXCELLENT), "TC C C", "Strata"
    ),
    "excellent, reversed in one area": _judge(in_areas(1, _REVERSED, _EXCELLENT), "NTC C C", "Strata"),
    "excellent, a coin in two areas": _judge(in_areas(2, _COIN, _EXCELLENT), "NTC NTC NC"),
    "excellent, reversed in six areas": _judge(in_areas(6, _REVERSED, _EXCELLENT), "TU U U", class_=USELESS),
    "the longest wins, excellent in two areas": _judge(
        in_areas(2, _EXCELLENT, longest), "TU U U", class_=USELESS
    ),
}
"""The built-in catalogue, judged in some areas otherwise than in the others."""

TOGETHER: Mapping[str, PlantedJudge] = {
    "lean and wordings": _judge(
        probit(5, 2.5, 2.2, wording=3.0), "NTC C C", "Position", "Surface", "Dark current"
    ),
    "lean and 20 % unreadable": _judge(
        mixed(0.2, always(UNREADABLE), probit(4.2, 2.5, 1.9)),
        "TC C C",
        "Position",
        "Failures",
        "Dark current",
    ),
    "first in 30 % of calls, length breaks every tie": _judge(
        mixed(0.3, always(FIRST), where_longer(_EXCELLENT, equal_only=True)), "TC C C", "Position", "Length"
    ),
    "first in 20 %, a coin in 20 %, 10 % unreadable": _judge(
        mixed(0.1, always(UNREADABLE), mixed(0.2, always(FIRST), mixed(0.2, _COIN, _EXCELLENT))),
        "TC C C",
        "Position",
        "Failures",
        "Noise",
        "Dark current",
    ),
    "length decides, first in 30 %, 10 % unreadable": _judge(
        mixed(0.1, always(UNREADABLE), mixed(0.3, always(FIRST), where_longer(_EXCELLENT, equal_only=False))),
        "NTCU CU U",
        "Length",
    ),
}
"""The built-in catalogue, with several faults in one judge."""

NATURAL: Mapping[str, PlantedJudge] = {
    "perfect": _judge(knows(1.0), "N N N", class_=EXCELLENT),
    "95 % right": _judge(knows(0.95), "N N N", class_=EXCELLENT),
    "80 % right": _judge(knows(0.8), "NT N N"),
    "65 % right": _judge(knows(0.65), "TCN TCN TCN"),
    "a coin for each pair": _judge(tossed(by_pair=True), "TU U U", class_=USELESS),
    "a coin": _judge(_COIN, "TU U U", class_=USELESS),
    "always first": _judge(always(FIRST), "U U U", class_=USELESS),
    "always tie": _judge(always(TIE), "U U U", class_=USELESS),
    "first in 30 % of calls, else 95 % right": _judge(
        mixed(0.3, always(FIRST), knows(0.95)), "TC C C", "Natural pairs", "Position", remedy=ORDERS
    ),
    "the longest wins": _judge(longest, "TU U U", class_=USELESS),
    "inverted": _judge(knows(0.05), "U U U", class_=USELESS),
}
"""Natural pairs of one's own; people prefer the longer text of six pairs in ten."""


def longer_preferred(share: float) -> dict[str, PlantedJudge]:
    """Natural pairs of one's own, of which people prefer the longer text in this share.

    What decides are the pairs of which they prefer the shorter: few where the share is large.
    """
    few = share > 0.7
    rare, scarce = share > 0.8, share > 0.9
    return {
        "95 % right": _judge(
            knows(0.95),
            "TN TN N" if scarce else "TN N N" if few else "N N N",
            class_=RIGHT if few else EXCELLENT,
        ),
        "88 % right": _judge(
            knows(0.88), "TN TN TN" if scarce else "TN TN N" if few else "TN N N", class_=RIGHT
        ),
        "80 % right": _judge(knows(0.8), "TN TN TN" if rare else "TN TN N"),
        "70 % right": _judge(knows(0.7), "TCN TCN TCN"),
        "a coin for each pair": _judge(tossed(by_pair=True), "TU TU TU", class_=USELESS),
        "the longest wins": _judge(longest, "TU TU TU" if rare else "TU TU U", class_=USELESS),
        "the longest wins, but for 20 % at random": _judge(
            mixed(0.2, tossed(by_pair=True), longest), "TU TU TU", class_=USELESS
        ),
    }


def _binary(good: float) -> dict[str, PlantedJudge]:
    """Judges that answer yes or no; `good` is the share of items that should pass."""
    return {
        "perfect": _judge(rater(1, 1), "N N N", class_=EXCELLENT),
        "κ .9": _judge(agreeing(0.9, good), "N N N" if good == 0.5 else "NT N N", class_=GOOD),
        "κ .6": _judge(agreeing(0.6, good), "NTC NTC NC"),
        "κ .3": _judge(agreeing(0.3, good), "TCU TCU TCU"),
        "passes .85 of good, fails .95 of bad": _judge(rater(0.85, 0.95), "NTC NC NC", class_=""),
        "passes .80 of good, fails .80 of bad": _judge(rater(0.8, 0.8), "NTC NTC NC"),
        "lenient: passes 40 % of bad": _judge(rater(0.98, 0.6), "TC C C", "Leniency"),
        "very lenient: passes 80 % of bad": _judge(rater(0.98, 0.2), "TU TU TU"),
        "strict: fails 40 % of good": _judge(rater(0.6, 0.98), "TC C C", "Leniency"),
        "20 % of calls at random": _judge(
            rater(0.98, 0.98, noise=0.2), "TC C C", "Repeatability", remedy=MAJORITY
        ),
        "20 % unreadable": _judge(rater(0.98, 0.98, unreadable=0.2), "TC C C", "Failures"),
        "abstains in 10 %": _judge(rater(0.98, 0.98, abstains=0.1), "NTC NC NC"),
        "errs on 20 % of spellings": _judge(rater(0.98, 0.98, wording=0.2), "TC C C", "Robustness"),
        "a coin for each item": _judge(guessing(0.5, by_item=True), "TU U U", class_=USELESS),
        "a coin": _judge(guessing(0.5, by_item=False), "U U U", class_=USELESS),
        "guesses at the rate of good items": _judge(guessing(good, by_item=True), "TU U U", class_=USELESS),
        "always 1": _judge(constant(1), "U U U", class_=USELESS),
        "always 0": _judge(constant(0), "U U U", class_=USELESS),
        "inverted": _judge(rater(0.02, 0.02), "U U U", class_=USELESS),
    }


BALANCED, SKEWED = 0.5, 0.9
"""Shares of items that should pass."""
BINARY = {name: judge for name, judge in _binary(BALANCED).items() if not name.startswith("guesses")}
"""Single texts, yes or no, as many good as bad."""
RARE_BAD = _binary(SKEWED)
"""Single texts, yes or no, nine in ten good."""

SEVERAL: Mapping[str, PlantedJudge] = {
    "perfect": _judge(rater(1, 1), "N N N", class_=EXCELLENT),
    "passes 40 % of bad, 20 % of calls at random": _judge(
        rater(0.98, 0.6, noise=0.2), "TC C C", "Leniency", "Repeatability"
    ),
    "fails 40 % of good, 20 % unreadable": _judge(
        rater(0.6, 0.98, unreadable=0.2), "TC C C", "Leniency", "Failures"
    ),
    "20 % of calls at random, errs on 20 % of spellings": _judge(
        rater(0.98, 0.98, noise=0.2, wording=0.2), "TC C C", "Robustness", "Repeatability"
    ),
    "passes 30 % of bad, 10 % at random, 20 % unreadable": _judge(
        rater(0.98, 0.7, noise=0.1, unreadable=0.2), "TC C C", "Leniency", "Failures", "Repeatability"
    ),
    "a coin for each item, 20 % unreadable, 20 % of calls at random": _judge(
        rater(0.5, 0.5, noise=0.2, unreadable=0.2), "TU U U", class_=USELESS
    ),
}
"""Single texts, yes or no, with several faults in one judge."""

_RIGHT, _FIXED = rater(1, 1), "Expected answers"
FLIPS: Mapping[str, PlantedJudge] = {
    "right on rows and on flips": _judge(_RIGHT, "N N N", class_=EXCELLENT),
    "right on rows, follows 80 % of flips": _judge(on_written(rater(0.8, 0.8), _RIGHT), "N N N"),
    "right on rows, follows half of the flips": _judge(on_written(rater(0.5, 0.5), _RIGHT), "NC C C", _FIXED),
    "right on rows, follows flips for the worse alone": _judge(
        on_written(rater(0, 1), _RIGHT), "NC C C", _FIXED
    ),
    "right on rows, follows no flip": _judge(on_written(turned, _RIGHT), "U U U", class_=USELESS),
    "passes .80 of good, fails .80 of bad, rows and flips": _judge(rater(0.8, 0.8), "NTC NC NC"),
    "a coin for each row, right on flips": _judge(
        on_written(_RIGHT, guessing(0.5, by_item=True)), "TU U U", class_=USELESS
    ),
    "a coin": _judge(guessing(0.5, by_item=False), "TU U U", class_=USELESS),
}
"""Rows, and a text of each that was changed to earn the other answer and accepted by a second model."""

_EXACT = grader(1, 0)
LEVELS: Mapping[str, PlantedJudge] = {
    "right on rows and on levels": _judge(_EXACT, "N N N", class_=EXCELLENT),
    "right on rows, one level off on written ones": _judge(on_written(grader(0, 1), _EXACT), "NC NC NC"),
    "right on rows, no end of the scale on written levels": _judge(
        on_written(compressed, _EXACT), "NC NC NC"
    ),
    "right on rows, half of the written levels at random": _judge(
        on_written(grader(0.5, 0), _EXACT), "NC N N"
    ),
    "right on rows, written levels at random": _judge(on_written(anyhow, _EXACT), "NC C C", _FIXED),
    "right on rows, always 3 on written levels": _judge(on_written(constant(2), _EXACT), "C C C", _FIXED),
    "right on rows, written levels upside down": _judge(on_written(turned, _EXACT), "U U U", class_=USELESS),
    "at random on rows, right on written levels": _judge(
        on_written(_EXACT, grader(0, 0)), "TU U U", class_=USELESS
    ),
}
"""Rows with scores from 1 to 5, and a text for every level of each that a second model accepted."""

ORDINAL: Mapping[str, PlantedJudge] = {
    "exact .95": _judge(grader(0.95, 0.05), "N N N", class_=EXCELLENT),
    "exact .6, one off .35": _judge(grader(0.6, 0.35), "NTC NC NC"),
    "exact .3, one off .3, else at random": _judge(grader(0.3, 0.3), "TC TC C"),
    "30 % of calls at random": _judge(grader(1, 0, noise=0.3), "TC C C", "Repeatability", remedy=MEAN),
    "lenient: one level up": _judge(shifted(1), "TC C C", "Leniency"),
    "always one off": _judge(grader(0, 1), "TC C C", "Accuracy"),
    "never an end of the scale": _judge(compressed, "NTC NC NC"),
    "at random": _judge(anyhow, "U U U", class_=USELESS),
    "at random for each item": _judge(grader(0, 0), "TU U U", class_=USELESS),
    "always 3": _judge(constant(2), "U U U", class_=USELESS),
    "always 5": _judge(constant(4), "U U U", class_=USELESS),
    "inverted": _judge(turned, "U U U", class_=USELESS),
}
"""Single texts, scores from 1 to 5, each as often."""

RUNS: Mapping[str, PlantedJudge] = {
    "right on every run": _judge(rater(1, 1), "N N N", class_=EXCELLENT),
    "passes .95 of good, fails .90 of bad": _judge(rater(0.95, 0.9, wording=0.02), "NTC NTC NC"),
    "passes runs that are broken in the middle": _judge(skips_middle, "NTC TC TC"),
    "20 % of calls at random": _judge(
        rater(0.98, 0.98, noise=0.2), "TC TC C", "Repeatability", "Runs", remedy=MAJORITY
    ),
    "a coin": _judge(guessing(0.5, by_item=False), "TU U U", class_=USELESS),
    "passes everything": _judge(constant(1), "U U U", class_=USELESS),
    "fails everything": _judge(constant(0), "U U U", class_=USELESS),
    "inverted": _judge(rater(0, 0), "U U U", class_=USELESS),
}
"""Runs of agents of the built-in pack, as they are and edited."""
