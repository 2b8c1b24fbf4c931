"""The datasheet as a table: every figure can be told from every other, and no cell is a formula."""

from __future__ import annotations

import csv as table
import io
import json
from collections import Counter
from pathlib import Path

import pytest

from commands import Command
from steelyard.api import measure
from steelyard.core.text import escape_formula

OF_A_FIGURE = {"judge", "probe", "metric", "edit_level", "method", "level"}
"""Columns that name a figure and its interval, beside those of its group."""


def test_every_figure_of_runs_of_agents_has_a_row_of_its_own(tmp_path: Path, command: Command) -> None:
    measure(
        {"name": "=1|2", "model": "planted/rater"},
        probes=["reasoning_rewrite", "forged_result", "evidence_deletion"],
        out=tmp_path / "run",
    )
    text = command("report", str(tmp_path / "run"), "--format", "csv").out
    rows = list(table.DictReader(io.StringIO(text)))
    sheet = json.loads((tmp_path / "run" / "datasheet.json").read_text(encoding="utf-8"))
    every = [*sheet["estimates"], *sheet["panel"]]
    groups = {key for estimate in every for key in estimate["group"]}
    assert {"edit", "place", "size"} <= groups <= set(rows[0])
    named = OF_A_FIGURE | groups - {"level"}
    assert set(Counter(tuple(row[key] for key in named) for row in rows).values()) == {1}
    assert len(rows) == sum(max(1, len(estimate["intervals"])) for estimate in every)
    assert {row["judge"] for row in rows} == {"'=1|2", *(j["name"] for j in sheet["judges"] if j["baseline"])}


@pytest.mark.parametrize(
    ("text", "shown", "joined"),
    [
        ("=cmd|' /C calc'!A0", "'=cmd|' /C calc'!A0", "'=cmd|' /C calc'!A0"),
        ("@home", "'@home", "@home"),
        ("-1.5", "-1.5", "-1.5"),
        ("plain", "plain", "plain"),
    ],
)
def test_what_would_be_a_formula_has_an_apostrophe(text: str, shown: str, joined: str) -> None:
    assert (escape_formula(text), escape_formula(text, joined=True)) == (shown, joined)
