"""From other tools: `steelyard import` reads recorded verdicts, `steelyard study convert` a configuration."""

from __future__ import annotations

import sys
from dataclasses import dataclass
from pathlib import Path
from shlex import quote
from typing import TYPE_CHECKING

import click

from steelyard.cli.main import use_one_blas_thread
from steelyard.cli.options import KINDS, option, takes
from steelyard.cli.output import (
    FULL,
    display_path,
    print_datasheet,
    print_note,
    print_page_path,
    print_results,
    warn,
)
from steelyard.core.settings import argument, flag, setting, several
from steelyard.core.text import pluralize
from steelyard.errors import ConfigError

if TYPE_CHECKING:
    from steelyard.commands.import_verdicts import ImportResult
    from steelyard.importing.jsonl import RecordedSource


@dataclass(frozen=True, kw_only=True)
class ImportOptions:
    files: tuple[Path, ...] = argument("FILE…", "file", nargs=-1, required=True)
    out: Path = setting("Folder for the calls and the datasheet.", "DIR", kind="folder", required=True)
    columns: str | None = setting(
        "Column mapping of a table: item, score, expected, judge, … [by their names].", "PART=COLUMN,…"
    )
    labels: Path | None = setting(
        "People's labels of a table, in a file with id and label.", "FILE", kind="file"
    )
    label_columns: str | None = setting(
        "Column mapping of the file of labels: item, value, rater, … [as --columns].", "PART=COLUMN,…"
    )
    values: str | None = setting("Value mapping: good=1,bad=0.", "WORD=NUMBER,…")
    where: str | None = setting("Keep only rows with these column values: split=test.", "MAP")
    judge: tuple[str, ...] = several(
        "Judge of a table without a judge column, or its column of verdicts, repeatable; scorer of a log.",
        "NAME",
    )
    scale: str | None = setting("Scale of scores in a table or log, such as binary or 1-6.", "SCALE")
    name: str | None = setting("Name of the datasheet [name of the first file].", "TEXT")
    seed: int = setting("Seed of the bootstrap.", "N", default=7, kind="integer")
    full: bool = flag(FULL)
    as_json: bool = flag("Print datasheet.json instead of the datasheet.", ("--json",))


@click.command("import")
@takes(ImportOptions)
def import_command(options: ImportOptions) -> None:
    """Turn recorded verdicts into a datasheet; makes no calls.

    Reads a table (CSV, TSV, Excel, Parquet, JSON, JSONL) of a judge's verdicts, with people's labels or
    without: columns are taken by their names where these are certain, and named with --columns elsewhere.
    Also JSONL with one line per call, or one line per pair as LLMBar and PandaLM publish their verdicts.
    Pairs shown in one order only are reported but not decomposed.

    Also reads Inspect logs (.eval, .json): every scorer is a judge and its first value the verdict; a value
    that a person changed is the reference. Epochs count as separate runs, not as replicates. Exports of
    promptfoo, DeepEval, MLflow, Phoenix and Langfuse are read as well, with people's ratings as references.
    """
    use_one_blas_thread()
    from steelyard.commands.import_verdicts import ImportFolder, import_verdicts
    from steelyard.datasheet.render.data_files import dumps
    from steelyard.importing.mapped_columns import source_of
    from steelyard.run_folder.next_step import GATE
    from steelyard.run_folder.run_folder import RunFolder
    from steelyard.runner.run_messages import metric_errors

    given = (options.columns, options.judge, options.scale, options.values, options.where)
    source = source_of(options.files, *given, options.labels, options.label_columns)
    if source is not None and source.mapping:
        print_note(source.mapping)
    imported = import_verdicts(options.files, options.name, options.seed, source)
    sheet = ImportFolder(options.out).write(imported)
    errors = [*imported.errors, *metric_errors(sheet.faults)]
    if options.as_json:
        click.echo(dumps(sheet), nl=False)
    else:
        errors += print_datasheet(sheet, full=options.full)
        click.echo()
    code = print_results(imported.warnings, errors)
    if not options.as_json:
        beside = imported.calls_of_baselines
        calls = pluralize(len(imported.observations) - beside, "recorded call")
        text = f"{calls}, none made{f'; {beside:,} of baselines' if beside else ''}."
        print_page_path(RunFolder(options.out).page, text, full=options.full)
        for line in _next(options, source, imported, beside_another=any(v.next for v in sheet.verdicts)):
            click.echo(line)
        if any(verdict.next is not None and verdict.next.purpose == GATE for verdict in sheet.verdicts):
            click.echo(f"Next: steelyard gate {quote(display_path(options.out))} --policy default")
    sys.exit(code)


