"""Which figures a report shows, under which question, in which order: judges as columns, figures as rows."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

from steelyard.datasheet.datasheet import Datasheet
from steelyard.datasheet.sections.reliability import RELIABILITY, WHOLE, reliability_rows
from steelyard.datasheet.sections.rows import Address, Group, Index, Row, Section
from steelyard.datasheet.words import numbers
from steelyard.datasheet.words.glossary import KINDS, probe_name, term

PAIRWISE = ("vacuum", "ladder", "criterion")
"""Probes that show pairs of known quality."""
PARAMETERS = ("resolution", "position_bias", "tie_threshold", "surface_sensitivity", "lapse_rate")
"""The instrument model, in reading order."""
NATURAL_PROBE = "position"
NATURAL = (
    "order_consistency",
    "flip_first",
    "flip_second",
    "one_sided_commit",
    "no_preference",
    "net_slot_preference",
    "repeat_flip_rate",
    "swap_flip_rate",
    "flip_excess",
)
"""What order does to natural pairs, in reading order."""
BASE = ("protocol", "base")
DETAILS = frozenset(
    {
        "noise_floor",
        "flip_rate",
        "fleiss_kappa",
        "icc",
        "balanced_accuracy",
        "gwet_ac1",
        "within_one",
        "spearman",
        "krippendorff_alpha",
        "compression",
        "unused_levels",
        "unreadable_rate",
        "failed_rate",
        "cost_per_call",
    }
)
"""Figures of a pointwise probe that a short report leaves out."""
COST = "cost"
"""Under this name stand the tokens and dollars of all calls together."""
RUN = "run"
"""Under this name stand the figures of all calls together."""


def sections(datasheet: Datasheet) -> tuple[Section, ...]:
    """Every section that has a row."""
    return tuple(section for section in _all(Index(datasheet)) if section.rows)


def _all(index: Index) -> Iterator[Section]:
    yield _zero_point(index)
    yield _same_quality(index)
    yield _sensitivity(index)
    yield _criterion(index)
    for protocol in index.protocols():
        yield _arm(index, protocol)
    yield _instrument(index)
    yield _controls(index)
    for protocol in ("base", *index.protocols()):
        yield _natural(index, protocol)
    yield _reliability(index)
    yield _failures(index)
    yield from _other_probes(index)


def _zero_point(index: Index) -> Section:
    rows = list(index.row("dark current", "vacuum", "dark_current", {"protocol": "base"}, headline=True))
    order = list(KINDS)
    kinds = index.values("vacuum", "dark_current", "kind")
    kinds.sort(key=lambda kind: order.index(str(kind)) if kind in order else len(order))
    named = [(KINDS.get(str(kind), str(kind)), {"protocol": "base", "kind": kind}) for kind in kinds]
    rows += index.parts("vacuum", "dark_current", named, depth=1)
    rows += index.row("mean score", "vacuum", "mean_score", {"protocol": "base"}, headline=True)
    rows += index.parts("vacuum", "mean_score", named, depth=1)
    question = "Does it name a winner" if index.level == "pairwise" else "Does it reward a response"
    return Section("Zero point", f"{question} when there is nothing to judge?", tuple(rows))


def _same_quality(index: Index) -> Section:
    here: Group = {"protocol": "base", "delta": 0, "kind": "same_subset"}
    rows = list(index.row("raw false preference", "ladder", "raw_false_preference", here, headline=True))
    for metric, label in (
        ("stable_cross_sensitivity", "stable (text)"),
        ("positional_false_preference", "positional (slot)"),
    ):
        rows += index.row(label, "ladder", metric, here, depth=1, headline=True)
        rows += _by_slot(index, metric, here)
    rows += index.row("one-sided commit", "ladder", "one_sided_commit", here, depth=1)
    rows += _by_slot(index, "one_sided_commit", here)
    rows += index.parts("ladder", "other_conflict", [("other conflict", here)], depth=1)
    rows += index.row("no preference", "ladder", "no_preference", here, depth=1)
    rows += index.row("net slot preference", "ladder", "net_slot_preference", here)
    rows += index.row("repeat flips", "ladder", "repeat_flip_rate", here)
    rows += index.row("swap flips", "ladder", "swap_flip_rate", here)
    rows += index.row("flip excess", "ladder", "flip_excess", here)
    return Section("Same-quality pairs", "What does it prefer when neither text is better?", tuple(rows))


def _by_slot(index: Index, metric: str, here: Group) -> Iterator[Row]:
    named = [(f"slot {slot}", {**here, "slot": slot}) for slot in (1, 2)]
    return index.parts("ladder", metric, named, depth=2)


def _sensitivity(index: Index) -> Section:
    rows: list[Row] = []
    for step in index.steps("ladder", "target_sensitivity"):
        group: Group = {"protocol": "base", "delta": step}
        rows += index.row(_apart(step), "ladder", "target_sensitivity", group, headline=step == 1)
    rows += _all_steps(index, "base")
    rows += index.row("75 % threshold", "ladder", "delta75", {"protocol": "base"}, headline=True)
    return Section("Sensitivity", "How often does it choose the better text?", tuple(rows))


def _all_steps(index: Index, protocol: str) -> Iterator[Row]:
    """A mixture that depends on the design, so a short report leaves it out."""
    return index.row("all steps", "ladder", "target_sensitivity", {"protocol": protocol}, essential=False)


def _criterion(index: Index) -> Section:
    rows: list[Row] = []
    arms = [str(name) for name in index.values("criterion", "criterion_shift", "protocol")]
    for protocol in arms:
        rows += _shifts(index, protocol, named=len(arms) > 1)
    question = "How many more ties does another tie instruction bring, and what does sensitivity pay?"
    return Section("Criterion shift", question, tuple(rows))


def _shifts(index: Index, protocol: str, *, named: bool) -> Iterator[Row]:
    """The shifts of one arm; where there are several, its first row names it and the others are its parts."""
    for step in index.steps("criterion", "criterion_shift", protocol):
        label = "same quality" if step == 0 else _apart(step)
        first = named and step == 0
        yield from index.row(
            f"{protocol}, equals" if first else label,
            "criterion",
            "criterion_shift",
            {"protocol": protocol, "delta": step},
            depth=int(named and not first),
            essential=step in (0, 1),
        )
    extra: tuple[tuple[str, str, Group], ...] = (
        ("vacuum", "criterion_shift", {"kind": "vacuum"}),
        ("sensitivity", "sensitivity_shift", {"delta": 1}),
        ("sensitivity, all steps", "sensitivity_shift", {}),
    )
    for label, metric, where in extra:
        group: Group = {"protocol": protocol, **where}
        shown = where == {"delta": 1}
        yield from index.row(label, "criterion", metric, group, depth=int(named), essential=shown)


def _arm(index: Index, protocol: str) -> Section:
    here: Group = {"protocol": protocol, "delta": 0, "kind": "same_subset"}
    rows = list(index.row("dark current", "vacuum", "dark_current", {"protocol": protocol}))
    for metric in ("raw_false_preference", "stable_cross_sensitivity", "positional_false_preference"):
        raw = metric == "raw_false_preference"
        rows += index.row(term(metric).label, "ladder", metric, here, essential=raw)
    steps = index.steps("ladder", "target_sensitivity")
    for step in steps:
        group: Group = {"protocol": protocol, "delta": step}
        shown = step in (1, steps[-1])
        rows += index.row(_apart(step), "ladder", "target_sensitivity", group, essential=shown)
    rows += _all_steps(index, protocol)
    rows += index.row("75 % threshold", "ladder", "delta75", {"protocol": protocol})
    title = f"{protocol.capitalize()} protocol"
    return Section(title, f"The same figures under the {protocol} instruction.", tuple(rows))


def _instrument(index: Index) -> Section:
    """Each figure of the joint fit under base, and below it the other protocols."""
    rows: list[Row] = []
    others = index.protocols()
    for metric in (*PARAMETERS, "limit_of_detection", "goodness_of_fit", "fit_probability"):
        told, moved = metric != "goodness_of_fit", metric in ("resolution", "tie_threshold")
        rows += index.row(term(metric).label, "ladder", metric, {"protocol": "base"}, essential=told)
        for name in others:
            rows += index.row(name, "ladder", metric, {"protocol": name}, depth=1, essential=moved)
        for name in others if metric == "resolution" else ():
            label = f"ratio {name}/base"
            rows += index.row(label, "ladder", "resolution_ratio", {"protocol": name}, depth=1)
    question = "What instrument is it? One fit of all pairs, in units of the judge's noise."
    return Section("Instrument model", question, tuple(rows))


def _controls(index: Index) -> Section:
    rows: list[Row] = []
    for kind, label in (("different_subset", "raw, other content"), ("filler", "raw, padded")):
        group: Group = {"protocol": "base", "delta": 0, "kind": kind}
        rows += index.row(label, "ladder", "raw_false_preference", group, essential=False)
    group = {"protocol": "base", "delta": 0, "kind": "filler"}
    rows += index.row("padded preference", "ladder", "padded_preference", group)
    return Section("Controls", "Does other content of the same amount, or padding, sway it?", tuple(rows))


def _natural(index: Index, protocol: str) -> Section:
    here: Group = {"protocol": protocol}
    rows: list[Row] = []
    for metric in NATURAL:
        rows += index.row(term(metric).label, NATURAL_PROBE, metric, here)
    rows += index.row("accuracy", NATURAL_PROBE, "accuracy", here)
    named = [(f"better in slot {slot}", {**here, "slot": slot}) for slot in (1, 2)]
    rows += index.parts(NATURAL_PROBE, "accuracy", named, depth=1)
    rows += index.row("both orders", NATURAL_PROBE, "accuracy_both", here, depth=1)
    title = "Natural pairs" if protocol == "base" else f"Natural pairs, {protocol}"
    return Section(title, "Does the winner survive a change of order, and agree with people?", tuple(rows))


def _reliability(index: Index) -> Section:
    question = "Is the verdict right, and does it stay when what the rubric asks about stays?"
    return Section("Reliability", question, tuple(reliability_rows(index)))


def _failures(index: Index) -> Section:
    rows: list[Row] = []
    for metric in ("unreadable_rate", "failed_rate"):
        label = term(metric).label
        whole = list(index.row(label, RUN, metric, {}))
        split: list[Row] = []
        for protocol in ("base", *index.protocols()):
            for probe in ("vacuum", "ladder", NATURAL_PROBE):
                words = probe if protocol == "base" else f"{probe}, {protocol}"
                text = words if whole else f"{label}, {words}"
                split += index.row(text, probe, metric, {"protocol": protocol}, depth=len(whole))
        needed = not whole or index.seen(split)
        rows += [*whole, *(replace(row, essential=needed) for row in split)]
    return Section("Failures", "How many calls gave no verdict? They are never a score.", tuple(rows))


def _other_probes(index: Index) -> Iterator[Section]:
    addresses: dict[str, list[Address]] = {}
    for address in index.cells:
        addresses.setdefault(address[0], []).append(address)
    for probe in [name for name in addresses if name not in (*PAIRWISE, NATURAL_PROBE, RUN)]:
        rows: list[Row] = []
        metrics = list(dict.fromkeys(metric for _, metric, _ in addresses[probe]))
        whole = {metric for _, metric, group in addresses[probe] if group <= {BASE}}
        for _, metric, group in sorted(addresses[probe], key=lambda address: metrics.index(address[1])):
            words = numbers.condition(dict(group - {BASE}))
            part = group > {BASE} and metric in whole
            name = term(metric).label
            label = words if part else name if words == "all" else f"{name}, {words}"
            shown = metric not in DETAILS and (probe in WHOLE or probe not in RELIABILITY)
            shown = (shown or probe == COST) and not index.free(probe, metric, group)
            rows += index.row(label, probe, metric, dict(group), depth=int(part), essential=shown)
        yield Section(probe_name(probe), "", tuple(rows))


def _apart(step: float) -> str:
    return f"{numbers.steps(step)} step{'' if step == 1 else 's'} apart"
