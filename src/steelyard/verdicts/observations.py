"""Observations in columns: a million verdicts without a million objects.

They are a sequence of `Observation`, and an object is made only for who asks for one. What counts takes the
columns instead: `filter` to choose, `metrics.collect` and `metrics.collect_scores` to bring calls together.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Hashable, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from operator import attrgetter
from typing import Any, TypeVar, overload

import numpy as np

from steelyard.core.arrays import Ints, Mask, chosen_rows, distinct, in_order, widen
from steelyard.stimuli.stimulus import Stimulus
from steelyard.trials.judge import Usage
from steelyard.trials.trial import ORDERS
from steelyard.verdicts.readers import Confidence
from steelyard.verdicts.reasons import answer_named
from steelyard.verdicts.stimulus_columns import StimulusColumns
from steelyard.verdicts.verdict import Decided, Verdict


@dataclass(frozen=True)
class Observation:
    """All that the metrics may see of one trial."""

    judge: str
    protocol: str
    stimulus: Stimulus
    order: str
    replicate: int
    verdict: Verdict
    usage: Usage
    prompt: str
    """Hash of the rendered prompt: two orders of a vacuum pair share one. Empty where it is not known."""
    own_label: bool = False
    """The judge's own verdict on the item is the label: nothing is held against it here."""
    mirrored: bool = False
    """The judge has one verdict for both orders of a pair, by how it is made."""
    named: str | None = None
    """The answer that the reason ends with; None where it ends with none, or none was given."""
    confidence: Confidence | None = None

    @property
    def contradicts(self) -> bool | None:
        """Whether the reason ends with another answer than was given; None without either."""
        given = answer_named(self.verdict)
        return None if given is None or self.named is None else self.named != given

    @property
    def winner(self) -> str | None:
        """Content that won, `u` or `v`; None where neither did."""
        if not isinstance(self.verdict, Decided):
            return None
        slot = {"1": 0, "2": 1}[self.verdict.value]
        return self.order[slot]


Value = TypeVar("Value", bound=Hashable)


