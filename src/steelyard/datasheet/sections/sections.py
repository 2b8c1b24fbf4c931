"""Which figures a report shows, under which question, in which order: judges as columns, figures as rows."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, replace

from steelyard.core.text import capital
from steelyard.datasheet import numbers
from steelyard.datasheet.datasheet import Datasheet
from steelyard.datasheet.estimate_index import Condition, Group
from steelyard.datasheet.glossary import KINDS, metric_named, probe_label, probe_title
from steelyard.datasheet.numbers import steps_apart
from steelyard.metrics.comparison.against_baselines import ACCURACY_GAIN
from steelyard.metrics.estimate import Estimate
from steelyard.metrics.instrument.derived import RESOLUTION_RATIO
from steelyard.metrics.instrument.estimates import FIT_PROBABILITY, GOODNESS_OF_FIT, LIMIT_OF_DETECTION
from steelyard.metrics.instrument.likelihood import NAMES, RESOLUTION, TIE_THRESHOLD
from steelyard.metrics.metric import Metric, ShownAs
from steelyard.metrics.pairs.decomposition import (
    NO_PREFERENCE,
    ONE_SIDED_COMMIT,
    POSITIONAL_FALSE_PREFERENCE,
    STABLE_CROSS_SENSITIVITY,
)
from steelyard.metrics.pairs.equals import OTHER_CONFLICT, RAW_FALSE_PREFERENCE
from steelyard.metrics.pairs.flips import FLIP_EXCESS, REPEAT_FLIP_RATE, SWAP_FLIP_RATE
from steelyard.metrics.pairs.ladder import DELTA75, PADDED_PREFERENCE, TARGET_SENSITIVITY
from steelyard.metrics.pairs.length import LENGTH_LEAN, LONGER_CHOSEN
from steelyard.metrics.pairs.natural import ACCURACY_BOTH, FLIP_FIRST, FLIP_SECOND, ORDER_CONSISTENCY
from steelyard.metrics.pairs.signal_detection import CRITERION_SHIFT, SENSITIVITY_SHIFT
from steelyard.metrics.pairs.slot import NET_SLOT_PREFERENCE
from steelyard.metrics.proportions import (
    ACCURACY,
    CONTRADICTION_RATE,
    DARK_CURRENT,
    FAILED_RATE,
    KAPPA,
    UNREADABLE_RATE,
)
from steelyard.metrics.run.cost import PROBE as COST
from steelyard.metrics.run.losses import PROBE as RUN
from steelyard.metrics.scores.edited_texts import EXCESS_FLIP, INVARIANCE
from steelyard.metrics.scores.probe import MEAN_SCORE
from steelyard.metrics.scores.repeats import BORDER_NOISE, SELF_AGREEMENT
from steelyard.probes.probe import EDITS, REPEATS
from steelyard.probes.probe_metadata import is_reported_whole, probes_in, section_of
from steelyard.stimuli.original import ORIGINAL


@dataclass(frozen=True)
class Cell:
    """A text in a table that knows its figure or its calls, so that a page can lead to them."""

    text: str
    estimate: Estimate | None = None
    where: Mapping[str, str] | None = None
    """Conditions that its calls meet."""

    def __str__(self) -> str:
        return self.text


Text = str | Cell


@dataclass(frozen=True)
class FigureRow:
    label: str
    cells: Mapping[str, Estimate]
    """Judge name to estimate; a judge without one was not measured."""
    depth: int = 0
    """1 for a part of a row above, 2 for a part of a part."""
    essential: bool = True
    """False for rows that a short report leaves out."""
    headline: bool = False
    """True for the few rows that baselines are shown with."""

    @property
    def metric(self) -> Metric:
        return metric_named(next(iter(self.cells.values())).metric)

    @property
    def name(self) -> str:
        """The label, or the metric's plain words and term where it is labelled by its metric."""
        return self.metric.name if self.label == self.metric.label else self.label


