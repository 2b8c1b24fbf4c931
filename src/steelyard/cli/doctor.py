"""`steelyard doctor`: whether keys, weights, servers and judges work."""

from __future__ import annotations

import json
import sys
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from steelyard.cli.options import option, study_options, yes_option
from steelyard.cli.output import plain, print_error

if TYPE_CHECKING:
    from rich.console import Console

    from steelyard.commands.doctor import JudgeCheck
    from steelyard.providers.provider_info import DoctorCheck

STYLES = {"ok": "green", "absent": "yellow", "broken": "bold red"}


@click.command(short_help="Check machine, weights, keys and judges.")
@study_options
@option(
    "--people", multiple=True, metavar="NAME", help="Column of people in a wide table of ratings; repeatable."
)
@yes_option
def doctor(people: tuple[str, ...], **options: Any) -> None:
    """Check the machine, the embedded weights and the keys, then the given judges.

    With a file of ratings (CSV, JSONL, Parquet, …) it says instead what the file supports: agreement,
    correction, ranking. Of a wide table -j and --people name the columns of judges and people.

    With a study, or with -j and other arguments of `measure`, every judge gets one real call under each of
    its protocols. The output shows the reply, how it was parsed, what it cost and, after an
    error, what to change.
    """
    from rich.console import Console

    from steelyard.commands.doctor import machine_checks

    console = Console()
    if options["study"] is not None and not _is_study(options["study"]):
        _print_table(console, _rating_checks(people, options))
        return
    findings = list(machine_checks())
    _print_table(console, findings)
    broken = [
        (f"{each.subject}: {each.found}", each.exit_code) for each in findings if each.state == "broken"
    ]
    for check in _judges(options):
        _print_check(console, check)
        if check.fault is not None:
            broken.append((check.sentence, check.exit_code))
    for sentence, _ in broken[:1]:
        print_error(sentence)
    sys.exit(max((code for *_, code in broken), default=0))


def _is_study(path: Path) -> bool:
    """YAML, or JSON that names judges; every other file is a table of ratings."""
    ending = path.suffix.lower()
    if ending != ".json":
        return ending in (".yaml", ".yml")
    try:
        body = json.loads(path.read_text(encoding="utf-8"))
    except (OSError, ValueError, RecursionError):
        return False  # whoever reads the table says what is wrong with it
    return isinstance(body, dict) and "judges" in body


def _rating_checks(people: tuple[str, ...], options: dict[str, Any]) -> Iterable[DoctorCheck]:
    from steelyard.commands.rating_files import load_ratings, rating_checks
    from steelyard.importing.ratings import RatingColumns

    how = RatingColumns.parse(options["columns"], options["judges"], people, where=options["where"])
    return rating_checks(load_ratings(options["study"], how))


def _judges(options: dict[str, Any]) -> Iterator[JudgeCheck]:
    """One call per judge as `measure` would make it; judges given with -j are checked one by one."""
    from steelyard.cli.study import open_study
    from steelyard.commands.doctor import check_judge, check_study
    from steelyard.commands.reference_run import with_expected_labels

    if any(options[name] for name in ("study", "data", "probes", "scale")):
        study, folder, generation = open_study(options)
        study = with_expected_labels(study, folder)
        yield from check_study(study if generation is None else generation.estimate(study, folder)[0])
        return
    for text in options["judges"]:
        yield from check_judge(text)


def _print_table(console: Console, findings: Iterable[DoctorCheck]) -> None:
    from rich import box
    from rich.table import Table

    table = Table(box=box.SIMPLE_HEAD)
    for title in ("check", "state", "what was found"):
        table.add_column(title, overflow="fold")
    for finding in findings:
        state = plain(finding.state, STYLES[finding.state])
        table.add_row(plain(finding.subject), state, plain(finding.found))
    console.print(table)


def _print_check(console: Console, check: JudgeCheck) -> None:
    from rich.text import Text

    state = "ok" if check.fault is None else "broken"
    title = Text.assemble(plain(check.subject), ": ", plain(state, STYLES[state]))
    lines = [Text(f"  {name:<8} {text}") for name, text in check.lines]
    faults = [] if check.fault is None else [Text.assemble(f"  {'fault':<8} ", plain(check.fault))]
    for line in (title, *lines, *faults):
        console.print(line, soft_wrap=True, highlight=False)
