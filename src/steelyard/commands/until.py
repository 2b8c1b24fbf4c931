"""Measure until the word on every judge is decided: quick, standard and full of one study in one folder."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

from steelyard.commands.measure import Measurement, measure
from steelyard.datasheet.run_facts import Look
from steelyard.errors import ConfigError
from steelyard.run_folder.frozen_study import thaw
from steelyard.run_folder.run_folder import RunFolder
from steelyard.runner.limits import RunLimits
from steelyard.runner.progress import Progress
from steelyard.stimuli.allocation import PROFILES
from steelyard.study.study import Study

FIRST = PROFILES[0]
"""Profile of the first look."""

Sizes = Callable[[str], Study]
"""Profile to the study at this size."""


def check_growth(study: Study) -> None:
    """Refuse a study that no profile makes larger, or that somebody has to write for."""
    if study.source is not None:
        raise ConfigError(
            "--until verdict: grows by the profile, which does not change how many rows of your data are "
            "judged; leave --until out."
        )
    if study.writers is not None:
        raise ConfigError("--until verdict: texts are written for one size; leave --until or author out.")


def default_folder(study: Study) -> RunFolder:
    """Where the looks lie that were given no --out: beside the plain run of the smallest profile."""
    plain = RunFolder.default(study).path
    return RunFolder(plain.with_name(f"{plain.name}-until-verdict"))


def sizes_left(folder: RunFolder) -> tuple[str, ...]:
    """The profiles that a folder may still go through, the one that it is at included."""
    held = thaw(folder.study).profile if folder.study.exists() else FIRST
    return PROFILES[PROFILES.index(held) :]


def looks_before(folder: RunFolder) -> tuple[Look, ...]:
    """The looks at smaller profiles than the one that a folder is at."""
    return (thaw(folder.study).looks or ()) if folder.study.exists() else ()


def measure_until_verdict(
    sizes: Sizes,
    folder: RunFolder,
    limits: RunLimits,
    progress: Progress | None = None,
) -> Measurement:
    """Run or resume the looks in a folder.

    A look that could not be finished ends it, as a budget does; the same call goes on there.
    """
    calls, looks = 0, looks_before(folder)
    for profile in sizes_left(folder):
        found = measure(replace(sizes(profile), looks=looks), folder, limits, progress)
        calls += found.sitting.calls
        found.sitting.calls = calls
        taken = () if found.datasheet is None else found.datasheet.facts.looks
        if found.errors or len(taken) <= len(looks) or taken[-1].end is not None:
            break
        looks = taken
        if progress is not None:
            progress.say(f"{looks[-1]}; {looks[-1].open_told}; going on with the next profile.")
    return found