@dataclass(frozen=True, eq=False)
class Observations(Sequence[Observation]):
    """Columns of equal length, sorted by judge, protocol, stimulus, replicate and order."""

    judges: tuple[str, ...]
    protocols: tuple[str, ...]
    verdicts: tuple[Verdict, ...]
    usages: tuple[Usage, ...]
    prompts: tuple[str, ...]
    names: tuple[str | None, ...]
    """Answers that reasons end with, and None."""
    confidences: tuple[Confidence | None, ...]
    shown: StimulusColumns
    symmetric: frozenset[str]
    """Judges that have one verdict for both orders of a pair, by how they are made."""
    judge: Ints
    protocol: Ints
    stimulus: Ints
    order: Ints
    replicate: Ints
    verdict: Ints
    usage: Ints
    prompt: Ints
    own_label: Mask
    named: Ints
    confidence: Ints

    @classmethod
    def of(cls, observations: Iterable[Observation]) -> Observations:
        """The collection of single observations, whatever order they come in; a collection is itself."""
        if isinstance(observations, Observations):
            return observations
        rows = list(observations)
        columns: dict[str, Any] = {}
        for name, values in _VALUES.items():
            columns[values], columns[name] = coded(list(map(attrgetter(name), rows)))
        return cls(
            **columns,
            shown=StimulusColumns.of(row.stimulus for row in rows),
            symmetric=frozenset(row.judge for row in rows if row.mirrored),
            stimulus=coded([row.stimulus.id for row in rows])[1],
            order=np.array([ORDERS.index(row.order) for row in rows], dtype=np.int64),
            replicate=np.array([row.replicate for row in rows], dtype=np.int64),
            own_label=np.array([row.own_label for row in rows], dtype=np.bool_),
        ).in_order()

    @classmethod
    def recorded(cls, *, judge: Ints, **known: Any) -> Observations:
        """Verdicts from elsewhere, sorted already: what is not given is not known, as tokens and prompts."""
        nothing = np.broadcast_to(np.int64(0), len(judge))
        unknown: dict[str, Any] = dict.fromkeys(("usage", "prompt", "named", "confidence"), nothing)
        unknown |= {"usages": (Usage(),), "prompts": ("",), "names": (None,), "confidences": (None,)}
        unknown |= {"symmetric": frozenset(), "own_label": np.broadcast_to(np.bool_(False), len(judge))}
        return cls(judge=judge, **{**unknown, **known})

    def __len__(self) -> int:
        return len(self.judge)

    @overload
    def __getitem__(self, index: int) -> Observation: ...
    @overload
    def __getitem__(self, index: slice) -> Observations: ...
    def __getitem__(self, index: int | slice) -> Observation | Observations:
        if isinstance(index, slice):
            return self.take(index)
        start = range(len(self))[index]
        return next(iter(self.take(slice(start, start + 1))))

    def __iter__(self) -> Iterator[Observation]:
        stimuli = self.shown.stimuli
        for judge, protocol, stimulus, order, replicate, verdict, usage, prompt, own, named, sure in zip(
            *(getattr(self, name).tolist() for name in _COLUMNS), strict=True
        ):
            yield Observation(
                judge=self.judges[judge],
                protocol=self.protocols[protocol],
                stimulus=stimuli[stimulus],
                order=ORDERS[order],
                replicate=replicate,
                verdict=self.verdicts[verdict],
                usage=self.usages[usage],
                prompt=self.prompts[prompt],
                own_label=own,
                named=self.names[named],
                confidence=self.confidences[sure],
                mirrored=self.judges[judge] in self.symmetric,
            )

    def take(self, rows: slice | Ints) -> Observations:
        """The rows of these numbers, in their order."""
        return replace(self, **{name: _rows_of(getattr(self, name), rows) for name in _COLUMNS})

    def of_judge(self, name: str) -> Observations:
        """The rows of one judge; none where it was never asked."""
        return self.filter(calls=self.judge == _place(self.judges, name))

    def filter(
        self,
        probe: str | None = None,
        protocol: str | None = None,
        kinds: Collection[str] | None = None,
        *,
        labelled: bool = False,
        stimuli: Mask | None = None,
        calls: Mask | None = None,
    ) -> Observations:
        """The rows that meet every given condition.

        `labelled` leaves out unknown expectations; `stimuli` is a mask over `shown`, `calls` one over rows.
        """
        masks = [calls] if calls is not None else []
        chosen = self.shown.chosen(probe, None if kinds is None else frozenset(kinds), labelled)
        masks += [mask[self.stimulus] for mask in (chosen, stimuli) if mask is not None]
        if protocol is not None and self.protocols != (protocol,):
            masks.append(self.protocol == _place(self.protocols, protocol))
        if not masks:
            return self
        mask = masks[0] if len(masks) == 1 else np.logical_and.reduce(masks)
        return self if mask.all() else self.take(chosen_rows(mask))

    @property
    def stimuli_seen(self) -> list[Stimulus]:
        """Stimuli that have rows, by name."""
        return [self.shown.stimuli[number] for number in distinct(self.stimulus)]

    @property
    def protocols_seen(self) -> list[str]:
        """Protocols that have rows, `base` first."""
        names = [self.protocols[number] for number in distinct(self.protocol)]
        return sorted(names, key=lambda name: (name != "base", name))

    @property
    def prompts_seen(self) -> set[str]:
        """Prompts that have rows; the empty hash stands for one that is not known."""
        return {self.prompts[number] for number in distinct(self.prompt)}

    @property
    def pointwise(self) -> bool:
        """True where single texts were shown."""
        return bool(np.any(~self.shown.paired[self.stimulus]))

    def counts(self) -> Counter[tuple[str, Verdict]]:
        """Calls by judge and verdict."""
        kinds = len(self.verdicts)
        codes, numbers = np.unique(widen(self.judge) * kinds + self.verdict, return_counts=True)
        return Counter(
            {
                (self.judges[code // kinds], self.verdicts[code % kinds]): int(number)
                for code, number in zip(codes, numbers, strict=True)
            }
        )

    @property
    def mirrored(self) -> bool:
        """Every call is of a judge that has one verdict for both orders; False without a call."""
        names = {self.judges[number] for number in distinct(self.judge)}
        return bool(names) and names <= self.symmetric

    @property
    def units(self) -> int:
        """Distinct pairs or items under each protocol."""
        unit = self.shown.unit[self.stimulus] * len(self.protocols) + self.protocol
        return len(distinct(unit))

    def ended(self, *kinds: type[Verdict]) -> Mask:
        """The calls that ended in one of these kinds of verdict."""
        ends = [isinstance(verdict, kinds) for verdict in self.verdicts]
        return np.array(ends, dtype=np.bool_)[self.verdict]

    @property
    def concluded(self) -> Mask:
        """The calls that gave an answer, and whose reason ends with one."""
        given = np.array([answer_named(verdict) is not None for verdict in self.verdicts], dtype=np.bool_)
        known = np.array([name is not None for name in self.names], dtype=np.bool_)
        return np.asarray(given[self.verdict] & known[self.named])

    @property
    def contradicted(self) -> Mask:
        """Those of them in which the two differ."""
        place = {name: number for number, name in enumerate(self.names)}
        given = [place.get(answer_named(verdict), -1) for verdict in self.verdicts]
        return np.asarray(self.concluded & (np.array(given, dtype=np.int64)[self.verdict] != self.named))

    def by_cluster(self, events: Mask) -> tuple[Ints, Ints]:
        """Events of each cluster that has calls, and all its calls; clusters in order of names."""
        cluster = self.shown.cluster[self.stimulus]
        calls = np.bincount(cluster)
        counted = np.bincount(cluster[events], minlength=len(calls))
        return counted[calls > 0], calls[calls > 0]

    def in_order(self) -> Observations:
        """The same rows, sorted as the class says."""
        return self.take(in_order((self.judge, self.protocol, self.stimulus, self.replicate, self.order)))


_COLUMNS = (
    *("judge", "protocol", "stimulus", "order", "replicate"),
    *("verdict", "usage", "prompt", "own_label", "named", "confidence"),
)
"""Fields that have a value in each row, in the order in which `__iter__` takes them."""
_VALUES = {"named": "names"} | {
    name: f"{name}s" for name in ("judge", "protocol", "verdict", "usage", "prompt", "confidence")
}
"""Those of them that are places in a field of distinct values."""


def _rows_of(column: Any, rows: slice | Ints) -> Any:
    """Some rows of a column; one value that stands for every row goes on doing so."""
    if column.strides == (0,) and isinstance(rows, np.ndarray):
        return np.broadcast_to(column[:1], len(rows)) if len(column) else column
    return column[rows]


def _place(names: tuple[str, ...], name: str) -> int:
    return names.index(name) if name in names else -1


def coded(values: Sequence[Value]) -> tuple[tuple[Value, ...], Ints]:
    """The distinct values, sorted as they are written, and the place of each value among them."""
    # One object stands in many rows, and is cheaper to tell by its identity than by its content.
    objects = {id(value): value for value in values}
    known = sorted(set(objects.values()), key=str)
    place = {value: index for index, value in enumerate(known)}
    places = {number: place[value] for number, value in objects.items()}
    return tuple(known), np.array([places[id(value)] for value in values], dtype=np.int64)
