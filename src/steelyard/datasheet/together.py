"""What the judges of a run show together, as tables that every renderer shares."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from steelyard.datasheet import numbers
from steelyard.datasheet.glossary import probe_name
from steelyard.datasheet.summary import Summary
from steelyard.metrics.estimate import Estimate

TITLE = "Judges together"
ALONE = (
    "One judge was measured: juries, the correlation of errors and figures over judges need two or more. "
    "Add another --judge."
)
_SPREADS = {
    "accuracy": "How far do judges differ on a probe? Standard deviations stand beside what sampling "
    "alone would give.",
    "invariance": "How many verdicts does each edit leave alone, over judges?",
}


@dataclass(frozen=True)
class TogetherTable:
    """Rows of text under one question."""

    title: str
    """Name of the question."""
    question: str
    """What it says, and how to read it."""
    header: tuple[str, ...]
    """Column names."""
    rows: tuple[tuple[str, ...], ...]
    """Cells as text."""


def together(summary: Summary) -> tuple[TogetherTable, ...]:
    """Every table that has a row."""
    panel = summary.datasheet.panel
    tables = [*_spreads(panel), _juries(summary, panel), _correlations(summary, panel)]
    return tuple(table for table in tables if table.rows)


def alone(summary: Summary) -> str:
    """What to say where scores of a single judge leave nothing to put together; else nothing."""
    return ALONE if summary.datasheet.level == "pointwise" and len(summary.measured) == 1 else ""


def judges_of(estimate: Estimate) -> tuple[str, ...]:
    """The judges that a figure of several is about."""
    keys = sorted(key for key in estimate.group if key.startswith("judge_"))
    return tuple(str(estimate.group[key]) for key in keys)


def _spreads(panel: tuple[Estimate, ...]) -> Iterator[TogetherTable]:
    for share, question in _SPREADS.items():
        mine = [e for e in panel if e.group.get("of") == share]
        rows = []
        for probe in dict.fromkeys(e.probe for e in mine):
            found = {e.metric: e for e in mine if e.probe == probe}
            mean, spread, sampling = (
                numbers.value(found[metric]) for metric in ("judges_mean", "judges_sd", "judges_sd_sampling")
            )
            ends = [_with_judge(found[metric]) for metric in ("judges_min", "judges_max")]
            rows.append((probe_name(probe), mean, spread, sampling, *ends))
        header = ("probe", "mean", "SD", "of sampling", "least", "greatest")
        yield TogetherTable(f"{share.capitalize()} over judges", question, header, tuple(rows))


def _with_judge(estimate: Estimate) -> str:
    return f"{numbers.value(estimate)} {' + '.join(judges_of(estimate))}"


def _juries(summary: Summary, panel: tuple[Estimate, ...]) -> TogetherTable:
    mine = [e for e in panel if e.probe == "jury"]
    rows = [
        *(_jury(summary, e, _whole(summary, e)) for e in mine if e.metric == "jury_accuracy" and _all(e)),
        *_trio_range(summary, [e for e in mine if e.metric == "jury_accuracy" and not _all(e)]),
        *(_jury(summary, e, _named(e)) for e in mine if e.metric in _CHOSEN),
    ]
    question = (
        "Is a majority better than the best judge? Ties go to the lower answer. The best trio is chosen on "
        "one half of the tasks and counts on the other."
    )
    return TogetherTable("Juries", question, ("jury", "accuracy", "inputs/tasks"), tuple(rows))


_CHOSEN = {
    "chosen_jury_apparent": "best trio where it was chosen",
    "chosen_jury_accuracy": "best trio on the other half",
    "best_judge_accuracy": "best judge on the other half",
    "jury_gain": "gain of the trio over that judge",
}


def _all(estimate: Estimate) -> bool:
    return not judges_of(estimate)


def _whole(summary: Summary, estimate: Estimate) -> str:
    weighted = "weighted by agreement (Dawid and Skene)" if "rule" in estimate.group else "majority"
    return f"{weighted} of all {len(summary.measured)}"


def _named(estimate: Estimate) -> str:
    who = "" if estimate.metric == "jury_gain" else " + ".join(judges_of(estimate))
    return f"{_CHOSEN[estimate.metric]}{': ' if who else ''}{who}"


def _jury(summary: Summary, estimate: Estimate, label: str) -> tuple[str, ...]:
    return label, _figure(summary, estimate), f"{estimate.n_units}/{estimate.n_clusters}"


def _trio_range(summary: Summary, trios: list[Estimate]) -> Iterator[tuple[str, ...]]:
    known = [e for e in trios if numbers.defined(e)]
    if len(known) > 1:
        ordered = sorted(known, key=lambda e: (e.value or 0.0, judges_of(e)))
        for word, e in (("least", ordered[0]), ("greatest", ordered[-1])):
            yield _jury(summary, e, f"{word} of {len(trios)} trios: {' + '.join(judges_of(e))}")
    elif known:
        yield _jury(summary, known[0], f"trio: {' + '.join(judges_of(known[0]))}")


def _correlations(summary: Summary, panel: tuple[Estimate, ...]) -> TogetherTable:
    mine = [e for e in panel if e.metric == "error_correlation"]
    mine.sort(key=lambda e: (not numbers.defined(e), -(e.value or 0.0), judges_of(e)))
    rows = [(" + ".join(judges_of(e)), _figure(summary, e), str(e.n_units)) for e in mine]
    question = "Do two judges err on the same inputs? At 1 they are one judge; near 0 a jury of them gains."
    return TogetherTable("Error correlation", question, ("judges", "correlation", "inputs"), tuple(rows))


def _figure(summary: Summary, estimate: Estimate) -> str:
    if numbers.undefined(estimate):
        return summary.undefined(estimate)
    return f"{numbers.figure(estimate)} {numbers.counts(estimate)}".rstrip()
