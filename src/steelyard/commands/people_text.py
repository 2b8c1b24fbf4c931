"""Agreement of people in words: the sentence, the rows of both tables, and what else a reader needs."""

from __future__ import annotations

from steelyard.commands.people import (
    AT_CEILING,
    BELOW,
    UNDECIDED,
    WITHIN,
    JudgeAmongPeople,
    PeopleReport,
)
from steelyard.core.text import pluralize
from steelyard.estimation.frame import Figure
from steelyard.estimation.people import FEWEST_ITEMS

PERSON_COLUMNS = ("person", "items", "agrees with the others [95 %]", "severity [95 %]")
JUDGE_COLUMNS = ("judge", "gap to a person [95 %]", "agrees with people [95 %]", "ω", "ρ")
ANSWER_COLUMNS = ("judge", "as the majority", "as any person", "squared error to the mean [95 %]")
CEILING = (
    "At the ceiling: the interval of the gap lies above −ε and not wholly below 0, and ω is at least one half"
)
NAMED = 8
"""Items without a majority that are named."""


def people_sentence(report: PeopleReport) -> str:
    alpha = report.alpha
    ends = "" if alpha.low is None else f" [{alpha.low:.3f}, {alpha.high:.3f}]"
    shared = pluralize(report.shared, "item")
    said = [f"People agree with α {alpha.value:.3f}{ends} ({report.level}) on {shared} that several rated."]
    return " ".join([*said, *(f"{each.judge}: {verdict(each, report.epsilon)}." for each in report.judges)])


def verdict(judge: JudgeAmongPeople, epsilon: float) -> str:
    """The verdict on a judge with the numbers that it was decided by."""
    if judge.verdict == UNDECIDED and not judge.tests:
        return f"{UNDECIDED}, since nobody rated {FEWEST_ITEMS} items that the judge and others rated"
    passed, people = sum(test.passed for test in judge.tests), pluralize(len(judge.tests), "person", "people")
    beyond = judge.gap is not None and judge.gap.high is not None and judge.gap.high < -epsilon
    far = f"{'by more' if beyond else 'undecided whether by less'} than {epsilon:g}"
    words = {
        AT_CEILING: f"{AT_CEILING} (ε = {epsilon:g}, ω {passed} of {people})",
        WITHIN: f"below people, by less than {epsilon:g} (ω {passed} of {people})",
        BELOW: f"below people, {far} (ω {passed} of {people})",
        UNDECIDED: f"{UNDECIDED} (ε = {epsilon:g}, ω {passed} of {people})",
    }
    return words.get(judge.verdict, judge.verdict)


def person_rows(report: PeopleReport) -> list[tuple[str, ...]]:
    return [
        (each.name, f"{each.items:,}", _plain(each.agreement), _signed(each.severity))
        for each in report.people
    ]


def judge_rows(report: PeopleReport) -> list[tuple[str, ...]]:
    made: list[tuple[str, ...]] = []
    for each in report.judges:
        rates = ("" if rate is None else f"{rate:.2f}" for rate in (each.winning_rate, each.advantage))
        made.append((each.judge, _signed(each.gap), _plain(each.agreement), *rates))
    return made


def answer_rows(report: PeopleReport) -> list[tuple[str, ...]]:
    """What the judge says of each item, beside what people say of it."""
    made: list[tuple[str, ...]] = []
    for each in report.judges:
        counts = (f"{k:,} of {n:,}" for k, n in (each.majority, each.any_person))
        made.append((each.judge, *counts, _plain(each.squared_error)))
    return made


def _plain(figure: Figure | None) -> str:
    return "" if figure is None else f"{figure.value:.3f} [{figure.low:.3f}, {figure.high:.3f}]"


def _signed(figure: Figure | None) -> str:
    return "" if figure is None else f"{figure.value:+.3f} [{figure.low:+.3f}, {figure.high:+.3f}]"


def people_notes(report: PeopleReport) -> list[str]:
    made = []
    if report.judges:
        made.append(f"{CEILING}.")
        made.append(f"ω: share of people whom the judge may replace at ε = {report.epsilon:g}.")
        made.append("ρ: how often the judge is at least as close to the others as the person.")
    for each in report.judges:
        rated = each.any_person[1]
        if rated < report.items:
            lost = f"{report.items - rated:,} of {pluralize(report.items, 'item')}"
            made.append(f"{each.judge}: no verdict on {lost}, which are left out.")
        if each.strange is not None:
            count, word = each.strange
            made.append(
                f"{each.judge}: {pluralize(count, 'answer')} that nobody else gave, the first {word[:60]!r}."
            )
    if report.categories:
        kinds = ", ".join(report.categories[:NAMED]) + (" …" if len(report.categories) > NAMED else "")
        made.append(f"Categories: {kinds}.")
    if report.split:
        named = ", ".join(report.split[:NAMED])
        named += f" and {len(report.split) - NAMED:,} more" if len(report.split) > NAMED else ""
        made.append(f"{pluralize(len(report.split), 'item')} without a majority: {named}.")
    if report.independence:
        made.append(f"Assumed: {report.independence}.")
    return made
