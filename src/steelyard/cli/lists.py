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

    from steelyard.probes.probe import PROBES, levels_of
    from steelyard.probes.suites import SUITES

    table = Table("probe", "question", "level", "metrics", box=box.SIMPLE_HEAD)
    for name in PROBES.names():
        probe = PROBES.factory(name)()
        cells = (
            name,
            probe.question,
            ", ".join(levels_of(probe)),
            _few([metric.id for metric in probe.metrics]),
        )
        table.add_row(*map(plain, cells))
    suites = Table("suite", "question", "stands for", box=box.SIMPLE_HEAD)
    for suite in SUITES.values():
        members = ", ".join((*suite.probes, *(f"{name} (ordinal scales)" for name in suite.ordinal)))
        suites.add_row(plain(suite.name), plain(suite.question), plain(members))
    console = Console()
    console.print(table)
    console.print(suites)


def _few(metrics: Sequence[str]) -> str:
    """The first metrics of a long list."""
    return ", ".join(metrics if len(metrics) <= FEW else (*metrics[: FEW - 2], "…"))


JUDGES = (
    ("embedded/smollm2-135m", "a real 135M-parameter model in this process, prompted for 1, 2 or tie"),
    (
        "embedded/smollm2-135m-likelihood",
        "the same model, comparing log P(answer | request) of the two answers",
    ),
    ("openai/NAME", "chat completions; needs OPENAI_API_KEY; OPENAI_BASE_URL is honoured"),
    ("openai/NAME?base_url=URL", "any chat-completions server"),
    ("vllm/NAME", "a vLLM server, http://127.0.0.1:8000/v1 unless base_url says otherwise"),
    ("ollama/NAME", "an Ollama server, http://127.0.0.1:11434/v1 unless base_url says otherwise"),
    ("recorded/FILE.jsonl?judge=NAME", "replays recorded verdicts on stimuli of the same names"),
    ("planted/probit?s=0.8&beta=0.4&tau=0.6&sigma=0.7&lapse=0.02", "a judge with known parameters"),
    ("planted/coin", "1 or 2 by chance; also run as a baseline beside every result"),
    ("planted/first", "always the first slot; baseline"),
    ("planted/tie", "always a tie; baseline"),
    ("planted/longest", "the longer answer; baseline"),
    (
        "planted/rater?sensitivity=0.9&specificity=0.8&noise=0.1",
        "scores single texts with known rates of error",
    ),
    ("planted/constant?value=1", "always the same score, the middle unless given; baseline for scores"),
    ("planted/random", "any score of the scale by chance; baseline for scores"),
)


@click.command()
def judges() -> None:
    """List the kinds of judges and how to write them."""
    from rich import box
    from rich.console import Console
    from rich.table import Table

    from steelyard.lab.study.judge_config import PLANNED_PROVIDERS

    table = Table(box=box.SIMPLE_HEAD)
    for title in ("judge", "what it is"):
        table.add_column(title, overflow="fold")
    for name, meaning in JUDGES:
        table.add_row(plain(name), plain(meaning))
    console = Console()
    console.print(table)
    console.print(plain(f"Not built yet: {', '.join(PLANNED_PROVIDERS)}."))
