"""Write what the program itself can say: `docs/cli.md`, `docs/adapters.md`, the outputs shown in the pages.

The tables of coverage are written from `docs/calibration.json`, those of planted judges from
`docs/verdicts.json`.

A page shows the output of a command like this; the block below the mark is replaced whenever this runs::

    <!-- shown: steelyard probes; from: judge; until: Baselines -->
    ```console
    …
    ```

`from` and `until` are beginnings of lines and may be left out; what is cut away is marked with `…`. With
`served` the judges behind HTTP are this planted judge, served on loopback. Its answers must not depend on
noise, which another port would draw anew.
"""

from __future__ import annotations

import ast
import inspect
import io
import itertools
import os
import re
import shlex
import subprocess
import sys
import tempfile
import textwrap
import zipfile
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from functools import cache
from importlib.resources import files
from pathlib import Path

import click
import coverage_tables
import probe_sizes
import provider_tables
import verdict_tables

import steelyard
from steelyard import errors
from steelyard.cli.help import COMMANDS
from steelyard.cli.main import cli
from steelyard.commands import start
from steelyard.commands.gate.policy import (
    ALLOW,
    CLEAR_ON_SHEET,
    FAIL,
    SHIPPED,
    VALID_FOR,
    Policy,
    find_policy,
)
from steelyard.commands.report import publish
from steelyard.core.registry import Spec
from steelyard.datasheet.glossary import declared, metric_named
from steelyard.datasheet.numbers import condition
from steelyard.metrics.estimate import Estimate
from steelyard.metrics.metric import Metric
from steelyard.probes.probe_metadata import installed_probes, metrics_of
from steelyard.providers.planted.planted_judges import DEFAULT_JUDGES
from steelyard.run_folder.run_folder import RUNS, SHEETS
from steelyard.study.planner import DEFAULT_PROBES
from steelyard.tasks.adapters import ADAPTERS, Adapter
from steelyard.tasks.task import scale_name

DOCS = Path(__file__).parent
PROVIDERS_GUIDE = DOCS / "guides" / "providers.md"
PAIRS = DOCS / "probes" / "pairs.md"

WIDTH = "104"

COVERAGE = re.compile(r"(?<=<!-- coverage -->\n).*?(?=<!-- end of coverage -->)", re.DOTALL)
VERDICTS = re.compile(r"(?<=<!-- planted judges -->\n).*?(?=<!-- end of planted judges -->)", re.DOTALL)
POLICIES = re.compile(r"(?<=<!-- policies -->\n).*?(?=<!-- end of policies -->)", re.DOTALL)
KEYS = re.compile(r"(?<=<!-- keys of an estimate -->\n).*?(?=<!-- end of keys of an estimate -->)", re.DOTALL)
FILE = re.compile(r"<!-- file: (?P<path>\S+) -->\n```python\n.*?\n```\n", re.DOTALL)
SHOWN = re.compile(r"<!-- shown: (?P<what>[^\n]+?) -->\n```console\n(?P<body>.*?)```\n", re.DOTALL)
MARKED = re.compile(r"<!-- (?P<what>[\w ]+)(: [^\n]+)? -->\n.*?<!-- end of (?P=what) -->", re.DOTALL)
CONSOLE = re.compile(r"^```console\n.*?^```$", re.DOTALL | re.MULTILINE)
WHOLE = ("cli.md", "adapters.md", "metrics.md", "python.md", "calibration.md")
"""Pages that are written here from the first line to the last."""


def written_by_hand(path: Path) -> str:
    """The text of a page without what is generated, and without what its commands print."""
    text = "" if path.parent == DOCS and path.name in WHOLE else path.read_text(encoding="utf-8")
    for mark in (SHOWN, FILE, MARKED):
        text = mark.sub("", text)
    return CONSOLE.sub(lambda found: "\n".join(re.findall(r"^\$ .*", found[0], re.MULTILINE)), text)


