"""`datasheet.json`: the figures, and the words that were made of them for programs and people."""

from __future__ import annotations

import json
from typing import Any

import msgspec

from steelyard.core.json_dataclasses import to_body, written_fields
from steelyard.datasheet.conclusion import JSON_WORDS, Conclusion, Fact
from steelyard.datasheet.datasheet import OPTIONAL_PARTS, PARTS, SCHEMA, STUDY, Datasheet
from steelyard.datasheet.render.clauses import fact_text, sentence
from steelyard.datasheet.sections.not_measured import not_measured


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
