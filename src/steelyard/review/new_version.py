"""Other prompts for the authors of a study: a new version of its folder; the run itself stays as it is."""

from __future__ import annotations

import os
import re
import secrets
import shlex
import shutil
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import yaml

from steelyard.core.files import write_error
from steelyard.errors import ConfigError
from steelyard.review.session import RefusedError, ReviewSession
from steelyard.review.votes import PROMPTS, STUDY
from steelyard.study.role_config import check_prompt
from steelyard.study.study_copy import StudyCopy, study_yaml
from steelyard.trials.trial import EDITING_ROLES


@dataclass(frozen=True)
class NewVersion:
    folder: Path
    prompts: tuple[str, ...]
    """Goals and roles whose words are new."""
    command: str
    """Has the texts written."""


def prompts_of(session: ReviewSession) -> Mapping[str, str]:
    """Words of the study's authors that a reviewer may change; a RefusedError where there are none."""
    prompts: Mapping[str, str] = session.log.get_meta(PROMPTS) or {}
    if prompts and session.log.get_meta(STUDY) is None:
        raise RefusedError(
            "these texts were written without a study file: repeat the call from Python with other prompts "
            "under author, and another out."
        )
    if not prompts and session.items():
        raise RefusedError(
            "this folder does not hold the prompts of its texts: put review: true into the study file and "
            "repeat `steelyard generate` (texts that exist are not written again), then load this page again."
        )
    if not prompts:
        raise RefusedError("no author has written texts in this folder, so there is no prompt to change.")
    return prompts


def write_version(session: ReviewSession, typed: Mapping[str, str]) -> NewVersion:
    """Write a folder with a study file that has these prompts; whole or not at all, and no call is made."""
    current = prompts_of(session)
    unknown = sorted(typed.keys() - current.keys())
    if unknown:
        raise RefusedError(f"there is no prompt {unknown[0]!r} here: load the page again.")
    changed = {name: text for name, text in typed.items() if text.rstrip() != current[name].rstrip()}
    if not changed:
        raise RefusedError("no prompt differs from those that wrote these texts: change one, then save.")
    study = StudyCopy(**session.log.get_meta(STUDY))
    body = yaml.safe_load(study.text)
    for name, text in changed.items():
        try:
            editing = name in EDITING_ROLES
            check_prompt(name, text, f"editing.{name}.prompt" if editing else f"author.prompts.{name}")
        except ConfigError as error:
            raise RefusedError(str(error)) from error
        prompt = f"{text.rstrip()}\n"
        if editing:
            roles = body.get("editing") or {}
            body["editing"] = {**roles, name: {**_mapping(roles.get(name)), "prompt": prompt}}
        else:
            author = _mapping(body["author"])
            body["author"] = {**author, "prompts": {**author.get("prompts", {}), name: prompt}}
    run = session.folder.path.resolve()
    folder, file = _last_version(run, body) or _write(run, body)
    command = shlex.join(["steelyard", "generate", str(file), "--out", str(folder), *study.options])
    return NewVersion(folder, tuple(changed), command)


def next_version(folder: Path) -> Path:
    """`run-v2` beside `run`, `run-v3` beside `run-v2`: the next number that is free."""
    match = re.fullmatch(r"(.+)-v(\d{1,9})", folder.name)
    name, number = (match[1], int(match[2])) if match else (folder.name, 1)
    while os.path.lexists(folder.with_name(f"{name}-v{number + 1}")):
        number += 1
    return folder.with_name(f"{name}-v{number + 1}")


def _mapping(model: str | Mapping[str, Any] | None) -> dict[str, Any]:
    return {"model": model} if isinstance(model, str) else dict(model or {})


def _study_file(version: Path) -> Path:
    return version / f"study{version.name[version.name.rindex('-') :]}.yaml"


def _study_text(body: Mapping[str, Any]) -> str:
    return f"# Written on the review page, with other prompts.\n{study_yaml(body)}"


def _last_version(run: Path, body: Mapping[str, Any]) -> tuple[Path, Path] | None:
    """The version that was written last, where a second save would write the same again."""
    stem, _, number = next_version(run).name.rpartition("-v")
    last = run.with_name(f"{stem}-v{int(number) - 1}")
    try:
        same = _study_file(last).read_text(encoding="utf-8") == _study_text(body)
    except (OSError, UnicodeDecodeError):
        return None
    return (last, _study_file(last)) if same else None


def _write(run: Path, body: Mapping[str, Any]) -> tuple[Path, Path]:
    """The folder appears under its name when all of it is on disk; one that exists is never written into."""
    target, unfinished = next_version(run), run.with_name(f".{run.name}-{secrets.token_hex(4)}.part")
    name = _study_file(target).name
    try:
        unfinished.mkdir()
        with (unfinished / name).open("w", encoding="utf-8", newline="\n") as stream:
            stream.write(_study_text(body))
            stream.flush()
            os.fsync(stream.fileno())
        unfinished.rename(target)
    except OSError as error:
        shutil.rmtree(unfinished, ignore_errors=True)
        cure = "save again" if target.exists() else "make its parent folder writable, then save again"
        raise RefusedError(str(write_error(target, error, cure))) from error
    return target, target / name
