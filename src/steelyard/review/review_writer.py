"""Write decisions of reviewers into the run folder: the file of stimuli, and a version once nothing waits."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence

from steelyard.review.stimuli_file import write_stimuli
from steelyard.review.votes import (
    accept_rest,
    decided_until,
    freeze_version,
    open_log,
    record_published,
)
from steelyard.run_folder.authored_stimuli import AuthoredStimulus
from steelyard.run_folder.run_folder import RunFolder
from steelyard.stimuli.stimulus import PENDING, Stimulus
from steelyard.tasks.task import Task

BY_MEASURE = "measure"
"""Who finishes a version that is judged and that nobody has finished."""
TASK, REVIEWED = "task", "review"
TEMPLATES = "templates"
"""Setting: role and question to the prompt that asks it."""


def task_words(task: Task) -> dict[str, str]:
    return {"instruction": task.instruction, "rubric": task.rubric}


def start_review(folder: RunFolder, task: Task, templates: Mapping[str, str] | None = None) -> None:
    """Say before the first text that people will look, what the judges are asked, and what the authors."""
    with open_log(folder) as log:
        log.note(TASK, task_words(task))
        log.note(TEMPLATES, dict(templates or {}))
        log.note(REVIEWED, True)


def add_arrival(folder: RunFolder, originals: Mapping[str, Stimulus], text: AuthoredStimulus) -> None:
    with open_log(folder) as log:
        log.arrive({text.stimulus.id: text.arrival(originals[text.stimulus.lineage.parent])})


def write_decisions(
    folder: RunFolder,
    made: Sequence[Stimulus],
    known: Collection[str],
    beside: Iterable[Stimulus] = (),
    *,
    unseen: bool = False,
    finished_by: str | None = None,
) -> tuple[Stimulus, ...]:
    """The stimuli as people decided, written into the folder; the caller holds its lock.

    `finished_by` freezes a version of what was decided, once nothing waits.
    """
    decided, until = decided_until(folder, made, known, keep=True)
    decided = accept_rest(folder, decided) if unseen else decided
    write_stimuli(folder.stimuli, [*beside, *decided])
    if folder.reviews.exists():
        with open_log(folder) as log:
            record_published(log, made, until)
            waiting = any(each.lineage.review == PENDING for each in decided)
            if finished_by and decided and not waiting:
                freeze_version(log, decided, finished_by)
    return decided
