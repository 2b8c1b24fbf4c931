"""From a study file to a study whose calls can be made: one way for the command line and for Python.

Nothing outside the folder of a study file is read, and no key goes to an address of its choice, before the
user has consented.

The reference judge is asked first of all, and each call paid once: the reply to an unlabelled item is filed
under the labelled one as soon as its verdict is known, so that the measurement finds it answered. Labels stay
as they are once texts were written or the study is frozen.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping
from contextlib import nullcontext
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from steelyard.authoring.generation_plan import GenerationPlan, generation_plan
from steelyard.core.foreign_code import without_code
from steelyard.core.text import plural, pluralize
from steelyard.errors import RunError
from steelyard.run_folder.resume import check_replies, require_same_study
from steelyard.run_folder.run_folder import RunFolder
from steelyard.runner.costs import PlanRow, check_prices, stored_cost
from steelyard.runner.limits import RunLimits
from steelyard.runner.record import RunRecord
from steelyard.runner.run_messages import TRANSIENT_REASONS, require_finished
from steelyard.runner.runner import Runner, run_async
from steelyard.runner.session import Progress
from steelyard.store.run_store import RunStore
from steelyard.study.study import Study, reference_trial, with_labels, with_placeholder_labels
from steelyard.study.study_copy import copy_study
from steelyard.study.study_file import build_study, open_config
from steelyard.study.study_files import Consent, check_keys
from steelyard.study.study_probes import without_idle
from steelyard.tasks.task import Item
from steelyard.trials.judge import Judge
from steelyard.verdicts.verdict import Decided


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


def with_expected_labels(study: Study, folder: RunFolder) -> Study:
    if study.reference is None or not folder.database.exists():
        return with_placeholder_labels(study)
    with folder.store(read_only=True) as store:
        return with_placeholder_labels(study, _stored_labels(study, store))


def plan_before_judges(
    study: Study, folder: RunFolder, generation: GenerationPlan | None
) -> tuple[Study, list[PlanRow]]:
    """The study as a plan sees it, and the calls of author and validator that come before its judges."""
    if study.reference is None:  # labels that a judge has yet to give are no labels of the folder
        require_same_study(folder, study)
    study = with_expected_labels(study, folder)
    return (study, []) if generation is None else generation.estimate(study, folder)


def with_reference_labels(
    study: Study, folder: RunFolder, limits: RunLimits, progress: Progress | None = None
) -> Study:
    if study.reference is None:
        return study
    check_prices(study.judges, limits)
    check_replies(folder)
    with folder.locked(), folder.store() as store:
        labels = _stored_labels(study, store)
        settled = folder.study.exists() or bool(store.authored())
        if not settled and len(labels) < len(study.items):
            record = RunRecord(store)
            known = [item for item in with_labels(study, labels).items if item.label is not None]
            trials = [reference_trial(study, item) for item in known]
            runner = Runner(record, limits, progress, stored_cost(trials, record.replies(trials)))
            unlabelled = [item for item in study.items if item.id not in labels]
            labels = {**labels, **_ask_reference(study, unlabelled, runner)}
    if not labels:
        raise RunError(
            f"data.reference: judge {study.reference} gave no readable verdict on any of "
            f"{pluralize(len(study.items), 'item')}; look at its replies, or name another judge."
        )
    missing = len(study.items) - len(labels)
    share = f"{missing} of {pluralize(len(study.items), 'item')}"
    lack = f"data.reference: judge {study.reference} gave no verdict on {share}"
    notes = (f"{lack}, which {plural(missing, 'has', 'have')} no reference.",) if missing else ()
    return without_idle(replace(with_labels(study, labels), notes=notes), ())


def _ask_reference(study: Study, items: list[Item], runner: Runner) -> dict[str, str]:
    """Verdicts on items without one; a reply is filed under the item as its verdict labels it."""
    store, trials = runner.store, [reference_trial(study, item) for item in items]
    session = run_async(runner, lambda runner: runner.run(trials))
    verdicts = {key: seen.verdict for key, seen in runner.record.by_trial(trials).items()}
    labels = {
        item.id: verdict.value
        for item, trial in zip(items, trials, strict=True)
        if isinstance(verdict := verdicts.get(trial.key), Decided)
    }
    store.move_replies(
        (trial, reference_trial(study, replace(item, label=labels[item.id])))
        for item, trial in zip(items, trials, strict=True)
        if item.id in labels
    )
    require_finished(session, "data.reference", "what was answered")
    failures = store.failures()
    waiting = [failures[t.key] for t in trials if t.key in failures]
    waiting = [failure for failure in waiting if failure.reason in TRANSIENT_REASONS]
    if waiting:
        raise RunError(
            f"data.reference: {len(waiting)} of {pluralize(len(trials), 'item')} "
            f"{plural(len(waiting), 'waits', 'wait')} for a reply "
            f"({waiting[0].message.rstrip('.?')}); what was answered is kept, run again to continue, or "
            "leave such items out."
        )
    return labels


def _stored_labels(study: Study, store: RunStore) -> dict[str, str]:
    answered = store.answered()
    return {
        item.id: label
        for item in study.items
        for label in (item.scale or study.task.scale).answers
        if reference_trial(study, replace(item, label=label)).key in answered
    }
