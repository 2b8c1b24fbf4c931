"""Agreement of people in words: the sentence, the tables, the page, and what else a reader needs."""

from __future__ import annotations

from pathlib import Path

from steelyard.core.text import pluralize
from steelyard.datasheet.render.report import (
    JUDGE,
    PEOPLE,
    Plot,
    Report,
    ReportTable,
    decimals,
    first_of,
    interval_meaning,
    plot_domain,
    plot_row,
    signed,
)
from steelyard.estimation.frame import CONFIDENCE
from steelyard.estimation.raters import FEWEST_ITEMS
from steelyard.importing.ratings import RatingsTable
from steelyard.survey.options import PeopleOptions
from steelyard.survey.people import (
    AT_CEILING,
    BELOW,
    UNDECIDED,
    WITHIN,
    JudgeAmongPeople,
    PeopleReport,
    people,
)

CEILING = (
    "At the ceiling: the interval of the gap lies above −ε and not wholly below 0, and ω is at least one half"
)
NAMED = 8
"""Items without a majority that are named."""
MEANINGS = (
    ("α", "Krippendorff's agreement beyond chance: 1 is perfect, 0 is chance; jackknife over items."),
    ("agrees with people", "Share of people who say the same, on items that several rated."),
    ("as any person", "Items on which the judge says what at least one person says."),
    ("squared error to the mean", "Mean squared distance of the judge from the mean of people's votes."),
    ("severity", "How far a person rates above the others on the same items."),
    ("ω", "Share of people whom the judge may replace, by the alternative annotator test."),
    ("ρ", "How often the judge is at least as close to the others as the person."),
    (
        "at the ceiling",
        "As close to the other people as a person is: the interval of the gap lies above −ε and not "
        "wholly below 0, and ω is at least one half. Where the interval lies between −ε and 0, the "
        "judge is below people, by less than ε.",
    ),
    interval_meaning(CONFIDENCE),
)


def people_report(table: RatingsTable, options: PeopleOptions) -> Report:
    found = people(table, options)
    return Report(
        kind="people",
        title=Path(found.source).name,
        lead=people_sentence(found),
        facts=[
            ("people", f"{len(found.people):,}"),
            ("items", f"{found.items:,}"),
            ("with several people", f"{found.shared_items:,}"),
            ("level", found.level),
        ],
        plot=_plot(found),
        tables=_tables(found),
        notes=people_notes(found),
        meanings=MEANINGS,
        body=found.to_json(),
    )


def _plot(report: PeopleReport) -> Plot:
    """Judges beside a person, or where no judge has a gap, people beside each other."""
    rows = [
        plot_row(each.judge, each.gap, JUDGE, verdict(each, report.epsilon))
        for each in report.judges
        if each.gap is not None
    ]
    if rows:
        epsilon = report.epsilon
        return Plot(
            "How close judges are to people, compared with a person",
            "Share of items on which the judge is closer to the other people, less that of the person it is "
            "compared with. 0 is as good as a person: the ceiling. The band is ±ε, the price put on a "
            "person's time.",
            rows,
            "judge less person",
            plot_domain(rows, 0.0, -epsilon, epsilon),
            signed=True,
            zero_line=True,
            margin=epsilon,
        )
    far = [(each.name, each.severity) for each in report.people if each.severity is not None]
    rows = [plot_row(name, figure, PEOPLE, f"{figure.value:+.3f}") for name, figure in far]
    return Plot(
        "How severe each person is",
        "Mean difference from the other people on the same items, with 95 % intervals.",
        rows,
        "rating less that of the others",
        plot_domain(rows, 0.0),
        signed=True,
        zero_line=True,
    )


def _tables(report: PeopleReport) -> list[ReportTable]:
    judges: list[tuple[str, ...]] = []
    answers: list[tuple[str, ...]] = []
    for each in report.judges:
        rates = ("" if rate is None else f"{rate:.2f}" for rate in (each.winning_rate, each.advantage))
        judges.append((each.judge, signed(each.gap), decimals(each.agreement), *rates))
        counts = (f"{k:,} of {n:,}" for k, n in (each.majority, each.any_person))
        answers.append((each.judge, *counts, decimals(each.squared_error)))
    persons = [
        (each.name, f"{each.items:,}", decimals(each.agreement), signed(each.severity))
        for each in report.people
    ]
    gap = "judge", "gap to a person [95 %]", "agrees with people [95 %]", "ω", "ρ"
    said = "judge", "as the majority", "as any person", "squared error to the mean [95 %]"
    every = [
        ReportTable("Judges", gap, judges),
        ReportTable("Answers of the judges", said, answers),
        ReportTable(
            "People", ("person", "items", "agrees with the others [95 %]", "severity [95 %]"), persons
        ),
    ]
    return every if report.judges else every[2:]


def people_sentence(report: PeopleReport) -> str:
    alpha, shared = decimals(report.alpha), pluralize(report.shared_items, "item")
    said = [f"People agree with α {alpha} ({report.level}) on {shared} that several rated."]
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
        made.append(f"Categories: {first_of(report.categories, NAMED, ' …')}.")
    if report.split:
        split = pluralize(len(report.split), "item")
        made.append(f"{split} without a majority: {first_of(report.split, NAMED)}.")
    if report.independence:
        made.append(f"Assumed: {report.independence}.")
    return made
