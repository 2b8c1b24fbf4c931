"""`steelyard probes` and `steelyard judges`: what is available."""

from __future__ import annotations

from collections.abc import Sequence

import click

from steelyard.cli.say import plain

FEW = 5
"""Metrics of a probe that are listed before the rest is left to the documents."""


@click.command()
def probes() -> None:
    """List the probes with the question each one asks, and the suites that stand for several."""
    from rich import box
    from rich.console import Console
    from rich.table import Table

    from steelyard.probes.probe import PROBES
    from steelyard.probes.suites import SUITES

    table = Table("probe", "question", "form", "metrics", box=box.SIMPLE_HEAD)
    for name in PROBES.names():
        table.add_row(*map(plain, (name, *_described(name))))
    suites = Table("suite", "question", "stands for", box=box.SIMPLE_HEAD)
    for suite in SUITES.values():
        members = ", ".join((*suite.probes, *(f"{name} (ordinal scales)" for name in suite.ordinal)))
        suites.add_row(plain(suite.name), plain(suite.question), plain(members))
    console = Console()
    console.print(table)
    console.print(suites)


def _described(name: str) -> tuple[str, str, str]:
    """Question, forms and metrics of a probe; of a plug-in that can not be loaded, the cause."""
    from steelyard.metrics.faults import cause_of
    from steelyard.probes.probe import PROBES, forms_of

    try:
        probe = PROBES.factory(name)()
        return probe.question, ", ".join(forms_of(probe)), _few([metric.id for metric in probe.metrics])
    except Exception as error:
        return f"can not be loaded ({cause_of(error)}); mend or remove the package that brings it", "", ""


def _few(metrics: Sequence[str]) -> str:
    """The first metrics of a long list."""
    return ", ".join(metrics if len(metrics) <= FEW else (*metrics[: FEW - 2], "…"))


@click.command()
def judges() -> None:
    """List the kinds of judges and how to write them."""
    from rich import box
    from rich.console import Console
    from rich.table import Table

    from steelyard.lab.study.made_judges import EXAMPLES
    from steelyard.providers.provider import PLANNED_PROVIDERS, PROVIDERS, examples_of

    table = Table(box=box.SIMPLE_HEAD)
    for title in ("judge", "what it is"):
        table.add_column(title, overflow="fold")
    for name in PROVIDERS.in_order():
        for example in examples_of(name):
            table.add_row(plain(example.judge), plain(example.meaning))
    table.add_section()
    for judge, meaning in EXAMPLES.items():
        table.add_row(plain(judge), plain(meaning))
    console = Console()
    console.print(table)
    console.print(plain(f"Not built yet: {', '.join(PLANNED_PROVIDERS)}."))
