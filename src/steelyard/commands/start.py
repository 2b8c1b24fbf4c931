"""The first minutes: `init` writes a first study file of about ten lines, `demo` unpacks a recorded run.

The record of the demo is the folder that `steelyard measure` wrote for the embedded judges; `make docs`
computes the published files from it.
"""

from __future__ import annotations

import io
import re
import zipfile
from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass
from importlib.resources import files
from os.path import relpath
from pathlib import Path
from shlex import quote
from typing import Any

import yaml

from steelyard.core.field_names import known
from steelyard.core.files import write_error
from steelyard.core.validation import parse_map
from steelyard.errors import ConfigError, DataError, SteelyardError
from steelyard.providers.provider import model_info
from steelyard.run_folder.run_folder import RunFolder
from steelyard.tasks.data_config import DataConfig
from steelyard.tasks.sources.items import parse_columns
from steelyard.tasks.sources.read import read_table
from steelyard.tasks.sources.table import Table, is_missing, normal
from steelyard.tasks.task import scale_name

PURPOSES: Mapping[str, str] = {
    "look": "a first look",
    "gate": "decide whether the judge may gate a release",
    "compare": "choose between judges",
    "score": "report a score that people would agree with",
}
"""What a judge is measured for; all but a look are of standard size."""
AFTERWARDS = {
    "gate": "steelyard gate RUN --policy default",
    "compare": "steelyard compare RUN:JUDGE RUN:OTHER",
    "score": "steelyard labels plan RUN",
}
"""What follows the measurement."""

RUBRIC = "The answer does what the request asks for, and what it says is true."


@dataclass(frozen=True)
class NewStudy:
    judge: str
    data: Path | None
    prompt: Path | None
    purpose: str
    columns: str | None = None
    """The map of the table's columns, as the command line writes it; by their names without."""
    values: str | None = None
    """Answers by the words of the labels."""

    def text(self, folder: Path) -> str:
        """The file as it stands in the folder: comments say what else may be set."""
        lines = [f"# {PURPOSES[self.purpose].capitalize()}. Every key: docs/study-file.md"]
        prompt = {} if self.prompt is None else {"prompt": _path(self.prompt, folder)}
        judge: Any = {"model": self.judge, **prompt} if prompt else self.judge
        second = "  # a second one beside it: [this, openai/gpt-4o]"
        lines += [f"judges: [{_flow(judge)}]{second}"]
        lines += self._without_data() if self.data is None else self._of_data(self.data, folder)
        size = "quick" if self.purpose == "look" else "standard"
        lines += [f"profile: {size}  # quick, standard or full"]
        return "\n".join([*lines, ""])

    def _of_data(self, data: Path, folder: Path) -> Iterator[str]:
        given = None if self.columns is None else parse_columns(self.columns)
        words: dict[Any, Any] = parse_map(self.values or "", "--values", "WORD=ANSWER", "sound=1,unsound=0")
        config = DataConfig(path=str(data), columns=given, labels=words or None)
        found, scale, finder = config.with_found_columns(Path(), None)
        columns = {} if found.columns is None else dict(found.columns.used())
        if columns:
            table = read_table(data) if finder is None else finder.table
            name = _numbers(table, columns.get("label")) if scale is None else scale_name(scale)
            yield f"task: {_flow({'scale': name, 'rubric': RUBRIC})}  # say here what makes an answer good"
        yield "data:"
        yield f"  path: {_flow(_path(data, folder))}"
        if columns:
            yield f"  columns: {_flow(columns)}"
        if words:
            yield f"  labels: {_flow(words)}"
        yield "  # sample: 100  # so many rows instead of all"
        yield "# probes: [reliability]  # what is tried beside the rows as they are; see `steelyard probes`"

    def _without_data(self) -> Iterator[str]:
        if self.prompt is not None and "response" in _fields(self.prompt):
            yield "task: {scale: binary}  # the prompt shows one answer; or a range, such as 1-5"
        yield "# Without data the judge is asked about built-in texts. Yours:"
        yield "# data: {path: answers.csv, columns: {request: question, response: answer, label: human}}"


