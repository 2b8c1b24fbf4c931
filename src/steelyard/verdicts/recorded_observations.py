"""Observations in columns: a million recorded verdicts without a million objects.

They are a sequence of `Observation` like any other, and an object is made only for who asks for one. What
counts takes the columns instead: `among` to choose, `metrics.pairs.collect` to bring orders together.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterable, Iterator, Sequence
from dataclasses import dataclass, fields, replace
from functools import cached_property
from typing import overload

import numpy as np
from numpy.typing import NDArray

from steelyard.stimuli.expectation import Prefers, Unknown
from steelyard.stimuli.stimulus import Stimulus
from steelyard.trials.reply import Usage
from steelyard.trials.trial import ORDERS
from steelyard.verdicts.observation import Observation
from steelyard.verdicts.verdict import Verdict

Ints = NDArray[np.int64]
Mask = NDArray[np.bool_]


@dataclass(frozen=True, eq=False)
class StimulusColumns:
    """What figures need to know of stimuli, one row each."""

    stimuli: tuple[Stimulus, ...]
    """Sorted by id, so that the order of numbers is the order of names."""

    @cached_property
    def ids(self) -> NDArray[np.object_]:
        """Names."""
        return _objects(stimulus.id for stimulus in self.stimuli)

    @cached_property
    def probe(self) -> NDArray[np.str_]:
        """Probe that asked for each."""
        return np.array([stimulus.probe for stimulus in self.stimuli], dtype=np.str_)

    @cached_property
    def kind(self) -> NDArray[np.str_]:
        """Condition within the probe."""
        return np.array([stimulus.kind for stimulus in self.stimuli], dtype=np.str_)

    @cached_property
    def stratum(self) -> NDArray[np.str_]:
        """Domain."""
        return np.array([stimulus.stratum for stimulus in self.stimuli], dtype=np.str_)

    @cached_property
    def clusters(self) -> NDArray[np.object_]:
        """Names of the tasks, sorted."""
        return _objects(sorted({stimulus.cluster for stimulus in self.stimuli}))

    @cached_property
    def cluster(self) -> Ints:
        """Task of each, an index into `clusters`."""
        number = {name: index for index, name in enumerate(self.clusters)}
        return np.array([number[stimulus.cluster] for stimulus in self.stimuli], dtype=np.int64)

    @cached_property
    def delta(self) -> NDArray[np.float64]:
        """Quality difference; NaN where there is no ladder."""
        return _levels(stimulus.delta for stimulus in self.stimuli)

    @cached_property
    def base_level(self) -> NDArray[np.float64]:
        """Quality of the worse text; NaN where there is no ladder."""
        return _levels(stimulus.base_level for stimulus in self.stimuli)

    @cached_property
    def better(self) -> Ints:
        """0 none, 1 content u, 2 content v."""
        return np.array([better(stimulus) for stimulus in self.stimuli], dtype=np.int64)

    @cached_property
    def labelled(self) -> Mask:
        """False where nobody has said what a sound judge does."""
        return np.array([not isinstance(s.expectation, Unknown) for s in self.stimuli], dtype=np.bool_)


def better(stimulus: Stimulus) -> int:
    """0 none, 1 content u, 2 content v."""
    wanted = stimulus.expectation
    return {"u": 1, "v": 2}[wanted.content] if isinstance(wanted, Prefers) else 0


@dataclass(frozen=True, eq=False)
class RecordedObservations(Sequence[Observation]):
    """Columns of equal length; tokens and prompts are not recorded."""

    judges: tuple[str, ...]
    """Names that `judge` is an index into."""
    protocols: tuple[str, ...]
    """Names that `protocol` is an index into."""
    verdicts: tuple[Verdict, ...]
    """What `verdict` is an index into."""
    shown: StimulusColumns
    """What `stimulus` is an index into."""
    judge: Ints
    protocol: Ints
    stimulus: Ints
    order: Ints
    """Index into `ORDERS`."""
    replicate: Ints
    verdict: Ints

    def __len__(self) -> int:
        return len(self.judge)

    @overload
    def __getitem__(self, index: int) -> Observation: ...
    @overload
    def __getitem__(self, index: slice) -> RecordedObservations: ...
    def __getitem__(self, index: int | slice) -> Observation | RecordedObservations:
        if isinstance(index, slice):
            return self._taken(index)
        return Observation(
            judge=self.judges[self.judge[index]],
            protocol=self.protocols[self.protocol[index]],
            stimulus=self.shown.stimuli[self.stimulus[index]],
            order=ORDERS[self.order[index]],
            replicate=int(self.replicate[index]),
            verdict=self.verdicts[self.verdict[index]],
            usage=Usage(),
            prompt="",
        )

    def __iter__(self) -> Iterator[Observation]:
        return (self[index] for index in range(len(self)))

    def where(self, mask: Mask) -> RecordedObservations:
        """The rows that the mask keeps."""
        return self._taken(mask)

    def of_judge(self, name: str) -> RecordedObservations:
        """The rows of one judge."""
        return self.where(self.judge == self.judges.index(name))

    @property
    def protocols_seen(self) -> set[str]:
        """Protocols that have rows."""
        return {self.protocols[number] for number in np.unique(self.protocol)}

    def counts(self) -> Counter[tuple[str, Verdict]]:
        """Calls by judge and verdict."""
        codes, numbers = np.unique(self.judge * len(self.verdicts) + self.verdict, return_counts=True)
        kinds = len(self.verdicts)
        return Counter(
            {
                (self.judges[code // kinds], self.verdicts[code % kinds]): int(number)
                for code, number in zip(codes, numbers, strict=True)
            }
        )

    def among(
        self, probe: str | None, protocol: str | None, kinds: Collection[str] | None, labelled: bool
    ) -> RecordedObservations:
        """The rows that meet every condition that is given."""
        keep = np.ones(len(self.shown.stimuli), dtype=np.bool_)
        if probe is not None:
            keep &= self.shown.probe == probe
        if kinds is not None:
            keep &= np.isin(self.shown.kind, list(kinds))
        if labelled:
            keep &= self.shown.labelled
        mask: Mask = keep[self.stimulus]
        if protocol is not None:
            number = self.protocols.index(protocol) if protocol in self.protocols else -1
            mask = mask & (self.protocol == number)
        return self.where(mask)

    def _taken(self, rows: Mask | slice) -> RecordedObservations:
        columns = {f.name: getattr(self, f.name)[rows] for f in fields(self)[4:]}
        return replace(self, **columns)


def among(
    observations: Iterable[Observation],
    probe: str | None = None,
    protocol: str | None = None,
    kinds: Collection[str] | None = None,
    *,
    labelled: bool = False,
) -> Sequence[Observation]:
    """The observations that meet every given condition; `labelled` leaves out unknown expectations."""
    if isinstance(observations, RecordedObservations):
        return observations.among(probe, protocol, kinds, labelled)
    return [
        o
        for o in observations
        if probe in (None, o.stimulus.probe)
        and protocol in (None, o.protocol)
        and (kinds is None or o.stimulus.kind in kinds)
        and not (labelled and isinstance(o.stimulus.expectation, Unknown))
    ]


def protocols_of(observations: Sequence[Observation]) -> set[str]:
    """Protocols under which something was observed."""
    if isinstance(observations, RecordedObservations):
        return observations.protocols_seen
    return {observation.protocol for observation in observations}


def verdict_counts(observations: Sequence[Observation]) -> Counter[tuple[str, Verdict]]:
    """Calls by judge and verdict."""
    if isinstance(observations, RecordedObservations):
        return observations.counts()
    return Counter((observation.judge, observation.verdict) for observation in observations)


def extent(observations: Sequence[Observation]) -> tuple[int, int]:
    """Distinct pairs or items under each protocol, and distinct tasks."""
    if isinstance(observations, RecordedObservations):
        stimulus, protocols = observations.stimulus, len(observations.protocols)
        tasks = observations.shown.cluster[stimulus]
        return len(np.unique(stimulus * protocols + observations.protocol)), len(np.unique(tasks))
    units = {(o.stimulus.unit, o.protocol) for o in observations}
    return len(units), len({o.stimulus.cluster for o in observations})


def calls_by_task(
    observations: Sequence[Observation], kind: type[Verdict] | tuple[type[Verdict], ...]
) -> tuple[Ints, Ints]:
    """Calls of each task that ended in this kind of verdict, and all its calls; tasks in order of names."""
    if isinstance(observations, RecordedObservations):
        task = observations.shown.cluster[observations.stimulus]
        ended = np.array([isinstance(verdict, kind) for verdict in observations.verdicts])[
            observations.verdict
        ]
    else:
        names = [o.stimulus.cluster for o in observations]
        task = np.unique(np.array(names, dtype=np.str_), return_inverse=True)[1]
        ended = np.array([isinstance(o.verdict, kind) for o in observations], dtype=np.bool_)
    calls = np.bincount(task)
    events = np.bincount(task[ended], minlength=len(calls))
    return events[calls > 0], calls[calls > 0]


def _objects(values: Iterable[str]) -> NDArray[np.object_]:
    listed = list(values)
    column = np.empty(len(listed), dtype=np.object_)
    column[:] = listed
    return column


def _levels(values: Iterable[float | None]) -> NDArray[np.float64]:
    return np.array([np.nan if value is None else value for value in values], dtype=np.float64)
