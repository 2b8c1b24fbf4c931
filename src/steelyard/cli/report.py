"""`steelyard report`: rebuild the datasheet from the store, without a call."""

from __future__ import annotations

import sys
from pathlib import Path

import click

from steelyard.cli.options import option
from steelyard.cli.output import full_option, print_datasheet, print_page_path, print_results, warn
from steelyard.cli.process import return_large_arrays, use_one_blas_thread
from steelyard.errors import SteelyardError, StoreError


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
    return_large_arrays()
    from steelyard.cli.progress import working
    from steelyard.commands.report import rebuild
    from steelyard.datasheet.render import csv, html, markdown
    from steelyard.run_folder.run_folder import RunFolder
    from steelyard.runner.run_messages import metric_errors

    with working("computing every figure from the stored replies; no calls"):
        rebuilt = rebuild(folder, verify=verify)
    datasheet = rebuilt.datasheet
    try:
        datasheet = rebuilt.write(folder)
    except StoreError as error:
        warn(error)
    faults: list[SteelyardError] = [*metric_errors(datasheet.faults)]
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
    code = print_results(rebuilt.losses, faults)
    if form is None:
        print_page_path(RunFolder(folder).page, full=full)
    sys.exit(code)
