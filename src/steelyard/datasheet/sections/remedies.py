"""What each judge would show with a remedy, as tables and sentences that every renderer shares."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace

from steelyard.core.text import pluralize
from steelyard.datasheet import numbers
from steelyard.datasheet.conclusion import NO_FAULT, TOO_LITTLE, UNFIT
from steelyard.datasheet.datasheet import Datasheet
from steelyard.datasheet.glossary import metric_named
from steelyard.datasheet.questions.causes import Cause
from steelyard.datasheet.questions.question import Decision
from steelyard.datasheet.questions.questions import question_of, remedies_for
from steelyard.datasheet.sections.summary import Summary
from steelyard.metrics.estimate import Estimate
from steelyard.metrics.findings import CLEAR, FLAGGED
from steelyard.metrics.metric import HIGH, ZERO
from steelyard.metrics.pairs.columns import holds_by_construction
from steelyard.metrics.pairs.equals import RAW_FALSE_PREFERENCE
from steelyard.metrics.pairs.ladder import TARGET_SENSITIVITY
from steelyard.metrics.proportions import ACCURACY, MERIT
from steelyard.metrics.remedies.mitigations import (
    JURY,
    MAJORITY,
    MEAN,
    UNCURED,
    MitigatedFigure,
    MitigatedJudge,
)
from steelyard.metrics.remedies.targets import HALF_TIES, Change
from steelyard.metrics.scores.against_labels import MAE

REMEDIES_COMMAND = "To measure one, or use it as a judge:"
REMEDIES_QUESTION = (
    "What would the judge show if it were asked otherwise? Computed from the calls of this run, none added. "
    "Beside each figure stands its change against the judge as measured, on the same calls."
)

MERIT_OPEN = "whether it tells good from bad then is undecided"
NO_HELP = "No remedy from these calls helps"
_MAIN = (RAW_FALSE_PREFERENCE.id, TARGET_SENSITIVITY.id, ACCURACY.id, HALF_TIES.id, MAE.id)
"""What a remedy is for, and what it may cost."""


@dataclass(frozen=True)
class RemedyCell:
    figure: str
    change: str = ""
    """Against the judge as measured; empty where there is none."""
    measured: Estimate | None = None
    """The figure of the judge as measured, from whose calls this one is computed."""
    remedy: str = ""
    """Id of the remedy; empty for the judge as measured."""

    def __str__(self) -> str:
        return f"{self.figure} ({self.change})" if self.change else self.figure


@dataclass(frozen=True)
class RemedyTable:
    judge: str
    header: tuple[str, ...]
    rows: tuple[tuple[str, str, tuple[RemedyCell, ...]], ...]
    """What is done, calls per verdict, figures."""
    line: str
    """The remedy for what weighs most against the judge; empty where there is none."""
    unknown: str
    """What the calls do not tell, and what it would take; empty where they tell all."""
    definitions: tuple[str, ...]
    """The mitigated judges that a study file can have, in the order of the rows."""


def remedy_tables(summary: Summary) -> tuple[RemedyTable, ...]:
    tables = (_table(summary.datasheet, judge.name) for judge in summary.measured)
    return tuple(table for table in tables if table.rows)


def unknown_remedies(datasheet: Datasheet, judge: str) -> str:
    """What the calls of a judge do not tell, and what it would take; empty where they tell all."""
    reasons: dict[str, list[str]] = {}
    for mitigated in _of(datasheet, judge):
        if mitigated.note:
            reasons.setdefault(mitigated.note, []).append(mitigated.title)
    reasons_named = "; ".join(f"{', '.join(titles)}: {reason}" for reason, titles in reasons.items())
    return f"Not told by these calls: {reasons_named}." if reasons_named else ""


def remedy_for(datasheet: Datasheet, decision: Decision, cause: Cause | None = None) -> MitigatedJudge | None:
    """The first remedy declared for a fault that mends something, brings no fault and leaves merit shown."""
    return next((judge for judge, why in _candidates(datasheet, decision, cause) if not why), None)


def recommended_kind(datasheet: Datasheet, decision: Decision, cause: Cause | None = None) -> str | None:
    """The kind of the remedy for a fault; empty where the calls speak against each, None where none tells."""
    if not _candidates(datasheet, decision, cause):
        return None
    remedy = remedy_for(datasheet, decision, cause)
    return "" if remedy is None else remedy.kind


def repeats_for(datasheet: Datasheet, decision: Decision, cause: Cause) -> MitigatedJudge | None:
    """Repeats that mend noise of a judge whose merit is open, which they may decide; None for other faults.

    They need not be on record: what they would show is then not known, and nothing speaks against them.
    """
    if cause not in (Cause.NOISE, Cause.REPEATABILITY):
        return None
    kinds = remedies_for(decision, cause)
    against = {each.remedy: why for each, why in _candidates(datasheet, decision, cause)}
    kinds = tuple(kind for kind in kinds if kind in (MAJORITY, MEAN))
    fitting = [each for each in _of(datasheet, decision.judge) if each.kind in kinds and each.definition]
    fitting.sort(key=lambda each: (not each.figures, kinds.index(each.kind)))
    return next((each for each in fitting if against.get(each.remedy, "") in ("", MERIT_OPEN)), None)


def no_remedy(datasheet: Datasheet, judge: str) -> str:
    """Why no remedy for what is flagged helps; empty where one does, or none was computed."""
    if not _may_be_mended(datasheet, judge) or _remedy(datasheet, judge)[1] is not None:
        return ""
    reasons: dict[str, dict[str, None]] = {}
    for decision in _flagged(datasheet, judge):
        for mitigated, why in _candidates(datasheet, decision):
            reasons.setdefault(why, {})[mitigated.title] = None
    return "; ".join(f"{' or '.join(titles)}: {why}" for why, titles in reasons.items())


def _candidates(
    datasheet: Datasheet, decision: Decision, cause: Cause | None = None
) -> list[tuple[MitigatedJudge, str]]:
    """Remedies declared for a fault that the calls tell of, each with what speaks against it."""
    known = [each for each in _of(datasheet, decision.judge) if each.figures]
    kinds = remedies_for(decision, cause)
    fitting = sorted((each for each in known if each.kind in kinds), key=lambda each: kinds.index(each.kind))
    measured = next((each for each in _of(datasheet, decision.judge) if each.kind == UNCURED), None)
    return [(each, _against(each, measured)) for each in fitting]


def _against(mitigated: MitigatedJudge, before: MitigatedJudge | None) -> str:
    """Why a remedy is not recommended; empty where it may be."""
    if not any(_better(each.estimate.metric, each.change) for each in mitigated.figures if each.change):
        return "no figure is better with it"
    if worse := _worsened(mitigated, before):
        return worse
    if brought := _brought(mitigated, before):
        return brought
    merits = [each.estimate for each in mitigated.figures if each.estimate.metric == MERIT.id]
    refuted = next((merit for merit in merits if merit.status == FLAGGED), None)
    if refuted is not None:
        return f"does not tell good from bad then, merit {_format_figure(refuted)}"
    if not any(merit.status == CLEAR for merit in merits):
        return MERIT_OPEN
    return ""


def _brought(mitigated: MitigatedJudge, before: MitigatedJudge | None) -> str:
    """The figure that only the remedy brings beyond its limit; empty where none is."""
    old = {} if before is None else {_column(each): each.estimate for each in before.figures}
    for each in mitigated.figures:
        was = old.get(_column(each))
        new = each.estimate.status == FLAGGED and each.estimate.metric != MERIT.id
        if new and was is not None and was.status != FLAGGED:
            short = metric_named(each.estimate.metric).short
            return f"“{short}” is then beyond its limit, {numbers.spelled(was, was.value or 0.0)} → " + (
                numbers.spelled(each.estimate, each.estimate.value or 0.0)
            )
    return ""


def _worsened(mitigated: MitigatedJudge, before: MitigatedJudge | None) -> str:
    """The figure that is flagged already and gets worse; empty where none does."""
    flagged = set()
    if before is not None:
        flagged = {_column(each) for each in before.figures if each.estimate.status == FLAGGED}
    for each in mitigated.figures:
        change = each.change if _column(each) in flagged else None
        if change is not None and change.difference and not _better(each.estimate.metric, change):
            old, new = (numbers.spelled(each.estimate, x or 0.0) for x in (change.uncured, change.cured))
            short = metric_named(each.estimate.metric).short
            return f"“{short}” is beyond its limit and gets worse, {old} → {new}"
    return ""


def _better(metric: str, change: Change) -> bool:
    if not change.difference or change.uncured is None or change.cured is None:
        return False
    declared = metric_named(metric)
    if declared.better == ZERO or (declared.signed and declared.better is None):
        return abs(change.cured) < abs(change.uncured)
    return (change.difference > 0) == (declared.better == HIGH)


def remedy_line(datasheet: Datasheet, judge: str) -> str:
    """The remedy for what weighs most against a judge, with what it does, or why none helps."""
    title, mitigated = _remedy(datasheet, judge)
    if mitigated is None:
        why = no_remedy(datasheet, judge)
        return f"{NO_HELP}: {why}" if why else ""
    return f"Remedy for “{title}”: {describe_remedy(mitigated)}"


def remedy_brief(datasheet: Datasheet, judge: str) -> str:
    """The same in few words, for the place below a verdict."""
    _, mitigated = _remedy(datasheet, judge)
    if mitigated is None:
        return NO_HELP if no_remedy(datasheet, judge) else ""
    return describe_remedy(mitigated, _MAIN)


def describe_remedy(mitigated: MitigatedJudge, metrics: Collection[str] = ()) -> str:
    """What is done, for how many calls, and what becomes of each figure, or of those of some metrics."""
    changed = [
        each for each in mitigated.figures if each.change is not None and each.change.uncured is not None
    ]
    main = [each for each in changed if each.estimate.metric in metrics] or changed
    changes = ", ".join(_moved(each.estimate, each.change) for each in main if each.change is not None)
    return f"{mitigated.title} ({pluralize(mitigated.calls, 'call')} per verdict): {changes}"


def _remedy(datasheet: Datasheet, judge: str) -> tuple[str, MitigatedJudge | None]:
    """The first remedy for the causes of the verdict, then for other flags; an unfit judge has none."""
    if not _may_be_mended(datasheet, judge):
        return "", None
    decisions = [each for each in datasheet.findings if each.judge == judge]
    causes = [cause for verdict in datasheet.verdicts if verdict.judge == judge for cause in verdict.causes]
    named = [(each, cause) for cause in causes for each in decisions if each.question is question_of(cause)]
    for decision, cause in (*named, *((each, None) for each in _flagged(datasheet, judge))):
        if mitigated := remedy_for(datasheet, decision, cause):
            return decision.row_title, mitigated
    return "", None


def _may_be_mended(datasheet: Datasheet, judge: str) -> bool:
    """An unfit judge has no remedy, a judge without a fault needs none, and others may need data first."""
    words = [verdict.word for verdict in datasheet.verdicts if verdict.judge == judge]
    return not {UNFIT, TOO_LITTLE, NO_FAULT} & set(words)


def _moved(estimate: Estimate, change: Change) -> str:
    reach = f" {numbers.interval(estimate, change.uncured_interval)}" if change.uncured_interval else ""
    before = f"{numbers.spelled(estimate, change.uncured or 0.0)}{reach}"
    return f"{figure_label(estimate)} {before} → {_format_figure(estimate)}"


def figure_label(estimate: Estimate) -> str:
    label = metric_named(estimate.metric).name
    return f"{label}, one step" if estimate.group.get("delta") == 1 else label


def _table(datasheet: Datasheet, judge: str) -> RemedyTable:
    known = [mitigated for mitigated in _of(datasheet, judge) if mitigated.figures]
    columns = list(dict.fromkeys(_column(each) for mitigated in known for each in mitigated.figures))
    # The judge as measured, then what is declared for its flags.
    wanted = [kind for decision in _flagged(datasheet, judge) for kind in decision.question.remedies]
    places = {kind: wanted.index(kind) for kind in wanted}
    ordered = [*known[:1], *sorted(known[1:], key=lambda each: places.get(each.kind, len(wanted)))]
    named = {_column(each): figure_label(each.estimate) for mitigated in known for each in mitigated.figures}
    rows = ((each.title, str(each.calls), _cells(datasheet, each, columns)) for each in ordered)
    return RemedyTable(
        judge,
        ("", "calls per verdict", *(named[column] for column in columns)),
        tuple(rows) if len(known) > 1 else (),
        remedy_line(datasheet, judge),
        unknown_remedies(datasheet, judge),
        tuple(each.definition for each in ordered if each.definition),
    )


def _cells(
    datasheet: Datasheet, mitigated: MitigatedJudge, columns: Sequence[tuple[str, str]]
) -> tuple[RemedyCell, ...]:
    # A figure of a jury is of the calls of several judges.
    known = datasheet.look_up.of_judge(mitigated.judge) if mitigated.kind != JURY else ()
    remedy = "" if mitigated.kind == UNCURED else mitigated.remedy
    cells = {_column(each): replace(_cell(each, known), remedy=remedy) for each in mitigated.figures}
    return tuple(cells.get(column, RemedyCell(numbers.NOT_MEASURED)) for column in columns)


def _cell(figure: MitigatedFigure, known: Iterable[Estimate]) -> RemedyCell:
    estimate, change = figure.estimate, figure.change
    group = {key: value for key, value in estimate.group.items() if key != "remedy"}
    place = (estimate.probe, estimate.metric, group)
    measured = next((each for each in known if (each.probe, each.metric, each.group) == place), None)
    if change is None or change.difference is None:
        return RemedyCell(_format_figure(estimate), measured=measured)
    interval = change.interval
    low, high = (None, None) if interval is None else (interval.low, interval.high)
    reach = "" if low is None or high is None else f" [{_signed(low)}, {_signed(high)}]"
    return RemedyCell(_format_figure(estimate), f"{_signed(change.difference)}{reach}", measured)


def _format_figure(estimate: Estimate) -> str:
    return "0 by construction" if holds_by_construction(estimate) else numbers.figure(estimate)


def _signed(number: float) -> str:
    return numbers.decimal(number, signed=True)


def _column(figure: MitigatedFigure) -> tuple[str, str]:
    return figure.estimate.probe, figure.estimate.metric


def _of(datasheet: Datasheet, judge: str) -> Iterator[MitigatedJudge]:
    return (mitigated for mitigated in datasheet.remedies if mitigated.judge == judge)


def _flagged(datasheet: Datasheet, judge: str) -> list[Decision]:
    return [each for each in datasheet.findings if each.judge == judge and each.status == FLAGGED]
