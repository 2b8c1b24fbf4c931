"""What a report shows first: one selection of figures, judges as columns, shared by every renderer."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field

from steelyard.datasheet import numbers
from steelyard.datasheet.datasheet import Datasheet, JudgeEntry, Reading
from steelyard.datasheet.glossary import KINDS, PROBES, term
from steelyard.metrics.estimate import Estimate

Group = Mapping[str, str | float]
Address = tuple[str, str, frozenset[tuple[str, str | float]]]
"""Probe, metric and condition: what an estimate is about, whoever the judge is."""

PAIRWISE = ("vacuum", "ladder", "criterion")
"""Probes with sections of their own; every other probe is listed as it comes."""


@dataclass(frozen=True)
class Row:
    """One figure across judges."""

    label: str
    """What is measured."""
    cells: Mapping[str, Estimate]
    """Judge name to estimate; a judge without one was not measured."""
    depth: int = 0
    """1 for a part of the row above."""
    essential: bool = True
    """False for rows that a short report leaves out."""
    headline: bool = False
    """True for the few rows that baselines are shown with."""


@dataclass(frozen=True)
class Section:
    """Rows that answer one question."""

    title: str
    """Name of the question."""
    question: str
    """The question as a sentence."""
    rows: tuple[Row, ...]
    """Figures that at least one judge has."""


@dataclass(frozen=True)
class Summary:
    """The selection, with the reasons for undefined figures as numbered notes."""

    datasheet: Datasheet
    """Where the figures come from."""
    measured: tuple[JudgeEntry, ...]
    """Judges under test."""
    baselines: tuple[JudgeEntry, ...]
    """Dumb baselines."""
    sections: tuple[Section, ...]
    """In reading order."""
    notes: tuple[str, ...]
    """Each reason once."""
    _marks: Mapping[str, str] = field(repr=False, default_factory=dict)

    def mark(self, estimate: Estimate) -> str:
        """The letter of the note that says why a figure is undefined."""
        return self._marks.get(numbers.reason(estimate), "?")

    def lettered_notes(self) -> list[tuple[str, str]]:
        """Letter and reason, in order of first appearance."""
        return [(self._marks[note], note) for note in self.notes]

    def readings(self, judge: str) -> tuple[Reading, ...]:
        """The readings of one judge."""
        return tuple(reading for reading in self.datasheet.readings if reading.judge == judge)

    def reading_titles(self) -> tuple[str, ...]:
        """Titles of all readings, each once, in order of first appearance."""
        return tuple(dict.fromkeys(reading.title for reading in self.datasheet.readings))

    @property
    def calls(self) -> int:
        """Calls behind the measured judges' vacuum and ladder figures, as far as the estimates tell."""
        return sum(_calls_of(self.datasheet, judge.name) for judge in self.measured)


def summarise(datasheet: Datasheet) -> Summary:
    """Select, order and name the figures of a datasheet."""
    index = _Index(datasheet)
    sections = tuple(section for section in _sections(index) if section.rows)
    reasons = dict.fromkeys(
        numbers.reason(cell)
        for section in sections
        for row in section.rows
        for cell in row.cells.values()
        if numbers.undefined(cell)
    )
    return Summary(
        datasheet=datasheet,
        measured=tuple(judge for judge in datasheet.judges if not judge.baseline),
        baselines=tuple(judge for judge in datasheet.judges if judge.baseline),
        sections=sections,
        notes=tuple(reasons),
        _marks={note: _letter(number) for number, note in enumerate(reasons)},
    )


