"""Pass, fail or inconclusive: decided on whole intervals, never on points.

A figure passes where it is clear of the limits of the policy, and fails where it is flagged against them, by
the rule that the datasheet reads figures by: the recommended interval lies within, or outside, as a whole and
however the missing verdicts had come out.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from html import escape
from math import inf
from typing import Any

from steelyard.commands.gate.policy import (
    ALLOW,
    UNNAMED,
    Policy,
    PolicyRule,
    no_match_error,
    select,
    select_with_finding,
)
from steelyard.core.text import escape_control_chars, listed, pluralize
from steelyard.datasheet import numbers
from steelyard.datasheet.conclusion import UNFIT
from steelyard.datasheet.datasheet import Datasheet
from steelyard.datasheet.estimate_index import JudgeEstimates
from steelyard.datasheet.glossary import metric_named, probe_title
from steelyard.datasheet.instrument_card import JudgeEntry
from steelyard.datasheet.questions.expected_answers import EXPECTED
from steelyard.datasheet.questions.more_data import more_data
from steelyard.datasheet.questions.question import Decision, Test
from steelyard.datasheet.run_facts import EARLY_STOP
from steelyard.errors import ConfigError
from steelyard.estimation.designs import METRICS as CORRECTED
from steelyard.metrics.estimate import Estimate
from steelyard.metrics.findings import (
    BY_CHANCE,
    CLEAR,
    FLAGGED,
    INCONCLUSIVE,
    MISSING_DECIDE,
    TOLERATED_LOSS,
    calls_total,
    estimate_word,
)
from steelyard.metrics.pairs.decomposition import ONE_ORDER
from steelyard.metrics.pairs.slot import slot_imbalance_note
from steelyard.metrics.proportions import MERIT
from steelyard.metrics.run.losses import UNEVEN
from steelyard.metrics.scores.edited_texts import EXCESS_FLIP, INVARIANCE, authorship, rests_on_author
from steelyard.probes.probe_metadata import label_changing_probes

PASS, FAIL, GATE_INCONCLUSIVE = "PASS", "FAIL", "INCONCLUSIVE"
ORDER = (FAIL, GATE_INCONCLUSIVE, PASS)
"""The worst first."""
EXIT_CODES = {PASS: 0, FAIL: 3, GATE_INCONCLUSIVE: 4}


ESTIMATED_IDS = tuple(metric.id for metric in CORRECTED)
"""Figures whose width is a matter of labels, not of calls."""


@dataclass(frozen=True)
class Check:
    judge: str
    rule: str
    figure: str
    result: str
    found: str
    reason: str
    calls_needed: int | None = None
    """Where inconclusive: further calls of the same design that decide in four runs of five, if the value
    stayed."""
    more: str | None = None
    """The same in words, as clusters or rows where those are what is missing."""
    metric: str = ""
    value: float | None = None
    low: float | None = None
    high: float | None = None

    @property
    def name(self) -> str:
        return self.rule.partition(":")[0]

    def to_json(self) -> dict[str, Any]:
        return dict(vars(self))


@dataclass(frozen=True, repr=False)
class Ruling:
    study: str
    judges: tuple[str, ...]
    checks: tuple[Check, ...]
    notes: tuple[str, ...] = field(default=())

    def __repr__(self) -> str:
        return f"<Ruling on {', '.join(self.judges)}: {self.result}, {pluralize(len(self.checks), 'check')}>"

    def _repr_html_(self) -> str:
        cells = [
            (check.result, check.judge, check.rule, check.found, check.reason)
            for check in sorted(self.checks, key=lambda check: ORDER.index(check.result))
        ]
        rows = "".join(
            f"<tr>{''.join(f'<td>{escape(escape_control_chars(c))}</td>' for c in row)}</tr>" for row in cells
        )
        return f"<p><b>{self.result}</b></p><table>{rows}</table>"

    @property
    def result(self) -> str:
        return worst(check.result for check in self.checks)

    def of(self, judge: str) -> list[Check]:
        return [check for check in self.checks if check.judge == judge]

    def to_json(self) -> dict[str, Any]:
        return {
            "schema": "steelyard.gate/1",
            "study": self.study,
            "result": self.result,
            "judges": {judge: worst(check.result for check in self.of(judge)) for judge in self.judges},
            "checks": [check.to_json() for check in self.checks],
            "notes": list(self.notes),
        }


def worst(results: Iterable[str]) -> str:
    """FAIL before INCONCLUSIVE before PASS."""
    words = set(results)
    return next(word for word in ORDER if word in words or word == PASS)


def select_judges(judges: Sequence[JudgeEntry], wanted: Sequence[str], where: str) -> tuple[str, ...]:
    known = [judge.name for judge in judges]
    own = [judge.name for judge in judges if not judge.baseline]
    for name in wanted:
        if name not in known:
            raise ConfigError(f"{where}: no judge {name!r}, expected one of {', '.join(known)}.")
    if not wanted and not own:
        raise ConfigError(f"{where}: holds baselines only, expected a judge; measure one.")
    return tuple(wanted or own)


def apply_policy(sheet: Datasheet, policy: Policy, judges: Sequence[str], where: str) -> Ruling:
    checks: list[Check] = []
    absent: dict[str, None] = {}
    for judge in judges:
        mine = sheet.look_up.of_judge(judge)
        own = JudgeEstimates(judge, sheet.look_up)
        named = {rule.metric for rule in policy.rules}
        for rule in policy.rules:
            figures = _figures(rule, mine, shipped=policy.shipped)
            if not figures and not policy.shipped:
                raise no_match_error(rule, mine, where)
            if not figures and rule.metric == MERIT.id:
                # Without merit nothing else is worth passing.
                why = "whether it tells good from bad was not measured"
                missing = Check(judge, str(rule), "datasheet", GATE_INCONCLUSIVE, "undefined", why)
                checks.append(replace(missing, metric=rule.metric))
            elif not figures:
                absent[metric_named(rule.metric).name] = None
            found = [check(rule, each, own) for each in figures]
            passed = [each for each in found if each.result == PASS]
            # Of merit those figures count that show it, where none refutes it.
            if rule.metric == MERIT.id and passed and all(each.result != FAIL for each in found):
                found = passed
            checks += found
            if rule.metric == MERIT.id and rule.uses_sheet_limit:
                checks += _missed_answers(own, named)
    if not checks:
        raise ConfigError(f"{where}: no rule fits a figure of the datasheet; write a policy of your own.")
    notes = [f"Not measured in this run, so not asked: {', '.join(absent)}."] if absent else []
    notes += [f"Reference: {sheet.reference_sentence}."] if sheet.reference else []
    return Ruling(sheet.name, tuple(judges), tuple(checks), tuple(notes))


def _row(rule: PolicyRule, estimate: Estimate, own: JudgeEstimates | None) -> Test:
    """What is printed: on the datasheet's own limit its row, of merit the test that decides."""
    if not rule.uses_sheet_limit or estimate.value is None:
        return Test(estimate, rule.span)
    if estimate.metric != MERIT.id or own is None:
        return Test.of(estimate)
    decides = own.deciding_merit(estimate)
    return Test(replace(decides.estimate, status=estimate.status), (decides.limit, inf))


