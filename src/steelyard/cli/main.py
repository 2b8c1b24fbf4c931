"""The `steelyard` command: settings of the process, lazy imports, examples in the help, exit codes."""

from __future__ import annotations

import codecs
import ctypes
import gc
import io
import os
import sys
from difflib import get_close_matches
from importlib import import_module

import click

from steelyard.cli.help import COMMANDS, command_rows, help_epilog
from steelyard.cli.options import with_plain_yes
from steelyard.cli.output import print_error, warn
from steelyard.core.dotenv import load_dotenv
from steelyard.core.text import ascii_only, plural
from steelyard.errors import ConfigError, RunError, SteelyardError
from steelyard.version import __version__

TRANSLITERATE = "steelyard.transliterate"
"""Name of the codec error handler for characters that an output cannot encode."""


def prepare_streams() -> None:
    _reserve_descriptors()
    if sys.stdout is None:
        raise RunError("standard output is closed; redirect it to a file, or to /dev/null to discard it.")
    codecs.register_error(TRANSLITERATE, _transliterate)
    if isinstance(sys.stdout, io.TextIOWrapper):
        sys.stdout.reconfigure(errors=TRANSLITERATE)
    if isinstance(sys.stderr, io.TextIOWrapper):
        sys.stderr.reconfigure(errors="backslashreplace")


def flush_stdout() -> None:
    """Flush stdout, so that a full disk raises an error."""
    if sys.stdout is not None:
        sys.stdout.flush()


def discard_stdout() -> None:
    """Redirect stdout to the null device: buffered text would fail again when the process ends."""
    if sys.stdout is None:
        return
    try:
        nowhere = os.open(os.devnull, os.O_WRONLY)
        os.dup2(nowhere, sys.stdout.fileno())
    except (OSError, ValueError):
        return


def _reserve_descriptors() -> None:
    """A file opened later must not get the number of a closed stream: libraries write there unasked."""
    number = os.open(os.devnull, os.O_RDWR)
    while number <= 2:
        number = os.open(os.devnull, os.O_RDWR)
    os.close(number)


def _transliterate(error: UnicodeError) -> tuple[str | bytes, int]:
    """`≤` as `<=`, `−` as `-`; a question mark where there is no such spelling."""
    if not isinstance(error, UnicodeEncodeError):
        raise error

    return ascii_only(error.object[error.start : error.end]), error.end


_SETTINGS = ("OPENBLAS_NUM_THREADS", "OMP_NUM_THREADS")


def use_one_blas_thread() -> None:
    """Set one BLAS thread: the matrices are small, and threads cost more than they gain.

    Call it before numpy is imported, and only in commands that run no model in this process. A value that the
    environment already has wins.
    """
    if not any(name in os.environ for name in _SETTINGS):
        os.environ[_SETTINGS[0]] = "1"


_MMAP_THRESHOLD = -3
"""Parameter of glibc's `mallopt`."""
LARGE = 1 << 19
"""Bytes of an allocation that is given back to the system as soon as it is freed."""


def return_large_arrays() -> None:
    """Give freed columns back to the system: else glibc keeps them in a heap with holes between them.

    A million trials take a third less memory then. Other C libraries have no such setting.
    """
    try:
        ctypes.CDLL(None).mallopt(_MMAP_THRESHOLD, LARGE)
    except (AttributeError, OSError, TypeError):
        return


NAMED = 8
"""Ignored variables of a `.env` that are named."""