def _next(
    options: ImportOptions, source: RecordedSource | None, imported: ImportResult, *, beside_another: bool
) -> list[str]:
    """What to do next with a table; the datasheet may have named a next step already."""
    from steelyard.importing.mapped_columns import MappedTable
    from steelyard.importing.scores import ScoreTable
    from steelyard.survey.table_guess import TableReading, next_after_import

    calls = imported.calls
    if not isinstance(source, MappedTable) or not isinstance(calls, ScoreTable) or len(options.files) > 1:
        return []
    reading = TableReading(
        options.files[0], source, options.values, options.where, options.labels, options.label_columns
    )
    sentence, *command = next_after_import(reading, calls) or [""]
    if beside_another:
        sentence = sentence.replace("Next: ", "To label: ", 1).replace("Next, if", "If", 1)
    return [sentence, *command] if sentence else []


@click.command(short_help="Turn a configuration of the Judge Reliability Harness into a study file.")
@click.argument("action", metavar="convert", type=click.Choice(["convert"]))
@click.argument("config", metavar="CONFIG", type=click.Path(path_type=Path))
@option("--out", type=KINDS["file"], metavar="FILE", help="Study file to write [stdout].")
def study(action: str, config: Path, out: Path | None) -> None:
    """Turn a configuration of the Judge Reliability Harness into a study file.

    Paths in the study file are seen from its own folder, or from the working folder where it is printed. What
    has no counterpart is named on stderr. A configuration with tests of texts and of agents makes two study
    files: FILE, and FILE with -agents before its ending.
    """
    del action
    import yaml

    from steelyard.core.files import atomic_write_text
    from steelyard.study.harness_config import convert_config
    from steelyard.study.study_files import files_of

    try:
        body = yaml.safe_load(config.read_text(encoding="utf-8"))
    except (OSError, UnicodeDecodeError, yaml.YAMLError, RecursionError) as error:
        reason = error.strerror if isinstance(error, OSError) else "not YAML"
        raise ConfigError(f"{config}: cannot be read ({reason}); name a configuration file.") from error
    try:
        studies, notes = convert_config(body, config.parent, Path() if out is None else out.parent)
    except ConfigError as error:
        raise ConfigError(f"{config}: {error}") from error
    files = [] if out is None else [out, out.with_stem(f"{out.stem}-agents")][: len(studies)]
    for file in files:
        if file.exists():
            raise ConfigError(f"{file}: is there already; remove it, or choose another --out.")
    for made in studies:
        outside = [file for file in files_of(out or Path("study.yaml"), made, {}) if file.is_outside]
        notes += [
            f"{file}: lies outside the study file's folder, so it is read after a question"
            for file in outside
        ]
    for note in dict.fromkeys(notes):
        warn(f"{note}.")
    texts = [yaml.safe_dump(made, sort_keys=False, allow_unicode=True, width=120) for made in studies]
    if out is None:
        click.echo("---\n".join(texts), nl=False)
    for file, text in zip(files, texts, strict=False):
        atomic_write_text(file, text)
        click.echo(f"{file}: written; `steelyard plan {quote(str(file))}` shows what it costs.")
    if len(studies) > 1:
        warn(
            "the configuration has tests of texts and of agents, and a study has one data set: there are two "
            "studies, the texts' first; `steelyard overall` puts their results into one table."
        )