def _missed_answers(own: JudgeEstimates, named: Collection[str]) -> Iterator[Check]:
    """Checks that fail: of texts written for an answer that the judge is shown not to give.

    They go with merit, unless a rule names the figure: who misses such answers does not tell good from bad
    there.
    """
    for metric in map(metric_named, (each for each in EXPECTED.metrics if each not in named)):
        assert metric.limit is not None, metric.id
        rule = PolicyRule(metric.id, metric.limit.value, None, None, {}, uses_sheet_limit=True)
        missed = (each for each in own.every.of(own.judge, metric.id) if each.is_overall)
        yield from (check(rule, each, own) for each in missed if each.status == FLAGGED)


def _figures(rule: PolicyRule, mine: Sequence[Estimate], *, shipped: bool) -> list[Estimate]:
    """The figures that a rule applies to; an edit that may change the verdict is exempt.

    A shipped policy does not ask for what there was nothing to count of, as agreement without labels, nor for
    what the datasheet sets no limit to. It asks for what pairs shown in one order hide: a favoured slot.
    """
    figures = select_with_finding(rule, mine) if rule.uses_sheet_limit else select(rule, mine)
    moving = (
        label_changing_probes() if rule.metric in (INVARIANCE.id, EXCESS_FLIP.id) and not rule.probe else ()
    )
    figures = [figure for figure in figures if figure.probe not in moving]
    if rule.metric == MERIT.id and "protocol" not in rule.group:
        # A verdict is of the prompt “base”: what another one shows passes nobody.
        return [figure for figure in figures if figure.group.get("protocol", "base") == "base"]
    if not shipped:
        return figures
    return [
        figure
        for figure in figures
        if not (rule.uses_sheet_limit and _without_limit(figure))
        and (figure.value is not None or any(figure.excluded.values()) or figure.reason == ONE_ORDER.code)
    ]