def pages() -> dict[Path, str]:
    """Every page that holds something generated, as it should be."""
    made = {
        DOCS / "cli.md": cli_page(),
        DOCS / "adapters.md": adapters_page(),
        DOCS / "metrics.md": metrics_page(),
        DOCS / "python.md": python_reference(),
        DOCS / "calibration.md": coverage_tables.page(),
        DOCS / "concepts.md": concepts_page(),
        DOCS / "verdicts.md": verdicts_page(),
        DOCS / "guides" / "gate-a-release.md": gate_page(),
        DOCS / "files.md": files_page(),
        PROVIDERS_GUIDE: provider_tables.filled(PROVIDERS_GUIDE.read_text(encoding="utf-8")),
        PAIRS: probe_sizes.filled(PAIRS.read_text(encoding="utf-8")),
    }
    for path in (DOCS.parent / "README.md", *sorted(DOCS.rglob("*.md"))):
        text = made.get(path) or path.read_text(encoding="utf-8")
        if SHOWN.search(text) or FILE.search(text):
            made[path] = FILE.sub(_file, SHOWN.sub(_shown, text))
    return made


def _file(match: re.Match[str]) -> str:
    body = (DOCS.parent / match["path"]).read_text(encoding="utf-8")
    return f"<!-- file: {match['path']} -->\n```python\n{body}```\n"


def files_page() -> str:
    """The page on the files of a run, with the keys of an estimate."""
    text = (DOCS / "files.md").read_text(encoding="utf-8")
    rows = "".join(f"| `{key}` | {meaning} |\n" for key, meaning in _fields(Estimate))
    return KEYS.sub(lambda _: f"\n| key | meaning |\n| :-- | :-- |\n{rows}\n", text)


def _fields(kind: type) -> Iterator[tuple[str, str]]:
    """The keys of a dataclass in JSON, each with the words below it."""
    (body,) = ast.parse(textwrap.dedent(inspect.getsource(kind))).body
    lines = body.body if isinstance(body, ast.ClassDef) else []
    for line, below in itertools.pairwise(lines):
        match line, below:
            case ast.AnnAssign(target=ast.Name(id=name)), ast.Expr(value=ast.Constant(value=str(text))):
                match line.value:
                    case ast.Call(func=ast.Name(id="keyed"), args=[ast.Constant(value=str(key)), *_]):
                        name = key
                yield name, re.sub(r"\bNone\b", "`null`", " ".join(text.split()))


METRICS_HEAD = """\
# Metrics

<!-- Written by docs/generate.py from the declarations; `make docs` writes it again. -->

For readers who look a figure up.
Every metric id of `datasheet.json`, with its name in reports, the term in brackets, and what it means. The
limit applies unless a policy sets another. Where units are counted, `compare`
pairs two judges on them, and `--until` takes those of the built-in pairs.

| metric | name | meaning | limit | of | counted on |
| :-- | :-- | :-- | :-- | :-- | :-- |
"""


def metrics_page() -> str:
    """Every declared metric, with the probes that report it."""
    probes: dict[str, list[str]] = {}
    for name in installed_probes():
        for metric in metrics_of(name):
            probes.setdefault(metric.id, []).append(name)
    return METRICS_HEAD + "".join(
        _metric_row(metric, probes.get(metric.id, [])) for metric in declared().values()
    )


def _metric_row(metric: Metric, probes: list[str]) -> str:
    limit, several = metric.limit, f"{len(probes)} probes"
    side = "" if limit is None else f"at {'most' if limit.side == 'max' else 'least'} {limit.value:g}"
    side += f" ({', '.join(limit.probes)})" if limit and limit.probes else ""
    where = "the whole run" if not probes else ", ".join(probes) if len(probes) < 4 else several
    unit = "" if metric.event is None else metric.unit
    return f"| `{metric.id}` | {metric.name} | {metric.meaning} | {side} | {where} | {unit} |\n"


def concepts_page() -> str:
    """The page on concepts with the coverage that was last simulated."""
    text = (DOCS / "concepts.md").read_text(encoding="utf-8")
    return COVERAGE.sub(lambda _: f"\n{coverage_tables.summary()}\n", text)


def verdicts_page() -> str:
    """The page on verdicts with the words on planted judges that were last simulated."""
    text = (DOCS / "verdicts.md").read_text(encoding="utf-8")
    return VERDICTS.sub(lambda _: f"\n{verdict_tables.section()}\n", text)