@dataclass(frozen=True)
class Section:
    title: str
    question: str
    rows: tuple[FigureRow, ...]

    def basis(self, judge: str) -> Estimate | None:
        """What stands behind a judge's figures: the first that is defined, else the first of all."""
        cells = [cell for row in self.rows if (cell := row.cells.get(judge)) is not None]
        return next(filter(numbers.defined, cells), cells[0] if cells else None)


class RowBuilder:
    def __init__(self, datasheet: Datasheet) -> None:
        self.form = datasheet.form
        self.measured = {judge.name for judge in datasheet.judges if not judge.baseline}
        self.look_up = datasheet.look_up
        self.cells = {
            address: cells
            for address, cells in self.look_up.rows.items()
            if "stratum" not in dict(address[2])
        }

    def row(
        self,
        probe: str,
        metric: Metric,
        group: Group,
        *,
        label: str | None = None,
        depth: int = 0,
        essential: bool = True,
        headline: bool = False,
    ) -> Iterator[FigureRow]:
        """The row of an address, if any judge has it, under the metric's own label or another."""
        cells = self.cells.get((probe, metric.id, frozenset(group.items())))
        if cells:
            yield FigureRow(metric.label if label is None else label, cells, depth, essential, headline)

    def parts(
        self, probe: str, metric: Metric, named: Iterable[tuple[str, Group]], *, depth: int
    ) -> Iterator[FigureRow]:
        """Rows that a short report needs only where a measured judge shows something other than zero."""
        rows = [
            row for label, group in named for row in self.row(probe, metric, group, label=label, depth=depth)
        ]
        yield from (replace(row, essential=self.any_nonzero(rows)) for row in rows)

    def any_nonzero(self, rows: Iterable[FigureRow]) -> bool:
        """True where a measured judge shows something other than zero."""
        cells = [row.cells.items() for row in rows]
        return any(cell.value for items in cells for name, cell in items if name in self.measured)

    def free(self, probe: str, metric: Metric, group: Condition) -> bool:
        """True for a cost that is nothing for every measured judge."""
        cells = self.cells[probe, metric.id, group].items()
        return metric.shown_as is ShownAs.DOLLARS and all(
            e.value == 0 for name, e in cells if name in self.measured
        )

    def values(self, probe: str, metric: Metric, key: str) -> list[str | float]:
        """Values of a group key over the estimates of a metric, in order of first appearance."""
        groups = self.look_up.conditions(probe, metric.id)
        return list(dict.fromkeys(group[key] for group in groups if key in group))

    def steps(self, probe: str, metric: Metric, protocol: str = "base") -> list[float]:
        groups = self.look_up.conditions(probe, metric.id)
        return sorted({float(g["delta"]) for g in groups if "delta" in g and g.get("protocol") == protocol})

    def protocols(self) -> list[str]:
        """Protocols other than base, in order of first appearance."""
        groups = [dict(group) for _, _, group in self.cells]
        names = dict.fromkeys(str(group["protocol"]) for group in groups if "protocol" in group)
        return [name for name in names if name != "base"]


VACUUM, LADDER, NATURAL, CRITERION = "vacuum", "ladder", "position", "criterion"
ORDER = (
    *(ORDER_CONSISTENCY, FLIP_FIRST, FLIP_SECOND, ONE_SIDED_COMMIT, NO_PREFERENCE, NET_SLOT_PREFERENCE),
    *(REPEAT_FLIP_RATE, SWAP_FLIP_RATE, FLIP_EXCESS),
)
BASE = ("protocol", "base")


def sections(datasheet: Datasheet) -> tuple[Section, ...]:
    return tuple(section for section in _all(RowBuilder(datasheet)) if section.rows)


