"""The datasheet for programs: `datasheet.json` with figures and words, and a flat table with a line for each
estimate and interval. And as a notebook shows it: a small table, a data frame, a short name."""

from __future__ import annotations

import csv
import io
import json
from collections.abc import Sequence
from dataclasses import dataclass, field, fields
from html import escape
from pathlib import Path
from typing import TYPE_CHECKING, Any

import msgspec

from steelyard.core.json_dataclasses import to_body, written_fields
from steelyard.core.registry import require_known
from steelyard.core.text import escape_control_chars, escape_formula
from steelyard.datasheet import numbers
from steelyard.datasheet.conclusion import JSON_WORDS, Conclusion, Fact
from steelyard.datasheet.datasheet import OPTIONAL_PARTS, PARTS, SCHEMA, STUDY, Datasheet
from steelyard.datasheet.glossary import declared
from steelyard.datasheet.render.clauses import conclusion_text, fact_text, headword, sentence
from steelyard.datasheet.sections.first_screen import key_figures
from steelyard.datasheet.sections.summary import Summary, not_measured, summarise
from steelyard.errors import ConfigError
from steelyard.metrics.estimate import Estimate

if TYPE_CHECKING:
    from pandas import DataFrame


def to_json(sheet: Datasheet) -> dict[str, Any]:
    """The content of `datasheet.json`."""
    study = written_fields(sheet, STUDY)
    if sheet.reference is not None:
        study |= {"reference": sheet.reference_sentence, "reference_judge": sheet.reference}
    optional = {key: part for key, part in written_fields(sheet, OPTIONAL_PARTS).items() if part}
    words = {
        "readings": [
            {"judge": each.judge, "title": each.title, "word": each.status, "sentence": sentence(each.clause)}
            for each in sheet.findings
        ],
        "verdicts": [_verdict(verdict) for verdict in sheet.verdicts],
    }
    if missing := [{"question": title, "by": by} for title, by in not_measured(sheet)]:
        optional["not_measured"] = missing
    return {"schema": SCHEMA, "study": study, **written_fields(sheet, PARTS), **words, **optional}


def dumps(sheet: Datasheet) -> str:
    """`datasheet.json` as text, one spelling per content."""
    text = json.dumps(to_json(sheet), ensure_ascii=False, allow_nan=False)
    return msgspec.json.format(text, indent=1) + "\n"  # as json indents, in a third of the time


def _verdict(verdict: Conclusion) -> dict[str, Any]:
    return {
        "judge": verdict.judge,
        "verdict": JSON_WORDS[verdict.word],
        "facts": [_fact(fact) for fact in verdict.facts],
        "remedy": verdict.advice.value,
        "undecided": [decision.title for decision in verdict.undecided],
        "next": to_body(verdict.next),
        **{name: getattr(verdict, name) for name in ("command", "calls", "dollars")},
    }


def _fact(fact: Fact) -> dict[str, Any]:
    return {
        "title": fact.title,
        "sentence": fact_text(fact),
        "guide": None if fact.cause is None else fact.cause.guide,
        "brings": [decision.title for decision in fact.brings],
    }


GROUPS = ("protocol", "kind", "delta", "base_level", "slot", "stratum")
COLUMNS = (
    *("judge", "probe", "metric", *GROUPS, "unit", "value", "numerator", "denominator"),
    *("method", "level", "low", "high", "n_calls", "n_units", "n_clusters", "design_effect"),
    *("unreadable", "failed", "censored", "chance", "finding", "minimum_detectable", "note"),
    *("calls_needed", "reading", "p", "p_corrected"),
    *("edit_level", "scale", "of", "rule", "reference", "judge_1", "judge_2", "judge_3"),
)
"""`level` is that of the interval, `edit_level` the strength of a graded edit; the last five are of figures
of several judges."""


def to_csv(datasheet: Datasheet) -> str:
    """CSV text with a header; an undefined figure has an empty value and a note.

    What else tells the groups of these figures apart, as `edit` or `place`, has a column behind the others.
    """
    every = (*datasheet.estimates, *datasheet.panel)
    further = sorted({key for estimate in every for key in estimate.group}.difference(COLUMNS))
    stream = io.StringIO(newline="")
    writer = csv.DictWriter(stream, (*COLUMNS, *further), extrasaction="ignore", lineterminator="\n")
    writer.writeheader()
    for estimate in every:
        body = estimate.to_json()
        row = {**body, **body["group"], **body["excluded"], "edit_level": body["group"].get("level")}
        for interval in body["intervals"] or [{}]:
            cells = {**row, **interval}.items()
            writer.writerow({k: escape_formula(v) if isinstance(v, str) else v for k, v in cells})
    return stream.getvalue()


CELL = "text-align:left;vertical-align:top;padding:.3em .8em .3em 0"
"""Style of a cell; a notebook brings none that suits sentences."""


