"""Asking the reference judge: first of all calls, and each paid once.

The reply to an unlabelled item is filed under the labelled one as soon as its verdict is known, so that the
measurement finds it answered. Labels stay as they are once texts were written or the study is frozen.
"""

from __future__ import annotations

from dataclasses import replace

from steelyard.authoring.generation_plan import GenerationPlan
from steelyard.core.text import plural, pluralize
from steelyard.errors import RunError
from steelyard.run_folder.resume import check_replies, require_same_study
from steelyard.run_folder.run_folder import RunFolder
from steelyard.runner.costs import check_prices, stored_cost
from steelyard.runner.limits import RunLimits
from steelyard.runner.planner import PlanRow
from steelyard.runner.record import RunRecord
from steelyard.runner.run_messages import TRANSIENT_REASONS, require_finished
from steelyard.runner.runner import Runner, run_async
from steelyard.runner.session import Progress
from steelyard.store.run_store import RunStore
from steelyard.study.reference import reference_trial, with_labels, with_placeholder_labels
from steelyard.study.study import Study
from steelyard.study.study_probes import without_idle
from steelyard.tasks.task import Item
from steelyard.verdicts.verdict import Decided


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
