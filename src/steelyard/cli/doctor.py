"""Does it work? `doctor` on keys, servers and judges; `selftest` and `serve-planted`, of planted judges."""

from __future__ import annotations

import json
import sys
from collections.abc import Iterable, Iterator
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import TYPE_CHECKING

import click

from steelyard.cli.help import StudyCommand
from steelyard.cli.options import KINDS, PORT, OneOf, StudyOptions, option, takes
from steelyard.cli.output import plain, print_error
from steelyard.core.settings import several
from steelyard.core.text import escape_control_chars, pluralize

if TYPE_CHECKING:
    from rich.console import Console

    from steelyard.commands.doctor import JudgeCheck
    from steelyard.providers.provider_info import DoctorCheck

STYLES = {"ok": "green", "absent": "yellow", "broken": "bold red"}


@dataclass(frozen=True, kw_only=True)
class DoctorOptions(StudyOptions):
    people: tuple[str, ...] = several("Column of people in a wide table of ratings; repeatable.", "NAME")


@click.command(cls=StudyCommand, short_help="Check machine, weights, keys and judges.")
@takes(DoctorOptions)
def doctor(options: DoctorOptions) -> None:
    """Check the given judges, then the machine, the embedded weights and the keys.

    With a file of ratings (CSV, JSONL, Parquet, …) it says instead what the file supports: agreement,
    correction, ranking. Of a wide table -j and --people name the columns of judges and people; without them
    it guesses what each column holds, and prints the command that reads the file so.

    With a study, or with -j and other arguments of `measure`, every judge gets one real call under each of
    its protocols. The output shows the reply, how it was parsed, what it cost and, after an
    error, what to change.
    """
    from rich.console import Console

    from steelyard.commands.doctor import machine_checks

    console = Console()
    if options.study is not None and not _is_study(options.study):
        _print_ratings(console, options.study, options)
        return
    broken = []
    for check in _judges(options):  # what was asked for comes before what is the same every time
        _print_check(console, check)
        if check.fault is not None:
            broken.append((check.sentence, check.exit_code))
    findings = list(machine_checks())
    _print_table(console, findings)
    broken += [
        (f"{each.subject}: {each.found}", each.exit_code) for each in findings if each.state == "broken"
    ]
    for sentence, _ in broken[:1]:
        print_error(sentence)
    sys.exit(max((code for *_, code in broken), default=0))


def _print_ratings(console: Console, path: Path, options: DoctorOptions) -> None:
    """What a file of ratings supports; of a table that leaves it open, what its columns may be."""
    from steelyard.errors import DataError
    from steelyard.importing.ratings import RatingColumns, parse_values
    from steelyard.survey.rating_files import load_ratings, rating_checks
    from steelyard.survey.table_guess import guess_table

    given = (options.columns, options.judges, options.people, options.values, options.where)
    how, table, fault = RatingColumns.parse(*given), None, None
    try:
        table = load_ratings(path, how)
    except DataError as error:
        if any((options.columns, options.judges, options.people)) or path.is_dir():
            raise
        fault = error
    if table is not None:
        _print_table(console, rating_checks(table))
    if table is None or table.mapping:
        try:
            guess = guess_table(path, parse_values(options.values), options.values)
        except DataError as error:
            raise fault or error from error
        _print_table(console, guess.checks)
        click.echo("\n".join(guess.lines))


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


def _judges(options: DoctorOptions) -> Iterator[JudgeCheck]:
    """One call per judge as `measure` would make it; judges given with -j are checked one by one."""
    from steelyard.authoring.open_study import with_expected_labels
    from steelyard.cli.study import open_study
    from steelyard.commands.doctor import check_judge, check_study

    if options.study or options.data or options.probes or options.scale:
        study, folder, generation = open_study(options)
        study = with_expected_labels(study, folder)
        yield from check_study(study if generation is None else generation.estimate(study, folder)[0])
        return
    for text in options.judges:
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


