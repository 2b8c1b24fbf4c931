"""Whether a judge tells good from bad, in a sentence: the question that is decided before all others."""

from __future__ import annotations

from collections.abc import Iterable

from steelyard.datasheet.look_up import Figures
from steelyard.datasheet.readings.answer import Answer, unanswered
from steelyard.datasheet.readings.more_data import more_calls
from steelyard.datasheet.words.numbers import decimal, defined, figure
from steelyard.metrics.basis import LARGE_STEPS
from steelyard.metrics.common import KAPPA, MERIT
from steelyard.metrics.estimate import Estimate
from steelyard.metrics.findings import CLEAR, FLAGGED, INCONCLUSIVE
from steelyard.metrics.merit import LADDER
from steelyard.metrics.run.agent_runs import PROBE as RUNS
from steelyard.stimuli.natural import NATURAL_PROBE
from steelyard.stimuli.original import ORIGINAL

OPENINGS = {
    CLEAR: "tells good from bad",
    FLAGGED: "does not tell good from bad",
    INCONCLUSIVE: "too few data to say whether it tells good from bad",
}
REVERSED = "says the opposite of what is right"


def merit(figures: Figures) -> Answer | None:
    """What each kind of evidence in the run says of merit; one that refutes it decides."""
    evidence = figures.merits()
    known = [estimate for estimate in evidence if defined(estimate)]
    if not known:
        return unanswered(evidence[0]) if evidence else None
    word = together(known)
    opening = REVERSED if any(estimate.below_chance for estimate in known) else OPENINGS[word]
    return word, f"{opening}: {'; '.join(measure(figures, estimate) for estimate in known)}"


def together(known: Iterable[Estimate]) -> str:
    """The word of several kinds of evidence: refuted where one refutes, else shown where one shows."""
    words = {estimate.finding for estimate in known}
    return next((word for word in (FLAGGED, CLEAR) if word in words), INCONCLUSIVE)


def measure(figures: Figures, estimate: Estimate) -> str:
    """What the figure is, with its interval and what chance gives."""
    chance = f"chance {decimal(estimate.chance or 0.0)}"
    match estimate.probe:
        case probe if probe == LADDER:
            large = figures.of_probe(LADDER, MERIT.id, protocol="base", steps=LARGE_STEPS)
            at_large = f"; {figure(large)} at three steps and more" if defined(large) else ""
            share = f"chooses the better text in {figure(estimate)} of calls"
            return f"{share}, a tie counted half, {chance}{at_large}"
        case probe if probe == NATURAL_PROBE:
            share = f"chooses the text that people prefer in {figure(estimate)} of calls"
            return f"{share}, a tie counted half, {chance}"
        case probe if probe == RUNS:
            return f"agreement on runs of agents {figure(estimate)}, {chance}{more_calls(estimate)}"
        case _:
            binary = figures.of_probe(ORIGINAL, KAPPA.id, protocol="base") is not None
            name = "Youden's J" if binary else "rank agreement"
            return f"{name} with the labels {figure(estimate)}, {chance}{more_calls(estimate)}"