def gate_page() -> str:
    """The guide to gates, with the policies that are shipped side by side."""
    text = (DOCS / "guides" / "gate-a-release.md").read_text(encoding="utf-8")
    return POLICIES.sub(lambda _: policy_table(), text)


def policy_table() -> str:
    """A row for each figure that some shipped policy limits, a column for each policy."""
    policies = {name: find_policy(name) for name in SHIPPED}
    metrics = dict.fromkeys(rule.metric for policy in reversed(policies.values()) for rule in policy.rules)
    heads = [policy_head(name) for name in SHIPPED]
    limits = {metric: [_limits(policy, metric) for policy in policies.values()] for metric in metrics}
    rows = [
        ["figure", *(f"`{name}`" for name in SHIPPED)],
        [":--"] * (len(SHIPPED) + 1),
        ["for", *(use for use, _ in heads)],
        ["decidable on", *(size for _, size in heads)],
        *([_limited(metric), *told] for metric, told in limits.items()),
        ["other flags of the datasheet", *(_flags(policy) for policy in policies.values())],
        ["a certificate holds", *(str(policy.body[VALID_FOR]) for policy in policies.values())],
    ]
    return "\n" + "".join(f"| {' | '.join(row)} |\n" for row in rows) + "\n"


def policy_head(name: str) -> tuple[str, str]:
    """What a shipped policy is for, and what it can be decided on: the comment that its file begins with."""
    text = (files("steelyard.commands.gate") / "policies" / f"{name}.yaml").read_text(encoding="utf-8")
    use, _, size = text.splitlines()[0].removeprefix("# ").rstrip(".").partition(": decidable on ")
    return use[:1].lower() + use[1:], size


def _flags(policy: Policy) -> str:
    return {ALLOW: "are listed", FAIL: "fail the judge"}.get(policy.flags, "fail unless a rule names them")


def _limited(metric: str) -> str:
    return f"`{metric}`: {metric_named(metric).name}"


def _limits(policy: Policy, metric: str) -> str:
    """`≥ 0.8 at Δ1`, `−0.25 to 0.25`, or a dash."""
    told = []
    for rule in (rule for rule in policy.rules if rule.metric == metric):
        both = rule.low is not None and rule.high is not None
        low, high = (f"{end:g}".replace("-", "−") if end is not None else "" for end in (rule.low, rule.high))
        limits = (
            f"{low} to {high}" if both else f"≥ {low}" if low else f"≤ {high}" if high else CLEAR_ON_SHEET
        )
        told.append(f"{limits} at {condition(rule.group)}" if rule.group else limits)
    return "; ".join(told) or "–"


def _shown(match: re.Match[str]) -> str:
    command, *settings = match["what"].split("; ")
    ends = dict(setting.split(": ", 1) for setting in settings)
    lines = _cut(output(command, ends.get("served")), ends.get("from"), ends.get("until"))
    return f"<!-- shown: {match['what']} -->\n```console\n$ {command}\n" + "\n".join(lines) + "\n```\n"


def _cut(lines: tuple[str, ...], start: str | None, end: str | None) -> list[str]:
    first = 0 if start is None else _index(lines, start, 0)
    last = len(lines) if end is None else _index(lines, end, first + 1)
    kept = list(lines[first:last])
    while kept and not kept[-1]:
        kept.pop()
    return ["…"] * (first > 0) + kept + ["…"] * (last < len(lines))


def _index(lines: tuple[str, ...], beginning: str, start: int) -> int:
    for number in range(start, len(lines)):
        if lines[number].startswith(beginning):
            return number
    raise LookupError(f"no line begins with {beginning!r}: correct the mark in the page.")


@cache
def output(command: str, served: str | None = None) -> tuple[str, ...]:
    """What a command prints in an empty folder, without keys, options from the environment or colour."""
    own = ("STEELYARD_", "OPENAI_")
    kept = {name: value for name, value in os.environ.items() if not name.startswith(own)}
    program, *arguments = shlex.split(command)
    if program != "steelyard":
        raise LookupError(f"{command!r}: expected a steelyard command: correct the mark in the page.")
    with tempfile.TemporaryDirectory(prefix="steelyard-docs-") as folder, _server(served) as address:
        printed = run_steelyard(arguments, folder, {**kept, **address, "COLUMNS": WIDTH, "NO_COLOR": "1"})
    lines = [line.rstrip() for line in printed.splitlines()]
    while lines and not lines[0]:
        del lines[0]
    return tuple(lines)