@click.command(short_help="Measure judges with known parameters and compare.")
@option(
    "--profile",
    type=OneOf(["standard", "full"]),
    default="standard",
    metavar="SIZE",
    help="standard or full.",
)
@option("--json", "as_json", is_flag=True, help="Print the gates as JSON.")
def selftest(profile: str, as_json: bool) -> None:
    """Measure planted judges and compare the results with their known parameters; exit 1 if a gate fails."""
    import tempfile

    from rich import box
    from rich.console import Console
    from rich.table import Table

    from steelyard.commands.doctor import selftest as run

    with tempfile.TemporaryDirectory(prefix="steelyard-selftest-") as folder:
        gates = run(Path(folder), profile)
    failed = sum(not gate.passed for gate in gates)
    if as_json:
        click.echo(json.dumps([asdict(gate) for gate in gates], indent=1, ensure_ascii=False))
    else:
        table = Table(box=box.SIMPLE_HEAD, pad_edge=False, padding=(0, 1, 0, 0))
        for name in ("judge", "figure", "planted", "accepted", "recovered"):
            width = None if name == "figure" else max(len(getattr(gate, name)) for gate in gates)
            table.add_column(name, min_width=width)
        table.add_column("gate", min_width=4)
        for gate in gates:
            word = plain("ok", "green") if gate.passed else plain("FAIL", "bold red")
            cells = (gate.judge, gate.figure.replace("_", " "), gate.planted, gate.accepted, gate.recovered)
            table.add_row(*map(plain, cells), word)
        Console().print(table)
        click.echo(f"{len(gates) - failed} of {pluralize(len(gates), 'gate')} passed.")
    if failed:
        print_error(f"{pluralize(failed, 'gate')} failed: do not trust the figures of this installation.")
        sys.exit(1)


@click.command("serve-planted", short_help="Serve a planted judge over HTTP on loopback.")
@click.argument("judge")
@option("--port", type=PORT, default=8765, metavar="N", help="Port; 0 picks a free one.")
@option(
    "--key",
    type=KINDS["file"],
    metavar="FILE",
    help="stimuli.jsonl: labels for planted/rater or planted/chooser, own checklists for planted/probit.",
)
@option("--seed", type=KINDS["integer"], default=7, metavar="N", help="Seed of the study, for planted/rater.")
def serve_planted(judge: str, port: int, key: Path | None, seed: int) -> None:
    """Serve a planted judge as a chat-completions server on loopback until Ctrl-C."""
    import asyncio
    from contextlib import suppress

    from steelyard.commands.doctor import pack_stimuli
    from steelyard.errors import ConfigError
    from steelyard.providers.planted.planted_judges import Planted
    from steelyard.providers.planted.server import client_address, serve
    from steelyard.providers.provider import connect, model_info
    from steelyard.stimuli.stimulus import StimulusSet
    from steelyard.study.judge_config import parse_judge
    from steelyard.tasks.task import BestOf, Binary, Pairwise
    from steelyard.trials.builtin_prompts import GRADED

    info = model_info(judge.partition("?")[0])
    scores, rates = info.can_score, info.knows_labels
    scale = Binary() if scores else Pairwise() if info.can_compare else BestOf(3)
    planted = parse_judge(judge, Path(), scale, GRADED)
    if not isinstance(connect(planted), Planted):
        raise ConfigError(f"judge {judge!r}: found provider {planted.provider!r}, expected a planted judge.")
    if key is not None and not rates and planted.model != "probit":
        raise ConfigError(
            f"--key: works only with a judge that answers by labels or quality, found {planted.address}; "
            "remove --key."
        )
    labels = [
        *(pack_stimuli(seed) if rates and scores else ()),
        *(() if key is None else StimulusSet.read(key)),
    ]

    def ready(url: str) -> None:
        click.echo(f"Serving {escape_control_chars(judge)} at {url} until Ctrl-C.")
        options = " --scale binary" if scores else "" if info.can_compare else " STUDY.yaml"
        seeded = f" --seed {seed}" if scores and rates and seed != 7 else ""
        client = escape_control_chars(client_address(planted, url))
        click.echo(f"Measure it: steelyard measure{options}{seeded} -j '{client}'")
        if scores and rates:
            click.echo(
                f"It knows the pack under seed {seed}; tell it of other texts with --key RUN/stimuli.jsonl."
            )

    with suppress(KeyboardInterrupt):
        asyncio.run(serve(planted, port=port, ready=ready, key=labels))
