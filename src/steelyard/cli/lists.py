"""`steelyard probes` and `steelyard judges`: what is available, one name to a line."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

import click

from steelyard.cli.output import plain


@dataclass(frozen=True)
class _Entry:
    name: str
    meaning: str
    beside: str = ""
    metrics: tuple[tuple[str, str], ...] = ()


@click.command(short_help="List the probes, or the metrics of some.")
@click.argument("names", metavar="[PROBE]…", nargs=-1)
def probes(names: tuple[str, ...]) -> None:
    """List the probes with their questions, and the suites of several probes.

    With names it lists only these probes, with their metrics.
    """
    from steelyard.probes.probe import PROBES
    from steelyard.probes.suites import SUITES

    for name in names:
        if name not in SUITES:
            PROBES.factory(name)
    chosen = [name for name in PROBES.names() if not names or name in names]
    _print(_probe(name, with_metrics=bool(names)) for name in chosen)
    _print(
        _Entry(suite.name, suite.question, f"suite: {', '.join(_members(suite.name))}")
        for suite in SUITES.values()
        if not names or suite.name in names
    )


def _members(suite: str) -> tuple[str, ...]:
    from steelyard.probes.suites import SUITES

    members = SUITES[suite]
    return (*members.probes, *(f"{name} (ordinal scales)" for name in members.ordinal))


def _probe(name: str, *, with_metrics: bool) -> _Entry:
    """Question, forms and, on request, metrics of a probe; for a broken plug-in, the cause."""
    from steelyard.metrics.faults import cause_of
    from steelyard.probes.probe import PROBES, forms_of

    try:
        probe = PROBES.factory(name)()
        metrics = tuple((metric.id, metric.meaning) for metric in probe.metrics) if with_metrics else ()
        return _Entry(name, probe.question, ", ".join(forms_of(probe)), metrics)
    except Exception as error:
        return _Entry(name, f"cannot be loaded ({cause_of(error)}); fix or remove its package")


@click.command()
def judges() -> None:
    """List the kinds of judges and how to write them."""
    from steelyard.providers.provider import PROVIDERS, examples_of
    from steelyard.study.composite_judges import EXAMPLES

    _print(
        _Entry(example.judge, example.meaning)
        for name in PROVIDERS.in_order()
        for example in examples_of(name)
    )
    _print(_Entry(judge, meaning) for judge, meaning in EXAMPLES.items())


def _print(entries: Iterable[_Entry]) -> None:
    """Each name on a line of its own that is never broken, what it stands for below."""
    from rich.console import Console
    from rich.padding import Padding
    from rich.text import Text

    console = Console()
    for entry in entries:
        beside = ("  ", plain(entry.beside, "dim")) if entry.beside else ()
        console.print(Text.assemble(plain(entry.name, "bold"), *beside), soft_wrap=True)
        console.print(Padding(plain(entry.meaning), (0, 0, 0, 2)), highlight=False)
        for metric, meaning in entry.metrics:
            console.print(Text.assemble("    ", plain(metric)), soft_wrap=True)
            console.print(Padding(plain(meaning, "dim"), (0, 0, 0, 6)), highlight=False)
