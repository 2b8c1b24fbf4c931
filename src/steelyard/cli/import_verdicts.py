"""`steelyard import`: recorded verdicts to a datasheet, without a call."""

from __future__ import annotations

import sys
from pathlib import Path

import click

from steelyard.cli.options import option
from steelyard.cli.say import tell
from steelyard.cli.sheet import full_option, print_page, print_sheet
from steelyard.wording import counted


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
@full_option
@option("--json", "as_json", is_flag=True, help="Print datasheet.json instead of the datasheet.")
def import_command(
    files: tuple[Path, ...], out: Path, name: str | None, seed: int, full: bool, as_json: bool
) -> None:
    """Turn recorded verdicts into a datasheet, without a call.

    Reads JSONL: one line per call, or one line per pair as LLMBar and PandaLM publish their verdicts. Pairs
    shown in one order only are reported and not decomposed.
    """
    from steelyard.lab.folder.run_folder import RunFolder
    from steelyard.lab.import_verdicts import ImportFolder, import_verdicts
    from steelyard.lab.run.shortfalls import uncomputed

    imported = import_verdicts(files, name, seed)
    sheet = ImportFolder(out).write(imported)
    errors = [*imported.errors, *uncomputed(sheet.faults)]
    if as_json:
        click.echo(sheet.dumps(), nl=False)
    else:
        errors += print_sheet(sheet, full=full)
        click.echo()
    code = tell(imported.warnings, errors)
    if not as_json:
        read = counted(len(imported.calls), "recorded call")
        print_page(RunFolder(out).page, f"{read}, none made.", full=full)
    sys.exit(code)
