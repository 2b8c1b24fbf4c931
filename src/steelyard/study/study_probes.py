"""Which probes a study has: those that were named, or those that fit what is measured.

And what its prompts show of the rows of the data: further columns, and parts that no row has.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable, Iterator, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from steelyard.core.registry import Spec
from steelyard.core.text import pluralize
from steelyard.errors import ConfigError
from steelyard.metrics.metric import Metric
from steelyard.probes.probe import BEST_OF, POINTWISE, AuthoredProbe, Probe, form_of, needs_of
from steelyard.stimuli.brief import Brief, is_in_pack
from steelyard.stimuli.original import BEST_OF_PROBE
from steelyard.stimuli.rubric_edits import with_rubric
from steelyard.study.study import ProbeCache, Study
from steelyard.tasks.data_config import DataConfig
from steelyard.tasks.task import Item, Task
from steelyard.trials.judge import Judge
from steelyard.trials.prompt import undeclared_variables
from steelyard.trials.template_reader import LABEL, DataColumns, metadata_keys

DEFAULT_PROBES = ("vacuum", "ladder", "criterion", "length")
RUN_PROBES = ("agentic",)


def default_probes(task: Task, data: bool) -> tuple[str, ...]:
    """The probes and suites of a study that names none: on the user's data, or on what is built in."""
    if form_of(task) == BEST_OF:
        return (BEST_OF_PROBE,)
    if form_of(task) != POINTWISE:
        return ("position",) if data else DEFAULT_PROBES
    return ("reliability",) if data else ("vacuum", "reliability")


def probe_specs(given: Iterable[str | dict[str, dict[str, Any]]], kit: ProbeCache) -> tuple[Spec, ...]:
    specs = [_spec(one, kit) for one in given]
    for spec in specs:
        if specs.count(spec) > 1:
            raise ConfigError(f"probes: {spec.name!r} stands there twice; leave one out.")
    return tuple(specs)


def without_claims(specs: Iterable[Spec], kit: ProbeCache) -> tuple[Spec, ...]:
    """Probes that expect a run to fail for a false report, told to expect nothing; others as they are."""
    return tuple(
        Spec(spec.name, {"expected": "none", **spec.args})
        if getattr(kit.build(spec), "rests_on_truth", False)
        else spec
        for spec in specs
    )


def _spec(given: str | dict[str, dict[str, Any]], kit: ProbeCache) -> Spec:
    if isinstance(given, str):
        spec = Spec(given)
    elif len(given) == 1:
        spec = Spec(*next(iter(given.items())))
    else:
        raise ConfigError(f"probes: expected a name or one name with its options, found {given!r}.")
    try:
        probe = kit.build(spec)
    except (TypeError, ValueError) as error:
        raise ConfigError(f"probe {spec.name!r}: wrong options {dict(spec.args)!r} ({error}).") from error
    odd = [metric for metric in probe.metrics if not isinstance(metric, Metric)]
    if odd:
        raise ConfigError(
            f"probe {spec.name!r}: its class names {odd[0]!r} among its metrics, expected a Metric "
            "with id, label and meaning; the guide add-a-probe shows one."
        )
    return spec


def without_idle(study: Study, named: Collection[str]) -> Study:
    """The study without probes that edit what no judge is shown, or find nothing to show or to be written."""
    if form_of(study.task) != POINTWISE:
        return study
    judges = study.under_test
    unread = [
        (
            probe.name,
            f"it changes the {getattr(probe, 'task_edit', '')} of the study, and each judge has a prompt of "
            "its own that does not hold it",
        )
        for probe in study.build_probes()
        if judges and not any(reaches(probe, judge, study) for judge in judges)
    ]
    study = _without(study, unread, named)
    protocols = {name for judge in study.judges for name in judge.protocols}
    idle = [
        (
            probe.name,
            f"needs {needs_of(probe) or 'items that its edit can be made to'}, and none of the "
            f"{pluralize(len(study.items), 'item')} has what it needs",
        )
        for probe in study.build_probes()
        if not any(_open_briefs(probe, study))
        and not any(True for _ in probe.showings(study.design, protocols))
    ]
    return _without(study, idle, named, "it ")


def _without(
    study: Study, reasons: Sequence[tuple[str, str]], named: Collection[str], subject: str = ""
) -> Study:
    """The study without the probes that there is a reason to leave out; a named one is refused."""
    for name, reason in reasons:
        if name in named:
            raise ConfigError(f"probe {name!r}: {reason}; leave the probe out.")
    kept = tuple(spec for spec in study.probes if spec.name not in dict(reasons))
    notes = [f"{name} was left out: {subject}{reason}." for name, reason in reasons]
    return replace(study, probes=kept, notes=(*study.notes, *notes)) if reasons else study


