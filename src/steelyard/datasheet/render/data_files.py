"""The datasheet for programs: `datasheet.json` with figures and words, and a flat table with a line for each
estimate and interval."""

from __future__ import annotations

import csv
import io
import json
from typing import Any

import msgspec

from steelyard.core.json_dataclasses import to_body, written_fields
from steelyard.datasheet.conclusion import JSON_WORDS, Conclusion, Fact
from steelyard.datasheet.datasheet import OPTIONAL_PARTS, PARTS, SCHEMA, STUDY, Datasheet
from steelyard.datasheet.render.clauses import fact_text, sentence
from steelyard.datasheet.sections.summary import not_measured
from steelyard.datasheet.words.text import escape_formula


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
