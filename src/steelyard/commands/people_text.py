"""Agreement of people in words: the sentence, the rows of both tables, and what else a reader needs."""

from __future__ import annotations

from steelyard.commands.people import PeopleReport
from steelyard.core.text import pluralize
from steelyard.estimation.frame import Figure

PERSON_COLUMNS = ("person", "items", "severity [95 %]")
JUDGE_COLUMNS = ("judge", "gap to a person [95 %]", "ω", "ρ", "as the majority", "squared error")
NAMED = 8
"""Items without a majority that are named."""


def people_sentence(report: PeopleReport) -> str:
    alpha = report.alpha
    ends = "" if alpha.low is None else f" [{alpha.low:.3f}, {alpha.high:.3f}]"
    shared = pluralize(report.shared, "item")
    said = [f"People agree with α {alpha.value:.3f}{ends} ({report.level}) on {shared} that several rated."]
    return " ".join([*said, *(f"{judge.judge}: {judge.verdict}." for judge in report.judges)])


def person_rows(report: PeopleReport) -> list[tuple[str, ...]]:
    return [(each.name, f"{each.items:,}", _signed(each.severity)) for each in report.people]


def judge_rows(report: PeopleReport) -> list[tuple[str, ...]]:
    made: list[tuple[str, ...]] = []
    for each in report.judges:
        rates = ("" if rate is None else f"{rate:.2f}" for rate in (each.winning_rate, each.advantage))
        right = f"{each.majority[0]:,} of {each.majority[1]:,}"
        made.append((each.judge, _signed(each.gap), *rates, right, f"{each.squared_error:.3f}"))
    return made


def _signed(figure: Figure | None) -> str:
    return "" if figure is None else f"{figure.value:+.3f} [{figure.low:+.3f}, {figure.high:+.3f}]"


def people_notes(report: PeopleReport) -> list[str]:
    made = []
    if report.judges:
        made.append(f"ω: share of people whom the judge may replace at ε = {report.epsilon:g}.")
        made.append("ρ: how often the judge is at least as close to the others as the person.")
    if report.split:
        named = ", ".join(report.split[:NAMED])
        named += f" and {len(report.split) - NAMED:,} more" if len(report.split) > NAMED else ""
        made.append(f"{pluralize(len(report.split), 'item')} without a majority: {named}.")
    if report.independence:
        made.append(f"Assumed: {report.independence}.")
    return made
