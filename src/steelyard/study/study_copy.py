"""A study as a file that may lie in any folder: the same study, each file by its whole path."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import yaml
from pydantic import BaseModel

from steelyard.study.study_file import study_body
from steelyard.study.study_files import CODE, PART, TEXT, visit_files
from steelyard.study.task_config import part_names_file, read_part
from steelyard.trials.builtin_prompts import NAMED_PROMPTS


@dataclass(frozen=True)
class StudyCopy:
    text: str
    prompt: str | None = None
    answers: str | None = None
    literals: tuple[str, ...] = ()
    """What the command line said of every judge, which no study file can."""

    @property
    def options(self) -> list[str]:
        given = [("--prompt", self.prompt), ("--answers", self.answers)]
        given += [("--literal", name) for name in self.literals]
        return [word for name, value in given if value is not None for word in (name, value)]


def copy_study(
    path: Path,
    overrides: Mapping[str, Any],
    prompt: Path | None = None,
    answers: str | None = None,
    literals: Collection[str] = (),
) -> StudyCopy:
    """The study of a file, with the options laid over it; the study has been built, so its shape is sound."""
    folder = path.parent.resolve()
    body = _plain(study_body(path, overrides))

    def locate(kind: str, name: str, *_: object) -> str:
        whole = str(folder / name)
        if kind == CODE or (kind == TEXT and name in NAMED_PROMPTS):
            return name
        # A path with spaces and no ending of a text file would be taken for a sentence.
        return read_part(Path(whole), folder, whole) if kind == PART and not part_names_file(whole) else whole

    visit_files(body, locate)
    template = None if prompt is None else str(prompt if str(prompt) in NAMED_PROMPTS else prompt.absolute())
    return StudyCopy(study_yaml(body), template, answers, tuple(literals))


def study_yaml(body: Mapping[str, Any]) -> str:
    return yaml.dump(dict(body), Dumper=_Dumper, sort_keys=False, allow_unicode=True, width=100)


class _Dumper(yaml.SafeDumper):
    """Texts of several lines as blocks, as people write them."""


_Dumper.add_representer(
    str,
    lambda dumper, text: dumper.represent_scalar(
        "tag:yaml.org,2002:str", text, style="|" if "\n" in text else None
    ),
)


def _plain(value: Any) -> Any:
    if isinstance(value, BaseModel):
        return value.model_dump(exclude_unset=True)
    if isinstance(value, Mapping):
        return {key: _plain(inner) for key, inner in value.items()}
    return [_plain(inner) for inner in value] if isinstance(value, (list, tuple)) else value
