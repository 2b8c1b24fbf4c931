"""`steelyard export`: trials, observations and stimuli of a run folder for other tools."""

from __future__ import annotations

from pathlib import Path

import click

from steelyard.cli.options import option
from steelyard.core.text import pluralize


@click.command(short_help="Write calls as JSONL, Parquet or XLSX, runs as Inspect logs.")
@click.argument("folder", metavar="DIR", type=click.Path(file_okay=False, path_type=Path))
@option("--parquet", is_flag=True, help="Write Parquet instead of JSONL.")
@option("--xlsx", is_flag=True, help="Write the observations as a workbook.")
@option("--inspect", "as_inspect", is_flag=True, help="Write Inspect logs, one per probe.")
@option(
    "--out",
    type=click.Path(file_okay=False, path_type=Path),
    metavar="DIR",
    help="Folder to write [DIR/export or DIR/inspect].",
)
def export(folder: Path, parquet: bool, xlsx: bool, as_inspect: bool, out: Path | None) -> None:
    """Write the calls of a run for other tools.

    Trials are the calls with request and reply. Observations are the verdicts with their expectation; they
    join stimuli.jsonl by id. With --inspect every probe becomes a log for `inspect view`: one sample per text
    or run, edited messages marked, edit and expectation in the metadata, one score per verdict. Import scores
    that Inspect adds with `steelyard import`.
    """
    from steelyard.errors import ConfigError

    chosen = [name for name, given in (("parquet", parquet), ("xlsx", xlsx)) if given]
    if len(chosen) == 2:
        raise ConfigError("--parquet: cannot be combined with --xlsx; remove one of them.")
    if not as_inspect:
        from steelyard.commands.export import export_tables

        for table in export_tables(folder, out or folder / "export", "".join(chosen) or "jsonl"):
            parts = f" ({table.calls})" if table.calls.baselines else ""
            click.echo(f"{table.path}: {pluralize(table.calls.total, 'row')}{parts}.")
        return
    if chosen:
        raise ConfigError(
            f"--{chosen[0]}: cannot be combined with --inspect, which has its own format; remove one of them."
        )
    from steelyard.inspect_logs.export import export_inspect

    for log in export_inspect(folder, out or folder / "inspect"):
        samples, scores = pluralize(log.samples, "sample"), pluralize(log.scores, "score")
        click.echo(f"{log.path}: {samples}, {scores}.")