def _all(index: RowBuilder) -> Iterator[Section]:
    yield _zero_point(index)
    yield _same_quality(index)
    yield _sensitivity(index)
    yield _criterion_shift(index)
    for protocol in index.protocols():
        yield _arm(index, protocol)
    yield _instrument(index)
    yield _controls(index)
    for protocol in ("base", *index.protocols()):
        yield _natural(index, protocol)
    question = "Is it right, more often than a rule that reads nothing, and which way does it err?"
    yield Section("Unchanged items", question, _rows_of(index, ORIGINAL))
    question = "Is the verdict right, and does it stay when what the rubric asks about stays?"
    yield Section("Reliability", question, tuple(_reliability(index)))
    yield _failures(index)
    placed = (VACUUM, LADDER, CRITERION, NATURAL, ORIGINAL, RUN)
    for probe in dict.fromkeys(probe for probe, _, _ in index.cells if probe not in placed):
        yield Section(probe_title(probe), "", _rows_of(index, probe))


def _zero_point(index: RowBuilder) -> Section:
    rows = list(index.row(VACUUM, DARK_CURRENT, {"protocol": "base"}, headline=True))
    order = list(KINDS)
    kinds = index.values(VACUUM, DARK_CURRENT, "kind")
    kinds.sort(key=lambda kind: order.index(str(kind)) if kind in order else len(order))
    named = [(KINDS.get(str(kind), str(kind)), {"protocol": "base", "kind": kind}) for kind in kinds]
    rows += index.parts(VACUUM, DARK_CURRENT, named, depth=1)
    rows += index.row(VACUUM, MEAN_SCORE, {"protocol": "base"}, headline=True)
    rows += index.parts(VACUUM, MEAN_SCORE, named, depth=1)
    question = "Does it name a winner" if index.form == "pairwise" else "Does it reward a response"
    return Section("Dark current", f"{question} when there is nothing to judge?", tuple(rows))


def _same_quality(index: RowBuilder) -> Section:
    here: Group = {"protocol": "base", "delta": 0, "kind": "same_subset"}
    rows = list(index.row(LADDER, RAW_FALSE_PREFERENCE, here, headline=True))
    by_slot = [(f"slot {slot}", {**here, "slot": slot}) for slot in (1, 2)]
    for metric in (STABLE_CROSS_SENSITIVITY, POSITIONAL_FALSE_PREFERENCE, ONE_SIDED_COMMIT):
        rows += index.row(LADDER, metric, here, depth=1, headline=metric != ONE_SIDED_COMMIT)
        rows += index.parts(LADDER, metric, by_slot, depth=2)
    rows += index.parts(LADDER, OTHER_CONFLICT, [(OTHER_CONFLICT.label, here)], depth=1)
    rows += index.row(LADDER, NO_PREFERENCE, here, depth=1)
    for metric in (NET_SLOT_PREFERENCE, REPEAT_FLIP_RATE, SWAP_FLIP_RATE, FLIP_EXCESS):
        rows += index.row(LADDER, metric, here)
    return Section("Same-quality pairs", "What does it prefer when neither text is better?", tuple(rows))


def _sensitivity(index: RowBuilder) -> Section:
    rows: list[FigureRow] = []
    for step in index.steps(LADDER, TARGET_SENSITIVITY):
        group: Group = {"protocol": "base", "delta": step}
        rows += index.row(
            LADDER, TARGET_SENSITIVITY, group, label=numbers.steps_apart(step), headline=step == 1
        )
    rows += _all_steps(index, "base")
    rows += index.row(LADDER, DELTA75, {"protocol": "base"}, headline=True)
    return Section("Sensitivity", "How often does it choose the better text?", tuple(rows))


def _all_steps(index: RowBuilder, protocol: str) -> Iterator[FigureRow]:
    """A mixture that depends on the design, so a short report leaves it out."""
    return index.row(LADDER, TARGET_SENSITIVITY, {"protocol": protocol}, label="all steps", essential=False)


def _arm(index: RowBuilder, protocol: str) -> Section:
    here: Group = {"protocol": protocol, "delta": 0, "kind": "same_subset"}
    rows = list(index.row(VACUUM, DARK_CURRENT, {"protocol": protocol}))
    for metric in (RAW_FALSE_PREFERENCE, STABLE_CROSS_SENSITIVITY, POSITIONAL_FALSE_PREFERENCE):
        rows += index.row(LADDER, metric, here, essential=metric == RAW_FALSE_PREFERENCE)
    steps = index.steps(LADDER, TARGET_SENSITIVITY)
    for step in steps:
        group: Group = {"protocol": protocol, "delta": step}
        shown = step in (1, steps[-1])
        rows += index.row(LADDER, TARGET_SENSITIVITY, group, label=numbers.steps_apart(step), essential=shown)
    rows += _all_steps(index, protocol)
    rows += index.row(LADDER, DELTA75, {"protocol": protocol})
    title = f"{capital(protocol)} protocol"
    return Section(title, f"The same figures under the {protocol} instruction.", tuple(rows))


