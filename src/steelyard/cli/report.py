"""`steelyard report`: rebuild the datasheet from the store, without a call."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import TYPE_CHECKING

import click

from steelyard.cli.options import option
from steelyard.cli.output import full_option, print_datasheet, print_page_path, print_results, warn
from steelyard.cli.process import return_large_arrays, use_one_blas_thread
from steelyard.errors import SteelyardError, StoreError

if TYPE_CHECKING:
    from steelyard.datasheet.datasheet import Datasheet
    from steelyard.run_folder.stamp import Digests


@click.command(short_help="Rebuild the datasheet from a run folder, no calls.")
@click.argument("folder", metavar="DIR", type=click.Path(file_okay=False, path_type=Path))
@option(
    "--format", "form", type=click.Choice(["html", "md", "json", "csv"]), help="Print this format to stdout."
)
@option("--verify", is_flag=True, help="Verify the hashes in run.db first, and compute every figure.")
@full_option
def report(folder: Path, form: str | None, verify: bool, full: bool) -> None:
    """Rebuild every figure of a run folder from its store and rewrite the datasheet files; makes no calls.

    Figures are read instead of computed where neither the files of the folder nor this program have changed
    since they were published; --verify always computes them.
    """
    use_one_blas_thread()
    return_large_arrays()
    from steelyard.run_folder.published_files import read_datasheet
    from steelyard.run_folder.run_folder import RunFolder
    from steelyard.run_folder.stamp import losses_if_unchanged, stored_digests
    from steelyard.runner.run_messages import metric_errors

    run = RunFolder(folder)
    stored = stored_digests(run)
    losses = None if verify else losses_if_unchanged(run, stored)
    if losses is None:
        datasheet, losses = _rebuild(folder, stored, verify=verify)
    else:
        datasheet = read_datasheet(folder)
    faults: list[SteelyardError] = [*metric_errors(datasheet.faults)]
    if form is None:
        faults += print_datasheet(datasheet, full=full)
        click.echo()
    else:
        from steelyard.datasheet.render import csv, html, json, markdown

        renderers = {
            "html": html.render,
            "md": markdown.render,
            "csv": csv.render,
            "json": json.dumps,
        }
        click.echo(renderers[form](datasheet), nl=False)
    code = print_results(losses, faults)
    if form is None:
        print_page_path(run.page, full=full)
    sys.exit(code)


def _rebuild(folder: Path, stored: Digests | None, *, verify: bool) -> tuple[Datasheet, tuple[str, ...]]:
    from steelyard.cli.progress import working
    from steelyard.commands.report import rebuild

    with working("computing every figure from the stored replies; no calls"):
        rebuilt = rebuild(folder, stored, verify=verify)
    datasheet = rebuilt.datasheet
    try:
        datasheet = rebuilt.write(folder)
    except StoreError as error:
        warn(error)
    return datasheet, rebuilt.losses
