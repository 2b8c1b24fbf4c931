"""`steelyard export`: stimuli and verdicts of a run folder for other tools."""

from __future__ import annotations

from pathlib import Path

import click

from steelyard.cli.options import option
from steelyard.wording import counted


@click.command(short_help="Write stimuli and verdicts as Inspect logs.")
@click.argument("folder", metavar="DIR", type=click.Path(file_okay=False, path_type=Path))
@option("--inspect", "as_inspect", is_flag=True, help="As Inspect logs, one for each probe.")
@option(
    "--out",
    type=click.Path(file_okay=False, path_type=Path),
    metavar="DIR",
    help="Folder to write; the run folder's inspect/ unless given.",
)
def export(folder: Path, as_inspect: bool, out: Path | None) -> None:
    """Write what was shown to judges, and what they said, for other tools.

    With --inspect every probe becomes a log that `inspect view` opens: a sample for each text or run that may
    be judged, edited messages marked, what was done and what is expected in the metadata, a score for each
    verdict. Scores that Inspect adds come back with `steelyard import`.
    """
    from steelyard.errors import ConfigError
    from steelyard.lab.inspect_logs.export import export_inspect

    if not as_inspect:
        raise ConfigError("export: no format was named; add --inspect.")
    for log in export_inspect(folder, out or folder / "inspect"):
        samples, scores = counted(log.samples, "sample"), counted(log.scores, "score")
        click.echo(f"{log.path}: {samples}, {scores}.")
