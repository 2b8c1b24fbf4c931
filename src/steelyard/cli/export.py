"""`steelyard export`: trials, observations and stimuli of a run folder for other tools."""

from __future__ import annotations

from pathlib import Path

import click

from steelyard.cli.options import option
from steelyard.core.text import pluralize


@click.command(short_help="Write calls as JSONL or Parquet, runs as Inspect logs.")
@click.argument("folder", metavar="DIR", type=click.Path(file_okay=False, path_type=Path))
@option("--parquet", is_flag=True, help="Trials and observations as Parquet, in the place of JSON lines.")
@option("--inspect", "as_inspect", is_flag=True, help="As Inspect logs, one for each probe.")
@option(
    "--out",
    type=click.Path(file_okay=False, path_type=Path),
    metavar="DIR",
    help="Folder to write; the run folder's export/ or inspect/ unless given.",
)
def export(folder: Path, parquet: bool, as_inspect: bool, out: Path | None) -> None:
    """Write what was shown to judges, and what they said, for other tools.

    Trials are the calls with what was sent and what came back, observations every verdict with what was
    expected, joinable with stimuli.jsonl by id. With --inspect every probe becomes a log that `inspect view`
    opens: a sample for each text or run that may be judged, edited messages marked, what was done and what is
    expected in the metadata, a score for each verdict. Scores that Inspect adds come back with
    `steelyard import`.
    """
    from steelyard.errors import ConfigError

    if not as_inspect:
        _tables(folder, out or folder / "export", "parquet" if parquet else "jsonl")
        return
    if parquet:
        raise ConfigError("--parquet: found beside --inspect, whose logs have their own form; leave one out.")
    from steelyard.inspect_logs.export import export_inspect

    for log in export_inspect(folder, out or folder / "inspect"):
        samples, scores = pluralize(log.samples, "sample"), pluralize(log.scores, "score")
        click.echo(f"{log.path}: {samples}, {scores}.")


def _tables(folder: Path, out: Path, form: str) -> None:
    from steelyard.commands.export import export_tables

    for table in export_tables(folder, out, form):
        parts = f" ({table.calls})" if table.calls.baselines else ""
        click.echo(f"{table.path}: {pluralize(table.rows, 'row')}{parts}.")