def run_steelyard(arguments: Sequence[str], folder: str, environment: Mapping[str, str]) -> str:
    """What the command prints in a process of its own."""
    done = subprocess.run(
        [sys.executable, "-m", "steelyard", *arguments],
        cwd=folder,
        env={**environment, "PYTHONIOENCODING": "utf-8"},
        stdout=subprocess.PIPE,
        encoding="utf-8",
        check=True,
    )
    return done.stdout


@contextmanager
def _server(judge: str | None) -> Iterator[dict[str, str]]:
    """The environment in which a planted judge answers as a chat-completions server."""
    if judge is None:
        yield {}
        return
    command = [sys.executable, "-m", "steelyard", "serve-planted", judge, "--port", "0"]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as process:
        said = process.stdout.readline() if process.stdout else ""
        try:
            yield {"OPENAI_BASE_URL": said.partition(" at ")[2].split(" ")[0], "OPENAI_API_KEY": "none"}
        finally:
            process.terminate()


HEAD = """\
# Command line

<!-- Written by docs/generate.py from the commands themselves; `make docs` writes it again. -->

For readers who look a command or an option up.
Results go to stdout, progress and warnings to stderr. Progress bars appear only on a terminal. `--help` after
a command prints examples.

Every option can be set as an environment variable: `STEELYARD_DRY_RUN` for `--dry-run`. The option overrides
the variable, and the variable overrides the study file. A variable of an option that may be repeated holds
the values separated by spaces. `.env` is read from the working folder or the nearest folder above it that has
one; it supplies keys alone ([security](security.md)) and does not change variables that are already set.

Judges behind HTTP read `OPENAI_API_KEY` (or the variable that `api_key_env` names) and `OPENAI_BASE_URL`.
`STEELYARD_CACHE` names the folder for the weights of the embedded judges and the signing key of `report`,
instead of the user's cache.
"""

COMMANDS_HEAD = """\
## Commands

| command | does |
| :-- | :-- |
"""

OPTIONS_HEAD = """\
## Options

| option | default | meaning | commands |
| :-- | :-- | :-- | :-- |
"""

EXIT_HEAD = """\
## Exit codes

| code | meaning |
| :-- | :-- |
| 0 | Done: every trial was asked. Failed and unreadable trials are warned of and counted, however many. |
"""

EXIT_TAIL = """
No command uses another code. An error is one sentence on stderr: where, what was found, what was expected,
what to do next.
"""

UNFINISHED = (
    "a trial was never asked",
    "a judge gave no readable verdict at all",
    "a gate of the selftest failed",
    "a check of `doctor` failed",
)


STUDY_DEFAULTS = {
    "judges": DEFAULT_JUDGES,
    "probes": DEFAULT_PROBES,
    "out": (f"{RUNS}/NAME-HASH",),
}
"""What the study supplies where an option is not given."""


def cli_page() -> str:
    """The whole page: a table of the commands, one of all options, one of the exit codes."""
    commands = "".join(map(_command_row, COMMANDS))
    table = "".join(_option_row(head, meanings) for head, meanings in _rows().items())
    return "\n".join([HEAD, COMMANDS_HEAD + commands, OPTIONS_HEAD + table, _exit_codes()])


def _rows() -> dict[str, dict[str, list[str]]]:
    """Option with its default to its meanings, each with the commands that have it."""
    rows: dict[str, dict[str, list[str]]] = {}
    for name in COMMANDS:
        for row in _option_rows(name):
            head, _, meaning = row.rpartition(" | ")
            rows.setdefault(head, {}).setdefault(meaning, []).append(name)
    return rows


def _option_row(head: str, meanings: Mapping[str, list[str]]) -> str:
    """A row of the table of options; where its meaning depends on the command, each is named with it."""
    commands = ", ".join(name for names in meanings.values() for name in names)
    told = [text if len(meanings) == 1 else f"{', '.join(names)}: {text}" for text, names in meanings.items()]
    return f"| {head} | {' '.join(told)} | {commands} |\n"