class LazyGroup(click.Group):
    def list_commands(self, ctx: click.Context) -> list[str]:
        """In the order in which they are used, not of the alphabet."""
        del ctx
        return list(COMMANDS)

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        for heading, rows in command_rows(lambda name: self.get_command(ctx, name)):
            with formatter.section(heading):
                formatter.write_dl(rows)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        del ctx
        if cmd_name not in COMMANDS:
            return self._group(cmd_name)
        module, _, attribute = COMMANDS[cmd_name].partition(":")
        command: click.Command = getattr(import_module(module), attribute)
        command.epilog = help_epilog(cmd_name, command)
        return command

    def _group(self, name: str) -> click.Command | None:
        """The commands that begin with a word, for its help."""
        parts = {full.partition(" ")[2]: full for full in COMMANDS if full.startswith(f"{name} ")}
        if not parts:
            return None
        commands = {part: self.get_command(click.Context(self), full) for part, full in parts.items()}
        known = {part: command for part, command in commands.items() if command is not None}
        return click.Group(name, commands=known, help=f"One of {', '.join(known)}.", add_help_option=True)

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        args = with_plain_yes(args)
        joined = " ".join(args[:2])
        if joined in COMMANDS:  # `labels draw` is one command of two words
            args = [joined, *args[2:]]
        second = [name.partition(" ")[2] for name in COMMANDS if name.startswith(f"{args[0]} ")]
        if second and args[1:2] not in (["--help"], ["-h"]):
            raise click.UsageError(f"{args[0]} what? expected {', '.join(second)}", ctx)
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
    Start with `steelyard demo`, which shows one in two seconds, or with `steelyard init` for your own judge.
    """
    from pathlib import Path

    try:
        folder = Path.cwd()
    except FileNotFoundError as error:
        raise RunError("the working folder does not exist any more; change to another one.") from error
    try:
        found = load_dotenv(folder)
    except OSError as error:
        raise RunError(
            f"the .env in or above {folder} cannot be read ({error.strerror}); make it readable or remove it."
        ) from error
    except ValueError as error:
        raise ConfigError(
            f"the .env in or above {folder} sets a value that no environment can hold ({error}); correct it."
        ) from error
    if found is not None and found[1]:
        path, ignored = found
        more = f" and {len(ignored) - NAMED} more" if len(ignored) > NAMED else ""
        warn(
            f"{path}: ignored {', '.join(ignored[:NAMED])}{more}: a .env supplies keys alone, those of known "
            "vendors and those that a judge names in api_key_env; set other variables in the environment."
        )


def main() -> None:
    gc.set_threshold(50_000, 20, 20)  # most objects of a command live until its end: collect less often
    try:
        prepare_streams()
        try:
            code = cli.main(prog_name="steelyard", standalone_mode=False)
        except SystemExit as stop:
            code = stop.code
        flush_stdout()
    except SteelyardError as error:
        print_error(error)
        code = error.exit_code
    except click.ClickException as error:
        _print_usage_error(error)
        code = error.exit_code
    except (click.Abort, KeyboardInterrupt):
        print_error("interrupted; run the same command again to continue.")
        code = 1
    except BrokenPipeError:
        discard_stdout()
        code = 1
    except (OSError, UnicodeError) as error:
        discard_stdout()
        print_error(_describe_os_error(error))
        code = 1
    except Exception as error:
        if os.environ.get("STEELYARD_TRACEBACK"):
            raise
        print_error(_describe_bug(error))
        code = 1
    sys.exit(code if isinstance(code, int) else 0)


def _print_usage_error(error: click.ClickException) -> None:
    if isinstance(error, getattr(click.exceptions, "NoArgsIsHelpError", ())):
        error.show()
        return
    context = getattr(error, "ctx", None)
    help_command = f"{context.command_path if context else 'steelyard'} --help"
    message = error.format_message().rstrip(".?")
    if isinstance(error, click.NoSuchOption):
        close = get_close_matches(error.option_name, error.possibilities or (), n=1)
        near = _commands_with(error.option_name) or (f": did you mean {close[0]!r}" if close else "")
        message = f"no option {error.option_name!r}{near}"
    elif isinstance(error, click.MissingParameter) and isinstance(error.param, click.Option):
        message = f"{max(error.param.opts, key=len)} is missing"
    elif isinstance(error, click.BadParameter) and isinstance(error.param, click.Option):
        message = f"{max(error.param.opts, key=len)}: {error.message.rstrip('.')}"
    print_error(f"{message}; see `{help_command}`.")


def _commands_with(option: str) -> str:
    """Commands that have an option of exactly this name, as a clause; empty where none has."""
    every = ((name, cli.get_command(click.Context(cli), name)) for name in COMMANDS)
    found = [f"`{name}`" for name, known in every if known and any(option in p.opts for p in known.params)]
    return f", which {' and '.join(found[:2])} {plural(len(found), 'has', 'have')}" if found else ""


def _describe_os_error(error: OSError | UnicodeError) -> str:
    if isinstance(error, OSError):
        where = "reading or writing failed" if error.filename is None else error.filename
        return f"{where}: {error.strerror or error}; correct that and run the same command again."
    return f"text that cannot be read or written here ({error}); set PYTHONUTF8=1 and run it again."


def _describe_bug(error: Exception) -> str:
    what = " ".join(f"{type(error).__name__}: {error}".split())
    return (
        f"a fault in Steelyard itself ({what[:200]}); every reply is kept. Run the same command with "
        "STEELYARD_TRACEBACK=1 and report the traceback."
    )
