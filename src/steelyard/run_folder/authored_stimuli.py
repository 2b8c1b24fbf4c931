"""What authors made, as the run folder keeps it, and counted probe by probe."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterable
from dataclasses import asdict, dataclass
from typing import Any

from steelyard.core.content_hash import canonical_json
from steelyard.stimuli.authored.brief import BY_A_PERSON, BY_LEVEL, Bucket, ProbeReport
from steelyard.stimuli.authored.checks import Rejection
from steelyard.stimuli.stimulus import ACCEPTED, EDITED, PENDING, REJECTED, Label, Stimulus
from steelyard.store.authoring import AuthoredRow
from steelyard.tasks.scale import parse_scale


@dataclass(frozen=True)
class AuthoredStimulus:
    stimulus: Stimulus
    """As it was made; what a person decided later is not in it."""
    tries: tuple[Rejection, ...] = ()
    """Why earlier texts were rejected; for a rejected stimulus every text."""
    by_validator: bool = False
    """True where the reference is the validator's opinion: a run taken as it is that nobody labelled."""

    @property
    def rejected(self) -> bool:
        return self.stimulus.lineage.review == REJECTED

    def row(self, brief: str, roles: str) -> AuthoredRow:
        return AuthoredRow(self.stimulus.id, brief, roles, canonical_json(self._body))

    def arrival(self, original: Stimulus) -> str:
        return canonical_json({**self._body, "original": original.to_json()})

    @property
    def _body(self) -> dict[str, Any]:
        body = {"stimulus": self.stimulus.to_json(), "tries": [asdict(each) for each in self.tries]}
        return {**body, "by_validator": True} if self.by_validator else body

    @classmethod
    def from_arrival(cls, body: str) -> tuple[AuthoredStimulus, Stimulus]:
        """The inverse of `arrival`."""
        return cls.from_json(body), Stimulus.from_json(json.loads(body)["original"])

    @classmethod
    def of(cls, row: AuthoredRow) -> AuthoredStimulus:
        """The inverse of `row`."""
        return cls.from_json(row.body)

    @classmethod
    def from_json(cls, text: str) -> AuthoredStimulus:
        body = json.loads(text)
        tries = tuple(Rejection(**each) for each in body["tries"])
        return cls(Stimulus.from_json(body["stimulus"]), tries, body.get("by_validator", False))


def count_by_probe(
    written: Iterable[AuthoredStimulus], stimuli: Iterable[Stimulus]
) -> tuple[ProbeReport, ...]:
    """One report for each probe, by name; `stimuli` hold what people decided."""
    decided = {stimulus.id: stimulus for stimulus in stimuli}
    probes: dict[str, list[tuple[AuthoredStimulus, Stimulus]]] = {}
    for text in written:
        current = decided.get(text.stimulus.id)
        if current is not None:
            probes.setdefault(current.probe, []).append((text, current))
    return tuple(_probe(probe, probes[probe]) for probe in sorted(probes))


def _probe(probe: str, made: list[tuple[AuthoredStimulus, Stimulus]]) -> ProbeReport:
    rejected = Counter(
        text.tries[-1].reason if text.rejected else BY_A_PERSON
        for text, stimulus in made
        if stimulus.lineage.review == REJECTED
    )
    return ProbeReport(
        probe,
        len(made),
        sum(stimulus.judged for _, stimulus in made),
        sum(stimulus.lineage.review == PENDING for _, stimulus in made),
        dict(sorted(rejected.items())),
        dict(sorted(Counter(each.reason for text, _ in made for each in text.tries).items())),
        _buckets([stimulus for _, stimulus in made]) if probe in BY_LEVEL else (),
        sum(stimulus.judged and text.by_validator for text, stimulus in made),
        sum(stimulus.lineage.review == EDITED for _, stimulus in made),
        sum(stimulus.lineage.review in (ACCEPTED, EDITED) for _, stimulus in made),
    )


def _buckets(stimuli: Iterable[Stimulus]) -> tuple[Bucket, ...]:
    wanted: Counter[str] = Counter()
    filled: Counter[str] = Counter()
    for stimulus in stimuli:
        if isinstance(stimulus.expectation, Label):
            # The level that it was written for, which need not be the one it is kept at.
            answers = parse_scale(stimulus.scale or "").answers
            wanted[answers[int(stimulus.id.rpartition("/")[2]) % len(answers)]] += 1
            filled[stimulus.expectation.value] += stimulus.lineage.review != REJECTED
    return tuple(Bucket(level, filled[level], wanted[level]) for level in sorted(wanted, key=int))
