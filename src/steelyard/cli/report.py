"""`steelyard report`: rebuild the datasheet from the store, without a call."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import TYPE_CHECKING

import click

from steelyard.cli.options import option
from steelyard.cli.output import full_option, print_datasheet, print_error, print_page_path, warn
from steelyard.cli.process import use_one_blas_thread

if TYPE_CHECKING:
    from steelyard.commands.report import RebuiltDatasheet
    from steelyard.run_folder.run_folder import RunFolder


@click.command(short_help="Rebuild the datasheet from a run folder, no calls.")
@click.argument("folder", metavar="DIR", type=click.Path(file_okay=False, path_type=Path))
@option(
    "--format", "form", type=click.Choice(["html", "md", "json", "csv"]), help="Print this format to stdout."
)
@option("--verify", is_flag=True, help="Verify the hashes in run.db first.")
@full_option
def report(folder: Path, form: str | None, verify: bool, full: bool) -> None:
    """Rebuild every figure of a run folder from its store and rewrite the datasheet files; makes no calls."""
    use_one_blas_thread()
    from steelyard.cli.progress import working
    from steelyard.commands.report import rebuild
    from steelyard.run_folder.run_folder import RunFolder

    with working("computing every figure from the stored replies; no calls"):
        rebuilt = rebuild(folder, verify=verify)
    _publish(RunFolder(folder), rebuilt, form, full)


def _publish(run: RunFolder, rebuilt: RebuiltDatasheet, form: str | None, full: bool) -> None:
    """Write the files if the folder is writable, print warnings and the sheet; exit 1 after an error."""
    from steelyard.datasheet.render import csv, html, markdown
    from steelyard.errors import StoreError
    from steelyard.runner.run_messages import metric_errors

    datasheet = rebuilt.datasheet
    try:
        datasheet = rebuilt.write(run.path)
    except StoreError as error:
        warn(error)
    for loss in rebuilt.losses:
        warn(loss)
    faults = [*metric_errors(datasheet.faults)]
    if form is None:
        faults += print_datasheet(datasheet, full=full)
        click.echo()
    else:
        renderers = {
            "html": html.render,
            "md": markdown.render,
            "csv": csv.render,
            "json": type(datasheet).dumps,
        }
        click.echo(renderers[form](datasheet), nl=False)
    for fault in faults:
        print_error(fault)
    if form is None:
        print_page_path(run.page, full=full)
    if faults:
        sys.exit(1)
