"""Adapters are written as YAML, one file each."""

from __future__ import annotations

from functools import partial
from importlib.resources import files

from pydantic import BaseModel, ConfigDict

from steelyard.core.registry import Registry
from steelyard.tasks.adapters.adapter import Adapter, Opener, Reader
from steelyard.tasks.adapters.behaviours import behaviours
from steelyard.tasks.adapters.folders import read_folders
from steelyard.tasks.adapters.votes import items_of_votes
from steelyard.tasks.builtin_yaml import load_builtin
from steelyard.tasks.scale import parse_scale
from steelyard.tasks.sources.read import read_table
from steelyard.tasks.task import Task

NAMES = (
    "agentharm",
    "evalbiasbench",
    "fortress",
    "harmbench",
    "judgebench",
    "llmbar",
    "mt_bench",
    "persuade",
    "rewardbench",
)

_OPENERS: dict[str, Opener] = {"table": read_table, "folders": read_folders}
_READERS: dict[str, Reader] = {"votes": items_of_votes, "behaviours": behaviours}


class AdapterFile(BaseModel):
    """One YAML file; the fields of `Adapter`, hooks by name."""

    model_config = ConfigDict(extra="forbid", strict=True)

    title: str
    judged: str
    file: str
    licence: str
    scale: str
    instruction: str
    rubric: str
    columns: dict[str, list[str]]
    optional: list[str] = []
    stratify: list[str] = []
    always: str | None = None
    labels: dict[str | int | float | bool, str | int | float | bool] | None = None
    key: str | None = None
    opener: str = "table"
    reader: str | None = None
    note: str | None = None
    pending: str | None = None
    failing: int | None = None
    asks_for_truth: bool = True


def read_adapter(name: str) -> Adapter:
    """The adapter of one file."""
    text = files("steelyard.tasks.adapters").joinpath(f"{name}.yaml").read_text("utf-8")
    body = AdapterFile.model_validate(load_builtin(text))
    return Adapter(
        name=name,
        title=body.title,
        task=Task(body.instruction.strip(), body.rubric.strip(), parse_scale(body.scale)),
        judged=body.judged,
        file=body.file,
        licence=body.licence,
        columns={part: tuple(names) for part, names in body.columns.items()},
        optional=frozenset(body.optional),
        stratify=tuple(body.stratify),
        always=body.always,
        labels=body.labels,
        key=body.key,
        opener=_OPENERS[body.opener],
        reader=None if body.reader is None else _READERS[body.reader],
        note=body.note,
        pending=body.pending,
        failing=body.failing,
        asks_for_truth=body.asks_for_truth,
    )


ADAPTERS: Registry[Adapter] = Registry("adapter")
"""Every adapter by name; other packages add theirs under the entry point group `steelyard.adapters`."""

for _name in NAMES:
    ADAPTERS.register(_name, partial(read_adapter, _name))
