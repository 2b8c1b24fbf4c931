"""From a study to its probes, stimuli and trials.

Its probes are those that were named, or those that fit what is measured.
"""

from __future__ import annotations

import re
from array import array
from collections.abc import Collection, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np

from steelyard.core.arrays import Ints, compact
from steelyard.core.content_hash import hash_of
from steelyard.core.registry import Spec
from steelyard.core.text import pluralize
from steelyard.errors import ConfigError
from steelyard.metrics.metric import Metric
from steelyard.probes.probe import BEST_OF, POINTWISE, AuthoredProbe, Probe, Showing, form_of, needs_of
from steelyard.stimuli.brief import Brief, is_in_pack
from steelyard.stimuli.original import BEST_OF_PROBE
from steelyard.stimuli.rubric_edits import with_rubric
from steelyard.stimuli.stimulus import Stimulus, StimulusSet
from steelyard.study.study import ProbeCache, Study
from steelyard.tasks.data_config import DataConfig
from steelyard.tasks.task import Item, Task
from steelyard.trials.judge import Judge
from steelyard.trials.prompt import undeclared_variables
from steelyard.trials.template_reader import LABEL, DataColumns, metadata_keys
from steelyard.trials.trial import PromptCache, Trial
from steelyard.trials.trials import CallCount, Calls, Trials

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


NO_ROWS: Ints = np.empty(0, dtype=np.int64)


@dataclass(frozen=True)
class Plan:
    study: Study
    stimuli: StimulusSet
    trials: Trials
    uses: tuple[frozenset[str], ...]
    use: Ints

    @cached_property
    def calls(self) -> Trials:
        return Calls.of(self.trials).trials

    def only(self, trials: Iterable[Trial]) -> Plan:
        rows = self.trials.lookup(Trials.of(trials).key)
        return replace(self, trials=self.trials.take(rows), use=self.use[rows])

    @property
    def hashes(self) -> set[str]:
        return {stimulus.hash for stimulus in self.stimuli}

    def asked(self, done: Iterable[str] = ()) -> dict[tuple[str, str], list[Trial]]:
        """Calls that are not done, by judge and probe.

        A shared call counts once: for the judge that is asked where it is measured itself, else for the
        first that rests on it, and for its first probe.
        """
        counted = set(done)
        groups: dict[tuple[str, str], list[Trial]] = {}
        names = [spec.name for spec in self.study.probes]
        probes = [min(use, key=names.index) for use in self.uses]
        questions = self.trials.questions
        asked = self.trials.question.tolist()
        for composed in (False, True):
            for row, number in enumerate(asked):
                judge = questions[number].judge
                if (judge.composition is not None) is composed:
                    group = judge.name, probes[self.use[row]]
                    for key, call in _calls(self.trials, row, number):
                        if key not in counted:
                            counted.add(key)
                            groups.setdefault(group, []).append(call)
        return groups

    @property
    def all_stimuli(self) -> StimulusSet:
        return StimulusSet.of([*self.stimuli, *(s for s in self.study.authored if not s.judged)])


def make_plan(study: Study) -> Plan:
    builder, questions, prompts = _ShowingBuilder(study), list[Trial](), PromptCache()
    question, replicate, probe = [NO_ROWS], [NO_ROWS], [NO_ROWS]
    for judge in study.judges:
        shown = builder.of(judge)
        question.append(shown.number + len(questions))
        replicate.append(shown.replicate)
        probe.append(shown.probe)
        questions += [
            Trial(judge, one.protocol, one.stimulus, study.task, one.order, one.replicate, prompts=prompts)
            for one in shown.firsts
        ]
    wanted = Trials.repeats(questions, np.concatenate(question), np.concatenate(replicate))
    _, first, key = np.unique(wanted.key, return_index=True, return_inverse=True)
    turn = np.argsort(first)
    trials = wanted.take(first[turn])
    uses, use = _uses(key.reshape(-1), np.concatenate(probe), builder.names)
    stimuli = {asked.stimulus.id: asked.stimulus for asked in trials.distinct_trials}
    return Plan(study, StimulusSet.of(stimuli.values()), trials, uses, use[turn])


