"""Capitals: does a judge prefer an answer because it is printed in capitals?"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Sequence

from steelyard.datasheet.clause import Clause, figure, say, times
from steelyard.datasheet.estimate_index import JudgeEstimates
from steelyard.datasheet.questions.question import Answer, Counts, NotMeasured, Question, Test, unmeasured
from steelyard.metrics import (
    FAILED_RATE,
    UNREADABLE_RATE,
    Estimate,
    EstimateContext,
    Limit,
    Metric,
    collect,
    missing_rates,
    proportion,
    share_of_calls,
)
from steelyard.probes.probe import Design, Showing, both_orders, select
from steelyard.stimuli.ladder import compose
from steelyard.stimuli.stimulus import Lineage, NoPreference, Stimulus
from steelyard.tasks.checklist import Checklist
from steelyard.verdicts.observations import Observation

CAPITALS_PREFERENCE = Metric(
    "capitals_preference",
    "capitals preference",
    "Calls that choose the answer printed in capitals.",
    limit=Limit(0.10),
    event=lambda pairs: pairs.wins("v"),
)


def prefers_capitals(figures: JudgeEstimates, protocol: str) -> Answer | NotMeasured | None:
    """The status, what is said of the judge, and the figures that the first screen shows."""
    chosen = figures.of_probe("example_probe", CAPITALS_PREFERENCE.id, protocol=protocol)
    if chosen is None or chosen.value is None or chosen.status is None:
        return unmeasured(chosen)
    clause = Clause(
        say("prefers the answer in capitals in {}", times(chosen, "call")), say(", {}", figure(chosen))
    )
    return Answer(chosen.status, clause, (Test.of(chosen, "prefers capitals"),))


QUESTION = Question("Capitals", "prefers capitals", prefers_capitals, Counts.FAULT, (CAPITALS_PREFERENCE.id,))


class ExampleProbe:
    """The same answer plain (u) and in capitals (v); a sound judge answers tie."""

    name = "example_probe"
    title = "Capitals"
    question = "Does the judge prefer an answer because it is printed in capitals?"
    metrics = (CAPITALS_PREFERENCE, UNREADABLE_RATE, FAILED_RATE)
    questions = (QUESTION,)

    def __init__(self, quality: int = 3) -> None:
        """`quality` is the number of elements in the answer, 0 to 5."""
        self.quality = quality

    def showings(self, design: Design, protocols: Collection[str]) -> Iterable[Showing]:
        """One pair per checklist of the profile, in both orders, under the base protocol."""
        del protocols
        pairs = (capitals_pair(checklist, self.quality, design.seed) for checklist in design.checklists)
        return both_orders(pairs, "base", design.replicates)

    def estimates(self, judge: str, observations: Sequence[Observation], seed: int) -> list[Estimate]:
        """Calls that choose the capitals among all with a verdict, and the calls without one."""
        pairs = collect(select(observations, self.name, "base"))
        context = EstimateContext.for_protocol(judge, self.name, "base", seed)
        counts = share_of_calls(pairs, CAPITALS_PREFERENCE)
        return [proportion(context, CAPITALS_PREFERENCE, counts), *missing_rates(context, pairs)]


def capitals_pair(checklist: Checklist, quality: int, seed: int) -> Stimulus:
    """Both candidates are one text; only the case of its letters differs."""
    plain = compose(checklist, seed)[0].prefix(quality)
    return Stimulus(
        id=f"{checklist.id}/example_probe/q{quality}",
        probe="example_probe",
        kind="capitals",
        cluster=checklist.id,
        stratum=checklist.domain,
        request=checklist.request,
        texts=(plain, plain.upper()),
        expectation=NoPreference(),
        lineage=Lineage(parent=checklist.id, edit="every letter a capital"),
    )
