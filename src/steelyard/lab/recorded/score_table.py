"""Recorded scores as observations, with the probes that make figures of them."""

from __future__ import annotations

import json
from collections.abc import Collection, Iterable, Iterator
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from steelyard.errors import DataError, UnknownNameError
from steelyard.identity import ListHash, canonical_text
from steelyard.lab.recorded.score_call import ScoreCall, Shown
from steelyard.metrics.estimate import Estimate
from steelyard.metrics.heading import Heading
from steelyard.metrics.metric import Metric
from steelyard.metrics.scores.probe import METRICS, pointwise_estimates
from steelyard.probes import vacuum
from steelyard.probes.probe import POINTWISE, PROBES, Design, Probe, Showing, forms_of, shows_unchanged
from steelyard.registry import Spec
from steelyard.stimuli.expectation import Expectation, Label, Unknown
from steelyard.stimuli.original import ORIGINAL, PERTURBED
from steelyard.stimuli.stimulus import RECORDED, Lineage, Stimulus
from steelyard.stimuli.stimulus_set import StimulusSet
from steelyard.tasks.scale import parse_scale
from steelyard.verdicts.observations import Observations, coded
from steelyard.verdicts.stimulus_columns import StimulusColumns


@dataclass(frozen=True, eq=False)
class ScoreTable:
    """Checked calls, sorted."""

    calls: tuple[ScoreCall, ...]
    """Every call."""

    def __len__(self) -> int:
        return len(self.calls)

    def __iter__(self) -> Iterator[ScoreCall]:
        return iter(self.calls)

    def lines(self) -> Iterator[str]:
        """Text of `observations.jsonl`."""
        for call in self.calls:
            yield json.dumps(call.to_json()) + "\n"

    @cached_property
    def hashes(self) -> tuple[str, dict[tuple[str, str], str]]:
        """Content hash of all calls, and of those of each judge and protocol."""
        arms: dict[tuple[str, str], ListHash] = {}
        whole = ListHash()
        for call in self.calls:
            text = canonical_text(call.to_json())
            arms.setdefault((call.judge, call.protocol), ListHash()).add(text)
            whole.add(text)
        return whole.digest(), {arm: rows.digest() for arm, rows in arms.items()}

    @cached_property
    def stimuli(self) -> dict[Shown, Stimulus]:
        """Every distinct text as far as it is known; edits of one item and probe are numbered."""
        count: dict[tuple[str, str, str], int] = {}
        stimuli: dict[Shown, Stimulus] = {}
        for shown in sorted({call.shown for call in self.calls}, key=lambda shown: shown.name):
            place = (shown.item, shown.probe, shown.variant)
            number = count[place] = count.get(place, -1) + 1
            stimuli[shown] = stimulus_of(shown, number)
        return stimuli

    def stimulus_set(self) -> str:
        """Hash of what was shown."""
        return StimulusSet.of(self.stimuli.values()).hash

    def observations(self) -> Observations:
        """One per call, however many probes tell of it; texts, tokens and prompts are not known."""
        once = list({call.trial: call for call in reversed(self.calls)}.values())
        judges, judge = coded([call.judge for call in once])
        protocols, protocol = coded([call.protocol for call in once])
        ends = {(call.score, call.absence): call.verdict for call in once}
        verdicts, verdict = coded([ends[call.score, call.absence] for call in once])
        names = {shown: stimulus.id for shown, stimulus in self.stimuli.items()}
        return Observations.recorded(
            judges=judges,
            protocols=protocols,
            verdicts=verdicts,
            shown=StimulusColumns.of(self.stimuli.values()),
            judge=judge,
            protocol=protocol,
            stimulus=coded([names[call.shown] for call in once])[1],
            order=np.zeros(len(once), dtype=np.int64),
            replicate=np.array([call.replicate for call in once], dtype=np.int64),
            verdict=verdict,
        ).in_order()

    def probes(self) -> list[Probe]:
        """Registered probes for the base protocol, pooled figures for other names and other protocols."""
        figures = sorted(
            {(call.protocol, call.probe) for call in self.calls}, key=lambda arm: (arm[0] != "base", arm)
        )
        return [_probe(name, protocol, unchanged=name not in self._edited) for protocol, name in figures]

    @cached_property
    def _edited(self) -> set[str]:
        """Probes under whose name some judge saw an edit."""
        return {call.probe for call in self.calls if call.shown.variant != ORIGINAL}


class RecordedProbe:
    """The figures of recorded scores under one protocol, whatever the probe was called."""

    question = "What do the recorded scores amount to?"
    metrics: tuple[Metric, ...] = METRICS
    forms: tuple[str, ...] = (POINTWISE,)

    def __init__(self, name: str, protocol: str, *, unchanged: bool) -> None:
        """`unchanged` says that the name stands for items as they are."""
        self.name = name
        self.protocol = protocol
        self.unchanged = unchanged

    def showings(self, design: Design, protocols: Collection[str]) -> Iterable[Showing]:
        """None: the calls were made elsewhere."""
        del design, protocols
        return ()

    def estimates(self, judge: str, observations: Observations, seed: int) -> list[Estimate]:
        """The figures of the calls under this name."""
        if self.name == "vacuum":
            return vacuum.arm_estimates(Heading.under(judge, "vacuum", self.protocol, seed), observations)
        return pointwise_estimates(
            Heading.under(judge, self.name, self.protocol, seed), observations, unchanged=self.unchanged
        )


def _probe(name: str, protocol: str, *, unchanged: bool) -> Probe:
    try:
        registered = PROBES.build(Spec(name))
    except UnknownNameError:
        return RecordedProbe(name, protocol, unchanged=unchanged)
    if POINTWISE not in forms_of(registered):
        raise DataError(
            f"recorded scores: probe {name!r} compares pairs, found scores of single texts; rename the probe."
        )
    if protocol == "base":
        return registered
    return RecordedProbe(name, protocol, unchanged=shows_unchanged(registered))


def stimulus_of(shown: Shown, number: int = 0) -> Stimulus:
    """The text as far as it is known; what it says is not."""
    kind = shown.variant
    name = {ORIGINAL: f"{shown.item}/{ORIGINAL}", PERTURBED: f"{shown.item}/{shown.probe}/{number}"}
    return Stimulus(
        id=name.get(kind, f"{shown.item}/{shown.probe}/{kind}-{number}"),
        probe=shown.probe,
        kind=kind,
        cluster=shown.task or shown.item,
        stratum=shown.stratum or "recorded",
        request="",
        texts=("",),
        expectation=_expectation(shown),
        lineage=Lineage(parent=shown.item, edit=shown.edit or "recorded elsewhere", author=RECORDED),
        scale=shown.scale,
        level=shown.level,
    )


def _expectation(shown: Shown) -> Expectation:
    if shown.expected is not None:
        return Label(str(shown.expected))
    vacuum_kind = shown.variant not in (ORIGINAL, PERTURBED)
    return Label(parse_scale(shown.scale or "binary").answers[0]) if vacuum_kind else Unknown()