def _instrument(index: RowBuilder) -> Section:
    """Each figure of the joint fit under base, and below it the other protocols."""
    rows: list[FigureRow] = []
    others = index.protocols()
    for metric in (*NAMES, LIMIT_OF_DETECTION, GOODNESS_OF_FIT, FIT_PROBABILITY):
        told, moved = metric != GOODNESS_OF_FIT, metric in (RESOLUTION, TIE_THRESHOLD)
        rows += index.row(LADDER, metric, {"protocol": "base"}, essential=told)
        for name in others:
            rows += index.row(LADDER, metric, {"protocol": name}, label=name, depth=1, essential=moved)
        for name in others if metric == RESOLUTION else ():
            label = f"ratio {name}/base"
            rows += index.row(LADDER, RESOLUTION_RATIO, {"protocol": name}, label=label, depth=1)
    question = "What instrument is it? One fit of all pairs, in units of the judge's noise."
    return Section("Instrument model", question, tuple(rows))


def _controls(index: RowBuilder) -> Section:
    rows: list[FigureRow] = []
    for kind, label in (("different_subset", "raw, other content"), ("filler", "raw, padded")):
        group: Group = {"protocol": "base", "delta": 0, "kind": kind}
        rows += index.row(LADDER, RAW_FALSE_PREFERENCE, group, label=label, essential=False)
    group = {"protocol": "base", "delta": 0, "kind": "filler"}
    rows += index.row(LADDER, PADDED_PREFERENCE, group)
    rows += index.row(LADDER, LENGTH_LEAN, group)
    return Section("Controls", "Does other content of the same amount, or padding, sway it?", tuple(rows))


def _natural(index: RowBuilder, protocol: str) -> Section:
    here: Group = {"protocol": protocol}
    rows: list[FigureRow] = []
    for metric in ORDER:
        rows += index.row(NATURAL, metric, here)
    rows += index.row(NATURAL, ACCURACY, here)
    named = [(f"better in slot {slot}", {**here, "slot": slot}) for slot in (1, 2)]
    rows += index.parts(NATURAL, ACCURACY, named, depth=1)
    rows += index.row(NATURAL, ACCURACY_BOTH, here, label="both orders", depth=1)
    for metric in (ACCURACY_GAIN, KAPPA):
        rows += index.row(NATURAL, metric, here, depth=1)
    rows += index.row(NATURAL, LENGTH_LEAN, here)
    rows += index.row(NATURAL, LONGER_CHOSEN, here, depth=1)
    title = "Natural pairs" if protocol == "base" else f"Natural pairs, {protocol}"
    return Section(title, "Does the winner survive a change of order, and agree with people?", tuple(rows))


def _failures(index: RowBuilder) -> Section:
    rows: list[FigureRow] = []
    for metric in (UNREADABLE_RATE, FAILED_RATE):
        whole = list(index.row(RUN, metric, {}))
        split: list[FigureRow] = []
        for protocol in ("base", *index.protocols()):
            for probe in ("vacuum", LADDER, NATURAL):
                words = probe if protocol == "base" else f"{probe}, {protocol}"
                text = words if whole else f"{metric.name}, {words}"
                split += index.row(probe, metric, {"protocol": protocol}, label=text, depth=len(whole))
        needed = not whole or index.any_nonzero(split)
        rows += [*whole, *(replace(row, essential=needed) for row in split)]
    rows += index.row(RUN, CONTRADICTION_RATE, {})
    return Section("Failures", "How many calls gave no verdict? They are never a score.", tuple(rows))


