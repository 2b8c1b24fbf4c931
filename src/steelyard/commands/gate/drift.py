"""Drift: has the judge changed since a reference run on the same stimuli?

Every figure that a verdict can rest on is paired with the reference, unit by unit, whether the policy names
it or not, and one test over all of them asks whether the judge reads differently at all. A change is drift
whichever way it goes: an instrument that reads differently has to be calibrated again, unless the policy's
figures are known to lie within the margin and no other figure is shown to have moved.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import replace
from pathlib import Path

from steelyard.commands.compare import Verdicts, compare_judges, load_verdicts
from steelyard.commands.gate.policy import Policy, select
from steelyard.commands.gate.ruling import FAIL, GATE_INCONCLUSIVE, PASS, Check, Ruling
from steelyard.core.text import pluralize
from steelyard.datasheet import numbers
from steelyard.datasheet.comparison.rows import (
    LOSSES,
    interval,
    needs_answers,
    probability,
    same_sentence,
    unlike,
)
from steelyard.datasheet.glossary import metric_named, probe_title
from steelyard.datasheet.instrument_card import JudgeEntry
from steelyard.errors import ConfigError, DataError
from steelyard.metrics.comparison.comparison import Comparison, ComparisonFamily, adjust_comparisons
from steelyard.metrics.estimate import Estimate
from steelyard.metrics.findings import CLEAR, FLAGGED
from steelyard.metrics.proportions import FAILED_RATE

RESULTS = {"clear": PASS, "flagged": FAIL, "inconclusive": GATE_INCONCLUSIVE}


def drift_checks(
    folder: Path, reference: Path, policy: Policy, ruling: Ruling, margin: float
) -> tuple[list[Check], list[str]]:
    new, old = load_verdicts(folder), load_verdicts(reference)
    if new.stimulus_set != old.stimulus_set:
        raise DataError(
            f"{folder} and {reference}: stimulus sets differ ({new.stimulus_set[7:19]} and "
            f"{old.stimulus_set[7:19]}), expected the same; measure both with one seed, profile and data."
        )
    checks: list[Check] = []
    notes: list[str] = []
    for judge in ruling.judges:
        before, after = _counterpart(old, judge), new.pick(judge)
        sheet = compare_judges(old, before, new, after, margin)
        # Calls without a reply are the network's, not the judge's, unless the policy asks.
        ours = FAILED_RATE.id in {rule.metric for rule in policy.rules}
        family = adjust_comparisons(
            [row for row in sheet.rows if ours or row.metric != FAILED_RATE.id], margin
        )
        selected, unpaired = _select(policy, family.rows, {check.metric for check in ruling.of(judge)})
        asked = {id(row) for row in selected}
        moved = [row for row in family.rows if id(row) not in asked and row.status == FLAGGED]
        tolerated = not moved and all(r.status == CLEAR for r in selected)
        checks += _joint_check(judge, family, sheet.same, margin, tolerated=tolerated)
        checks += [_check(judge, row, margin) for row in (*selected, *moved)]
        if not any(map(needs_answers, family.defined)):
            notes.append(
                f"{judge}: no figure is held against known answers, so that answers which change and leave "
                "every share as it was are not seen; label the items."
            )
        reference_partial = old.partial(before.name)
        notes += [f"{reference}: {reference_partial}"] if reference_partial else []
        if before.instruments and after.instruments and before.instruments != after.instruments:
            notes.append(
                f"{judge}: model, address, prompt or decoding are not those of the reference (another "
                "fingerprint), so a difference need not be drift"
            )
        if unpaired:
            named = ", ".join(metric_named(metric).name for metric in unpaired)
            why = "not measured in both, or no share or mean of units"
            notes.append(f"{judge}: not checked for drift ({why}): {named}.")
    return checks, notes


def _counterpart(old: Verdicts, judge: str) -> JudgeEntry:
    named = [entry for entry in old.judges if entry.name == judge]
    own = [entry for entry in old.judges if not entry.baseline]
    if named or len(own) == 1:
        return (named or own)[0]
    raise ConfigError(
        f"{old.folder}: no judge {judge!r} to compare with, expected one of "
        f"{', '.join(entry.name for entry in old.judges)}; choose another --reference."
    )


def _select(
    policy: Policy, rows: Sequence[Comparison], asked: Collection[str]
) -> tuple[list[Comparison], list[str]]:
    selected: dict[int, Comparison] = {}
    unpaired: dict[str, None] = {}
    for rule in policy.rules:
        figures = select(rule, rows)
        if not figures and rule.metric in asked:
            unpaired[rule.metric] = None
        selected.update({id(row): row for row in figures})
    return list(selected.values()), list(unpaired)


def _joint_check(
    judge: str, family: ComparisonFamily, same: Estimate | None, margin: float, *, tolerated: bool
) -> list[Check]:
    """Whether the judge reads differently at all; tolerated where the whole policy is within the margin.

    Where no figure is held against known answers, other verdicts in more than the margin of the calls are
    noise or drift: nothing tells which.
    """
    if family.p is None:
        return []
    reason = "the judge reads differently" if family.differs else "no difference is shown"
    if family.differs and tolerated:
        reason += ", and every figure of the policy stays within the margin"
    known, result = family.defined, FAIL if family.differs and not tolerated else PASS
    if result == PASS and all(row.metric in LOSSES for row in known):
        result, reason = GATE_INCONCLUSIVE, "nothing about its answers was compared, only lost calls"
    elif result == PASS and same and unlike(same, margin) and not any(map(needs_answers, known)):
        result, reason = GATE_INCONCLUSIVE, f"{same_sentence(same)}; noise or drift, labels would tell"
    return [
        Check(
            judge=judge,
            rule="all figures together: no drift shown",
            figure=pluralize(len(known), "figure"),
            result=result,
            found=f"p {probability(family.p)}",
            reason=reason,
            metric="all",
            value=family.p,
        )
    ]


def _check(judge: str, row: Comparison, margin: float) -> Check:
    probe = probe_title(row.probe)
    head = Check(
        judge=judge,
        rule=f"{metric_named(row.metric).name}: no drift beyond {margin:g}",
        figure=f"{probe}, {numbers.condition(row.group)}" if row.group else probe,
        result=GATE_INCONCLUSIVE,
        found="undefined",
        reason=row.note or "nothing to compare",
        metric=row.metric,
    )
    if row.difference is None or row.status is None:
        return head
    detectable = numbers.decimal(row.minimum_detectable or 0.0)
    return replace(
        head,
        result=RESULTS[row.status],
        found=f"{numbers.decimal(row.difference, signed=True)} {interval(row)}",
        value=row.difference,
        low=row.decides[0],
        high=row.decides[1],
        reason=f"{row.conclusion_text} (q {probability(row.q)}); smallest detectable drift {detectable}, "
        f"{pluralize(row.n_shared, row.unit)}",
    )
