"""`plan --labels` and `plan --rank`: sample sizes, without a study."""

from __future__ import annotations

import json
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING

import click

from steelyard.datasheet.words.text import escape_control_chars
from steelyard.errors import ConfigError

if TYPE_CHECKING:
    from steelyard.metrics.stats.sample_size import LabelPrecision

ASSUMED = {"accuracy": 0.85, "error_rate": 0.10, "disagreement": 0.15}
"""Rates of the judge that the table assumes: a typical one."""
MOST_ROWS = 10**7
"""Labels beyond this number are no plan."""


def print_label_precision(given: str, as_json: bool) -> None:
    """A row for each number of labelled rows."""
    from steelyard.metrics.stats.sample_size import label_precision

    rows = [label_precision(count, **ASSUMED) for count in _counts(given)]
    if as_json:
        click.echo(json.dumps({"expected": ASSUMED, "labels": [asdict(row) for row in rows]}, indent=1))
        return
    click.echo("Precision by labelled rows: half the width of each 95 % interval, and the")
    click.echo("smallest difference between two judges that 80 % of studies detect.\n")
    click.echo("    rows  accuracy   kappa   false passes   between two judges")
    for row in rows:
        click.echo(_line(row))
    click.echo("\nAssumes a judge that is right in 0.85 of the rows and passes 0.10 of those")
    click.echo("that should fail (half of them), and a second one that differs in 0.15.")


def _line(row: LabelPrecision) -> str:
    shares = (row.accuracy, row.kappa, row.error_rate)
    accuracy, kappa, error = (f"±{share:.3f}" for share in shares)
    return f"{row.rows:>8,}  {accuracy:>8}  {kappa:>6}   {error:>12}   {row.between_judges:>18.3f}"


def _counts(given: str) -> list[int]:
    counts = [part.strip() for part in given.split(",") if part.strip()]
    for part in counts or [given]:
        if not (part.isascii() and part.isdigit() and 2 <= int(part[:9]) <= MOST_ROWS and len(part) < 9):
            raise ConfigError(
                f"--labels: found {part!r}, expected whole numbers from 2 to {MOST_ROWS:,}, as in 50,100,200."
            )
    return sorted({int(part) for part in counts})


def print_ranking(folder: Path, items: int, as_json: bool) -> None:
    """A sentence for each judge of a run folder."""
    from steelyard.commands.ranking import ranking_power
    from steelyard.run_folder.published_files import read_datasheet

    rows = ranking_power(read_datasheet(folder), items, str(folder))
    if as_json:
        click.echo(json.dumps({"ranking": [row.to_json() for row in rows]}, indent=1, ensure_ascii=False))
        return
    for row in rows:
        click.echo(f"{escape_control_chars(row.judge)}: {row.sentence()}.")
    click.echo("\nAssumes that a judge errs equally on both systems; a bias towards one adds to this.")
