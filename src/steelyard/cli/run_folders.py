"""Commands over run folders that make no calls: `steelyard report`, `show`, `view` and `export`."""

from __future__ import annotations

import json
import sys
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

import click

from steelyard.cli.main import return_large_arrays, use_one_blas_thread
from steelyard.cli.options import PageOptions, takes
from steelyard.cli.output import FULL, display_path, print_datasheet, print_page_path, print_results, warn
from steelyard.core.settings import argument, flag, group, setting
from steelyard.core.text import escape_control_chars, pluralize
from steelyard.errors import ConfigError, SteelyardError

if TYPE_CHECKING:
    from steelyard.commands.report import JudgeExamples, ShowRequest


@dataclass(frozen=True, kw_only=True)
class RebuildOptions:
    folder: Path = argument("DIR", "folder")
    form: str | None = setting(
        "Print this format to stdout.", flags=("--format",), choices=("html", "md", "json", "csv")
    )
    verify: bool = flag("Verify the hashes in run.db first, and compute every figure.")
    full: bool = flag(FULL)


@click.command(short_help="Rebuild the datasheet from a run folder, no calls.")
@takes(RebuildOptions)
def report(options: RebuildOptions) -> None:
    """Rebuild every figure of a run folder from its store and rewrite the datasheet files; makes no calls.

    Figures are read instead of computed where neither the files of the folder nor this program have changed
    since they were published; --verify always computes them.
    """
    use_one_blas_thread()
    return_large_arrays()
    from steelyard.cli.progress import working
    from steelyard.commands.report import publish
    from steelyard.run_folder.run_folder import RunFolder
    from steelyard.runner.run_messages import metric_errors

    with working("computing every figure from the stored replies; no calls"):
        published = publish(options.folder, verify=options.verify)
    datasheet, losses = published.datasheet, published.losses
    if published.unwritten is not None:
        warn(published.unwritten)
    faults: list[SteelyardError] = [*metric_errors(datasheet.faults)]
    if options.form is None:
        faults += print_datasheet(datasheet, full=options.full)
        click.echo()
    else:
        from steelyard.datasheet.render import data_files, html, markdown
        from steelyard.datasheet.render.data_files import dumps

        renderers = {"html": html.render, "md": markdown.render, "csv": data_files.to_csv, "json": dumps}
        click.echo(renderers[options.form](datasheet), nl=False)
    code = print_results(losses, faults)
    if options.form is None:
        print_page_path(RunFolder(options.folder).page, full=options.full)
    sys.exit(code)


@dataclass(frozen=True, kw_only=True)
class ShowOptions:
    folder: Path = argument("DIR", "folder")
    judge: str | None = setting("Only this judge [all judges under test].", "NAME", ("-j", "--judge"))
    probe: str | None = setting("Only calls of this probe.", "PROBE", ("-p", "--probe"))
    outcome: str | None = setting(
        "Only calls with this outcome.",
        choices=("wrong", "flip", "positional", "contradiction", "unreadable", "failed"),
    )
    number: int = setting("Stimuli per judge.", "N", ("-n", "--number"), default=3, kind="count")
    as_json: bool = flag("Print JSON with full texts and replies.", ("--json",))


@click.command(short_help="Show the calls behind a figure.")
@takes(ShowOptions)
def show(options: ShowOptions) -> None:
    """Show calls of a run folder: request, texts, both orders, raw replies, and how each was parsed and
    scored. Most informative calls first; ties are broken by the study seed.

    Outcomes: wrong (differs from the reference), flip (the verdict changed on the same question, or after an
    edit that should not change it), positional (the same slot won in both orders), contradiction (the reason
    ends with another answer), unreadable, failed.

    Example: steelyard show steelyard-runs/mine --outcome flip -n 5
    """
    from steelyard.commands.report import ShowRequest
    from steelyard.commands.report import show as choose
    from steelyard.core.json_dataclasses import to_body

    wanted = ShowRequest(options.judge, options.probe, options.outcome, options.number)
    chosen = choose(options.folder, wanted)
    if options.as_json:
        click.echo(json.dumps(to_body(chosen), indent=1))
    else:
        _print_examples(chosen, wanted)


