"""A judge's verdicts on the items in the place of labels that nobody gave: what it means for a study."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

from steelyard.errors import ConfigError
from steelyard.probes.probe import POINTWISE, form_of
from steelyard.providers.provider import model_info
from steelyard.stimuli.original import original_of
from steelyard.study.study import Study
from steelyard.tasks.task import Item
from steelyard.trials.judge import Judge
from steelyard.trials.trial import Trial

Labels = Mapping[str, str]


def check_reference(study: Study) -> None:
    """Refuse a reference that can not be had, before anything is spent."""
    if study.reference is None:
        return
    where = f"data.reference: judge {study.reference!r}"
    names = [judge.name for judge in study.judges if not judge.baseline]
    if study.reference not in names:
        raise ConfigError(f"{where} is none of the study's; expected one of {', '.join(names)}.")
    if reference_judge(study).composition is not None:
        raise ConfigError(f"{where} is made of other judges; name one that is asked itself.")
    if model_info(reference_judge(study).address).knows_labels:
        raise ConfigError(f"{where} answers by labels, and there are none; name another judge.")
    if form_of(study.task) != POINTWISE:
        raise ConfigError(f"{where} can be the reference for single texts only, found several; leave it out.")
    given = sum(item.label is not None for item in study.items)
    if given:
        raise ConfigError(
            f"{where} would stand beside {given} labels of the data; leave reference out, or map no "
            "column as label."
        )


def with_placeholder_labels(study: Study, labels: Labels | None = None) -> Study:
    """The study as if its reference were known; the lowest answer stands in where a label is missing."""
    if study.reference is None:
        return study
    lowest = {item.id: (item.scale or study.task.scale).answers[0] for item in study.items}
    return with_labels(study, {**lowest, **(labels or {})})


def with_labels(study: Study, labels: Labels) -> Study:
    items = [replace(item, label=labels[item.id]) if item.id in labels else item for item in study.items]
    return replace(study, items=tuple(items))


def reference_judge(study: Study) -> Judge:
    return next(judge for judge in study.judges if judge.name == study.reference)


def reference_trial(study: Study, item: Item) -> Trial:
    return Trial(reference_judge(study), "base", original_of(item, study.task), study.task)


def reference_trials(study: Study) -> list[Trial]:
    """Every item's showing to the reference judge; none where a study has no such judge."""
    return [] if study.reference is None else [reference_trial(study, item) for item in study.items]