def _fields(prompt: Path) -> set[str | None]:
    """What the names in braces of a prompt certainly mean."""
    try:
        text = prompt.read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError):
        return set()  # whoever reads the judge says what is wrong with it
    return {known(name) for name in re.findall(r"{{?\s*([A-Za-z_]\w*)\s*}", text)}


def _flow(value: Any) -> str:
    text = yaml.safe_dump(value, default_flow_style=True, width=10_000, allow_unicode=True, sort_keys=False)
    return text.removesuffix("\n").removesuffix("\n...")


def _path(path: Path, folder: Path) -> str:
    """As a study file has it: relative to its own folder."""
    return Path(relpath(path, folder)).as_posix()


def _numbers(table: Table, column: str | None) -> str:
    """The scale that labels are on which are no words of a binary one."""
    cells = () if column is None else (record.values.get(column) for record in table.records)
    labels = sorted({normal(cell) for cell in cells if not is_missing(cell)})
    numbers = [int(label) for label in labels if label.removeprefix("-").isdigit()]
    words = [label for label in labels if not label.removeprefix("-").isdigit()]
    if words:
        raise DataError(
            f"{table.name}: column {column!r} holds {' and '.join(map(repr, words[:2]))}, expected whole "
            "numbers or words such as good and bad; say what they mean with --values "
            f"{quote(','.join(f'{word}=NUMBER' for word in words[:6]))}."
        )
    low, high = min(numbers, default=0), max(numbers, default=1)
    return "binary" if {low, high} <= {0, 1} else f"{low}-{high}"


TABLES = (".csv", ".tsv", ".jsonl", ".json", ".parquet", ".xlsx")
PROMPTS = (".md", ".txt", ".j2", ".jinja", ".jinja2", ".prompt", ".tmpl")
_LARGEST = 50_000_000
"""Bytes of a file that is opened without being asked for."""


def _files(folder: Path, endings: Collection[str]) -> list[Path]:
    return sorted(
        path
        for path in (folder.iterdir() if folder.is_dir() else ())
        if path.suffix.lower() in endings and path.is_file() and path.stat().st_size <= _LARGEST
    )


def tables_in(folder: Path) -> list[Path]:
    """Files that have a column, or two, which are certainly the answer."""
    return [path for path in _files(folder, TABLES) if _answers(path)]


def prompts_in(folder: Path, judge: str, data: Path | None) -> list[Path]:
    """Files that show an answer in braces, as many as a row of the data has; none for a judge without."""
    try:
        if not model_info(judge.partition("?")[0]).uses_prompt:
            return []
    except SteelyardError:
        return []  # made of other judges; or the plan says what is wrong with it
    shown = {"response", "response_1"} if data is None else _answers(data)
    return [path for path in _files(folder, PROMPTS) if _fields(path) & shown]


def _answers(path: Path) -> set[str]:
    try:
        columns = DataConfig(path=str(path)).with_found_columns(Path(), None)[0].columns
    except SteelyardError:
        return set()
    return {part for part, _ in columns.used()} & {"response", "response_1"} if columns else set()


RECORD, PUBLISHED = "demo_record.zip", "demo_published.zip"


def unpack_demo(path: Path) -> Path:
    """The recorded run as a folder, with its page; one that holds another run is refused."""
    run, record = RunFolder(path), _archive(RECORD)
    known = run.study.exists() and run.study.read_bytes() == record.read(run.study.name)
    if not known and path.exists() and any(path.iterdir()):
        raise ConfigError(f"{path}: holds another run; choose another folder with --out.")
    try:
        if not known:
            record.extractall(path)
        _archive(PUBLISHED).extractall(path)
    except OSError as error:
        raise write_error(path, error) from error
    return path


def _archive(name: str) -> zipfile.ZipFile:
    return zipfile.ZipFile(io.BytesIO((files(__package__) / name).read_bytes()))