def _print_examples(chosen: Sequence[JudgeExamples], wanted: ShowRequest) -> None:
    from shutil import get_terminal_size

    from steelyard.datasheet.render.clauses import render

    width = min(get_terminal_size((80, 24)).columns, 100)
    for one in chosen:
        click.echo(escape_control_chars(_headline(one, wanted)))
        if one.exhibits:
            click.echo(f"\n{render(one.exhibits, width)}\n")


def _headline(one: JudgeExamples, wanted: ShowRequest) -> str:
    of = f" of probe {wanted.probe}" if wanted.probe else ""
    ending = f" with outcome {wanted.outcome}" if wanted.outcome else ""
    if not one.matching:
        return f"{one.judge}: no calls{of}{ending}."
    less = len(one.exhibits) < one.matching
    more = f", {len(one.exhibits)} shown; -n {one.matching} shows all" if less else ""
    return f"{one.judge}: {pluralize(one.matching, 'stimulus', 'stimuli')}{of}{ending}{more}."


@dataclass(frozen=True, kw_only=True)
class ViewOptions:
    folders: tuple[Path, ...] = argument("DIR...", "folder", nargs=-1, required=True)
    bundle: Path | None = setting(
        "Write pages that open from a disk or any web server, instead of serving them.", "DIR", kind="folder"
    )
    pages: PageOptions = group(PageOptions)


@click.command(short_help="Browse runs and every call behind a figure.")
@takes(ViewOptions)
def view(options: ViewOptions) -> None:
    """Open a local web page to browse runs and imports: datasheets whose numbers link to their calls, every
    call with its prompt and raw reply, pairs in both orders, comparisons of judges. The pages are read-only;
    a run may continue meanwhile.
    """
    from steelyard.web.server import Server, require_loopback
    from steelyard.web.view_app import ViewPages

    if options.bundle is not None:
        from steelyard.web.bundle import write_bundle

        count = write_bundle(
            options.folders, options.bundle, lambda words: click.echo(f"writing {words}", err=True)
        )
        click.echo(f"{pluralize(count, 'file')}: {display_path(options.bundle / 'index.html')}")
        return
    require_loopback(options.pages.host, remote=options.pages.allow_remote)
    pages = ViewPages(options.folders)
    server = Server(options.pages.host, options.pages.port, "view", *options.folders)
    what = f"Showing {pluralize(len(pages.runs), 'run')}"
    server.serve(pages.app(), lambda url: options.pages.open(what, url))


@dataclass(frozen=True, kw_only=True)
class ExportOptions:
    folder: Path = argument("DIR", "folder")
    parquet: bool = flag("Write Parquet instead of JSONL.")
    xlsx: bool = flag("Write the observations as a workbook.")
    as_inspect: bool = flag("Write Inspect logs, one per probe.", ("--inspect",))
    out: Path | None = setting("Folder to write [DIR/export or DIR/inspect].", "DIR", kind="folder")


@click.command(short_help="Write calls as JSONL, Parquet or XLSX, runs as Inspect logs.")
@takes(ExportOptions)
def export(options: ExportOptions) -> None:
    """Write the calls of a run for other tools.

    Trials are the calls with request and reply. Observations are the verdicts with their expectation; they
    join stimuli.jsonl by id. With --inspect every probe becomes a log for `inspect view`: one sample per text
    or run, edited messages marked, edit and expectation in the metadata, one score per verdict. Import scores
    that Inspect adds with `steelyard import`.
    """
    chosen = [name for name, given in (("parquet", options.parquet), ("xlsx", options.xlsx)) if given]
    if len(chosen) == 2:
        raise ConfigError("--parquet: cannot be combined with --xlsx; remove one of them.")
    folder = options.folder
    if not options.as_inspect:
        from steelyard.commands.export import export_tables

        for table in export_tables(folder, options.out or folder / "export", "".join(chosen) or "jsonl"):
            parts = f" ({table.calls})" if table.calls.baselines else ""
            click.echo(f"{table.path}: {pluralize(table.calls.total, 'row')}{parts}.")
        return
    if chosen:
        raise ConfigError(
            f"--{chosen[0]}: cannot be combined with --inspect, which has its own format; remove one of them."
        )
    from steelyard.inspect_logs.export import export_inspect

    for log in export_inspect(folder, options.out or folder / "inspect"):
        samples, scores = pluralize(log.samples, "sample"), pluralize(log.scores, "score")
        click.echo(f"{log.path}: {samples}, {scores}.")
