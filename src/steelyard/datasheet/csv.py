"""The datasheet as a flat table: one line per estimate and interval."""

from __future__ import annotations

import csv
import io

from steelyard.datasheet.datasheet import Datasheet

GROUPS = ("protocol", "kind", "delta", "base_level", "slot", "stratum")
COLUMNS = (
    *("judge", "probe", "metric", *GROUPS, "unit", "value", "numerator", "denominator"),
    *("method", "level", "low", "high", "n_calls", "n_units", "n_clusters", "design_effect"),
    *("unreadable", "failed", "censored", "chance", "finding", "minimum_detectable", "note"),
    *("calls_needed", "reading"),
)


def render(datasheet: Datasheet) -> str:
    """CSV text with a header; an undefined figure has an empty value and a note."""
    stream = io.StringIO(newline="")
    writer = csv.DictWriter(stream, COLUMNS, extrasaction="ignore", lineterminator="\n")
    writer.writeheader()
    for estimate in datasheet.estimates:
        body = estimate.to_json()
        row = {**body, **body["group"], **body["excluded"]}
        for interval in body["intervals"] or [{}]:
            writer.writerow({**row, **interval})
    return stream.getvalue()