def _rows_of(index: RowBuilder, probe: str) -> tuple[FigureRow, ...]:
    addresses = [address for address in index.cells if address[0] == probe]
    rows: list[FigureRow] = []
    metrics = list(dict.fromkeys(metric for _, metric, _ in addresses))
    whole = {metric for _, metric, group in addresses if group <= {BASE}}
    gathered = section_of(probe) and not is_reported_whole(probe)
    for _, name, group in sorted(addresses, key=lambda address: metrics.index(address[1])):
        metric = metric_named(name)
        words = numbers.condition(dict(group - {BASE}))
        part = group > {BASE} and name in whole
        label = words if part else metric.label if words == "all" else f"{metric.name}, {words}"
        shown = (not metric.detail and not gathered) or probe == COST
        shown = shown and not index.free(probe, metric, group)
        rows += index.row(probe, metric, dict(group), label=label, depth=int(part), essential=shown)
    return tuple(rows)


def _criterion_shift(index: RowBuilder) -> Section:
    rows: list[FigureRow] = []
    arms = [str(name) for name in index.values(CRITERION, CRITERION_SHIFT, "protocol")]
    for protocol in arms:
        rows += _shifts(index, protocol, named=len(arms) > 1)
    question = "How many more ties does another tie instruction bring, and what does sensitivity pay?"
    return Section("Criterion shift", question, tuple(rows))


def _shifts(index: RowBuilder, protocol: str, *, named: bool) -> Iterator[FigureRow]:
    """The shifts of one arm; where there are several, its first row names it and the others are its parts."""
    for step in index.steps(CRITERION, CRITERION_SHIFT, protocol):
        label = "same quality" if step == 0 else steps_apart(step)
        first = named and step == 0
        yield from index.row(
            CRITERION,
            CRITERION_SHIFT,
            {"protocol": protocol, "delta": step},
            label=f"{protocol}, equals" if first else label,
            depth=int(named and not first),
            essential=step in (0, 1),
        )
    extra: tuple[tuple[str, Metric, Group], ...] = (
        ("vacuum", CRITERION_SHIFT, {"kind": "vacuum"}),
        ("sensitivity", SENSITIVITY_SHIFT, {"delta": 1}),
        ("sensitivity, all steps", SENSITIVITY_SHIFT, {}),
    )
    for label, metric, where in extra:
        group: Group = {"protocol": protocol, **where}
        shown = where == {"delta": 1}
        yield from index.row(CRITERION, metric, group, label=label, depth=int(named), essential=shown)


_UNCHANGED = "unchanged items"
_BASE: Mapping[str, str | float] = {"protocol": "base"}
_ORIGINAL: Mapping[str, str | float] = {**_BASE, "kind": "original"}


def _reliability(index: RowBuilder) -> Iterator[FigureRow]:
    """Accuracy of each probe's edits with the share of kept verdicts below it, then repeats."""
    yield from index.row(ORIGINAL, ACCURACY, _BASE, label=_UNCHANGED, headline=True)
    for probe in probes_in(EDITS):
        yield from index.row(probe, ACCURACY, _BASE, label=probe_label(probe), headline=True)
        yield from index.row(probe, INVARIANCE, _BASE, label="verdict kept", depth=1)
        for row in index.row(probe, EXCESS_FLIP, _BASE, depth=1):
            # Without repeats nobody has one: a short report need not say so for every edit.
            yield replace(row, essential=any(map(numbers.defined, row.cells.values())))
        for level in sorted(index.values(probe, INVARIANCE, "level"), key=float):
            words = f"kept, {numbers.condition({'level': level})}"
            yield from index.row(probe, INVARIANCE, {**_BASE, "level": level}, label=words, depth=2)
    for probe in probes_in(REPEATS):
        yield from index.row(probe, SELF_AGREEMENT, _BASE, label=probe_label(probe), headline=True)
        yield from index.row(probe, SELF_AGREEMENT, _ORIGINAL, label=_UNCHANGED, depth=1)
        yield from index.row(probe, BORDER_NOISE, _BASE, depth=1)
