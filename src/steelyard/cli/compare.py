"""Commands over measured results: `steelyard compare`, `overall` and `gate`."""

from __future__ import annotations

import json
import os
import sys
from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

import click

from steelyard.cli.options import option, takes, yes_setting
from steelyard.cli.output import annotate, display_path, plain, print_results, warn
from steelyard.cli.study import consent_of
from steelyard.core.settings import argument, flag, setting, several
from steelyard.core.text import escape_control_chars, pluralize

if TYPE_CHECKING:
    from rich.console import Console

    from steelyard.commands.gate.ruling import Ruling
    from steelyard.commands.overall import JudgeOverall


TARGET = "DIR[:JUDGE]"


@dataclass(frozen=True, kw_only=True)
class CompareOptions:
    first: str = argument(TARGET)
    second: str = argument(TARGET)
    margin: float = setting(
        "Largest difference that counts as equal.", "SHARE", default=0.10, kind="positive"
    )
    stratum: str | None = setting("Compare on this stratum of the data only.", "NAME")
    full: bool = flag("List every figure with its test, and what was left out.")
    as_json: bool = flag("Print the comparison as JSON.", ("--json",))
    page: Path | None = setting("Write the comparison as one HTML page.", "FILE", ("--html",), kind="file")
    markdown: Path | None = setting("Write the comparison as Markdown.", "FILE", kind="file")


@click.command(short_help="Compare two judges on shared stimuli, no calls.")
@takes(CompareOptions)
def compare(options: CompareOptions) -> None:
    """Compare two judges on the stimuli that both were shown; makes no calls.

    Each argument is a run folder or an import, with the judge's name after a colon if the folder holds
    several. Two judges of one folder can be compared. Differences are second minus first: B, the second, is
    better, worse, different (where no way is better) or alike, or the figure is undecided.
    """
    from rich.console import Console

    from steelyard.commands.compare import Target, compare_targets
    from steelyard.core.files import atomic_write_text
    from steelyard.datasheet.comparison.report import markdown, page, print_comparison
    from steelyard.runner.run_messages import metric_errors

    both = Target.parse(options.first), Target.parse(options.second)
    comparison = compare_targets(*both, options.margin, options.stratum)
    written = {"Page": (options.page, page), "Markdown": (options.markdown, markdown)}
    for path, render in written.values():
        if path is not None:
            atomic_write_text(path, render(comparison))
    if options.as_json:
        click.echo(comparison.dumps(), nl=False)
    else:
        print_comparison(comparison, Console(), full=options.full)
        for name, (path, _) in written.items():
            if path is not None:
                click.echo(f"{name}: {display_path(path)}")
    sys.exit(print_results((), list(metric_errors(comparison.faults))))


SPREAD_NOTE = (
    "Volatility: standard deviation of accuracy over the probes of a data set, in brackets what sampling "
    "alone would give; then the worst and the best probe."
)
COST_NOTE = (
    "Each data set counts once. Pooled: all dollars over 100 times the mean accuracy; mean: the mean of the "
    "data sets' own costs per point, undefined where one has none. Data sets are not a "
    "sample, so these figures have no interval."
)


@click.command(short_help="Accuracy and cost over several data sets, no calls.")
@click.argument("folders", metavar="DIR...", nargs=-1, required=True, type=click.Path(path_type=Path))
@option("--json", "as_json", is_flag=True, help="Print the rows as JSON.")
def overall(folders: tuple[Path, ...], as_json: bool) -> None:
    """Summarise the runs of several data sets in one table; makes no calls.

    Each folder is the run of one data set of labelled single texts. The table shows for every judge its
    accuracy, its volatility over probes and cost per point on each data set, the mean accuracy, and the
    overall cost per point by both common definitions.
    """
    from rich.console import Console

    from steelyard.commands.overall import overall as summarise_runs

    judges = summarise_runs(folders)
    if as_json:
        click.echo(json.dumps([judge.to_json() for judge in judges], indent=1))
    else:
        _print_overall(judges, Console())


