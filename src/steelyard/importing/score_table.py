"""Recorded scores as observations, with the probes that make figures of them."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Sequence
from dataclasses import dataclass, fields
from functools import cached_property
from typing import Any

import numpy as np

from steelyard.core.arrays import Ints, distinct
from steelyard.core.dictionary_encoding import DictionaryWriter, Part, encode, fixed, member_words, spell
from steelyard.core.registry import Spec
from steelyard.errors import DataError, UnknownNameError
from steelyard.importing.arm import arms_of, hashes_of
from steelyard.importing.score_call import ABSENCES, ScoreCall, Shown
from steelyard.metrics.estimate import Estimate
from steelyard.metrics.estimate_context import EstimateContext
from steelyard.metrics.metric import Metric
from steelyard.metrics.scores.probe import METRICS, pointwise_estimates
from steelyard.probes import vacuum
from steelyard.probes.probe import POINTWISE, PROBES, Design, Probe, Showing, forms_of, shows_unchanged
from steelyard.stimuli.expectation import Expectation, Label, Unknown
from steelyard.stimuli.original import ORIGINAL, PERTURBED
from steelyard.stimuli.stimulus import RECORDED, Lineage, RecordedText, Stimulus
from steelyard.stimuli.stimulus_set import StimulusSet
from steelyard.tasks.scale import parse_scale
from steelyard.verdicts.observations import Observations, coded
from steelyard.verdicts.stimulus_columns import Coded, StimulusColumns
from steelyard.verdicts.verdict import Decided, Verdict

FACTS = (*(f.name for f in fields(Shown) if f.name != "probe"), "kind")
"""What a line says of a text beside the probe, in its order."""
Outcome = tuple[int | None, str | None]
"""A score, or the key of `ABSENCES` that stands for none."""


@dataclass(frozen=True, eq=False)
class ScoreTable:
    """Checked calls in columns, one row per call, sorted as `ScoreCall.sorts` says."""

    judges: tuple[str, ...]
    """Sorted names."""
    protocols: tuple[str, ...]
    """Sorted names."""
    probes_told: tuple[str, ...]
    """Names of the probes that calls were made for, sorted."""
    texts: tuple[Shown, ...]
    """What was shown."""
    outcomes: tuple[Outcome, ...]
    """What calls came to."""
    judge: Ints
    protocol: Ints
    probe: Ints
    """Index into `probes_told`."""
    text: Ints
    """Index into `texts`."""
    outcome: Ints
    """Index into `outcomes`."""
    replicate: Ints

    @classmethod
    def of(cls, calls: Sequence[ScoreCall]) -> ScoreTable:
        """The table of checked calls, in their order."""
        judges, judge = coded([call.judge for call in calls])
        protocols, protocol = coded([call.protocol for call in calls])
        probes, probe = coded([call.probe for call in calls])
        texts = Coded.of(call.shown for call in calls)
        outcomes = Coded.of((call.score, call.absence) for call in calls)
        replicate = np.array([call.replicate for call in calls], dtype=np.int64)
        known = judges, protocols, probes, texts.values, outcomes.values
        return cls(*known, judge, protocol, probe, texts.codes, outcomes.codes, replicate)

    def __len__(self) -> int:
        return len(self.judge)

    def lines(self) -> Iterator[str]:
        """Text of `observations.jsonl`, in parts; each line is what `ScoreCall.to_json` says."""
        facts = [member_words(key, self._known(key), ": ") for key in FACTS]
        texts = [", ".join(filter(None, known)) for known in zip(*facts, strict=True)]
        return DictionaryWriter(
            [
                ([f'{{"judge": {spell(judge)}, ' for judge in self.judges], self.judge),
                ([f'"protocol": {spell(protocol)}, ' for protocol in self.protocols], self.protocol),
                ([f'"probe": {spell(probe)}, ' for probe in self.probes_told], self.probe),
                (texts, self.text),
                ([_told(outcome) for outcome in self.outcomes], self.outcome),
                encode(self.replicate),
                fixed("}\n", len(self)),
            ]
        ).chunks()

    @cached_property
    def hashes(self) -> tuple[str, dict[tuple[str, str], str]]:
        """Content hash of all calls, and of those of each judge and protocol."""
        scores = [f'"score":{spell(score)}' for score, _ in self.outcomes]
        replicates, replicate = encode(self.replicate)
        parts: dict[str, Part] = {
            "judge": (member_words("judge", self.judges), self.judge),
            "outcome": (member_words("outcome", (absence for _, absence in self.outcomes)), self.outcome),
            "probe": (member_words("probe", self.probes_told), self.probe),
            "protocol": (member_words("protocol", self.protocols), self.protocol),
            "replicate": ([f'"replicate":{number}' for number in replicates], replicate),
            "score": (scores, self.outcome),
        }
        for key in FACTS:
            parts[key] = member_words(key, self._known(key)), self.text
        return hashes_of(parts, arms_of(self.judges, self.protocols, self.judge, self.protocol))

    def _known(self, key: str) -> list[Any]:
        """A fact of every text; None where it is not known."""
        return [shown.facts.get(key) for shown in self.texts]

    @cached_property
    def stimuli(self) -> dict[Shown, Stimulus]:
        """Every distinct text as far as it is known; edits of one item and probe are numbered."""
        count: dict[tuple[str, str, str], int] = {}
        stimuli: dict[Shown, Stimulus] = {}
        for shown in sorted(self.texts, key=lambda shown: shown.name):
            place = (shown.item, shown.probe, shown.variant)
            number = count[place] = count.get(place, -1) + 1
            stimuli[shown] = stimulus_of(shown, number)
        return stimuli

    def stimulus_set(self) -> str:
        """Hash of what was shown."""
        return StimulusSet.of(self.stimuli.values()).hash

    def observations(self) -> Observations:
        """One per call, however many probes tell of it; texts, tokens and prompts are not known."""
        stimulus = coded([self.stimuli[shown].id for shown in self.texts])[1]
        verdicts, verdict = coded([_verdict(outcome) for outcome in self.outcomes])
        rows = self._once()
        return Observations.recorded(
            judges=self.judges,
            protocols=self.protocols,
            verdicts=verdicts,
            shown=StimulusColumns.of(self.stimuli.values()),
            judge=self.judge[rows],
            protocol=self.protocol[rows],
            stimulus=stimulus[self.text[rows]],
            order=np.zeros(len(rows), dtype=np.int64),
            replicate=self.replicate[rows],
            verdict=verdict[self.outcome[rows]],
        ).in_order()

    def _once(self) -> Ints:
        """One row for each call, under whichever probe it is told."""
        keys = (self.replicate, self.text, self.protocol, self.judge)
        order = np.lexsort(keys)
        first = np.ones(len(order), dtype=np.bool_)
        first[1:] = np.any([key[order][1:] != key[order][:-1] for key in keys], axis=0)
        return np.asarray(order[first])

    def probes(self) -> list[Probe]:
        """Registered probes for the base protocol, pooled figures for other names and other protocols."""
        wide = len(self.probes_told)
        codes = distinct(self.protocol * wide + self.probe).tolist()
        told = [(self.protocols[code // wide], self.probes_told[code % wide]) for code in codes]
        figures = sorted(told, key=lambda arm: (arm[0] != "base", arm))
        return [_probe(name, protocol, unchanged=name not in self._edited) for protocol, name in figures]

    @cached_property
    def _edited(self) -> set[str]:
        """Probes under whose name some judge saw an edit."""
        edited = np.array([shown.variant != ORIGINAL for shown in self.texts], dtype=np.bool_)
        return {self.probes_told[code] for code in distinct(self.probe[edited[self.text]]).tolist()}


def _told(outcome: Outcome) -> str:
    """What a call came to, as a line has it, up to the number of its repeat."""
    score, absence = outcome
    without = "" if absence is None else f'"outcome": {spell(absence)}, '
    return f', "score": {spell(score)}, {without}"replicate": '


def _verdict(outcome: Outcome) -> Verdict:
    score, absence = outcome
    return ABSENCES[absence or "failed"] if score is None else Decided(str(score))


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
            return vacuum.arm_estimates(
                EstimateContext.for_protocol(judge, "vacuum", self.protocol, seed), observations
            )
        return pointwise_estimates(
            EstimateContext.for_protocol(judge, self.name, self.protocol, seed),
            observations,
            unchanged=self.unchanged,
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
        failing=None if shown.failing is None else str(shown.failing),
        recorded=_recorded(shown),
    )


def _recorded(shown: Shown) -> RecordedText | None:
    """What the file says of the text itself; None where it says nothing."""
    told = RecordedText(shown.words, bool(shown.run), shown.change_depth, shown.changed_words)
    return None if told == RecordedText() else told


def _expectation(shown: Shown) -> Expectation:
    if shown.expected is not None:
        return Label(str(shown.expected))
    vacuum_kind = shown.variant not in (ORIGINAL, PERTURBED)
    return Label(parse_scale(shown.scale or "binary").answers[0]) if vacuum_kind else Unknown()