@dataclass(frozen=True, repr=False, eq=False)
class NotebookSheet(Datasheet):
    """A datasheet that knows where its run lies and how notebooks show it."""

    folder: Path = field(default=Path())

    @classmethod
    def for_notebook(cls, sheet: Datasheet, folder: Path) -> NotebookSheet:
        """The same datasheet, for a notebook."""
        return cls(**{each.name: getattr(sheet, each.name) for each in fields(Datasheet)}, folder=folder)

    def __fspath__(self) -> str:
        """Where a folder is wanted, it stands for the one of its run."""
        return str(self.folder)

    def find(
        self, judge: str, metric: str, probe: str | None = None, **group: str | float
    ) -> Estimate | None:
        """The one estimate with exactly this group; None if it was not measured.

        A judge, metric or condition that exists nowhere raises `UnknownNameError` with the nearest name.
        """
        found = super().find(judge, metric, probe, **group)
        if found is None:
            same = self.of(judge, metric)
            for condition in group if same else ():
                conditions = dict.fromkeys(key for estimate in same for key in estimate.group)
                require_known(f"condition of {metric}", condition, conditions)
        return found

    def of(self, judge: str, metric: str, probe: str | None = None) -> Sequence[Estimate]:
        """Every estimate of a metric for a judge; a name that exists nowhere raises `UnknownNameError`."""
        found = super().of(judge, metric, probe)
        if not found:
            require_known("judge", judge, [entry.name for entry in self.judges])
            require_known("metric", metric, declared())
        return found

    def to_json(self) -> dict[str, Any]:
        """The content of `datasheet.json`."""
        return to_json(self)

    def dumps(self) -> str:
        """`datasheet.json` as text, one spelling per content."""
        return dumps(self)

    def __str__(self) -> str:
        opening = [self.partial_sentence] if self.partial else []
        return "\n".join([*opening, *map(conclusion_text, self.verdicts)]) or repr(self)

    def to_frame(self) -> DataFrame:
        """Every figure as a row of a pandas data frame; conditions are columns, an absent one is missing."""
        try:
            from pandas import DataFrame
        except ImportError as error:
            raise ConfigError(
                "to_frame: pandas is not installed; install it, or read estimates and datasheet.json."
            ) from error
        return DataFrame.from_records([_row(e) for e in (*self.estimates, *self.panel)])

    def _repr_html_(self) -> str:
        partial = f"<p>{escape(self.partial_sentence)}</p>" if self.partial else ""
        partial += f"<p>{escape(asked)}</p>" if (asked := self.facts.materials_sentence) else ""
        said = {word: self.remarks[word] for word in ("Reference", "Labels", "Looks") if word in self.remarks}
        partial += "".join(f"<p>{word}: {escape(words)}</p>" for word, words in said.items())
        page = escape(str(self.folder / "datasheet.html"))
        summary = summarise(self)
        verdicts = "".join(_verdict_cell(verdict, summary) for verdict in summary.datasheet.verdicts)
        return f"{partial}{verdicts}<p>Page: {page}</p>"

    def __eq__(self, other: object) -> bool:
        """Equal to any datasheet with the same content, wherever its run lies."""
        if not isinstance(other, Datasheet):
            return NotImplemented
        return all(getattr(self, each.name) == getattr(other, each.name) for each in fields(Datasheet))

    __hash__ = Datasheet.__hash__

    def __repr__(self) -> str:
        return super().__repr__().replace("Datasheet", "NotebookSheet", 1)


def _verdict_cell(verdict: Conclusion, summary: Summary) -> str:
    facts = "".join(f"<li>{escape(fact_text(fact))}</li>" for fact in verdict.facts)
    so = f"<p><b>so</b> {escape(verdict.advice.value)}</p>"
    step = (
        ""
        if verdict.next is None
        else f"<p><b>next</b> {escape(escape_control_chars(verdict.next.sentence))}</p>"
    )
    step += f"<pre>{escape(escape_control_chars(verdict.command))}</pre>" if verdict.command else ""
    heading = f"{escape_control_chars(verdict.judge)}: {headword(verdict)}"
    return f"<h4>{escape(heading)}</h4><ul>{facts}</ul>{_figures(summary, verdict.judge)}{so}{step}"


def _figures(summary: Summary, judge: str) -> str:
    """The rows of the first screen."""
    cells = (
        (row.name, numbers.value(row.estimate), row.interval, row.limit, row.word)
        for row in key_figures(summary, judge)
    )
    rows = ("".join(f'<td style="{CELL}">{escape(cell)}</td>' for cell in row) for row in cells)
    return f"<table>{''.join(f'<tr>{row}</tr>' for row in rows)}</table>"


def _row(estimate: Estimate) -> dict[str, Any]:
    interval = estimate.interval
    sizes = ("numerator", "denominator", "n_calls", "n_units", "n_clusters")
    return {
        **{name: getattr(estimate, name) for name in ("judge", "probe", "metric")},
        **estimate.group,
        "value": estimate.value,
        "low": None if interval is None else interval.low,
        "high": None if interval is None else interval.high,
        **{name: getattr(estimate, name) for name in sizes},
        "finding": estimate.status,
        "note": estimate.note,
    }