class _Index:
    """Estimates by address."""

    def __init__(self, datasheet: Datasheet) -> None:
        self.datasheet = datasheet
        self.cells: dict[Address, dict[str, Estimate]] = {}
        for estimate in datasheet.estimates:
            address = (estimate.probe, estimate.metric, frozenset(estimate.group.items()))
            self.cells.setdefault(address, {})[estimate.judge] = estimate

    def row(
        self,
        label: str,
        probe: str,
        metric: str,
        group: Group,
        *,
        depth: int = 0,
        essential: bool = True,
        headline: bool = False,
    ) -> Iterator[Row]:
        """The row of an address, if any judge has it."""
        cells = self.cells.get((probe, metric, frozenset(group.items())))
        if cells:
            yield Row(label, cells, depth, essential, headline)

    def deltas(self, probe: str, metric: str) -> list[float]:
        """Quality steps of a metric, in order."""
        groups = [dict(group) for (p, m, group) in self.cells if (p, m) == (probe, metric)]
        return sorted({float(group["delta"]) for group in groups if "delta" in group})

    def protocols(self) -> list[str]:
        """Protocols other than base, in order of first appearance."""
        names = [str(dict(group)["protocol"]) for _, _, group in self.cells if "protocol" in dict(group)]
        return [name for name in dict.fromkeys(names) if name != "base"]

    def kinds(self, probe: str, metric: str) -> list[str]:
        """Kinds of a metric, in order of first appearance."""
        groups = [dict(group) for (p, m, group) in self.cells if (p, m) == (probe, metric)]
        return list(dict.fromkeys(str(group["kind"]) for group in groups if "kind" in group))


def _sections(index: _Index) -> Iterator[Section]:
    yield _zero_point(index)
    yield _same_quality(index)
    yield _sensitivity(index)
    yield _criterion(index)
    for protocol in index.protocols():
        yield _arm(index, protocol)
    yield _controls(index)
    yield _failures(index)
    yield from _other_probes(index)


def _zero_point(index: _Index) -> Section:
    rows = list(index.row("dark current", "vacuum", "dark_current", {"protocol": "base"}, headline=True))
    for kind in index.kinds("vacuum", "dark_current"):
        group = {"protocol": "base", "kind": kind}
        rows += index.row(KINDS.get(kind, kind), "vacuum", "dark_current", group, depth=1)
    return Section("Zero point", "Does it name a winner when there is nothing to judge?", tuple(rows))


def _same_quality(index: _Index, protocol: str = "base") -> Section:
    here: Group = {"protocol": protocol, "delta": 0, "kind": "same_subset"}
    rows: list[Row] = []
    for metric, label, depth in (
        ("raw_false_preference", "raw false preference", 0),
        ("stable_cross_sensitivity", "stable: same text", 1),
        ("positional_false_preference", "positional: same slot", 1),
        ("one_sided_commit", "one-sided commit", 1),
        ("other_conflict", "other conflict", 1),
        ("no_preference", "no preference", 1),
    ):
        rows += index.row(label, "ladder", metric, here, depth=depth, headline=metric in _HEADLINE)
        for slot in (1, 2):
            rows += index.row(
                f"slot {slot}", "ladder", metric, {**here, "slot": slot}, depth=2, essential=metric in _SPLIT
            )
    rows += index.row("net slot preference", "ladder", "net_slot_preference", here)
    return Section("Same-quality pairs", "What does it prefer when neither text is better?", tuple(rows))


_HEADLINE = ("raw_false_preference", "stable_cross_sensitivity", "positional_false_preference")
_SPLIT = ("positional_false_preference",)


def _sensitivity(index: _Index) -> Section:
    rows: list[Row] = []
    for delta in index.deltas("ladder", "target_sensitivity"):
        group: Group = {"protocol": "base", "delta": delta}
        rows += index.row(
            f"{numbers.steps(delta)} step{'' if delta == 1 else 's'} apart",
            "ladder",
            "target_sensitivity",
            group,
            headline=delta == 1,
        )
    rows += index.row("75 % threshold (steps)", "ladder", "delta75", {"protocol": "base"}, headline=True)
    return Section("Sensitivity", "How often does it choose the better text?", tuple(rows))