def _print_overall(judges: list[JudgeOverall], console: Console) -> None:
    from rich import box
    from rich.table import Table
    from rich.text import Text

    rows = [row for judge in judges for row in judge.rows]
    spreads = any(row.spread for row in rows)
    table = Table(box=box.SIMPLE_HEAD, padding=(0, 1, 0, 0), show_edge=False, pad_edge=False)
    for name in ("judge", "data set"):
        table.add_column(name, overflow="fold", min_width=9)
    for name in ("accuracy", *(("volatility", "worst–best") if spreads else ()), "dollars", "cost/point"):
        table.add_column(name, justify="right", overflow="fold")
    for judge in judges:
        for row in judge.rows:
            point = row.cost.per_point if row.cost else None
            spread = _spread(row.spread) if spreads else ()
            cells = (_accuracy(row.accuracy), *spread, _dollars(row.dollars), _dollars(point))
            table.add_row(plain(judge.judge), plain(row.data_set), *cells)
        for name in judge.missing:
            table.add_row(plain(judge.judge), plain(name), _accuracy(None))
        gap = ("", "") if spreads else ()
        mean = _accuracy(judge.accuracy_mean)
        table.add_row("", "all, pooled", mean, *gap, "", _dollars(judge.cost.pooled))
        table.add_row("", "all, mean", "", *gap, "", _dollars(judge.cost.mean_of_rows), end_section=True)
    partial = dict.fromkeys(f"{row.partial} on {row.data_set}." for row in rows if row.partial)
    references = dict.fromkeys(
        f"Reference on {row.data_set}: {row.reference}." for row in rows if row.reference
    )
    for line in partial:
        console.print(Text(line), soft_wrap=True)
    console.print(table)
    notes = [SPREAD_NOTE] if spreads else []
    for line in (*references, *_gaps(judges), *notes, COST_NOTE):
        console.print(Text(line), soft_wrap=True)


def _gaps(judges: list[JudgeOverall]) -> Iterator[str]:
    without: dict[tuple[str, tuple[str, ...]], list[str]] = {}
    for judge in judges:
        if judge.missing:
            names = ", ".join(f"{name} ({why})" for name, why in judge.missing.items())
            yield f"{judge.judge}: no accuracy on {names}."
        for place in judge.lacking.items():
            without.setdefault(place, []).append(judge.judge)
    for (name, probes), whose in without.items():
        yield (
            f"{name}: the accuracy of {', '.join(whose)} is without {', '.join(probes)}, which other "
            "data sets have; the rows are not alike."
        )


def _spread(spread: Mapping[str, float | None]) -> tuple[str, str]:
    if not spread:
        return "", ""
    sd, sampling, least, most = (
        spread.get(f"accuracy_{name}") for name in ("sd", "sd_sampling", "min", "max")
    )
    alone = "" if sampling is None else f" ({_accuracy(sampling)})"
    return f"{_accuracy(sd)}{alone}", f"{_accuracy(least)}–{_accuracy(most)}"


def _accuracy(value: float | None) -> str:
    return "undefined" if value is None else f"{value:.2f}"


def _dollars(amount: float | None) -> str:
    from steelyard.datasheet.numbers import dollars

    return "undefined" if amount is None else dollars(amount)


STYLES = {"PASS": "green", "FAIL": "bold red", "INCONCLUSIVE": "yellow"}


@dataclass(frozen=True, kw_only=True)
class GateOptions:
    target: Path = argument("DIR", "path")
    policy: str | None = setting("Acceptance policy: smoke, default, strict, or a YAML file.", "FILE")
    judges: tuple[str, ...] = several("Judge to gate; repeatable.", "NAME", ("--judge", "-j"))
    reference: Path | None = setting(
        "Earlier run on the same stimuli; fail if the judge has drifted since.", "DIR", kind="folder"
    )
    margin: float = setting("Largest allowed drift.", "SHARE", default=0.10, kind="positive")
    certificate: Path | None = setting("Check this certificate instead of deciding.", "FILE", kind="file")
    check: bool = flag("Check the certificate in DIR instead of deciding.")
    junit: Path | None = setting("Write the result as JUnit XML.", "FILE", kind="file")
    markdown: Path | None = setting("Write the result as Markdown.", "FILE", kind="file")
    every: bool = flag("List passed checks too.", ("--all",))
    yes: tuple[str, ...] = yes_setting()
    as_json: bool = flag("Print the result as JSON.", ("--json",))


