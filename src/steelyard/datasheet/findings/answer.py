"""The answer to a question that a datasheet asks: a word and a sentence."""

from __future__ import annotations

from steelyard.datasheet.estimate_index import JudgeEstimates
from steelyard.datasheet.words.numbers import times
from steelyard.metrics.estimate import Estimate
from steelyard.metrics.findings import CLEAR, FLAGGED, INCONCLUSIVE
from steelyard.metrics.metric import Metric
from steelyard.metrics.run.unchanged import COMMONEST_ANSWER, answer_in_words, never_varies
from steelyard.stimuli.original import ORIGINAL

Answer = tuple[str, str]
"""`clear`, `flagged`, …, and what was found."""


def undefined_answer(estimate: Estimate | None) -> Answer | None:
    """What is said of a figure without a value; nothing where it was not asked for."""
    return None if estimate is None else ("undefined", estimate.note or "not measured")


def worst(*words: str) -> str:
    """The word of several figures together: flagged where one is, clear where all are."""
    return min(words, key=(FLAGGED, INCONCLUSIVE, CLEAR).index)


def limit_of(metric: Metric) -> float:
    if metric.limit is None:
        raise ValueError(f"{metric.id} has no limit")
    return metric.limit.value


SAYS_NOTHING = "says nothing"


def constant_answer(figures: JudgeEstimates, because: str) -> Answer | None:
    """The answer where every score of the judge is the same; `because` says what follows; else None."""
    commonest = figures.of_probe(ORIGINAL, COMMONEST_ANSWER.id, protocol="base")
    if not never_varies(commonest):
        return None
    return "undefined", (
        f"{SAYS_NOTHING}: it gives the same answer to everything, {answer_in_words(commonest)} in "
        f"{times(commonest, 'call')}, {because}"
    )
