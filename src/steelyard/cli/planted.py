"""Commands of planted judges: `steelyard selftest` and `steelyard serve-planted`."""

from __future__ import annotations

import sys
from pathlib import Path

import click

from steelyard.cli.options import KINDS, PORT, OneOf, option
from steelyard.cli.output import plain, print_error
from steelyard.core.text import pluralize


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
    import json
    import tempfile
    from dataclasses import asdict
    from pathlib import Path

    from rich import box
    from rich.console import Console
    from rich.table import Table

    from steelyard.commands.selftest import selftest as run

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

    from steelyard.commands.selftest import pack_stimuli
    from steelyard.datasheet.words.text import escape_control_chars
    from steelyard.errors import ConfigError
    from steelyard.providers.planted.planted_judges import Planted
    from steelyard.providers.planted.server import client_address, serve
    from steelyard.providers.provider import connect, model_info
    from steelyard.stimuli.stimulus import StimulusSet
    from steelyard.study.judge_config import parse_judge
    from steelyard.tasks.scale import BestOf, Binary, Pairwise
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
