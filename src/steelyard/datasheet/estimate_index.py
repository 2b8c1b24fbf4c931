"""The estimates of a sheet by what they are about: judge, probe, metric and condition, each found at once."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from math import isnan

from steelyard.metrics.estimate import Estimate
from steelyard.metrics.findings import CLEAR, FLAGGED, INCONCLUSIVE
from steelyard.metrics.merit import OVER, STEPS, merit_limits, merit_test_status
from steelyard.metrics.pairs.choices import WEIGHED
from steelyard.metrics.proportions import MERIT
from steelyard.metrics.run.agent_runs import PROBE as RUNS
from steelyard.metrics.scores.probe import COMMONEST_ANSWER
from steelyard.metrics.scores.repeats import FLEISS_KAPPA, ICC, SELF_AGREEMENT
from steelyard.stimuli.original import ORIGINAL

Group = Mapping[str, str | float]
Condition = frozenset[tuple[str, str | float]]
Address = tuple[str, str, Condition]
"""Probe, metric and condition: what an estimate is about, whoever the judge is."""


EXTREME = 0.9
"""Share of the commonest answer from which repeats agree by chance too often to be read as they are."""


class EstimateIndex:
    """Estimates by address; where two stand under one, the first counts."""

    def __init__(self, estimates: Iterable[Estimate]) -> None:
        self.rows: dict[Address, dict[str, Estimate]] = {}
        """Address to the estimates of all judges, both in order of first appearance."""
        self._exact: dict[tuple[str, str | None, str, Condition], Estimate] = {}
        self._named: dict[tuple[str, str | None, str], list[Estimate]] = {}
        self._of_judge: dict[str, list[Estimate]] = {}
        self._conditions: dict[tuple[str, str], list[Group]] = {}
        for estimate in estimates:
            judge, probe, metric, condition = address(estimate)
            self._of_judge.setdefault(judge, []).append(estimate)
            for known in (probe, None):
                self._exact.setdefault((judge, known, metric, condition), estimate)
                self._named.setdefault((judge, known, metric), []).append(estimate)
            if (probe, metric, condition) not in self.rows:
                self._conditions.setdefault((probe, metric), []).append(estimate.group)
            self.rows.setdefault((probe, metric, condition), {}).setdefault(judge, estimate)

    def find(self, judge: str, metric: str, probe: str | None, group: Group) -> Estimate | None:
        """The estimate with exactly this group, of a probe or of any."""
        return self._exact.get((judge, probe, metric, frozenset(group.items())))

    def of(self, judge: str, metric: str, probe: str | None = None) -> Sequence[Estimate]:
        return self._named.get((judge, probe, metric), ())

    def of_judge(self, judge: str) -> Sequence[Estimate]:
        return self._of_judge.get(judge, ())

    def conditions(self, probe: str, metric: str) -> Sequence[Group]:
        """The groups under which any judge has a metric, in order of first appearance."""
        return self._conditions.get((probe, metric), ())


def address(estimate: Estimate) -> tuple[str, str, str, Condition]:
    return estimate.judge, estimate.probe, estimate.metric, frozenset(estimate.group.items())


@dataclass(frozen=True)
class MeritTest:
    """One test of merit: a figure, with the interval and the word that it decides by."""

    estimate: Estimate
    limit: float
    """What the whole interval has to lie above; where it refutes merit, what it lies below."""

    @classmethod
    def of(cls, estimate: Estimate) -> MeritTest:
        word, decides = merit_test_status(estimate), estimate.decides
        shown, refuted = merit_limits(estimate)
        told = replace(estimate, status=word, intervals=() if decides is None else (decides,))
        return cls(told, refuted if word == FLAGGED else shown)

    @property
    def part(self) -> str:
        """Which part of the evidence it is about; empty for the whole."""
        if OVER in self.estimate.group:
            return f"over the baseline {self.estimate.group[OVER]}"
        if WEIGHED in self.estimate.group:
            return "whatever the length"
        elsewhere = " in the other areas" if "areas" in self.estimate.group else ""
        return f"at three steps and more{elsewhere}" if STEPS in self.estimate.group else ""


@dataclass(frozen=True)
class JudgeEstimates:
    judge: str
    every: EstimateIndex

    def find(self, metric: str, **group: str | float) -> Estimate | None:
        return self.every.find(self.judge, metric, None, group)

    def of_probe(self, probe: str, metric: str, **group: str | float) -> Estimate | None:
        return self.every.find(self.judge, metric, probe, group)

    def known(self, metric: str, protocol: str | None = None, probe: str | None = None) -> list[Estimate]:
        """The figures of a metric that have a value, of a protocol and a probe or of any."""
        every = self.every.of(self.judge, metric, probe)
        mine = [e for e in every if protocol in (None, e.group.get("protocol"))]
        return [e for e in mine if e.value is not None and not isnan(e.value)]

    def protocols(self, metric: str) -> list[str]:
        """Protocols under which a metric was measured, in order of first appearance."""
        groups = [estimate.group for estimate in self.every.of(self.judge, metric)]
        return list(dict.fromkeys(str(group["protocol"]) for group in groups if "protocol" in group))

    def between_equals(self, metric: str) -> Estimate | None:
        """The base protocol's figure on same-quality pairs."""
        return self.find(metric, protocol="base", delta=0, kind="same_subset")

    @property
    def of_agents(self) -> bool:
        return any(estimate.probe == RUNS for estimate in self.every.of_judge(self.judge))

    def merits(self) -> list[Estimate]:
        """Merit under the base protocol, by each kind of evidence in the run."""
        return [estimate for estimate in self.every.of(self.judge, MERIT.id) if estimate.is_overall]

    def deciding_merit(self, merit: Estimate) -> MeritTest:
        """The test that the word of a merit rests on: what refutes it, else what leaves it open."""
        tests = [
            MeritTest.of(each)
            for each in self.every.of(self.judge, MERIT.id, merit.probe)
            if each.group.items() >= merit.group.items() and each.value is not None
        ]
        return min(
            tests, key=lambda test: (FLAGGED, INCONCLUSIVE, CLEAR).index(test.estimate.status or CLEAR)
        )

    def repeat_agreement(self) -> Estimate | None:
        """The figure that decides repeatability of scores; None where no text was judged twice.

        Which one it is depends on the scale, and on how alike the answers are.
        """
        again, spread, beyond, commonest = (
            self.of_probe(ORIGINAL, metric.id, protocol="base")
            for metric in (SELF_AGREEMENT, ICC, FLEISS_KAPPA, COMMONEST_ANSWER)
        )
        alike = commonest is not None and (commonest.value or 0.0) > EXTREME
        known = (each for each in (spread, beyond if alike else None, again) if each is not None)
        return next((each for each in known if each.value is not None), None)
