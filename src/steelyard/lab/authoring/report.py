"""What was asked of authors, what they made, and why the rest was turned down."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from steelyard.lab.authoring.draft import Written
from steelyard.stimuli.authored.brief import ORDINAL, Brief
from steelyard.stimuli.stimulus import PENDING, REJECTED, Stimulus


@dataclass(frozen=True)
class Bucket:
    """One level of an ordinal scale."""

    level: str
    """The score that texts were written for."""
    filled: int
    """Texts that were confirmed at it."""
    wanted: int
    """Texts that were asked for."""


@dataclass(frozen=True)
class ProbeReport:
    """The texts of one probe."""

    probe: str
    """Its name."""
    asked: int
    """Texts that were asked for."""
    usable: int
    """Texts that may be judged."""
    pending: int
    """Texts that wait for a person."""
    rejected: Mapping[str, int]
    """Reason to the number of texts that came to nothing, `by a person` included."""
    turned_down: Mapping[str, int]
    """Reason to the number of tries that were turned down, mended ones included."""
    buckets: tuple[Bucket, ...] = ()
    """Levels of a synthetic scale, lowest first."""

    @property
    def even(self) -> bool:
        """True where every level has as many texts as the others."""
        return len({bucket.filled for bucket in self.buckets}) <= 1

    def sentence(self) -> str:
        """All of it in a line."""
        parts = [f"{self.asked} asked", f"{self.usable} usable"]
        if self.pending:
            parts.append(f"{self.pending} waiting for review")
        if self.rejected:
            parts.append(f"{sum(self.rejected.values())} rejected ({_counted(self.rejected)})")
        if self.turned_down:
            parts.append(f"{sum(self.turned_down.values())} tries turned down ({_counted(self.turned_down)})")
        told = f"{self.probe}: {', '.join(parts)}"
        return f"{told}; {self._levels()}." if self.buckets else f"{told}."

    def _levels(self) -> str:
        filled = ", ".join(f"{b.level}: {b.filled} of {b.wanted}" for b in self.buckets)
        missing = sum(bucket.wanted - bucket.filled for bucket in self.buckets)
        if self.even and not missing:
            return f"levels filled evenly ({filled})"
        spread = "evenly" if self.even else "unevenly"
        return f"levels filled {spread} ({filled}), {missing} could not be filled"


BY_A_PERSON = "by a person"
"""Reason of a rejection that no check made."""


def report_of(
    briefs: Sequence[Brief], written: Mapping[str, Written], stimuli: Iterable[Stimulus]
) -> tuple[ProbeReport, ...]:
    """One report for each probe, in the order of the briefs; `stimuli` hold what people decided."""
    decided = {stimulus.id: stimulus for stimulus in stimuli}
    probes: dict[str, list[Brief]] = {}
    for brief in briefs:
        probes.setdefault(brief.probe, []).append(brief)
    return tuple(_probe(probe, asked, written, decided) for probe, asked in probes.items())


def _probe(
    probe: str, briefs: list[Brief], written: Mapping[str, Written], decided: Mapping[str, Stimulus]
) -> ProbeReport:
    made = [(written[brief.name], decided[brief.name]) for brief in briefs]
    rejected = Counter(
        text.tries[-1].reason if text.rejected else BY_A_PERSON
        for text, stimulus in made
        if stimulus.lineage.review == REJECTED
    )
    return ProbeReport(
        probe,
        len(briefs),
        sum(stimulus.judged for _, stimulus in made),
        sum(stimulus.lineage.review == PENDING for _, stimulus in made),
        dict(sorted(rejected.items())),
        dict(sorted(Counter(each.reason for text, _ in made for each in text.tries).items())),
        _buckets(briefs, decided) if briefs[0].goal == ORDINAL else (),
    )


def _buckets(briefs: Sequence[Brief], decided: Mapping[str, Stimulus]) -> tuple[Bucket, ...]:
    wanted: Counter[str] = Counter(brief.expected or "" for brief in briefs)
    filled: Counter[str] = Counter(
        brief.expected or "" for brief in briefs if decided[brief.name].lineage.review != REJECTED
    )
    return tuple(Bucket(level, filled[level], wanted[level]) for level in sorted(wanted, key=int))


def _counted(counts: Mapping[str, int]) -> str:
    return ", ".join(f"{reason} {count}" for reason, count in counts.items())
