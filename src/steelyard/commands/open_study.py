"""From a study file, and what a caller lays over it, to a study: one way for the command line and for Python.

Nothing outside the folder of a study file is read, and no key goes to an address of its choice, before the
user has consented.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping
from contextlib import nullcontext
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from steelyard.authoring.generation_plan import GenerationPlan, generation_plan
from steelyard.core.foreign_code import without_code
from steelyard.study.consent import Consent, check_keys
from steelyard.study.study import Study
from steelyard.study.study_copy import copy_study
from steelyard.study.study_file import build_study, open_config
from steelyard.trials.judge import Judge


@dataclass(frozen=True)
class OpenedStudy:
    study: Study
    generation: GenerationPlan | None
    typed: frozenset[str]
    """Keys that the caller said in place of the file."""

    @property
    def judges_of_file(self) -> tuple[Judge, ...]:
        """Judges and writers that the study file names."""
        writers = () if self.generation is None else self.generation.roles.models_of(self.typed)
        return (*(() if "judges" in self.typed else self.study.judges), *writers)


def open_study(
    path: Path | None,
    overrides: Mapping[str, Any],
    source: str,
    consent: Consent,
    *,
    prompt: Path | None = None,
    answers: str | None = None,
    literals: Collection[str] = (),
    accept_all: bool = False,
    calls: bool = True,
    runs_code: bool = True,
) -> OpenedStudy:
    """The study and its writers; without `calls`, no key is asked about."""
    config, files, typed = open_config(path, overrides, source, consent)
    generation = generation_plan(config, accept_all)
    with nullcontext() if runs_code else without_code():
        study = build_study(config, Path() if path is None else path.parent, prompt, answers, literals)
    if generation is not None and path is not None:
        generation = replace(generation, source=copy_study(path, overrides, prompt, answers, literals))
    reads = tuple(str(file) for file in files if file.path.exists())
    opened = OpenedStudy(replace(study, reads=reads), generation, typed)
    if calls and path is not None:
        check_keys(path, opened.judges_of_file, consent)
    return opened