def _without_limit(figure: Estimate) -> bool:
    """True for a figure that stands beside those that the datasheet reads, as how repeats agree."""
    return (
        figure.value is not None
        and figure.status is None
        and metric_named(figure.metric).limit_in(figure.group, figure.probe) is None
    )


def withhold_partial(ruling: Ruling, sheet: Datasheet) -> Ruling:
    """No judge passes on a part of its calls: what was never asked could have gone either way.

    Nor does one fail on calls that ended where the figures themselves had them end.
    """
    checks, rule = [], sheet.facts.decided
    for check in ruling.checks:
        asked = sheet.unfinished(check.judge)
        partial = f"Partial: {asked}"
        if asked is None or (check.result == FAIL and rule is None):
            checks.append(check)
            continue
        if rule is not None:
            reason = f"{partial}, as {rule} was to be decided: {EARLY_STOP}; measure the others too"
        else:
            before = f"{check.reason}; " if check.result == GATE_INCONCLUSIVE else ""
            reason = f"{before}{partial}; run the same command again to continue"
        # What the plan asks for comes before further calls.
        checks.append(replace(check, result=GATE_INCONCLUSIVE, reason=reason, calls_needed=None, more=None))
    return replace(ruling, checks=tuple(checks))


def check(rule: PolicyRule, estimate: Estimate, own: JudgeEstimates | None = None) -> Check:
    """A rule on a figure; `own` are the judge's others, of which some decide merit."""
    row = _row(rule, estimate, own)
    result, reason, needed = _decide(rule, estimate, row)
    shown, probe, of_agents = row.estimate, probe_title(estimate.probe), own is not None and own.of_agents
    return Check(
        judge=estimate.judge,
        rule=str(rule),
        figure=f"{probe}, {numbers.condition(shown.group)}" if shown.group else probe,
        result=result,
        found="undefined" if numbers.undefined(estimate) else numbers.figure(shown, row.drawn),
        reason=reason,
        calls_needed=needed,
        more=None if needed is None else more_data(estimate, max(1, needed), of_agents=of_agents),
        metric=rule.metric,
        value=shown.value,
        low=shown.interval.low if shown.interval else None,
        high=shown.interval.high if shown.interval else None,
    )


def _decide(rule: PolicyRule, estimate: Estimate, row: Test) -> tuple[str, str, int | None]:
    if numbers.undefined(estimate):
        return GATE_INCONCLUSIVE, f"undefined: {numbers.reason(estimate)}", None
    if estimate.interval is None and not (rule.uses_sheet_limit and estimate.status):
        return GATE_INCONCLUSIVE, "the figure has no interval, and a point decides nothing", None
    limit = metric_named(estimate.metric).limit_in(estimate.group, estimate.probe)
    sheet_decides = rule.uses_sheet_limit or (limit is not None and rule.span == limit.allowed)
    read = estimate.status if sheet_decides else None
    word = read or estimate_word(estimate, rule.span)
    if word == FLAGGED:
        row = Test.of(estimate) if rule.has_limit else row
        if estimate.reading == UNEVEN and not row.is_outside:
            return FAIL, "such calls are not spread evenly over what was shown", None
        said = f"{row.state.value if row.state else 'beyond its limit'} on the datasheet: {row.limit}"
        tested = estimate.p is not None or not rule.has_limit
        return FAIL, said if tested else "the whole interval lies outside", None
    if word != CLEAR:
        reason = _undecidable_reason(rule, estimate)
        undecided = (
            "the interval reaches over the limit"
            if rule.has_limit
            else f"undecided on the datasheet: {row.limit}"
        )
        if estimate.metric in ESTIMATED_IDS:
            return GATE_INCONCLUSIVE, f"{undecided}; more labels make it narrower", None
        if reason:
            return GATE_INCONCLUSIVE, reason, None
        # The datasheet's own forecast where its own limit is asked for.
        total = estimate.calls_needed if read else calls_total(estimate, rule.span)
        return GATE_INCONCLUSIVE, undecided, None if total is None else max(1, total - estimate.n_calls)
    if rule.metric == MERIT.id and rests_on_author(estimate):
        return GATE_INCONCLUSIVE, authorship(estimate), None
    apart = 0 if rule.metric == MERIT.id else estimate.left_out  # merit holds with them taken for chance
    if apart > TOLERATED_LOSS * (estimate.n_calls + apart):
        return (
            GATE_INCONCLUSIVE,
            f"{pluralize(apart, 'call')} abstained, which it leaves out and accuracy counts",
            None,
        )
    note = numbers.abstentions(estimate)
    if estimate.left_out:
        note = f"; {pluralize(estimate.left_out, 'call')} abstained, which it leaves out"
    return PASS, f"the whole interval lies within{note}", None


