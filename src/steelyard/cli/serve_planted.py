"""`steelyard serve-planted`: a judge with known parameters behind real HTTP."""

from __future__ import annotations

import click

from steelyard.cli.options import option, whole


@click.command("serve-planted", short_help="Serve a planted judge over HTTP on loopback.")
@click.argument("judge")
@option("--port", type=whole(0, 65535), default=8765, metavar="N", help="Port; 0 picks a free one.")
def serve_planted(judge: str, port: int) -> None:
    """Serve a planted judge as a chat-completions server on loopback, until Ctrl-C."""
    import asyncio
    from contextlib import suppress
    from pathlib import Path

    from steelyard.datasheet.visible import visible
    from steelyard.errors import ConfigError
    from steelyard.lab.judge_config import parse_judge
    from steelyard.providers.planted_server import serve
    from steelyard.tasks.task import CHECKLIST_TASK
    from steelyard.trials.builtin_prompts import GRADED

    planted = parse_judge(judge, Path(), CHECKLIST_TASK.scale, GRADED)
    if planted.provider != "planted":
        raise ConfigError(f"judge {judge!r}: found provider {planted.provider!r}, expected planted/….")

    def ready(url: str) -> None:
        click.echo(f"Serving {visible(judge)} at {url} until Ctrl-C.")
        click.echo(f"Measure it: steelyard measure -j 'openai/{visible(planted.model)}?base_url={url}'")

    with suppress(KeyboardInterrupt):
        asyncio.run(serve(planted, port=port, ready=ready))
