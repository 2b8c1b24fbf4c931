"""Options that several commands share; each has an environment twin."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import click

Decorator = Callable[[Callable[..., Any]], Callable[..., Any]]


def option(*names: str, **settings: Any) -> Decorator:
    """A click option with the environment twin STEELYARD_<OPTION>."""
    long = next(name for name in names if name.startswith("--")).partition("/")[0]
    twin = "STEELYARD_" + long.removeprefix("--").replace("-", "_").upper()
    return click.option(*names, envvar=twin, **settings)


STUDY_OPTIONS: tuple[Decorator, ...] = (
    click.argument(
        "study", required=False, metavar="[STUDY.yaml]", type=click.Path(dir_okay=False, path_type=Path)
    ),
    option(
        "--judge", "-j", "judges", multiple=True, metavar="JUDGE", help="Judge to measure; may be repeated."
    ),
    option("--probe", "-p", "probes", multiple=True, metavar="PROBE", help="Probe to run; may be repeated."),
    option("--profile", type=click.Choice(["quick", "standard", "full"]), help="Size of the design [quick]."),
    option(
        "--out",
        type=click.Path(file_okay=False, path_type=Path),
        metavar="DIR",
        help="Run folder to write or resume.",
    ),
    option("--seed", type=int, help="Seed of the study [7]."),
    option("--replicates", type=click.IntRange(1), help="Repetitions of every presentation [1]."),
    option(
        "--concurrency",
        type=click.IntRange(1),
        default=16,
        show_default=True,
        help="Calls in flight per judge.",
    ),
    option("--budget", type=click.FloatRange(0), metavar="USD", help="Stop before spending more than this."),
    option(
        "--engine",
        type=click.Choice(["local"]),
        default="local",
        show_default=True,
        help="Where calls are made.",
    ),
    option("--attempts", type=click.IntRange(1), default=6, show_default=True, help="Tries per trial."),
    option(
        "--backoff",
        type=click.FloatRange(0),
        default=0.5,
        help="Seconds before the second try, then doubled.",
    ),
    option("--timeout", type=click.FloatRange(0, min_open=True), default=120.0, help="Seconds for one call."),
)


def study_options(command: Callable[..., Any]) -> Callable[..., Any]:
    """Everything that says what to measure and how far to go."""
    for decorate in reversed(STUDY_OPTIONS):
        command = decorate(command)
    return command
