"""The datasheet as a flat table: one line per estimate and interval."""

from __future__ import annotations

import csv
import io

from steelyard.datasheet.datasheet import Datasheet
from steelyard.datasheet.words.text import escape_formula

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


def render(datasheet: Datasheet) -> str:
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
