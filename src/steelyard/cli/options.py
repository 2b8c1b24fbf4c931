"""Options that several commands share; each has an environment twin."""

from __future__ import annotations

import math
from collections.abc import Callable
from pathlib import Path
from typing import Any

import click

Decorator = Callable[[Callable[..., Any]], Callable[..., Any]]


def option(*names: str, **settings: Any) -> Decorator:
    """A click option with the environment twin STEELYARD_<OPTION>; a default is shown in brackets."""
    long = next(name for name in names if name.startswith("--"))
    default = settings.get("default")
    if default is not None:
        shown = f"{default:g}" if isinstance(default, float) else default
        settings["help"] = f"{settings['help'].removesuffix('.')} [{shown}]."
    return click.option(*names, envvar=_twin(long), **settings)


def _twin(long: str) -> str:
    return "STEELYARD_" + long.removeprefix("--").replace("-", "_").upper()


def whole(low: int, high: int | None = None) -> Callable[[str | int], int]:
    """A type of options: a whole number of at least `low`, at most `high`."""
    expected = f"a whole number of at least {low}" + ("" if high is None else f" and at most {high}")

    def number(value: str | int) -> int:
        try:
            result = int(value)
        except ValueError:
            result = low - 1
        if result < low or (high is not None and result > high):
            raise click.BadParameter(f"found {value!r}, expected {expected}.")
        return result

    return number


def amount(*, zero: bool) -> Callable[[str | float], float]:
    """A type of options: a finite number above zero, or zero itself where that is allowed."""

    def number(value: str | float) -> float:
        try:
            result = float(value)
        except ValueError:
            result = math.nan
        if not math.isfinite(result) or result < 0 or (result == 0 and not zero):
            expected = "zero or a positive number" if zero else "a positive number"
            raise click.BadParameter(f"found {value!r}, expected {expected}.")
        return result

    return number


def engine(value: str) -> str:
    """A type of options: where calls are made."""
    kind, _, address = value.partition(":")
    if kind not in ("local", "ray") or (kind == "local" and address):
        raise click.BadParameter(f"found {value!r}, expected 'local', 'ray' or 'ray:ADDRESS'.")
    return value


def judges_like(context: click.Context, parameter: click.Parameter, start: str) -> list[str]:
    """Judges that begin so, for a shell that completes: kinds first, then what is written in full."""
    del context, parameter
    from steelyard.providers.provider import PROVIDERS, examples_of

    written = [example.address for name in PROVIDERS.in_order() for example in examples_of(name)]
    kinds = [f"{name}/" for name in PROVIDERS.in_order()]
    # Capitals stand for what the reader puts in.
    whole = [judge for judge in written if judge == judge.lower()]
    return [judge for judge in dict.fromkeys((*kinds, *whole)) if judge.startswith(start)]


def probes_like(context: click.Context, parameter: click.Parameter, start: str) -> list[str]:
    """Probes and suites that begin so, for a shell that completes."""
    del context, parameter
    from steelyard.probes.probe import PROBES
    from steelyard.probes.suites import SUITES

    return [name for name in (*SUITES, *PROBES.names()) if name.startswith(start)]


STUDY_OPTIONS: tuple[Decorator, ...] = (
    click.argument(
        "study", required=False, metavar="[STUDY.yaml]", type=click.Path(dir_okay=False, path_type=Path)
    ),
    option(
        "--judge",
        "-j",
        "judges",
        multiple=True,
        metavar="JUDGE",
        help="Judge to measure; may be repeated.",
        shell_complete=judges_like,
    ),
    option(
        "--probe",
        "-p",
        "probes",
        multiple=True,
        metavar="PROBE",
        help="Probe or suite to run; may be repeated.",
        shell_complete=probes_like,
    ),
    option(
        "--scale",
        metavar="SCALE",
        help="pairwise, binary or a range as 1-6 [what probes need].",
    ),
    option(
        "--profile",
        type=click.Choice(["quick", "standard", "full"]),
        metavar="SIZE",
        help="Size of the design: quick, standard or full [quick].",
    ),
    option("--replicates", type=whole(1), metavar="N", help="Repetitions of every presentation [1]."),
    option("--seed", type=int, metavar="N", help="Seed of the study [7]."),
    option(
        "--out",
        type=click.Path(file_okay=False, path_type=Path),
        metavar="DIR",
        help="Run folder to write or resume [steelyard-runs/NAME-HASH].",
    ),
    option("--budget", type=amount(zero=True), metavar="USD", help="Stop before spending more than this."),
    option(
        "--no-preflight",
        is_flag=True,
        help="Keep calling a judge whose first 8 replies could not be parsed.",
    ),
    option("--no-pilot", is_flag=True, hidden=True, help="Earlier spelling of --no-preflight."),
    option(
        "--concurrency",
        type=whole(1),
        default=16,
        metavar="N",
        help="Calls in flight per server, or judge without one.",
    ),
    option("--timeout", type=amount(zero=False), default=120.0, metavar="SECONDS", help="Time for one call."),
    option("--attempts", type=whole(1), default=6, metavar="N", help="Tries per trial."),
    option(
        "--backoff",
        type=amount(zero=True),
        default=0.5,
        metavar="SECONDS",
        help="Wait before the second try, then doubled.",
    ),
    option(
        "--engine",
        type=engine,
        default="local",
        metavar="NAME",
        help="Who makes the calls: local, or ray[:ADDRESS].",
    ),
)


DATA_OPTIONS: tuple[Decorator, ...] = (
    option(
        "--data",
        type=click.Path(path_type=Path),
        metavar="FILE",
        help="Items: CSV, TSV, JSONL, JSON, Parquet, XLSX, Inspect log.",
    ),
    option(
        "--columns",
        metavar="MAP",
        help="What its columns hold: request=q,response=a,label=l.",
    ),
    option("--labels", metavar="MAP", help="What its labels mean on the scale: good=1,bad=0."),
    option("--adapter", metavar="NAME", help="Public benchmark that it is of, instead of --columns."),
    option("--stratify", metavar="COLUMN", help="Column whose values are the strata."),
    option("--sample", type=whole(1), metavar="N", help="Rows to draw, spread over the strata [all]."),
    option("--where", metavar="MAP", help="Rows to keep, by what a column holds: epoch=1."),
    option(
        "--preprocess",
        multiple=True,
        metavar="NAME",
        help="Taken out of agents' runs: drop_system, …; repeatable.",
    ),
    option("--failing", type=int, metavar="N", help="Score of an agent's run that fails [the lowest]."),
    option(
        "--rubric",
        type=click.Path(dir_okay=False, path_type=Path),
        metavar="FILE",
        help="What counts, as text or Markdown.",
    ),
    option(
        "--prompt",
        type=click.Path(dir_okay=False, path_type=Path),
        metavar="FILE",
        help="Template of the judges' message, or paper: as published.",
    ),
    option("--answers", metavar="MAP", help="What the judges' words mean on the scale: pass=1,fail=0."),
)


until_option = option(
    "--until",
    type=click.Choice(["verdict"]),
    metavar="verdict",
    help="Go from profile to profile until the verdict is decided.",
)


def study_options(command: Callable[..., Any]) -> Callable[..., Any]:
    """Everything that says what to measure and how far to go."""
    for decorate in reversed((*STUDY_OPTIONS[:3], *DATA_OPTIONS, *STUDY_OPTIONS[3:])):
        command = decorate(command)
    return command
