"""A study as a file that may lie in any folder: the same study, each file by its whole path."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from urllib.parse import parse_qsl, urlencode

import yaml
from pydantic import BaseModel

from steelyard.providers.provider import model_info
from steelyard.study.composite_judges import CompositeJudge
from steelyard.study.judge_protocols import names_file
from steelyard.study.study_file import study_body
from steelyard.study.task_config import part_names_file, read_part
from steelyard.trials.builtin_prompts import NAMED_USER

JUDGE_TEXTS = ("prompt", "system", "rubric")
"""Keys of a judge that hold a text or the name of a file."""

Locate = Callable[[Any], str]


@dataclass(frozen=True)
class StudyCopy:
    text: str
    prompt: str | None = None
    answers: str | None = None
    """What the command line said of every judge, which no study file can."""

    @property
    def options(self) -> list[str]:
        given = {"--prompt": self.prompt, "--answers": self.answers}
        return [word for name, value in given.items() if value is not None for word in (name, value)]


def copy_study(
    path: Path, overrides: Mapping[str, Any], prompt: Path | None = None, answers: str | None = None
) -> StudyCopy:
    """The study of a file, with the options laid over it; the study has been built, so its shape is sound."""
    folder = path.parent.resolve()
    body = _plain(study_body(path, overrides))

    def file(name: str) -> str:
        return str(folder / name)

    def text(value: str) -> str:
        return file(value) if names_file(value) and value not in NAMED_USER else value

    def part(value: str | Path) -> str:
        if not part_names_file(value):
            return str(value)
        path = file(str(value))
        # A path with spaces and no ending of a text file would be taken for a sentence.
        return path if part_names_file(path) else read_part(Path(path), folder, path)

    for place, keys, locate in (
        (body.get("task"), ("instruction", "rubric"), part),
        (body.get("task"), ("rubrics",), file),
        (body.get("data"), ("path",), file),
        ((body.get("data") or {}).get("responses"), ("path",), file),
        *((stage, ("prompt",), text) for stage in (body.get("editing") or {}).values()),
    ):
        _locate(place, keys, locate)
    if "judges" in body:
        body["judges"] = [_judge(judge, file, text) for judge in body["judges"]]
    template = None if prompt is None else str(prompt if str(prompt) in NAMED_USER else prompt.absolute())
    return StudyCopy(study_yaml(body), template, answers)


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


def _locate(place: Any, keys: tuple[str, ...], locate: Locate) -> None:
    for key in keys if isinstance(place, dict) else ():
        if isinstance(place.get(key), str | Path):
            place[key] = locate(place[key])


def _judge(given: Any, file: Locate, text: Locate) -> Any:
    composite = CompositeJudge.of(given)
    if composite is not None:
        members = [_judge(member, file, text) for member in composite.member_specs]
        if members == list(composite.member_specs):
            return given
        changed = {"jury": members} if composite.config.jury else {"of": members[0]}
        return {**composite.config.model_dump(exclude_unset=True), **changed}
    if isinstance(given, str):
        return _address(given, file, text)
    if isinstance(given.get("model"), str):
        given["model"] = _address(given["model"], file, text)
    _locate(given, JUDGE_TEXTS, text)
    for name, protocol in (given.get("protocols") or {}).items():
        if isinstance(protocol, str):
            given["protocols"][name] = text(protocol)
        _locate(protocol, JUDGE_TEXTS, text)
    return given


def _address(given: str, file: Locate, text: Locate) -> str:
    model, mark, query = given.partition("?")
    provider, slash, name = model.partition("/")
    if slash and model_info(model).is_recording:  # without a slash it is another judge's name
        model = provider + slash + file(name)
    pairs = dict(parse_qsl(query, keep_blank_values=True))
    located = {**pairs}
    _locate(located, JUDGE_TEXTS, text)
    return model + mark + (query if located == pairs else urlencode(located))
