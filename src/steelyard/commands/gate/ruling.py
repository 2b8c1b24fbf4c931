"""Pass, fail or inconclusive: decided on whole intervals, never on points.

A figure passes where it is clear of the limits of the policy, and fails where it is flagged against them, by
the rule that the datasheet reads figures by: the recommended interval lies within, or outside, as a whole and
however the missing verdicts had come out.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field, replace
from html import escape
from typing import Any

from steelyard.commands.gate.policy import Policy, PolicyRule, no_match_error, select, select_with_finding
from steelyard.core.text import pluralize
from steelyard.datasheet.datasheet import Datasheet
from steelyard.datasheet.estimate_index import JudgeEstimates
from steelyard.datasheet.findings.more_data import more_data
from steelyard.datasheet.run_facts import EARLY_STOP
from steelyard.datasheet.words import numbers
from steelyard.datasheet.words.glossary import metric_named, probe_title
from steelyard.datasheet.words.text import escape_control_chars
from steelyard.errors import ConfigError
from steelyard.metrics.common import MERIT
from steelyard.metrics.estimate import Estimate
from steelyard.metrics.findings import (
    BY_CHANCE,
    CLEAR,
    FLAGGED,
    MISSING_DECIDE,
    TOLERATED_LOSS,
    calls_total,
    estimate_word,
)
from steelyard.metrics.pairs.decomposition import ONE_ORDER
from steelyard.metrics.pairs.slot_imbalance import slot_imbalance_note
from steelyard.metrics.scores.invariance import EXCESS_FLIP, INVARIANCE
from steelyard.metrics.stats.intervals import Span
from steelyard.probes.probe_metadata import label_changing_probes

PASS, FAIL, GATE_INCONCLUSIVE = "PASS", "FAIL", "INCONCLUSIVE"
ORDER = (FAIL, GATE_INCONCLUSIVE, PASS)
"""The worst first."""
EXIT_CODES = {PASS: 0, FAIL: 3, GATE_INCONCLUSIVE: 4}
ACROSS_LIMIT = "the interval reaches over the limit"


@dataclass(frozen=True)
class Check:
    """One rule applied to one figure of one judge."""

    judge: str
    """Name on the datasheet."""
    rule: str
    """The rule in words."""
    figure: str
    """Probe and condition of the figure."""
    result: str
    """`PASS`, `FAIL` or `INCONCLUSIVE`."""
    found: str
    """The figure with its interval."""
    reason: str
    """Why, in a clause."""
    calls_needed: int | None = None
    """Where inconclusive: further calls of the same design that decide in four runs of five, if the value
    stayed."""
    more: str | None = None
    """The same in words, as clusters or rows where those are what is missing."""
    metric: str = ""
    """Metric id."""
    value: float | None = None
    """The figure, or the drift; None where it is undefined."""
    low: float | None = None
    """Lower limit of the recommended interval."""
    high: float | None = None
    """Upper limit of the recommended interval."""

    @property
    def name(self) -> str:
        """What the figure is called; of a check over all figures, the rule."""
        return self.rule.partition(":")[0]

    def to_json(self) -> dict[str, Any]:
        """A plain mapping."""
        return dict(vars(self))


@dataclass(frozen=True, repr=False)
class Ruling:
    """Every check of every judge."""

    study: str
    """Name of the study."""
    judges: tuple[str, ...]
    """Judges that were gated."""
    checks: tuple[Check, ...]
    """In the order of the policy, judge by judge; drift last."""
    notes: tuple[str, ...] = field(default=())
    """What else should be known."""

    def __repr__(self) -> str:
        return f"<Ruling on {', '.join(self.judges)}: {self.result}, {pluralize(len(self.checks), 'check')}>"

    def _repr_html_(self) -> str:
        """What a notebook shows: the result, then every check, the worst first."""
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
        """The worst of all checks."""
        return worst(check.result for check in self.checks)

    def of(self, judge: str) -> list[Check]:
        """The checks of one judge."""
        return [check for check in self.checks if check.judge == judge]

    def to_json(self) -> dict[str, Any]:
        """The content of `gate --json`."""
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


def select_judges(sheet: Datasheet, wanted: Sequence[str], where: str) -> tuple[str, ...]:
    """The judges that are named, or all that are no baselines."""
    own = [judge.name for judge in sheet.judges if not judge.baseline]
    known = [judge.name for judge in sheet.judges]
    for name in wanted:
        if name not in known:
            raise ConfigError(f"{where}: no judge {name!r}, expected one of {', '.join(known)}.")
    if not wanted and not own:
        raise ConfigError(f"{where}: holds baselines only, expected a judge; measure one.")
    return tuple(wanted or own)


def apply_policy(sheet: Datasheet, policy: Policy, judges: Sequence[str], where: str) -> Ruling:
    """Apply every rule to every judge."""
    checks: list[Check] = []
    absent: dict[str, None] = {}
    for judge in judges:
        mine = sheet.look_up.of_judge(judge)
        of_agents = JudgeEstimates(judge, sheet.look_up).of_agents
        for rule in policy.rules:
            figures = _figures(rule, mine, shipped=policy.shipped)
            if not figures and not policy.shipped:
                raise no_match_error(rule, mine, where)
            if not figures and rule.metric == MERIT.id:
                checks.append(_unmeasured(judge, rule))
            elif not figures:
                absent[metric_named(rule.metric).name] = None
            checks += _merit_checks(
                rule, [check(rule, estimate, of_agents=of_agents) for estimate in figures]
            )
    if not checks:
        raise ConfigError(f"{where}: no rule fits a figure of the datasheet; write a policy of your own.")
    notes = [f"Not measured in this run, so not asked: {', '.join(absent)}."] if absent else []
    notes += [f"Reference: {sheet.reference_sentence}."] if sheet.reference else []
    return Ruling(sheet.name, tuple(judges), tuple(checks), tuple(notes))


def _figures(rule: PolicyRule, mine: Sequence[Estimate], *, shipped: bool) -> list[Estimate]:
    """The figures that a rule applies to; an edit that may change the verdict is exempt.

    A shipped policy does not ask for what there was nothing to count of, as agreement without labels. It asks
    for what pairs shown in one order hide: a slot that is favoured.
    """
    figures = select_with_finding(rule, mine) if rule.uses_sheet_limit else select(rule, mine)
    moving = (
        label_changing_probes() if rule.metric in (INVARIANCE.id, EXCESS_FLIP.id) and not rule.probe else ()
    )
    figures = [figure for figure in figures if figure.probe not in moving]
    if not shipped or rule.metric == MERIT.id:
        return figures
    return [
        figure
        for figure in figures
        if figure.value is not None or any(figure.excluded.values()) or figure.reason == ONE_ORDER.code
    ]


def _unmeasured(judge: str, rule: PolicyRule) -> Check:
    """Without merit nothing else is worth passing."""
    why = "whether it tells good from bad was not measured"
    return Check(judge, str(rule), "datasheet", GATE_INCONCLUSIVE, "undefined", why, metric=rule.metric)


def _merit_checks(rule: PolicyRule, checks: list[Check]) -> list[Check]:
    """The checks that count: of merit, those that show it where none refutes it."""
    passed = [check for check in checks if check.result == PASS]
    if rule.metric != MERIT.id or not passed or any(check.result == FAIL for check in checks):
        return checks
    return passed


def withhold_partial(ruling: Ruling, sheet: Datasheet) -> Ruling:
    """No judge passes on a part of its calls: what was never asked could have gone either way.

    Nor does one fail on calls that ended where the figures themselves had them end.
    """
    return replace(ruling, checks=tuple(_withhold_partial(each, sheet) for each in ruling.checks))


def _withhold_partial(check: Check, sheet: Datasheet) -> Check:
    partial, rule = sheet.unfinished(check.judge), sheet.facts.decided
    if partial is None or (check.result == FAIL and rule is None):
        return check
    if rule is not None:
        reason = f"{partial}, as {rule} was to be decided: {EARLY_STOP}; measure the others too"
    else:
        before = f"{check.reason}; " if check.result == GATE_INCONCLUSIVE else ""
        reason = f"{before}{partial}; run the same command again to continue"
    # What the plan asks for comes before further calls.
    return replace(check, result=GATE_INCONCLUSIVE, reason=reason, calls_needed=None, more=None)


def check(rule: PolicyRule, estimate: Estimate, *, of_agents: bool = False) -> Check:
    """One rule against one figure."""
    result, reason, needed = _decide(rule, estimate)
    probe = probe_title(estimate.probe)
    return Check(
        judge=estimate.judge,
        rule=str(rule),
        figure=f"{probe}, {numbers.condition(estimate.group)}" if estimate.group else probe,
        result=result,
        found="undefined" if numbers.undefined(estimate) else numbers.figure(estimate),
        reason=reason,
        calls_needed=needed,
        more=None if needed is None else more_data(estimate, max(1, needed), of_agents=of_agents),
        metric=rule.metric,
        value=estimate.value,
        low=estimate.interval.low if estimate.interval else None,
        high=estimate.interval.high if estimate.interval else None,
    )


def _decide(rule: PolicyRule, estimate: Estimate) -> tuple[str, str, int | None]:
    if numbers.undefined(estimate):
        return GATE_INCONCLUSIVE, f"undefined: {numbers.reason(estimate)}", None
    if estimate.interval is None and not (rule.uses_sheet_limit and estimate.status):
        return GATE_INCONCLUSIVE, "the figure has no interval, and a point decides nothing", None
    read = estimate.status if rule.uses_sheet_limit or rule.span == _limit_of(estimate) else None
    word = read or estimate_word(estimate, rule.span)
    if word == FLAGGED:
        tested = estimate.p is not None or not rule.has_limit
        return FAIL, "flagged on the datasheet" if tested else "the whole interval lies outside", None
    if word != CLEAR:
        reason = _undecidable_reason(rule, estimate)
        undecided = ACROSS_LIMIT if rule.has_limit else "undecided on the datasheet"
        return (
            GATE_INCONCLUSIVE,
            reason or undecided,
            None if reason else _additional_calls(rule, estimate, read),
        )
    apart = 0 if rule.metric == MERIT.id else estimate.left_out  # merit holds with them taken for chance
    if apart > TOLERATED_LOSS * (estimate.n_calls + apart):
        return (
            GATE_INCONCLUSIVE,
            f"{pluralize(apart, 'call')} abstained, which it leaves out and accuracy counts",
            None,
        )
    return PASS, f"the whole interval lies within{_abstention_note(estimate)}", None


def _limit_of(estimate: Estimate) -> Span | None:
    """What the datasheet reads the figure against."""
    limit = metric_named(estimate.metric).limit_in(estimate.group, estimate.probe)
    return None if limit is None else limit.allowed


def _undecidable_reason(rule: PolicyRule, estimate: Estimate) -> str | None:
    """Why no number of calls like these would decide; None where one may."""
    if estimate.reading == BY_CHANCE:
        return "beyond the limit, as answers by chance would be"
    whole = replace(estimate, bounds=None, excluded={})
    decide = rule.has_limit and estimate_word(whole, rule.span) != estimate_word(estimate, rule.span)
    if decide or (rule.uses_sheet_limit and estimate.missing_decides):
        return slot_imbalance_note(estimate) or f"{numbers.excluded(estimate)}: {MISSING_DECIDE}"
    return None


def _additional_calls(rule: PolicyRule, estimate: Estimate, read: str | None) -> int | None:
    """Further calls that would decide; the datasheet's own forecast where its own limit is asked for."""
    total = estimate.calls_needed if read else calls_total(estimate, rule.span)
    return None if total is None else max(1, total - estimate.n_calls)


def _abstention_note(estimate: Estimate) -> str:
    """How often a judge abstained that passes."""
    if estimate.left_out:
        return f"; {pluralize(estimate.left_out, 'call')} abstained, which it leaves out"
    return numbers.abstentions(estimate)
