"""Options that several commands share; each can also be set as an environment variable."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import click

from steelyard.errors import ConfigError

Decorator = Callable[[Callable[..., Any]], Callable[..., Any]]


class _Option(click.Option):
    """An option without the suffix [x>=1] in its help; an error still names the range."""

    def get_help_extra(self, ctx: click.Context) -> Any:
        extra = super().get_help_extra(ctx)
        extra.pop("range", None)
        return extra


def option(*names: str, **settings: Any) -> Decorator:
    """A click option that STEELYARD_<OPTION> sets too; the help shows a default in brackets."""
    long = next(name for name in names if name.startswith("--"))
    default = settings.get("default")
    if default is not None:
        text = f"{default:g}" if isinstance(default, float) else default
        settings["help"] = f"{settings['help'].removesuffix('.')} [{text}]."
    return click.option(
        *names, cls=_Option, envvar=f"STEELYARD_{long[2:].replace('-', '_').upper()}", **settings
    )


class FiniteRange(click.FloatRange):
    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> float:
        number = float(super().convert(value, param, ctx))
        if not math.isfinite(number):
            self.fail(f"{value} is not a finite number.", param, ctx)
        return number


POSITIVE = FiniteRange(min=0, min_open=True)
NOT_NEGATIVE = FiniteRange(min=0)
COUNT = click.IntRange(min=1)
PORT = click.IntRange(0, 65535)


def engine(value: str) -> str:
    kind, _, address = value.partition(":")
    if kind not in ("local", "ray") or (kind == "local" and address):
        raise click.BadParameter(f"found {value!r}, expected 'local', 'ray' or 'ray:ADDRESS'.")
    return value


def complete_judges(context: click.Context, parameter: click.Parameter, start: str) -> list[str]:
    del context, parameter
    from steelyard.providers.provider import PROVIDERS, examples_of

    written = [example.address for name in PROVIDERS.in_order() for example in examples_of(name)]
    kinds = [f"{name}/" for name in PROVIDERS.in_order()]
    # Capitals are placeholders.
    complete = [judge for judge in written if judge == judge.lower()]
    return [judge for judge in dict.fromkeys((*kinds, *complete)) if judge.startswith(start)]


def complete_probes(context: click.Context, parameter: click.Parameter, start: str) -> list[str]:
    del context, parameter
    from steelyard.probes.probe import PROBES
    from steelyard.probes.suites import SUITES

    return [name for name in (*SUITES, *PROBES.names()) if name.startswith(start)]


_STUDY_OPTIONS: tuple[Decorator, ...] = (
    click.argument(
        "study", required=False, metavar="[STUDY.yaml]", type=click.Path(dir_okay=False, path_type=Path)
    ),
    option(
        "--judge",
        "-j",
        "judges",
        multiple=True,
        metavar="JUDGE",
        help="Judge to measure; repeatable.",
        shell_complete=complete_judges,
    ),
    option(
        "--probe",
        "-p",
        "probes",
        multiple=True,
        metavar="PROBE",
        help="Probe or suite to run; repeatable.",
        shell_complete=complete_probes,
    ),
    option(
        "--data",
        type=click.Path(path_type=Path),
        metavar="FILE",
        help="Items: CSV, TSV, JSONL, JSON, Parquet, XLSX, Inspect log.",
    ),
    option("--columns", metavar="MAP", help="Column mapping: request=q,response=a,label=l."),
    option("--labels", metavar="MAP", help="Label mapping to the scale: good=1,bad=0."),
    option(
        "--adapter", metavar="NAME", help="Known benchmark layout (see docs/adapters.md); replaces --columns."
    ),
    option("--stratify", metavar="COLUMN", help="Column that defines the strata."),
    option("--sample", type=COUNT, metavar="N", help="Rows to sample, balanced over the strata [all]."),
    option("--where", metavar="MAP", help="Keep only rows with these column values: epoch=1."),
    option(
        "--preprocess",
        multiple=True,
        metavar="NAME",
        help="Strip parts of transcripts before judging, e.g. drop_system; repeatable.",
    ),
    option("--failing", type=int, metavar="N", help="Score that means 'failed' for an agent run [lowest]."),
    option(
        "--rubric",
        type=click.Path(dir_okay=False, path_type=Path),
        metavar="FILE",
        help="Rubric file (text or Markdown).",
    ),
    option(
        "--prompt",
        type=click.Path(dir_okay=False, path_type=Path),
        metavar="FILE",
        help="Prompt template file, or 'paper' for the published prompt.",
    ),
    option("--answers", metavar="MAP", help="Answer mapping to the scale: pass=1,fail=0."),
    option(
        "--scale",
        metavar="SCALE",
        help="Scale: pairwise, binary, a range such as 1-6, or best-of-4; own data need it [from probes].",
    ),
    option(
        "--profile",
        type=click.Choice(["quick", "standard", "full"]),
        metavar="SIZE",
        help="Size of the design: quick, standard or full [quick].",
    ),
    option("--replicates", type=COUNT, metavar="N", help="Calls per presentation [1]."),
    option("--seed", type=int, metavar="N", help="Random seed [7]."),
    option(
        "--out",
        type=click.Path(file_okay=False, path_type=Path),
        metavar="DIR",
        help="Run folder to write or resume [steelyard-runs/NAME-HASH].",
    ),
    option("--budget", type=NOT_NEGATIVE, metavar="USD", help="Stop before spending more than this."),
    option(
        "--no-preflight",
        is_flag=True,
        help="Keep calling a judge whose first 8 calls were refused or not parsed.",
    ),
    option("--no-pilot", is_flag=True, hidden=True, help="Earlier spelling of --no-preflight."),
    option(
        "--concurrency",
        type=COUNT,
        default=16,
        metavar="N",
        help="Parallel calls per server, or per judge without one.",
    ),
    option("--timeout", type=POSITIVE, default=120.0, metavar="SECONDS", help="Timeout of one call."),
    option("--attempts", type=COUNT, default=6, metavar="N", help="Attempts per call, the first included."),
    option(
        "--backoff",
        type=NOT_NEGATIVE,
        default=0.5,
        metavar="SECONDS",
        help="Wait before the first retry; doubles each time.",
    ),
    option(
        "--engine",
        type=engine,
        default="local",
        metavar="NAME",
        help="Where calls run: local, or ray[:ADDRESS].",
    ),
)


until_option = option(
    "--until",
    type=click.Choice(["verdict"]),
    metavar="verdict",
    help="Increase the profile until the verdict is decided.",
)


confidence_option = option(
    "--confidence",
    type=FiniteRange(min=0.5, max=0.999),
    default=0.95,
    metavar="SHARE",
    help="Confidence of the intervals.",
)


YES = {"files": ("files",), "keys": ("keys",), "1": ("files", "keys"), "true": ("files", "keys"), "0": ()}
"""What `--yes` and its environment variable consent to."""


def _consents(_context: click.Context, _option: click.Parameter, given: Sequence[str]) -> tuple[str, ...]:
    for unknown in (word for word in given if word not in YES):
        raise click.BadParameter(f"found {unknown!r}, expected files, keys, or nothing for both.")
    return tuple(kind for word in given for kind in YES[word])


yes_option = option(
    "--yes",
    multiple=True,
    callback=_consents,
    metavar="[files|keys]",
    help="Let a study file read files outside its folder (files), send keys to foreign addresses (keys).",
)


def with_plain_yes(arguments: Sequence[str]) -> list[str]:
    """The arguments with `--yes` in full where no kind follows it: the next word is another argument."""
    return [
        "--yes=1" if word == "--yes" and after not in ("files", "keys") else word
        for word, after in zip(arguments, [*arguments[1:], ""], strict=True)
    ]


def study_options(command: Callable[..., Any]) -> Callable[..., Any]:
    for decorate in reversed(_STUDY_OPTIONS):
        command = decorate(command)
    return command


def data_overrides(options: dict[str, Any]) -> dict[str, Any]:
    from steelyard.core.validation import parse_map
    from steelyard.tasks.sources.items import parse_columns

    names = ("columns", "labels", "adapter", "stratify", "sample")
    data = {name: options[name] for name in names if options[name] is not None}
    if "columns" in data:
        data["columns"] = parse_columns(data["columns"])
    if "labels" in data:
        data["labels"] = parse_map(data["labels"], "--labels", "LABEL=ANSWER", "good=1,bad=0")
    if options["where"] is not None:
        data["where"] = parse_map(options["where"], "--where", "COLUMN=VALUE", "epoch=1,model=m")
    if options["preprocess"]:
        data["preprocess"] = list(options["preprocess"])
    if options["data"] is not None:
        # Paths of a study file are relative to that file; a path of the command line is not.
        data["path"] = str(options["data"].absolute() if options["study"] else options["data"])
    elif data and options["study"] is None:
        raise ConfigError(f"--{next(iter(data))}: needs data to read; add --data FILE.")
    task: dict[str, Any] = {}
    if options["rubric"] is not None:
        task["rubric"] = options["rubric"].absolute()
    if options["failing"] is not None:
        task["failing"] = options["failing"]
    if options["scale"] is not None:
        task["scale"] = options["scale"]
    return {**({"data": data} if data else {}), **({"task": task} if task else {})}
