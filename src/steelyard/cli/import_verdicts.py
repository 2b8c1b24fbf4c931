"""`steelyard import`: recorded verdicts to a datasheet, without a call."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import TYPE_CHECKING

import click

from steelyard.cli.options import option
from steelyard.cli.say import complain, plural, shown, warn

if TYPE_CHECKING:
    from steelyard.lab.recorded.folder import Imported


@click.command("import")
@click.argument(
    "files", nargs=-1, required=True, metavar="FILE…", type=click.Path(dir_okay=False, path_type=Path)
)
@option(
    "--out",
    required=True,
    type=click.Path(file_okay=False, path_type=Path),
    metavar="DIR",
    help="Folder to write: the calls in one format, and the datasheet.",
)
@option("--name", metavar="TEXT", help="Name of the datasheet; that of the first file unless given.")
@option("--seed", type=int, default=7, metavar="N", help="Seed of the bootstrap.")
@option("--json", "as_json", is_flag=True, help="Print datasheet.json instead of the datasheet.")
def import_command(files: tuple[Path, ...], out: Path, name: str | None, seed: int, as_json: bool) -> None:
    """Turn recorded verdicts into a datasheet, without a call.

    Reads JSONL: one line per call, or one line per pair as LLMBar and PandaLM publish their verdicts. Pairs
    shown in one order only are reported and not decomposed.
    """
    from steelyard.lab.recorded.folder import ImportFolder, import_verdicts

    imported = import_verdicts(files, name, seed)
    ImportFolder(out).write(imported)
    _print(imported, out, as_json)
    sys.exit(max((error.exit_code for error in imported.errors), default=0))


def _print(imported: Imported, out: Path, as_json: bool) -> None:
    from rich.console import Console

    from steelyard.datasheet import terminal
    from steelyard.lab.run_folder import RunFolder

    if as_json:
        click.echo(imported.datasheet.dumps(), nl=False)
    else:
        terminal.render(imported.datasheet, Console())
        read = plural(len(imported.calls), "recorded call")
        click.echo(f"\n{read}, none made. Page: {shown(RunFolder(out).page)}")
    for warning in imported.warnings:
        warn(warning)
    for error in imported.errors:
        complain(error)
