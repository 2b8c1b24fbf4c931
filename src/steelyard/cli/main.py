"""The `steelyard` command: options, lazy imports, exit codes."""

from __future__ import annotations

import gc
import os
import sys
from difflib import get_close_matches
from importlib import import_module

import click

from steelyard.cli import streams
from steelyard.cli.examples import ending
from steelyard.cli.say import complain
from steelyard.errors import ConfigError, RunError, SteelyardError
from steelyard.version import __version__

COMMANDS = {
    "measure": "steelyard.cli.measure:measure",
    "plan": "steelyard.cli.plan:plan",
    "generate": "steelyard.cli.generate:generate",
    "review": "steelyard.cli.review:review",
    "report": "steelyard.cli.report:report",
    "view": "steelyard.cli.view:view",
    "show": "steelyard.cli.show:show",
    "compare": "steelyard.cli.compare:compare",
    "overall": "steelyard.cli.overall:overall",
    "gate": "steelyard.cli.gate:gate",
    "import": "steelyard.cli.import_verdicts:import_command",
    "export": "steelyard.cli.export:export",
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
        options = any(isinstance(parameter, click.Option) for parameter in command.params)
        command.epilog = ending(cmd_name, options=options)
        return command

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        """A command that nobody has is told with the nearest that somebody has."""
        try:
            return super().resolve_command(ctx, args)
        except click.UsageError as error:
            close = get_close_matches(args[0], COMMANDS, n=1)
            known = f"did you mean {close[0]!r}?" if close else f"known: {', '.join(COMMANDS)}"
            raise click.UsageError(f"no command {args[0]!r}: {known}", ctx) from error


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

    from steelyard.commands.dotenv import load_dotenv

    try:
        folder = Path.cwd()
    except FileNotFoundError as error:
        raise RunError("the working folder does not exist any more; change to another one.") from error
    try:
        load_dotenv(folder)
    except OSError as error:
        raise RunError(
            f"the .env in or above {folder} cannot be read ({error.strerror}); make it readable or remove it."
        ) from error
    except ValueError as error:
        raise ConfigError(
            f"the .env in or above {folder} sets a value that no environment can hold ({error}); correct it."
        ) from error


def main() -> None:
    """Run, and turn every error into one sentence and the right exit code."""
    gc.set_threshold(50_000, 20, 20)  # what a command makes mostly stays: looked through less often
    try:
        streams.prepare()
        code = _run()
        streams.flush()
    except SteelyardError as error:
        complain(error)
        code = error.exit_code
    except click.ClickException as error:
        _complain_of_usage(error)
        code = error.exit_code
    except (click.Abort, KeyboardInterrupt):
        complain("interrupted; run the same command again to go on.")
        code = 1
    except BrokenPipeError:
        streams.discard()
        code = 1
    except (OSError, UnicodeError) as error:
        streams.discard()
        complain(_told(error))
        code = 1
    except Exception as error:
        if os.environ.get("STEELYARD_TRACEBACK"):
            raise
        complain(_unforeseen(error))
        code = 1
    sys.exit(code)


def _run() -> int:
    try:
        code = cli.main(prog_name="steelyard", standalone_mode=False)
    except SystemExit as stop:
        code = stop.code
    return code if isinstance(code, int) else 0


def _complain_of_usage(error: click.ClickException) -> None:
    if isinstance(error, getattr(click.exceptions, "NoArgsIsHelpError", ())):
        error.show()
        return
    context = getattr(error, "ctx", None)
    help_command = f"{context.command_path if context else 'steelyard'} --help"
    complain(f"{_usage(error)}; see `{help_command}`.")


def _usage(error: click.ClickException) -> str:
    """What was wrong; an option that nobody has is told with the nearest that somebody has."""
    if not isinstance(error, click.NoSuchOption):
        return error.format_message().rstrip(".?")
    close = get_close_matches(error.option_name, error.possibilities or (), n=1)
    return f"no option {error.option_name!r}" + (f": did you mean {close[0]!r}" if close else "")


def _told(error: OSError | UnicodeError) -> str:
    """Where it happened, as far as the system says, and what."""
    if isinstance(error, OSError):
        where = "reading or writing failed" if error.filename is None else error.filename
        return f"{where}: {error.strerror or error}; correct that and run the same command again."
    return f"text that cannot be read or written here ({error}); set PYTHONUTF8=1 and run it again."


def _unforeseen(error: Exception) -> str:
    """A fault of the program itself: what it is, that nothing is lost, and how to show where it happened."""
    what = " ".join(f"{type(error).__name__}: {error}".split())
    return (
        f"a fault in Steelyard itself ({what[:200]}); every reply is kept; please report it with what "
        "STEELYARD_TRACEBACK=1 before the same command shows."
    )