@click.command(short_help="Pass, fail or inconclusive, by a policy.")
@takes(GateOptions)
def gate(options: GateOptions) -> None:
    """Decide by a policy whether the judges of a run may be used, and write a certificate; makes no calls.

    PASS (exit 0): every interval lies within its limits. FAIL (exit 3): some interval lies wholly outside,
    or the datasheet flags a fault that the policy does not allow. INCONCLUSIVE (exit 4): neither; the output
    says how many more calls are needed. --certificate and --check compare a certificate with the judges of
    DIR, or of a study file; they exit 3 if it has expired or does not match.
    """
    from datetime import UTC, datetime

    from steelyard.commands.gate.gate import check_certificate, render_junit, render_markdown
    from steelyard.commands.gate.gate import gate as gate_folder
    from steelyard.commands.gate.policy import SHIPPED
    from steelyard.commands.gate.ruling import EXIT_CODES, GATE_INCONCLUSIVE, PASS
    from steelyard.core.files import atomic_write_text

    now = datetime.now(UTC)
    target, policy, judges = options.target, options.policy, options.judges
    if options.certificate is not None or options.check:
        path = options.certificate or target / "certificate.json"
        valid = check_certificate(target, path, now, judges, policy, consent_of(options.yes))
        until = "does not expire" if valid.expires is None else f"expires {valid.expires:%Y-%m-%d %H:%M %Z}"
        names = ", ".join(judge.name for judge in valid.judges)
        click.echo(f"Certificate holds: {escape_control_chars(names)}; {until}.")
        return
    if policy is None:
        names = ", ".join(SHIPPED)
        raise click.UsageError(f"missing option: give --policy ({names} or a file) or --certificate FILE")
    ruling, written = gate_folder(target, policy, now, judges, options.reference, options.margin)
    if options.junit is not None:
        atomic_write_text(options.junit, render_junit(ruling))
    if options.markdown is not None:
        atomic_write_text(options.markdown, render_markdown(ruling))
    if options.as_json:
        click.echo(json.dumps(ruling.to_json(), indent=1, ensure_ascii=False))
    else:
        _print_ruling(ruling, options.every)
    _tell_github(ruling)
    if written is None and ruling.result != GATE_INCONCLUSIVE:
        warn(f"{display_path(target)}: the certificate cannot be written there; the result stands.")
    elif written is not None and not options.as_json:
        result = "Certificate:" if ruling.result == PASS else "No certificate; the refusal is recorded in"
        click.echo(f"\n{result} {display_path(written)}")
    sys.exit(EXIT_CODES[ruling.result])


def _tell_github(ruling: Ruling) -> None:
    """What keeps a judge from passing as errors of the job, and the table in its summary."""
    from steelyard.commands.gate.gate import render_markdown, sentence
    from steelyard.commands.gate.ruling import ORDER, PASS

    for check in sorted(ruling.checks, key=lambda check: ORDER.index(check.result)):
        if check.result != PASS:
            annotate(f"{check.judge}: {check.result}: {check.rule}: {check.found}: {sentence(check)}")
    if summary := os.environ.get("GITHUB_STEP_SUMMARY"):
        with Path(summary).open("a", encoding="utf-8") as stream:
            stream.write(render_markdown(ruling))


def _print_ruling(ruling: Ruling, every: bool) -> None:
    from rich.console import Console
    from rich.padding import Padding

    from steelyard.commands.gate.gate import sentence
    from steelyard.commands.gate.ruling import ORDER, PASS, worst

    console = Console(highlight=False)
    results = [check.result for check in ruling.checks]
    split = ", ".join(f"{results.count(word)} {word}" for word in STYLES if word in results)
    headline = f"{ruling.result}: {pluralize(len(results), 'check')} ({split}), on whole 95 % intervals."
    console.print(plain(headline, STYLES[ruling.result]))
    for judge in ruling.judges:
        checks = ruling.of(judge)
        result = worst(check.result for check in checks)
        console.print()
        console.print(plain(judge, "bold").append(": ").append_text(plain(result, STYLES[result])))
        for row in sorted(checks, key=lambda check: ORDER.index(check.result)):
            if every or row.result != PASS:
                head = plain(row.result, STYLES[row.result]).append("  ").append_text(plain(row.rule))
                found = plain(row.found).append("  ").append_text(plain(row.figure, "dim"))
                for line, indent in ((head, 2), (found, 4), (plain(sentence(row)), 4)):
                    console.print(Padding(line, (0, 0, 0, indent), expand=False))
        passed = [check for check in checks if check.result == PASS]
        if passed and not every:
            # A rule may be checked against several figures, and against drift.
            times = Counter(check.name for check in passed)
            names = ", ".join(name if count == 1 else f"{name} ({count})" for name, count in times.items())
            line = plain(f"{pluralize(len(passed), 'check')} passed: {names}", "dim")
            console.print(Padding(line, (0, 0, 0, 2), expand=False))
    if ruling.notes:
        console.print()
    for note in ruling.notes:
        console.print(plain(note, "dim"))