def reaches(probe: Probe, judge: Judge, study: Study) -> bool:
    """Whether the judge is shown what a probe edits: one that is code has a prompt of its own."""
    part = getattr(probe, "task_edit", None)
    templates = [str(one.options["template"]) for one in judge.leaf_judges if "template" in one.options]
    if part is None or not templates:
        return True
    rubrics = {study.task.rubric, *(item.rubric for item in study.items if item.rubric)}
    held = (with_rubric(template, rubric) for template in templates for rubric in rubrics)
    return part == "rubric" and None not in held


def without_unwritten(study: Study, named: Collection[str]) -> Study:
    """The study without probes whose texts nobody writes; one that was named itself is refused."""
    unwritten = [probe.name for probe in study.build_probes() if any(_open_briefs(probe, study))]
    if not unwritten:
        return study
    refused = [name for name in unwritten if name in named]
    *others, last = unwritten
    names, one = f"{', '.join(others)} and {last}" if others else last, not others
    if refused:
        raise ConfigError(
            f"probe {refused[0]!r}: needs a text written for each item of the data, and the study names no "
            "author; add author and validator to the study file, or leave the probe out."
        )
    note = (
        f"{names} {'was' if one else 'were'} left out, for {'it needs' if one else 'they need'} texts that "
        "somebody writes, and the study names no author; add author and validator to the study file."
    )
    kept = tuple(spec for spec in study.probes if spec.name not in unwritten)
    return replace(study, probes=kept, notes=(*study.notes, note))


def open_briefs(study: Study) -> tuple[Brief, ...]:
    return tuple(brief for probe in study.build_probes() for brief in _open_briefs(probe, study))


def _open_briefs(probe: Probe, study: Study) -> Iterator[Brief]:
    briefs = probe.briefs(study.design) if isinstance(probe, AuthoredProbe) else ()
    return (brief for brief in briefs if not is_in_pack(brief))


_FILLED = ("request", "reference", "context")
"""Parts of an item that a prompt can show and data can lack."""


def data_columns(data: DataConfig | None, folder: Path) -> DataColumns:
    if data is None:
        return DataColumns()
    mapped = {} if data.columns is None else {column: part for part, column in data.columns.used()}
    return DataColumns(mapped, lambda: data.columns_of(folder))


def shown_columns(judges: Iterable[Judge], columns: DataColumns) -> tuple[str, ...]:
    """Columns of the data that prompts show beside the parts of an item, in the order of the file."""
    keys = metadata_keys(text for judge in judges for text in _templates(judge))
    for key in sorted(keys):
        if columns.part(key) == LABEL:
            raise ConfigError(
                f"prompts: found column {key!r}, which holds the labels, expected a prompt without them; "
                "remove it."
            )
    return tuple(name for name in columns.names if name in keys) if keys else ()


def check_filled(study: Study) -> None:
    """Refuse a prompt of the user's that shows a part of the items which no row of the user's data has."""
    asked = (one for judge in study.judges for one in judge.leaf_judges if one.name in study.prompts)
    for judge in asked if study.source is not None else ():
        for part in (part for text in _templates(judge) for part in _empty_parts(text, study.items)):
            raise ConfigError(
                f"judge {judge.name!r}: its prompt shows {{{{ {part} }}}}, which no row of the data has; map "
                f"a column to it ({part}=COLUMN in --columns), or take it out of the prompt."
            )


def _empty_parts(text: str, items: Iterable[Item]) -> Iterator[str]:
    named = undeclared_variables(text)
    for part in _FILLED:
        optional = re.search(rf"\{{%-?\s*if\b[^%]*\b{part}\b", text)
        if part in named and not optional and not any(getattr(item, part) for item in items):
            yield part


def _templates(judge: Judge) -> Iterator[str]:
    for one in judge.leaf_judges:
        for protocol in one.protocols.values():
            yield from (text for text in (protocol.user, protocol.system) if text)


def check_rubric(study: Study) -> None:
    """Refuse prompts that hold a rubric where there is none."""
    if study.task.rubric or all(item.rubric for item in study.items):
        return
    for judge in study.judges:
        texts = [text for p in judge.protocols.values() for text in (p.user, p.system) if text]
        if judge.rubric is None and not judge.baseline and any("rubric" in text for text in texts):
            whose, own = "its prompt", ""
            if judge.name not in study.prompts:
                whose, own = "Steelyard's own prompt", "--prompt FILE with the judge's own prompt, or "
            raise ConfigError(
                f"judge {judge.name!r}: {whose} holds a rubric, and the study has none; add {own}--rubric "
                "FILE, or rubric under task, or map a column of rubrics."
            )
