"""`init`: a first study file of about ten lines, from a judge, a table, a prompt and what it is for."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from os.path import relpath
from pathlib import Path
from typing import Any

import yaml

from steelyard.core.field_names import known
from steelyard.errors import DataError
from steelyard.tasks.scale import Binary, answer_words
from steelyard.tasks.sources.cells import is_missing, normal
from steelyard.tasks.sources.read import read_table
from steelyard.tasks.sources.table import Table

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

PARTS = ("id", "request", "response", "response_1", "response_2", "label", "reference", "context")
WORDS = {
    **answer_words(Binary()),
    **dict.fromkeys(("good", "pass", "passed", "correct", "right", "acceptable"), "1"),
    **dict.fromkeys(("bad", "fail", "failed", "incorrect", "wrong", "unacceptable"), "0"),
}
RUBRIC = "The answer does what the request asks for, and what it says is true."


@dataclass(frozen=True)
class NewStudy:
    judge: str
    data: Path | None
    prompt: Path | None
    purpose: str

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
        table = read_table(data)
        columns = _columns(table)
        pairs = "response_1" in columns
        labels = () if "label" not in columns else tuple(_values(table, columns["label"]))
        scale, words = ("pairwise", {}) if pairs else _scale(table.name, columns.get("label", ""), labels)
        yield f"task: {_flow({'scale': scale, 'rubric': RUBRIC})}  # say here what makes an answer good"
        yield "data:"
        yield f"  path: {_flow(_path(data, folder))}"
        yield f"  columns: {_flow(columns)}"
        if words:
            yield f"  labels: {_flow(words)}  # what the words of people mean"
        yield "  # sample: 100  # so many rows instead of all"
        yield "# probes: [reliability]  # what is tried beside the rows as they are; see `steelyard probes`"

    def _without_data(self) -> Iterator[str]:
        yield "# Without data the judge is asked about built-in texts. Yours:"
        yield "# data: {path: answers.csv, columns: {request: question, response: answer, label: human}}"


def _flow(value: Any) -> str:
    text = yaml.safe_dump(value, default_flow_style=True, width=10_000, allow_unicode=True, sort_keys=False)
    return text.removesuffix("\n").removesuffix("\n...")


def _path(path: Path, folder: Path) -> str:
    """As a study file has it: relative to its own folder."""
    return Path(relpath(path, folder)).as_posix()


def _columns(table: Table) -> dict[str, str]:
    found: dict[str, str] = {}
    for column in table.columns:
        part = known(column)
        if part in PARTS:
            found.setdefault(part, column)
    pair = {"response_1", "response_2"} <= set(found)
    if not pair and "response" not in found:
        raise DataError(
            f"{table.name}: found the columns {', '.join(map(repr, table.columns))}, none of which is certainly "
            "the answer; call one of them response, or two of them response_1 and response_2."
        )
    left = {"response"} if pair else {"response_1", "response_2"}
    return {part: found[part] for part in PARTS if part in found and part not in left}


def _values(table: Table, column: str) -> Iterator[str]:
    cells = (record.cells.get(column) for record in table.records)
    return iter(sorted({normal(cell) for cell in cells if not is_missing(cell)}))


def _scale(name: str, column: str, labels: tuple[str, ...]) -> tuple[str, dict[str, int]]:
    """The scale that the labels are on, and what their words mean."""
    numbers = [int(label) for label in labels if label.removeprefix("-").isdigit()]
    if len(numbers) == len(labels):
        low, high = min(numbers, default=0), max(numbers, default=1)
        return ("binary" if (low, high) in ((0, 1), (0, 0), (1, 1)) else f"{low}-{high}"), {}
    unknown = [label for label in labels if label not in WORDS]
    if unknown:
        raise DataError(
            f"{name}: column {column!r} holds {' and '.join(map(repr, unknown[:2]))}, expected whole numbers or "
            "words such as good and bad; replace them, or give the column another name to leave it out."
        )
    return "binary", {
        label: int(WORDS[label]) for label in sorted(labels, key=lambda each: -int(WORDS[each]))
    }