def _undecidable_reason(rule: PolicyRule, estimate: Estimate) -> str | None:
    """Why no number of calls like these would decide; None where one may."""
    if estimate.reading == BY_CHANCE:
        return "beyond the limit, as answers by chance would be"
    whole = replace(estimate, bounds=None, excluded={})
    decide = rule.has_limit and estimate_word(whole, rule.span) != estimate_word(estimate, rule.span)
    if decide or (rule.uses_sheet_limit and estimate.missing_decides):
        return slot_imbalance_note(estimate) or f"{numbers.excluded(estimate)}: {MISSING_DECIDE}"
    return None


def with_flags(ruling: Ruling, sheet: Datasheet, policy: Policy) -> Ruling:
    """The ruling, with a check that fails for each fault that the policy does not tolerate.

    Faults that it allows, and what the datasheet leaves open without a rule asking for it, become notes.
    """
    named = {rule.metric for rule in policy.rules}
    checks, notes = list(ruling.checks), list(ruling.notes)
    for judge in ruling.judges:
        failed = {check.metric for check in ruling.of(judge) if check.result == FAIL}
        known = named | failed if policy.flags == UNNAMED else failed
        faults = _decided(sheet, judge, FLAGGED, known)
        if policy.flags != ALLOW:
            checks += [_fault_check(judge, fault) for fault in faults]
        elif faults:
            allowed = listed(fault.row_title for fault in faults)
            notes.append(f"{judge}: beyond its limit, and allowed by the policy: {allowed}.")
        unfit = any((verdict.judge, verdict.word) == (judge, UNFIT) for verdict in sheet.verdicts)
        if policy.shipped and unfit and not failed:
            why = "the datasheet calls it unfit"
            checks.append(Check(judge, "verdict: not unfit", "datasheet", FAIL, UNFIT, why, metric=MERIT.id))
        if undecided := _decided(sheet, judge, INCONCLUSIVE, named):
            titles = listed(each.printed_name for each in undecided)
            notes.append(f"{judge}: undecided on the datasheet, and not asked for: {titles}.")
    return replace(ruling, checks=tuple(checks), notes=tuple(notes))


def _decided(sheet: Datasheet, judge: str, status: str, named: Collection[str]) -> list[Decision]:
    """Decisions of a status that count, and of whose metrics none is named."""
    mine = (each for each in sheet.findings if each.judge == judge and each.counts)
    return [each for each in mine if each.status == status and not set(named) & _metrics(each)]


def _metrics(decision: Decision) -> set[str]:
    """The metrics of which any names a question in a policy."""
    return set(decision.question.metrics) or {test.estimate.metric for test in decision.tests}


def _fault_check(judge: str, fault: Decision) -> Check:
    """The row of the datasheet: the figure that lies beyond its limit."""
    test = next(iter(fault.rows), None)
    rule, metric = f"{fault.row_title}: within its limit", next(iter(sorted(_metrics(fault))), "")
    if test is None or test.state is None:
        return Check(judge, rule, "datasheet", FAIL, "beyond its limit", "see the datasheet", metric=metric)
    estimate, interval = test.estimate, test.estimate.interval
    return Check(
        judge=judge,
        rule=rule,
        figure=test.name,
        result=FAIL,
        found=numbers.figure(estimate, test.drawn),
        reason=f"{test.state.value} on the datasheet: {test.limit}",
        metric=estimate.metric,
        value=estimate.value,
        low=interval.low if interval else None,
        high=interval.high if interval else None,
    )