def _criterion(index: _Index) -> Section:
    rows = list(index.row("vacuum", "criterion", "criterion_shift", {"kind": "vacuum"}))
    for delta in index.deltas("criterion", "criterion_shift"):
        label = (
            "same quality" if delta == 0 else f"{numbers.steps(delta)} step{'' if delta == 1 else 's'} apart"
        )
        rows += index.row(label, "criterion", "criterion_shift", {"delta": delta}, essential=delta <= 1)
    return Section("Criterion shift", "How many more ties does the strict protocol bring?", tuple(rows))


def _arm(index: _Index, protocol: str) -> Section:
    here: Group = {"protocol": protocol, "delta": 0, "kind": "same_subset"}
    rows = list(index.row("dark current", "vacuum", "dark_current", {"protocol": protocol}))
    for metric in ("raw_false_preference", "stable_cross_sensitivity", "positional_false_preference"):
        rows += index.row(
            term(metric).label, "ladder", metric, here, essential=metric == "raw_false_preference"
        )
    steps = index.deltas("ladder", "target_sensitivity")
    for delta in steps:
        label = f"{numbers.steps(delta)} step{'' if delta == 1 else 's'} apart"
        group: Group = {"protocol": protocol, "delta": delta}
        rows += index.row(
            label, "ladder", "target_sensitivity", group, essential=delta in (steps[0], steps[-1])
        )
    rows += index.row("75 % threshold (steps)", "ladder", "delta75", {"protocol": protocol})
    title = f"{protocol.capitalize()} protocol"
    return Section(title, f"The same figures under the {protocol} prompt.", tuple(rows))


def _controls(index: _Index) -> Section:
    rows: list[Row] = []
    for kind in ("different_subset", "filler"):
        group: Group = {"protocol": "base", "delta": 0, "kind": kind}
        label = f"raw, {KINDS[kind]}"
        rows += index.row(label, "ladder", "raw_false_preference", group, essential=False)
    group = {"protocol": "base", "delta": 0, "kind": "filler"}
    rows += index.row("padded preference", "ladder", "padded_preference", group)
    return Section("Controls", "Does amount, content or padding sway it?", tuple(rows))


def _failures(index: _Index) -> Section:
    rows: list[Row] = []
    for protocol in ("base", *index.protocols()):
        for metric in ("unreadable_rate", "failed_rate"):
            for probe in ("vacuum", "ladder"):
                label = f"{term(metric).label}, {probe}" + ("" if protocol == "base" else f", {protocol}")
                rows += index.row(label, probe, metric, {"protocol": protocol}, essential=protocol == "base")
    return Section("Failures", "How many calls gave no verdict? They are never a score.", tuple(rows))


def _other_probes(index: _Index) -> Iterator[Section]:
    addresses: dict[str, list[Address]] = {}
    for address in index.cells:
        addresses.setdefault(address[0], []).append(address)
    for probe in [name for name in addresses if name not in PAIRWISE]:
        rows: list[Row] = []
        for _, metric, group in addresses[probe]:
            words = numbers.condition(dict(group))
            label = term(metric).label if words in ("all", "base") else f"{term(metric).label}, {words}"
            rows += index.row(label, probe, metric, dict(group))
        title = PROBES.get(probe, probe.replace("_", " ").capitalize())
        yield Section(title, "", tuple(rows))


def _calls_of(datasheet: Datasheet, judge: str) -> int:
    """The largest call count of each disjoint condition, summed."""
    most: dict[tuple[str, ...], int] = {}
    for estimate in datasheet.estimates:
        if estimate.judge == judge and estimate.metric in ("failed_rate", "unreadable_rate"):
            key = (estimate.probe, str(estimate.group.get("protocol", "")))
            most[key] = max(most.get(key, 0), estimate.n_calls)
    return sum(most.values())


def _letter(number: int) -> str:
    letters = "abcdefghijklmnopqrstuvwxyz"
    return letters[number % 26] * (number // 26 + 1)
