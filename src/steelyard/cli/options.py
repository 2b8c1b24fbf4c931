"""Options that several commands share; each can also be set as an environment variable."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Sequence
from contextlib import suppress
from dataclasses import Field, dataclass, fields
from functools import wraps
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

import click

from steelyard.cli.output import open_link
from steelyard.core.settings import argument, flag, setting, several
from steelyard.errors import ConfigError

if TYPE_CHECKING:
    from steelyard.run_folder.run_folder import RunFolder

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
    noun = "a number"

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> float:
        with suppress(click.BadParameter):
            number = float(super().convert(value, param, ctx))
            if math.isfinite(number):
                return number
        raise click.BadParameter(_expected(value, self.noun, self), ctx, param)


class WholeRange(click.IntRange):
    noun = "a whole number"

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> int:
        with suppress(click.BadParameter):
            return int(super().convert(value, param, ctx))
        raise click.BadParameter(_expected(value, self.noun, self), ctx, param)


def _expected(value: object, noun: str, within: click.IntRange | click.FloatRange) -> str:
    low = "" if within.min is None else f"{'above' if within.min_open else 'of at least'} {within.min:g}"
    both = "" if within.max is None else f"from {within.min:g} to {within.max:,g}"
    return f"found {str(value)!r}, expected {noun} {both or low}".rstrip()


class OneOf(click.Choice):  # type: ignore[type-arg]
    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> str:
        with suppress(click.BadParameter):
            return str(super().convert(value, param, ctx))
        every = ", ".join(map(str, self.choices))
        raise click.BadParameter(f"found {str(value)!r}, expected one of {every}", ctx, param)


POSITIVE = FiniteRange(min=0, min_open=True)
NOT_NEGATIVE = FiniteRange(min=0)
COUNT = WholeRange(min=1)
PORT = WholeRange(0, 65535)


def engine(value: str) -> str:
    kind, _, address = value.partition(":")
    if kind not in ("local", "ray") or (kind == "local" and address):
        raise click.BadParameter(f"found {value!r}, expected 'local', 'ray' or 'ray:ADDRESS'.")
    return value


KINDS: dict[str, Any] = {
    "text": str,
    "path": click.Path(path_type=Path),
    "file": click.Path(dir_okay=False, path_type=Path),
    "folder": click.Path(file_okay=False, path_type=Path),
    "integer": WholeRange(),
    "natural": WholeRange(min=0),
    "count": COUNT,
    "positive": POSITIVE,
    "not negative": NOT_NEGATIVE,
    "share": FiniteRange(0, 1),
    "confidence": FiniteRange(min=0.5, max=0.999),
    "promised error": FiniteRange(min=0.001, max=0.5),
    "engine": engine,
}
"""What the value of a setting may be."""
Options = TypeVar("Options")


def takes(options: type[Options]) -> Callable[[Callable[[Options], None]], Callable[..., None]]:
    """A command whose options are the fields of a dataclass (`core/settings`); its function is given one."""

    def decorate(function: Callable[[Options], None]) -> Callable[..., None]:
        @wraps(function)
        def command(**given: Any) -> None:
            function(_filled(options, given))

        made: Callable[..., None] = command
        for each in sorted(_settings(options), key=lambda each: each.metadata.get("late", False))[::-1]:
            made = _parameter(each)(made)
        return made

    return decorate


def _settings(options: Any) -> Iterator[Field[Any]]:
    for each in fields(options):
        if "group" in each.metadata:
            yield from _settings(each.metadata["group"])
        else:
            yield each


def _filled(options: Any, given: dict[str, Any]) -> Any:
    values = {
        each.name: _filled(each.metadata["group"], given) if "group" in each.metadata else given[each.name]
        for each in fields(options)
    }
    return options(**values)


def _parameter(setting: Field[Any]) -> Decorator:
    about = dict(setting.metadata["about"])
    if "choices" in about:
        about["type"] = OneOf(about.pop("choices"))
    elif "kind" in about:
        about["type"] = KINDS[about.pop("kind")]
    if "flags" not in setting.metadata:
        return click.argument(setting.name, **about)
    if about.pop("once", False):
        about |= {"multiple": True, "callback": _once}
    if not about.get("is_flag") and setting.default not in (None, ()):
        about["default"] = setting.default
    flags = setting.metadata["flags"] or (f"--{setting.name.replace('_', '-')}",)
    return option(*flags, setting.name, **about)


def _once(_context: click.Context, _option: click.Parameter, given: Sequence[str]) -> str | None:
    """The one value: of two, nobody could tell which was meant."""
    if len(given) > 1:
        raise click.BadParameter(
            f"found {' and '.join(map(repr, given))}, expected one; run the command for each."
        )
    return given[0] if given else None


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
    from steelyard.probes.probe import PROBES, SUITES

    return [name for name in (*SUITES, *PROBES.names()) if name.startswith(start)]


YES = {"files": ("files",), "keys": ("keys",), "1": ("files", "keys"), "true": ("files", "keys"), "0": ()}
"""What `--yes` and its environment variable consent to."""


def _consents(_context: click.Context, _option: click.Parameter, given: Sequence[str]) -> tuple[str, ...]:
    for unknown in (word for word in given if word not in YES):
        raise click.BadParameter(f"found {unknown!r}, expected files, keys, or nothing for both.")
    return tuple(kind for word in given for kind in YES[word])


def yes_setting(*, late: bool = False) -> Any:
    text = "Let a study file read files outside its folder (files), send keys to foreign addresses (keys)."
    return several(text, "[files|keys]", late=late, callback=_consents)


@dataclass(frozen=True, kw_only=True)
class StudyOptions:
    """What is measured, where it is kept, and how calls are made."""

    study: Path | None = argument("[STUDY.yaml]", "file", required=False)
    judges: tuple[str, ...] = several(
        "Judge to measure, or the name of one of a study file; repeatable.",
        "JUDGE",
        ("--judge", "-j"),
        shell_complete=complete_judges,
    )
    probes: tuple[str, ...] = several(
        "Probe or suite to run; repeatable.", "PROBE", ("--probe", "-p"), shell_complete=complete_probes
    )
    data: Path | None = setting(
        "Items: CSV, TSV, JSONL, JSON, Parquet, XLSX, Inspect log.", "FILE", kind="path"
    )
    columns: str | None = setting("Column mapping: request=q,response=a,label=l [by their names].", "MAP")
    values: str | None = setting("Words of labels and replies: sound=1,unsound=0.", "WORD=ANSWER,…")
    labels: str | None = setting("Earlier spelling of --values, for labels.", "MAP", hidden=True)
    adapter: str | None = setting(
        "Known benchmark layout (see docs/adapters.md); replaces --columns.", "NAME"
    )
    stratify: str | None = setting("Column that defines the strata.", "COLUMN")
    sample: int | None = setting("Rows to sample, balanced over the strata [all].", "N", kind="count")
    where: str | None = setting("Keep only rows with these column values: epoch=1.", "MAP")
    preprocess: tuple[str, ...] = several(
        "Strip parts of transcripts before judging, e.g. drop_system; repeatable.", "NAME"
    )
    failing: int | None = setting("Score that means 'failed' for an agent run [lowest].", "N", kind="integer")
    rubric: Path | None = setting("Rubric file (text or Markdown).", "FILE", kind="file")
    checklists: Path | None = setting(
        "File of your own checklists, in the place of the built-in ones.", "FILE", kind="file"
    )
    prompt: Path | None = setting(
        "Your judge's prompt with {question}, {answer}: a text, or messages in YAML or JSON; or 'paper' or "
        "'confidence' for a shipped one.",
        "FILE",
        kind="file",
    )
    literals: tuple[str, ...] = several(
        "Name in braces that is text in the prompt, not a variable; repeatable.", "NAME", ("--literal",)
    )
    answers: str | None = setting("Earlier spelling of --values, for replies.", "MAP", hidden=True)
    scale: str | None = setting(
        "Scale: pairwise, binary, a range such as 1-6, or best-of-4 [from the data or probes].", "SCALE"
    )
    profile: str | None = setting(
        "Size of the design: quick, standard or full [quick].", "SIZE", choices=("quick", "standard", "full")
    )
    replicates: int | None = setting("Calls per presentation [1].", "N", kind="count")
    seed: int | None = setting("Random seed [7].", "N", kind="integer")
    out: Path | None = setting(
        "Run folder to write or resume [steelyard-runs/NAME-HASH].", "DIR", kind="folder"
    )
    budget: float | None = setting("Stop before spending more than this.", "USD", kind="not negative")
    no_preflight: bool = flag("Keep calling a judge whose first 8 calls were refused or not parsed.")
    concurrency: int = setting(
        "Parallel calls per server, or per judge without one.", "N", default=16, kind="count"
    )
    timeout: float = setting("Timeout of one call.", "SECONDS", default=120.0, kind="positive")
    attempts: int = setting("Attempts per call, the first included.", "N", default=6, kind="count")
    backoff: float = setting(
        "Wait before the first retry; doubles each time.", "SECONDS", default=0.5, kind="not negative"
    )
    engine: str = setting("Where calls run: local, or ray[:ADDRESS].", "NAME", default="local", kind="engine")
    yes: tuple[str, ...] = yes_setting(late=True)

    @property
    def folder(self) -> RunFolder | None:
        from steelyard.run_folder.run_folder import RunFolder

        return None if self.out is None else RunFolder(self.out)


@dataclass(frozen=True, kw_only=True)
class PageOptions:
    """Where local pages are served, and whether a browser opens them."""

    host: str = setting("Address to listen on.", "ADDRESS", default="127.0.0.1")
    port: int = setting("Port; 0 picks a free one, the same each time.", "N", default=0, type=PORT)
    allow_remote: bool = flag("Allow a --host that other machines can reach.")
    no_browser: bool = flag("Print the link without opening a browser.")

    def open(self, what: str, url: str) -> None:
        open_link(what, url, browser=not self.no_browser, host=self.host)


def until_setting() -> Any:
    text = 'Measure until the verdict, or a rule such as "dark_current<0.10", is decided.'
    return setting(text, "verdict|RULE")


def with_plain_yes(arguments: Sequence[str]) -> list[str]:
    """The arguments with `--yes` in full where no kind follows it: the next word is another argument."""
    return [
        "--yes=1" if word == "--yes" and after not in ("files", "keys") else word
        for word, after in zip(arguments, [*arguments[1:], ""], strict=True)
    ]


def data_overrides(options: StudyOptions) -> dict[str, Any]:
    from steelyard.core.validation import parse_map
    from steelyard.study.study_file import read_yaml
    from steelyard.tasks.sources.items import parse_columns
    from steelyard.verdicts.verdict import ABSTAIN

    names = ("columns", "labels", "adapter", "stratify", "sample")
    data = {name: value for name in names if (value := getattr(options, name)) is not None}
    if "columns" in data:
        data["columns"] = parse_columns(data["columns"])
    if "labels" in data:
        data["labels"] = parse_map(data["labels"], "--labels", "LABEL=ANSWER", "good=1,bad=0")
    # A study file without data has replies alone to map.
    if options.values is not None and (
        options.data or (options.study and "data" in read_yaml(options.study))
    ):
        words = parse_map(options.values, "--values", "WORD=ANSWER", "sound=1,unsound=0")
        data["labels"] = {word: answer for word, answer in words.items() if answer != ABSTAIN}
    if options.where is not None:
        data["where"] = parse_map(options.where, "--where", "COLUMN=VALUE", "epoch=1,model=m")
    if options.preprocess:
        data["preprocess"] = list(options.preprocess)
    if options.data is not None:
        # Paths of a study file are relative to that file; a path of the command line is not.
        data["path"] = str(options.data.absolute() if options.study else options.data)
    elif data and options.study is None:
        raise ConfigError(f"--{next(iter(data))}: needs data to read; add --data FILE.")
    rubric = None if options.rubric is None else options.rubric.absolute()
    given = {"rubric": rubric, "failing": options.failing, "scale": options.scale}
    task = {name: value for name, value in given.items() if value is not None}
    own = options.checklists
    checklists = {} if own is None else {"checklists": str(own.absolute() if options.study else own)}
    return {**({"data": data} if data else {}), **({"task": task} if task else {}), **checklists}