def _uses(key: Ints, probe: Ints, names: Sequence[str]) -> tuple[tuple[frozenset[str], ...], Ints]:
    wanted = np.zeros((int(key.max(initial=-1)) + 1, len(names)), dtype=np.bool_)
    wanted[key, probe] = True
    sets, use = np.unique(np.packbits(wanted, axis=1), axis=0, return_inverse=True)
    members = np.unpackbits(sets, axis=1, count=len(names)).astype(np.bool_)
    named = [frozenset(name for name, there in zip(names, one, strict=True) if there) for one in members]
    return tuple(named), compact(use.reshape(-1))


def count_calls(study: Study, judges: Iterable[Judge]) -> Iterator[int]:
    builder, count = _ShowingBuilder(study), CallCount()
    for judge in judges:
        before, shown = len(count), builder.of(judge)
        what = [(one.protocol, one.stimulus.id, one.order) for one in shown.firsts]
        count.add(judge, what, shown.number, shown.replicate)
        yield len(count) - before


@dataclass(frozen=True, eq=False)
class _ShowingColumns:
    firsts: list[Showing]
    """The first showing of each stimulus, protocol and order, which `number` is an index into."""
    number: Ints
    replicate: Ints
    probe: Ints


class _ShowingBuilder:
    def __init__(self, study: Study) -> None:
        self._study, self._probes = study, study.build_probes()
        self._built: dict[tuple[frozenset[str], frozenset[str]], _ShowingColumns] = {}
        self._stimuli: dict[str, Stimulus] = {}

    @property
    def names(self) -> list[str]:
        return [probe.name for probe in self._probes]

    def of(self, judge: Judge) -> _ShowingColumns:
        unread = frozenset(each.name for each in self._probes if not reaches(each, judge, self._study))
        built = (frozenset(judge.protocols), unread)
        if built not in self._built:
            self._built[built] = self._columns(judge, unread)
        return self._built[built]

    def _columns(self, judge: Judge, unread: Collection[str]) -> _ShowingColumns:
        known: dict[tuple[int, str, str], int] = {}
        firsts, number, replicate, places = list[Showing](), array("q"), array("q"), array("q")
        for place, probe in enumerate(self._probes):
            shown: Stimulus | None = None
            protocol = ""
            showings = probe.showings(self._study.design, judge.protocols)
            for each in () if probe.name in unread else showings:
                # Repeats of a stimulus come one after another, and there are many of them.
                if shown is not each.stimulus or protocol != each.protocol:
                    shown, protocol = each.stimulus, each.protocol
                    shared, here = self._shared(shown), dict[str, int]()
                what = here.get(each.order)
                if what is None:
                    what = here[each.order] = known.setdefault(
                        (id(shared), protocol, each.order), len(firsts)
                    )
                    if what == len(firsts):
                        firsts.append(Showing(shared, protocol, each.order, each.replicate))
                number.append(what)
                replicate.append(each.replicate)
            places.extend([place] * (len(number) - len(places)))
        return _ShowingColumns(
            firsts, *(np.array(column, dtype=np.int64) for column in (number, replicate, places))
        )

    def _shared(self, stimulus: Stimulus) -> Stimulus:
        """The same stimulus object wherever it is shown, so that it is hashed once."""
        first = self._stimuli.setdefault(stimulus.id, stimulus)
        return first if first is stimulus or first == stimulus else stimulus


def _calls(trials: Trials, row: int, number: int) -> Iterator[tuple[str, Trial]]:
    question = trials.questions[number]
    if question.judge.composition is None:
        yield hash_of(trials.key[row]), question
    else:
        yield from ((call.key, call) for call in trials[row].calls)
