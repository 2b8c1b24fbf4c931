"""The `steelyard` command: lazy imports, examples in the help, exit codes."""

from __future__ import annotations

import gc
import os
import sys
from collections.abc import Mapping
from difflib import get_close_matches
from importlib import import_module

import click

from steelyard.cli import process
from steelyard.cli.options import with_plain_yes
from steelyard.cli.output import print_error, warn
from steelyard.core.dotenv import load_dotenv
from steelyard.errors import ConfigError, RunError, SteelyardError
from steelyard.version import __version__

COMMANDS = {
    "measure": "steelyard.cli.measure:measure",
    "plan": "steelyard.cli.measure:plan",
    "generate": "steelyard.cli.measure:generate",
    "review": "steelyard.cli.review:review",
    "report": "steelyard.cli.run_folders:report",
    "view": "steelyard.cli.run_folders:view",
    "show": "steelyard.cli.run_folders:show",
    "compare": "steelyard.cli.compare:compare",
    "overall": "steelyard.cli.compare:overall",
    "gate": "steelyard.cli.gate:gate",
    "estimate": "steelyard.cli.survey:estimate",
    "labels plan": "steelyard.cli.survey:plan",
    "labels draw": "steelyard.cli.survey:draw",
    "labels add": "steelyard.cli.survey:add",
    "labels open": "steelyard.cli.survey:open_command",
    "leaderboard": "steelyard.cli.survey:leaderboard",
    "people": "steelyard.cli.survey:people",
    "bridge": "steelyard.cli.survey:bridge",
    "trust fit": "steelyard.cli.trust:fit",
    "trust apply": "steelyard.cli.trust:apply",
    "trust check": "steelyard.cli.trust:check",
    "import": "steelyard.cli.import_verdicts:import_command",
    "export": "steelyard.cli.run_folders:export",
    "selftest": "steelyard.cli.planted:selftest",
    "serve-planted": "steelyard.cli.planted:serve_planted",
    "probes": "steelyard.cli.lists:probes",
    "judges": "steelyard.cli.lists:judges",
    "study": "steelyard.cli.import_verdicts:study",
    "doctor": "steelyard.cli.doctor:doctor",
}


NAMED = 8
"""Ignored variables of a `.env` that are named."""


class LazyGroup(click.Group):
    def list_commands(self, ctx: click.Context) -> list[str]:
        """In the order in which they are used, not of the alphabet."""
        del ctx
        return list(COMMANDS)

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
    Start with `steelyard measure`: it needs no key and no server.
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
        process.prepare()
        try:
            code = cli.main(prog_name="steelyard", standalone_mode=False)
        except SystemExit as stop:
            code = stop.code
        process.flush()
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
        process.discard()
        code = 1
    except (OSError, UnicodeError) as error:
        process.discard()
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
        message = f"no option {error.option_name!r}" + (f": did you mean {close[0]!r}" if close else "")
    print_error(f"{message}; see `{help_command}`.")


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


EXAMPLES: Mapping[str, tuple[str, ...]] = {
    "measure": (
        "steelyard measure -j openai/gpt-4o-mini -p vacuum -p ladder",
        "steelyard measure -j planted/probit --out run",
        "steelyard measure -j planted/rater --data items.csv --rubric rubric.md \\\n"
        "    --scale binary --columns request=question,response=answer,label=ok",
        'steelyard measure -j planted/tie --decide "dark_current<0.10"',
    ),
    "plan": (
        "steelyard plan -j openai/gpt-4o-mini --profile standard",
        "steelyard plan study.yaml --by-probe",
    ),
    "generate": ("steelyard generate study.yaml",),
    "review": ("steelyard review run", "steelyard review run --reviewers 2 --blind"),
    "report": ("steelyard report run", "steelyard report run --full", "steelyard report run --format md"),
    "view": ("steelyard view run", "steelyard view before after"),
    "show": ("steelyard show run", "steelyard show run --outcome flip -n 2"),
    "compare": ("steelyard compare run:planted/probit run:coin", "steelyard compare before after"),
    "overall": ("steelyard overall first second",),
    "gate": ("steelyard gate run --policy policy.yaml",),
    "estimate": (
        "steelyard estimate ratings.csv --judge verdict --people human --design random",
        "steelyard estimate ratings.csv --judge verdict --people human --design random --methods",
    ),
    "labels plan": (
        "steelyard labels plan ratings.csv --judge verdict --people human --half-width 0.05 --cost-label 2",
    ),
    "labels draw": ("steelyard labels draw ratings.csv --judge verdict -n 40 --out labels",),
    "labels add": ("steelyard labels add labels labels/sheet.csv",),
    "labels open": ("steelyard labels open labels",),
    "leaderboard": ("steelyard leaderboard votes.csv --judge verdict --people human --design random",),
    "people": ("steelyard people rated.csv --people ann --people bob --judge verdict",),
    "bridge": ("steelyard bridge anchors.csv --from old --to new --history history.csv",),
    "trust fit": (
        "steelyard trust fit verdicts.csv --judge verdict --signal confidence --people human",
        "steelyard trust fit verdicts.csv --judge quick --judge verdict --signal quick=sure \\\n"
        "    --signal verdict=confidence --people human --price quick=1 --price verdict=20 --price "
        "people=900",
    ),
    "trust apply": ("steelyard trust apply trust.json verdicts.csv",),
    "trust check": ("steelyard trust check trust.json audited.csv --people human",),
    "import": ("steelyard import verdicts.jsonl --out imported",),
    "export": ("steelyard export run --inspect",),
    "selftest": ("steelyard selftest",),
    "serve-planted": ("steelyard serve-planted planted/probit --port 8765",),
    "probes": ("steelyard probes", "steelyard probes ladder typos"),
    "judges": ("steelyard judges",),
    "study": ("steelyard study convert config.yml --out study.yaml",),
    "doctor": ("steelyard doctor", "steelyard doctor -j planted/tie", "steelyard doctor ratings.jsonl"),
}
"""Command to lines that work as they stand, beside the files that they name."""


def help_epilog(name: str, command: click.Command) -> str:
    lines = "\n".join(f"  {line}" for example in EXAMPLES[name] for line in example.split("\n"))
    options = [each for each in command.params if isinstance(each, click.Option) and each.envvar]
    if not options:
        return f"\b\nExamples:\n{lines}"
    option = next((each for each in options if each.name == "profile"), options[0])
    value = "standard" if option.name == "profile" else "1" if option.is_flag else option.metavar
    variable = f"{option.envvar}={value or (option.name or '').upper()}"
    return f"\b\nExamples:\n{lines}\n\nOptions can also be set as environment variables, e.g. {variable}."