def _option_rows(name: str) -> list[str]:
    params = _command(name).params
    defaults = STUDY_DEFAULTS if any(param.name == "study" for param in params) else {}
    return [_row(param, defaults) for param in params if isinstance(param, click.Option) and not param.hidden]


ADAPTERS_HEAD = """\
# Adapters

<!-- Written by docs/generate.py from the adapters themselves; `make docs` writes it again. -->

For those who measure on a public benchmark.
An adapter knows the layout of one public benchmark. It brings a question for the judge: instruction, rubric
and scale, written for this project and quoted below. You bring the file. [Bring your
data](guides/bring-your-data.md) says how files are read, mapped and sampled.
"""


def adapters_page() -> str:
    """A table of all adapters, and a paragraph on each."""
    adapters = [ADAPTERS.build(Spec(name)) for name in ADAPTERS.names()]
    table = ["| adapter | scale | judged | strata |", "| :-- | :-- | :-- | :-- |"]
    for adapter in adapters:
        strata = " or ".join(f"`{column}`" for column in adapter.stratify)
        table.append(f"| `{adapter.name}` | {scale_name(adapter.task.scale)} | {adapter.judged} | {strata} |")
    return "\n".join([ADAPTERS_HEAD, *table, "", "".join(map(_adapter, adapters))])


def _adapter(adapter: Adapter) -> str:
    told = (f"{adapter.title}. File: {adapter.file}.", f"Licence of the data: {adapter.licence}.")
    text = " ".join(part for part in (*told, adapter.note, adapter.pending) if part)
    rubric = " ".join(line.strip().removeprefix("- ") for line in adapter.task.rubric.splitlines() if line)
    question = f"{adapter.task.instruction} {rubric}"
    return f"- **{adapter.name}**: {text} Columns: {_columns(adapter)}.\n  > {question}\n"


def _columns(adapter: Adapter) -> str:
    """`id: "uid" or "id" (optional); label: always 1`, in one line."""
    told = []
    for part, names in adapter.columns.items():
        columns = " or ".join(f"`{name}`" for name in names)
        told.append(f"{part} {columns}" + (" (optional)" if part in adapter.optional else ""))
    if adapter.always is not None:
        told.append(f"label always {adapter.always}")
    told += [f"label `{label}` means {meaning}" for label, meaning in (adapter.labels or {}).items()]
    return "; ".join(told)


def _command(name: str) -> click.Command:
    command = cli.get_command(click.Context(cli), name)
    if command is None:
        raise LookupError(f"no command {name!r}")
    return command


def _command_row(name: str) -> str:
    """Usage and help of a command, as a row of the table of commands."""
    command = _command(name)
    arguments = [_metavar(param) for param in command.params if isinstance(param, click.Argument)]
    usage = " ".join([name, *(["[OPTIONS]"] if _option_rows(name) else []), *arguments])
    text = " ".join((command.help or "").split())
    return f"| `{usage}` | {text} |\n"


def _metavar(argument: click.Argument) -> str:
    return argument.metavar or (argument.name or "").upper()


def _row(option: click.Option, open_defaults: Mapping[str, tuple[str, ...]]) -> str:
    names = sorted((*option.opts, *option.secondary_opts), key=len)
    spelling = ", ".join(f"`{name}`" for name in names) + _value(option)
    meaning, default = _meaning(option, open_defaults)
    variable = "STEELYARD_" + names[-1].strip("-").replace("-", "_").upper()
    if option.envvar != variable:
        raise LookupError(f"{names[-1]}: its variable is {option.envvar!r}, and the page says {variable!r}.")
    return f"{spelling} | {default} | {meaning}"


def _value(option: click.Option) -> str:
    if option.is_flag:
        return ""
    if isinstance(option.type, click.Choice):
        return " " + " or ".join(f"`{choice}`" for choice in option.type.choices)
    if option.metavar:
        return f" {option.metavar}"
    return " N"


