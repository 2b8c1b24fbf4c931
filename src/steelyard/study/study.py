"""A study: judges × probes × stimuli, where its items came from; everything that decides a datasheet.

A reference is a judge whose verdicts on the items stand in the place of labels that nobody gave.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from itertools import pairwise
from math import ceil
from pathlib import Path
from typing import Any, Protocol

from steelyard.core.content_hash import canonical_json, content_hash
from steelyard.core.files import read_problem
from steelyard.core.registry import Spec
from steelyard.errors import ConfigError, DataError
from steelyard.probes.probe import POINTWISE, PROBES, AuthoredProbe, Design, Probe, covers, form_of, forms_of
from steelyard.providers.provider import model_info
from steelyard.stimuli.brief import pack_stimuli
from steelyard.stimuli.original import original_of
from steelyard.stimuli.stimulus import Stimulus
from steelyard.tasks.adapters import FILE
from steelyard.tasks.checklist import Checklist
from steelyard.tasks.data_config import DataConfig
from steelyard.tasks.task import CHECKLIST_TASK, Item, Task, scale_name
from steelyard.trials.judge import Judge
from steelyard.trials.trial import Trial


@dataclass(frozen=True)
class DataSource:
    settings: Mapping[str, Any]
    files: Mapping[str, str]

    def changed(self, other: DataSource) -> str | None:
        """A file of this source whose content the other does not have; a file may move."""
        known = set(other.files.values())
        return next((path for path, digest in self.files.items() if digest not in known), None)


def data_source(config: DataConfig, folder: Path) -> DataSource:
    paths = [config.path, *([config.responses.path] if config.responses else [])]
    settings = config.model_dump(exclude_none=True)
    return DataSource(settings, {path: _digest(folder / path) for path in paths})


def _digest(path: Path) -> str:
    """SHA-256 of a file; of a folder, of the names and contents of the files that are read from it."""
    digest = hashlib.sha256()
    try:
        if not path.is_dir():
            digest.update(path.read_bytes())
        for file in sorted(path.rglob(FILE)):
            name, content = file.relative_to(path).as_posix(), file.read_bytes()
            digest.update(f"{name}\n{hashlib.sha256(content).hexdigest()}\n".encode())
    except OSError as error:
        raise DataError(f"{path}: {read_problem(path, error)}; expected a data file.") from error
    return f"sha256:{digest.hexdigest()}"


class ProbeCache:
    """Probes by what was asked for; a study shares its kit with every study that is made from it."""

    def __init__(self) -> None:
        self._probes: dict[str, Probe] = {}

    def build(self, spec: Spec) -> Probe:
        key = canonical_json(spec)
        if key not in self._probes:
            self._probes[key] = PROBES.build(spec)
        return self._probes[key]


class Look(Protocol):
    """What was known at a smaller profile of `measure --until verdict`."""

    @property
    def profile(self) -> str: ...


@dataclass(frozen=True)
class Study:
    name: str
    seed: int
    profile: str
    replicates: int
    judges: tuple[Judge, ...]
    probes: tuple[Spec, ...]
    task: Task = CHECKLIST_TASK
    items: tuple[Item, ...] = ()
    """What is judged; none in a study on the built-in catalogue of pairs."""
    checklists: tuple[Checklist, ...] = ()
    """Checklists of the user's, in the place of the built-in ones."""
    checklists_file: str = field(default="", compare=False)
    """What they were read from. Decides nothing."""
    undrawn: tuple[Item, ...] = ()
    """The other items of the data: examples for an author, and texts not to be repeated; never judged."""
    frozen_items: str | None = None
    """Hash of the items of a study read back from its folder, which keeps stimuli and not items."""
    authored: tuple[Stimulus, ...] = ()
    source: DataSource | None = None
    reference: str | None = None
    """Judge whose verdicts on the items are their labels, where nobody else gave any."""
    writers: Mapping[str, Any] | None = None
    reads: tuple[str, ...] = field(default=(), compare=False)
    """Files that its study file names, for plans. Decides nothing."""
    notes: tuple[str, ...] = ()
    """What a user should know of how the study was put together, in sentences; decides nothing."""
    asked: tuple[str, ...] = field(default=(), compare=False)
    """Probes that were named; none where the usual ones are taken. Decides nothing."""
    command: tuple[str, ...] | None = field(default=None, compare=False)
    """Arguments of `measure` that describe it; None where no command did. Decides nothing."""
    decides: str | None = field(default=None, compare=False)
    """Rule of `--until` that its calls are drawn for; None for a measurement. Decides no figure."""

    looks: tuple[Look, ...] | None = field(default=None, compare=False)
    """Smaller profiles that `--until verdict` has looked at; None for other runs. Decides no figure."""

    prompts: Mapping[str, str] = field(default_factory=dict, compare=False)
    """Judges that are asked with a prompt of the user's, and its file; empty for a text. Decides nothing."""
    unread: frozenset[str] = field(default=frozenset(), compare=False)
    """Judges of whose replies nobody has said how they are read: the first replies tell."""

    kept: Mapping[str, Mapping[str, str]] = field(default_factory=dict, compare=False, repr=False)
    """Columns of the data that the results repeat, by item. Decides no figure."""
    kit: ProbeCache = field(default_factory=ProbeCache, compare=False, repr=False)

    @cached_property
    def design(self) -> Design:
        design = Design(
            self.seed,
            self.profile,
            self.replicates,
            self.task,
            self.items,
            own_checklists=self.checklists,
        )
        asking = [probe for probe in self.build_probes() if isinstance(probe, AuthoredProbe)]
        packed = pack_stimuli((brief for probe in asking for brief in probe.briefs(design)), self.task)
        written: dict[str, list[Stimulus]] = {}
        for stimulus in (*packed, *self.authored):
            written.setdefault(stimulus.probe, []).append(stimulus)
        return replace(design, authored={probe: tuple(made) for probe, made in written.items()})

    @cached_property
    def baselines(self) -> frozenset[str]:
        return frozenset(judge.name for judge in self.judges if judge.baseline)

    @property
    def under_test(self) -> list[Judge]:
        """Judges that are measured; the others are baselines."""
        return [judge for judge in self.judges if not judge.baseline]

    @cached_property
    def items_hash(self) -> str | None:
        return content_hash([item.content for item in self.items]) if self.items else self.frozen_items

    @cached_property
    def hash(self) -> str:
        """Hash of all that decides a figure; how a server is reached and how long it may take does not."""
        return content_hash({**self.frame, "probes": self.probes, "judges": self.instruments})

    @property
    def frame(self) -> dict[str, object]:
        frame: dict[str, object] = {
            "name": self.name,
            "seed": self.seed,
            "profile": self.profile,
            "replicates": self.replicates,
            "task": self.task,
        }
        if self.items_hash is not None:
            frame["items"] = self.items_hash
        if self.checklists:
            frame["checklists"] = content_hash(self.checklists)
        if self.reference is not None:
            frame["reference"] = self.reference
        if self.writers is not None:
            frame["roles"] = self.writers["roles"]
        return frame

    @property
    def instruments(self) -> dict[str, dict[str, str]]:
        return {j.name: {name: j.fingerprint(name) for name in j.protocols} for j in self.judges}

    def extends(self, other: Study) -> bool:
        """True where this study has all that the other has, unchanged, and perhaps more."""
        mine, theirs = self.instruments, other.instruments
        return (
            self.frame == other.frame
            and all(protocols.items() <= mine.get(name, {}).items() for name, protocols in theirs.items())
            and all(any(covers(spec, held) for spec in self.probes) for held in other.probes)
        )

    def grows(self, other: Study) -> bool:
        """True where this study is the other at a larger profile, to which `--until verdict` has come."""
        if not self.looks or self.looks[-1].profile != other.profile or self.source is not None:
            return False
        # Built-in items are drawn for the profile.
        return self.extends(replace(other, profile=self.profile, items=(), frozen_items=self.items_hash))

    def build_probes(self) -> list[Probe]:
        probes = [self.kit.build(spec) for spec in self.probes]
        form = form_of(self.task)
        for probe in probes:
            if form not in forms_of(probe):
                raise ConfigError(
                    f"probe {probe.name!r}: needs a {' or '.join(forms_of(probe))} scale, found the scale "
                    f"{scale_name(self.task.scale)!r}; leave the probe out, or measure it in another study."
                )
        return probes


def positional_words(words: Sequence[str]) -> Iterator[str]:
    """Words of a command that belong to no option: the study file, if there is one."""
    return (word for before, word in pairwise(("", *words)) if not {before[:1], word[:1]} & {"-"})


def without_options(words: Iterable[str], *options: str) -> Iterator[str]:
    """The words without these options and their values."""
    skip = False
    for word in words:
        if not skip and word not in options:
            yield word
        skip = not skip and word in options


def with_larger_sample(words: Iterable[str], growth: float) -> Iterator[str]:
    """The words, a --sample among them raised with the rows: the old one would leave out those added."""
    before = ""
    for word in words:
        yield str(ceil(round(int(word) * growth, 6))) if before == "--sample" else word
        before = word


Labels = Mapping[str, str]


def check_reference(study: Study) -> None:
    """Refuse a reference that can not be had, before anything is spent."""
    if study.reference is None:
        return
    where = f"data.reference: judge {study.reference!r}"
    names = [judge.name for judge in study.under_test]
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
