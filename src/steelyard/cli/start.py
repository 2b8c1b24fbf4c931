"""The first minutes: `steelyard init`, `demo`, `skill`, and what is available: `probes` and `judges`."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import click

from steelyard.cli.options import KINDS, OneOf, complete_judges, option, takes
from steelyard.cli.output import FULL, display_path, plain, print_datasheet, print_page_path, warn
from steelyard.core.settings import flag, setting
from steelyard.errors import ConfigError, SteelyardError

FOLDER = "steelyard-runs/recorded-demo"


@click.command(short_help="Show a recorded run of two real judges; makes no calls.")
@option("--out", type=KINDS["folder"], metavar="DIR", default=FOLDER, help="Folder to write.")
@option("--full", is_flag=True, help=FULL)
def demo(out: Path | str, full: bool) -> None:
    """Show what a measurement tells: a recorded run of the two embedded judges, with its page.

    No call is made and no weights are fetched. The folder is a run like any other: `show`, `view`, `compare`
    and `gate` take it. `steelyard measure` without arguments measures the same judges here.
    """
    from steelyard.commands.start import unpack_demo
    from steelyard.core.text import pluralize
    from steelyard.run_folder.published_files import read_datasheet
    from steelyard.run_folder.run_folder import RunFolder

    folder = RunFolder(unpack_demo(Path(out)))
    sheet = read_datasheet(folder.path)
    print_datasheet(sheet, full=full)
    click.echo()
    calls = pluralize(int(sheet.run.get("calls") or 0), "call")
    print_page_path(folder.page, f"{calls}, recorded; none was made for this.", full=full)
    click.echo("Your own judge: steelyard init")


PURPOSES = ("look", "gate", "compare", "score")
JUDGE = "Judge (such as openai/gpt-4o-mini, or python/FILE.py:FUNCTION)"
QUESTIONS = {
    "data": ("Table of answers that it judged or will judge", "built-in texts"),
    "prompt": ("File with its prompt", "Steelyard's own"),
}


@dataclass(frozen=True, kw_only=True)
class InitOptions:
    judge: str | None = setting(
        "Judge, as for `measure`.", "JUDGE", ("--judge", "-j"), shell_complete=complete_judges
    )
    data: Path | None = setting("Table of answers [built-in texts].", "FILE", kind="file")
    columns: str | None = setting("Column mapping: request=q,response=a,label=l [by their names].", "MAP")
    values: str | None = setting("Words of labels: sound=1,unsound=0.", "WORD=ANSWER,…")
    prompt: Path | None = setting("Prompt of the judge [Steelyard's own].", "FILE", kind="file")
    purpose: str | None = setting(
        "What it is measured for: look, gate, compare or score [look].",
        "PURPOSE",
        ("--for",),
        choices=PURPOSES,
    )
    out: Path = setting("Study file to write.", "FILE", default=Path("study.yaml"), kind="file")
    no_files: bool = flag("Take no table and no prompt that is not named.")


@click.command(short_help="Write a first study file for your judge, with its price.")
@takes(InitOptions)
def init(options: InitOptions) -> None:
    """Write a study file of about ten lines for your judge, and print its plan and its price.

    A table of answers and a prompt that lie where the study file will are taken if there is one of each; on a
    terminal it asks. The columns and the scale are found in the table. Edit the file as you like; nothing is
    spent.
    """
    from steelyard.commands.start import AFTERWARDS, NewStudy, prompts_in, tables_in

    path, judge, data, prompt = options.out, options.judge, options.data, options.prompt
    if path.exists():
        raise ConfigError(f"{display_path(path)}: is there already; choose another --out.")
    asks = sys.stdin is not None and sys.stdin.isatty()
    if asks and not judge:
        judge = click.prompt(JUDGE)
    if not judge:
        raise ConfigError("init: no judge is named; add --judge JUDGE, such as openai/gpt-4o-mini.")
    data = data or _file("data", [] if options.no_files else tables_in(path.parent), asks)
    prompt = prompt or _file("prompt", [] if options.no_files else prompts_in(path.parent, judge, data), asks)
    purpose = options.purpose or "look"
    if asks and not options.purpose:
        purpose = click.prompt("What for", default="look", type=OneOf(PURPOSES))
    study = NewStudy(judge, data, prompt, purpose, options.columns, options.values)
    text = study.text(path.parent)
    path.write_text(text, encoding="utf-8")
    try:
        _print_plan(path)
    except SteelyardError:
        path.unlink()  # what cannot be planned is no study
        raise
    click.echo(f"\n{display_path(path)}:\n")
    click.echo("".join(f"    {line}\n" for line in text.splitlines()))
    until = "" if data else " --until verdict"
    then = AFTERWARDS.get(study.purpose)
    click.echo(f"Next: steelyard measure {display_path(path)}{until}{f', then: {then}' if then else ''}")


def _file(key: str, found: list[Path], asks: bool) -> Path | None:
    """The file for an option that was not given: the only one that was found, or what a terminal answers."""
    question, instead = QUESTIONS[key]
    names = [display_path(path) for path in found]
    if asks:
        several = f"; found: {', '.join(names)}" if len(names) > 1 else ""
        default = names[0] if len(names) == 1 else "none"
        given = click.prompt(f"{question} (none: {instead}{several})", default=default)
        return None if given == "none" else Path(given)
    if len(found) > 1:
        raise ConfigError(
            f"init: found {', '.join(names[:-1])} and {names[-1]}, expected one {key} file; choose with "
            f"--{key}, or take none with --no-files."
        )
    if found:
        warn(f"{names[0]} lies here and is taken as --{key}; --no-files leaves it out.")
    return found[0] if found else None


def _print_plan(path: Path) -> None:
    from steelyard.authoring.open_study import open_study
    from steelyard.cli.plan_table import print_study_plan
    from steelyard.cli.study import consent_of
    from steelyard.run_folder.run_folder import RunFolder

    opened = open_study(path, {}, "init", consent_of(()), calls=False, runs_code=False)
    print_study_plan(opened.study, RunFolder.default(opened.study), False, opened.generation)


@click.command(short_help="Print a page for coding agents: when and how to use this tool.")
def skill() -> None:
    """Print a page that tells a coding agent when and how to use Steelyard, and when to stop and ask.

    Save it where the agent looks for such pages, for example as SKILL.md.
    """
    from importlib.resources import files

    click.echo((files("steelyard.cli") / "skill.md").read_text(encoding="utf-8"), nl=False)


@click.command(short_help="List the probes, or the metrics of some.")
@click.argument("names", metavar="[PROBE]…", nargs=-1)
def probes(names: tuple[str, ...]) -> None:
    """List the probes with their questions, and the suites of several probes.

    With names it lists only these probes, with their metrics.
    """
    from steelyard.probes.probe import PROBES, SUITES

    for name in names:
        if name not in SUITES:
            PROBES.factory(name)
    for name in PROBES.names():
        if not names or name in names:
            _print_probe(name, with_metrics=bool(names))
    for suite in SUITES.values():
        if not names or suite.name in names:
            members = (*suite.probes, *(f"{name} (ordinal scales)" for name in suite.ordinal))
            _print(suite.name, suite.question, f"suite: {', '.join(members)}")


def _print_probe(name: str, *, with_metrics: bool) -> None:
    """Question, forms and, on request, metrics of a probe; for a broken plug-in, the cause."""
    from steelyard.metrics.faults import cause_of
    from steelyard.probes.probe import PROBES, forms_of

    try:
        probe = PROBES.factory(name)()
        question, forms = probe.question, ", ".join(forms_of(probe))
        metrics = [(metric.id, metric.meaning) for metric in probe.metrics] if with_metrics else []
    except Exception as error:
        _print(name, f"cannot be loaded ({cause_of(error)}); fix or remove its package")
    else:
        _print(name, question, forms, metrics)


@click.command()
def judges() -> None:
    """List the kinds of judges and how to write them."""
    from steelyard.providers.provider import PROVIDERS, examples_of
    from steelyard.study.composite_judges import EXAMPLES

    for name in PROVIDERS.in_order():
        for example in examples_of(name):
            _print(example.judge, example.meaning)
    for judge, meaning in EXAMPLES.items():
        _print(judge, meaning)


def _print(name: str, meaning: str, beside: str = "", metrics: Sequence[tuple[str, str]] = ()) -> None:
    """A name on a line of its own that is never broken, so that it can be copied; its meaning below."""
    from rich.console import Console
    from rich.padding import Padding
    from rich.text import Text

    console = Console()
    console.print(
        Text.assemble(plain(name, "bold"), *(("  ", plain(beside, "dim")) if beside else ())), soft_wrap=True
    )
    console.print(Padding(plain(meaning), (0, 0, 0, 2)), highlight=False)
    for metric, explanation in metrics:
        console.print(Text.assemble("    ", plain(metric)), soft_wrap=True)
        console.print(Padding(plain(explanation, "dim"), (0, 0, 0, 6)), highlight=False)
