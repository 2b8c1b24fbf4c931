"""The `steelyard` command: options, lazy imports, exit codes."""

from __future__ import annotations

import sys
from collections.abc import Callable
from importlib import import_module
from typing import Any, TypeVar

import click

from steelyard.errors import SteelyardError
from steelyard.version import __version__

Command = TypeVar("Command", bound=Callable[..., Any])

COMMANDS = {
    "measure": "steelyard.cli.measure:measure",
    "plan": "steelyard.cli.measure:plan",
    "report": "steelyard.cli.report:report",
    "selftest": "steelyard.cli.selftest:selftest",
    "serve-planted": "steelyard.cli.serve_planted:serve_planted",
    "probes": "steelyard.cli.lists:probes",
    "judges": "steelyard.cli.lists:judges",
    "doctor": "steelyard.cli.doctor:doctor",
}


class LazyGroup(click.Group):
    """Imports a command's module when the command is used or listed."""

    def list_commands(self, ctx: click.Context) -> list[str]:
        """In the order in which they are used, not of the alphabet."""
        del ctx
        return list(COMMANDS)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        """Import on demand."""
        del ctx
        if cmd_name not in COMMANDS:
            return None
        module, _, attribute = COMMANDS[cmd_name].partition(":")
        command: click.Command = getattr(import_module(module), attribute)
        return command


@click.group(
    cls=LazyGroup, context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 100}
)
@click.version_option(__version__, prog_name="steelyard")
def cli() -> None:
    """Weigh the judge before you trust the verdict.

    Steelyard measures LLM judges as a laboratory measures an instrument and returns a Judge Datasheet.
    Start with `steelyard measure`: it needs no key and no server.
    """
    from pathlib import Path

    from steelyard.lab.dotenv import load_dotenv

    load_dotenv(Path.cwd())


def main() -> None:
    """Run, and turn every error into one sentence and the right exit code."""
    try:
        code = cli.main(standalone_mode=False)
    except SteelyardError as error:
        fail(error)
        code = error.exit_code
    except click.ClickException as error:
        error.show()
        code = error.exit_code
    except (click.Abort, KeyboardInterrupt):
        click.echo("steelyard: interrupted; run the same command again to go on.", err=True)
        code = 1
    except BrokenPipeError:
        sys.stderr.close()
        code = 1
    sys.exit(code if isinstance(code, int) else 0)


def fail(error: SteelyardError) -> None:
    """One sentence on stderr."""
    click.echo(f"steelyard: {error}", err=True)
