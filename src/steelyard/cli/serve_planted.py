"""`steelyard serve-planted`: a judge with known parameters behind real HTTP."""

from __future__ import annotations

from pathlib import Path

import click

from steelyard.cli.options import option, whole


@click.command("serve-planted", short_help="Serve a planted judge over HTTP on loopback.")
@click.argument("judge")
@option("--port", type=whole(0, 65535), default=8765, metavar="N", help="Port; 0 picks a free one.")
@option(
    "--key",
    type=click.Path(dir_okay=False, path_type=Path),
    metavar="FILE",
    help="stimuli.jsonl whose labels planted/rater knows beside those of the pack.",
)
@option("--seed", type=int, default=7, metavar="N", help="Seed of the studies that planted/rater is for.")
def serve_planted(judge: str, port: int, key: Path | None, seed: int) -> None:
    """Serve a planted judge as a chat-completions server on loopback, until Ctrl-C."""
    import asyncio
    from contextlib import suppress

    from steelyard.commands.planted_labels import pack_stimuli
    from steelyard.datasheet.words.text import escape_control_chars
    from steelyard.errors import ConfigError
    from steelyard.providers.planted.planted import Planted
    from steelyard.providers.planted.server import client_address, serve
    from steelyard.providers.provider import connect, model_info
    from steelyard.stimuli.stimulus_set import StimulusSet
    from steelyard.study.judge_config import parse_judge
    from steelyard.tasks.scale import Binary, Pairwise
    from steelyard.trials.builtin_prompts import GRADED

    info = model_info(judge.partition("?")[0])
    scores, rates = not info.compares, info.knows_labels
    planted = parse_judge(judge, Path(), Binary() if scores else Pairwise(), GRADED)
    if not isinstance(connect(planted), Planted):
        raise ConfigError(f"judge {judge!r}: found provider {planted.provider!r}, expected a planted judge.")
    if key is not None and not rates:
        raise ConfigError(
            f"--key: belongs to a judge that answers by labels, found {planted.address}; leave it out."
        )
    labels = [*(pack_stimuli(seed) if rates else ()), *(() if key is None else StimulusSet.read(key))]

    def ready(url: str) -> None:
        click.echo(f"Serving {escape_control_chars(judge)} at {url} until Ctrl-C.")
        scale = " --scale binary" if scores else ""
        seeded = f" --seed {seed}" if rates and seed != 7 else ""
        client = escape_control_chars(client_address(planted, url))
        click.echo(f"Measure it: steelyard measure{scale}{seeded} -j '{client}'")
        if rates:
            click.echo(
                f"It knows the pack under seed {seed}; tell it of other texts with --key RUN/stimuli.jsonl."
            )

    with suppress(KeyboardInterrupt):
        asyncio.run(serve(planted, port=port, ready=ready, key=labels))