def _meaning(option: click.Option, open_defaults: Mapping[str, tuple[str, ...]]) -> tuple[str, str]:
    """The help text and the default, which stands in brackets where the command itself leaves it open."""
    text = option.help or ""
    bracketed = re.fullmatch(r"(.*) \[(.+)\]\.", text)
    if bracketed:
        return f"{bracketed[1]}.", f"`{bracketed[2]}`"
    if isinstance(option.default, (str, int, float)) and not isinstance(option.default, bool):
        return text, f"`{option.default}`"
    return text, " ".join(f"`{name}`" for name in open_defaults.get(option.name or "", ()))


def _exit_codes() -> str:
    finished = [*_causes(errors.RunError), *UNFINISHED]
    wrong = ["unknown option or value", *_causes(errors.UsageError)]
    rows = (
        f"| 1 | The run could not finish; what was paid for is kept: {'; '.join(finished)}. |\n"
        f"| 2 | Something must be changed first: {'; '.join(wrong)}. |\n"
        "| 3 | `gate` says FAIL, or a certificate has expired or does not fit the judge. |\n"
        "| 4 | `gate` says INCONCLUSIVE: more calls are needed. |\n"
    )
    return EXIT_HEAD + rows + EXIT_TAIL


def _causes(root: type[errors.SteelyardError]) -> Iterator[str]:
    for kind in root.__subclasses__():
        sentence = (kind.__doc__ or "").strip().rstrip(".")
        yield sentence[0].lower() + sentence[1:]


def python_reference() -> str:
    """The public names of the package: functions with their parameters, classes with what they are."""
    functions, classes = [], []
    for name in (each for each in steelyard.__all__ if each != "__version__"):
        thing = getattr(steelyard, name)
        text = inspect.getdoc(thing) or ""
        if inspect.isclass(thing):
            classes.append(f"| `{name}` | {' '.join(text.partition(chr(10) * 2)[0].split())} |")
        else:
            functions.append(f"## {name}\n\n```text\n{_signature(name, thing)}\n```\n\n{text}\n")
    return f"""# Python reference

<!-- Written by docs/generate.py from the public names; `make docs` writes it again. -->

For those who call Steelyard from Python.
Public names of `steelyard`; [the guide](guides/from-python.md) shows them at work. Plug-ins also import
from `steelyard.metrics`, `steelyard.providers` and `steelyard.charts`.

{chr(10).join(functions)}
## Classes

| class | what it is |
|---|---|
{chr(10).join(classes)}
"""


def _signature(name: str, function: Callable[..., object]) -> str:
    """`name(parameters) -> type`, wrapped; annotations are strings, and their quotes are left out."""
    signature = inspect.signature(function)
    each = ", ".join(re.sub(r": '([^']*)'", r": \1", str(one)) for one in signature.parameters.values())
    text = f"{name}({each}) -> {signature.return_annotation}"
    return textwrap.fill(text, 100, subsequent_indent="    ", break_long_words=False)


def main() -> None:
    """Write every generated page."""
    for path, text in pages().items():
        if not path.exists() or path.read_text(encoding="utf-8") != text:
            path.write_text(text, encoding="utf-8")
            print(f"wrote {path.relative_to(DOCS.parent)}")
    _write_demo()


def _write_demo() -> None:
    """The datasheet of the recorded run that ships, as this version publishes it."""
    with tempfile.TemporaryDirectory(prefix="steelyard-demo-") as folder:
        run = start.unpack_demo(Path(folder) / "run")
        path = Path(start.__file__).with_name(start.PUBLISHED)
        with zipfile.ZipFile(path) as archive:
            shipped = {name: archive.read(name) for name in archive.namelist()}
        publish(run, anew=True)
        if {name: (run / name).read_bytes() for name in shipped} != shipped:
            path.write_bytes(_packed(run))
            print(f"wrote {path.relative_to(DOCS.parent)}")


def _packed(run: Path) -> bytes:
    """The published files of a folder as an archive: the same bytes for the same files."""
    packed = io.BytesIO()
    with zipfile.ZipFile(packed, "w") as archive:
        for name in SHEETS:
            entry = zipfile.ZipInfo(name)
            entry.compress_type, entry.external_attr = zipfile.ZIP_LZMA, 0o644 << 16
            archive.writestr(entry, (run / name).read_bytes())
    return packed.getvalue()


if __name__ == "__main__":
    main()
