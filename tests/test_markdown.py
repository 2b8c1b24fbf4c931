"""The Markdown report."""

from __future__ import annotations

import re
from dataclasses import replace

import pytest

from example_datasheet import NO_STRICT, REASON, crowd, example, pointwise, renamed, without_estimates
from steelyard.datasheet.datasheet import Datasheet
from steelyard.datasheet.render import markdown

CELLS = re.compile(r"(?<!\\)\|")


def tables(text: str) -> list[list[str]]:
    blocks = [block.splitlines() for block in text.split("\n\n")]
    return [block for block in blocks if block and block[0].startswith("|")]


@pytest.mark.parametrize(
    "datasheet", [example(), crowd(7), renamed(example(), "Qwen14B", "a|b\n| c |"), pointwise()]
)
def test_tables_are_well_formed(datasheet: Datasheet) -> None:
    found = tables(markdown.render(datasheet))
    assert found
    for rows in found:
        widths = {len(CELLS.split(row)) for row in rows}
        assert len(widths) == 1
        assert all(row.startswith("|") and row.endswith("|") for row in rows)
        assert set(rows[1]) <= set("|:- ")


def test_figures_with_counts_and_intervals() -> None:
    text = markdown.render(example())
    assert r"| 1 step apart | 0.61 \[0.50, 0.71\] 61/100 | 1.00 \[0.95, 1.00\] 100/100 |" in text
    assert r"≤ 1 (0, 1\]" in text
    assert "120/60/10 deff 1.1" in text


def test_undefined_figures_carry_their_reason() -> None:
    text = markdown.render(example())
    assert markdown.escape(f"(a) {REASON}") in text
    assert NO_STRICT in text


def test_provenance_and_readings() -> None:
    text = markdown.render(example())
    assert example().stimulus_set in text
    assert "seed 7 · profile standard" in text
    assert "- Reacts to nothing, **too high**: prefers one of two texts" in text
    assert "## Baselines" in text


def test_hostile_names_stay_text() -> None:
    text = markdown.render(renamed(example(), "Llama8B", "<script>alert(1)</script> **x** `y`"))
    assert "<script>" not in text
    assert r"\<script\>alert(1)\</script\> \*\*x\*\* \`y\`" in text


@pytest.mark.parametrize("datasheet", [without_estimates(), replace(example(), judges=(), findings=())])
def test_unusual_datasheets_are_rendered(datasheet: Datasheet) -> None:
    names = "Llama8B, Qwen14B and 2 others" if datasheet.judges else "open-weight judges"
    assert markdown.render(datasheet).startswith(f"# Judge Datasheet: {names}\n")


def test_the_same_datasheet_gives_the_same_text() -> None:
    assert markdown.render(example()) == markdown.render(example())
