"""`steelyard import`: recorded verdicts to a datasheet, without a call."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import TYPE_CHECKING

import click

from steelyard.cli.options import option
from steelyard.cli.output import full_option, print_datasheet, print_page_path, print_results
from steelyard.cli.process import use_one_blas_thread
from steelyard.core.text import pluralize

if TYPE_CHECKING:
    from steelyard.importing.jsonl import RecordedSource


TABLES = (".csv", ".tsv", ".tab", ".xlsx", ".xlsm", ".parquet", ".pq")


@click.command("import")
@click.argument(
    "files", nargs=-1, required=True, metavar="FILE…", type=click.Path(dir_okay=False, path_type=Path)
)
@option(
    "--out",
    required=True,
    type=click.Path(file_okay=False, path_type=Path),
    metavar="DIR",
    help="Folder for the calls and the datasheet.",
)
@option(
    "--columns", metavar="PART=COLUMN,…", help="Column mapping of a table: item, score, expected, judge, …."
)
@option("--judge", metavar="NAME", help="Judge of a table without a judge column; scorer of a log.")
@option("--scale", metavar="SCALE", help="Scale of scores in a table or log, such as binary or 1-6.")
@option("--name", metavar="TEXT", help="Name of the datasheet [name of the first file].")
@option("--seed", type=int, default=7, metavar="N", help="Seed of the bootstrap.")
@full_option
@option("--json", "as_json", is_flag=True, help="Print datasheet.json instead of the datasheet.")
def import_command(
    files: tuple[Path, ...],
    out: Path,
    columns: str | None,
    judge: str | None,
    scale: str | None,
    name: str | None,
    seed: int,
    full: bool,
    as_json: bool,
) -> None:
    """Turn recorded verdicts into a datasheet; makes no calls.

    Reads JSONL with one line per call, or one line per pair as LLMBar and PandaLM publish their verdicts.
    Pairs shown in one order only are reported but not decomposed. With --columns it also reads a table (CSV,
    TSV, Excel, Parquet, JSON) with other column names.

    Also reads Inspect logs (.eval, .json): every scorer is a judge and its first value the verdict; a value
    that a person changed is the reference. Epochs count as separate runs, not as replicates.
    """
    use_one_blas_thread()
    from steelyard.commands.import_verdicts import ImportFolder, import_verdicts
    from steelyard.datasheet.render.json import dumps
    from steelyard.run_folder.run_folder import RunFolder
    from steelyard.runner.run_messages import metric_errors

    imported = import_verdicts(files, name, seed, _table(columns, judge, scale, files))
    sheet = ImportFolder(out).write(imported)
    errors = [*imported.errors, *metric_errors(sheet.faults)]
    if as_json:
        click.echo(dumps(sheet), nl=False)
    else:
        errors += print_datasheet(sheet, full=full)
        click.echo()
    code = print_results(imported.warnings, errors)
    if not as_json:
        beside = imported.calls_of_baselines
        calls = pluralize(len(imported.calls) - beside, "recorded call")
        text = f"{calls}, none made{f'; {beside:,} of baselines' if beside else ''}."
        print_page_path(RunFolder(out).page, text, full=full)
    sys.exit(code)


def _table(
    columns: str | None, judge: str | None, scale: str | None, files: tuple[Path, ...]
) -> RecordedSource | None:
    """How tables and logs are read, where the files are some; what belongs to them is refused elsewhere."""
    from steelyard.errors import ConfigError
    from steelyard.importing.inspect_scores import InspectScores, MappedLog, holds_log
    from steelyard.importing.mapped_columns import MappedTable, parse_recorded_columns

    if columns is not None:
        mapped = parse_recorded_columns(columns)
        if MappedLog.fits(mapped) and all(map(holds_log, files)):
            return MappedLog(mapped, judge, scale)
        return MappedTable(mapped, judge, scale)
    if any(map(holds_log, files)):
        return InspectScores(judge, scale)
    for name, value in (("judge", judge), ("scale", scale)):
        if value is not None:
            raise ConfigError(
                f"--{name}: works only with tables and logs; add --columns, or remove --{name}."
            )
    if files[0].suffix.lower() in TABLES:
        raise ConfigError(
            f"{files[0]}: a table needs a column mapping; add for example "
            "--columns item=id,score=verdict,expected=human."
        )
    return None
