"""`steelyard probes` and `steelyard judges`: what is available, one name to a line."""

from __future__ import annotations

from collections.abc import Sequence

import click

from steelyard.cli.output import plain


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
