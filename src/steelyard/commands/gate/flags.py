"""Flagged readings that no rule of a policy names: a fault that nobody asked about is a fault."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace

from steelyard.commands.gate.policy import ALLOW, UNNAMED, Policy
from steelyard.commands.gate.ruling import FAIL, Check, Ruling
from steelyard.datasheet.conclusion import UNFIT
from steelyard.datasheet.conclusions.reasons import plugin_flags
from steelyard.datasheet.conclusions.rules import FAULTS
from steelyard.datasheet.datasheet import Datasheet
from steelyard.datasheet.estimate_index import JudgeEstimates
from steelyard.datasheet.words import titles
from steelyard.datasheet.words.glossary import metric_named, probe_title
from steelyard.datasheet.words.numbers import figure
from steelyard.metrics.common import MERIT
from steelyard.metrics.findings import FLAGGED, INCONCLUSIVE

NAMED_BY: Mapping[str, tuple[str, ...]] = {
    titles.DARK_CURRENT: ("dark_current",),
    titles.POSITION: ("net_slot_preference", "positional_false_preference"),
    titles.NOISE: ("flip_excess", "swap_flip_rate"),
    titles.SURFACE: ("stable_cross_sensitivity",),
    titles.SENSITIVITY: ("target_sensitivity",),
    titles.NATURAL_PAIRS: ("net_slot_preference", "order_consistency"),
    titles.ACCURACY: ("accuracy", "balanced_accuracy", "kappa", "qwk", "accuracy_gain", "error_gain"),
    titles.LENIENCY: ("leniency", "false_positive_rate", "false_negative_rate"),
    titles.LENGTH: ("length_lean", "length_gap"),
    titles.STRATA: ("stratum_gap",),
    titles.RUNS: ("missed_failure_rate", "false_alarm_rate", "error_rate"),
    titles.ROBUSTNESS: ("excess_flip", "invariance"),
    titles.REPEATABILITY: ("self_agreement", "icc", "fleiss_kappa", "repeat_flip_rate"),
    titles.FAILURES: ("unreadable_rate", "failed_rate"),
}
"""Title of a reading to the metrics of which any names it in a policy."""


@dataclass(frozen=True)
class Flag:
    title: str
    sentence: str
    metrics: tuple[str, ...]


def with_flags(ruling: Ruling, sheet: Datasheet, policy: Policy) -> Ruling:
    """The ruling, with a check that fails for each flag that the policy does not tolerate.

    Flags that it allows, and what the datasheet leaves open without a rule asking for it, become notes.
    """
    named = {rule.metric for rule in policy.rules}
    checks, notes = list(ruling.checks), list(ruling.notes)
    for judge in ruling.judges:
        failed = {check.metric for check in ruling.of(judge) if check.result == FAIL}
        known = named if policy.flags == UNNAMED else failed
        flags = [flag for flag in _flags(sheet, judge) if known.isdisjoint(flag.metrics)]
        if policy.flags != ALLOW:
            checks += [_check(judge, flag) for flag in flags]
        elif flags:
            titles_allowed = ", ".join(flag.title for flag in flags)
            notes.append(f"{judge}: flagged, and allowed by the policy: {titles_allowed}.")
        unfit = any((verdict.judge, verdict.word) == (judge, UNFIT) for verdict in sheet.verdicts)
        if policy.shipped and unfit and not failed:
            checks.append(_check(judge, Flag("Verdict", "the datasheet calls it unfit", (MERIT.id,))))
        undecided = [flag for flag in _readings(sheet, judge, INCONCLUSIVE) if named.isdisjoint(flag.metrics)]
        if undecided:
            open_titles = ", ".join(flag.title for flag in undecided)
            notes.append(f"{judge}: undecided on the datasheet, and not asked for: {open_titles}.")
    return replace(ruling, checks=tuple(checks), notes=tuple(notes))


def _flags(sheet: Datasheet, judge: str) -> Iterator[Flag]:
    yield from _readings(sheet, judge, FLAGGED)
    mine = sheet.look_up.of_judge(judge)
    refuted = [e for e in mine if e.metric == MERIT.id and e.status == FLAGGED]
    for estimate in [*refuted[:1], *plugin_flags(JudgeEstimates(judge, sheet.look_up))]:
        found = f"{metric_named(estimate.metric).name} {figure(estimate)}"
        yield Flag(probe_title(estimate.probe), found, (estimate.metric,))


def _readings(sheet: Datasheet, judge: str, word: str) -> Iterator[Flag]:
    faults = {rule.title for rule in FAULTS}
    for reading in sheet.findings:
        if (reading.judge, reading.status) == (judge, word) and reading.title in faults:
            yield Flag(reading.title, reading.sentence, NAMED_BY.get(reading.title, ()))


def _check(judge: str, flag: Flag) -> Check:
    return Check(
        judge=judge,
        rule=f"{flag.title}: not flagged",
        figure="datasheet",
        result=FAIL,
        found="flagged",
        reason=flag.sentence,
        metric=flag.metrics[0] if flag.metrics else "",
    )
