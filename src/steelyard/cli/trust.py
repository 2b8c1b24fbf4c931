"""`steelyard trust fit`, `apply` and `check`: which verdicts to accept, and which to send to people."""

from __future__ import annotations

import json
from pathlib import Path

import click

from steelyard.cli.main import use_one_blas_thread
from steelyard.cli.options import takes
from steelyard.cli.output import display_path
from steelyard.cli.survey import finish_report, print_lines
from steelyard.core.settings import ReportOptions
from steelyard.trust.options import ApplyOptions, CheckOptions, FitOptions

NOT_SHOWN, BROKEN = 4, 3
"""Exit codes: the promise is not shown; audits show that it is not kept."""


@click.command(short_help="Find which verdicts can be accepted, with a promise on their error.")
@takes(FitOptions)
def fit(options: FitOptions) -> None:
    """Find the confidence from which on a judge's answers are accepted, and promise how many are wrong.

    FILE is a table with one row per item: a column of the judge's answers, one or more of its confidence,
    and people's labels of some rows; or a run folder of labelled data. Several judges make a cascade,
    cheapest first; people answer what no judge is sure of. A promise that the labels do not show is refused
    (exit 4).
    """
    use_one_blas_thread()
    from steelyard.trust.fit_report import fit_report
    from steelyard.trust.trust_file import NAME

    report, shown = fit_report(options)
    usual = options.file / NAME if options.file.is_dir() else Path(NAME)
    finish_report(report, ReportOptions(out=options.out or usual, page=options.page, as_json=options.as_json))
    if not shown:
        raise SystemExit(NOT_SHOWN)


@click.command(short_help="Accept verdicts of a table, or send them to people.")
@takes(ApplyOptions)
def apply(options: ApplyOptions) -> None:
    """Write a table with a decision for every row: accept, ask the next judge, or escalate to people.

    FILE has the columns of answers and signals that TRUST.json names, or is a run folder. The table is
    written whole or not at all, and the same input gives the same table.
    """
    from steelyard.trust.apply import apply_trust

    counts, out = apply_trust(options)
    if options.as_json:
        click.echo(json.dumps(vars(counts), indent=1))
    else:
        print_lines(counts.lines())
        click.echo(f"Written: {display_path(out)}")


@click.command(short_help="Check with audited verdicts whether the promise still holds.")
@takes(CheckOptions)
def check(options: CheckOptions) -> None:
    """Compare accepted answers with those of people, and say whether the promised error is still kept.

    FILE has the columns that TRUST.json names, and people's answers on a random part of the accepted rows,
    in the order of the audits. It may be looked at every day: of promises that are kept at most 5 % are ever
    refuted, however often one looks. Exit 3 where it is refuted.
    """
    from steelyard.trust.check import check_report

    report, kept = check_report(options)
    finish_report(report, options.report)
    if not kept:
        raise SystemExit(BROKEN)
