"""What each judge would show with a remedy, as tables and sentences that every renderer shares."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

from steelyard.datasheet.datasheet import Datasheet
from steelyard.datasheet.sections.summary import Summary
from steelyard.datasheet.sections.together import TogetherTable
from steelyard.datasheet.words import numbers
from steelyard.datasheet.words.glossary import metric_named
from steelyard.metrics.estimate import Estimate
from steelyard.metrics.remedies.change import Change
from steelyard.metrics.remedies.cured import BY_CONSTRUCTION, Cured, CuredFigure
from steelyard.metrics.remedies.remedy import MAJORITY, MEAN, ORDERS, PROTOCOL
from steelyard.wording import counted

TITLE = "Remedies"
QUESTION = (
    "What would the judge show if it were asked otherwise? Computed from the calls of this run, none added. "
    "In brackets after each figure: its change against the judge as measured, on the same calls."
)

CURES: Mapping[str, Sequence[str]] = {
    "Zero point": (ORDERS, PROTOCOL, MAJORITY),
    "Position": (ORDERS,),
    "Noise": (MAJORITY, ORDERS),
    "Surface": (PROTOCOL, ORDERS),
    "Sensitivity": (MAJORITY,),
    "Natural pairs": (ORDERS,),
    "Accuracy": (MEAN, MAJORITY),
    "Leniency": (MEAN, MAJORITY),
    "Repeatability": (MEAN, MAJORITY),
}
"""Reading to the kinds of remedies for it, declared before the data: the best of many would be flattered."""


def remedy_tables(summary: Summary) -> tuple[TogetherTable, ...]:
    """One table for each judge: remedies as rows, those for what was flagged first."""
    tables = (_table(summary.datasheet, judge.name) for judge in summary.measured)
    return tuple(table for table in tables if table.rows)


def unknown_remedies(datasheet: Datasheet, judge: str) -> str:
    """What the calls of a judge do not tell, and what it would take; empty where they tell all."""
    reasons: dict[str, list[str]] = {}
    for cured in _of(datasheet, judge):
        if cured.note:
            reasons.setdefault(cured.note, []).append(cured.title)
    told = "; ".join(f"{', '.join(titles)}: {reason}" for reason, titles in reasons.items())
    return f"Not told by these calls: {told}." if told else ""


def remedy_for(datasheet: Datasheet, judge: str, title: str) -> Cured | None:
    """The first remedy declared for a reading that the calls of this run tell of."""
    known = [cured for cured in _of(datasheet, judge) if cured.figures]
    for kind in CURES.get(title, ()):
        for cured in known:
            if cured.kind == kind:
                return cured
    return None


def remedy_line(datasheet: Datasheet, judge: str) -> str:
    """The remedy for the first flagged reading that has one, with what it does; empty where there is none."""
    for title in _flagged(datasheet, judge):
        cured = remedy_for(datasheet, judge, title)
        if cured is not None:
            return f"Remedy for {title.lower()}: {remedy_told(cured)}"
    return ""


def remedy_told(cured: Cured) -> str:
    """What is done, for how many calls, and what becomes of each figure."""
    changed = [each for each in cured.figures if each.change is not None and each.change.uncured is not None]
    told = ", ".join(_moved(each.estimate, each.change) for each in changed if each.change is not None)
    return f"{cured.title} ({counted(cured.calls, 'call')} per verdict): {told}"


def _moved(estimate: Estimate, change: Change) -> str:
    before = "" if change.uncured is None else f"{numbers.spelled(estimate, change.uncured)} → "
    return f"{figure_label(estimate)} {before}{_shown(estimate)}"


def figure_label(estimate: Estimate) -> str:
    """The name of a figure in tables of remedies."""
    label = metric_named(estimate.metric).label
    return f"{label}, one step" if estimate.group.get("delta") == 1 else label


def _table(datasheet: Datasheet, judge: str) -> TogetherTable:
    known = [cured for cured in _of(datasheet, judge) if cured.figures]
    columns = list(dict.fromkeys(_column(each) for cured in known for each in cured.figures))
    ordered = [*known[:1], *_relevant_first(datasheet, judge, known[1:])]
    named = {_column(each): figure_label(each.estimate) for cured in known for each in cured.figures}
    return TogetherTable(
        judge,
        QUESTION,
        ("", "calls per verdict", *(named[column] for column in columns)),
        tuple(_row(cured, columns) for cured in ordered) if len(known) > 1 else (),
    )


def _row(cured: Cured, columns: Sequence[tuple[str, str]]) -> tuple[str, ...]:
    cells = {_column(each): _cell(each) for each in cured.figures}
    return (cured.title, str(cured.calls), *(cells.get(column, numbers.NOT_MEASURED) for column in columns))


def _cell(figure: CuredFigure) -> str:
    change = figure.change
    if change is None or change.difference is None:
        return _shown(figure.estimate)
    interval = change.interval
    low, high = (None, None) if interval is None else (interval.low, interval.high)
    reach = "" if low is None or high is None else f" [{_signed(low)}, {_signed(high)}]"
    return f"{_shown(figure.estimate)} ({_signed(change.difference)}{reach})"


def _shown(estimate: Estimate) -> str:
    return "0 by construction" if estimate.note == BY_CONSTRUCTION else numbers.figure(estimate)


def _signed(number: float) -> str:
    return numbers.decimal(number, signed=True)


def _column(figure: CuredFigure) -> tuple[str, str]:
    return figure.estimate.probe, figure.estimate.metric


def _of(datasheet: Datasheet, judge: str) -> Iterator[Cured]:
    return (cured for cured in datasheet.remedies if cured.judge == judge)


def _flagged(datasheet: Datasheet, judge: str) -> list[str]:
    readings = (reading for reading in datasheet.readings if reading.judge == judge)
    return [reading.title for reading in readings if reading.word == "flagged"]


def _relevant_first(datasheet: Datasheet, judge: str, cured: Sequence[Cured]) -> list[Cured]:
    wanted = [kind for title in _flagged(datasheet, judge) for kind in CURES.get(title, ())]
    return sorted(cured, key=lambda each: wanted.index(each.kind) if each.kind in wanted else len(wanted))
